"""Counters as they were read → how much they grew by in each interval. Pure.

Nothing is known of an interval in which a counter fell, a reading is missing, or the node's clock
was set."""

from __future__ import annotations

import numpy as np
import pandas as pd

from orchestrator.extensions.observe.judging import reading_order
from orchestrator.extensions.observe.judging.demand import IF_THERE, QUANTITIES

# A step longer than this multiple of the usual one lacks a reading in between.
_GAP = 1.5
# The clock was set within a step shorter than this multiple of the usual one.
_HASTE = 0.5
# Multiple of the most that a counter grew by between two readings. More is the counter of another
# disk.
_AT_ONCE = 10


def grown(readings: pd.DataFrame) -> pd.DataFrame:
    """INTERVALS from time_s, node, device and QUANTITIES, which are counters as read, in the order
    in which they came; and from those of IF_THERE that there are.

    UsageError if their times are in no order, or two disks have one name."""
    table = reading_order.in_order_of_arrival(readings)
    set_back = table.groupby(["node", "device"])["time_s"].diff() < 0
    disk = _disk_between_settings(table, set_back)
    step_s = table["time_s"].groupby(disk).diff()
    growth = _growth(table, disk)
    reading_order.refuse_two_disks(table, step_s, growth)
    # A counter that fell began anew: what it had counted before that is lost.
    is_counted = _is_usual(step_s, disk) & (growth >= 0).all(axis=1)
    is_counted &= ~_is_there_again(table, set_back, growth)
    intervals = _intervals(table, step_s, is_counted)
    for name in IF_THERE:
        if name in table:
            # It falls short of nothing else where it is not known.
            grown_s = table[name].groupby(disk).diff()[is_counted]
            intervals[name] = grown_s.where(grown_s >= 0)
    for name in QUANTITIES:
        # Column by column, because copies of all of a week's readings would be gigabytes.
        intervals[name] = growth.pop(name)[is_counted]
    return intervals


def _disk_between_settings(
    table: pd.DataFrame, set_back: pd.Series[bool]
) -> pd.Series[int]:
    """A number for each reading: of its disk, and of the time between two settings of the clock."""
    names = [table["node"], table["device"]]
    # Nothing is known of how long a step was across a setting. Counters grow as ever on both sides.
    part = set_back.groupby(names).cumsum()
    return table.groupby([*names, part]).ngroup()


def _is_usual(step_s: pd.Series[float], disk: pd.Series[int]) -> pd.Series[bool]:
    """Whether each step is of usual length. A longer step misses a reading. A much shorter step
    means that the clock was set."""
    usual_s = step_s.groupby(disk).transform("median")
    return (step_s > _HASTE * usual_s) & (step_s <= _GAP * usual_s)


def _intervals(
    table: pd.DataFrame, step_s: pd.Series[float], is_counted: pd.Series[bool]
) -> pd.DataFrame:
    """The disks of these intervals, and when each began and ended."""
    intervals = table.loc[is_counted, ["node", "device"]]
    end_s = table.loc[is_counted, "time_s"]
    intervals["begin_s"] = end_s - step_s[is_counted]
    intervals["end_s"] = end_s
    return intervals


def _growth(table: pd.DataFrame, disk: pd.Series[int]) -> pd.DataFrame:
    """For each reading, how much the counters grew by since the one before of its disk."""
    growth = pd.DataFrame(index=table.index)
    for name in QUANTITIES:
        growth[name] = table[name].groupby(disk).diff()
    return growth


def _is_there_again(
    table: pd.DataFrame, set_back: pd.Series[bool], growth: pd.DataFrame
) -> pd.Series[bool]:
    """For each reading, whether its time was read before: its clock was set back."""
    if not set_back.any():
        return set_back
    names = [table["node"], table["device"]]
    across = table[list(QUANTITIES)].groupby(names).diff()
    most = growth.groupby(names).transform("max").fillna(0.0)
    # If counters do not go on as before, another disk has the same name.
    goes_on = ((across >= 0) & (across <= _AT_ONCE * (most + 1))).all(axis=1)
    breaks = (set_back & ~goes_on).groupby(names).cumsum()
    latest_s = table.groupby([*names, breaks])["time_s"].cummax()
    before_s = latest_s.groupby([*names, breaks]).shift()
    earlier_s = before_s.groupby([*names, breaks]).shift()
    return table["time_s"] <= earlier_s.fillna(-np.inf)
