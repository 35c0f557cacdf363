"""What the prices of a table or a chart are for: the nodes of the profiles, and whether each price
was read at the provider's own."""

from orchestrator.analysis.answers.to_buy import measured_nodes, profile_of_decision
from orchestrator.analysis.conclusions import Decision
from orchestrator.report.report_index import ReportIndex
from orchestrator.texts.prose import counted


def nodes_in_words(index: ReportIndex, decision: Decision) -> str:
    """`3 nodes, of which 1 was measured`; `all nodes`, where its tiers have unlike clusters."""
    bought: set[int] = set()
    measured: set[int | None] = set()
    for offer in decision.offers:
        cluster = profile_of_decision(index, offer.tier, decision).cluster
        bought.add(cluster.nodes_to_buy)
        # None: all nodes that are bought were measured.
        measured.add(measured_nodes(cluster))
    # No one number is true of all tiers.
    if len(bought) != 1 or len(measured) != 1:
        return "all nodes"
    nodes = counted(bought.pop(), "node")
    few = measured.pop()
    if few is None:
        return nodes
    was = "were"
    if few == 1:
        was = "was"
    return f"{nodes}, of which {few} {was} measured"


def is_unverified(index: ReportIndex, tier: str) -> bool:
    """Whether its price was read in somebody's copy of a provider's list."""
    price = index.campaign.plan.profile(tier).tier.price
    return price is not None and price.is_unverified
