"""What sums over coarse intervals say of seconds at a cap if nothing is assumed within them.

With N asked in an interval T, and r ← max(0, r + N − α·c·T) from one to the next (α = 0.95):
    at most Σ min(T, (N + r) ÷ (α·c)) seconds are at the cap c, because each serves α·c or more;
    at least the sum over runs with r > 0 of max(r) ÷ c: what seconds below the cap cannot serve.
Both hold if every I/O is still made, however late. With burst credit the cap lies between base and
top: bounds of what is spent of the bucket say which of them it can be in each interval.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from orchestrator.analysis.observed.demand import Array, Demand
from orchestrator.analysis.observed.replay import ENDS, RateCap, asked, queue
from orchestrator.analysis.telemetry.disk_demand import AT_CAP


def heaped(wanted: Array, drained: Array, start: float = 0.0) -> Array:
    """A queue is never longer than this within each interval: as if all of an interval came at its
    end, on what the intervals before have left, and all of the next one at its begin."""
    earlier = np.concatenate(([0.0], wanted[:-1]))
    left = queue(earlier - drained, start)
    at_begin = np.concatenate(([start], left[:-1] + wanted[:-1]))
    return np.asarray(at_begin + wanted)


def spent_credit(wanted: Array, step_s: Array, cap: RateCap) -> tuple[Array, Array]:
    """At least and at most so much is spent of the bucket at any moment of an interval, whatever it
    held at first. What waits behind the peak limit has not spent any yet."""
    drained = cap.base * step_s
    before = np.concatenate(([0.0], queue(wanted - drained)[:-1]))
    least = before - drained - heaped(wanted, cap.top * step_s)
    return np.maximum(0.0, least), heaped(wanted, drained, cap.bucket)


def hard(wanted: Array, step_s: Array, cap: RateCap) -> tuple[float, Array]:
    """One stretch without gaps: the least seconds at the cap in all, the most of each interval."""
    lowest = np.full(len(wanted), cap.base)
    highest = np.full(len(wanted), cap.top)
    if cap.bucket:
        least, most = spent_credit(wanted, step_s, cap)
        lowest[most < cap.bucket] = cap.top
        highest[least >= cap.bucket] = cap.base
    behind = queue(wanted - AT_CAP * lowest * step_s)
    held = wanted + np.concatenate(([0.0], behind[:-1]))
    upper = np.minimum(step_s, held / (AT_CAP * lowest))
    over = queue(wanted - AT_CAP * highest * step_s)
    lower = 0.0
    if over.any():
        edges = np.flatnonzero(np.diff(np.concatenate(([0], (over > 0).astype(int), [0]))))
        for start, stop in zip(edges[::2], edges[1::2], strict=True):
            lower += float(over[start:stop].max() / highest[start:stop].max())
    return min(lower, float(step_s.sum())), upper


def together(
    demand: Demand, limits: Sequence[RateCap], unit_bytes: int | None
) -> tuple[float, Array]:
    """The same of all caps over all stretches: seconds at any of them."""
    step_s, lower = demand.step_s, 0.0
    upper = np.zeros(len(step_s))
    for cap in limits:
        low, high = (asked(demand, cap, unit_bytes, end) for end in ENDS)
        lower = max(lower, sum(hard(low[c], step_s[c], cap)[0] for c in demand.stretches))
        for cut in demand.stretches:
            upper[cut] += hard(high[cut], step_s[cut], cap)[1]
    return lower, np.minimum(upper, step_s)
