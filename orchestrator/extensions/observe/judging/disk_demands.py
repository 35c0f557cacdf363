"""A table of intervals → what each of its disks was asked for, without what cannot be. Pure.

What no disk does is a counter that jumped, and so a gap. What the observed disk cannot do, if it is
known which one it is, is left out where it is seldom."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from orchestrator.extensions.observe.judging import (
    plausible_readings,
    reading_order,
    reported_throttle,
)
from orchestrator.extensions.observe.judging.demand import (
    FINE_S,
    QUANTITIES,
    QUEUE_S,
    WRITES,
    Array,
    Demand,
)
from orchestrator.extensions.observe.judging.rate_caps import NO_BURST
from orchestrator.tier import Limits

# Multiple of a known disk's limits that it never reaches; the limits hold for its mean second.
_BEYOND = 2.0
# Jumps of a disk's counters: one device takes the name of another now and then. More of them are
# its load, and it is not the disk that it is said to be.
MOST_JUMPS = 3
# A piece of fewer intervals shows too little of how seconds follow one another.
_FEWEST_OF_PIECE = 10


def demands(intervals: pd.DataFrame, source: Limits | None = None) -> list[Demand]:
    """The demand of each disk in a table with INTERVALS, of however many sources.

    What no disk can do is a counter that jumped, and becomes a gap. So does what the observed disk
    cannot do, if that disk is known and it happens seldom. UsageError if figures of a disk
    contradict each other, or are those of two disks.
    """
    read: list[Demand] = []
    first_s = np.inf
    last_s = -np.inf
    # Disk by disk, because copies of all readings of a week would be gigabytes.
    for (node, device), disk_rows in intervals.groupby(["node", "device"]):
        demand = _demand_if_possible(str(node), str(device), disk_rows, source)
        if demand is None:
            continue
        first_s = min(first_s, float(demand.begin_s[0]))
        last_s = max(last_s, float(demand.end_s[-1]))
        read.append(demand)
    return [replace(demand, whole_s=last_s - first_s) for demand in read]


def _demand_if_possible(
    node: str, device: str, intervals: pd.DataFrame, source: Limits | None
) -> Demand | None:
    """The demand of one disk; None if no disk can have done any of these."""
    rows = _complete_by_time(intervals)
    is_possible = plausible_readings.possible(rows)
    if not is_possible.any():
        return None
    impossible = int((~is_possible).sum())
    if impossible:
        rows = rows[is_possible]
    plausible_readings.require_belonging(node, device, rows)
    plausible_readings.require_seconds(node, device, rows)
    demand = _demand_of_rows(node, device, rows, source)
    unlikely = tuple(plausible_readings.unlikely(rows))
    return replace(demand, impossible=impossible, unlikely=unlikely)


def _complete_by_time(intervals: pd.DataFrame) -> pd.DataFrame:
    """The intervals that have a length and every amount, ordered by time."""
    # Copied only where it must be, because a week of readings is large.
    # Reads may be missing: then `writes` has them too.
    needed = intervals[["begin_s", "end_s", *QUANTITIES[WRITES:]]]
    is_usable = needed.notna().all(axis=1)
    is_usable &= intervals["end_s"] > intervals["begin_s"]
    if not is_usable.all():
        intervals = intervals[is_usable]
    begin_s = intervals["begin_s"].to_numpy(float)
    if (np.diff(begin_s) > 0).all():
        return intervals
    return intervals.sort_values(["begin_s", "end_s"])


def _demand_of_rows(
    node: str, device: str, rows: pd.DataFrame, source: Limits | None
) -> Demand:
    """The demand of one disk.

    It has one-second readings alone if most of the time was read so. Otherwise it has the other
    readings, with those of a second as its pieces.
    """
    amounts = np.empty((len(QUANTITIES), len(rows)))
    for place, name in enumerate(QUANTITIES):
        amounts[place] = rows[name].to_numpy(float)
    queue_s = None
    if QUEUE_S in rows and rows[QUEUE_S].notna().any():
        queue_s = rows[QUEUE_S].to_numpy(float, copy=True)
    demand = Demand(
        node,
        device,
        # Copies, because a column alone would keep the whole table.
        begin_s=rows["begin_s"].to_numpy(float, copy=True),
        end_s=rows["end_s"].to_numpy(float, copy=True),
        amounts=amounts,
        queue_s=queue_s,
        reported=tuple(reported_throttle.in_rows(rows)),
    )
    if source:
        demand = _without_jumps(demand, source)
    is_fine = demand.step_s <= FINE_S
    fine = _without_overlaps(demand.part(is_fine))
    coarse = _without_overlaps(demand.part(~is_fine))
    # Each part of the time counts once: what covers more is judged, and the rest stands beside it.
    if fine.step_s.sum() >= coarse.step_s.sum():
        return fine
    return replace(coarse, pieces=_pieces(fine, coarse.resolution_s))


def _without_jumps(demand: Demand, source: Limits) -> Demand:
    """The demand without the few intervals that this disk cannot have done."""
    beyond = is_beyond(demand, source)
    jumps = int(beyond.sum())
    if jumps > MOST_JUMPS or beyond.all():
        return demand
    return replace(demand.part(~beyond), left_out=jumps)


def is_beyond(demand: Demand, source: Limits) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """For each interval, whether it has more than such a disk can do, burst included."""
    burst = source.burst or NO_BURST
    # Where writes have a limit of their own, reads and writes may be at theirs at once.
    ios_per_s = max(source.iops or 0, burst.iops or 0) + (source.write_iops or 0)
    bytes_per_s = max(source.bytes_per_s or 0, burst.bytes_per_s or 0)
    # A disk without such a limit can do any number.
    most_ios_per_s = _BEYOND * (ios_per_s or np.inf)
    most_bytes_per_s = _BEYOND * (bytes_per_s or np.inf)
    has_more_ios = demand.ios > most_ios_per_s * demand.step_s
    has_more_bytes = demand.bytes > most_bytes_per_s * demand.step_s
    return has_more_ios | has_more_bytes


def _pieces(fine: Demand, most_gap_s: float) -> tuple[Array, ...]:
    """The rates of stretches of readings between which no gap is longer than `most_gap_s`.

    A row for each reading, a column for each of QUANTITIES.
    """
    # A lost second does not make two stretches of one.
    lost_s = fine.begin_s[1:] - fine.end_s[:-1]
    cuts = np.flatnonzero(lost_s > most_gap_s) + 1
    rates = fine.amounts / fine.step_s
    stretches = np.split(rates.T, cuts)
    return tuple(stretch for stretch in stretches if len(stretch) >= _FEWEST_OF_PIECE)


def _without_overlaps(demand: Demand) -> Demand:
    """The demand without intervals that begin before an earlier one has ended.

    UsageError if these are many.
    """
    if not len(demand.begin_s):
        return demand
    is_kept = reading_order.without_repeats(
        demand.node, demand.device, demand.begin_s, demand.end_s, demand.amounts
    )
    return demand.part(is_kept)
