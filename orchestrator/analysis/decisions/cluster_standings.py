"""What is proven of the tiers of a cluster for all its workloads together. Pure.

A tier is enough for all workloads if it is for each. The claims of all tiers hold together at one
level, as those of one workload do."""

from collections.abc import Mapping, Sequence

from orchestrator.analysis.conclusions import Standing
from orchestrator.analysis.decisions.candidates import Candidate
from orchestrator.analysis.decisions.contests import Contest
from orchestrator.analysis.decisions.levels import ONE_SIDED
from orchestrator.analysis.decisions.no_contest import no_contest
from orchestrator.analysis.decisions.proof import standing_of, standings_of
from orchestrator.analysis.statistics import many_tests

# One more, and the level of their claims would be zero.
MOST_WORKLOADS = 19


def standings(
    contests: Sequence[Contest], tiers: Sequence[Candidate]
) -> dict[str, Standing]:
    """The standing of each tier for all workloads together."""
    p_values: dict[str, float] = {}
    refused: set[str] = set()
    for tier in tiers:
        # All claims must hold, whatever their number is. So the worst p-value is that of the joint
        # claim (intersection-union test, Berger 1982).
        p_values[tier.name] = max(_claim(tier.name, contest) for contest in contests)
        if refusing(tier.name, contests):
            refused.add(tier.name)
    if len(contests) > MOST_WORKLOADS:
        return _without_level(p_values, refused)
    claimed = [p_value for name, p_value in p_values.items() if name not in refused]
    # A refused tier makes no claim. By chance that leaves out 5 % of those at the margin in each
    # workload. The others have as much less of the level.
    alpha = ONE_SIDED * (1 - len(contests) * ONE_SIDED)
    level = many_tests.level_of_claims(claimed, alpha)
    return standings_of(p_values, level, refused)


def _without_level(
    p_values: Mapping[str, float], refused: set[str]
) -> dict[str, Standing]:
    """The standings if no level is left: refused tiers are not enough, the others cannot be proven
    enough."""
    standing_by_tier: dict[str, Standing] = {}
    for name in p_values:
        standing_by_tier[name] = standing_of(1.0, 0.0, refused=name in refused)
    return standing_by_tier


def _standing(tier: str, contest: Contest) -> Standing:
    """The standing of a tier in one workload; open if the workload has no answer."""
    # Proven in every run that it does not serve the rate, though it is compared with nothing.
    if tier in contest.circumstances.overload.always:
        return "not enough"
    if no_contest(contest):
        return "open"
    return contest.proof.standings.get(tier, "open")


def _claim(tier: str, contest: Contest) -> float:
    """The p-value of its not being enough for one workload."""
    if no_contest(contest):
        return 1.0
    return contest.proof.claims.get(tier, 1.0)


def refusing(tier: str, contests: Sequence[Contest]) -> list[str]:
    """The workloads for which it is proven not to be enough."""
    return with_standing(tier, contests, "not enough")


def with_standing(
    tier: str, contests: Sequence[Contest], standing: Standing
) -> list[str]:
    """The workloads in which that is proven of it, or is open."""
    workloads: list[str] = []
    for contest in contests:
        if _standing(tier, contest) == standing:
            workloads.append(contest.workload)
    return workloads
