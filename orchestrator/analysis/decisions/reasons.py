"""A decision in words: why a tier is named for a workload, or none. Pure.

The rules are in `contests`, `offers` and `decision`; nothing is decided here. What is said beside
the reason is in `remarks`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from orchestrator.analysis.conclusions import DecidingFigure, ReasonParts
from orchestrator.analysis.decisions import offers, what_it_takes
from orchestrator.analysis.decisions.candidates import Candidate, Criterion
from orchestrator.analysis.decisions.contests import Contest
from orchestrator.analysis.decisions.pairs import Comparison
from orchestrator.analysis.decisions.preference import declared_limits
from orchestrator.analysis.decisions.what_it_takes import WhatItTakes
from orchestrator.analysis.telemetry.causes.node_cause import HARNESS_CAUSES
from orchestrator.design.slo import format_objective
from orchestrator.units import format_quantity, gathered, listed

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


@dataclass(frozen=True)
class _Refusal:
    """Why a tier is not enough. `criterion` and `figure`: as of `Reason`."""

    criterion: str
    text: str
    figure: DecidingFigure


def why_none(contest: Contest) -> ReasonParts:
    """Why no tier is named: what is open of the first that would be preferred, or else how each is
    proven not to be enough."""
    unproven = contest.standing("open")
    # Open tiers come before those that are refused: one would be bought if it were enough.
    if unproven:
        return _why_open(unproven[0], contest)
    return _none_enough(contest)


# ------------------------------------------------------------------ a tier is named


def why(candidate: Candidate, contest: Contest) -> Reason:
    """Why it is named. What refused the last of the tiers before it decided."""
    if contest.rules.slo:
        return _why_with_slo(candidate, contest)
    return _why_within_margins(candidate, contest)


def _why_within_margins(candidate: Candidate, contest: Contest) -> Reason:
    losers = offers.passed_over(candidate, contest, "not enough")
    refusals = [_refusal(loser, candidate, contest) for loser in losers]
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
    misses = [_missed(loser, contest) for loser in losers]
    tests = contest.proof.objectives[candidate.name]
    kept = listed([str(test) for test in tests])
    parts = ReasonParts(
        tier_is=f"the {which(candidate, contest)} proven to meet {kept}",
        claims=tuple(miss.text for miss in misses),
    )
    return _decided_by_the_last(misses, parts)


def _decided_by_the_last(refusals: Sequence[_Refusal], parts: ReasonParts) -> Reason:
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
        return "the only tier that serves the rate asked for"
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


# ------------------------------------------------------------------ a tier is refused


def _refusal(loser: Candidate, winner: Candidate | None, contest: Contest) -> _Refusal:
    """In which figure a tier is proven not to be enough, and how.

    The proof is a comparison outside the margin, with the winner if there is one, or a share of
    failed transactions that is too high.
    """
    comparisons = contest.proof.comparisons[loser.name]
    outside = [comparison for comparison in comparisons if comparison.outside]
    if not outside:
        return _missed(loser, contest)
    shown = outside[0]
    # The tier that is bought instead is the one that a reader compares it with.
    for comparison in outside:
        if comparison.other is winner:
            shown = comparison
            break
    criterion = shown.criterion
    figure = DecidingFigure(criterion.metric, criterion.scope, is_clause=False)
    return _Refusal(criterion.title, str(shown), figure)


def _missed(loser: Candidate, contest: Contest) -> _Refusal:
    """In which figure a tier is proven not to be enough: the first objective that it misses."""
    # The clauses of the SLO first, because they are what was asked for.
    tests = (*contest.proof.objectives[loser.name], contest.proof.failing[loser.name])
    missed = next(test for test in tests if test.missed)
    clause = missed.objective
    figure = DecidingFigure(clause.metric, clause.scope, is_clause=True)
    return _Refusal(format_objective(clause), f"{loser.name} misses {missed}", figure)


def _none_enough(contest: Contest) -> ReasonParts:
    if contest.rules.slo:
        misses = tuple(_missed(loser, contest).text for loser in contest.candidates)
        return ReasonParts(claims=("no tier meets the SLO",), proofs=misses)
    refusals = [_refusal(loser, None, contest) for loser in contest.candidates]
    worse = tuple(refusal.text for refusal in refusals)
    # A tier whose transactions fail need not be worse than another one.
    if any(test.missed for test in contest.proof.failing.values()):
        return ReasonParts(claims=("no tier is enough",), proofs=worse)
    best = within_margins(contest, contest.rules.criteria)
    claim = f"no tier is {best}, each being worse than another"
    return ReasonParts(claims=(claim,), proofs=worse)


# ------------------------------------------------------------------ a tier is open


def _why_open(candidate: Candidate, contest: Contest) -> ReasonParts:
    """Says what is proven of a tier, what is not, and by how much it misses."""
    name = candidate.name
    barred = contest.barred(candidate)
    if barred:
        claim = f"whether {name} is enough cannot be told"
        return ReasonParts(claims=(claim,), proofs=(barred,))
    if contest.rules.slo:
        return _open_slo(candidate, contest)
    unsure = _unsure(candidate, contest)
    proofs = (_in_doubt(_worst(unsure)),)
    unproven = list(dict.fromkeys(comparison.criterion for comparison in unsure))
    proven = [
        criterion for criterion in contest.rules.criteria if criterion not in unproven
    ]
    if not proven:
        best = within_margins(contest, unproven)
        claim = f"whether {name} is {best} is not proven"
        return ReasonParts(claims=(claim,), proofs=proofs)
    titles = listed([criterion.title for criterion in unproven])
    best = within_margins(contest, proven)
    claims = (
        f"{name} is {best}",
        f"whether also of the best {titles} is not proven",
    )
    return ReasonParts(claims=claims, proofs=proofs)


def _worst(unsure: Sequence[Comparison]) -> Comparison:
    """The comparison furthest from a proof, in the first criterion that is not proven."""
    first = unsure[0].criterion
    first_comparisons = [
        comparison for comparison in unsure if comparison.criterion is first
    ]
    return max(first_comparisons, key=attrgetter("p_value"))


def _in_doubt(comparison: Comparison) -> str:
    """A comparison that alone would refuse the tier, among several may do so by chance."""
    if comparison.outside:
        return f"{comparison}, as one of its comparisons may be by chance"
    return str(comparison)


_HELD_BACK = WhatItTakes(
    "this machine was the limit, so what the disk could do was not measured"
)
NOTHING = WhatItTakes("")


def settled_by(candidate: Candidate, contest: Contest) -> WhatItTakes:
    """What would settle an open tier, and what is at stake; empty if repetitions do not."""
    # What bars a tier stays, however often its runs are repeated.
    if contest.barred(candidate):
        return NOTHING
    # However often this machine is the limit, the disk's part in it stays unknown.
    if contest.rules.slo and candidate.cause in HARNESS_CAUSES:
        return _HELD_BACK
    if contest.rules.slo:
        takes = _furthest_clause(candidate, contest)
    else:
        takes = what_it_takes.of_comparison(
            _worst(_unsure(candidate, contest)), contest
        )
    stake = what_it_takes.at_stake(candidate, contest)
    text = "; ".join(text for text in (takes.text, stake) if text)
    return replace(takes, text=text)


def _furthest_clause(candidate: Candidate, contest: Contest) -> WhatItTakes:
    """What is said of the clause that is furthest from being met."""
    tests = contest.proof.objectives[candidate.name]
    if any(test.is_lacking for test in tests):
        longer = "measure for longer, so that every run has the figure"
        return WhatItTakes(longer)
    # All clauses must hold, so the furthest from a proof tells what it takes.
    worst = max(tests, key=attrgetter("p_value"))
    return what_it_takes.of_objective(worst, candidate, contest)


def _unsure(candidate: Candidate, contest: Contest) -> list[Comparison]:
    """The comparisons that are not proven to be within the margin."""
    comparisons = contest.proof.comparisons[candidate.name]
    level = contest.proof.level
    return [comparison for comparison in comparisons if comparison.p_value > level]


def _open_slo(candidate: Candidate, contest: Contest) -> ReasonParts:
    tests = contest.proof.objectives[candidate.name]
    level = contest.proof.level
    open_tests = [test for test in tests if test.p_value > level]
    unsure = listed([str(test) for test in open_tests])
    losers = offers.passed_over(candidate, contest, "not enough")
    missed = [_missed(loser, contest).text for loser in losers]
    unproven = f"whether {candidate.name} meets {unsure} is not proven"
    return ReasonParts(claims=(*missed, unproven))


# ------------------------------------------------------------------ what is asked of a tier


def within_margins(contest: Contest, criteria: Sequence[Criterion]) -> str:
    """`within 5 % of the best throughput and within 20 % of the best p99 latency`."""
    titles = gathered(
        (contest.rules.margin_of(criterion), criterion.title) for criterion in criteria
    )
    parts: list[str] = []
    for margin_pct, margin_titles in titles.items():
        margin = format_quantity(margin_pct, "%")
        parts.append(f"within {margin} of the best {listed(margin_titles)}")
    return " and ".join(parts)
