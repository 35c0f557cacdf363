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
Flags = np.ndarray[Any, np.dtype[np.bool_]]


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
        lower = self.base <= other.base and self.top <= other.top and self.bucket <= other.bucket
        return self.counted == other.counted and lower


def caps(limits: Limits, of: str = "") -> Iterator[RateCap]:
    """Those that a disk declares, or a VM (`of`: what is added to their names). Burst on demand is
    not part of them: it is billed apart."""
    burst, apart = limits.burst, limits.write_iops is not None
    peak = burst if burst and np.isfinite(burst.duration_s) else Burst(None, None, 0.0)
    values: tuple[tuple[str, Counted, int | None, int | None], ...] = (
        ("read IOPS" if apart else "IOPS", "reads" if apart else "ios", limits.iops, peak.iops),
        ("write IOPS", "writes", limits.write_iops, None),
        ("bytes/s", "bytes", limits.bytes_per_s, peak.bytes_per_s),
    )
    for name, counted, base, most in values:
        if base:
            top = max(base, most or 0)
            yield RateCap(name + of, counted, base, top, (top - base) * peak.duration_s)


def asked(
    demand: Demand, cap: RateCap, unit_bytes: int | None, end: End, slack: float = 0.0
) -> Array:
    """What counts against the cap, of a demand that is larger or smaller by `slack` of it. A disk
    counts an I/O larger than its unit as several, and sums bound that: max(n, bytes ÷ unit) ≤ units
    < n + bytes ÷ unit; without a unit, n. One count of reads and writes together bounds either."""
    by = 1 + slack if end == "high" else 1 - slack
    if cap.counted == "bytes":
        return by * demand.bytes
    count, moved = demand.ios, demand.bytes
    if cap.counted != "ios":
        which = READS if cap.counted == "reads" else WRITES
        known, moved = demand.amounts[which], demand.amounts[2 + which]
        count = np.where(np.isnan(demand.amounts[READS]), count * (end == "high"), known)
    more = moved / (unit_bytes or np.inf)
    return by * (count + more if end == "high" else np.maximum(count, more))


def queue(grows: Array, start: float = 0.0) -> Array:
    """v ← max(0, v + x) for each x of `grows`, from `start`."""
    walk = np.cumsum(grows)
    walk += start
    return np.asarray(walk - np.minimum(np.minimum.accumulate(walk), 0.0))


def _before(values: Array, start: float = 0.0) -> Array:
    return np.concatenate(([start], values[:-1]))


@dataclass(frozen=True)
class Replay:
    """Of each step: asks: it asks for a cap; at_cap: it is at one if all work is done later; credit
    left of a full bucket, 0 to 1, of the one with least. An asking step is at the cap too. binding:
    the cap that is reached in most of the time; "": none is."""

    asks: Flags
    at_cap: Flags
    credit: Array
    binding: str


def replayed(asks: Array, step_s: Array, cap: RateCap, full: bool) -> tuple[Array, Array, Array]:
    """One stretch without gaps: the limit, what is served, and the credit of each step. asks: what
    it asks for; full: the bucket at the begin, else it is empty."""
    limit, bucket = cap.base * step_s, cap.bucket
    waiting = queue(asks - cap.top * step_s)
    through = asks + _before(waiting) - waiting
    if not bucket:
        return limit, through, np.ones(len(asks))
    spent = 0.0 if full else bucket
    debt = queue(through - limit, spent)
    left = np.maximum(0.0, bucket - debt)
    backlog = waiting + np.maximum(0.0, debt - bucket)
    limit = np.minimum(cap.top * step_s, limit + _before(left, bucket - spent))
    return limit, asks + _before(backlog) - backlog, left / bucket


def together(
    demand: Demand, limits: Sequence[RateCap], unit: int | None, end: End, slack: float = 0.0
) -> Replay:
    """Of what a gap did to credit and backlog nothing is known: after each the bucket is taken as
    full for the low end and as empty for the high one, without backlog."""
    asks, at_cap = np.zeros((2, len(demand.begin_s)), dtype=bool)
    credit, reached_s = np.ones(len(asks)), {"": 0.0}
    for cap in limits:
        wanted, reached_s[cap.name] = asked(demand, cap, unit, end, slack), 0.0
        for cut in demand.stretches:
            step_s = demand.step_s[cut]
            if not cap.bucket and (wanted[cut] < AT_CAP * cap.base * step_s).all():
                continue
            limit, served, left = replayed(wanted[cut], step_s, cap, end == "low")
            asks[cut] |= wanted[cut] >= AT_CAP * limit
            at_cap[cut] |= served >= AT_CAP * limit
            np.minimum(credit[cut], left, out=credit[cut])
            reached_s[cap.name] += float(step_s @ (served >= AT_CAP * limit))
    return Replay(asks, at_cap, credit, max(reached_s, key=lambda name: reached_s[name]))


def hard(
    demand: Demand, limits: Sequence[RateCap], unit: int | None, slack: float = 0.0
) -> tuple[float, Array]:
    """Seconds at any of the caps whatever happens within the intervals: at least, in all; at most,
    in each interval."""
    least_s, most_s = 0.0, np.zeros(len(demand.step_s))
    for cap in limits:
        low, high = (asked(demand, cap, unit, end, slack) for end in ENDS)
        in_runs_s, below = 0.0, 1.0 if cap.bucket else AT_CAP
        for cut in demand.stretches:
            step_s = demand.step_s[cut]
            over = queue(low[cut] - below * cap.base * step_s)
            begins = np.flatnonzero((over > 0) & (_before(over) <= 0))
            highest = np.maximum.reduceat(over, begins) if len(begins) else begins
            in_runs_s += float(np.maximum(0, highest - cap.bucket).sum() / cap.base)
            waits = _before(queue(high[cut] - AT_CAP * cap.base * step_s))
            most_s[cut] += (high[cut] + waits) / (AT_CAP * cap.base)
        least_s = max(least_s, in_runs_s)
    return min(least_s, float(demand.step_s.sum())), np.minimum(demand.step_s, most_s)
