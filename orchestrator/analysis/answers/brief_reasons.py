"""Why a tier is named, or none, in one line. Pure."""

from collections.abc import Iterator
from typing import NamedTuple

from orchestrator.analysis.answers.asked import Asked
from orchestrator.analysis.answers.neighbour_tiers import (
    against_cheaper,
    against_dearer,
)
from orchestrator.analysis.answers.phrases import money
from orchestrator.analysis.answers.record import Answer, PartAnswer
from orchestrator.analysis.conclusions import (
    ClusterDecision,
    Decision,
    Offer,
)
from orchestrator.design.slo import format_objective
from orchestrator.metrics import METRICS
from orchestrator.model import Objective
from orchestrator.texts import prose

_SINGLE_RUNS = (
    "Each tier was measured once: one run has no interval, so no difference is proven"
)


class Why(NamedTuple):
    """The line, and those of the parts' `claims` that it has."""

    text: str
    claims: tuple[str, ...] = ()


def why(asked: Asked, answer: Answer) -> Why:
    purchase = answer.purchase
    texts: list[str] = []
    if purchase is not None:
        texts += against_cheaper(asked, purchase.tier)
        # Where nothing cheaper misses the SLO, nothing else says what it asks for.
        if not texts:
            texts += _clauses_met(asked, answer, purchase.tier)
        texts += against_dearer(asked, purchase.tier)
    text = "; ".join(texts) or _nearest(asked, answer)
    if text:
        return Why(text)
    return _reason(asked, answer)


def _clauses_met(asked: Asked, answer: Answer, tier: str) -> Iterator[str]:
    """`premium meets p99 < 270 ms (260 ms) and nopm > 8000 (8,380 NOPM)`; nothing without an SLO,
    and for several workloads, whose cards say it."""
    if len(answer.parts) > 1:
        return
    decision = asked.verdict.decision(answer.parts[0].subject)
    if decision is None:
        return
    offer = decision.offer(tier)
    if offer is None:
        return
    texts: list[str] = []
    for result in offer.slo:
        texts.append(f"{result.objective} ({result.mean or result.measured})")
    if texts:
        yield f"{tier} meets {prose.listed(texts)}"


def _nearest(asked: Asked, answer: Answer) -> str:
    """Which of several tiers that all miss an SLO comes nearest to the clause that all of them
    miss.

    For example `ultra comes nearest: 469 transactions/s (461 to 477), for 780.00 USD a month`.
    Empty if there is no such tier.
    """
    for part in answer.parts:
        decision = asked.verdict.decision(part.subject)
        if decision is None or not asked.is_met_by_none(part.subject):
            continue
        for clause in asked.clauses(part.subject):
            offer = _nearest_to(decision, clause)
            if offer is None:
                continue
            for result in offer.slo:
                if result.objective == format_objective(clause):
                    price = _for_price(offer)
                    return f"{offer.tier} comes nearest: {result.measured}{price}"
    return ""


def _nearest_to(decision: Decision, clause: Objective) -> Offer | None:
    """The offer that comes nearest to this clause.

    None if one of the tiers does not miss the clause, or has no figure of it.
    """
    values: dict[str, float] = {}
    for offer in decision.offers:
        for result in offer.slo:
            is_missed = result.word == "missed" and result.value is not None
            if result.objective == format_objective(clause) and is_missed:
                values[offer.tier] = result.value or 0.0
    # One tier is the nearest only if all have figures and miss the clause.
    if len(values) < len(decision.offers):
        return None
    # Below an upper limit the least figure comes nearest.
    best = max(values.values())
    if METRICS[clause.metric].less_is_better:
        best = min(values.values())
    for offer in decision.offers:
        if values[offer.tier] == best:
            return offer
    return None


def _for_price(offer: Offer) -> str:
    if offer.monthly_cost is None:
        return ""
    return f", for {money(offer.monthly_cost, offer.currency)} a month"


def _reason(asked: Asked, answer: Answer) -> Why:
    """The reason of the whole, or of the first part that is open, in one sentence."""
    if is_of_single_runs(asked, answer):
        return Why(_SINGLE_RUNS)
    part = _first_in_question(answer)
    decision: Decision | ClusterDecision | None = asked.verdict.decision(part.subject)
    if part is answer.together:
        decision = asked.verdict.cluster
    # Without a decision, what the part says is all that is known.
    if decision is None:
        return Why(part.why[0], part.claims)
    parts = decision.reason_parts
    # The first line says already that no tier is enough for all.
    if part is answer.together and part.tier is None and parts.proofs:
        return Why("; ".join(parts.proofs))
    # What settles it stands in the line below, "How sure".
    return Why(parts.in_words(decision.tier), parts.claimed)


def is_of_single_runs(asked: Asked, answer: Answer) -> bool:
    """Whether tiers were compared by one value each, so that nothing has an interval."""
    if answer.kind != "comparison" or answer.purchase is not None:
        return False
    # What one tier lost says nothing of the others.
    if any(cell.n > 1 for cell in asked.verdict.cells):
        return False
    return bool(asked.verdict.deltas)


def _first_in_question(answer: Answer) -> PartAnswer:
    """The answer for all workloads.

    If nothing is to be bought, the first part for which no tier is named.
    """
    if answer.purchase is None:
        for part in answer.all_parts:
            if part.tier is None:
                return part
    return answer.all_parts[0]


def settled_by(asked: Asked, subject: str) -> str:
    """What would decide a workload that is open; empty where nothing is known of that."""
    decision = asked.verdict.decision(subject)
    if decision is None:
        return ""
    return decision.settled_by
