"""Why no tier is named, though tiers were compared, and what would settle it. Pure.

Why nothing could be compared is in `no_contest`."""

from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter

from orchestrator.analysis.conclusions import ReasonParts
from orchestrator.analysis.decisions import offers, what_it_takes
from orchestrator.analysis.decisions.candidates import Candidate
from orchestrator.analysis.decisions.contests import Contest
from orchestrator.analysis.decisions.pairs import Comparison
from orchestrator.analysis.decisions.refusals import (
    missed_clause,
    refusal,
    within_margins,
)
from orchestrator.analysis.decisions.what_it_takes import WhatItTakes
from orchestrator.analysis.telemetry.causes.node_cause import HARNESS_CAUSES
from orchestrator.texts.prose import listed


def why_none(contest: Contest) -> ReasonParts:
    """Why no tier is named: what is open of the first that would be preferred, or else how each is
    proven not to be enough."""
    unproven = contest.standing("open")
    # Open tiers come before those that are refused: one would be bought if it were enough.
    if unproven:
        return _why_open(unproven[0], contest)
    return _none_enough(contest)


# ------------------------------------------------------------------ none is enough


def _none_enough(contest: Contest) -> ReasonParts:
    if contest.rules.slo:
        misses = tuple(
            missed_clause(loser, contest).text for loser in contest.candidates
        )
        return ReasonParts(claims=("no tier meets the SLO",), proofs=misses)
    refusals = [refusal(loser, None, contest) for loser in contest.candidates]
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
    "this machine was the limit, so what the disk could do was not measured",
    by_repetitions=False,
)
NOTHING = WhatItTakes("", by_repetitions=False)


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
        return WhatItTakes(longer, by_repetitions=False)
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
    losers = offers.passed_over(candidate, contest, "not enough")
    missed = [missed_clause(loser, contest).text for loser in losers]
    clauses = listed([test.clause for test in open_tests])
    if all(test.is_lacking for test in open_tests):
        unproven = f"{clauses} is not proven, as not every run has it"
    else:
        unsure = listed([str(test) for test in open_tests])
        unproven = f"{unsure} is not proven"
    claim = f"whether {candidate.name} meets {unproven}"
    return ReasonParts(claims=(*missed, claim))
