"""A node's disk second by second against the caps of its tier, burst credit included. Pure.

Shares of a cap are medians over seconds, so that a pause does not hide a cap."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from orchestrator.analysis.telemetry import counters
from orchestrator.facts import group
from orchestrator.model import DISK_DEVICE, Node, Record
from orchestrator.tier import Cgroup, Tier

Array = np.ndarray[Any, np.dtype[np.float64]]

AT_CAP = (
    0.95  # of the cap: Azure calls 100 % of a minute capped; a second's sample wobbles
)
MIN_SIDE = 5  # samples on each side of a change point
MIN_FALL = 0.2
BASE_TOLERANCE = 0.1
WOBBLE = 0.02  # of a second's sample around the rate that an emulated disk keeps
PEAK_S = (
    5.0  # for so long a bucket must last at its peak rate, for that to be what limits
)
QUEUEING = (
    2.0  # times the idle disk's latency: I/Os queue, for more than half of their time
)
QUEUE_DEPTH = 2.0  # the same, if the idle latency is not known
# Times the cap: what those in flight would do without it. The gate lets a disk's latency be 15 %
# off, and the estimate with it; a cap that holds back less than this may hold back nothing.
BINDING = 1.25
HELD_BACK_PCT = (
    10.0  # of the time of I/Os, by an emulated disk's own account: below it no cap does
)

_WAYS = ("read", "write")
# Each cap: its name, the rate that it holds (of limits and burst too), its column, and the name by
# which an emulated disk's server tells at one moment (`time_s`) the burst credit that is left, in %
# of a full bucket; absent where the tier has none.
_CAPS = (
    ("iops", "iops", "iops_cap", "iops_credit_pct"),
    ("bandwidth", "bytes_per_s", "bytes_cap", "bytes_credit_pct"),
)


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
    counted = (
        counters.READS,
        counters.WRITES,
        counters.READ_BYTES,
        counters.WRITTEN_BYTES,
    )
    metrics = reads, writes, read_bytes, written_bytes = [
        f"{which}{name}" for name in counted
    ]
    wide = counters.wide(rates, node, metrics)
    count = wide[reads] + wide[writes]
    bytes_per_s = wide[read_bytes] + wide[written_bytes]
    iops = np.maximum(count, bytes_per_s / tier.limits.io_unit_bytes)
    columns = {"time_s": wide["time_s"], "iops": iops, "bytes_per_s": bytes_per_s}
    disk = pd.DataFrame(columns, dtype=float)
    since = int(np.searchsorted(disk["time_s"], begin.get("time_s", 0.0), side="right"))
    step_s = wide["step_s"].to_numpy(dtype=float)
    credits = []
    for _, rate, column, left in _CAPS:
        cap, credit = _cap(
            tier, rate, disk[rate].to_numpy(), step_s, (since, begin.get(left))
        )
        if cap is not None:
            disk[column] = cap
        if credit is not None:
            credits.append(credit)
    if credits:
        disk["credit_pct"] = np.minimum.reduce(credits)
    return disk


_Known = tuple[
    int, float | None
]  # a second's number, and the credit in % with which it begins


def _cap(
    tier: Tier, of: str, rate: Array, step_s: Array, known: _Known
) -> tuple[Array | None, Array | None]:
    """The cap in force each second, and the credit left after it in % of a full bucket. A bucket of
    (top − base) × duration drains by what is used above the base rate and fills by what is left of
    it. With less credit than some seconds of the peak take, the cap is the base and what the credit
    adds to it, as far as it was used. One that starts empty is kept empty (docs/TIERS.md). `known`:
    by the disk's own server. No provider tells how full a real disk's bucket is: above its base it
    has credit, of some size."""
    burst = tier.limits.burst
    base = getattr(tier.limits, of)
    top = getattr(burst, of, None)
    if base is None:
        return None, None
    if burst is not None and top is not None and tier.disk.is_real:
        return np.where(
            rate > (1 + BASE_TOLERANCE) * base, float(top), float(base)
        ), None
    if burst is None or top is None or top <= base or burst.start_pct <= 0:
        return np.full(rate.size, float(base)), None
    full = (top - base) * burst.duration_s
    credit = full * burst.start_pct / 100
    caps = np.empty(rate.size)
    left = np.empty(rate.size)
    since, known_pct = known
    for index, (used, seconds) in enumerate(zip(rate, step_s, strict=True)):
        if index == since and known_pct is not None:
            credit = full * known_pct / 100
        lasting = credit >= PEAK_S * (top - base)
        caps[index] = top if lasting else max(base, min(used, base + credit / seconds))
        credit = min(full, max(0.0, credit - (used - base) * seconds))
        left[index] = 100 * credit / full
    return caps, left


def of_node(record: Record, rates: pd.DataFrame, node: Node) -> pd.DataFrame:
    """`demand` of a node's disk; empty also if it has several, each with the tier's limits."""
    several = len(node.sources.get(DISK_DEVICE, "").split()) > 1
    begin = group(record.facts, "disks", f"disk-{node.name}", "begin")
    return demand(
        record.profile.tier, rates[:0] if several else rates, node.name, begin
    )


def against_caps(
    record: Record, rates: pd.DataFrame, node: Node, window: tuple[float, float]
) -> Iterator[tuple[str, float]]:
    """Values that compare a node's disk with its tier, by their names in `resources.VALUES`."""
    tier = record.profile.tier
    yield from wal_against_caps(tier.wal, rates, node, window)
    disk = within(window, of_node(record, rates, node))
    if disk.empty:
        return
    end = group(record.facts, "disks", f"disk-{node.name}", "end")
    yield from _held_back(
        group(record.facts, "disks", f"disk-{node.name}", "begin"), end
    )
    for name, share in of_caps(disk):
        yield f"{name}_of_cap_pct", 100 * float(np.median(share))
        yield f"time_at_{name}_cap_pct", 100 * float(np.mean(share >= AT_CAP))
    if "credit_pct" in disk:
        said = [pct for *_, name in _CAPS if (pct := end.get(name)) is not None]
        yield (
            "burst_credit_left_pct",
            min(said, default=float(disk["credit_pct"].iloc[-1])),
        )
        yield "time_above_base_pct", 100 * float(np.mean(_above_base(tier, disk)))
    if "credit_pct" in disk or (tier.limits.burst and tier.disk.is_real):
        fall = fall_to(disk["iops"].to_numpy(), float(tier.limits.iops or 0))
        if fall is not None:
            yield "iops_before_fall", fall[0]
            yield "iops_after_fall", fall[1]


def _held_back(
    begin: Mapping[str, Any], end: Mapping[str, Any]
) -> Iterator[tuple[str, float]]:
    """By an emulated disk's own account: of its I/Os' time that for which its limits kept them."""
    waited_s, took_s = (
        sum(
            group(end, way).get(name, 0.0) - group(begin, way).get(name, 0.0)
            for way in _WAYS
        )
        for name in ("waited_s", "took_s")
    )
    if took_s > 0:
        yield "held_back_pct", 100 * waited_s / took_s


def wal_against_caps(
    tier: Tier | None, rates: pd.DataFrame, node: Node, window: tuple[float, float]
) -> Iterator[tuple[str, float]]:
    """The same of the disk of its WAL, whose tier is `tier`."""
    if tier and node.wal_device:
        whole = demand(tier, rates, node.name, which="wal_")
        for name, share in of_caps(within(window, whole)):
            yield f"wal_{name}_of_cap_pct", 100 * float(np.median(share))


def within(window: tuple[float, float], table: pd.DataFrame) -> pd.DataFrame:
    """The rows of steps that end in a window."""
    return table[(table["time_s"] > window[0]) & (table["time_s"] <= window[1])]


def of_caps(disk: pd.DataFrame) -> Iterator[tuple[str, Array]]:
    """Each cap in force, and what share of it was used each second."""
    for name, rate, cap, _ in _CAPS:
        if cap in disk and not disk.empty:
            yield name, disk[rate].to_numpy() / disk[cap].to_numpy()


def _above_base(tier: Tier, disk: pd.DataFrame) -> Array:
    """In which seconds a disk drew on burst credit: above a base rate that can be exceeded."""
    above = np.zeros(len(disk), dtype=bool)
    for _, rate, *_ in _CAPS:
        base = getattr(tier.limits, rate)
        if base is not None:
            above |= disk[rate].to_numpy() > (1 + WOBBLE) * base
    return above


def fall_to(rate: Array, base: float) -> tuple[float, float] | None:
    """Means before and after the point that best splits a series in two levels, if it falls
    there by 20 % or more to within 10 % of `base`: burst credit that ran out. None otherwise."""
    n = rate.size
    if n < 2 * MIN_SIDE or base <= 0:
        return None
    sums = np.cumsum(rate)
    count = np.arange(MIN_SIDE, n - MIN_SIDE + 1)
    before = sums[count - 1] / count
    after = (sums[-1] - sums[count - 1]) / (n - count)
    best = int(np.argmax(count * (n - count) * (before - after) ** 2))
    high = float(before[best])
    low = float(after[best])
    fell = low <= (1 - MIN_FALL) * high and abs(low / base - 1) <= BASE_TOLERANCE
    if fell:
        return (high, low)
    return None


def binds(cap: str, values: Mapping[str, float], tier: Tier) -> bool:
    """Whether a cap that is reached holds I/Os back: they queue behind it, or those in flight would
    do more without it. Control groups hold them back above the device, which does not see it."""
    if isinstance(tier.disk, Cgroup):
        return True
    if values.get("held_back_pct", 100.0) < HELD_BACK_PCT:
        return False
    await_s = values.get("disk_await_s")
    idle_s = values.get("idle_disk_latency_s")
    in_flight = values.get("disk_queue_depth", 0.0)
    if await_s is None or not idle_s:
        return in_flight >= QUEUE_DEPTH
    if await_s >= QUEUEING * idle_s:
        return True
    iops = values.get("disk_iops", 0.0)
    # In units of the cap, since I/Os are alike with it and without.
    times = 0.0
    if iops:
        times = in_flight / idle_s / iops * values[f"{cap}_of_cap_pct"] / 100
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
    (docs/DISKS.md). In the window it is the mean time of requests as the kernel saw them, less the
    mean that the disk's server needed for them."""
    counted = group(record.facts, "disks", disk, "overhead")
    at_start = group(record.facts, "tier", "overhead_us", disk)
    of_way = {}
    for way in ("read", "write"):
        window = group(counted, way)
        if not window:
            continue
        overhead_us = float(window["overhead_us"])
        taken_off_us = at_start.get(way)
        off_pct = None
        if taken_off_us is not None:
            beyond_us = overhead_us - taken_off_us
            off_pct = 100 * beyond_us / max(1.0, float(window["device_us"]) - beyond_us)
        depth = float(counted.get("queue_depth", 0.0))
        of_way[way] = Overhead(
            int(window["ios"]), overhead_us, taken_off_us, off_pct, depth
        )
    return of_way
