"""Disks and VM together: the lower of the two limits, and which of them binds.

effective = min(all disks together, what the VM lets through uncached), apart for IOPS and
bytes/s, baseline and burst (Azure: virtual machine and disk performance; AWS: EBS-optimised
instances).
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from orchestrator import units
from orchestrator.errors import Mistake, UsageError
from orchestrator.keys.refusals import refused
from orchestrator.tier import Burst, Limits, Tier, VmCap, VmLimit, burst_credit, lower
from orchestrator.tier_catalog import limits as limits_of
from orchestrator.tier_catalog.buying import Chosen
from orchestrator.tier_catalog.rows import VmSize


@dataclass(frozen=True)
class Cap:
    """One limit, of all `disks` together and of the VM; None: unknown.

    `duration_s`, of a burst: how long full buckets hold it; None: without end.
    """

    disks: int | None
    vm: int | None
    duration_s: float | None = None

    @property
    def value(self) -> int | None:
        return lower(self.disks, self.vm)

    @property
    def binds(self) -> Literal["disk", "vm"]:
        # The disk is named where both are alike: another machine would change nothing.
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

    def vm_caps(self) -> Iterator[VmCap]:
        """The limits of the disks that the VM's own limit makes useless."""
        number = units.format_number
        rate = units.format_bytes_per_s
        yield from self._vm_cap("IOPS", self.iops, number)
        yield from self._vm_cap("throughput", self.bytes_per_s, rate)
        yield from self._vm_cap("burst IOPS", self.burst_iops, number)
        yield from self._vm_cap("burst throughput", self.burst_bytes_per_s, rate)

    def _vm_cap(
        self, limit: VmLimit, cap: Cap, shown: Callable[[float], str]
    ) -> Iterator[VmCap]:
        if cap.binds != "vm" or cap.disks is None or cap.vm is None:
            return
        through = shown(cap.vm)
        could = f"{shown(cap.disks)} that the disks could give"
        text = f"{limit}: {self.vm} lets through {through} of the {could}"
        yield VmCap(limit, text)


def effective(
    chosen: Chosen, disks: int, vm: VmSize, vm_name: str, other: Limits | None = None
) -> Effective:
    """`disks` disks attached to one VM, without host cache.

    Equal ones, or the last with the limits of `other`. Raises UsageError where the VM
    takes fewer disks.
    """
    if vm.max_disks is not None and disks > vm.max_disks:
        raise _too_many_disks(vm_name, vm.max_disks, disks)
    # The last disk is that of the node's log; both lead through the same machine.
    if other:
        bought = together(chosen, disks - 1).plus(other)
    else:
        bought = together(chosen, disks)
    passed = through(vm, chosen.type, disks)
    iops = Cap(bought.total_iops, passed.total_iops)
    rate = Cap(bought.bytes_per_s, passed.bytes_per_s)
    return Effective(
        vm=vm_name,
        iops=iops,
        bytes_per_s=rate,
        burst_iops=_burst(iops, _iops_of(bought.burst), _iops_of(passed.burst)),
        burst_bytes_per_s=_burst(rate, _rate_of(bought.burst), _rate_of(passed.burst)),
    )


def _too_many_disks(vm: str, most: int, disks: int) -> UsageError:
    mistake = Mistake("cluster.vm", f"{vm} takes {most} disks, not {disks}")
    return refused([mistake])


def together(chosen: Chosen, disks: int) -> Limits:
    """All disks of the VM: their sum.

    Where a type shares its limits per VM, its formula on the sum of their sizes (GCP
    persistent disks).
    """
    kind = chosen.kind
    # Google's persistent disks of one type share a limit, by the sum of their sizes.
    if kind is None or not kind.shared_per_vm or not kind.by_size:
        return chosen.limits.times(disks)
    if chosen.size_bytes is None:
        return chosen.limits.times(disks)
    all_gib = limits_of.whole_gib(chosen.size_bytes * disks)
    return limits_of.by_size(kind, all_gib)


def striped(chosen: Chosen) -> Tier:
    """The tier's disks as one, if it has several: what they let through together, and cost."""
    # The latency stays that of one disk, as an I/O below the stripe's unit meets only one.
    tier = chosen.tier
    if tier.count == 1:
        return tier
    limits = tier.limits.times(tier.count)
    if chosen.kind is not None and chosen.kind.shared_per_vm:
        limits = together(chosen, tier.count)
    price = tier.price
    if price:
        price = replace(price, monthly=round(price.monthly * tier.count, 2))
    title = f"{tier.count} × {tier.title}"
    return replace(tier, title=title, limits=limits, price=price)


def bound(tier: Tier, on_vm: Effective) -> Tier:
    """The tier as it is on the VM, to be emulated: effective limits, and the burst of both."""
    # A limit that a real disk does not declare stays unknown: the disk may be below the VM.
    iops: int | None = None
    iops_peak: Cap | None = None
    if not tier.disk.is_real or tier.limits.iops is not None:
        iops = on_vm.iops.value
        iops_peak = _peak(on_vm.iops, on_vm.burst_iops)
    rate: int | None = None
    rate_peak: Cap | None = None
    if not tier.disk.is_real or tier.limits.bytes_per_s is not None:
        rate = on_vm.bytes_per_s.value
        rate_peak = _peak(on_vm.bytes_per_s, on_vm.burst_bytes_per_s)
    burst = _one_burst(tier, iops_peak, rate_peak)
    limits = replace(tier.limits, iops=iops, bytes_per_s=rate, burst=burst)
    origin = replace(tier.origin, vm_caps=tuple(on_vm.vm_caps()))
    return replace(tier, limits=limits, origin=origin)


def _peak(base: Cap, burst: Cap) -> Cap | None:
    """The burst, if it lets through another amount than the baseline."""
    if burst.value == base.value:
        return None
    return burst


def _one_burst(tier: Tier, iops: Cap | None, rate: Cap | None) -> Burst | None:
    """The burst of both peaks as one, if one of them ends."""
    iops_peak: int | None = None
    rate_peak: int | None = None
    durations_s: list[float] = []
    if iops:
        iops_peak = iops.value
        if iops.duration_s is not None:
            durations_s.append(iops.duration_s)
    if rate:
        rate_peak = rate.value
        if rate.duration_s is not None:
            durations_s.append(rate.duration_s)
    if not durations_s:
        return None
    # A machine's bucket begins empty, as that of a catalog row does.
    start_pct = 0.0
    if tier.limits.burst:
        start_pct = tier.limits.burst.start_pct
    # The model knows one duration for both buckets: the shorter. After it the disk falls
    # to the base at once, where two buckets of different length would fall in two steps.
    return Burst(iops_peak, rate_peak, min(durations_s), start_pct)


def through(vm: VmSize, disk_type: str | None, disks: int) -> Limits:
    """Returns the VM's caps; no limits for a type without figures, because unknown is not zero."""
    type_name = (disk_type or "").partition("/")[2]
    # Azure and AWS cap all disks of a machine together, Google each type by itself.
    caps = vm.uncached or vm.by_type.get(type_name)
    if caps:
        return caps.limits(disks)
    return Limits()


class _Peak(NamedTuple):
    """What a burst lets through of one quantity, and how long a full bucket holds it."""

    value: int | None
    duration_s: float


def _iops_of(burst: Burst | None) -> _Peak | None:
    if burst is None:
        return None
    return _Peak(burst.iops, burst.duration_s)


def _rate_of(burst: Burst | None) -> _Peak | None:
    if burst is None:
        return None
    return _Peak(burst.bytes_per_s, burst.duration_s)


def _burst(base: Cap, disks: _Peak | None, vm: _Peak | None) -> Cap:
    """The lower of both peaks, held until the first bucket that it drains is empty."""
    # A burst of one quantity alone, as of IOPS, leaves the other at its base.
    disk_value = base.disks
    if disks and disks.value:
        disk_value = disks.value
    vm_value = base.vm
    if vm and vm.value:
        vm_value = vm.value
    value = lower(disk_value, vm_value)
    durations_s: list[float] = []
    durations_s += _drained_after(base.disks, disks, value)
    durations_s += _drained_after(base.vm, vm, value)
    return Cap(disk_value, vm_value, min(durations_s, default=None))


def _drained_after(
    base: int | None, peak: _Peak | None, value: int | None
) -> Iterator[float]:
    """Seconds for which a full bucket lets `value` through; none if it is not drained."""
    # A burst that is billed by use has no bucket, and so never ends.
    if not peak or not peak.value or not math.isfinite(peak.duration_s):
        return
    # A bucket stays as full as it is at its base rate.
    if base is None or value is None or value <= base:
        return
    # A bucket that is not drained at its own peak lasts longer: by what the lower peak takes.
    credit = burst_credit.full_bucket(base, peak.value, peak.duration_s)
    yield credit / (value - base)
