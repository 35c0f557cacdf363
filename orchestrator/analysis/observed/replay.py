"""A demand held against the limits of a disk, step by step, with burst credit and backlog.

A limit with burst is a token bucket. It is computed as two queues in a row: one that serves the
peak rate, and behind it one that serves the base rate. What is in the second queue is credit that
was spent, up to the size of the bucket. What is beyond that waits.

Each queue is known in closed form (Lindley): v ← max(0, v + x) is the walk of x less its lowest
point so far. So a week takes a few passes over its steps, and no loop.

Limits are replayed side by side, and a step is at the cap if it is at any of them. The rules, and
what sums of coarse readings tell, are in docs/research/OBSERVE.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Literal, NamedTuple

import numpy as np

from orchestrator.analysis.observed.demand import READS, WRITES, Array, Demand
from orchestrator.analysis.telemetry.use.disk_seconds import AT_CAP
from orchestrator.tier import Burst, Limits

Counted = Literal["ios", "reads", "writes", "bytes"]
End = Literal["low", "high"]
ENDS: tuple[End, End] = ("low", "high")
Slack = tuple[float, float]  # of a demand: less at its low end, more at its high one
SAME: Slack = (0.0, 0.0)
Flags = np.ndarray[Any, np.dtype[np.bool_]]
Numbers = np.ndarray[Any, np.dtype[np.intp]]


# ------------------------------------------------------------------ limits


@dataclass(frozen=True)
class RateCap:
    """One limit. base, top: I/Os or bytes per second, without and with burst credit; the same if it
    does not burst. bucket: what a full bucket holds, in I/Os or bytes."""

    name: str
    counted: Counted
    base: float
    top: float
    bucket: float = 0.0

    def within(self, other: RateCap) -> bool:
        """Whether all that it lets through the other one would let through."""
        return (
            self.counted == other.counted
            and self.base <= other.base
            and self.top <= other.top
            and self.bucket <= other.bucket
        )


_NO_BURST = Burst(None, None, 0.0)


def caps(disk: Limits, vm: Limits | None = None) -> Iterator[RateCap]:
    """The caps of a disk and of its VM. Burst on demand is left out, because it is billed apart."""
    yield from _caps(disk, "")
    if vm:
        yield from machine_caps(vm)


def machine_caps(vm: Limits) -> Iterator[RateCap]:
    """The caps of a VM, which hold for all of its disks together."""
    yield from _caps(vm, " of the VM")


def _caps(limits: Limits, place: str) -> Iterator[RateCap]:
    burst = limits.burst
    if not burst or not np.isfinite(burst.duration_s):
        burst = _NO_BURST
    lasts_s = burst.duration_s
    if limits.write_iops is None:
        yield from _cap(f"IOPS{place}", "ios", limits.iops, burst.iops, lasts_s)
    else:
        yield from _cap(f"read IOPS{place}", "reads", limits.iops, burst.iops, lasts_s)
    # Nobody sells a burst of writes alone.
    yield from _cap(f"write IOPS{place}", "writes", limits.write_iops, None, lasts_s)
    most = burst.bytes_per_s
    yield from _cap(f"bytes/s{place}", "bytes", limits.bytes_per_s, most, lasts_s)


def _cap(
    name: str, counted: Counted, base: int | None, peak: int | None, lasts_s: float
) -> Iterator[RateCap]:
    """The cap, if there is a limit."""
    if base:
        top = max(base, peak or 0)
        yield RateCap(name, counted, base, top, (top - base) * lasts_s)


def asked(
    demand: Demand, cap: RateCap, unit: int | None, end: End, slack: Slack = SAME
) -> Array:
    """What of each step counts against the cap. `slack`: by how much the demand is made smaller at
    its low end, and larger at its high one.

    A disk counts an I/O that is larger than its unit as several. Sums of n I/Os bound how many:
    max(n, bytes ÷ unit) ≤ units < n + bytes ÷ unit. Without a unit it is n. Where reads and writes
    have one count, it bounds either of them.
    """
    less, more = slack
    if cap.counted == "bytes":
        amount = demand.bytes
    else:
        count = _count(demand, cap.counted, end)
        units = _moved_bytes(demand, cap.counted) / (unit or np.inf)
        if end == "high":
            amount = count + units
        else:
            amount = np.maximum(count, units)
    if end == "high":
        return (1 + more) * amount
    return (1 - less) * amount


def _count(demand: Demand, counted: Counted, end: End) -> Array:
    """How many I/Os. Where reads and writes have one count, either may be all of it, or none."""
    if counted == "ios":
        return demand.ios
    together = demand.ios
    if end == "low":
        together = np.zeros(len(together))
    reads = demand.amounts[READS]
    apart = demand.amounts[_row(counted)]
    return np.where(np.isnan(reads), together, apart)


def _moved_bytes(demand: Demand, counted: Counted) -> Array:
    if counted == "ios":
        return demand.bytes
    return np.asarray(demand.amounts[2 + _row(counted)])


def _row(counted: Counted) -> int:
    """The row of a counted quantity in amounts. Bytes stand two rows below I/Os."""
    if counted == "reads":
        return READS
    return WRITES


# ------------------------------------------------------------------ queues

_WHOLE = np.zeros(1, dtype=np.intp)  # one stretch


def turn_into_queue(
    grows: Array, starts: Numbers = _WHOLE, at_start: float = 0.0
) -> None:
    """Puts in the place of each step's growth x how much then waits: v ← max(0, v + x), from
    `at_start` at the begin of each stretch. In place, because a week's arrays cost more to make
    than to fill."""
    ends = (*starts[1:], len(grows))
    for start, end in zip(starts, ends, strict=True):
        waiting = grows[start:end]
        np.cumsum(waiting, out=waiting)
        waiting += at_start
        # The walk of x less its lowest point so far (Lindley).
        waiting -= np.minimum(np.minimum.accumulate(waiting), 0.0)


def _before(values: Array, starts: Numbers, at_start: float = 0.0) -> Array:
    """For each step, what there was at the end of the step before it in its stretch."""
    earlier = np.empty(len(values))
    earlier[1:] = values[:-1]
    earlier[starts] = at_start
    return earlier


def seconds_of(step_s: Array, flags: Flags) -> float:
    """The length of all steps that have the flag."""
    # No product of vectors: the threads of the library that makes it wait for each other. On a busy
    # machine of two cores it took 8 ms for a day's steps, and this takes 0.05 ms.
    return float((step_s * flags).sum())


# ------------------------------------------------------------------ replays


class Served(NamedTuple):
    """What one limit did in each step.

    limit: what it lets through. waits: what waits from the steps before. credit: what is left, as a
    share of a full bucket.
    """

    limit: Array
    waits: Array
    credit: Array


def replayed(
    drawn: Array,
    stays: Array,
    step_s: Array,
    cap: RateCap,
    full: bool,
    starts: Numbers = _WHOLE,
) -> Served:
    """A demand against one limit.

    drawn: what each step asks for. stays: what of that is done later if it has to wait; commits
        that wait may share a write. full: whether the bucket is full at the begin of each stretch,
        else it is empty.
    """
    limit = cap.base * step_s
    most = cap.top * step_s
    waiting = stays - most
    turn_into_queue(waiting, starts)
    if not cap.bucket:
        return Served(limit, _before(waiting, starts), np.ones(len(drawn)))
    spent = cap.bucket
    if full:
        spent = 0.0
    through = np.minimum(drawn + _before(waiting, starts), most)
    # What goes through beyond the base takes credit, and beyond the bucket it waits.
    debt = through - limit
    turn_into_queue(debt, starts, spent)
    left = np.maximum(0.0, cap.bucket - debt)
    waiting += np.maximum(0.0, debt - cap.bucket)
    with_credit = limit + _before(left, starts, cap.bucket - spent)
    limit = np.minimum(most, with_credit)
    return Served(limit, _before(waiting, starts), left / cap.bucket)


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
) -> Served:
    """`replayed`; at the low end commits that wait share a write, so that of I/Os only reads are
    done later, and credit is taken by turns."""
    if end == "high":
        return _served(demand, cap, wanted, wanted, full=False)
    if cap.counted == "bytes":
        return _served(demand, cap, wanted, wanted, full=True)
    reads = asked(demand.reads_alone, cap, unit, end, slack)
    if not cap.bucket:
        return _served(demand, cap, wanted, reads, full=True)
    commits = wanted - reads
    shorter = reads + _in_turns(commits, cap.top * demand.step_s)
    served = _served(demand, cap, shorter, reads, full=True)
    if served.credit.min() > 0:
        return served
    # Turns take longer when the credit is gone.
    longer = reads + _in_turns(commits, served.limit)
    return _served(demand, cap, longer, reads, full=True)


def _served(
    demand: Demand, cap: RateCap, drawn: Array, stays: Array, full: bool
) -> Served:
    return replayed(drawn, stays, demand.step_s, cap, full, demand.starts)


@dataclass(frozen=True)
class Replay:
    """What happened in each step of a replay.

    asks: the step asks for a cap. at_cap: it asks for one, or is at one if all work is done later.
    credit: what is left of a full bucket, 0 to 1, in the bucket with least. binding: the cap that
    is reached in most of the time; "": none is.
    """

    asks: Flags
    at_cap: Flags
    credit: Array
    binding: str


def together(
    demand: Demand,
    limits: Sequence[RateCap],
    unit: int | None,
    end: End,
    slack: Slack = SAME,
) -> Replay:
    """A demand against all limits of a disk.

    Of what a gap did to credit and backlog nothing is known: after each the bucket is taken as full
    for the low end and as empty for the high one, without backlog. Of a demand that is smaller by
    `slack` nothing is told but what it asks for, which at_cap is too.
    """
    steps = len(demand.step_s)
    asks = np.zeros(steps, dtype=bool)
    at_cap = np.zeros(steps, dtype=bool)
    credit = np.ones(steps)
    reached_s = {"": 0.0}
    for cap in limits:
        replay = _against(demand, cap, unit, end, slack)
        if replay is None:
            continue
        asks |= replay.asks
        at_cap |= replay.at_cap
        if cap.bucket:
            np.minimum(credit, replay.credit, out=credit)
        reached_s[cap.name] = seconds_of(demand.step_s, replay.at_cap)
    binding, _ = max(reached_s.items(), key=itemgetter(1))
    return Replay(asks, at_cap, credit, binding)


def _against(
    demand: Demand, cap: RateCap, unit: int | None, end: End, slack: Slack
) -> Replay | None:
    """One limit alone; None if nothing asks for it, and so no credit was taken."""
    wanted = asked(demand, cap, unit, end, slack)
    asks = wanted >= AT_CAP * cap.base * demand.step_s
    if not asks.any():
        return None
    is_smaller = end == "low" and slack != SAME
    if is_smaller and not cap.bucket:
        return Replay(asks, asks, np.ones(len(wanted)), cap.name)
    served = _at_end(demand, cap, wanted, end, unit, slack)
    limit = served.limit
    limit *= AT_CAP
    return Replay(
        asks=wanted >= limit,
        at_cap=wanted + served.waits >= limit,
        credit=served.credit,
        binding=cap.name,
    )


# ------------------------------------------------------------------ sums alone


class HardBand(NamedTuple):
    """Seconds at any of the caps whatever happens within the intervals: at least, in all; at most,
    in each interval."""

    least_s: float
    most_s: Array


def hard(
    demand: Demand, limits: Sequence[RateCap], unit: int | None, slack: Slack = SAME
) -> HardBand:
    """What sums alone tell."""
    step_s = demand.step_s
    least_s = 0.0
    most_s = np.zeros(len(step_s))
    for cap in limits:
        low = asked(demand, cap, unit, "low", slack)
        least_s = max(least_s, _least_s(demand, cap, low))
        high = asked(demand, cap, unit, "high", slack)
        most_s += _most_s(demand, cap, high)
    return HardBand(min(least_s, float(step_s.sum())), np.minimum(step_s, most_s))


def _least_s(demand: Demand, cap: RateCap, wanted: Array) -> float:
    """What the highest of each backlog, without a bucket's credit, takes to be served."""
    starts = demand.starts
    share = AT_CAP
    if cap.bucket:
        share = 1.0
    over = wanted - share * cap.base * demand.step_s
    turn_into_queue(over, starts)
    is_first = (over > 0) & (_before(over, starts) <= 0)
    begins = np.flatnonzero(is_first)
    if not len(begins):
        return 0.0
    highest = np.maximum.reduceat(over, begins)
    beyond = np.maximum(0, highest - cap.bucket)
    return float(beyond.sum() / cap.base)


def _most_s(demand: Demand, cap: RateCap, wanted: Array) -> Array:
    """For each interval, the most that it and all that waits from before need at the base rate."""
    full_rate = AT_CAP * cap.base
    backlog = wanted - full_rate * demand.step_s
    turn_into_queue(backlog, demand.starts)
    return (wanted + _before(backlog, demand.starts)) / full_rate
