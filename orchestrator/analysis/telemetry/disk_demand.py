"""A node's disk second by second against the caps of its tier, burst credit included. Pure.

Shares of a cap are medians over seconds, so that a pause does not hide a cap.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from orchestrator.analysis.telemetry import counters
from orchestrator.facts import group
from orchestrator.model import DISK_DEVICE, Node, Record
from orchestrator.tier import Tier

Array = np.ndarray[Any, np.dtype[np.float64]]

AT_CAP = 0.95  # of the cap: Azure calls 100 % of a minute capped; a second's sample wobbles
MIN_SIDE = 5  # samples on each side of a change point
MIN_FALL = 0.2
BASE_TOLERANCE = 0.1
WOBBLE = 0.02  # of a second's sample around the rate that an emulated disk keeps
PEAK_S = 5.0  # for so long a bucket must last at its peak rate, for that to be what limits


@dataclass(frozen=True)
class Demand:
    """A node's disk second by second from the first sample on: rates, and the caps in force.

    `iops` counts an I/O larger than the tier's unit as several, as the tier does; seen from the
    sums of a second this is a lower bound. Caps are None if the tier declares none.
    `credit_pct`: burst credit left after each second, of a full bucket; None without burst.
    """

    time_s: Array
    step_s: Array
    iops: Array
    bytes_per_s: Array
    iops_cap: Array | None
    bytes_cap: Array | None
    credit_pct: Array | None

    def within(self, start_s: float, end_s: float) -> Demand:
        kept = (self.time_s > start_s) & (self.time_s <= end_s)
        cut: dict[str, Any] = {
            name: None if series is None else series[kept] for name, series in vars(self).items()
        }
        return Demand(**cut)


@dataclass(frozen=True)
class CreditReading:
    """What the server of an emulated disk said of its burst credit at one moment, in % of a full
    bucket; None without that burst."""

    time_s: float
    iops_pct: float | None
    bytes_pct: float | None


def served_credit(record: Record, node: str, side: Literal["begin", "end"]) -> CreditReading | None:
    """At the begin or the end of the window, if the server was read then."""
    at = group(record.facts, "disks", f"disk-{node}", side)
    if not at:
        return None
    return CreditReading(at["time_s"], at.get("iops_credit_pct"), at.get("bytes_credit_pct"))


def demand(
    tier: Tier, samples: pd.DataFrame, node: str, begin: CreditReading | None = None
) -> Demand | None:
    """The node's disk second by second; None if it was not sampled. `begin`: the credit at one
    moment; from there on it is followed anew."""
    wide = counters.wide_rates(samples, node)
    metrics = [counters.READS, counters.WRITES, counters.READ_BYTES, counters.WRITTEN_BYTES]
    if not set(metrics) <= set(wide.columns):
        return None
    wide = wide.dropna(subset=metrics)
    if wide.empty:
        return None
    step_s = wide["step_s"].to_numpy(dtype=float)
    bytes_per_s = (wide[counters.READ_BYTES] + wide[counters.WRITTEN_BYTES]).to_numpy(dtype=float)
    count = (wide[counters.READS] + wide[counters.WRITES]).to_numpy(dtype=float)
    iops = np.maximum(count, bytes_per_s / tier.limits.io_unit_bytes)
    burst = tier.limits.burst
    time_s = wide.index.to_numpy(dtype=float)
    at = int(np.searchsorted(time_s, begin.time_s, side="right")) if begin else 0
    iops_from = (at, begin.iops_pct if begin else None)
    bytes_from = (at, begin.bytes_pct if begin else None)
    iops_top, bytes_top = (burst.iops, burst.bytes_per_s) if burst else (None, None)
    iops_cap, iops_credit = _cap(tier, iops, step_s, tier.limits.iops, iops_top, iops_from)
    bytes_cap, bytes_credit = _cap(
        tier, bytes_per_s, step_s, tier.limits.bytes_per_s, bytes_top, bytes_from
    )
    credits = [credit for credit in (iops_credit, bytes_credit) if credit is not None]
    return Demand(
        time_s,
        step_s,
        iops,
        bytes_per_s,
        iops_cap,
        bytes_cap,
        np.minimum.reduce(credits) if credits else None,
    )


def _cap(
    tier: Tier,
    rate: Array,
    step_s: Array,
    base: int | None,
    top: int | None,
    known: tuple[int, float | None],
) -> tuple[Array | None, Array | None]:
    """The cap in force each second, and the credit left after it in % of a full bucket.

    A bucket of (top − base) × duration drains by what is used above the base rate and fills by
    what is left of it. With less credit than some seconds of the peak take, the cap is the base
    and what the credit adds to it, as far as it was used. One that starts empty is kept empty
    (docs/TIERS.md), so the base holds.
    `known`: from that second on the credit was what the disk's own server said. No provider tells
    how full a real disk's bucket is: it has credit, of unknown size, in each second in which it is
    above its base.
    """
    if base is None:
        return None, None
    burst = tier.limits.burst
    if burst is not None and top is not None and tier.disk.is_real:
        return np.where(rate > (1 + BASE_TOLERANCE) * base, float(top), float(base)), None
    if burst is None or top is None or top <= base or burst.start_pct <= 0:
        return np.full(rate.size, float(base)), None
    full = (top - base) * burst.duration_s
    credit = full * burst.start_pct / 100
    caps, left = np.empty(rate.size), np.empty(rate.size)
    since, known_pct = known
    for index, (used, seconds) in enumerate(zip(rate, step_s, strict=True)):
        if index == since and known_pct is not None:
            credit = full * known_pct / 100
        lasting = credit >= PEAK_S * (top - base)
        caps[index] = top if lasting else max(base, min(used, base + credit / seconds))
        credit = min(full, max(0.0, credit - (used - base) * seconds))
        left[index] = 100 * credit / full
    return caps, left


def against_caps(
    record: Record, samples: pd.DataFrame, node: Node, window: tuple[float, float]
) -> Iterator[tuple[str, float]]:
    """Values that compare a node's disk with its tier, by their names in `resources.VALUES`."""
    tier = record.profile.tier
    if len(node.sources.get(DISK_DEVICE, "").split()) > 1:
        return  # the sum of several disks, and each has the tier's limits to itself
    begin, end = (served_credit(record, node.name, side) for side in ("begin", "end"))
    disk_demand = demand(tier, samples, node.name, begin)
    if disk_demand is None:
        return
    disk = disk_demand.within(*window)
    if disk.iops.size == 0:
        return
    for name, rate, cap in (
        ("iops", disk.iops, disk.iops_cap),
        ("bandwidth", disk.bytes_per_s, disk.bytes_cap),
    ):
        if cap is not None:
            share = rate / cap
            yield f"{name}_of_cap_pct", 100 * float(np.median(share))
            yield f"time_at_{name}_cap_pct", 100 * float(np.mean(share >= AT_CAP))
    if disk.credit_pct is not None:
        said = [pct for pct in (end.iops_pct, end.bytes_pct) if pct is not None] if end else []
        yield "burst_credit_left_pct", min(said, default=float(disk.credit_pct[-1]))
        yield "time_above_base_pct", 100 * float(np.mean(_above_base(tier, disk)))
    if disk.credit_pct is not None or (tier.limits.burst and tier.disk.is_real):
        fall = fall_to(disk.iops, float(tier.limits.iops or 0))
        if fall is not None:
            yield "iops_before_fall", fall[0]
            yield "iops_after_fall", fall[1]


def _above_base(tier: Tier, disk: Demand) -> Array:
    """In which seconds a disk drew on burst credit: above a base rate that can be exceeded."""
    above = np.zeros(disk.iops.size, dtype=bool)
    for rate, base in ((disk.iops, tier.limits.iops), (disk.bytes_per_s, tier.limits.bytes_per_s)):
        if base is not None:
            above |= rate > (1 + WOBBLE) * base
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
    high, low = float(before[best]), float(after[best])
    fell = low <= (1 - MIN_FALL) * high and abs(low / base - 1) <= BASE_TOLERANCE
    return (high, low) if fell else None
