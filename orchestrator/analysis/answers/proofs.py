"""How sure a decision is, and whether a tier meets the SLO and each clause of it. Pure."""

from collections.abc import Sequence
from dataclasses import replace

from orchestrator.analysis.answers.record import ClauseWord, ProofWord, SloClause
from orchestrator.analysis.conclusions import Decision, ObjectiveResult, Standing


def proof_of(decision: Decision) -> ProofWord:
    """How sure a decision is."""
    if decision.tier is not None and decision.cheaper_open:
        return "proven, cheaper open"
    if decision.tier is not None:
        return "proven"
    if decision.is_open:
        return "open"
    return "not decided"


def slo_word(decision: Decision, tier: str) -> ClauseWord:
    """Whether a tier meets the SLO as a whole."""
    if decision.tier == tier:
        return "met"
    if tier in decision.missed:
        return "missed"
    # The clauses do not decide: each may be met and the SLO missed. Most transactions may fail, for
    # example.
    standing = _standing(decision, tier)
    if standing == "enough":
        return "met"
    if standing == "not enough":
        return "missed"
    return "open"


def _standing(decision: Decision, tier: str) -> Standing:
    offer = decision.offer(tier)
    if offer is None:
        return "open"
    return offer.standing


def clauses(decision: Decision, tier: str | None) -> tuple[SloClause, ...]:
    """The clauses of the decision's SLO, and whether this tier met each of them."""
    if tier is None:
        return tuple(SloClause(objective) for objective in decision.slo)
    offer = decision.offer(tier)
    if offer is not None and offer.slo:
        results = tuple(_clause(result) for result in offer.slo)
        return _as_decided(results, offer.standing)
    return tuple(
        SloClause(objective, _clause_of_a_sweep(decision, tier, objective))
        for objective in decision.slo
    )


def _as_decided(
    results: Sequence[SloClause], standing: Standing
) -> tuple[SloClause, ...]:
    """The clauses of a tier, in agreement with its standing."""
    if standing != "open":
        return tuple(results)
    # All its clauses are met and it is open all the same. Its runs are unfit to show that.
    unfit = all(result.word == "met" for result in results)
    decided: list[SloClause] = []
    for result in results:
        # No clause of an open tier is called missed: the machine may have been the limit.
        if unfit or result.word == "missed":
            result = replace(result, word="open")
        decided.append(result)
    return tuple(decided)


def _clause_of_a_sweep(decision: Decision, tier: str, objective: str) -> ClauseWord:
    """What is proven of a clause for a tier of a sweep, whose decision has no offers."""
    # The tier that is proven for a sweep meets all clauses at its loads.
    if decision.tier == tier:
        return "met"
    if decision.missed.get(tier) == objective:
        return "missed"
    return "open"


def _clause(result: ObjectiveResult) -> SloClause:
    return SloClause(
        objective=result.objective,
        word=result.word,
        value=result.value,
        ci_low=result.ci_low,
        ci_high=result.ci_high,
    )
