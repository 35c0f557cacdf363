"""Which tier to buy for a cluster that is to serve several workloads. Pure.

Its disks are of one tier. What is proven of each is in `cluster_standings`, the words in
`cluster_words`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from orchestrator.analysis.conclusions import (
    ClusterDecision,
    Standing,
    WithoutWorkload,
    in_one_text,
)
from orchestrator.analysis.decisions import cluster_words, offers
from orchestrator.analysis.decisions.candidates import Candidate
from orchestrator.analysis.decisions.cluster_standings import standings
from orchestrator.analysis.decisions.contests import Contest
from orchestrator.analysis.decisions.levels import SHOWN
from orchestrator.analysis.decisions.weights import weighed


def decide_cluster(
    contests: Sequence[Contest], weights: Mapping[str, float] | None = None
) -> ClusterDecision | None:
    """The cheapest tier that is proven enough for all; None with one workload, or one tier.
    `weights`: of workloads that are to be enough together (`weights.weighed`)."""
    tiers = _in_order(contests)
    # The decision of a single workload is the answer.
    if len(contests) < 2 or len(tiers) < 2:
        return None
    weights = weights or {}
    judged = weighed(contests, weights)
    tier_standings = standings(judged.contests, tiers)
    tier = _cheapest(judged.contests, tiers, tier_standings)
    # The product is rounded: 1 − 2 × 0.05 is not quite 0.9 in floating point.
    confidence_pct = round(100 * cluster_words.confidence(contests, SHOWN), 4)
    decision = ClusterDecision(
        tier=None,
        reason="",
        reason_parts=cluster_words.why(len(contests), judged.contests, tiers, tier),
        workloads=tuple(contest.workload for contest in contests),
        standings=tier_standings,
        without=tuple(_without_each(contests, weights, tiers, tier)),
        basis=cluster_words.basis(contests),
        confidence_pct=confidence_pct,
    )
    if tier is None:
        return _in_words(decision, judged.notes)
    named = replace(
        decision,
        tier=tier.name,
        monthly_cost=tier.monthly_cost,
        currency=tier.currency,
        with_vms=tier.with_vms,
        cheaper_open=_cheaper_open(tier, judged.contests[0], tiers, tier_standings),
        best_open=_best_open(tier, contests),
    )
    # Limits are those of each workload, as a mean of several has neither scale nor ceiling.
    return _in_words(named, judged.notes, cluster_words.limits(contests))


def _in_words(
    decision: ClusterDecision, notes: Sequence[str], limits: Sequence[str] = ()
) -> ClusterDecision:
    """The decision with its sentences. notes: on weights. limits: of what was measured."""
    why = decision.reason_parts.in_words(decision.tier)
    without = [str(answer) for answer in decision.without]
    sentences = (why, *notes, *without, *limits)
    return replace(decision, reason=in_one_text(sentences), sentences=sentences)


def _in_order(contests: Sequence[Contest]) -> list[Candidate]:
    """All tiers with figures, each once.

    First come the tiers of the workload with most tiers, from cheap to dear. Tiers that only other
    workloads have follow.
    """
    # Each contest has an order of its own, of its tiers alone: that with most leaves out fewest.
    most: Sequence[Candidate] = ()
    for contest in contests:
        if len(contest.candidates) > len(most):
            most = contest.candidates
    by_name = {tier.name: tier for tier in most}
    for contest in contests:
        for tier in contest.candidates:
            by_name.setdefault(tier.name, tier)
    return list(by_name.values())


def _without_each(
    contests: Sequence[Contest],
    weights: Mapping[str, float],
    tiers: Sequence[Candidate],
    tier: Candidate | None,
) -> list[WithoutWorkload]:
    """The workloads that each, if given up alone, would let a cheaper tier be enough."""
    answers: list[WithoutWorkload] = []
    for given_up in contests:
        rest = [contest for contest in contests if contest is not given_up]
        judged = weighed(rest, weights).contests
        other = _cheapest(judged, tiers, standings(judged, tiers))
        if other is None:
            continue
        # A workload is worth giving up only for a tier that costs less.
        is_cheaper = tier is None or tiers.index(other) < tiers.index(tier)
        if is_cheaper:
            answer = WithoutWorkload(
                given_up.workload, other.name, other.monthly_cost, other.currency
            )
            answers.append(answer)
    return answers


def _cheaper_open(
    named: Candidate,
    contest: Contest,
    tiers: Sequence[Candidate],
    of_tiers: Mapping[str, Standing],
) -> tuple[str, ...]:
    """The tiers that would be preferred to the one named for all, and open there."""
    before = tiers[: tiers.index(named)]
    still_open = [tier for tier in before if of_tiers[tier.name] == "open"]
    cheaper = offers.cheaper_than(named, still_open, contest)
    return tuple(tier.name for tier in cheaper)


def _best_open(named: Candidate, contests: Sequence[Contest]) -> tuple[str, ...]:
    """The dearer tiers that left no figures for a workload: one may be the best for it."""
    names: dict[str, None] = {}
    for contest in contests:
        names.update(dict.fromkeys(offers.absent_and_dearer(named, contest)))
    return tuple(names)


def _cheapest(
    contests: Sequence[Contest],
    tiers: Sequence[Candidate],
    of_tiers: Mapping[str, Standing],
) -> Candidate | None:
    enough = [tier for tier in tiers if of_tiers[tier.name] == "enough"]
    if not enough:
        return None
    return offers.preferred(enough, contests[0])
