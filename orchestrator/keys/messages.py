"""What a person is told, in the words of YAML files, read when the first of them is said."""

from collections.abc import Callable
from typing import Any, TypeVar

from orchestrator import errors, units

_Error = TypeVar("_Error", bound=errors.TierbenchError)
_WORDS = units.Words()


def _said(name: str, package: str = "orchestrator", file: str = "messages.yaml") -> Any:
    from orchestrator.keys.strict_yaml import (
        shipped,
    )  # `--help` says none, and is not to wait

    return shipped(package, file)[name]


def said(package: str, file: str, name: str, /, **values: object) -> str:
    """The text of this name in a file beside the modules of a package, with the values in its
    braces, which `units.Words` fills."""
    return _WORDS.format(str(_said(name, package, file)), **values)


def message(name: str, /, **values: object) -> str:
    """As `said`, of messages.yaml."""
    return said("orchestrator", "messages.yaml", name, **values)


def failure(
    kind: Callable[[str, str], _Error],
    name: str,
    /,
    evidence: str = "",
    **values: object,
) -> _Error:
    """The error of this kind, in the words that have this name, with the values in their braces."""
    of_error = _said(name)
    if isinstance(of_error, str):
        parts = (of_error, "")
    else:
        parts = (of_error["what"], of_error["advice"])
    error = kind(*(_WORDS.format(part, **values) for part in parts))
    error.evidence = evidence
    return error
