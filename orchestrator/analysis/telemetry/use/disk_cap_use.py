"""How much a node's disk used of the caps of its tier in a window, and whether a cap binds. Pure.

Shares of a cap are medians over seconds, so that a pause does not hide a cap.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from orchestrator.analysis.telemetry.counters.counter_series import (
    Array,
    Key,
    Steps,
)
from orchestrator.analysis.telemetry.use import cap_binding, disk_accounts
from orchestrator.analysis.telemetry.use.disk_seconds import (
    AT_CAP,
    BASE_TOLERANCE,
    DISK_CAPS,
    DiskSeconds,
    both_disks,
    demand,
    served_disk,
)
from orchestrator.analysis.telemetry.use.node_values import CapUse
from orchestrator.facts import group
from orchestrator.model import Node, Record
from orchestrator.tier import Tier

MIN_SIDE = 5  # samples on each side of a change point
MIN_FALL = 0.2  # share of the rate before
WOBBLE = 0.02  # change of a second's sample around the rate that an emulated disk keeps
WAYS = ("read", "write")


def against_caps(
    record: Record,
    rates: Mapping[Key, Steps],
    node: Node,
    window: tuple[float, float],
    disk: DiskSeconds,
) -> CapUse:
    """`disk`: of `of_node`, which follows burst credit from the first second on."""
    tier = record.profile.tier
    log = with_machine(
        wal_against_caps(tier.wal, rates, node, window), tier, rates, node, window
    )
    measured = disk.within(window)
    if measured.is_empty:
        return log
    served = served_disk(record, node)
    shares = measured.shares()
    credit = _credit_use(tier, measured, served.end)
    fall = _fall(tier, measured)
    return replace(
        log,
        iops_of_cap_pct=_median_pct(shares.get("iops")),
        time_at_iops_cap_pct=_time_at_cap_pct(shares.get("iops")),
        bandwidth_of_cap_pct=_median_pct(shares.get("bandwidth")),
        time_at_bandwidth_cap_pct=_time_at_cap_pct(shares.get("bandwidth")),
        burst_credit_left_pct=credit.left_pct,
        time_above_base_pct=credit.time_above_base_pct,
        iops_before_fall=fall.before,
        iops_after_fall=fall.after,
        held_back_pct=_held_back_pct(served.begin, served.end),
        time_held_back_pct=_time_held_back_pct(rates, node, window),
    )


def _median_pct(share: Array | None) -> float | None:
    if share is None:
        return None
    # The mean would not do. A pause in some of the seconds would hide a cap that is full in the
    # others.
    return 100 * float(np.median(share))


def _time_at_cap_pct(share: Array | None) -> float | None:
    if share is None:
        return None
    return 100 * float(np.mean(share >= AT_CAP))


@dataclass(frozen=True)
class _CreditUse:
    """Burst credit at the end, of a full bucket, and the time above the base rate."""

    left_pct: float | None = None
    time_above_base_pct: float | None = None


def _credit_use(tier: Tier, disk: DiskSeconds, end: Mapping[str, Any]) -> _CreditUse:
    """`end`: the credits that the disk's own server told at the end, which come first."""
    if disk.credit_pct is None:
        return _CreditUse()
    # The disk's own server counts each I/O; what is followed here is made of sums of seconds.
    left_pct = _told_credit_pct(end)
    if left_pct is None:
        left_pct = float(disk.credit_pct[-1])
    above_pct = 100 * float(np.mean(_above_base(tier, disk)))
    return _CreditUse(left_pct, above_pct)


@dataclass(frozen=True)
class _Fall:
    """Mean IOPS before and after burst credit ran out; None: it did not."""

    before: float | None = None
    after: float | None = None


def _fall(tier: Tier, disk: DiskSeconds) -> _Fall:
    """The fall to the base rate, of a disk that may have burst credit."""
    # No provider tells a real disk's credit: only the fall itself shows.
    is_real_burst = tier.limits.burst and tier.disk.is_real
    if disk.credit_pct is None and not is_real_burst:
        return _Fall()
    base = float(tier.limits.iops or 0)
    levels = fall_to(disk.rates["iops"], base)
    if levels is None:
        return _Fall()
    return _Fall(*levels)


def _told_credit_pct(end: Mapping[str, Any]) -> float | None:
    """The lower of the credits that the disk's own server told; None if it told none."""
    credits = [end.get(cap.credit) for cap in DISK_CAPS]
    return min((pct for pct in credits if pct is not None), default=None)


def _held_back_pct(begin: Mapping[str, Any], end: Mapping[str, Any]) -> float | None:
    """For which share of its I/Os' time an emulated disk's limits kept them, as the disk itself
    counted."""
    waited_s = _grown(begin, end, "waited_s")
    took_s = _grown(begin, end, "took_s")
    if waited_s is None or not took_s:
        return None
    return 100 * waited_s / took_s


def _time_held_back_pct(
    rates: Mapping[Key, Steps], node: Node, window: tuple[float, float]
) -> float | None:
    """In which share of the seconds a disk's limits held I/Os back, as the disk itself counted."""
    account = disk_accounts.of_node(rates, node.name).within(window)
    if not account.end_s.size:
        return None
    return 100 * float(np.mean(account.held_back_pct >= cap_binding.HELD_BACK_PCT))


def _grown(begin: Mapping[str, Any], end: Mapping[str, Any], name: str) -> float | None:
    """By how much a counter grew, reads and writes together. None if it was not read at both ends,
    or fell: its server began anew."""
    total = 0.0
    for way in WAYS:
        before = group(begin, way).get(name)
        after = group(end, way).get(name)
        if before is None and after is None:
            continue
        if before is None or after is None or after < before:
            return None
        total += after - before
    return total


def wal_against_caps(
    tier: Tier | None,
    rates: Mapping[Key, Steps],
    node: Node,
    window: tuple[float, float],
) -> CapUse:
    """How the disk for WAL, whose tier is `tier`, was used against its caps."""
    if tier is None or not node.wal_device:
        return CapUse()
    whole = demand(tier, rates, node.name, which="wal_")
    shares = whole.within(window).shares()
    iops_pct = _median_pct(shares.get("iops"))
    bandwidth_pct = _median_pct(shares.get("bandwidth"))
    return CapUse(wal_iops_of_cap_pct=iops_pct, wal_bandwidth_of_cap_pct=bandwidth_pct)


def with_machine(
    use: CapUse,
    tier: Tier,
    rates: Mapping[Key, Steps],
    node: Node,
    window: tuple[float, float],
) -> CapUse:
    """`use`, and how both disks of the node were used against what its machine lets through."""
    if tier.machine is None or not node.wal_device:
        return use
    shares = both_disks(tier, tier.machine, rates, node.name).within(window).shares()
    return replace(
        use,
        machine_iops_of_cap_pct=_median_pct(shares.get("iops")),
        time_at_machine_iops_cap_pct=_time_at_cap_pct(shares.get("iops")),
        machine_bandwidth_of_cap_pct=_median_pct(shares.get("bandwidth")),
        time_at_machine_bandwidth_cap_pct=_time_at_cap_pct(shares.get("bandwidth")),
    )


def _above_base(tier: Tier, disk: DiskSeconds) -> Array:
    """In which seconds a disk drew on burst credit: it was above a base rate that can be
    exceeded."""
    above = np.zeros(disk.end_s.size, dtype=bool)
    for cap in DISK_CAPS:
        base = cap.of(tier.limits)
        if base is not None:
            above |= disk.rates[cap.name] > (1 + WOBBLE) * base
    return above


def fall_to(rate: Array, base: float) -> tuple[float, float] | None:
    """Means before and after the point that best splits a series in two levels, if it falls
    there by 20 % or more to within 10 % of `base`: burst credit that ran out. None otherwise."""
    if rate.size < 2 * MIN_SIDE or base <= 0:
        return None
    high, low = _two_levels(rate)
    fell = low <= (1 - MIN_FALL) * high
    if fell and abs(low / base - 1) <= BASE_TOLERANCE:
        return (high, low)
    return None


def _two_levels(rate: Array) -> tuple[float, float]:
    """The means on both sides of the split that leaves least variance within them."""
    n = rate.size
    sums = np.cumsum(rate)
    count = np.arange(MIN_SIDE, n - MIN_SIDE + 1)
    before = sums[count - 1] / count
    rest = sums[-1] - sums[count - 1]
    after = rest / (n - count)
    # The variance within both sides is least where that between them is largest.
    apart = count * (n - count) * (before - after) ** 2
    best = int(np.argmax(apart))
    return float(before[best]), float(after[best])
