"""What the neighbours in price of the tier that is named lack or bring. Pure."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from orchestrator import units
from orchestrator.analysis.answers.asked import Asked
from orchestrator.analysis.answers.headline_figures import (
    LATENCY_AVG,
    LATENCY_NAMES,
    LATENCY_SLOW_DISK,
    ComparedFigure,
    compared_by,
)
from orchestrator.analysis.answers.phrases import money
from orchestrator.analysis.conclusions import (
    DecidingFigure,
    Decision,
    Offer,
)
from orchestrator.design import varied_workloads
from orchestrator.design.slo import format_objective
from orchestrator.metrics import METRICS, value_in_words

# A tier is called faster only from here on: it is the usual margin.
_FASTER_FROM = 1.05


def against_cheaper(asked: Asked, tier: str) -> Iterator[str]:
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


def against_dearer(asked: Asked, tier: str) -> Iterator[str]:
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
        yield f"{dearer.tier} costs {times} times as much and is not needed"
        return
    plan = asked.campaign.plan
    margin = units.format_quantity(plan.judging.margin_pct, "%")
    where = ""
    if plan.judging.weights:
        where = " by the weighted mean"
    # Enough means proven within the margin of the best, so no tier is faster by more.
    faster = f"is at most {margin} faster{where}"
    yield f"{dearer.tier} costs {times} times as much and {faster}"


def _has_slo(asked: Asked) -> bool:
    """Whether at least one workload has an SLO."""
    clauses: list[str] = []
    for decision in asked.verdict.decisions:
        clauses += decision.slo
    return bool(clauses)


def _neighbour(asked: Asked, tier: str, *, cheaper: bool) -> Offer | None:
    """The tier that is next in price, as the first decision that has both offers it."""
    for decision in asked.verdict.decisions:
        named = decision.offer(tier)
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
        decision.offer(offer.tier) is not None for decision in asked.verdict.decisions
    )


def _offer(asked: Asked, tier: str) -> Offer | None:
    for decision in asked.verdict.decisions:
        offer = decision.offer(tier)
        if offer is not None:
            return offer
    return None


def _clause_missed(asked: Asked, tier: str) -> str:
    """The first clause of an SLO that the tier is proven to miss, with what it did: `p99 < 20 ms
    (31 ms)`; empty if there is none."""
    for decision in asked.verdict.decisions:
        offer = decision.offer(tier)
        # A tier that this machine held back misses a clause, and nothing is proven.
        if offer is None or offer.standing != "not enough":
            continue
        missed: dict[str, float] = {}
        for result in offer.slo:
            if result.word == "missed" and result.value is not None:
                missed[result.objective] = result.value
        for clause in asked.clauses(decision.workload):
            words = format_objective(clause)
            if words in missed:
                mean = value_in_words(clause.metric, missed[words])
                return f"{words} ({mean})"
    return ""


def _is_refused(decision: Decision, tier: str) -> bool:
    """Whether the tier is proven not to be enough for it."""
    offer = decision.offer(tier)
    return offer is not None and offer.standing == "not enough"


@dataclass(frozen=True)
class _Advantage:
    """How many times a figure of the tier named is better, by the means over its runs."""

    subject: str
    tier: str
    times: float
    by: ComparedFigure

    def in_words(self) -> str:
        """`in tpcc ultra is 9.7 times as fast as`, to stand before the other tier."""
        times = units.format_number(self.times)
        by_what = ""
        if self.by in LATENCY_NAMES:
            by_what = f" by {LATENCY_NAMES[self.by]}"
        where = self.subject
        # "While a disk is slow as premium" would be read as one.
        if self.by == LATENCY_SLOW_DISK:
            where = f"{self.subject} with a slow disk"
            by_what = f" by {LATENCY_NAMES[ComparedFigure(LATENCY_AVG)]}"
        return f"in {where} {self.tier} is {times} times as fast{by_what} as"


def _is_upper_limit(figure: DecidingFigure | None) -> bool:
    """Whether a clause decided that the figure has to stay below."""
    if figure is None or not figure.is_clause:
        return False
    return METRICS[figure.metric].less_is_better


def _shows(by: ComparedFigure, figure: DecidingFigure | None) -> bool:
    """Whether it shows by what it was decided: a latency that was compared, else rates."""
    if figure is None or figure.is_clause or compared_by(figure) not in LATENCY_NAMES:
        return by not in LATENCY_NAMES
    return by == compared_by(figure)


def _times(advantage: _Advantage) -> float:
    return advantage.times


def _advantages(
    asked: Asked, tier: str, other: str, decision: Decision
) -> Iterator[_Advantage]:
    """The figure of the workload by which it was decided, if the tier is better in it by more than
    the margin."""
    for load in asked.campaign.plan.workloads:
        # All loads of a sweep have one decision.
        if varied_workloads.decision_subject(load) != decision.workload:
            continue
        for by in asked.figures.compared_metrics(load.name).values():
            if not _shows(by, decision.decided_by):
                continue
            mean = asked.figures.cell(tier, load.name, by.metric, by.scope)
            others_mean = asked.figures.cell(other, load.name, by.metric, by.scope)
            if mean is None or others_mean is None:
                continue
            # A figure of zero has no ratio.
            if mean.mean <= 0 or others_mean.mean <= 0:
                continue
            times = mean.mean / others_mean.mean
            # Less latency is better, so that its inverse counts.
            if by in LATENCY_NAMES:
                times = 1 / times
            if times >= _FASTER_FROM:
                yield _Advantage(load.name, tier, times, by)
                # The figures stand in their order, so the first by which it was decided is enough.
                break
