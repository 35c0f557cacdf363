"""Which key a misspelt one in a file stands for: the nearest of those that may stand there."""

import difflib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

Place = Sequence[int | str]


def nearest(misspelt: object, names: Iterable[str]) -> str:
    """The name that `misspelt` is most like, whatever its case; empty if it is like none."""
    by_lower_case: dict[str, str] = {}
    # Sorted, so that of names which differ in case alone it is always the same that stays.
    for name in sorted(names):
        by_lower_case[name.lower()] = name
    near = difflib.get_close_matches(str(misspelt).lower(), by_lower_case, n=1)
    if not near:
        return ""
    return by_lower_case[near[0]]


def keys_at(record: type[BaseModel], place: Place) -> set[str]:
    """The keys that a mapping at `place` of a file may have, if `record` reads the file.

    `place` has keys of mappings and numbers of lists, from the top of the file down."""
    records = [record]
    for step in place:
        below: list[type[BaseModel]] = []
        for candidate in records:
            below += _records_below(candidate, step)
        # Without records below, the step is no key: it is a name that a person chose, such as that
        # of a scale, or a number of a list. The records stay those of the step before.
        if below:
            records = below
    keys: set[str] = set()
    for candidate in records:
        keys |= _keys(candidate).keys()
    return keys


def _keys(record: type[BaseModel]) -> dict[str, FieldInfo]:
    """Key as a file has it → the field that reads it."""
    return {field.alias or name: field for name, field in record.model_fields.items()}


def _records_below(record: type[BaseModel], key: int | str) -> list[type[BaseModel]]:
    field = _keys(record).get(str(key))
    if field is None:
        return []
    return [*_records_in(field.annotation), *_records_in(*field.metadata)]


def _records_in(*annotations: Any) -> Iterator[type[BaseModel]]:
    """The records in types such as `Mapping[str, NodeYaml] | None`, in whatever they are wrapped.

    What is marked with `strict_records.ReadBy` is read by the record in its field `model`."""
    for annotation in annotations:
        read_by = getattr(annotation, "model", None)
        for candidate in (annotation, read_by):
            if isinstance(candidate, type) and issubclass(candidate, BaseModel):
                yield candidate
        yield from _records_in(*get_args(annotation))
