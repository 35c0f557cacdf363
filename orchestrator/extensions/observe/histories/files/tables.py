"""A CSV of counters, or of sums → a table with INTERVALS; a mistake with its line and column.

It may have columns besides, of the seconds in which more was asked for than a limit (OVER_S)."""

import csv
import io
import re
from collections.abc import Sequence
from typing import Any

import pandas as pd

from orchestrator.extensions.observe.histories.files.texts import FormError, Remark
from orchestrator.extensions.observe.histories.files.times import has_zone, unix_s
from orchestrator.extensions.observe.judging.counter_growth import grown
from orchestrator.extensions.observe.judging.demand import INTERVALS, QUANTITIES
from orchestrator.extensions.observe.judging.reported_throttle import OVER_S
from orchestrator.texts.prose import listed

_NAMED = ("node", "device")
_COUNTERS = ("time", *_NAMED, *QUANTITIES)
_SUMS = ("begin", "end", *_NAMED, *QUANTITIES)
_TIMES = {"time", "begin", "end"}
# Words that stand for no value, in any column but those of names.
_NOTHING = {"", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None"}
_FORMS = (
    f"a CSV has the columns {','.join(_COUNTERS)}, or begin,end in the place of time"
)
# Unix times above these are no seconds: the year 5138 and later.
_UNITS = {
    1e11: ("milliseconds", 10**3),
    1e14: ("microseconds", 10**6),
    1e17: ("nanoseconds", 10**9),
}
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_DATE_FIRST = re.compile(r"\d{4}-?\d\d-?\d\d[T ]", re.ASCII)
# Counters of Linux have 64 bits.
_BEYOND_COUNTERS = 2**64
_TIME = "times are Unix seconds, or ISO 8601 with a zone: 2026-02-01T06:00:00Z"


def read(text: str, remark: Remark) -> pd.DataFrame:
    """Counters as of `time`, or sums from `begin` to `end`; one that misses a value is a gap."""
    columns = _columns(text)
    _check_columns(columns)
    try:
        table = _table(text, columns)
    except pd.errors.ParserError:
        _check_lines(text, columns)  # says it with line and column
        raise
    if table.empty:
        raise FormError("it has columns, but no reading", "add a line for each reading")
    # Line by line only where something is wrong: that takes far longer than to read all at once.
    if not _is_sound(table):
        _check_lines(text, columns)
        for name in _numbers(columns):
            table[name] = pd.to_numeric(table[name], errors="coerce")
    for name in _TIMES & set(table):
        table[f"{name}_s"] = _unix_s(table[name], text, columns)
    if "begin" in table:
        kept = table.reindex(columns=[*INTERVALS, *OVER_S])
        # Few disks count for how long they were above a limit.
        return kept.dropna(axis="columns", how="all").dropna(subset=list(INTERVALS))
    return _grown(table, remark)


def _numbers(columns: Sequence[str]) -> list[str]:
    """The columns of amounts, of those that there are."""
    names = [*QUANTITIES]
    for name in OVER_S:
        if name in columns:
            names.append(name)
    return names


def _table(text: str, columns: Sequence[str]) -> pd.DataFrame:
    # A node may be called `NA`, which stands for no value elsewhere.
    nothing = {}
    for name in columns:
        if name not in _NAMED:
            nothing[name] = sorted(_NOTHING)
    return pd.read_csv(
        io.StringIO(text),
        dtype=dict.fromkeys(_NAMED, str),
        keep_default_na=False,
        na_values=nothing,
    )


def _unix_s(
    times: "pd.Series[Any]", text: str, columns: Sequence[str]
) -> "pd.Series[float]":
    """FormError with the line of the first that is none."""
    try:
        return unix_s(times)
    except FormError:
        _check_lines(text, columns)
        raise


def _columns(text: str) -> list[str]:
    first_line = text.lstrip("\n").partition("\n")[0].strip()
    if not first_line:
        raise FormError("it is empty", _FORMS)
    if ";" in first_line and "," not in first_line:
        raise FormError(
            "line 1: its columns are separated by `;`, not by `,`",
            "write it with commas between columns, and points in numbers: "
            "tr ',;' '.,' < FILE > NEW",
        )
    return next(csv.reader([first_line]))


def _check_columns(columns: Sequence[str]) -> None:
    needed: Sequence[str] = _COUNTERS
    if "begin" in columns or "end" in columns:
        needed = _SUMS
    missing = [name for name in needed if name not in columns]
    if missing:
        names = listed([f"`{name}`" for name in missing])
        has = ", ".join(columns)
        raise FormError(f"line 1 has no column {names}; it has {has}", _FORMS)


def _is_sound(table: pd.DataFrame) -> bool:
    """Whether no value needs to be looked for."""
    if not isinstance(table.index, pd.RangeIndex):
        # Lines have more values than the first one has columns.
        return False
    names = table[list(_NAMED)]
    if names.isna().any(axis=None) or (names == "").any(axis=None):
        return False
    for name in _numbers(list(map(str, table.columns))):
        values = table[name]
        if values.dtype.kind not in "if":
            return False
        if (values < 0).any() or (values >= _BEYOND_COUNTERS).any():
            return False
    for name in _TIMES & set(table):
        values = table[name]
        if values.dtype.kind not in "if":
            continue
        # A time so large would be read as one thousands of years ahead: it is of another unit.
        if values.isna().any() or (values >= min(_UNITS)).any():
            return False
    return True


def _check_lines(text: str, columns: Sequence[str]) -> None:
    """FormError with the first value that is none."""
    lines = csv.reader(io.StringIO(text))
    next(lines)
    for values in lines:
        if not values:
            continue
        if len(values) != len(columns):
            raise _other_length(lines.line_num, values, columns)
        for name, value in zip(columns, values, strict=True):
            why = _mistake(name, value.strip())
            if why:
                place = f"line {lines.line_num}, column {name}"
                raise FormError(f"{place}: {value!r} {why}", _advice(name, value))


def _other_length(
    line: int, values: Sequence[str], columns: Sequence[str]
) -> FormError:
    what = f"line {line} has {len(values)} values for {len(columns)} columns"
    if len(values) == len(columns) + 1 and not values[-1]:
        return FormError(what, "leave out the comma at the end of each line")
    return FormError(what, _FORMS)


def _mistake(name: str, value: str) -> str:
    """What is wrong with a value; empty if nothing is."""
    if name in _NAMED and not value:
        return "names nothing"
    if name in (*QUANTITIES, *OVER_S) and value not in _NOTHING:
        number = _number(value)
        if number is None:
            return "is not a number"
        if number >= _BEYOND_COUNTERS:
            return "is more than a counter of 64 bits holds"
        if number < 0:
            return "is below 0"
    if name in _TIMES:
        if value in _NOTHING:
            return "is not a time"
        number = _number(value)
        if number is None:
            return _mistake_of_time(value)
        if _unit_of_time(number):
            return f"is {_unit_of_time(number)}, not seconds"
    return ""


def _mistake_of_time(value: str) -> str:
    if not _DATE_FIRST.match(value):
        return "is not a time"
    if not has_zone(value):
        return "has no zone"
    return ""


def _number(value: str) -> float | None:
    """The number as pandas reads it. None for what only Python reads, such as 1_000."""
    if not _NUMBER.fullmatch(value):
        return None
    return float(value)


def _unit_of_time(number: float) -> str:
    name = ""
    for least, unit in _UNITS.items():
        if number >= least:
            name = unit[0]
    return name


def _advice(name: str, value: str) -> str:
    """What to do about a value that is none."""
    number = _number(value)
    if name in _TIMES and number is None:
        return f"{_TIME}; write Z or +01:00 behind each"
    if name in _TIMES and number is not None:
        divisor = max(unit[1] for least, unit in _UNITS.items() if number >= least)
        return f"divide it by {divisor:,}: {_TIME}"
    if name in _NAMED:
        return "each line names its node and its device"
    if number is not None and number >= _BEYOND_COUNTERS:
        return "write it in bytes or I/Os, as the disk's own counter has it"
    return "a number with digits and a point alone, or nothing where it is not known"


def _grown(table: pd.DataFrame, remark: Remark) -> pd.DataFrame:
    readings = table.groupby(list(_NAMED)).size()
    alone = [f"{node} {device}" for node, device in readings.index[readings == 1]]
    if len(alone) == len(readings):
        raise FormError(
            f"it has one reading of {listed(alone)}",
            "counters tell what was done between two readings: add a line for each later one",
        )
    if alone:
        remark(f"there is one reading of {listed(alone)}, which tells nothing")
    return grown(table)
