"""YAML text → checked records: a key given twice, an unknown key and a wrong value are refused.

All mistakes of a file come at once, each with its path, because a misspelt limit would silently be
no limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from orchestrator.errors import Mistake, UsageError

_Record = TypeVar("_Record", bound=BaseModel)


class _NoDuplicates(yaml.SafeLoader):
    """PyYAML keeps the last of two equal keys without a word; we refuse."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"the key {key!r} stands twice", problem_mark=key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


def parse(where: str, text: str) -> dict[str, Any]:
    """The mapping that `text` (of the file `where`) holds. Raises UsageError."""
    try:
        content = yaml.load(text, Loader=_NoDuplicates)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"{where}:{mark.line + 1}:{mark.column + 1}" if mark else where
        raise refused([Mistake(place, str(error.problem))]) from error
    except yaml.YAMLError as error:  # a byte that no YAML may hold has no mark
        raise refused([Mistake(where, str(error).splitlines()[0])]) from error
    if not isinstance(content, dict):
        raise refused([Mistake(where, "expected a mapping of keys to values")])
    return content


def validate(record: type[_Record], where: str, content: object, context: object = None) -> _Record:
    """`content` as `record`. Raises UsageError with every mistake, each with its path."""
    try:
        return record.model_validate(content, context=context)
    except ValidationError as error:
        raise refused(
            [Mistake(_place(where, one["loc"]), _say(one)) for one in error.errors()]
        ) from error


def refused(mistakes: Iterable[Mistake], advice: str = "") -> UsageError:
    """One error for all mistakes."""
    found = tuple(mistakes)
    count = "one mistake" if len(found) == 1 else f"{len(found)} mistakes"
    advice = advice or "correct them; `tierbench list` and `tierbench tiers` show what there is"
    return UsageError(f"{count} found; nothing was started", advice=advice, mistakes=found)


@contextmanager
def collecting(mistakes: list[Mistake]) -> Iterator[None]:
    """Adds the mistakes of a UsageError raised inside to the list instead of passing it on."""
    try:
        yield
    except UsageError as error:
        mistakes.extend(error.mistakes or (Mistake("", error.what),))


def raise_all(mistakes: list[Mistake]) -> None:
    """One UsageError for all that was collected, if anything was."""
    if mistakes:
        raise refused(mistakes)


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """The words for a name that is not there."""
    return f"unknown {kind} {name!r}; there is {', '.join(sorted(known)) or 'none'}"


def _place(where: str, location: tuple[int | str, ...]) -> str:
    path = ".".join(str(part) for part in location)
    if where.endswith(": "):  # a file, not a key in it
        return f"{where}{path or '(the whole file)'}"
    return f"{where}.{path}" if path else where


def _say(one: Mapping[str, Any]) -> str:
    if one["type"] == "extra_forbidden":
        return "unknown key"
    if one["type"] == "missing":
        return "this key is missing"
    text = str(one["msg"]).removeprefix("Value error, ")
    given = "" if isinstance(one["input"], Mapping) else f" (given: {one['input']!r})"
    return text if "got" in text else f"{text}{given}"
