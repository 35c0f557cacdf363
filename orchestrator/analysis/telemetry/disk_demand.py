"""A node's disk second by second against the caps of its tier, burst credit included. Pure.

Shares of a cap are medians over seconds, so that a pause does not hide a cap."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from orchestrator.analysis.telemetry import counters, node_values
from orchestrator.analysis.telemetry.node_values import CapName, Evidence, assumed
from orchestrator.facts import group
from orchestrator.model import DISK_DEVICE, Node, Record
from orchestrator.tier import Burst, Limits, Tier

Array = np.ndarray[Any, np.dtype[np.float64]]

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

_WAYS = ("read", "write")


@dataclass(frozen=True)
class _Cap:
    """`rate`: the column of what it holds; `in_force`: of the cap itself. `credit`: the name by
    which an emulated disk's server tells at one moment (`time_s`) the burst credit that is left, in
    % of a full bucket; absent where the tier has none."""

    name: CapName
    rate: str
    in_force: str
    credit: str

    def of(self, limits: Limits | Burst) -> int | None:
        if self.name == "iops":
            return limits.iops
        return limits.bytes_per_s


_CAPS = (
    _Cap("iops", "iops", "iops_cap", "iops_credit_pct"),
    _Cap("bandwidth", "bytes_per_s", "bytes_cap", "bytes_credit_pct"),
)


# ------------------------------------------------------------------ second by second


def demand(
    tier: Tier,
    rates: pd.DataFrame,
    node: str,
    begin: Mapping[str, Any] = {},
    which: str = "",
) -> pd.DataFrame:
    """The node's disk second by second, of all its `rates`; empty if it was not sampled.

    time_s, iops, bytes_per_s; iops_cap and bytes_cap: the caps in force, each if the tier declares
    it; credit_pct: burst credit left after each second, of a full bucket, if the tier has burst.
    `iops` counts an I/O larger than the tier's unit as several, as the tier does; seen from the
    sums of a second this is a lower bound. `begin`: the credits at one moment; from there on they
    are followed anew. `which`: "wal_" for the disk of its WAL."""
    counted = _counted(rates, node, which)
    step_s = counted["step_s"].to_numpy(dtype=float)
    disk = _in_units(counted, tier.limits.io_unit_bytes)
    credits = []
    for cap in _CAPS:
        started = _started(cap, disk, begin)
        limit = _limit(tier, cap, disk[cap.rate].to_numpy(), step_s, started)
        if limit.in_force is not None:
            disk[cap.in_force] = limit.in_force
        if limit.credit_pct is not None:
            credits.append(limit.credit_pct)
    if credits:
        disk["credit_pct"] = np.minimum.reduce(credits)
    return disk


def _in_units(counted: pd.DataFrame, io_unit_bytes: int) -> pd.DataFrame:
    """time_s, iops, bytes_per_s: a larger I/O counts as several."""
    units = counted["bytes_per_s"] / io_unit_bytes
    iops = np.maximum(counted["ios"], units)
    return counted[["time_s"]].assign(iops=iops, bytes_per_s=counted["bytes_per_s"])


def _counted(rates: pd.DataFrame, node: str, which: str) -> pd.DataFrame:
    """time_s, step_s, ios, bytes_per_s, where all four counters of a disk are known."""
    reads = f"{which}{counters.READS}"
    writes = f"{which}{counters.WRITES}"
    read_bytes = f"{which}{counters.READ_BYTES}"
    written_bytes = f"{which}{counters.WRITTEN_BYTES}"
    metrics = [reads, writes, read_bytes, written_bytes]
    wide = counters.wide(rates, node, metrics)
    columns = {
        "time_s": wide["time_s"],
        "step_s": wide["step_s"],
        "ios": wide[reads] + wide[writes],
        "bytes_per_s": wide[read_bytes] + wide[written_bytes],
    }
    return pd.DataFrame(columns, dtype=float)


@dataclass(frozen=True)
class _Started:
    """The credit with which a second begins, as the disk's own server told it; None: it did not."""

    second: int
    credit_pct: float | None


def _started(cap: _Cap, disk: pd.DataFrame, begin: Mapping[str, Any]) -> _Started:
    told_s = begin.get("time_s", 0.0)
    second = int(np.searchsorted(disk["time_s"], told_s, side="right"))
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


def of_node(record: Record, rates: pd.DataFrame, node: Node) -> pd.DataFrame:
    """`demand` of a node's disk; empty also if it has several, each with the tier's limits."""
    if len(node.sources.get(DISK_DEVICE, "").split()) > 1:
        rates = rates[:0]
    begin = _account(record, node, "begin")
    return demand(record.profile.tier, rates, node.name, begin)


def _account(record: Record, node: Node, moment: str) -> Mapping[str, Any]:
    """What the server of a node's emulated disk told of it at a moment; empty without one."""
    return group(record.facts, "disks", f"disk-{node.name}", moment)


# ------------------------------------------------------------------ over the window


def against_caps(
    record: Record,
    rates: pd.DataFrame,
    node: Node,
    window: tuple[float, float],
    disk: pd.DataFrame,
) -> Evidence:
    """What compares a node's disks with their tiers. `rates`: of the node; `disk`: of `of_node`,
    which follows burst credit from the first second on."""
    tier = record.profile.tier
    log = wal_against_caps(tier.wal, rates, node, window)
    disk = within(window, disk)
    if disk.empty:
        return log
    begin = _account(record, node, "begin")
    end = _account(record, node, "end")
    held_back = Evidence(held_back_pct=_held_back_pct(begin, end))
    parts = [
        log,
        held_back,
        _of_its_caps(disk),
        _of_burst(tier, disk, end),
    ]
    return node_values.merged(parts)


def _of_its_caps(disk: pd.DataFrame) -> Evidence:
    shares = dict(of_caps(disk))
    iops = shares.get("iops")
    bandwidth = shares.get("bandwidth")
    return Evidence(
        iops_of_cap_pct=_median_pct(iops),
        time_at_iops_cap_pct=_time_at_cap_pct(iops),
        bandwidth_of_cap_pct=_median_pct(bandwidth),
        time_at_bandwidth_cap_pct=_time_at_cap_pct(bandwidth),
    )


def _median_pct(share: Array | None) -> float | None:
    if share is None:
        return None
    return 100 * float(np.median(share))


def _time_at_cap_pct(share: Array | None) -> float | None:
    if share is None:
        return None
    return 100 * float(np.mean(share >= AT_CAP))


def _of_burst(tier: Tier, disk: pd.DataFrame, end: Mapping[str, Any]) -> Evidence:
    """`end`: the credits that the disk's own server told at the end, which come first."""
    fallen = _fallen(tier, disk)
    if "credit_pct" not in disk:
        return fallen
    left_pct = _told_credit_pct(end)
    if left_pct is None:
        left_pct = float(disk["credit_pct"].iloc[-1])
    above_pct = 100 * float(np.mean(_above_base(tier, disk)))
    credit = Evidence(burst_credit_left_pct=left_pct, time_above_base_pct=above_pct)
    return node_values.merged([fallen, credit])


def _fallen(tier: Tier, disk: pd.DataFrame) -> Evidence:
    """The fall to the base rate, of a disk that may have burst credit."""
    is_real_burst = tier.limits.burst and tier.disk.is_real
    if "credit_pct" not in disk and not is_real_burst:
        return Evidence()
    base = float(tier.limits.iops or 0)
    fall = fall_to(disk["iops"].to_numpy(), base)
    if fall is None:
        return Evidence()
    return Evidence(iops_before_fall=fall[0], iops_after_fall=fall[1])


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
    for way in _WAYS:
        before = group(begin, way).get(name, 0.0)
        total += group(end, way).get(name, 0.0) - before
    return total


def wal_against_caps(
    tier: Tier | None, rates: pd.DataFrame, node: Node, window: tuple[float, float]
) -> Evidence:
    """The disk of its WAL, whose tier is `tier`."""
    if tier is None or not node.wal_device:
        return Evidence()
    whole = demand(tier, rates, node.name, which="wal_")
    shares = dict(of_caps(within(window, whole)))
    iops_pct = _median_pct(shares.get("iops"))
    bandwidth_pct = _median_pct(shares.get("bandwidth"))
    return Evidence(
        wal_iops_of_cap_pct=iops_pct, wal_bandwidth_of_cap_pct=bandwidth_pct
    )


def within(window: tuple[float, float], table: pd.DataFrame) -> pd.DataFrame:
    """The rows of steps that end in a window."""
    start_s, end_s = window
    begun = table["time_s"] > start_s
    return table[begun & (table["time_s"] <= end_s)]


def of_caps(disk: pd.DataFrame) -> Iterator[tuple[CapName, Array]]:
    """Each cap in force, and what share of it was used each second."""
    for cap in _CAPS:
        if cap.in_force in disk and not disk.empty:
            used = disk[cap.rate].to_numpy()
            yield cap.name, used / disk[cap.in_force].to_numpy()


def _above_base(tier: Tier, disk: pd.DataFrame) -> Array:
    """In which seconds a disk drew on burst credit: above a base rate that can be exceeded."""
    above = np.zeros(len(disk), dtype=bool)
    for cap in _CAPS:
        base = cap.of(tier.limits)
        if base is not None:
            above |= disk[cap.rate].to_numpy() > (1 + WOBBLE) * base
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


# ------------------------------------------------------------------ what emulation costs


@dataclass(frozen=True)
class Overhead:
    """What loop device and FUSE cost in a window, of `ios` reads or writes of one disk. `off_pct`:
    by how much it made them take longer (or shorter) than if it had been what is taken off,
    queueing included; None if nothing is. `queue_depth`: the mean number of the disk's requests in
    flight, of both ways; 0 if it was not counted."""

    ios: int
    overhead_us: float
    taken_off_us: float | None
    off_pct: float | None
    queue_depth: float


def overheads(record: Record, disk: str) -> dict[str, Overhead]:
    """Of "read" and "write", as far as a disk of ours counted them. The overhead of an emulated
    disk is measured when its device starts, without load, and taken off its latency
    (docs/research/DISKS.md). In the window it is the mean time of requests as the kernel saw
    them, less the mean that the disk's server needed for them."""
    counted = group(record.facts, "disks", disk, "overhead")
    at_start = group(record.facts, "tier", "overhead_us", disk)
    depth = float(counted.get("queue_depth", 0.0))
    of_way = {}
    for way in _WAYS:
        window = group(counted, way)
        if window:
            of_way[way] = _overhead(window, at_start.get(way), depth)
    return of_way


def _overhead(
    window: Mapping[str, Any], taken_off_us: float | None, queue_depth: float
) -> Overhead:
    ios = int(window["ios"])
    overhead_us = float(window["overhead_us"])
    if taken_off_us is None:
        return Overhead(ios, overhead_us, None, None, queue_depth)
    beyond_us = overhead_us - taken_off_us
    expected_us = float(window["device_us"]) - beyond_us
    off_pct = 100 * beyond_us / max(1.0, expected_us)
    return Overhead(ios, overhead_us, taken_off_us, off_pct, queue_depth)
