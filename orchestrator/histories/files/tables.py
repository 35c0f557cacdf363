"""A CSV of counters, or of sums → a table with INTERVALS; a mistake with its line and column."""

import csv
import io
import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from orchestrator.analysis.observed.demand import INTERVALS, QUANTITIES, grown
from orchestrator.histories.files.texts import FormError, Remark
from orchestrator.histories.files.times import unix_s
from orchestrator.units import listed

_NAMED = ("node", "device")
_COUNTERS = ("time", *_NAMED, *QUANTITIES)
_SUMS = ("begin", "end", *_NAMED, *QUANTITIES)
_TIMES = {"time", "begin", "end"}
# What stands for no value (of pandas.read_csv).
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


def read(text: str, remark: Remark) -> pd.DataFrame:
    """Counters as of `time`, or sums from `begin` to `end`; one that misses a value is a gap."""
    columns = _columns(text)
    _check_columns(columns)
    try:
        table = pd.read_csv(io.StringIO(text), dtype=dict.fromkeys(_NAMED, str))
    except pd.errors.ParserError:
        _check_lines(text, columns)
        raise
    if not _is_sound(table):
        _check_lines(text, columns)
    for name in _TIMES & set(table):
        table[f"{name}_s"] = unix_s(table[name])
    if "begin" in table:
        return table[list(INTERVALS)].dropna()
    return _grown(table, remark)


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
    """Whether no value needs to be looked for, which takes far longer than to read them all."""
    if table[list(_NAMED)].isna().any(axis=None):
        return False
    for name in QUANTITIES:
        values = table[name]
        if values.dtype.kind not in "if":
            return False
        if (values < 0).any() or np.isinf(values).any():
            return False
    for name in _TIMES & set(table):
        values = table[name]
        if values.dtype.kind not in "if":
            continue
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
            what = f"has {len(values)} values for {len(columns)} columns"
            raise FormError(f"line {lines.line_num} {what}", _FORMS)
        for name, value in zip(columns, values, strict=True):
            why = _mistake(name, value.strip())
            if why:
                place = f"line {lines.line_num}, column {name}"
                raise FormError(f"{place}: {value!r} {why}", _advice(name, value))


def _mistake(name: str, value: str) -> str:
    """What is wrong with a value; empty if nothing is."""
    if name in _NAMED and not value:
        return "names nothing"
    if name in QUANTITIES and value not in _NOTHING:
        number = _number(value)
        if number is None or not math.isfinite(number):
            return "is no number"
        if number < 0:
            return "is below 0"
    if name in _TIMES:
        if value in _NOTHING:
            return "is no time"
        number = _number(value)
        if number is not None and _unit_of_time(number):
            return f"is {_unit_of_time(number)}, not seconds"
    return ""


def _number(value: str) -> float | None:
    try:
        return float(value)
    except ValueError:
        return None


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
        return "times are Unix seconds, or ISO 8601 with a zone"
    if name in _TIMES and number is not None:
        divisor = max(unit[1] for least, unit in _UNITS.items() if number >= least)
        return (
            f"divide it by {divisor:,}: times are Unix seconds, or ISO 8601 with a zone"
        )
    if name in _NAMED:
        return "each line names its node and its device"
    return "a number with a point, or nothing where it is not known"


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
