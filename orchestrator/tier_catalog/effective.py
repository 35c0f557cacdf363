"""Disks and VM together: the lower of the two limits, and which of them binds.

effective = min(all disks together, what the VM lets through uncached), apart for IOPS and bytes/s,
baseline and burst (Azure: virtual machine and disk performance; AWS: EBS-optimised instances).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from orchestrator import units
from orchestrator.errors import Mistake
from orchestrator.keys.strict_yaml import refused
from orchestrator.tier import Burst, Tier
from orchestrator.tier_catalog import limits as limits_of
from orchestrator.tier_catalog.choosing import Chosen
from orchestrator.tier_catalog.limits import BurstLimits, Limits, lower
from orchestrator.tier_catalog.rows import VmSize


@dataclass(frozen=True)
class Cap:
    """One limit: `value` is the lower of `disks` (together) and `vm`; None: unknown.

    `duration_s`, of a burst: how long full buckets hold it; None: without end.
    """

    value: int | None
    binds: Literal["disk", "vm"]
    disks: int | None
    vm: int | None
    duration_s: float | None = None


@dataclass(frozen=True)
class Effective:
    """What `disks` equal disks on the VM can do together. A burst equals the baseline where
    neither bursts."""

    disks: int
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
                show = units.format_bytes_per_s if "throughput" in what else units.format_number
                yield (
                    f"{what}: {self.vm} lets through {show(cap.vm)} "
                    f"of the {show(cap.disks)} that the disks could give"
                )


def effective(chosen: Chosen, disks: int, vm: VmSize, vm_name: str) -> Effective:
    """`disks` equal disks attached to one VM, without host cache.

    Raises UsageError where the VM takes fewer disks.
    """
    if vm.max_disks is not None and disks > vm.max_disks:
        raise refused([Mistake("cluster.vm", f"{vm_name} takes {vm.max_disks} disks, not {disks}")])
    bought = together(chosen, disks)
    through = _caps(vm, chosen.type, disks)
    iops = _lower(bought.total_iops, through.total_iops)
    rate = _lower(bought.bytes_per_s, through.bytes_per_s)
    burst_iops = _burst(iops, _iops_peak(bought.burst), _iops_peak(through.burst))
    burst_rate = _burst(rate, _rate_peak(bought.burst), _rate_peak(through.burst))
    return Effective(disks, vm_name, iops, rate, burst_iops, burst_rate)


def together(chosen: Chosen, disks: int) -> Limits:
    """All disks of the VM: their sum, or, where a type shares its limits per VM, its formula on
    the sum of their sizes (GCP persistent disks)."""
    kind = chosen.kind
    if kind and kind.shared_per_vm and kind.by_size and chosen.size_bytes is not None:
        return limits_of.by_size(kind, limits_of.whole_gib(chosen.size_bytes * disks))
    one = chosen.limits
    burst = one.burst
    if burst:
        iops, rate = _times(burst.iops, disks), _times(burst.bytes_per_s, disks)
        burst = BurstLimits(iops, rate, burst.duration_s)
    return Limits(
        _times(one.iops, disks),
        _times(one.bytes_per_s, disks),
        _times(one.write_iops, disks),
        burst,
    )


def bound(tier: Tier, on_vm: Effective) -> Tier:
    """The tier as it is on the VM, to be emulated: effective limits, and the burst of both.

    The model knows one duration for both buckets: the shorter. After it the disk falls to the
    effective baseline, where two buckets of different length would fall in two steps. A limit that
    a real disk does not declare stays unknown: the disk may well be below the VM.
    """
    unknown = Cap(None, "disk", None, None)
    if tier.is_as_bought and tier.iops is None:
        on_vm = replace(on_vm, iops=unknown, burst_iops=unknown)
    if tier.is_as_bought and tier.bytes_per_s is None:
        on_vm = replace(on_vm, bytes_per_s=unknown, burst_bytes_per_s=unknown)
    iops, rate = on_vm.burst_iops, on_vm.burst_bytes_per_s
    bursts = [
        cap
        for cap, base in ((iops, on_vm.iops), (rate, on_vm.bytes_per_s))
        if cap.value != base.value
    ]
    durations = [cap.duration_s for cap in bursts if cap.duration_s is not None]
    burst = None
    if durations:
        burst = Burst(
            iops.value if iops in bursts else None,
            rate.value if rate in bursts else None,
            min(durations),
            tier.burst.start_pct if tier.burst else 0.0,
        )
    return replace(
        tier,
        iops=on_vm.iops.value,
        bytes_per_s=on_vm.bytes_per_s.value,
        burst=burst,
        vm_caps=tuple(on_vm.warnings()),
    )


def _caps(vm: VmSize, disk_type: str | None, disks: int) -> Limits:
    """Returns the VM's caps. A type without figures is not limited, because unknown is not zero."""
    name = (disk_type or "").partition("/")[2]
    caps = vm.uncached or vm.by_type.get(name)
    if caps is None:
        return Limits(None, None)
    return Limits(
        lower(caps.iops, _times(caps.iops_per_disk, disks)),
        lower(caps.bytes_per_s, caps.write_bytes_per_s),
        caps.write_iops,
        limits_of.burst_of(caps.burst),
    )


def _lower(disks: int | None, vm: int | None, duration_s: float | None = None) -> Cap:
    binds: Literal["disk", "vm"] = "disk"
    if vm is not None and (disks is None or vm < disks):
        binds = "vm"
    return Cap(lower(disks, vm), binds, disks, vm, duration_s)


class _Peak(NamedTuple):
    value: int
    duration_s: float | None


def _iops_peak(burst: BurstLimits | None) -> _Peak | None:
    return _Peak(burst.iops, burst.duration_s) if burst and burst.iops else None


def _rate_peak(burst: BurstLimits | None) -> _Peak | None:
    return _Peak(burst.bytes_per_s, burst.duration_s) if burst and burst.bytes_per_s else None


def _burst(base: Cap, disks: _Peak | None, vm: _Peak | None) -> Cap:
    """The lower of both peaks, held until the first bucket that it drains is empty."""
    disk_value = disks.value if disks else base.disks
    vm_value = vm.value if vm else base.vm
    value = lower(disk_value, vm_value)
    durations = [
        limits_of.bucket(cap, peak.value, peak.duration_s) / (value - cap)
        for cap, peak in ((base.disks, disks), (base.vm, vm))
        if peak and peak.duration_s and cap is not None and value is not None and value > cap
    ]
    return _lower(disk_value, vm_value, min(durations, default=None))


def _times(value: int | None, count: int) -> int | None:
    return None if value is None else value * count
