"""JSON files of a results folder: written with a checksum of their own content, read as what their
version says, and refused where they hold what nothing writes: a key twice, a number that nothing
has, a text that is none."""

import contextlib
import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import repeat
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from orchestrator.design.factors import RATE_OPTION
from orchestrator.errors import CutError, NotReadableError, UsageError
from orchestrator.keys import plain_files
from orchestrator.system import files, results_formats
from orchestrator.texts.foreign_text import short

SCHEMA_VERSION = 1  # the form of gates.json, predictions.json and baselines.json
CHECKSUM = "content_sha256"
# Counters have 64 bits; no figure is larger.
_MOST = 2.0**64
# Bounds of times in seconds: those that a calendar has.
_EARLIEST_S = -62_135_596_800.0
_LATEST_S = 253_402_300_799.0
# The time that a tier's burst lasts may be for ever; in facts a quotient may be.
_MAY_BE_ENDLESS = "duration_s"
_FACTS = "facts"
_CONCLUSIONS = ("verdict.json", "predictions.json")
_MOST_LEVELS = 100
# An escape that may stand for half of a character, which no text has.
_MAY_BE_HALF = re.compile(r"\\u[dD][89a-fA-F]")

_Read = TypeVar("_Read")
# Slower to make than to use.
_form: Callable[[Any], TypeAdapter[Any]] = cache(TypeAdapter)


# ------------------------------------------------------------------ writing


def write(file: Path, content: Mapping[str, Any]) -> None:
    """Writes atomically what is `text_of` the content."""
    files.write_text(file, text_of(file, content))


def text_of(file: Path, content: Mapping[str, Any]) -> str:
    """JSON without passwords, and with the checksum by which `read_json` tells whether the content
    was changed since."""
    # The checksum is of what a reader gets: without secrets, and with lists for tuples.
    as_read = _parsed(file, files.json_text(content))
    sealed = {**as_read, CHECKSUM: _checksum(as_read)}
    # json lays out in Python, which takes some thirty times as long.
    laid_out = to_json(sealed, indent=1, inf_nan_mode="constants")
    return laid_out.decode() + "\n"


def _checksum(content: Mapping[str, Any]) -> str:
    """A checksum of the content alone, however it is laid out."""
    text = json.dumps(content, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


# ------------------------------------------------------------------ reading


def read_json(
    file: Path,
    noun: type[_Read],
    readable: int = SCHEMA_VERSION,
    part: str = "",
    older: Mapping[int, results_formats.Upgrade] = MappingProxyType({}),
    changed: list[str] | None = None,
    already_read: bytes | None = None,
) -> _Read:
    """All of it, or its `part`, of which there is none without the file: older campaigns have no
    such, nor those that ended before. UsageError for another version than the `readable` one and
    those `older` ones that can be upgraded; CutError for another form. `changed`: gets the file if
    somebody has changed it; without it that is a CutError too. `already_read`: the file's bytes, if
    somebody has them."""
    if part and plain_files.kind_of(file) == "nothing":
        return noun()
    with in_form(file):
        content = plain(file, already_read)
        _look_for_changes(file, content, changed)
        version = content.get("schema_version", 1)
        if isinstance(version, int) and version in older:
            older[version](content)
        elif isinstance(version, int) and version != readable:
            raise _other_version(file, version, readable)
        for load in (*content.get("workloads", ()), content.get("workload")):
            _with_its_load(load)
        if part:
            content = content[part]
        return cast(_Read, _form(noun).validate_python(content))


def sealed(file: Path, noun: type[_Read]) -> _Read:
    """All of a file that never was without its checksum. CutError if it has none, or if it was
    changed; else raises as `read_json` does."""
    with in_form(file):
        content = plain(file)
        if CHECKSUM not in content:
            raise ValueError("its checksum is missing")
        _look_for_changes(file, content, None)
        return cast(_Read, _form(noun).validate_python(content))


def facts(file: Path, changed: list[str]) -> dict[str, Any]:
    """A file of facts that has no form; none without the file. Raises as `read_json` does."""
    if plain_files.kind_of(file) == "nothing":
        return {}
    with in_form(file):
        content = plain(file)
        _look_for_changes(file, content, changed)
        return content


def plain(file: Path, already_read: bytes | None = None) -> dict[str, Any]:
    """The content of a file as it stands. `already_read`: its bytes, if somebody has them. OSError,
    CutError and ValueError for what cannot be read."""
    if already_read is None:
        already_read = plain_files.read(file)
    text = already_read.decode("utf-8-sig")
    try:
        parsed = _parsed(file, text)
        if not isinstance(parsed, dict):
            raise ValueError("it is not a JSON object")
        content: dict[str, Any] = parsed
        _require_numbers(content, file.name in _CONCLUSIONS)
        if _MAY_BE_HALF.search(text):
            json.dumps(content, ensure_ascii=False).encode()
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    return content


def _parsed(file: Path, text: str) -> Any:
    """What is no number is not known, but for bounds in conclusions, of which nothing is read but
    to be shown again."""
    constants: Callable[[str], float | None] = _without_nan
    if file.name in _CONCLUSIONS:
        constants = float
    return json.loads(text, object_pairs_hook=_each_once, parse_constant=constants)


def _look_for_changes(
    file: Path, content: dict[str, Any], changed: list[str] | None
) -> None:
    """Takes the checksum out of the content. None was written by earlier releases."""
    recorded = content.pop(CHECKSUM, None)
    if recorded is None or recorded == _checksum(content):
        return
    if changed is None:
        raise ValueError("it was changed after it was written")
    changed.append(str(file))


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON. ValueError if it has a key twice."""
    content: dict[str, Any] = {}
    for key, value in pairs:
        if key in content:
            raise ValueError(f"it has {key!r} twice")
        content[key] = value
    return content


def _without_nan(constant: str) -> float | None:
    """The value of a constant that Python writes and JSON does not have.

    NaN, which means that a value is not known, becomes None.
    """
    if constant == "NaN":
        return None
    return float(constant)


def _require_numbers(content: Mapping[str, Any], are_conclusions: bool) -> None:
    """ValueError for what nothing has, at any depth."""
    for name, value in content.items():
        may_be_endless = are_conclusions or name == _FACTS
        _require_possible(name, value, _MOST_LEVELS, may_be_endless)


def _require_possible(name: str, value: Any, levels: int, may_be_endless: bool) -> None:
    """ValueError for a number that nothing has, and for too many levels. `name`: the nearest
    key."""
    if levels < 0:
        raise ValueError("it is nested too deeply")
    items: Iterable[tuple[str, Any]] = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = zip(repeat(name), value, strict=False)
    elif isinstance(value, (int, float)):
        _require_number(name, value, may_be_endless)
    # A thousand records have a million values, most of them texts and numbers.
    for key, item in items:
        kind = type(item)
        if kind is float or kind is int:
            _require_number(key, item, may_be_endless)
        elif kind is not str:
            _require_possible(key, item, levels - 1, may_be_endless)


def _require_number(name: str, value: float, may_be_endless: bool) -> None:
    if _EARLIEST_S <= value <= _LATEST_S:
        return  # the number is within all bounds
    if isinstance(value, float) and not math.isfinite(value):
        if may_be_endless or name == _MAY_BE_ENDLESS:
            return
        raise ValueError(f"{name} cannot be {value}")
    is_time = name.endswith("_s") and not name.endswith("per_s")
    if is_time or not -_MOST <= value <= _MOST:
        raise ValueError(f"{name} cannot be {short(value)}")


@contextlib.contextmanager
def in_form(file: Path) -> Iterator[None]:
    """CutError if the block, which reads `file`, cannot do so or finds it in another form;
    NotReadableError if it may not."""
    try:
        with plain_files.reading(file):
            yield
    except NotReadableError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, OSError) as error:
        why = f"({type(error).__name__}: {error})"
        if isinstance(error, ValidationError):
            first = error.errors()[0]
            why = f"({error.error_count()} mistakes): {first['loc']}: {first['msg']}"
        raise CutError(
            f"{file} does not have the form this version reads {why}",
            advice="was it written by another version, or edited by hand?",
        ) from error


def _other_version(file: Path, version: int, readable: int) -> UsageError:
    advice = "an older version wrote it, and nothing converts it: measure again"
    if version > readable:
        advice = "a newer version wrote it: read it with that one, or a newer one still"
    return UsageError(
        f"{file} has schema_version {version}; "
        f"this version of tierbench reads {readable}",
        advice,
    )


def _with_its_load(workload: Any) -> None:
    """A load was once kept beside the value of a factor, as the `point` of a workload."""
    if not isinstance(workload, dict):
        return
    point = workload.pop("point", None)
    if not point:
        return
    factor = point["axis"]
    if factor == "rate":
        factor = RATE_OPTION
    question = point["protocol"]
    if question == "sweep":
        question = "load"
    workload["varied"] = {
        "of": point["of"],
        "factor": factor,
        "value": f"{point['value']:.12g}",
        "number": point["value"],
        "question": question,
    }
