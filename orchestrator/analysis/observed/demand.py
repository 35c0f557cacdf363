"""What a disk was asked for: sums over intervals that have a begin and an end of their own.

A gap stays a gap: nothing is known of it, and no long mean step is made of it. The resolution T is
the usual length of an interval. Stretches that were read second by second
while most was read at T are its pieces: they show the shape of seconds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

Array = np.ndarray[Any, np.dtype[np.float64]]

QUANTITIES = ("reads", "writes", "read_bytes", "written_bytes")
READS, WRITES, READ_BYTES, WRITTEN_BYTES = range(4)
READINGS = ("time_s", "node", "device", *QUANTITIES)  # columns of counters as read
INTERVALS = ("node", "device", "begin_s", "end_s", *QUANTITIES)  # columns of sums
FINE_S = 1.5  # up to so many seconds an interval shows what a second does
HOUR_S = 3600.0
_GAP = 1.5  # times the usual step: a reading is missing in between
_ROUNDING_S = 1e-6
_PIECE = 10  # intervals, at least


@dataclass(frozen=True, eq=False)
class Demand:
    """Of one disk of a node. begin_s, end_s: Unix times, ascending, without overlap; amounts: one
    row for each of QUANTITIES, the sums of the intervals. Reads that are NaN are not known apart:
    `writes` has them too. pieces: rows of amounts per second, of one-second stretches."""

    node: str
    device: str
    begin_s: Array
    end_s: Array
    amounts: Array
    pieces: tuple[Array, ...] = ()

    @cached_property
    def step_s(self) -> Array:
        return self.end_s - self.begin_s

    @cached_property
    def resolution_s(self) -> float:
        return float(np.median(self.step_s))

    @property
    def is_fine(self) -> bool:
        return self.resolution_s <= FINE_S

    @property
    def coverage(self) -> float:
        """The share of the time from first to last that was read."""
        return float(self.step_s.sum() / (self.end_s[-1] - self.begin_s[0]))

    @cached_property
    def ios(self) -> Array:
        return np.asarray(np.nansum(self.amounts[:READ_BYTES], axis=0))

    @cached_property
    def bytes(self) -> Array:
        return np.asarray(self.amounts[READ_BYTES] + self.amounts[WRITTEN_BYTES])

    @cached_property
    def stretches(self) -> list[slice]:
        """Runs of intervals without a gap between them."""
        breaks = np.flatnonzero(self.begin_s[1:] - self.end_s[:-1] > 0.5 * FINE_S) + 1
        return [slice(a, b) for a, b in pairwise([0, *breaks.tolist(), len(self.begin_s)])]

    def part(self, which: slice | np.ndarray[Any, Any]) -> Demand:
        cut = self.begin_s[which], self.end_s[which], self.amounts[:, which]
        return replace(self, begin_s=cut[0], end_s=cut[1], amounts=cut[2])


def grown(readings: pd.DataFrame) -> pd.DataFrame:
    """INTERVALS from READINGS. Where a counter fell it began anew, and nothing is known; where a
    reading is missing neither."""
    table = readings.sort_values("time_s", kind="stable", ignore_index=True)
    own = [table["node"], table["device"]]
    grew = table[["time_s", *QUANTITIES]].groupby(own).diff()
    step_s = grew.pop("time_s")
    usual_s = step_s.groupby(own).transform("median")
    known = (step_s > 0) & (step_s <= _GAP * usual_s) & (grew >= 0).all(axis=1)
    times = {"begin_s": table["time_s"] - step_s, "end_s": table["time_s"]}
    return table[["node", "device"]].assign(**times).join(grew)[known]


def demands(intervals: pd.DataFrame) -> list[Demand]:
    """Of each disk in a table with INTERVALS, of however many sources."""
    kept = intervals.dropna(subset=list(INTERVALS[2:4] + QUANTITIES[WRITES:]))
    kept = kept[kept["end_s"] > kept["begin_s"]].sort_values("begin_s", kind="stable")
    of_disks = kept.groupby(["node", "device"])
    return [_demand(str(node), str(device), rows) for (node, device), rows in of_disks]


def _demand(node: str, device: str, rows: pd.DataFrame) -> Demand:
    begin_s, end_s, *amounts = rows[list(INTERVALS[2:])].to_numpy(float).T
    every = Demand(node, device, begin_s, end_s, np.array(amounts))
    is_fine = every.step_s <= FINE_S
    fine, coarse = (_in_turn(every.part(which)) for which in (is_fine, ~is_fine))
    if fine.step_s.sum() >= coarse.step_s.sum():
        return fine
    runs = [cut for cut in fine.stretches if cut.stop - cut.start >= _PIECE]
    pieces = (np.asarray((fine.amounts[:, run] / fine.step_s[run]).T) for run in runs)
    return replace(coarse, pieces=tuple(pieces))


def _in_turn(demand: Demand) -> Demand:
    """Without what begins before an earlier interval has ended."""
    kept, last_s = list[bool](), -np.inf
    for begin_s, end_s in zip(demand.begin_s, demand.end_s, strict=True):
        kept.append(bool(begin_s >= last_s - _ROUNDING_S))
        last_s = end_s if kept[-1] else last_s
    return demand.part(np.array(kept, dtype=bool))
