"""Counters as they were read → how much they grew by in each interval. Pure.

Nothing is known of an interval in which a counter fell, a reading is missing, or the node's clock
was set."""

from __future__ import annotations

import numpy as np
import pandas as pd

from orchestrator.analysis.observed import reading_order
from orchestrator.analysis.observed.demand import QUANTITIES, QUEUE_S

_GAP = 1.5  # times the usual step: a reading is missing in between
_AT_ONCE = 10  # times the most that a counter grew by between two readings
_HASTE = 0.5  # times the usual step: the clock was set in between


def grown(readings: pd.DataFrame) -> pd.DataFrame:
    """INTERVALS from time_s, node, device and QUANTITIES, which are counters as read, in the order
    in which they came. Where one fell it began anew, and nothing is known; where a reading is
    missing neither, nor where the clock was set: before and after it counters grow as they do.
    UsageError if their times are in no order, or two disks have one name."""
    table = reading_order.in_order_of_arrival(readings)
    names = [table["node"], table["device"]]
    set_back = table.groupby(["node", "device"])["time_s"].diff() < 0
    part = set_back.groupby(names).cumsum()
    # Column by column, because copies of all of a week's readings would be gigabytes.
    disk = table.groupby([*names, part]).ngroup()
    step_s = table["time_s"].groupby(disk).diff()
    growth = _growth(table, disk)
    reading_order.refuse_two_disks(table, step_s, growth)
    usual_s = step_s.groupby(disk).transform("median")
    is_step = (step_s > _HASTE * usual_s) & (step_s <= _GAP * usual_s)
    is_growth = (growth >= 0).all(axis=1)
    is_counted = is_step & is_growth & ~_is_there_again(table, set_back, growth)
    intervals = table.loc[is_counted, ["node", "device"]]
    end_s = table.loc[is_counted, "time_s"]
    intervals["begin_s"] = end_s - step_s[is_counted]
    intervals["end_s"] = end_s
    if QUEUE_S in table:
        # It falls short of nothing else where it is not known.
        queue_s = table[QUEUE_S].groupby(disk).diff()[is_counted]
        intervals[QUEUE_S] = queue_s.where(queue_s >= 0)
    for name in QUANTITIES:
        intervals[name] = growth.pop(name)[is_counted]
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
    """For each reading, whether its time was read before, which means that its clock was set back.

    If counters do not go on as before, it is not the clock: another disk has the same name.
    """
    if not set_back.any():
        return set_back
    names = [table["node"], table["device"]]
    across = table[list(QUANTITIES)].groupby(names).diff()
    most = growth.groupby(names).transform("max").fillna(0.0)
    goes_on = ((across >= 0) & (across <= _AT_ONCE * (most + 1))).all(axis=1)
    breaks = (set_back & ~goes_on).groupby(names).cumsum()
    latest_s = table.groupby([*names, breaks])["time_s"].cummax()
    before_s = latest_s.groupby([*names, breaks]).shift()
    earlier_s = before_s.groupby([*names, breaks]).shift()
    return table["time_s"] <= earlier_s.fillna(-np.inf)
