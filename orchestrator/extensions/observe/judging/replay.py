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

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from orchestrator.analysis.telemetry.use.disk_seconds import AT_CAP
from orchestrator.extensions.observe.judging.demand import Array, Demand
from orchestrator.extensions.observe.judging.rate_caps import (
    SAME,
    End,
    RateCap,
    Slack,
    asked,
)

Flags = np.ndarray[Any, np.dtype[np.bool_]]
Numbers = np.ndarray[Any, np.dtype[np.intp]]


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
        # The wait is the walk of x less its lowest point so far (Lindley).
        waiting -= np.minimum(np.minimum.accumulate(waiting), 0.0)


def before(values: Array, starts: Numbers, at_start: float = 0.0) -> Array:
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
    # The first queue: nothing goes through faster than at the peak rate.
    waiting = stays - most
    turn_into_queue(waiting, starts)
    if not cap.bucket:
        return Served(limit, before(waiting, starts), np.ones(len(drawn)))
    spent = cap.bucket
    if full:
        spent = 0.0
    through = np.minimum(drawn + before(waiting, starts), most)
    # The second queue: what goes through beyond the base takes credit, beyond the bucket it waits.
    debt = through - limit
    turn_into_queue(debt, starts, spent)
    left = np.maximum(0.0, cap.bucket - debt)
    waiting += np.maximum(0.0, debt - cap.bucket)
    with_credit = limit + before(left, starts, cap.bucket - spent)
    limit = np.minimum(most, with_credit)
    return Served(limit, before(waiting, starts), left / cap.bucket)


def _in_turns(commits: Array, most: Array) -> Array:
    """How many writes these are, if all that come while one takes its turn share the next."""
    per_turn = commits / most
    # One each 1 ÷ c + exp(−a ÷ c) ÷ a seconds: c a second may be made, a come at random. The second
    # term is how long it waits for the next where none came meanwhile.
    return commits / (per_turn + np.exp(-per_turn))


def _at_end(
    demand: Demand,
    cap: RateCap,
    wanted: Array,
    end: End,
    unit: int | None,
    slack: Slack,
) -> Served:
    """`replayed`, as it is worst for the demand at the high end and best for it at the low one."""
    if end == "high":
        return _served(demand, cap, wanted, wanted, full=False)
    # Commits that share a write still write all their bytes.
    if cap.counted == "bytes":
        return _served(demand, cap, wanted, wanted, full=True)
    # Counters do not say which writes are commits'. At best all are. Those that wait share a write,
    # so that only reads are done later, and credit is taken by turns.
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
    for the low end and as empty for the high one, without backlog.
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
    # A demand that is made smaller tells only D, so a replay without credit is not needed.
    is_smaller = end == "low" and slack != SAME
    if is_smaller and not cap.bucket:
        return Replay(asks, asks, np.ones(len(wanted)), cap.name)
    served = _at_end(demand, cap, wanted, end, unit, slack)
    limit = served.limit
    # The array is changed in place, because each array of a week's seconds is large.
    limit *= AT_CAP
    return Replay(
        asks=wanted >= limit,
        at_cap=wanted + served.waits >= limit,
        credit=served.credit,
        binding=cap.name,
    )
