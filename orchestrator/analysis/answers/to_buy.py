"""What to buy and what it costs: disks of a tier for all nodes, and their machines. Pure."""

from dataclasses import replace

from orchestrator.analysis.answers.asked import Asked
from orchestrator.analysis.answers.record import DisksToBuy, MonthlyPrice, PriceScope
from orchestrator.analysis.conclusions import ClusterDecision, Decision
from orchestrator.design import costs
from orchestrator.model import ClusterSpec, Profile


def disks_to_buy(
    asked: Asked, tier: str, decision: Decision | ClusterDecision
) -> DisksToBuy:
    """The tier that a decision names, as a purchase for all nodes of its profile."""
    profile = asked.campaign.plan.profile(tier)
    disk = profile.tier
    cluster = profile.cluster
    disks = cluster.nodes_to_buy * disk.count
    log_disks = costs.log_disks_to_buy(profile)
    log_title: str | None = None
    if disk.wal is None:  # they are of the same kind
        disks += log_disks
    else:
        log_title = disk.wal.title
    return DisksToBuy(
        tier=tier,
        price=_price(asked, tier, decision),
        title=disk.title,
        iops=disk.limits.iops,
        bytes_per_s=disk.limits.bytes_per_s,
        nodes=cluster.nodes_to_buy,
        disks=disks,
        striped=disk.count,
        log_disks=log_disks,
        log_title=log_title,
        machine=cluster.vm or "",
        machines_price=_machines_price(asked, tier),
        machines_in_price=decision.with_vms,
    )


def _price(
    asked: Asked, tier: str, decision: Decision | ClusterDecision
) -> MonthlyPrice | None:
    if decision.monthly_cost is None or not decision.currency:
        return None
    profile = asked.campaign.plan.profile(tier)
    scope = price_scope(decision)
    return stated_price(profile, decision.monthly_cost, decision.currency, scope)


def stated_price(
    profile: Profile, amount: float, currency: str, covers: PriceScope
) -> MonthlyPrice:
    """An amount for all nodes of a profile, with where the price of its disks was read."""
    cluster = profile.cluster
    price = MonthlyPrice(
        amount=amount,
        currency=currency,
        covers=covers,
        nodes=cluster.nodes_to_buy,
        measured_nodes=measured_nodes(cluster),
    )
    listed = profile.tier.price
    if listed is None:
        return price
    verified = listed.verified
    if covers != "disks" and cluster.vm_price and cluster.vm_price.verified is False:
        verified = False
    return replace(
        price,
        region=listed.region,
        as_of=listed.as_of,
        source=listed.source,
        verified=verified,
    )


def _machines_price(asked: Asked, tier: str) -> MonthlyPrice | None:
    cluster = asked.campaign.plan.profile(tier).cluster
    listed = cluster.vm_price
    if not listed:
        return None
    return MonthlyPrice(
        amount=cluster.nodes_to_buy * listed.monthly,
        currency=listed.currency,
        covers="machines",
        nodes=cluster.nodes_to_buy,
        region=listed.region,
        as_of=listed.as_of,
        source=listed.source,
        verified=listed.verified,
        measured_nodes=measured_nodes(cluster),
    )


def measured_nodes(cluster: ClusterSpec) -> int | None:
    """How many nodes of a cluster were measured; None if all that are bought for."""
    if cluster.nodes == cluster.nodes_to_buy:
        return None
    return cluster.nodes


def price_scope(decision: Decision | ClusterDecision) -> PriceScope:
    """What the costs of its tiers are for."""
    if decision.with_vms:
        return "disks and machines"
    return "disks"
