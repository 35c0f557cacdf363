"""What a person is told, in the words of messages.yaml."""

from collections.abc import Callable
from typing import TypeVar

from orchestrator.errors import TierbenchError
from orchestrator.keys.strict_yaml import shipped

_Error = TypeVar("_Error", bound=TierbenchError)


def message(name: str, /, **values: object) -> str:
    """The text of this name, with the values in its braces."""
    return str(shipped("orchestrator", "messages.yaml")[name]).format(**values)


def failure(
    kind: Callable[[str, str], _Error], name: str, /, evidence: str = "", **values: object
) -> _Error:
    """The error of this kind, in the words that have this name, with the values in their braces."""
    said = shipped("orchestrator", "messages.yaml")[name]
    what, advice = (said, "") if isinstance(said, str) else (said["what"], said["advice"])
    error = kind(what.format(**values), advice.format(**values))
    error.evidence = evidence
    return error
