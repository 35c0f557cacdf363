"""Whether a tier is on the front of price and performance, or another one beats it. Pure.

The rule is in docs/research/RULES.md. It is three-valued: nothing is said where intervals prove
neither."""

from orchestrator.analysis.decisions.candidates import Candidate
from orchestrator.analysis.decisions.contests import Contest
from orchestrator.analysis.decisions.levels import ONE_SIDED
from orchestrator.analysis.decisions.pairs import Comparison
from orchestrator.analysis.decisions.preference import cost_or_zero
from orchestrator.analysis.statistics import looks
from orchestrator.analysis.telemetry.causes.node_cause import NOT_THE_TIER


def is_on(candidate: Candidate, contest: Contest) -> bool | None:
    """True if each tier that costs no more is proven worse in a criterion; False if one of them
    beats it; None if neither is proven."""
    is_better_than_all = True
    for other in contest.others(candidate):
        # A dearer tier may be better: that takes nobody off the front.
        if cost_or_zero(other) > cost_or_zero(candidate):
            continue
        if _beats(other, candidate, contest):
            return False
        if not _proven(other, candidate, contest, better=False):
            is_better_than_all = False
    if is_better_than_all:
        return True
    return None


def _beats(other: Candidate, candidate: Candidate, contest: Contest) -> bool:
    """Whether `other`, which is as cheap, is proven within the margin of the candidate in every
    criterion and worse in none, and is cheaper or proven better in one."""
    comparisons = between(other, candidate, contest)
    # A tier that looks better than it is beats nothing. Nothing beats one that something else held
    # back.
    if not comparisons or contest.flattered(other) or candidate.cause in NOT_THE_TIER:
        return False
    if _proven(other, candidate, contest, better=False):
        return False
    if any(comparison.p_value > ONE_SIDED for comparison in comparisons):
        return False
    if cost_or_zero(other) < cost_or_zero(candidate):
        return True
    return _proven(other, candidate, contest, better=True)


def between(
    other: Candidate, candidate: Candidate, contest: Contest
) -> list[Comparison]:
    """The comparisons of `other` with the candidate, one for each criterion."""
    comparisons = contest.proof.comparisons[other.name]
    return [comparison for comparison in comparisons if comparison.other is candidate]


def _proven(
    other: Candidate, candidate: Candidate, contest: Contest, *, better: bool
) -> bool:
    """Whether `other` is proven better than the candidate in any criterion, else worse."""
    for comparison in between(other, candidate, contest):
        is_more = comparison.ratio.ratio > 1
        is_better = is_more != comparison.criterion.is_latency
        if is_better == better and _is_proven(comparison, contest):
            return True
    return False


def _is_proven(comparison: Comparison, contest: Contest) -> bool:
    """Whether there is a difference in this direction."""
    if comparison.ratio.p_value is None:
        return False
    tiers = len(contest.candidates)
    # Any criterion of any ordered pair would do, so the level is divided by all of them.
    family = len(contest.rules.criteria) * tiers * (tiers - 1)
    # The p-value is two-sided; the direction seen has half of it.
    (p_value,) = looks.at_look([comparison.ratio.p_value / 2], contest.rules.share)
    return p_value <= ONE_SIDED / family
