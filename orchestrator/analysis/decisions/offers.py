"""What each tier of a contest costs and gives. Pure.

Also what the next dearer or cheaper tier would change, and which of several tiers is preferred. A
cost is what the disks of all nodes of the profile cost in a month, at list price. Where tiers need
unlike machines, the price of the machines is in it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from orchestrator.analysis.conclusions import Change, NeighbourTier, Offer, Standing
from orchestrator.analysis.decisions import front
from orchestrator.analysis.decisions.candidates import (
    NOPM,
    THROUGHPUT,
    Candidate,
    Criterion,
)
from orchestrator.analysis.decisions.contests import Contest
from orchestrator.analysis.decisions.levels import SHOWN
from orchestrator.analysis.decisions.preference import cost_or_zero
from orchestrator.analysis.statistics import looks, stats


@dataclass(frozen=True)
class _ThroughputUnit:
    """A rate whose cost is a figure that people can read: 1,000 transactions/s rather than one."""

    size: float
    title: str


# Metric that counts as throughput → its unit.
_UNITS: Mapping[str, _ThroughputUnit] = {
    NOPM.metric: _ThroughputUnit(1e3, "1,000 NOPM"),
    "payload_bytes_per_s": _ThroughputUnit(1e9, "1 GB/s"),
    THROUGHPUT.metric: _ThroughputUnit(1e3, "1,000 transactions/s"),
}


def offers(contest: Contest) -> tuple[Offer, ...]:
    """An offer for each tier with figures, from cheap to dear (or by declared limits)."""
    return tuple(_offer(candidate, contest) for candidate in contest.candidates)


def _offer(candidate: Candidate, contest: Contest) -> Offer:
    proof = contest.proof
    tests = proof.objectives[candidate.name]
    unit_cost = _unit_cost(candidate, contest)
    # The front is one of price and performance: without prices there is none.
    on_front: bool | None = None
    if not contest.no_prices:
        on_front = front.is_on(candidate, contest)
    offer = Offer(
        tier=candidate.name,
        standing=proof.standings[candidate.name],
        monthly_cost=candidate.monthly_cost,
        cost_per_unit=unit_cost.mean,
        unit=_unit(candidate).title,
        currency=candidate.currency or "",
        on_front=on_front,
        price_region="",
        price_as_of="",
        price_source="",
        worst=_worst(candidate, contest),
        slo=tuple(test.result(proof.level) for test in tests),
        least_margin_pct=_least_margin(candidate, contest, of_tail=False),
        least_p99_margin_pct=_least_margin(candidate, contest, of_tail=True),
        cost_per_unit_low=unit_cost.low,
        cost_per_unit_high=unit_cost.high,
    )
    price = candidate.price
    if price is None:
        return offer
    return replace(
        offer,
        price_region=price.region,
        price_as_of=price.as_of,
        price_source=price.source,
    )


# ------------------------------------------------------------------ what a tier costs


@dataclass(frozen=True)
class _UnitCost:
    """What one unit of throughput costs in a month, and the bounds of that cost."""

    mean: float | None = None
    low: float | None = None
    high: float | None = None


def _rate(candidate: Candidate) -> Criterion | None:
    """The criterion that is a rate, if it has one."""
    for criterion in candidate.values:
        if not criterion.is_latency:
            return criterion
    return None


def _unit(candidate: Candidate) -> _ThroughputUnit:
    rate = _rate(candidate) or THROUGHPUT
    return _UNITS[rate.metric]


def _unit_cost(candidate: Candidate, contest: Contest) -> _UnitCost:
    """What a unit of throughput costs on this tier; empty without a price or a rate."""
    rate = _rate(candidate)
    if candidate.monthly_cost is None or rate is None:
        return _UnitCost()
    values = candidate.values[rate]
    # Throughput and cost are those of the measured nodes, if fewer were measured than are bought.
    measured_cost = candidate.monthly_cost * _measured_share(candidate)
    cost = _unit(candidate).size * measured_cost
    mean_cost = cost / (sum(values) / len(values))
    # Noise of rates is proportional, so bounds are those of the geometric mean.
    throughput = stats.geometric_mean(
        values, looks.confidence(SHOWN, contest.rules.share)
    )
    if throughput.low is None or throughput.high is None:
        return _UnitCost(mean_cost)
    # The more a tier does, the less a unit costs: bounds change places.
    return _UnitCost(mean_cost, low=cost / throughput.high, high=cost / throughput.low)


def _measured_share(candidate: Candidate) -> float:
    """Which share of the nodes to buy was measured; the throughput is that of this share."""
    cluster = candidate.profile.cluster
    # All nodes of the profile were measured if this is not set.
    if cluster.profile_nodes is None:
        return 1.0
    return cluster.nodes / cluster.nodes_to_buy


# ------------------------------------------------------------------ what a tier gives


def _worst(candidate: Candidate, contest: Contest) -> tuple[Change, ...]:
    """For each criterion, the change against the rival to which this tier compares worst."""
    comparisons = contest.proof.comparisons[candidate.name]
    changes: list[Change] = []
    for criterion in contest.rules.criteria:
        rivals = [pair for pair in comparisons if pair.criterion is criterion]
        if rivals:
            # The highest p-value is that of the comparison furthest from a proof.
            changes.append(max(rivals, key=attrgetter("p_value")).change)
    return tuple(changes)


def _least_margin(
    candidate: Candidate, contest: Contest, *, of_tail: bool
) -> float | None:
    """The least margin, in %, at which this tier would be proven enough.

    `of_tail`: in p99; else in the other criteria. It is the worst bound of the tier's comparisons,
    at the level of the decision's claims, and never below 0. None where nothing can be
    proven in the tier's favour.
    """
    if contest.rules.slo or contest.barred(candidate):
        return None
    # Each end of such an interval is a one-sided bound at the level of the claims.
    confidence = 1 - 2 * contest.proof.level * contest.rules.share
    losses_pct: list[float] = []
    for comparison in contest.proof.comparisons[candidate.name]:
        if comparison.criterion.is_tail != of_tail:
            continue
        interval_pct = comparison.ratio.at(confidence).interval_pct
        if interval_pct is None:
            return None
        low_pct, high_pct = interval_pct
        # A rate loses by its lower bound, a latency by its upper one.
        loss_pct = -low_pct
        if comparison.criterion.is_latency:
            loss_pct = high_pct
        losses_pct.append(loss_pct)
    most_pct = max([0.0, *losses_pct])
    if not losses_pct or not math.isfinite(most_pct):
        return None
    # Rounded up, so that at the margin told the tier is proven enough indeed.
    return math.ceil(100 * most_pct) / 100


def neighbour(
    candidate: Candidate, steps: int, contest: Contest
) -> NeighbourTier | None:
    """The next dearer tier (`steps` is 1) or the next cheaper one (−1), and what it would change.

    None if there is no tier further on.
    """
    place = contest.candidates.index(candidate) + steps
    if not 0 <= place < len(contest.candidates):
        return None
    other = contest.candidates[place]
    comparisons = front.between(other, candidate, contest)
    changes = tuple(comparison.change for comparison in comparisons)
    return NeighbourTier(other.name, _dearer_by(other, candidate, contest), changes)


def _dearer_by(
    other: Candidate, candidate: Candidate, contest: Contest
) -> float | None:
    """How much more `other` costs in a month; None where prices cannot be compared."""
    if contest.no_prices:
        return None
    if other.monthly_cost is None or candidate.monthly_cost is None:
        return None
    return other.monthly_cost - candidate.monthly_cost


# ------------------------------------------------------------------ which is preferred


def preferred(enough: Sequence[Candidate], contest: Contest) -> Candidate:
    """The tier to take of several that are enough.

    Where tiers are ordered by price, it is the first. Where they are ordered by declared limits, it
    is the cheapest of those whose prices can be compared with that of the first.
    """
    first = enough[0]
    if not contest.no_prices:
        return first
    alike = [tier for tier in enough if _same_list(tier, first)]
    return min(alike, key=cost_or_zero, default=first)


def _same_list(candidate: Candidate, other: Candidate) -> bool:
    """Whether both have prices of one currency, and machines of one kind."""
    # The price of the disks alone does not tell which costs less if machines are unlike.
    if candidate.profile.cluster.vm != other.profile.cluster.vm:
        return False
    return candidate.currency is not None and candidate.currency == other.currency


def by_price(candidate: Candidate, contest: Contest) -> bool:
    """Whether it is preferred to a tier before it because of its price.

    That happens only where tiers are ordered by declared limits.
    """
    for other in _before(candidate, contest):
        if preferred((other, candidate), contest) is candidate:
            return True
    return False


def _before(candidate: Candidate, contest: Contest) -> Sequence[Candidate]:
    """The tiers that come before it in the order of preference."""
    return contest.candidates[: contest.candidates.index(candidate)]


def passed_over(
    candidate: Candidate, contest: Contest, standing: Standing
) -> list[Candidate]:
    """The tiers before it in the order of preference that have this standing."""
    before = _before(candidate, contest)
    return [other for other in contest.standing(standing) if other in before]


def cheaper_than(
    candidate: Candidate, others: Sequence[Candidate], contest: Contest
) -> Sequence[Candidate]:
    """The tiers among `others` that cost less. Where prices are not known, all of them."""
    cost = candidate.monthly_cost
    if contest.no_prices or cost is None:
        return others
    return [other for other in others if cost_or_zero(other) < cost]


def absent_and_cheaper(candidate: Candidate, contest: Contest) -> list[str]:
    """The tiers without figures that may be cheaper than this one.

    A tier is left out only if it is known to cost as much or more.
    """
    dearer = [tier.name for tier in contest.outside if _is_dearer(tier, candidate)]
    return [name for name in contest.absent if name not in dearer]


def absent_and_dearer(candidate: Candidate, contest: Contest) -> list[str]:
    """The tiers without figures that cost as much as this one or more.

    Enough without an SLO means near the best, and each of these may be the best. An SLO asks for
    no best, so that a dearer tier changes nothing there.
    """
    if contest.rules.slo:
        return []
    cheaper = absent_and_cheaper(candidate, contest)
    return [name for name in contest.absent if name not in cheaper]


def _is_dearer(other: Candidate, candidate: Candidate) -> bool:
    """Whether `other` is known to cost as much as the candidate or more."""
    if other.monthly_cost is None or candidate.monthly_cost is None:
        return False
    return _same_list(other, candidate) and other.monthly_cost >= candidate.monthly_cost


def also_enough(candidate: Candidate, contest: Contest) -> list[Candidate]:
    """The other tiers that are proven enough."""
    return [other for other in contest.standing("enough") if other is not candidate]
