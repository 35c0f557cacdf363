"""What a node's disk did in each second, and the cap of its tier that was in force. Pure.

Where a tier has burst credit the cap changes with what is left of that: `_BurstBucket` follows it.
"""

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
from orchestrator.analysis.telemetry.use.node_values import CapName
from orchestrator.counter_sources import data_devices
from orchestrator.design.node_disks import DISK_SERVER
from orchestrator.facts import ServedDiskFacts
from orchestrator.model import Node, Record
from orchestrator.tier import Burst, Limits, MachineLimits, Tier, burst_credit

# Share of the cap: Azure calls 100 % of a minute capped; a second's sample wobbles.
AT_CAP = 0.95
BASE_TOLERANCE = 0.1
# A bucket must last for so long at its peak rate, for that to be what limits.
PEAK_S = 5.0


@dataclass(frozen=True)
class DiskCap:
    """`credit`: the name by which an emulated disk's server tells at one moment (`time_s`) the
    burst credit that is left, in % of a full bucket; absent where the tier has none."""

    name: CapName
    credit: str

    def of(self, limits: Limits | Burst) -> int | None:
        if self.name == "iops":
            return limits.iops
        return limits.bytes_per_s


DISK_CAPS = (
    DiskCap("iops", "iops_credit_pct"),
    DiskCap("bandwidth", "bytes_credit_pct"),
)


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
    for cap in DISK_CAPS:
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


def both_disks(
    tier: Tier, machine: MachineLimits, rates: Mapping[Key, Steps], node: str
) -> DiskSeconds:
    """The disks of a node's data and its log together, against what its machine lets through."""
    data = demand(tier, rates, node)
    log = demand(tier, rates, node, which="wal_")
    end_s = np.intersect1d(data.end_s, log.end_s)
    of_data = _at(np.isin(data.end_s, end_s), data.rates)
    of_log = _at(np.isin(log.end_s, end_s), log.rates)
    together: dict[CapName, Array] = {}
    in_force: dict[CapName, Array] = {}
    for cap in DISK_CAPS:
        together[cap.name] = of_data[cap.name] + of_log[cap.name]
        limit = cap.of(machine.limits)
        if limit is not None:
            in_force[cap.name] = np.full(end_s.size, float(limit))
    return DiskSeconds(end_s, together, in_force, None)


@dataclass(frozen=True)
class _CountedDisk:
    """What a disk did in each second: I/Os and bytes per second."""

    end_s: Array
    step_s: Array
    iops: Array
    bytes_per_s: Array


def _counted(rates: Mapping[Key, Steps], node: str, which: str) -> _CountedDisk:
    """What the disk counted, in the seconds in which all four of its counters are known."""
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
    # There are at least so many. Some I/Os of a second's sum may be smaller than the unit, and
    # count as one.
    units = counted.bytes_per_s / io_unit_bytes
    iops = np.maximum(counted.iops, units)
    return {"iops": iops, "bandwidth": counted.bytes_per_s}


@dataclass(frozen=True)
class _Started:
    """The credit with which a second begins, as the disk's own server told it; None: it did not."""

    second: int
    credit_pct: float | None


def _started(cap: DiskCap, end_s: Array, begin: Mapping[str, Any]) -> _Started:
    # The first second that ends after it was told.
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
    tier: Tier, cap: DiskCap, rate: Array, step_s: Array, started: _Started
) -> _Limit:
    """The limit that held in each second, burst credit included."""
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
    # No provider tells how full a real disk's bucket is. Above its base it has credit, of some
    # size.
    if tier.disk.is_real:
        has_credit = rate > (1 + BASE_TOLERANCE) * base
        return _Limit(np.where(has_credit, float(top), float(base)), None)
    # A bucket that starts empty is kept empty (docs/TIERS.md).
    if top <= base or burst.start_pct <= 0:
        return steady
    return _BurstBucket(base, top, burst).followed(rate, step_s, started)


@dataclass(frozen=True)
class _BurstBucket:
    """Burst credit between a base rate and that of a burst, as `burst_credit` counts it."""

    base: int
    top: int
    burst: Burst

    def followed(self, rate: Array, step_s: Array, started: _Started) -> _Limit:
        """The limit that a rate follows."""
        full = burst_credit.full_bucket(self.base, self.top, self.burst.duration_s)
        credit = full * self.burst.start_pct / 100
        in_force = np.empty(rate.size)
        left_pct = np.empty(rate.size)
        for second, (used, seconds) in enumerate(zip(rate, step_s, strict=True)):
            if second == started.second and started.credit_pct is not None:
                credit = full * started.credit_pct / 100
            in_force[second] = self._cap(used, seconds, credit)
            earned = (self.base - used) * seconds
            credit = burst_credit.after(credit, earned, full)
            left_pct[second] = 100 * credit / full
        return _Limit(in_force, left_pct)

    def _cap(self, used: float, seconds: float, credit: float) -> float:
        # What lasts for seconds lets the disk do its peak. With less the cap is the base, and what
        # of the credit was used in this second.
        if credit >= PEAK_S * (self.top - self.base):
            return self.top
        return max(self.base, min(used, self.base + credit / seconds))


def of_node(record: Record, rates: Mapping[Key, Steps], node: Node) -> DiskSeconds:
    """`demand` of a node's disk; empty also if it has several, each with the tier's limits."""
    # Counters are of all disks of a node together, and the tier's limits of each. Of their sum no
    # share of a cap can be told.
    if len(data_devices(node.sources)) > 1:
        rates = {}
    begin = served_disk(record, node).begin
    return demand(record.profile.tier, rates, node.name, begin)


def served_disk(record: Record, node: Node) -> ServedDiskFacts:
    """What the server of a node's emulated disk told of it; nothing without one."""
    name = f"{DISK_SERVER}{node.name}"
    return record.read_facts.disks.get(name, ServedDiskFacts())
