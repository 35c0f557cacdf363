"""What a disk was asked for: sums over intervals that have a begin and an end of their own.

A gap stays a gap: nothing is known of it, and no long mean step is made of it. The resolution T is
the usual length of an interval. Stretches that were read second by second while most was read at T
are its pieces, from which seconds within the others are drawn (`drawn_seconds`). Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from orchestrator.extensions.observe.judging.reported_throttle import (
    OVER_S,
    ReportedThrottle,
)

Array = np.ndarray[Any, np.dtype[np.float64]]

QUANTITIES = ("reads", "writes", "read_bytes", "written_bytes")
READS, WRITES, READ_BYTES, WRITTEN_BYTES = range(4)
INTERVALS = ("node", "device", "begin_s", "end_s", *QUANTITIES)  # columns of sums
# A column that a table may have besides: the seconds that all I/Os of an interval took together.
QUEUE_S = "queue_s"
# All columns that a table may have besides, of seconds that grew in an interval.
IF_THERE = (QUEUE_S, *OVER_S)
# So many I/Os take a millisecond or more in sum, in which kernels count.
_TAKE_TIME_IOS = 100
FINE_S = 1.5  # up to so many seconds an interval shows what a second does
HOUR_S = 3600.0


@dataclass(frozen=True, eq=False)
class Demand:
    """What one disk of a node was asked for, interval by interval.

    begin_s, end_s: Unix times, ascending, without overlap. amounts: one row for each of QUANTITIES,
    the sums of the intervals. Reads that are NaN are not known apart: `writes` has them too.
    queue_s: the seconds that all I/Os of an interval took together, NaN where that is not known;
    None where it is known of none. reported: what its provider itself reports of its limits, if it
    does.

    pieces: rows of amounts per second, of one-second stretches. whole_s: from the first reading of
    any disk to the last, if that is known. devices: how many equal devices it is the sum of.

    left_out: how many intervals were taken for jumps of a counter, because the disk cannot do that.
    impossible: how many intervals no disk can have done, which are gaps. unlikely: in words, what a
    person should look at.
    """

    node: str
    device: str
    begin_s: Array
    end_s: Array
    amounts: Array
    pieces: tuple[Array, ...] = ()
    whole_s: float = 0.0
    devices: int = 1
    left_out: int = 0
    impossible: int = 0
    unlikely: tuple[str, ...] = ()
    queue_s: Array | None = None
    reported: tuple[ReportedThrottle, ...] = ()

    @cached_property
    def step_s(self) -> Array:
        return self.end_s - self.begin_s

    @cached_property
    def resolution_s(self) -> float:
        """T: the usual length of an interval."""
        return float(np.median(self.step_s))

    @property
    def is_fine(self) -> bool:
        return self.resolution_s <= FINE_S

    @property
    def coverage(self) -> float:
        """The share that was read of the whole time, or else of that from first to last."""
        from_first_to_last_s = self.end_s[-1] - self.begin_s[0]
        # Other disks may have been read for longer: what is missing of this one counts against it.
        whole_s = max(self.whole_s, from_first_to_last_s)
        return float(self.step_s.sum() / whole_s)

    @cached_property
    def in_flight(self) -> Array:
        """I/Os at a time, on average over each interval; NaN where that is not known."""
        if self.queue_s is None:
            return np.full(len(self.begin_s), np.nan)
        # Each I/O takes time, so that many which took none show a counter that is not kept.
        is_left_out = (self.queue_s == 0) & (self.ios >= _TAKE_TIME_IOS)
        is_possible = np.isfinite(self.queue_s) & (self.queue_s >= 0)
        queue_s = np.where(is_possible & ~is_left_out, self.queue_s, np.nan)
        return np.asarray(queue_s / self.step_s)

    @cached_property
    def ios(self) -> Array:
        return np.asarray(np.nansum(self.amounts[:READ_BYTES], axis=0))

    @cached_property
    def bytes(self) -> Array:
        return np.asarray(self.amounts[READ_BYTES] + self.amounts[WRITTEN_BYTES])

    @cached_property
    def starts(self) -> np.ndarray[Any, np.dtype[np.intp]]:
        """Numbers of the intervals at which stretches without a gap begin."""
        # Readings of a second come a little early or late: that is no gap.
        after_gap = self.begin_s[1:] - self.end_s[:-1] > 0.5 * FINE_S
        return np.flatnonzero(np.concatenate(([True], after_gap)))

    @cached_property
    def reads_alone(self) -> Demand:
        """The demand of reads alone. If reads are not known apart, it is empty."""
        reads_only = np.array([[1.0], [0.0], [1.0], [0.0]])
        return replace(self, amounts=np.nan_to_num(self.amounts) * reads_only)

    def part(self, which: slice | np.ndarray[Any, Any]) -> Demand:
        """Some of its intervals; itself for flags that are all set, because a copy of a week's is
        large."""
        if isinstance(which, np.ndarray) and which.dtype == bool and which.all():
            return self
        queue_s = self.queue_s
        if queue_s is not None:
            queue_s = queue_s[which]
        return replace(
            self,
            queue_s=queue_s,
            reported=tuple(throttle.part(which) for throttle in self.reported),
            begin_s=self.begin_s[which],
            end_s=self.end_s[which],
            amounts=self.amounts[:, which],
        )

    def forget(self) -> None:
        """Lets go of what was computed of the demand: of a week's seconds that is more than they
        are."""
        for name in _COMPUTED:
            self.__dict__.pop(name, None)


# Values of a demand, each as long as its intervals are many.
_COMPUTED = ("step_s", "in_flight", "ios", "bytes", "starts", "reads_alone")


def seconds_of(demands: Iterable[Demand]) -> float:
    """The time that was read of all of them together."""
    return sum(float(demand.step_s.sum()) for demand in demands)
