"""A demand held against limits with their burst credit and backlog, step by step.

The rule of a token bucket and that of the hard band of coarse sums are in docs/OBSERVE.md. A bucket
is a peak limit followed by it, and each of them is a queue that is known in closed form (Lindley:
v ← max(0, v + x) is the walk of x less its lowest point so far), so that a week is a few passes
over its steps. What is in the second queue up to the size of the bucket is credit spent, and what
is beyond it waits. All limits are replayed side by side; a step is at the cap if any is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from orchestrator.analysis.observed.demand import READS, WRITES, Array, Demand
from orchestrator.analysis.telemetry.disk_demand import AT_CAP
from orchestrator.tier import Burst, Limits

Counted = Literal["ios", "reads", "writes", "bytes"]
End = Literal["low", "high"]
ENDS: tuple[End, End] = ("low", "high")
Slack = tuple[float, float]  # of a demand: less at its low end, more at its high one
SAME: Slack = (0.0, 0.0)
Flags = np.ndarray[Any, np.dtype[np.bool_]]
Numbers = np.ndarray[Any, np.dtype[np.intp]]


@dataclass(frozen=True)
class RateCap:
    """One limit per second: `base`, `top` while there is credit (the base if it does not burst),
    and what a full bucket holds, in I/Os or bytes."""

    name: str
    counted: Counted
    base: float
    top: float
    bucket: float = 0.0

    def within(self, other: RateCap) -> bool:
        """Whether all that it lets through the other one would let through."""
        lower = (
            self.base <= other.base
            and self.top <= other.top
            and self.bucket <= other.bucket
        )
        return self.counted == other.counted and lower


def caps(disk: Limits, vm: Limits | None = None) -> Iterator[RateCap]:
    """Those of a disk and of its VM. Burst on demand is not part of them: it is billed apart."""
    for limits, of in ((disk, ""), (vm or Limits(), " of the VM")):
        burst = limits.burst
        apart = limits.write_iops is not None
        if burst and np.isfinite(burst.duration_s):
            peak = burst
        else:
            peak = Burst(None, None, 0.0)
        values: tuple[tuple[str, Counted, int | None, int | None], ...] = (
            (
                "read IOPS" if apart else "IOPS",
                "reads" if apart else "ios",
                limits.iops,
                peak.iops,
            ),
            ("write IOPS", "writes", limits.write_iops, None),
            ("bytes/s", "bytes", limits.bytes_per_s, peak.bytes_per_s),
        )
        for name, counted, base, most in values:
            if base:
                top = max(base, most or 0)
                yield RateCap(
                    name + of, counted, base, top, (top - base) * peak.duration_s
                )


def asked(
    demand: Demand, cap: RateCap, unit: int | None, end: End, slack: Slack = SAME
) -> Array:
    """What counts against the cap, of a demand that is smaller or larger by `slack` of it. A disk
    counts an I/O larger than its unit as several, and sums bound that: max(n, bytes ÷ unit) ≤ units
    < n + bytes ÷ unit; without a unit, n. One count of reads and writes together bounds either."""
    if end == "high":
        by = 1 + slack[1]
    else:
        by = 1 - slack[0]
    if cap.counted == "bytes":
        return by * demand.bytes
    count = demand.ios
    moved = demand.bytes
    if cap.counted != "ios":
        which = WRITES
        if cap.counted == "reads":
            which = READS
        known = demand.amounts[which]
        moved = demand.amounts[2 + which]
        count = np.where(
            np.isnan(demand.amounts[READS]), count * (end == "high"), known
        )
    more = moved / (unit or np.inf)
    return by * (count + more if end == "high" else np.maximum(count, more))


_WHOLE = np.zeros(1, dtype=np.intp)  # one stretch


def queue(grows: Array, starts: Numbers = _WHOLE, start: float = 0.0) -> Array:
    """v ← max(0, v + x) for each x of `grows`, from `start` at the begin of each stretch; v takes
    the place of x, because a week's arrays cost more to make than to fill."""
    for first, end in zip(starts, (*starts[1:], len(grows)), strict=True):
        own = np.cumsum(grows[first:end], out=grows[first:end])
        own += start
        own -= np.minimum(np.minimum.accumulate(own), 0.0)
    return grows


def _before(values: Array, starts: Numbers, start: float = 0.0) -> Array:
    earlier = np.empty(len(values))
    earlier[1:] = values[:-1]
    earlier[starts] = start
    return earlier


def seconds_of(step_s: Array, flags: Flags) -> float:
    """Of the steps that have the flag. As flags they are multiplied one by one, which took a third
    of the time of a week's replay."""
    return float(step_s @ flags.astype(np.float64))


@dataclass(frozen=True)
class Replay:
    """Of each step: asks: it asks for a cap; at_cap: it is at one if all work is done later; credit
    left of a full bucket, 0 to 1, of the one with least. An asking step is at the cap too. binding:
    the cap that is reached in most of the time; "": none is."""

    asks: Flags
    at_cap: Flags
    credit: Array
    binding: str


def replayed(
    drawn: Array,
    stays: Array,
    step_s: Array,
    cap: RateCap,
    full: bool,
    starts: Numbers = _WHOLE,
) -> tuple[Array, Array, Array]:
    """The limit, what waits from before, and the credit of each step. drawn: what it asks for;
    stays: what of it is done later if it waits for the peak; full: the bucket at the begin of each
    stretch, else it is empty. It serves the limit, or less if less is there."""
    limit = cap.base * step_s
    most = cap.top * step_s
    bucket = cap.bucket
    waiting = queue(stays - most, starts)
    if not bucket:
        return limit, _before(waiting, starts), np.ones(len(drawn))
    through = np.minimum(drawn + _before(waiting, starts), most)
    spent = bucket
    if full:
        spent = 0.0
    debt = queue(through - limit, starts, spent)
    left = np.maximum(0.0, bucket - debt)
    waiting += np.maximum(0.0, debt - bucket)
    limit = np.minimum(most, limit + _before(left, starts, bucket - spent))
    return limit, _before(waiting, starts), left / bucket


def _in_turns(commits: Array, most: Array) -> Array:
    """How many writes these are, if all that come while one takes its turn share the next: one each
    1 ÷ c + exp(−a ÷ c) ÷ a seconds, where c a second may be made and a come at random. The second
    term is how long it waits for the next where none came meanwhile."""
    per_turn = commits / most
    return commits / (per_turn + np.exp(-per_turn))


def _at_end(
    demand: Demand,
    cap: RateCap,
    wanted: Array,
    end: End,
    unit: int | None,
    slack: Slack,
) -> tuple[Array, Array, Array]:
    """`replayed`; at the low end commits that wait share a write, so that of I/Os only reads are
    done later, and credit is taken by turns."""
    stays = wanted
    of = (demand.step_s, cap, end == "low", demand.starts)
    if end == "low" and cap.counted != "bytes":
        stays = asked(demand.reads_alone, cap, unit, end, slack)
    if stays is wanted or not cap.bucket:
        return replayed(wanted, stays, *of)
    shorter = replayed(
        stays + _in_turns(wanted - stays, cap.top * demand.step_s), stays, *of
    )
    if shorter[2].min() > 0:
        return shorter
    # Turns take longer when the credit is gone.
    return replayed(stays + _in_turns(wanted - stays, shorter[0]), stays, *of)


def together(
    demand: Demand,
    limits: Sequence[RateCap],
    unit: int | None,
    end: End,
    slack: Slack = SAME,
) -> Replay:
    """Of what a gap did to credit and backlog nothing is known: after each the bucket is taken as
    full for the low end and as empty for the high one, without backlog. Of a demand that is smaller
    by `slack` nothing is told but what it asks for, which at_cap is too."""
    step_s = demand.step_s
    credit = np.ones(len(demand.step_s))
    asks, at_cap = np.zeros((2, len(step_s)), dtype=bool)
    reached_s = {"": 0.0}
    for cap in limits:
        wanted = asked(demand, cap, unit, end, slack)
        asking = reached = wanted >= AT_CAP * cap.base * step_s
        if not asking.any():  # and no credit was taken
            continue
        if cap.bucket or end == "high" or slack == SAME:
            limit, waits, left = _at_end(demand, cap, wanted, end, unit, slack)
            limit *= AT_CAP
            asking = wanted >= limit
            reached = wanted + waits >= limit
            if cap.bucket:
                credit = np.minimum(credit, left, out=left)
            else:
                credit = credit
        asks |= asking
        at_cap |= reached
        reached_s[cap.name] = seconds_of(step_s, reached)
    return Replay(
        asks, at_cap, credit, max(reached_s, key=lambda name: reached_s[name])
    )


def hard(
    demand: Demand, limits: Sequence[RateCap], unit: int | None, slack: Slack = SAME
) -> tuple[float, Array]:
    """Seconds at any of the caps whatever happens within the intervals: at least, in all; at most,
    in each interval."""
    step_s = demand.step_s
    starts = demand.starts
    least_s = 0.0
    most_s = np.zeros(len(step_s))
    for cap in limits:
        low, high = (asked(demand, cap, unit, end, slack) for end in ENDS)
        over = queue(low - (1.0 if cap.bucket else AT_CAP) * cap.base * step_s, starts)
        begins = np.flatnonzero((over > 0) & (_before(over, starts) <= 0))
        highest = begins
        if len(begins):
            highest = np.maximum.reduceat(over, begins)
        least_s = max(
            least_s, float(np.maximum(0, highest - cap.bucket).sum() / cap.base)
        )
        waits = _before(queue(high - AT_CAP * cap.base * step_s, starts), starts)
        most_s += (high + waits) / (AT_CAP * cap.base)
    return min(least_s, float(step_s.sum())), np.minimum(step_s, most_s)
