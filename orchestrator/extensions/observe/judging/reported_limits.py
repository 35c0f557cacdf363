"""Limits at which the observed disk was by its provider's own word. Pure.

They are known to have been reached, where heaps of readings (`seeming_caps`) only look so. Where
the provider tells that a limit of the disk was at no time asked for more, a heap of minutes is none
of that: it is a limit of the machine, of which this says nothing, or a load that asks for one rate.
"""

from collections.abc import Sequence

import numpy as np

from orchestrator.extensions.observe.judging.demand import Demand, seconds_of
from orchestrator.extensions.observe.judging.rate_caps import OF_MACHINE, RateCap
from orchestrator.extensions.observe.judging.reported_throttle import (
    Limited,
    Owner,
    ReportedThrottle,
)

_HEAP = 0.06  # half of how wide a heap is, at most, as a share of its rate
_NAMES: dict[Limited, str] = {"ios": "IOPS", "bytes": "bytes/s"}


def shares(demands: Sequence[Demand]) -> dict[RateCap, float]:
    """Limits that were reached → the share of all disks' time, at most: a minute counts whole,
    unless the disk itself counts."""
    whole_s = seconds_of(demands)
    lowest: dict[str, RateCap] = {}
    over_s: dict[str, float] = {}
    for demand in demands:
        for throttle in demand.reported:
            seconds = float(np.nansum(throttle.share * demand.step_s))
            if seconds <= 0:
                continue
            cap = _reached(demand, throttle)
            over_s[cap.name] = over_s.get(cap.name, 0.0) + seconds
            # Disks may have had unlike limits. The lowest says of most candidates that something
            # was hidden from them.
            if cap.base <= lowest.get(cap.name, cap).base:
                lowest[cap.name] = cap
    reached: dict[RateCap, float] = {}
    for name, cap in lowest.items():
        reached[cap] = over_s[name] / whole_s
    return reached


def _reached(demand: Demand, throttle: ReportedThrottle) -> RateCap:
    """The limit, by the intervals in which it was reached."""
    amounts = demand.ios
    if throttle.limited == "bytes":
        amounts = demand.bytes
    is_over = throttle.share > 0
    # The highest. Where more was asked for in a part of an interval alone, its mean is below the
    # limit.
    rate = float(np.max(amounts[is_over] / demand.step_s[is_over]))
    name = _NAMES[throttle.limited]
    if throttle.owner == "machine":
        name = f"{name}{OF_MACHINE}"
    is_of_machine = throttle.owner == "machine"
    return RateCap(name, throttle.limited, rate, rate, is_of_machine=is_of_machine)


def explained(demands: Sequence[Demand], heap: RateCap) -> bool:
    """Whether in all that a heap of readings is made of a limit was reached by the provider's word:
    of I/Os of one size the bytes are heaped too where IOPS are the limit."""
    return all(_is_explained(demand, heap) for demand in demands)


def _is_explained(demand: Demand, heap: RateCap) -> bool:
    if not _decides(demand, heap):
        return False
    amounts = demand.ios
    if heap.counted == "bytes":
        amounts = demand.bytes
    is_of_heap = amounts / demand.step_s >= (1 - _HEAP) * heap.base
    is_over = np.zeros(len(demand.begin_s), dtype=bool)
    for throttle in demand.reported:
        is_over |= throttle.share > 0
    return bool(is_over[is_of_heap].all())


def denied(demands: Sequence[Demand], heap: RateCap) -> bool:
    """Whether the provider reports that the limit was at no time asked for more."""
    for demand in demands:
        throttle = _throttle(demand, heap)
        if throttle is None or throttle.share.any() or not _decides(demand, heap):
            return False
    return True


def _decides(demand: Demand, heap: RateCap) -> bool:
    """Whether it reports of this limit for all that was read."""
    throttle = _throttle(demand, heap)
    # Where seconds were read too a heap may be of these, of which no provider reports anything.
    is_of_minutes = not (demand.is_fine or demand.pieces)
    return is_of_minutes and throttle is not None and throttle.is_of_all


def _throttle(demand: Demand, heap: RateCap) -> ReportedThrottle | None:
    for throttle in demand.reported:
        if (throttle.limited, throttle.owner) == (heap.counted, "disk"):
            return throttle
    return None


def is_none_by_count(demands: Sequence[Demand], heap: RateCap) -> bool:
    """Whether disks and machines counted that none of their limits was ever exceeded: then it is a
    load that asks for one rate, also where seconds were read."""
    return all(_never_exceeded(demand, heap) for demand in demands)


def _never_exceeded(demand: Demand, heap: RateCap) -> bool:
    owners: set[Owner] = set()
    for throttle in demand.reported:
        is_of_heap = throttle.is_counted and throttle.limited == heap.counted
        if is_of_heap and throttle.is_of_all and not throttle.share.any():
            owners.add(throttle.owner)
    return owners == {"disk", "machine"}
