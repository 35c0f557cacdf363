"""Which tier is preferred of several that are enough: the cheaper one, or that which promises less.
Pure."""

import math
from collections.abc import Sequence

from orchestrator.analysis.decisions.candidates import Candidate


def in_order(candidates: Sequence[Candidate], *, by_price: bool) -> list[Candidate]:
    """The tiers from the most preferred on. Sorting keeps the order of equals."""
    # A disk that promises less is taken for the cheaper one if there are no prices.
    from_least = sorted(candidates, key=declared_limits)
    if not by_price:
        return from_least
    # The one that promises more is the better buy if prices are equal.
    from_most = from_least[::-1]
    return sorted(from_most, key=cost_or_zero)


def cost_or_zero(candidate: Candidate) -> float:
    """What a tier costs a month, to sort by; 0 if that is not known."""
    return candidate.monthly_cost or 0.0


def declared_limits(candidate: Candidate) -> tuple[float, float, float]:
    """Less is a lesser disk; what is not limited counts as the most."""
    limits = candidate.profile.tier.limits
    iops = limits.iops or math.inf
    bytes_per_s = limits.bytes_per_s or math.inf
    latency_s = candidate.profile.tier.latency.read_s or 0.0
    # A longer latency is a lesser disk, hence the sign.
    return (iops, bytes_per_s, -latency_s)
