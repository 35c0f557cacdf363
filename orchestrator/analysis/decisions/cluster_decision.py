"""Which tier to buy for a cluster that is to serve several workloads. Pure.

Its disks are of one tier. That tier is enough for all workloads if it is for each, so the worst
p-value of its claims is that of the joint one (intersection-union test, Berger 1982), whatever the
number of workloads. The claims of all tiers hold together at one level, as those of one workload
do: a tier that is proven not to be enough for any workload makes none, which by chance leaves out
5 % of those at the margin in each, so the level of the others is as much lower."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from orchestrator.analysis.conclusions import (
    ClusterDecision,
    Standing,
    WithoutWorkload,
)
from orchestrator.analysis.decisions import offers
from orchestrator.analysis.decisions.candidates import Candidate
from orchestrator.analysis.decisions.contests import Contest, standings_of
from orchestrator.analysis.decisions.levels import ONE_SIDED
from orchestrator.analysis.decisions.no_contest import no_contest
from orchestrator.analysis.decisions.weights import weighed
from orchestrator.analysis.statistics import stats
from orchestrator.units import counted, listed


def decide_cluster(
    contests: Sequence[Contest], weights: Mapping[str, float] | None = None
) -> ClusterDecision | None:
    """The cheapest tier that is proven enough for all; None with one workload, or one tier.
    `weights`: of workloads that are to be enough together (`weights.weighed`)."""
    tiers = _in_order(contests)
    if len(contests) < 2 or len(tiers) < 2:
        return None
    weights = weights or {}
    judged = weighed(contests, weights)
    standings = _standings(judged, tiers)
    tier = _cheapest(judged, tiers, standings)
    without = _without_each(contests, weights, tiers, tier)
    reasons = [_why(len(contests), judged, tiers, tier)]
    reasons += [str(answer) for answer in without]
    decision = ClusterDecision(
        tier=None,
        reason=". ".join(reasons),
        workloads=tuple(contest.workload for contest in contests),
        standings=standings,
        without=tuple(without),
    )
    if tier is None:
        return decision
    return replace(
        decision,
        tier=tier.name,
        monthly_cost=tier.monthly_cost,
        currency=tier.currency,
        with_vms=tier.with_vms,
    )


def _in_order(contests: Sequence[Contest]) -> list[Candidate]:
    """All tiers with figures, from cheap to dear, as the workload with most of them has them; then
    those that only other workloads have. Of each the last workload's candidate stands for it,
    unless the first one has it."""
    most: Sequence[Candidate] = ()
    for contest in contests:
        if len(contest.candidates) > len(most):
            most = contest.candidates
    by_name = {tier.name: tier for tier in most}
    for contest in contests:
        for tier in contest.candidates:
            by_name[tier.name] = tier
    by_name |= {tier.name: tier for tier in most}
    return list(by_name.values())


def _without_each(
    contests: Sequence[Contest],
    weights: Mapping[str, float],
    tiers: Sequence[Candidate],
    tier: Candidate | None,
) -> list[WithoutWorkload]:
    """The workloads of which each alone, given up, would let a cheaper tier do."""
    answers: list[WithoutWorkload] = []
    for given_up in contests:
        rest = [contest for contest in contests if contest is not given_up]
        judged = weighed(rest, weights)
        other = _cheapest(judged, tiers, _standings(judged, tiers))
        if other is None:
            continue
        if tier is None or tiers.index(other) < tiers.index(tier):
            answers.append(
                WithoutWorkload(
                    given_up.workload, other.name, other.monthly_cost, other.currency
                )
            )
    return answers


# ------------------------------------------------------------------ what is proven


def _standing(tier: str, contest: Contest) -> Standing:
    """Of a tier in one workload; open where that has no answer."""
    if tier in contest.overload.always:
        return "not enough"
    if no_contest(contest):
        return "open"
    return contest.proof.standings.get(tier, "open")


def _claim(tier: str, contest: Contest) -> float:
    """The p-value of its not being enough for one workload."""
    if no_contest(contest):
        return 1.0
    return contest.proof.claims.get(tier, 1.0)


def _standings(
    contests: Sequence[Contest], tiers: Sequence[Candidate]
) -> dict[str, Standing]:
    """Of each tier for all workloads together."""
    p_values: dict[str, float] = {}
    refused: set[str] = set()
    for tier in tiers:
        p_values[tier.name] = max(_claim(tier.name, contest) for contest in contests)
        if _refusing(tier.name, contests):
            refused.add(tier.name)
    claimed = [p_value for name, p_value in p_values.items() if name not in refused]
    alpha = ONE_SIDED * max(0.0, 1 - len(contests) * ONE_SIDED)
    level = stats.level_of_claims(claimed, alpha)
    return standings_of(p_values, level, refused)


def _refusing(tier: str, contests: Sequence[Contest]) -> list[str]:
    """The workloads for which it is proven not to be enough."""
    return _with_standing(tier, contests, "not enough")


def _with_standing(
    tier: str, contests: Sequence[Contest], standing: Standing
) -> list[str]:
    """The workloads in which that is proven of it, or is open."""
    workloads: list[str] = []
    for contest in contests:
        if _standing(tier, contest) == standing:
            workloads.append(contest.workload)
    return workloads


def _cheapest(
    contests: Sequence[Contest],
    tiers: Sequence[Candidate],
    standings: Mapping[str, Standing],
) -> Candidate | None:
    enough = [tier for tier in tiers if standings[tier.name] == "enough"]
    if not enough:
        return None
    return offers.preferred(enough, contests[0])


# ------------------------------------------------------------------ in words


def _why(
    count: int,
    contests: Sequence[Contest],
    tiers: Sequence[Candidate],
    tier: Candidate | None,
) -> str:
    """Why that tier, or none, and not a cheaper one. `count`: of workloads."""
    workloads = f"all {counted(count, 'workload')} together"
    if len(contests) == 1:
        workloads = contests[0].workload
    unanswered = [contest.workload for contest in contests if no_contest(contest)]
    if tier is None and unanswered:
        return _no_answer_for(workloads, unanswered)
    passed_over = tiers
    text = f"no tier is proven enough for {workloads}"
    if tier is not None:
        passed_over = tiers[: tiers.index(tier)]
        which = "cheapest tier"
        if contests[0].no_prices:
            which = "tier with the lowest declared limits"
        text = f"{tier.name} is the {which} proven enough for {workloads}"
    why_not = [_why_not(other.name, contests) for other in passed_over]
    if why_not:
        return f"{text}: {'; '.join(why_not)}"
    return text


def _no_answer_for(workloads: str, unanswered: Sequence[str]) -> str:
    have = "has"
    if len(unanswered) > 1:
        have = "have"
    none = f"no tier can be proven enough for {workloads}"
    return f"{none}: {listed(unanswered)} {have} no answer"


def _why_not(tier: str, contests: Sequence[Contest]) -> str:
    refusing = _refusing(tier, contests)
    if refusing:
        return f"{tier} is not enough for {listed(refusing)}"
    unsure = _with_standing(tier, contests, "open")
    if unsure:
        return f"whether {tier} is enough for {listed(unsure)} is open"
    return f"{tier} is proven enough for each, and not yet for all at one level"
