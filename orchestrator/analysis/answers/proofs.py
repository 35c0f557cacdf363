"""How sure a decision is, and what became of each clause of its SLO. Pure."""

from orchestrator.analysis.answers.record import ProofWord, SloClause
from orchestrator.analysis.conclusions import Decision, ObjectiveResult


def proof_of(decision: Decision) -> ProofWord:
    """How sure a decision is."""
    if decision.tier is not None and decision.cheaper_open:
        return "proven, cheaper open"
    if decision.tier is not None:
        return "proven"
    if decision.is_open:
        return "open"
    return "not decided"


def clauses(decision: Decision, tier: str | None) -> tuple[SloClause, ...]:
    """Of its SLO, with what this tier did."""
    for offer in decision.offers:
        if offer.tier == tier and offer.slo:
            return tuple(_clause(result) for result in offer.slo)
    return tuple(SloClause(objective) for objective in decision.slo)


def _clause(result: ObjectiveResult) -> SloClause:
    return SloClause(
        objective=result.objective,
        word=result.word,
        value=result.value,
        ci_low=result.ci_low,
        ci_high=result.ci_high,
    )
