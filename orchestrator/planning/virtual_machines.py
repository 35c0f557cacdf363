"""What the virtual machine of a cluster lets through of a disk, and what it costs. Pure."""

from dataclasses import replace

from orchestrator import tier_catalog
from orchestrator.design import node_disks
from orchestrator.errors import Mistake
from orchestrator.keys.refusals import refused
from orchestrator.model import ClusterSpec
from orchestrator.tier import Limits, MachineLimits, Tier, VmCap
from orchestrator.tier_catalog import Catalog, Chosen, prices
from orchestrator.tier_catalog.effective import Cap, Effective
from orchestrator.tier_catalog.rows import VmSize


def priced(cluster: ClusterSpec, tier: Tier, catalog: Catalog) -> ClusterSpec:
    """The cluster with the list price of its virtual machines in the disk's region, unless it says
    one."""
    if cluster.vm is None or cluster.vm_price is not None:
        return cluster
    # A disk can only be attached to a machine of its region.
    region: str | None = None
    if tier.price:
        region = tier.price.region
    row = prices.pick(catalog.vm(cluster.vm).prices, region)
    if row is None:
        return replace(cluster, vm_price=None)
    amount = prices.monthly(row)
    if amount is None:
        return replace(cluster, vm_price=None)
    return replace(cluster, vm_price=prices.stated(row, amount))


def on_vm(chosen: Chosen, vm: str | None, catalog: Catalog) -> Tier:
    """The tier as a node gets it on the cluster's VM size, if that is named.

    A disk of the tier for the WAL has its part in what the VM lets through. UsageError if the VM
    has no such disks.
    """
    if vm is None:
        return chosen.tier
    size = catalog.vm(vm)
    if chosen.type is not None and catalog.are_never_together(vm, chosen.type):
        mistake = Mistake("cluster.vm", f"{vm} takes no disk of {chosen.type}")
        raise refused([mistake], "take machine and disk of one provider")
    count = chosen.tier.count
    on_size = tier_catalog.effective(chosen, count, size, vm)
    tier = tier_catalog.bound(chosen.tier, on_size)
    if not node_disks.has_logs(chosen.tier):
        return tier
    log_limits: Limits | None = None
    if tier.wal is not None:
        log_limits = tier.wal.limits
        tier = replace(tier, wal=_log_on_vm(tier.wal, size, vm))
    both = tier_catalog.effective(chosen, count + 1, size, vm, log_limits)
    caps = [*tier.origin.vm_caps]
    for cap in both.vm_caps():
        # It is no limit of the data's disk, which may be far from this one.
        caps.append(VmCap(None, f"data's and WAL's disk together, {cap.text}"))
    return replace(
        tier,
        origin=replace(tier.origin, vm_caps=tuple(caps)),
        machine=_of_both_disks(tier, both),
    )


def _of_both_disks(tier: Tier, both: Effective) -> MachineLimits | None:
    """What the machine lets through of the disks of data and log together, if that is less."""
    # Disks share no burst, so they would never have the one that such a window begins with.
    if _begins_with_burst(tier, both):
        return None
    limits = Limits(_of_machine(both.iops), _of_machine(both.bytes_per_s))
    if limits == Limits():
        return None
    return MachineLimits(both.vm, limits)


def _begins_with_burst(tier: Tier, both: Effective) -> bool:
    """Whether a window begins with burst credit, and the machine has some too."""
    iops_burst = both.burst_iops.vm != both.iops.vm
    rate_burst = both.burst_bytes_per_s.vm != both.bytes_per_s.vm
    if not (iops_burst or rate_burst):
        return False
    bursts = [tier.limits.burst]
    if tier.wal is not None:
        bursts.append(tier.wal.limits.burst)
    return any(burst is not None and burst.start_pct > 0 for burst in bursts)


def _of_machine(cap: Cap) -> int | None:
    """The machine's limit, if both disks could exceed it together."""
    if cap.binds == "vm":
        return cap.vm
    return None


def _log_on_vm(wal: Tier, size: VmSize, vm: str) -> Tier:
    log = replace(tier_catalog.own(wal), type=wal.origin.catalog_type or None)
    return tier_catalog.bound(wal, tier_catalog.effective(log, 1, size, vm))
