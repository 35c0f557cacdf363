"""What each tier of a contest costs and gives, what one step up or down in price changes, and which
of several is preferred. Pure.

Costs are of the disks of all nodes, a month at list price; of machines too, where they are unlike.
"""

import math
from collections.abc import Mapping, Sequence

from orchestrator.analysis.conclusions import NeighbourTier, Offer, Standing
from orchestrator.analysis.decisions.candidates import NOPM, THROUGHPUT, Candidate
from orchestrator.analysis.decisions.contests import (
    ONE_SIDED,
    SHOWN,
    Comparison,
    Contest,
)
from orchestrator.analysis.statistics import looks, stats
from orchestrator.analysis.telemetry.causes import NOT_THE_TIER

# Of what counts as throughput so much, of which a cost is told.
_UNITS: Mapping[str, tuple[float, str]] = {
    NOPM.metric: (1e3, "1,000 NOPM"),
    "payload_bytes_per_s": (1e9, "1 GB/s"),
    THROUGHPUT.metric: (1e3, "1,000 transactions/s"),
}


def offers(contest: Contest) -> tuple[Offer, ...]:
    """One per tier with figures, from cheap to dear (or by declared limits)."""
    return tuple(_offer(candidate, contest) for candidate in contest.candidates)


def _offer(candidate: Candidate, contest: Contest) -> Offer:
    cost = candidate.monthly_cost
    rate = next(
        (criterion for criterion in candidate.values if not criterion.is_latency), None
    )
    per_unit, dear, cheap = None, None, None
    unit, title = _UNITS[rate.metric if rate else THROUGHPUT.metric]
    if cost is not None and rate is not None:
        values = candidate.values[rate]
        per_unit = unit * cost / (sum(values) / len(values))
        mean = stats.geometric_mean(values, looks.confidence(SHOWN, contest.share))
        if mean.low is not None and mean.high is not None:
            dear, cheap = (unit * cost / bound for bound in (mean.low, mean.high))
    price, proof = candidate.price, contest.proof
    compared = proof.comparisons[candidate.name]
    return Offer(
        tier=candidate.name,
        standing=proof.standings[candidate.name],
        monthly_cost=cost,
        cost_per_unit=per_unit,
        unit=title,
        currency=candidate.currency or "",
        on_front=None if contest.no_prices else _on_front(candidate, contest),
        price_region=price.region if price else "",
        price_as_of=price.as_of if price else "",
        price_source=price.source if price else "",
        worst=tuple(
            max(of_criterion, key=lambda comparison: comparison.p_value).change
            for criterion in contest.criteria
            if (of_criterion := [c for c in compared if c.criterion is criterion])
        ),
        slo=tuple(
            test.result(proof.level) for test in proof.objectives[candidate.name]
        ),
        least_margin_pct=_least_margin(candidate, contest, of_tail=False),
        least_p99_margin_pct=_least_margin(candidate, contest, of_tail=True),
        cost_per_unit_low=cheap,
        cost_per_unit_high=dear,
    )


def _least_margin(
    candidate: Candidate, contest: Contest, *, of_tail: bool
) -> float | None:
    """The least margin, in %, at which it would be proven enough in p99 or in the other criteria:
    of its comparisons the worst bound, at the level of the decision's claims. Rounded up."""
    if contest.slo or contest.barred(candidate):
        return None
    losses = [0.0]
    confidence = 1 - 2 * contest.proof.level * contest.share
    for comparison in contest.proof.comparisons[candidate.name]:
        if comparison.criterion.is_tail is of_tail:
            low, high = comparison.ratio.at(confidence).interval_pct or (
                -math.inf,
                math.inf,
            )
            losses.append(high if comparison.criterion.is_latency else -low)
    known = len(losses) > 1 and math.isfinite(max(losses))
    return math.ceil(100 * max(losses)) / 100 if known else None


def _on_front(candidate: Candidate, contest: Contest) -> bool | None:
    """As `Offer` says it."""
    cost = candidate.monthly_cost or 0.0
    as_cheap = [
        tier for tier in contest.others(candidate) if (tier.monthly_cost or 0.0) <= cost
    ]
    if any(_beats(other, candidate, contest) for other in as_cheap):
        return False
    behind = (_proven(other, candidate, contest, worse=True) for other in as_cheap)
    return True if all(behind) else None


def _between(
    other: Candidate, candidate: Candidate, contest: Contest
) -> list[Comparison]:
    return [c for c in contest.proof.comparisons[other.name] if c.other is candidate]


def _beats(other: Candidate, candidate: Candidate, contest: Contest) -> bool:
    """Whether `other`, which is as cheap, is proven within the margin of `tier` in every criterion
    and worse in none, and is cheaper or proven better in one."""
    comparisons = _between(other, candidate, contest)
    if not comparisons or contest.flattered(other) or candidate.cause in NOT_THE_TIER:
        return False
    if _proven(other, candidate, contest, worse=True):
        return False
    cheaper = (other.monthly_cost or 0.0) < (candidate.monthly_cost or 0.0)
    within = all(comparison.p_value <= ONE_SIDED for comparison in comparisons)
    return within and (cheaper or _proven(other, candidate, contest, worse=False))


def _proven(
    other: Candidate, candidate: Candidate, contest: Contest, worse: bool
) -> bool:
    """Whether `other` is proven worse than `tier`, or better, in any criterion; the level is
    divided by all criteria of all pairs of tiers, as any of them would do."""
    comparisons = _between(other, candidate, contest)
    family = len(comparisons) * len(contest.candidates) * (len(contest.candidates) - 1)
    return any(
        (c.ratio.ratio > 1) == (c.criterion.is_latency == worse)
        and looks.at_look([c.ratio.p_value / 2], contest.share)[0] <= ONE_SIDED / family
        for c in comparisons
        if c.ratio.p_value is not None
    )


def step(candidate: Candidate, by: int, contest: Contest) -> NeighbourTier | None:
    """To the next dearer tier (`by` 1) or the next cheaper one (−1); None at the end."""
    place = contest.candidates.index(candidate) + by
    if not 0 <= place < len(contest.candidates):
        return None
    other = contest.candidates[place]
    change, cost, own_cost = None, other.monthly_cost, candidate.monthly_cost
    if not contest.no_prices and cost is not None and own_cost is not None:
        change = cost - own_cost
    comparisons = _between(other, candidate, contest)
    return NeighbourTier(other.name, change, tuple(c.change for c in comparisons))


def preferred(enough: Sequence[Candidate], contest: Contest) -> Candidate:
    """The first; where declared limits order tiers, the cheapest priced in its currency."""
    alike = [
        tier for tier in enough if contest.no_prices and _same_list(tier, enough[0])
    ]
    return min(alike, key=lambda tier: tier.monthly_cost or 0.0, default=enough[0])


def _same_list(candidate: Candidate, other: Candidate) -> bool:
    """Whether both have prices of one currency, and machines of one kind."""
    same_vm = candidate.profile.cluster.vm == other.profile.cluster.vm
    return (
        same_vm
        and candidate.currency is not None
        and candidate.currency == other.currency
    )


def by_price(candidate: Candidate, contest: Contest) -> bool:
    """Whether a known price, and not declared limits, puts it before another."""
    before = contest.candidates[: contest.candidates.index(candidate)]
    return any(preferred((other, candidate), contest) is candidate for other in before)


def passed_over(
    candidate: Candidate, contest: Contest, standing: Standing
) -> list[Candidate]:
    before = contest.candidates[: contest.candidates.index(candidate)]
    return [other for other in contest.standing(standing) if other in before]


def cheaper_than(
    candidate: Candidate, of: Sequence[Candidate], contest: Contest
) -> Sequence[Candidate]:
    """Those that cost less; where prices are not known, all."""
    cost = candidate.monthly_cost
    if contest.no_prices or cost is None:
        return of
    return [tier for tier in of if (tier.monthly_cost or 0.0) < cost]


def also_enough(candidate: Candidate, contest: Contest) -> list[Candidate]:
    return [other for other in contest.standing("enough") if other is not candidate]
