"""What a person is told, in the words of messages.yaml, read when the first of them is said."""

from collections.abc import Callable
from typing import Any, TypeVar

from orchestrator.errors import TierbenchError

_Error = TypeVar("_Error", bound=TierbenchError)


def _said(name: str) -> Any:
    from orchestrator.keys.strict_yaml import shipped  # `--help` says none, and is not to wait

    return shipped("orchestrator", "messages.yaml")[name]


def message(name: str, /, **values: object) -> str:
    """The text of this name, with the values in its braces."""
    return str(_said(name)).format(**values)


def failure(
    kind: Callable[[str, str], _Error], name: str, /, evidence: str = "", **values: object
) -> _Error:
    """The error of this kind, in the words that have this name, with the values in their braces."""
    said = _said(name)
    what, advice = (said, "") if isinstance(said, str) else (said["what"], said["advice"])
    error = kind(what.format(**values), advice.format(**values))
    error.evidence = evidence
    return error
