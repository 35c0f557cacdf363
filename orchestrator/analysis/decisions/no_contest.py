"""Why a contest can have no answer, before any figure of it is looked at. Pure."""

from collections.abc import Sequence

from orchestrator.analysis.conclusions import ReasonParts
from orchestrator.analysis.decisions.contests import Contest
from orchestrator.analysis.decisions.reasons import NO_FIGURES
from orchestrator.analysis.telemetry.causes.node_cause import HARNESS_CAUSES
from orchestrator.texts.prose import listed


def no_contest(contest: Contest) -> ReasonParts | None:
    """Why nothing can be decided; None if something can be."""
    if contest.circumstances.obstacle:
        return _because(contest.circumstances.obstacle)
    names = [candidate.name for candidate in contest.candidates]
    not_served = contest.circumstances.overload.obstacle(names)
    if not_served:
        return _because(not_served)
    if not names:
        return _because(NO_FIGURES)
    # An SLO is an absolute limit: it needs no rival, and no figure of one.
    if contest.rules.slo:
        return _without_intervals(contest)
    return _without_rivals(contest) or _without_margin(contest)


def _because(claim: str, *proofs: str) -> ReasonParts:
    return ReasonParts(claims=(claim,), proofs=proofs)


def _without_intervals(contest: Contest) -> ReasonParts | None:
    """An SLO can be answered by each tier that has an interval."""
    single = of_one_repetition(contest)
    if len(single) < len(contest.candidates):
        return None
    return _one_repetition(single)


def _without_rivals(contest: Contest) -> ReasonParts | None:
    """A single tier is compared with nothing, unless the others do not serve the rate."""
    if len(contest.candidates) > 1 or contest.circumstances.overload.always:
        return None
    return _because(f"only {contest.candidates[0].name} has figures")


def _without_margin(contest: Contest) -> ReasonParts | None:
    """Why no tier can be held against the others."""
    single = of_one_repetition(contest)
    if single:
        return _one_repetition(single)
    # One tier below the machine's limit is enough to know a disk's; none of them here is.
    if all(tier.cause in HARNESS_CAUSES for tier in contest.candidates):
        return _because(
            "the machine or its load generator was the limit on every tier, "
            "so no disk's limit was measured"
        )
    if not contest.rules.criteria:
        return _because(
            "no figure was measured in every run, so there is nothing to compare"
        )
    return None


def of_one_repetition(contest: Contest) -> list[str]:
    """The tiers that lack an interval, having one value of a figure."""
    names: list[str] = []
    for candidate in contest.candidates:
        counts = [len(figures) for figures in candidate.values.values()]
        # A tier without any figure lacks no interval of one.
        if min(counts, default=2) < 2:
            names.append(candidate.name)
    return names


def _one_repetition(tiers: Sequence[str]) -> ReasonParts:
    no_interval = f"one repetition of {listed(tiers)} gives no interval"
    return _because(no_interval, "at least 2 are needed")
