"""What a disk was asked for: sums over intervals that have a begin and an end of their own.

A gap stays a gap: nothing is known of it, and no long mean step is made of it. The resolution T is
the interval's length in which most of the time was read. What was read second by second while the
rest was read at T is kept beside it, as pieces that show the shape of seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

Array = np.ndarray[Any, np.dtype[np.float64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]

QUANTITIES = ("reads", "writes", "read_bytes", "written_bytes")
COLUMNS = ("time_s", "node", "device", *QUANTITIES)  # of a table of counters as read
READS, WRITES, READ_BYTES, WRITTEN_BYTES = range(4)
FINE_S = 1.5  # up to so many seconds an interval shows what a second does
GAP = 1.5  # times T: a reading is missing in between
HOUR_S = 3600.0
_ROUNDING_S = 1e-6
_PIECE = 10  # intervals, at least


@dataclass(frozen=True)
class Demand:
    """Of one disk of a node. begin_s, end_s: Unix times, ascending, without overlap; amounts: one
    row for each of QUANTITIES, the sums of the intervals. apart: reads and writes are known apart,
    else `writes` has all I/Os. own_clock: times are those of the reading itself, not of whoever
    asked for it. pieces: one-second stretches of the same disk, if T is longer."""

    node: str
    device: str
    begin_s: Array
    end_s: Array
    amounts: Array
    apart: bool = True
    own_clock: bool = True
    pieces: tuple[Demand, ...] = ()

    @cached_property
    def step_s(self) -> Array:
        return self.end_s - self.begin_s

    @cached_property
    def resolution_s(self) -> float:
        return prevailing(self.step_s)

    @property
    def is_fine(self) -> bool:
        return self.resolution_s <= FINE_S

    @property
    def coverage(self) -> float:
        """The share of the time from first to last that was read."""
        return float(self.step_s.sum() / (self.end_s[-1] - self.begin_s[0]))

    @property
    def jitter(self) -> float:
        """How far steps are from T, as a share of T: the 95th percentile."""
        return float(np.quantile(np.abs(self.step_s / self.resolution_s - 1), 0.95))

    @cached_property
    def ios(self) -> Array:
        return np.asarray(self.amounts[READS] + self.amounts[WRITES])

    @cached_property
    def bytes(self) -> Array:
        return np.asarray(self.amounts[READ_BYTES] + self.amounts[WRITTEN_BYTES])

    @cached_property
    def stretches(self) -> list[slice]:
        """Runs of intervals without a gap between them."""
        breaks = np.flatnonzero(self.begin_s[1:] - self.end_s[:-1] > 0.5 * FINE_S) + 1
        ends = [0, *breaks.tolist(), len(self.begin_s)]
        return [slice(a, b) for a, b in pairwise(ends)]

    def part(self, which: slice | np.ndarray[Any, Any]) -> Demand:
        cut = (self.begin_s[which], self.end_s[which], self.amounts[:, which])
        return replace(self, begin_s=cut[0], end_s=cut[1], amounts=cut[2], pieces=())


def prevailing(step_s: Array) -> float:
    """The length of step in which at least half of the time was read; what is twenty times the
    usual one is a gap. ValueError without any step."""
    if not step_s.size:
        raise ValueError("no two readings follow each other")
    ordered = np.sort(step_s[step_s <= 20 * np.median(step_s)])
    spent = np.cumsum(ordered)
    return float(ordered[np.searchsorted(spent, spent[-1] / 2)])


def of_intervals(
    node: str, device: str, begin_s: Array, end_s: Array, amounts: Array, apart: bool = True
) -> Demand:
    """Of interval sums, in any order; what overlaps an earlier interval is left out."""
    known = np.isfinite(amounts).all(axis=0) & (amounts >= 0).all(axis=0) & (end_s > begin_s)
    order = np.flatnonzero(known)[np.argsort(begin_s[known], kind="stable")]
    kept, last_s = [], -np.inf
    for number, first_s in zip(order, begin_s[order], strict=True):
        if first_s >= last_s - _ROUNDING_S:
            kept.append(number)
            last_s = end_s[number]
    return Demand(node, device, begin_s[kept], end_s[kept], amounts[:, kept], apart)


def of_counters(
    node: str, device: str, times_s: Array, counters: Array, own_clock: bool = True
) -> Demand:
    """Of counters as read at `times_s` (a row for each of QUANTITIES). A step longer than 1.5 T is
    a gap, and so is one in which a counter fell, because it began anew. ValueError if there is
    nothing between any two readings."""
    order = np.argsort(times_s, kind="stable")
    times_s, counters = times_s[order], counters[:, order]
    resolution_s = prevailing(np.diff(times_s)[np.diff(times_s) > 0])
    pieces: tuple[Demand, ...] = ()
    if resolution_s > FINE_S:  # what was read more often is a piece; T takes one of those readings
        pieces = tuple(_pieces(_steps(node, device, times_s, counters, FINE_S)))
        place = np.floor((times_s - times_s[0]) / resolution_s + 0.1)
        first = np.unique(place, return_index=True)[1]
        times_s, counters = times_s[first], counters[:, first]
    steps = _steps(node, device, times_s, counters, GAP * resolution_s)
    if not len(steps.begin_s):
        raise ValueError("no counter grew between two readings")
    return replace(steps, pieces=pieces, own_clock=own_clock)


def of_readings(table: pd.DataFrame, node: str = "") -> list[Demand]:
    """Of each disk in a table with COLUMNS. node: how it is called, whatever the table says."""
    return [
        of_counters(
            node or str(name),
            str(device),
            rows["time_s"].to_numpy(float),
            rows[list(QUANTITIES)].to_numpy(float).T,
        )
        for (name, device), rows in table.groupby(["node", "device"])
    ]


def _steps(node: str, device: str, times_s: Array, counters: Array, longest_s: float) -> Demand:
    begin_s, end_s, growth = times_s[:-1], times_s[1:], np.diff(counters, axis=1)
    kept = (end_s > begin_s) & (end_s - begin_s <= longest_s) & (growth >= 0).all(axis=0)
    return Demand(node, device, begin_s[kept], end_s[kept], growth[:, kept])


def _pieces(fine: Demand) -> list[Demand]:
    return [fine.part(cut) for cut in fine.stretches if cut.stop - cut.start >= _PIECE]


def united(demands: Sequence[Demand]) -> list[Demand]:
    """One of each disk: that which covers most of the time. Those in seconds of the same disk are
    its pieces."""
    of_disks: dict[tuple[str, str], list[Demand]] = {}
    for demand in demands:
        of_disks.setdefault((demand.node, demand.device), []).append(demand)
    whole = []
    for same in of_disks.values():
        main, *rest = sorted(same, key=lambda each: -float(each.step_s.sum()))
        fine = [piece for each in rest if each.is_fine for piece in _pieces(each)]
        pieces = () if main.is_fine else (*main.pieces, *fine)
        whole.append(replace(main, pieces=pieces))
    return whole
