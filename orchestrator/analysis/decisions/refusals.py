"""Why a tier is proven not to be enough, and how what is asked of tiers reads. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.analysis.conclusions import DecidingFigure
from orchestrator.analysis.decisions.candidates import Candidate, Criterion
from orchestrator.analysis.decisions.contests import Contest
from orchestrator.design.slo import format_objective
from orchestrator.texts.prose import listed
from orchestrator.units import format_quantity, gathered


@dataclass(frozen=True)
class Refusal:
    """Why a tier is not enough. `criterion` and `figure`: as of `Reason`."""

    criterion: str
    text: str
    figure: DecidingFigure


def refusal(loser: Candidate, winner: Candidate | None, contest: Contest) -> Refusal:
    """In which figure a tier is proven not to be enough, and how.

    The proof is a comparison outside the margin, with the winner if there is one, or a share of
    failed transactions that is too high.
    """
    comparisons = contest.proof.comparisons[loser.name]
    outside = [comparison for comparison in comparisons if comparison.outside]
    if not outside:
        return missed_clause(loser, contest)
    shown = outside[0]
    # The tier that is bought instead is the one that a reader compares it with.
    for comparison in outside:
        if comparison.other is winner:
            shown = comparison
            break
    criterion = shown.criterion
    figure = DecidingFigure(criterion.metric, criterion.scope, is_clause=False)
    return Refusal(criterion.title, str(shown), figure)


def missed_clause(loser: Candidate, contest: Contest) -> Refusal:
    """In which figure a tier is proven not to be enough: the first objective that it misses."""
    # The clauses of the SLO first, because they are what was asked for.
    tests = (*contest.proof.objectives[loser.name], contest.proof.failing[loser.name])
    missed = next(test for test in tests if test.missed)
    clause = missed.objective
    figure = DecidingFigure(clause.metric, clause.scope, is_clause=True)
    return Refusal(format_objective(clause), f"{loser.name} misses {missed}", figure)


def within_margins(contest: Contest, criteria: Sequence[Criterion]) -> str:
    """`within 5 % of the best throughput and within 20 % of the best p99 latency`.

    `of the best measured throughput` where a tier left no figures, because that may be better.
    """
    best = "best"
    if contest.absent:
        best = "best measured"
    titles = gathered(
        (contest.rules.margin_of(criterion), criterion.title) for criterion in criteria
    )
    parts: list[str] = []
    for margin_pct, margin_titles in titles.items():
        margin = format_quantity(margin_pct, "%")
        parts.append(f"within {margin} of the {best} {listed(margin_titles)}")
    return " and ".join(parts)
