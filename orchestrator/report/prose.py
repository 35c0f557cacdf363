"""What the report explains beside its figures, and how it calls things: the texts of prose.yaml."""

from collections.abc import Mapping

from orchestrator.keys import messages, strict_yaml
from orchestrator.report.blocks import Measure


def said(name: str, **values: object) -> str:
    """The text `name` (section, then what it is about), with these values in its braces, which
    `units.Words` fills."""
    return messages.said(__package__, "prose.yaml", name, **values)


def words(name: str) -> Mapping[str, str]:
    """Of a table of words: what the program calls something → what a reader does."""
    return dict(strict_yaml.shipped(__package__, "prose.yaml")[name])


def measures(name: str) -> tuple[Measure, ...]:
    """What the charts of that name draw, in order."""
    return tuple(
        Measure(**each) for each in strict_yaml.shipped(__package__, "prose.yaml")[name]
    )
