"""Which tier to buy for a cluster that is to serve several workloads: its disks are of one. Pure.

A tier is enough for all workloads if it is for each, so the worst p-value of its claims is that of
the joint one (intersection-union test, Berger 1982), whatever the number of workloads. The claims
of all tiers hold together at one level, as those of one workload do: a tier that is proven not to
be enough for any workload makes none, which by chance leaves out 5 % of those at the margin in
each, so the level of the others is as much lower.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orchestrator.analysis.conclusions import ClusterDecision, Standing, WithoutWorkload
from orchestrator.analysis.decisions import offers
from orchestrator.analysis.decisions.candidates import Candidate
from orchestrator.analysis.decisions.contests import ONE_SIDED, Contest
from orchestrator.analysis.statistics import stats
from orchestrator.units import counted, listed


@dataclass(frozen=True)
class WorkloadClaims:
    """What one workload says of each tier. `obstacle`: why it has no answer at all, or empty."""

    contest: Contest
    obstacle: str

    @property
    def name(self) -> str:
        return self.contest.workload

    def standing(self, tier: str) -> Standing:
        if tier in self.contest.overload.always:
            return "not enough"
        return "open" if self.obstacle else self.contest.proof.standings.get(tier, "open")

    def p_value(self, tier: str) -> float:
        """Of the hypothesis that it is not enough."""
        return 1.0 if self.obstacle else self.contest.proof.claims.get(tier, 1.0)


def decide(claims: Sequence[WorkloadClaims]) -> ClusterDecision | None:
    """The cheapest tier that is proven enough for all; None where there is only one workload, or
    one tier."""
    tiers = _in_order(claims)
    if len(claims) < 2 or len(tiers) < 2:
        return None
    standings = _standings(claims, tiers)
    tier = _cheapest(claims, tiers, standings)
    without = []
    for given_up in claims:
        rest = [workload for workload in claims if workload is not given_up]
        other = _cheapest(rest, tiers, _standings(rest, tiers))
        if other and (tier is None or tiers.index(other) < tiers.index(tier)):
            currency = other.price.currency if other.price else None
            found = WithoutWorkload(given_up.name, other.name, other.monthly_cost, currency)
            without.append(found)
    return ClusterDecision(
        tier=tier.name if tier else None,
        reason=". ".join([_reason(claims, tiers, standings, tier), *map(str, without)]),
        workloads=tuple(workload.name for workload in claims),
        standings=standings,
        monthly_cost=tier.monthly_cost if tier else None,
        currency=tier.price.currency if tier and tier.price else None,
        with_vms=tier.with_vms if tier else False,
        without=tuple(without),
    )


def _in_order(claims: Sequence[WorkloadClaims]) -> list[Candidate]:
    """All tiers with figures, from cheap to dear, as the workload with most of them has them."""
    most = max((one.contest.candidates for one in claims), key=len, default=())
    names = {tier.name for tier in most}
    rest = {tier.name: tier for one in claims for tier in one.contest.candidates}
    return [*most, *(tier for name, tier in rest.items() if name not in names)]


def _standings(claims: Sequence[WorkloadClaims], tiers: Sequence[Candidate]) -> dict[str, Standing]:
    p_values = {tier.name: max(one.p_value(tier.name) for one in claims) for tier in tiers}
    refused = {name for name in p_values if any(c.standing(name) == "not enough" for c in claims)}
    alpha = ONE_SIDED * max(0.0, 1 - len(claims) * ONE_SIDED)
    level = stats.level_of_claims([p for n, p in p_values.items() if n not in refused], alpha)
    return {
        name: "not enough" if name in refused else "enough" if p <= level else "open"
        for name, p in p_values.items()
    }


def _cheapest(
    claims: Sequence[WorkloadClaims], tiers: Sequence[Candidate], standings: Mapping[str, Standing]
) -> Candidate | None:
    enough = [tier for tier in tiers if standings[tier.name] == "enough"]
    return offers.preferred(enough, claims[0].contest) if enough else None


def _reason(
    claims: Sequence[WorkloadClaims],
    tiers: Sequence[Candidate],
    standings: Mapping[str, Standing],
    tier: Candidate | None,
) -> str:
    """Why that tier, or none, and not one before it."""
    every = f"all {counted(len(claims), 'workload')} together"
    unanswered = [one for one in claims if one.obstacle]
    if tier is None and unanswered:
        names = listed([one.name for one in unanswered])
        return f"no tier can be proven enough for {every}: {names} has no answer"
    passed_over = tiers[: tiers.index(tier)] if tier else tiers
    why = "; ".join(_why_not(one.name, claims, standings) for one in passed_over)
    if tier is None:
        return f"no tier is proven enough for {every}: {why}"
    limits = "tier with the lowest declared limits"
    which = limits if claims[0].contest.no_prices else "cheapest tier"
    text = f"{tier.name} is the {which} proven enough for {every}"
    return f"{text}: {why}" if why else text


def _why_not(tier: str, claims: Sequence[WorkloadClaims], standings: Mapping[str, Standing]) -> str:
    refused = [one.name for one in claims if one.standing(tier) == "not enough"]
    if refused:
        return f"{tier} is not enough for {listed(refused)}"
    unsure = [one.name for one in claims if one.standing(tier) == "open"]
    if unsure:
        return f"whether {tier} is enough for {listed(unsure)} is open"
    return f"{tier} is proven enough for each, and not yet for all at one level"
