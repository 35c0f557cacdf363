"""Texts in YAML files beside the modules of a package, read when the first of them is said."""

from orchestrator import units
from orchestrator.keys import strict_yaml

_WORDS = units.Words()


def said(package: str, file: str, name: str, /, **values: object) -> str:
    """The text of this name, with the values in its braces, which `units.Words` fills."""
    text = str(strict_yaml.shipped(package, file)[name])
    return _WORDS.format(text, **values)
