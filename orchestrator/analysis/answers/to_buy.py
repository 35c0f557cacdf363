"""What to buy and what it costs: disks of a tier for all nodes, and their machines. Pure.

A profile may be measured with fewer nodes than it has. What is bought, and every amount here, is
for all nodes of the profile.
"""

from dataclasses import replace

from orchestrator.analysis.answers.asked import Asked
from orchestrator.analysis.answers.record import DisksToBuy, MonthlyPrice, PriceScope
from orchestrator.analysis.conclusions import ClusterDecision, Decision
from orchestrator.design import purchase_prices, used_profiles
from orchestrator.model import ClusterSpec, Profile
from orchestrator.tier import Limits, Price, Tier


def disks_to_buy(
    asked: Asked, tier: str, decision: Decision | ClusterDecision
) -> DisksToBuy:
    """The tier that a decision names, as a purchase for all nodes of its profile."""
    profile = profile_of_decision(asked, tier, decision)
    price = _price_of_decision(profile, decision)
    return disks_of_profile(profile, price, machines_in_price=decision.with_vms)


def disks_of_profile(
    profile: Profile, price: MonthlyPrice | None, *, machines_in_price: bool
) -> DisksToBuy:
    """What a profile has, as a purchase for all of its nodes."""
    disk = profile.tier
    cluster = profile.cluster
    log_disks = purchase_prices.log_disks_to_buy(profile)
    # All nodes of the profile count, although fewer may have been measured.
    disks = cluster.nodes_to_buy * disk.count
    bought = _each_disk(disk)
    log_title: str | None = None
    if disk.wal is not None:
        log_title = disk.wal.title
    else:
        # Disks for logs are of the same kind, so they are counted with the others.
        disks += log_disks
    return DisksToBuy(
        tier=profile.name,
        price=price,
        title=disk.title,
        iops=bought.iops,
        bytes_per_s=bought.bytes_per_s,
        nodes=cluster.nodes_to_buy,
        disks=disks,
        striped=disk.count,
        log_disks=log_disks,
        log_title=log_title,
        machine=cluster.vm or "",
        machines_price=_machines_price(cluster),
        machines_in_price=machines_in_price,
        product=disk.origin.product,
        size_bytes=disk.origin.size_bytes,
    )


def _each_disk(disk: Tier) -> Limits:
    """What each disk is ordered with."""
    origin = disk.origin
    if origin.bought_iops is not None or origin.bought_bytes_per_s is not None:
        return Limits(origin.bought_iops, origin.bought_bytes_per_s)
    # Campaigns of earlier releases keep only what a node gets: of a stripe, through its machine.
    if disk.count > 1 or origin.vm_caps:
        return Limits()
    return Limits(disk.limits.total_iops, disk.limits.bytes_per_s)


def profile_of_decision(
    asked: Asked, tier: str, decision: Decision | ClusterDecision
) -> Profile:
    """The profile as the decision's workload used it: at a value, its nodes or disks differ."""
    profile = asked.campaign.plan.profile(tier)
    if not isinstance(decision, Decision):
        return profile
    workload = asked.workload(decision.workload)
    # The loads of a sweep share one decision, and leave the profile as it is.
    if workload is None:
        return profile
    return used_profiles.as_used(profile, workload)


def measured_nodes(cluster: ClusterSpec) -> int | None:
    """How many nodes of a cluster were measured; None if all that are bought for."""
    if cluster.nodes == cluster.nodes_to_buy:
        return None
    return cluster.nodes


# ------------------------------------------------------------------ prices


def price_scope(decision: Decision | ClusterDecision) -> PriceScope:
    """What the costs of its tiers are for."""
    if decision.with_vms:
        return "disks and machines"
    return "disks"


def stated_price(
    profile: Profile, amount: float, currency: str, covers: PriceScope
) -> MonthlyPrice:
    """An amount for all nodes of a profile, with where the price of its disks was read."""
    price = _monthly_price(profile.cluster, amount, currency, covers)
    disk_price = profile.tier.price
    if disk_price is None:
        return price
    price = _with_source(price, disk_price)
    # A sum is as sure as its least sure part.
    vm_price = profile.cluster.vm_price
    if covers != "disks" and vm_price and vm_price.is_unverified:
        return replace(price, verified=False)
    return price


def _price_of_decision(
    profile: Profile, decision: Decision | ClusterDecision
) -> MonthlyPrice | None:
    if decision.monthly_cost is None or not decision.currency:
        return None
    scope = price_scope(decision)
    return stated_price(profile, decision.monthly_cost, decision.currency, scope)


def _machines_price(cluster: ClusterSpec) -> MonthlyPrice | None:
    vm_price = cluster.vm_price
    if not vm_price:
        return None
    amount = cluster.nodes_to_buy * vm_price.monthly
    price = _monthly_price(cluster, amount, vm_price.currency, "machines")
    return _with_source(price, vm_price)


def _monthly_price(
    cluster: ClusterSpec, amount: float, currency: str, covers: PriceScope
) -> MonthlyPrice:
    """`amount`: for all nodes of the cluster."""
    return MonthlyPrice(
        amount=amount,
        currency=currency,
        covers=covers,
        nodes=cluster.nodes_to_buy,
        measured_nodes=measured_nodes(cluster),
    )


def _with_source(price: MonthlyPrice, listed: Price) -> MonthlyPrice:
    """`listed`: the price of one disk or machine, as it stands in a list."""
    return replace(
        price,
        region=listed.region,
        as_of=listed.as_of,
        source=listed.source,
        verified=listed.verified,
    )
