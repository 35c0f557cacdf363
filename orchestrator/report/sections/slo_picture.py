"""What an SLO is about, drawn: the figure that a clause limits, of every tier, and the limit.

Figures are those by which the clause was judged, of its own type of transactions."""

from collections.abc import Iterator

from orchestrator import metrics
from orchestrator.analysis.conclusions import Decision, ObjectiveResult, Offer
from orchestrator.design.slo import format_objective
from orchestrator.model import Objective, Workload
from orchestrator.report import wording
from orchestrator.report.sections import tier_rows
from orchestrator.report.sections.tier_rows import RowFigure, Stretch, TierRow, tier_row

_MS_PER_S = 1e3
_TYPES = {metrics.NEW_ORDER: "New-Order"}


def clause_to_draw(load: Workload, decision: Decision) -> Objective | None:
    """The clause that ruled tiers out; else the one that a tier comes nearest to, in proportion.

    None without an SLO, and where no tier has the figure of any clause.
    """
    drawable: list[Objective] = []
    for clause in load.slo:
        if list(_measured(clause, decision)):
            drawable.append(clause)
    if not drawable:
        return None
    by = decision.decided_by
    for clause in drawable:
        if by is not None and (by.metric, by.scope) == (clause.metric, clause.scope):
            return clause
    nearest = drawable[0]
    for clause in drawable[1:]:
        if _room_left(clause, decision) < _room_left(nearest, decision):
            nearest = clause
    return nearest


def _measured(
    clause: Objective, decision: Decision
) -> Iterator[tuple[Offer, ObjectiveResult]]:
    """Every tier with a figure of the clause, from cheap to dear."""
    words = format_objective(clause)
    for offer in decision.offers:
        for result in offer.slo:
            if result.objective == words and result.value is not None:
                yield offer, result


def _room_left(clause: Objective, decision: Decision) -> float:
    """How far the tier that fares worst is from the limit, as a share of the limit; below 0 if it
    is on the wrong side."""
    room: list[float] = []
    # No failure at all may be asked for, of which nothing is a share.
    limit = clause.limit or 1.0
    for _, result in _measured(clause, decision):
        share = (result.value or 0.0) / limit
        if metrics.METRICS[clause.metric].less_is_better:
            room.append(1 - share)
        else:
            room.append(share - 1)
    return min(room)


def axis(clause: Objective) -> str:
    """`NOPM`, `transactions/s`, `New-Order p99 latency, ms`."""
    title = metrics.METRICS[clause.metric].title
    words = wording.METRICS.get(clause.metric, title)
    if metrics.METRICS[clause.metric].unit == "s":
        words = f"{words}, ms"
    if clause.scope == "all":
        return words
    transactions = _TYPES.get(clause.scope, clause.scope)
    return f"{transactions} {words[:1].lower()}{words[1:]}"


def rows(clause: Objective, decision: Decision) -> Iterator[TierRow]:
    """A dot for each tier, with the interval by which the clause was judged."""
    for offer, result in _measured(clause, decision):
        value = result.value or 0.0
        low = value
        high = value
        if result.ci_low is not None and result.ci_high is not None:
            low = max(result.ci_low, 0.0)
            high = result.ci_high
        in_words = metrics.value_in_words(clause.metric, value)
        yield tier_row(offer, RowFigure(value, low, high), _factor(clause), in_words)


def _factor(clause: Objective) -> float:
    if metrics.METRICS[clause.metric].unit == "s":
        return _MS_PER_S
    return 1.0


def asked_for(clause: Objective) -> Stretch:
    """The stretch in which the clause is met."""
    words = f"Shaded: {format_objective(clause)}."
    return tier_rows.asked_for(clause, _factor(clause), words)
