"""Disks and VM together: the lower of the two limits, and which of them binds.

effective = min(all disks together, what the VM lets through uncached), apart for IOPS and bytes/s,
baseline and burst (Azure: virtual machine and disk performance; AWS: EBS-optimised instances)."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from orchestrator import units
from orchestrator.errors import Mistake
from orchestrator.keys.strict_yaml import refused
from orchestrator.tier import Burst, Limits, Tier, lower
from orchestrator.tier_catalog import limits as limits_of
from orchestrator.tier_catalog.choosing import Chosen
from orchestrator.tier_catalog.rows import VmSize


@dataclass(frozen=True)
class Cap:
    """One limit, of all `disks` together and of the VM; None: unknown. `duration_s`, of a burst:
    how long full buckets hold it; None: without end."""

    disks: int | None
    vm: int | None
    duration_s: float | None = None

    @property
    def value(self) -> int | None:
        return lower(self.disks, self.vm)

    @property
    def binds(self) -> Literal["disk", "vm"]:
        if self.vm is not None and self.value != self.disks:
            return "vm"
        return "disk"


@dataclass(frozen=True)
class Effective:
    """What equal disks on the VM do together; its burst is the baseline where neither bursts."""

    vm: str
    iops: Cap
    bytes_per_s: Cap
    burst_iops: Cap
    burst_bytes_per_s: Cap

    def warnings(self) -> Iterator[str]:
        """One sentence for every limit of the disks that the VM's own limit makes useless."""
        for what, cap in (
            ("IOPS", self.iops),
            ("throughput", self.bytes_per_s),
            ("burst IOPS", self.burst_iops),
            ("burst throughput", self.burst_bytes_per_s),
        ):
            if cap.binds == "vm" and cap.disks is not None and cap.vm is not None:
                if "throughput" in what:
                    show = units.format_bytes_per_s
                else:
                    show = units.format_number
                through = show(cap.vm)
                could = f"{show(cap.disks)} that the disks could give"
                yield f"{what}: {self.vm} lets through {through} of the {could}"


def effective(
    chosen: Chosen, disks: int, vm: VmSize, vm_name: str, other: Limits | None = None
) -> Effective:
    """`disks` disks attached to one VM, without host cache: equal ones, or the last with the limits
    of `other`. Raises UsageError where the VM takes fewer disks."""
    if vm.max_disks is not None and disks > vm.max_disks:
        raise refused(
            [
                Mistake(
                    "cluster.vm", f"{vm_name} takes {vm.max_disks} disks, not {disks}"
                )
            ]
        )
    if other:
        bought = together(chosen, disks - 1).plus(other)
    else:
        bought = together(chosen, disks)
    passed = through(vm, chosen.type, disks)
    iops = Cap(bought.total_iops, passed.total_iops)
    rate = Cap(bought.bytes_per_s, passed.bytes_per_s)
    burst_iops = _burst(iops, bought.burst, passed.burst, "iops")
    burst_rate = _burst(rate, bought.burst, passed.burst, "bytes_per_s")
    return Effective(vm_name, iops, rate, burst_iops, burst_rate)


def together(chosen: Chosen, disks: int) -> Limits:
    """All disks of the VM: their sum, or, where a type shares its limits per VM, its formula on
    the sum of their sizes (GCP persistent disks)."""
    kind = chosen.kind
    if kind and kind.shared_per_vm and kind.by_size and chosen.size_bytes is not None:
        return limits_of.by_size(kind, limits_of.whole_gib(chosen.size_bytes * disks))
    return chosen.limits.times(disks)


def striped(chosen: Chosen) -> Tier:
    """The tier's disks as one, if it has several: what they let through together, and cost. Latency
    is that of one, which is all that an I/O below the stripe's unit sees."""
    tier = chosen.tier
    price = chosen.tier.price
    count = chosen.tier.count
    if count == 1:
        return tier
    shared = chosen.kind is not None and chosen.kind.shared_per_vm
    return replace(
        tier,
        title=f"{count} × {tier.title}",
        limits=together(chosen, count) if shared else tier.limits.times(count),
        price=replace(price, monthly=round(price.monthly * count, 2))
        if price
        else None,
    )


def bound(tier: Tier, on_vm: Effective) -> Tier:
    """The tier as it is on the VM, to be emulated: effective limits, and the burst of both. The
    model knows one duration for both buckets: the shorter. After it the disk falls to the effective
    baseline, where two buckets of different length would fall in two steps. A limit that a real
    disk does not declare stays unknown: the disk may well be below the VM."""
    values: dict[str, Any] = {}
    peaks: dict[str, Cap] = {}
    for name, base, peak in (
        ("iops", on_vm.iops, on_vm.burst_iops),
        ("bytes_per_s", on_vm.bytes_per_s, on_vm.burst_bytes_per_s),
    ):
        known = not tier.disk.is_real or getattr(tier.limits, name) is not None
        values[name] = base.value if known else None
        if known and peak.value != base.value:
            peaks[name] = peak
    durations = [
        peak.duration_s for peak in peaks.values() if peak.duration_s is not None
    ]
    burst = None
    if durations:
        if tier.limits.burst:
            start_pct = tier.limits.burst.start_pct
        else:
            start_pct = 0.0
        iops, rate = (peaks[name].value if name in peaks else None for name in values)
        burst = Burst(iops, rate, min(durations), start_pct)
    return replace(
        tier,
        limits=replace(tier.limits, **values, burst=burst),
        origin=replace(tier.origin, vm_caps=tuple(on_vm.warnings())),
    )


def through(vm: VmSize, disk_type: str | None, disks: int) -> Limits:
    """Returns the VM's caps. A type without figures is not limited, because unknown is not zero."""
    caps = vm.uncached or vm.by_type.get((disk_type or "").partition("/")[2])
    if caps:
        return caps.limits(disks)
    return Limits()


def _burst(base: Cap, disks: Burst | None, vm: Burst | None, rate: str) -> Cap:
    """The lower of both peaks, held until the first bucket that it drains is empty."""
    disk_peak, vm_peak = (
        getattr(burst, rate) if burst else None for burst in (disks, vm)
    )
    disk_value = disk_peak or base.disks
    vm_value = vm_peak or base.vm
    value = lower(disk_value, vm_value)
    durations = [
        limits_of.bucket(cap, peak, burst.duration_s) / (value - cap)
        for cap, peak, burst in ((base.disks, disk_peak, disks), (base.vm, vm_peak, vm))
        if burst and peak and math.isfinite(burst.duration_s)
        if cap is not None and value is not None and value > cap
    ]
    return Cap(disk_value, vm_value, min(durations, default=None))
