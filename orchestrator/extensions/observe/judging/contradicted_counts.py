"""Where readings contradict what a disk counted of its limits, its count settles nothing. Pure.

A disk of known limits that serves all that they let through is asked for more now and then; one
that was asked for more all of the time serves all that they let through. If not, it is another disk
than it is said to be, or its count is not kept.
"""

from collections.abc import Sequence

import numpy as np

from orchestrator.extensions.observe.judging import rate_caps
from orchestrator.extensions.observe.judging.demand import Demand
from orchestrator.extensions.observe.judging.rate_caps import RateCap
from orchestrator.extensions.observe.judging.reported_throttle import Shares
from orchestrator.texts import prose
from orchestrator.tier import Limits

# A mean of so much of a limit: a load that asks for just that rate is not so near to it.
_ALL = 0.99
# Less than so much of what the limit lets through in the time that was counted above it.
_FAR_BELOW = 0.5
# Intervals, and share of them: more of them are no chance.
_FEW = 3
_SELDOM = 0.01


def contradiction(demands: Sequence[Demand], source: Limits | None) -> str:
    """What contradicts the disks' own counts, in words; empty if nothing does. source: the limits
    of each disk, if they are known."""
    if source is None:
        return ""
    for demand in demands:
        for cap in rate_caps.caps(source):
            share = _counted_share(demand, cap)
            if share is not None:
                words = _contradiction(demand, cap, share, source.io_unit_bytes)
                if words:
                    return words
    return ""


def _counted_share(demand: Demand, cap: RateCap) -> Shares | None:
    # Of several disks as one the count is known at most.
    if demand.devices != 1:
        return None
    for throttle in demand.reported:
        is_of_disk = throttle.is_counted and throttle.owner == "disk"
        if is_of_disk and throttle.limited == cap.counted:
            return throttle.share
    return None


def _contradiction(
    demand: Demand, cap: RateCap, share: Shares, unit_bytes: int | None
) -> str:
    name = f"{demand.node} {demand.device}"
    at_least = rate_caps.asked(demand, cap, unit_bytes, "low") / demand.step_s
    at_most = rate_caps.asked(demand, cap, unit_bytes, "high") / demand.step_s
    is_full_uncounted = (at_least >= _ALL * cap.top) & (share == 0)
    if _is_often(is_full_uncounted):
        intervals = prose.counted(int(is_full_uncounted.sum()), "interval")
        return (
            f"in {intervals} {name} did all that --source lets through, and counted no time above "
            f"its limit of {cap.name}"
        )
    is_idle_counted = at_most < _FAR_BELOW * share * cap.base
    if _is_often(is_idle_counted):
        intervals = prose.counted(int(is_idle_counted.sum()), "interval")
        return (
            f"in {intervals} {name} counted time above its {cap.name} limit at less than half of "
            "that of --source"
        )
    return ""


def _is_often(flags: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> bool:
    return int(flags.sum()) > max(_FEW, _SELDOM * len(flags))
