"""A node's disk second by second against the caps of its tier, burst credit included. Pure.

Shares of a cap are medians over seconds, so that a pause does not hide a cap."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from orchestrator.analysis.telemetry.counters import counter_names, counter_series
from orchestrator.analysis.telemetry.counters.counter_series import (
    Array,
    Flags,
    Key,
    Steps,
)
from orchestrator.analysis.telemetry.use.evidence import CapName, Evidence, assumed
from orchestrator.facts import group
from orchestrator.model import DISK_DEVICE, Node, Record
from orchestrator.tier import Burst, Limits, Tier

# Of the cap: Azure calls 100 % of a minute capped; a second's sample wobbles.
AT_CAP = 0.95
MIN_SIDE = 5  # samples on each side of a change point
MIN_FALL = 0.2
BASE_TOLERANCE = 0.1
WOBBLE = 0.02  # of a second's sample around the rate that an emulated disk keeps
# For so long a bucket must last at its peak rate, for that to be what limits.
PEAK_S = 5.0
# Times the idle disk's latency: I/Os queue, for more than half of their time.
QUEUEING = 2.0
QUEUE_DEPTH = 2.0  # the same, if the idle latency is not known
# Times the cap: what those in flight would do without it. The gate lets a disk's latency be 15 %
# off, and the estimate with it; a cap that holds back less than this may hold back nothing.
BINDING = 1.25
# Of the time of I/Os, by an emulated disk's own account: below it no cap holds any back.
HELD_BACK_PCT = 10.0

WAYS = ("read", "write")


@dataclass(frozen=True)
class _Cap:
    """`credit`: the name by which an emulated disk's server tells at one moment (`time_s`) the
    burst credit that is left, in % of a full bucket; absent where the tier has none."""

    name: CapName
    credit: str

    def of(self, limits: Limits | Burst) -> int | None:
        if self.name == "iops":
            return limits.iops
        return limits.bytes_per_s


_CAPS = (
    _Cap("iops", "iops_credit_pct"),
    _Cap("bandwidth", "bytes_credit_pct"),
)


# ------------------------------------------------------------------ second by second


@dataclass(frozen=True)
class DiskSeconds:
    """A node's disk second by second, each array with a value for each; empty if it was not
    sampled.

    end_s: Unix, of the second. rates: cap → what it holds, I/Os or bytes per second; an I/O larger
    than the tier's unit counts as several, as the tier counts it, which seen from the sums of a
    second is a lower bound. in_force: the caps that the tier declares → their level. credit_pct:
    burst credit left after each second, of a full bucket; None if the tier has no burst."""

    end_s: Array
    rates: Mapping[CapName, Array]
    in_force: Mapping[CapName, Array]
    credit_pct: Array | None

    @property
    def is_empty(self) -> bool:
        return not self.end_s.size

    def within(self, window: tuple[float, float]) -> Self:
        """The seconds that end in a window."""
        start_s, end_s = window
        inside = (self.end_s > start_s) & (self.end_s <= end_s)
        credit_pct = self.credit_pct
        if credit_pct is not None:
            credit_pct = credit_pct[inside]
        return replace(
            self,
            end_s=self.end_s[inside],
            rates=_at(inside, self.rates),
            in_force=_at(inside, self.in_force),
            credit_pct=credit_pct,
        )

    def shares(self) -> dict[CapName, Array]:
        """Each cap in force → what share of it was used each second; none of an empty disk."""
        shares: dict[CapName, Array] = {}
        if self.is_empty:
            return shares
        for cap, level in self.in_force.items():
            shares[cap] = self.rates[cap] / level
        return shares


def _at(inside: Flags, by_cap: Mapping[CapName, Array]) -> dict[CapName, Array]:
    """The values of some seconds."""
    chosen: dict[CapName, Array] = {}
    for cap, values in by_cap.items():
        chosen[cap] = values[inside]
    return chosen


def demand(
    tier: Tier,
    rates: Mapping[Key, Steps],
    node: str,
    begin: Mapping[str, Any] = {},
    which: str = "",
) -> DiskSeconds:
    """The node's disk second by second, of all `rates`.

    `begin`: the credits at one moment; from there on they are followed anew. `which`: "wal_" for
    the disk of its WAL."""
    counted = _counted(rates, node, which)
    in_units = _in_units(counted, tier.limits.io_unit_bytes)
    in_force: dict[CapName, Array] = {}
    credits: list[Array] = []
    for cap in _CAPS:
        started = _started(cap, counted.end_s, begin)
        limit = _limit(tier, cap, in_units[cap.name], counted.step_s, started)
        if limit.in_force is not None:
            in_force[cap.name] = limit.in_force
        if limit.credit_pct is not None:
            credits.append(limit.credit_pct)
    credit_pct = None
    if credits:
        credit_pct = np.minimum.reduce(credits)
    return DiskSeconds(counted.end_s, in_units, in_force, credit_pct)


@dataclass(frozen=True)
class _CountedDisk:
    """What a disk did in each second: I/Os and bytes per second."""

    end_s: Array
    step_s: Array
    iops: Array
    bytes_per_s: Array


def _counted(rates: Mapping[Key, Steps], node: str, which: str) -> _CountedDisk:
    """In the seconds in which all four counters of the disk are known."""
    reads = f"{which}{counter_names.READS}"
    writes = f"{which}{counter_names.WRITES}"
    read_bytes = f"{which}{counter_names.READ_BYTES}"
    written_bytes = f"{which}{counter_names.WRITTEN_BYTES}"
    metrics = [reads, writes, read_bytes, written_bytes]
    disk = counter_series.side_by_side(rates, node, metrics)
    return _CountedDisk(
        disk.end_s,
        disk.step_s,
        iops=disk.per_s[reads] + disk.per_s[writes],
        bytes_per_s=disk.per_s[read_bytes] + disk.per_s[written_bytes],
    )


def _in_units(counted: _CountedDisk, io_unit_bytes: int) -> dict[CapName, Array]:
    """A larger I/O counts as several."""
    units = counted.bytes_per_s / io_unit_bytes
    iops = np.maximum(counted.iops, units)
    return {"iops": iops, "bandwidth": counted.bytes_per_s}


@dataclass(frozen=True)
class _Started:
    """The credit with which a second begins, as the disk's own server told it; None: it did not."""

    second: int
    credit_pct: float | None


def _started(cap: _Cap, end_s: Array, begin: Mapping[str, Any]) -> _Started:
    told_s = begin.get("time_s", 0.0)
    second = int(np.searchsorted(end_s, told_s, side="right"))
    return _Started(second, begin.get(cap.credit))


@dataclass(frozen=True)
class _Limit:
    """The cap in force each second, and the credit left after it in % of a full bucket; None where
    the tier has no such cap, or no bucket that can be followed."""

    in_force: Array | None
    credit_pct: Array | None


def _limit(
    tier: Tier, cap: _Cap, rate: Array, step_s: Array, started: _Started
) -> _Limit:
    """No provider tells how full a real disk's bucket is: above its base it has credit, of some
    size. A bucket that starts empty is kept empty (docs/TIERS.md)."""
    burst = tier.limits.burst
    base = cap.of(tier.limits)
    if base is None:
        return _Limit(None, None)
    steady = _Limit(np.full(rate.size, float(base)), None)
    if burst is None:
        return steady
    top = cap.of(burst)
    if top is None:
        return steady
    if tier.disk.is_real:
        has_credit = rate > (1 + BASE_TOLERANCE) * base
        return _Limit(np.where(has_credit, float(top), float(base)), None)
    if top <= base or burst.start_pct <= 0:
        return steady
    return _BurstBucket(base, top, burst).followed(rate, step_s, started)


@dataclass(frozen=True)
class _BurstBucket:
    """Burst credit: (top − base) × duration of it when full. It drains by what is used above the
    base rate and fills by what is left of it."""

    base: int
    top: int
    burst: Burst

    def followed(self, rate: Array, step_s: Array, started: _Started) -> _Limit:
        """With less credit than some seconds of the peak take, the cap is the base and what the
        credit adds to it, as far as it was used."""
        full = (self.top - self.base) * self.burst.duration_s
        credit = full * self.burst.start_pct / 100
        caps = np.empty(rate.size)
        left_pct = np.empty(rate.size)
        for second, (used, seconds) in enumerate(zip(rate, step_s, strict=True)):
            if second == started.second and started.credit_pct is not None:
                credit = full * started.credit_pct / 100
            caps[second] = self._cap(used, seconds, credit)
            drained = (used - self.base) * seconds
            credit = min(full, max(0.0, credit - drained))
            left_pct[second] = 100 * credit / full
        return _Limit(caps, left_pct)

    def _cap(self, used: float, seconds: float, credit: float) -> float:
        if credit >= PEAK_S * (self.top - self.base):
            return self.top
        return max(self.base, min(used, self.base + credit / seconds))


def of_node(record: Record, rates: Mapping[Key, Steps], node: Node) -> DiskSeconds:
    """`demand` of a node's disk; empty also if it has several, each with the tier's limits."""
    if len(node.sources.get(DISK_DEVICE, "").split()) > 1:
        rates = {}
    begin = _account(record, node, "begin")
    return demand(record.profile.tier, rates, node.name, begin)


def _account(record: Record, node: Node, moment: str) -> Mapping[str, Any]:
    """What the server of a node's emulated disk told of it at a moment; empty without one."""
    return group(record.facts, "disks", f"disk-{node.name}", moment)


# ------------------------------------------------------------------ over the window


@dataclass(frozen=True)
class CapUse:
    """What compares a node's disks with their tiers; None: not known. Names as in `Evidence`."""

    iops_of_cap_pct: float | None = None
    time_at_iops_cap_pct: float | None = None
    bandwidth_of_cap_pct: float | None = None
    time_at_bandwidth_cap_pct: float | None = None
    burst_credit_left_pct: float | None = None
    time_above_base_pct: float | None = None
    iops_before_fall: float | None = None
    iops_after_fall: float | None = None
    held_back_pct: float | None = None
    wal_iops_of_cap_pct: float | None = None
    wal_bandwidth_of_cap_pct: float | None = None


def against_caps(
    record: Record,
    rates: Mapping[Key, Steps],
    node: Node,
    window: tuple[float, float],
    disk: DiskSeconds,
) -> CapUse:
    """`disk`: of `of_node`, which follows burst credit from the first second on."""
    tier = record.profile.tier
    log = wal_against_caps(tier.wal, rates, node, window)
    measured = disk.within(window)
    if measured.is_empty:
        return log
    begin = _account(record, node, "begin")
    end = _account(record, node, "end")
    shares = measured.shares()
    credit = _credit_use(tier, measured, end)
    fall = _fall(tier, measured)
    return CapUse(
        iops_of_cap_pct=_median_pct(shares.get("iops")),
        time_at_iops_cap_pct=_time_at_cap_pct(shares.get("iops")),
        bandwidth_of_cap_pct=_median_pct(shares.get("bandwidth")),
        time_at_bandwidth_cap_pct=_time_at_cap_pct(shares.get("bandwidth")),
        burst_credit_left_pct=credit.left_pct,
        time_above_base_pct=credit.time_above_base_pct,
        iops_before_fall=fall.before,
        iops_after_fall=fall.after,
        held_back_pct=_held_back_pct(begin, end),
        wal_iops_of_cap_pct=log.wal_iops_of_cap_pct,
        wal_bandwidth_of_cap_pct=log.wal_bandwidth_of_cap_pct,
    )


def _median_pct(share: Array | None) -> float | None:
    if share is None:
        return None
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
    credits = [end.get(cap.credit) for cap in _CAPS]
    return min((pct for pct in credits if pct is not None), default=None)


def _held_back_pct(begin: Mapping[str, Any], end: Mapping[str, Any]) -> float | None:
    """By an emulated disk's own account: of its I/Os' time that for which its limits kept them."""
    waited_s = _grown(begin, end, "waited_s")
    took_s = _grown(begin, end, "took_s")
    if took_s <= 0:
        return None
    return 100 * waited_s / took_s


def _grown(begin: Mapping[str, Any], end: Mapping[str, Any], name: str) -> float:
    """Of reads and writes together."""
    total = 0.0
    for way in WAYS:
        before = group(begin, way).get(name, 0.0)
        total += group(end, way).get(name, 0.0) - before
    return total


def wal_against_caps(
    tier: Tier | None,
    rates: Mapping[Key, Steps],
    node: Node,
    window: tuple[float, float],
) -> CapUse:
    """Of the disk of its WAL alone, whose tier is `tier`."""
    if tier is None or not node.wal_device:
        return CapUse()
    whole = demand(tier, rates, node.name, which="wal_")
    shares = whole.within(window).shares()
    iops_pct = _median_pct(shares.get("iops"))
    bandwidth_pct = _median_pct(shares.get("bandwidth"))
    return CapUse(wal_iops_of_cap_pct=iops_pct, wal_bandwidth_of_cap_pct=bandwidth_pct)


def _above_base(tier: Tier, disk: DiskSeconds) -> Array:
    """In which seconds a disk drew on burst credit: above a base rate that can be exceeded."""
    above = np.zeros(disk.end_s.size, dtype=bool)
    for cap in _CAPS:
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
    apart = count * (n - count) * (before - after) ** 2
    best = int(np.argmax(apart))
    return float(before[best]), float(after[best])


def binds(cap: CapName, values: Evidence, tier: Tier) -> bool:
    """Whether a cap that is reached holds I/Os back: they queue behind it, or those in flight would
    do more without it."""
    if assumed(values.held_back_pct, if_unknown=100.0) < HELD_BACK_PCT:
        return False
    await_s = values.disk_await_s
    idle_s = values.idle_disk_latency_s
    in_flight = values.disk_queue_depth or 0.0
    if await_s is None or not idle_s:
        return in_flight >= QUEUE_DEPTH
    if await_s >= QUEUEING * idle_s:
        return True
    iops = values.disk_iops or 0.0
    if not iops:
        return False
    # By Little's law, in units of the cap, since I/Os are alike with it and without.
    use_pct = values.of_cap_pct(cap) or 0.0
    times = in_flight / idle_s / iops * use_pct / 100
    return times >= BINDING
