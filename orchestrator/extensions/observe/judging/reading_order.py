"""What is one series of readings: in which order they came, and that each time is there once.

A node and a device name a disk. Two machines that call themselves alike would be taken for one,
and half of their readings would be dropped by their order: that is refused instead. Readings stand
in the order in which they came, because a node's clock can be set. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from orchestrator.errors import UsageError

# Unix times in double precision are exact to a quarter of a microsecond.
_ROUNDING_S = 1e-6
# Share of a disk's readings: a clock is set back now and then, and those times are there twice.
_MOST_TWICE = 0.1
_FEW = 3
_GAP = 1.5  # multiple of the usual step: beyond it a reading is missing
_MOST_BACK = 0.25
# Share of a disk's readings: its counters begin anew now and then.
_MOST_FALLING = 0.25
_SAME_TIME = "have the same time as the one before, but other figures"
_FALLING = "are lower than the one before"
_EACH_ITS_NAME = (
    "if two disks have that name, give each its own: `node` or `device` of a CSV; if it is one "
    "disk, write times with fractions of a second"
)

Flags = np.ndarray[Any, np.dtype[np.bool_]]
Times = np.ndarray[Any, np.dtype[np.float64]]


def in_order_of_arrival(readings: pd.DataFrame) -> pd.DataFrame:
    """The readings in the order in which they came, turned round if the newest stands first.

    `readings`: time_s, node, device. UsageError if times are in no order.
    """
    steps_s = readings.groupby(["node", "device"])["time_s"].diff()
    goes_back = steps_s < 0
    if not goes_back.any():
        return readings.reset_index(drop=True)
    # Some tools write the newest first.
    if not (steps_s > 0).any():
        return readings.iloc[::-1].reset_index(drop=True)
    back = goes_back.groupby([readings["node"], readings["device"]]).agg(
        ["sum", "mean"]
    )
    unordered = back[(back["mean"] > _MOST_BACK) & (back["sum"] > _FEW)]
    if len(unordered):
        node, device = unordered.index[0]
        raise _in_no_order(str(node), str(device))
    return readings.reset_index(drop=True)


def refuse_two_disks(
    readings: pd.DataFrame, step_s: pd.Series[float], growth: pd.DataFrame
) -> None:
    """UsageError where readings of two disks of one name stand beside one another: with one time
    and other figures, or with counters that fall again and again. step_s, growth: since the reading
    before."""
    has_same_time = (step_s == 0) & (growth != 0).any(axis=1)
    has_fallen = (step_s > 0) & (growth < 0).any(axis=1)
    _refuse_often(readings, has_same_time, _MOST_TWICE, _SAME_TIME)
    _refuse_often(readings, has_fallen, _MOST_FALLING, _FALLING)


def _refuse_often(
    readings: pd.DataFrame, flags: pd.Series[bool], most: float, what: str
) -> None:
    if not flags.any():
        return
    by_disk = flags.groupby([readings["node"], readings["device"]])
    counts = by_disk.agg(["sum", "mean"])
    often = counts[(counts["sum"] > _FEW) & (counts["mean"] > most)]
    if often.empty:
        return
    node, device = often.index[0]
    count = int(often["sum"].iloc[0])
    raise UsageError(
        f"{count:,} readings of {node} {device} {what}", advice=_EACH_ITS_NAME
    )


def _in_no_order(node: str, device: str) -> UsageError:
    return UsageError(
        f"times of {node} {device} go backwards repeatedly",
        advice="sort its readings by time; if they are of two machines, name each",
    )


def without_repeats(
    node: str, device: str, begin_s: Times, end_s: Times, amounts: Times
) -> Flags:
    """Which intervals count, of ascending ones. One that is there twice with the same sums counts
    once, and of one that begins before another has ended nothing is known.

    UsageError if there are many of these: then they are two disks."""
    # Most readings by far are so, and the loop below is slow for a week of them.
    if (begin_s[1:] >= end_s[:-1] - _ROUNDING_S).all():
        return np.ones(len(begin_s), dtype=bool)
    is_kept = np.zeros(len(begin_s), dtype=bool)
    other = 0
    last = -1
    for place in range(len(begin_s)):
        if last < 0 or begin_s[place] >= end_s[last] - _ROUNDING_S:
            is_kept[place] = True
            last = place
            continue
        if not _is_same(place, last, begin_s, end_s, amounts):
            other += 1
    if other > max(_FEW, _MOST_TWICE * int(is_kept.sum())):
        raise _there_twice(node, device, other)
    return is_kept


def _is_same(
    place: int, last: int, begin_s: Times, end_s: Times, amounts: Times
) -> bool:
    if abs(begin_s[place] - begin_s[last]) > _ROUNDING_S:
        return False
    if abs(end_s[place] - end_s[last]) > _ROUNDING_S:
        return False
    return bool(
        np.allclose(amounts[:, place], amounts[:, last], rtol=1e-9, equal_nan=True)
    )


def _there_twice(node: str, device: str, count: int) -> UsageError:
    return UsageError(
        f"{count:,} readings of {node} {device} have the same times as other readings of it",
        advice="if two machines have that name, give each its own: `node` of a CSV, `nodename` of "
        "sysstat's JSON; if one disk was read by two tools, give the files of one",
    )


def lies_within(times_s: Times, others_s: Times) -> bool:
    """Whether more of these readings than a clock explains are between two of another series that
    are next to one another, both ascending. In its gaps they may be."""
    steps_s = np.diff(others_s)
    if not len(steps_s):
        return False
    # A series may go on in a gap of another: both may be of one disk.
    is_read = steps_s <= _GAP * np.median(steps_s)
    later = np.searchsorted(others_s, times_s)
    is_between = (later > 0) & (later < len(others_s))
    step_before = later[is_between] - 1
    return bool(is_read[step_before].sum() > _MOST_TWICE * len(times_s))


def differing(labels: list[Mapping[str, str]]) -> dict[str, list[str]]:
    """Labels in which series differ, and their values, both in order of letters."""
    names: set[str] = set()
    for series_labels in labels:
        names |= set(series_labels)
    unlike = {}
    for name in sorted(names):
        values = {series_labels.get(name, "") for series_labels in labels}
        if len(values) > 1:
            unlike[name] = sorted(values)
    return unlike
