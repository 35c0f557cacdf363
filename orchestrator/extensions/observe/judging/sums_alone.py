"""What sums of intervals alone tell of a disk at its caps: the hard band, whatever happens within
them. Pure.

The rules are in docs/research/OBSERVE.md.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from orchestrator.analysis.telemetry.use.disk_seconds import AT_CAP
from orchestrator.extensions.observe.judging.demand import Array, Demand
from orchestrator.extensions.observe.judging.rate_caps import (
    SAME,
    RateCap,
    Slack,
    asked,
)
from orchestrator.extensions.observe.judging.replay import before, turn_into_queue


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
    # Each second at the cap serves 95 % of it or more. What waits for credit waits at the base rate
    # itself.
    share = AT_CAP
    if cap.bucket:
        share = 1.0
    over = wanted - share * cap.base * demand.step_s
    turn_into_queue(over, starts)
    is_first = (over > 0) & (before(over, starts) <= 0)
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
    return (wanted + before(backlog, demand.starts)) / full_rate
