"""Why a tier is named, or none, in one line: what the neighbours in price lack or bring. Pure."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from orchestrator import units
from orchestrator.analysis.answers.asked import Asked
from orchestrator.analysis.answers.headline_figures import LATENCY_AVG, LATENCY_P99
from orchestrator.analysis.answers.phrases import money
from orchestrator.analysis.answers.record import Answer, PartAnswer
from orchestrator.analysis.conclusions import (
    ClusterDecision,
    DecidingFigure,
    Decision,
    Offer,
)
from orchestrator.design import varied_workloads
from orchestrator.design.slo import format_objective
from orchestrator.metrics import METRICS, value_in_words
from orchestrator.model import Objective

# A tier is called faster only from here on: it is the usual margin.
_FASTER_FROM = 1.05
_SINGLE_RUNS = (
    "Each tier was measured once: one run has no interval, so no difference is proven"
)
_LATENCIES = {LATENCY_AVG: "average latency", LATENCY_P99: "p99 latency"}


def why(asked: Asked, answer: Answer) -> str:
    purchase = answer.purchase
    texts: list[str] = []
    if purchase is not None:
        texts += _against_cheaper(asked, purchase.tier)
        # Where nothing cheaper misses the SLO, nothing else says what it asks for.
        if not texts:
            texts += _clauses_met(asked, answer, purchase.tier)
        texts += _against_dearer(asked, purchase.tier)
    if texts:
        return "; ".join(texts)
    return _nearest(asked, answer) or _reason(asked, answer)


def _clauses_met(asked: Asked, answer: Answer, tier: str) -> Iterator[str]:
    """`premium meets p99 < 270 ms (260 ms) and nopm > 8000 (8,380 NOPM)`; nothing without an SLO,
    and for several workloads, whose cards say it."""
    if len(answer.parts) > 1:
        return
    decision = asked.decision(answer.parts[0].subject)
    if decision is None:
        return
    texts: list[str] = []
    for offer in decision.offers:
        if offer.tier == tier:
            for result in offer.slo:
                texts.append(f"{result.objective} ({result.mean or result.measured})")
    if texts:
        yield f"{tier} meets {units.listed(texts)}"


def _nearest(asked: Asked, answer: Answer) -> str:
    """Which of several tiers that all miss an SLO comes nearest to the clause that all of them
    miss.

    For example `ultra comes nearest: 469 transactions/s (461 to 477), for 780.00 USD a month`.
    Empty if there is no such tier.
    """
    for part in answer.parts:
        decision = asked.decision(part.subject)
        if decision is None or not asked.is_met_by_none(part.subject):
            continue
        for clause in _clauses(asked, part.subject):
            offer = _nearest_to(decision, clause)
            if offer is None:
                continue
            for result in offer.slo:
                if result.objective == format_objective(clause):
                    price = _for_price(offer)
                    return f"{offer.tier} comes nearest: {result.measured}{price}"
    return ""


def _clauses(asked: Asked, subject: str) -> tuple[Objective, ...]:
    """The SLO of a workload; none of the loads of a sweep, which has no offers."""
    for load in asked.campaign.plan.workloads:
        if load.name == subject:
            return load.slo
    return ()


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
    if METRICS[clause.metric].direction == "lower":
        best = min(values.values())
    for offer in decision.offers:
        if values[offer.tier] == best:
            return offer
    return None


def _for_price(offer: Offer) -> str:
    if offer.monthly_cost is None:
        return ""
    return f", for {money(offer.monthly_cost, offer.currency)} a month"


def _reason(asked: Asked, answer: Answer) -> str:
    """The reason of the whole, or of the first part that is open, in one sentence."""
    if is_of_single_runs(asked, answer):
        return _SINGLE_RUNS
    part = _first_in_question(answer)
    decision: Decision | ClusterDecision | None = asked.decision(part.subject)
    if part is answer.together:
        decision = asked.verdict.cluster
    # Without a decision, what the part says is all that is known.
    if decision is None:
        return part.why[0]
    parts = decision.reason_parts
    # The first line says already that no tier is enough for all.
    if part is answer.together and part.tier is None and parts.proofs:
        return "; ".join(parts.proofs)
    # What settles it stands in the line below, "How sure".
    return parts.in_words(decision.tier)


def is_of_single_runs(asked: Asked, answer: Answer) -> bool:
    """Whether tiers were compared by one value each, so that nothing has an interval."""
    if answer.kind != "comparison" or answer.purchase is not None:
        return False
    deltas = asked.verdict.deltas
    for delta in deltas:
        if delta.ci_low_pct is not None:
            return False
    return bool(deltas)


def _first_in_question(answer: Answer) -> PartAnswer:
    """The answer for all workloads.

    If nothing is to be bought, the first part for which no tier is named.
    """
    if answer.purchase is None:
        for part in answer.all_parts:
            if part.tier is None:
                return part
    return answer.all_parts[0]


def _against_cheaper(asked: Asked, tier: str) -> Iterator[str]:
    """What is proven against the next cheaper tier: it misses a clause, or is the slower one."""
    offer = _neighbour(asked, tier, cheaper=True)
    if offer is None:
        return
    # An SLO that is missed rules a tier out, however fast it is.
    missed = _clause_missed(asked, offer.tier)
    if missed:
        yield f"{offer.tier} costs less and misses {missed}"
        return
    advantages: list[_Advantage] = []
    for decision in asked.verdict.decisions:
        if _is_refused(decision, offer.tier):
            advantages += _advantages(asked, tier, offer.tier, decision)
    # The workload that shows the difference best is named.
    if advantages:
        largest = max(advantages, key=_times)
        yield f"{largest.in_words()} {offer.tier}{_for_more(asked, tier, offer)}"
        return
    for decision in asked.verdict.decisions:
        # A criterion with a limit is a clause: too many transactions of the tier fail.
        if _is_refused(decision, offer.tier) and _is_upper_limit(decision.decided_by):
            yield f"{offer.tier} costs less and misses {decision.criterion}"
            return


def _for_more(asked: Asked, tier: str, cheaper: Offer) -> str:
    """`, for 525.00 USD a month more`."""
    named = _offer(asked, tier)
    if named is None or named.monthly_cost is None or cheaper.monthly_cost is None:
        return ""
    more = named.monthly_cost - cheaper.monthly_cost
    return f", for {money(more, named.currency)} a month more"


def _against_dearer(asked: Asked, tier: str) -> Iterator[str]:
    """What the next dearer tier that is enough too brings: no more than the margin."""
    dearer = _neighbour(asked, tier, cheaper=False)
    named = _offer(asked, tier)
    if dearer is None or not dearer.monthly_cost:
        return
    if named is None or not named.monthly_cost:
        return
    times = units.format_number(dearer.monthly_cost / named.monthly_cost)
    # The dearer tier may be many times as fast, but with an SLO nobody asked for that.
    if _has_slo(asked):
        yield f"{dearer.tier} is not needed for {times} times the price"
        return
    plan = asked.campaign.plan
    margin = units.format_quantity(plan.margin_pct, "%")
    where = ""
    if plan.weights:
        where = " by the weighted mean"
    # Enough means proven within the margin of the best, so no tier is faster by more.
    yield f"{dearer.tier} is at most {margin} faster{where} for {times} times the price"


def _has_slo(asked: Asked) -> bool:
    """Whether at least one workload has an SLO."""
    clauses: list[str] = []
    for decision in asked.verdict.decisions:
        clauses += decision.slo
    return bool(clauses)


def _neighbour(asked: Asked, tier: str, *, cheaper: bool) -> Offer | None:
    """The tier that is next in price, as the first decision that has both offers it."""
    for decision in asked.verdict.decisions:
        named = _offer_in(decision, tier)
        if named is None:
            continue
        nearest: Offer | None = None
        least_away = math.inf
        # Offers stand by price only where all prices can be compared, so each is looked at.
        for other in decision.offers:
            if not _has_all_figures(asked, other):
                continue
            away = _dearer_by(other, named)
            if cheaper:
                away = -away
            if 0 < away < least_away:
                nearest = other
                least_away = away
        if nearest is not None:
            return nearest
    return None


def _dearer_by(offer: Offer, other: Offer) -> float:
    """By how much more it costs in a month. 0 if that is not known, or if currencies differ."""
    if offer.monthly_cost is None or other.monthly_cost is None:
        return 0.0
    if offer.currency != other.currency:
        return 0.0
    return offer.monthly_cost - other.monthly_cost


def _has_all_figures(asked: Asked, offer: Offer) -> bool:
    """Whether each decision offers the tier: of one without figures nothing is proven."""
    return all(
        _offer_in(decision, offer.tier) is not None
        for decision in asked.verdict.decisions
    )


def _offer(asked: Asked, tier: str) -> Offer | None:
    for decision in asked.verdict.decisions:
        offer = _offer_in(decision, tier)
        if offer is not None:
            return offer
    return None


def _offer_in(decision: Decision, tier: str) -> Offer | None:
    for offer in decision.offers:
        if offer.tier == tier:
            return offer
    return None


def _clause_missed(asked: Asked, tier: str) -> str:
    """The first clause of an SLO that the tier is proven to miss, with what it did: `p99 < 20 ms
    (31 ms)`; empty if there is none."""
    for decision in asked.verdict.decisions:
        offer = _offer_in(decision, tier)
        # A tier that this machine held back misses a clause, and nothing is proven.
        if offer is None or offer.standing != "not enough":
            continue
        missed: dict[str, float] = {}
        for result in offer.slo:
            if result.word == "missed" and result.value is not None:
                missed[result.objective] = result.value
        for clause in _clauses(asked, decision.workload):
            words = format_objective(clause)
            if words in missed:
                mean = value_in_words(clause.metric, missed[words])
                return f"{words} ({mean})"
    return ""


def _is_refused(decision: Decision, tier: str) -> bool:
    """Whether the tier is proven not to be enough for it."""
    offer = _offer_in(decision, tier)
    return offer is not None and offer.standing == "not enough"


@dataclass(frozen=True)
class _Advantage:
    """How many times a figure of the tier named is better, by the means over its runs."""

    subject: str
    tier: str
    times: float
    metric: str

    def in_words(self) -> str:
        """`in tpcc ultra is 9.7 times as fast as`, to stand before the other tier."""
        times = units.format_number(self.times)
        by_what = ""
        if self.metric in _LATENCIES:
            by_what = f" by {_LATENCIES[self.metric]}"
        return f"in {self.subject} {self.tier} is {times} times as fast{by_what} as"


def _is_upper_limit(figure: DecidingFigure | None) -> bool:
    """Whether a clause decided that the figure has to stay below."""
    if figure is None or not figure.is_clause:
        return False
    return METRICS[figure.metric].direction == "lower"


def _shows(metric: str, figure: DecidingFigure | None) -> bool:
    """Whether the metric shows by what it was decided: a latency that was compared, else rates."""
    if figure is None or figure.is_clause or figure.metric not in _LATENCIES:
        return metric not in _LATENCIES
    return metric == figure.metric


def _times(advantage: _Advantage) -> float:
    return advantage.times


def _advantages(
    asked: Asked, tier: str, other: str, decision: Decision
) -> Iterator[_Advantage]:
    """The figure of the workload by which it was decided, if the tier is better in it by more than
    the margin."""
    for load in asked.campaign.plan.workloads:
        # All loads of a sweep have one decision.
        if varied_workloads.subject(load) != decision.workload:
            continue
        for metric in asked.figures.compared_metrics(load.name).values():
            if not _shows(metric, decision.decided_by):
                continue
            mean = asked.figures.cell(tier, load.name, metric)
            others_mean = asked.figures.cell(other, load.name, metric)
            if mean is None or others_mean is None:
                continue
            # A figure of zero has no ratio.
            if mean.mean <= 0 or others_mean.mean <= 0:
                continue
            times = mean.mean / others_mean.mean
            # Less latency is better, so that its inverse counts.
            if metric in _LATENCIES:
                times = 1 / times
            if times >= _FASTER_FROM:
                yield _Advantage(load.name, tier, times, metric)
                # The figures stand in their order, so the first by which it was decided is enough.
                break


def settled_by(asked: Asked, subject: str) -> str:
    """What would decide a workload that is open; empty where nothing is known of that."""
    decision = asked.decision(subject)
    if decision is None:
        return ""
    return decision.settled_by
