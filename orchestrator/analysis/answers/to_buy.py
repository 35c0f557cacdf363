"""What to buy and what it costs: disks of a tier for all nodes, and their machines. Pure."""

from dataclasses import replace

from orchestrator.analysis.answers.asked import Asked
from orchestrator.analysis.answers.record import DisksToBuy, MonthlyPrice, PriceScope
from orchestrator.analysis.conclusions import ClusterDecision, Decision
from orchestrator.planning import node_disks


def disks_to_buy(
    asked: Asked, tier: str, decision: Decision | ClusterDecision
) -> DisksToBuy:
    """The tier that a decision names, as a purchase for the cluster that was measured."""
    profile = asked.campaign.plan.profile(tier)
    disk = profile.tier
    cluster = profile.cluster
    disks = cluster.nodes * disk.count
    log_disks = len(node_disks.log_disks(disk))
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
        nodes=cluster.nodes,
        disks=disks,
        striped=disk.count,
        log_disks=log_disks,
        log_title=log_title,
        machine=cluster.vm or "",
        machines_price=_machines_price(asked, tier),
        machines_in_price=any(other.with_vms for other in asked.verdict.decisions),
    )


def _price(
    asked: Asked, tier: str, decision: Decision | ClusterDecision
) -> MonthlyPrice | None:
    if decision.monthly_cost is None or not decision.currency:
        return None
    profile = asked.campaign.plan.profile(tier)
    price = MonthlyPrice(
        amount=decision.monthly_cost,
        currency=decision.currency,
        covers=price_scope(decision),
        nodes=profile.cluster.nodes,
    )
    listed = profile.tier.price
    if listed is None:
        return price
    return replace(
        price, region=listed.region, as_of=listed.as_of, source=listed.source
    )


def _machines_price(asked: Asked, tier: str) -> MonthlyPrice | None:
    cluster = asked.campaign.plan.profile(tier).cluster
    listed = cluster.vm_price
    if not listed:
        return None
    return MonthlyPrice(
        amount=cluster.nodes * listed.monthly,
        currency=listed.currency,
        covers="machines",
        nodes=cluster.nodes,
        region=listed.region,
        as_of=listed.as_of,
        source=listed.source,
    )


def price_scope(decision: Decision | ClusterDecision) -> PriceScope:
    """What the costs of its tiers are for."""
    if decision.with_vms:
        return "disks and machines"
    return "disks"
