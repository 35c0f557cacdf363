"""For which share of the time the observed disks may have been at limits of their own, known or
not: then they may have been asked for more than was seen. Pure."""

from collections.abc import Iterable, Sequence

from orchestrator.extensions.observe.judging import (
    queues,
    rate_caps,
    replay,
    reported_limits,
)
from orchestrator.extensions.observe.judging.demand import Demand, seconds_of
from orchestrator.extensions.observe.judging.disk_demands import is_beyond
from orchestrator.extensions.observe.judging.rate_caps import RateCap
from orchestrator.extensions.observe.judging.seeming_caps import seeming_caps
from orchestrator.extensions.observe.judging.share_bounds import forget, judged
from orchestrator.tier import Limits
from orchestrator.units import gathered


def shares_at_seeming(demands: Sequence[Demand]) -> dict[RateCap, float]:
    """The shares of limits that nobody declared: at most the time in which I/Os may have waited
    there."""
    whole_s = seconds_of(demands)
    shares: dict[RateCap, float] = {}
    for cap in seeming_caps(demands):
        # The provider's own word outranks what counts look like.
        if reported_limits.explained(demands, cap):
            continue
        if reported_limits.is_none_by_count(demands, cap):
            continue
        at_cap = _shares_at([cap], demands, None, whole_s)[cap]
        waiting_s = sum(queues.waiting_s(demand, cap) for demand in demands)
        shares[cap] = min(at_cap, waiting_s / whole_s)
    return shares


def shares_at_known(source: Limits, demands: Sequence[Demand]) -> dict[RateCap, float]:
    """The shares of known caps."""
    whole_s = seconds_of(demands)
    by_devices = gathered((demand.devices, demand) for demand in demands)
    shares: dict[RateCap, float] = {}
    for devices, alike in by_devices.items():
        # Devices of one stripe were read as their sum, so their caps add up too.
        caps = rate_caps.caps(source.times(devices))
        shares |= _shares_at(caps, alike, source.io_unit_bytes, whole_s)
    return shares


def share_beyond(source: Limits, demands: Sequence[Demand]) -> float:
    beyond_s = 0.0
    for demand in demands:
        flags = is_beyond(demand, source.times(demand.devices))
        beyond_s += replay.seconds_of(demand.step_s, flags)
    return beyond_s / seconds_of(demands)


def _shares_at(
    caps: Iterable[RateCap],
    demands: Sequence[Demand],
    unit: int | None,
    whole_s: float,
) -> dict[RateCap, float]:
    """The share of all disks' time, `whole_s`, at each cap, at most."""
    shares = dict.fromkeys(caps, 0.0)
    for demand in demands:
        for cap in shares:
            at_most = judged(demand, (cap,), unit).queues.most
            reached_s = at_most * float(demand.step_s.sum())
            shares[cap] += reached_s / whole_s
        # Disk by disk, because what is computed of each is larger than its readings.
        forget([demand])
    return shares
