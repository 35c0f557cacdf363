"""A decision in words: why a tier is named for a workload. Pure.

The rules are in `contests`, `proof`, `offers` and `decision`; nothing is decided here. Why a tier
is refused is in `refusals`, why none is named in `no_tier_named`, and what is said beside the
reason in `remarks`."""

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.analysis.conclusions import DecidingFigure, ReasonParts
from orchestrator.analysis.decisions import offers
from orchestrator.analysis.decisions.candidates import Candidate
from orchestrator.analysis.decisions.contests import Contest
from orchestrator.analysis.decisions.preference import declared_limits
from orchestrator.analysis.decisions.refusals import (
    Refusal,
    missed_clause,
    refusal,
    within_margins,
)
from orchestrator.texts.prose import listed

SERVED = "served rate"  # the criterion, where a tier is overloaded
NO_FIGURES = "no tier has figures"


@dataclass(frozen=True)
class Reason:
    """Why a tier is named.

    `criterion`: what decided, which is a criterion's title, a clause of the SLO, or empty.
    `decided_by`: the same as a record; None if no single figure decided.
    """

    parts: ReasonParts
    criterion: str = ""
    decided_by: DecidingFigure | None = None


def why(candidate: Candidate, contest: Contest) -> Reason:
    """Why it is named. What refused the last of the tiers before it decided."""
    if contest.rules.slo:
        return _why_with_slo(candidate, contest)
    return _why_within_margins(candidate, contest)


def _why_within_margins(candidate: Candidate, contest: Contest) -> Reason:
    losers = offers.passed_over(candidate, contest, "not enough")
    refusals = [refusal(loser, candidate, contest) for loser in losers]
    parts = ReasonParts(
        tier_is=_is(candidate, contest),
        proofs=tuple(refusal.text for refusal in refusals),
    )
    # Tiers that do not serve the rate are no candidates, so that no comparison refuses them.
    if contest.circumstances.overload.always and not refusals:
        return Reason(parts, SERVED)
    return _decided_by_the_last(refusals, parts)


def _why_with_slo(candidate: Candidate, contest: Contest) -> Reason:
    losers = offers.passed_over(candidate, contest, "not enough")
    misses = [missed_clause(loser, contest) for loser in losers]
    tests = contest.proof.objectives[candidate.name]
    kept = listed([str(test) for test in tests])
    parts = ReasonParts(
        tier_is=f"the {which(candidate, contest)} proven to meet {kept}",
        claims=tuple(miss.text for miss in misses),
    )
    return _decided_by_the_last(misses, parts)


def _decided_by_the_last(refusals: Sequence[Refusal], parts: ReasonParts) -> Reason:
    """A reason with what refused the last, which is the dearest tier passed over."""
    if not refusals:
        return Reason(parts)
    last = refusals[-1]
    return Reason(parts, last.criterion, last.figure)


def which(candidate: Candidate, contest: Contest) -> str:
    """What the tier named is: the cheapest, or the least, where prices are not known."""
    if not contest.no_prices:
        return "cheapest tier"
    if offers.by_price(candidate, contest):
        return "tier with the lowest known price"
    return "tier with the lowest declared limits"


def _is(candidate: Candidate, contest: Contest) -> str:
    """What the tier named is among those that are enough."""
    best = within_margins(contest, contest.rules.criteria)
    equal = _at_the_same_price(candidate, contest)
    if equal:
        return f"proven {best}, as {are(equal)} at the same price"
    if _alone_serves_the_rate(candidate, contest):
        circumstance = contest.circumstances.overload.circumstance
        return f"the only tier that serves the rate asked for{circumstance}"
    if contest.no_prices and not offers.passed_over(candidate, contest, "open"):
        return f"{best}{_as_others_are(candidate, contest)}"
    return f"the {which(candidate, contest)} proven {best}"


def _at_the_same_price(candidate: Candidate, contest: Contest) -> list[str]:
    """The other tiers that are enough and cost as much; none where prices are not known."""
    if contest.no_prices:
        return []
    others = offers.also_enough(candidate, contest)
    cost = candidate.monthly_cost
    return [other.name for other in others if other.monthly_cost == cost]


def _alone_serves_the_rate(candidate: Candidate, contest: Contest) -> bool:
    refused = offers.passed_over(candidate, contest, "not enough")
    alone = len(contest.candidates) == 1
    return bool(contest.circumstances.overload.always) and alone and not refused


def _as_others_are(candidate: Candidate, contest: Contest) -> str:
    """What puts it before the others that are enough, where not all have a price."""
    others = offers.also_enough(candidate, contest)
    if not others:
        return ""
    least = "declares the lowest limits of them"
    if offers.by_price(candidate, contest):
        least = "of those with a price costs least"
    elif all(_declares_as_much(candidate, other) for other in others):
        least = "declares the same limits"
    return f", as {are([other.name for other in others])}, and {least}"


def _declares_as_much(candidate: Candidate, other: Candidate) -> bool:
    """Whether neither is the lesser disk by what it declares, which puts tiers in an order."""
    return declared_limits(candidate) == declared_limits(other)


def are(names: Sequence[str]) -> str:
    """`is premium`, `are premium and ultra`."""
    if len(names) > 1:
        return f"are {listed(names)}"
    return f"is {listed(names)}"
