"""What each tier costs and gives, per workload: the table that a decision was taken from."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator import units
from orchestrator.analysis.conclusions import (
    Change,
    Decision,
    NeighbourTier,
    ObjectiveResult,
    Offer,
)
from orchestrator.planning import load_points, published_study
from orchestrator.report import wording
from orchestrator.report.blocks import Cell, Part, Section, Table, numbers, texts
from orchestrator.report.report_index import ReportIndex

_UNKNOWN = "–"


def section(index: ReportIndex) -> tuple[Section, ...]:
    """Empty where tiers were not compared."""
    parts = tuple(Part(workload, (table,)) for workload, table in tables(index))
    return (Section("decision", "What each tier costs and gives", parts),) if parts else ()


def tables(index: ReportIndex) -> Iterator[tuple[str, Table]]:
    """Workload by workload, where its decision compared tiers."""
    for decision in index.verdict.decisions:
        if decision.offers:
            yield decision.workload, _table(index, decision)


def _table(index: ReportIndex, decision: Decision) -> Table:
    """A column for each tier, from cheap to dear."""
    offers = decision.offers
    compared = any(offer.on_front is not None for offer in offers)
    columns = (*texts(""), *numbers(*(offer.tier for offer in offers)))
    rows = [
        (Cell("enough"), *(_standing(offer, decision) for offer in offers)),
        (Cell("a month"), *(_cost(offer, compared) for offer in offers)),
        (Cell(f"for {offers[0].unit}"), *(_money_cell(offer) for offer in offers)),
    ]
    if any(offer.least_margin_pct is not None for offer in offers):
        rows.append((Cell("enough if this may be lost"), *map(_least_margin, offers)))
    if decision.slo:
        judged = zip(*(offer.slo for offer in offers), strict=True)
        rows += [(Cell(one[0].objective), *(_slo_cell(each) for each in one)) for one in judged]
    else:
        changes = zip(*(offer.worst for offer in offers), strict=True)
        rows += [(Cell(one[0].title), *(_change_cell(each) for each in one)) for one in changes]
    return Table(columns, tuple(rows), remarks=tuple(_remarks(index, decision)))


def _standing(offer: Offer, decision: Decision) -> Cell:
    words = {"enough": "proven", "not enough": "no, proven", "open": "open"}
    named = offer.tier == decision.tier
    return Cell(words[offer.standing], detail="chosen" if named else "", strong=named)


def _cost(offer: Offer, compared: bool) -> Cell:
    front = wording.FRONT[offer.on_front] if compared else ""
    return Cell(_money(offer.monthly_cost, offer), detail=front)


def _least_margin(offer: Offer) -> Cell:
    usual, tail = (
        "" if pct is None else units.format_quantity(pct, "%") if pct <= 100 else "above 100 %"
        for pct in (offer.least_margin_pct, offer.least_p99_margin_pct)
    )
    return Cell(usual or _UNKNOWN, detail=tail and f"p99: {tail}")


def _money_cell(offer: Offer) -> Cell:
    low, high = offer.cost_per_unit_low, offer.cost_per_unit_high
    bounds = f"{low:,.2f} to {high:,.2f}" if low is not None and high is not None else ""
    return Cell(_money(offer.cost_per_unit, offer), detail=bounds)


def _money(amount: float | None, offer: Offer) -> str:
    return _UNKNOWN if amount is None else wording.money(amount, offer.currency)


def _slo_cell(result: ObjectiveResult) -> Cell:
    mean, _, interval = result.measured.partition(" (")
    return Cell(f"{result.word}: {mean}", detail=interval.removesuffix(")"))


def _change_cell(change: Change) -> Cell:
    interval, against = _interval(change), f"against {change.against}"
    return Cell(
        units.format_change(change.change_pct),
        detail=f"{interval}\n{against}" if interval else against,
    )


def _interval(change: Change) -> str:
    if change.ci_low_pct is None or change.ci_high_pct is None:
        return ""
    low = units.format_change(change.ci_low_pct).removesuffix(" %")
    return f"{low} to {units.format_change(change.ci_high_pct)}"


def _remarks(index: ReportIndex, decision: Decision) -> Iterator[str]:
    level = wording.confidence([(100 + decision.confidence_pct) / 2])
    bounds = f"with a lower and an upper bound, each of which holds at {level}"
    if decision.slo:
        yield f"SLO: {', '.join(decision.slo)}. Values are means {bounds}."
        loads = index.campaign.plan.workloads
        own = [load for load in loads if load_points.subject(load) == decision.workload]
        if any(load.dataset.family.startswith("tpcc") for load in own):
            yield "Latencies of all types together, averages too, leave Delivery out."
    else:
        yield (f"Each change is against the tier beside which this one comes off worst, {bounds}.")
    if any(offer.on_front is not None for offer in decision.offers):
        yield (
            "On the front: each tier as cheap is proven worse in something. Another beats it: one "
            "as cheap is proven within the margin in everything, worse in nothing, and cheaper or "
            "better."
        )
    if any(offer.least_margin_pct is not None for offer in decision.offers):
        yield "Lost: lower throughput or longer latency; that it is no more is proven."
    if any(offer.cost_per_unit is not None for offer in decision.offers):
        yield from _no_cost_to_plan_with(index)
    for word, step in (("dearer", decision.dearer), ("cheaper", decision.cheaper)):
        if step is not None and step.changes:
            yield _step(word, step, decision)
    if decision.request:
        yield f"For a purchase request: {decision.request}"
    priced: dict[str, list[str]] = {}
    for offer in decision.offers:
        if offer.price_source:
            where = f"({offer.price_region}, as of {offer.price_as_of}; {offer.price_source})"
            priced.setdefault(where, []).append(offer.tier)
    if priced:
        sources = "; ".join(f"{units.listed(names)} {where}" for where, names in priced.items())
        yield f"List prices of the disks of all nodes, VM not included: {sources}."


def _no_cost_to_plan_with(index: ReportIndex) -> Iterator[str]:
    """Where throughput is not that of the disks as bought, under the load they are bought for."""
    plan = index.campaign.plan
    why = []
    if not all(profile.tier.disk.is_as_bought for profile in plan.profiles):
        why.append("on emulated or otherwise limited disks")
    if not index.published and plan.scale not in published_study.FULL_SCALES:
        why.append(f"at scale {plan.scale}")
    if why:
        yield (
            f"Cost per throughput is of what was measured here, {' and '.join(why)}: it ranks "
            "tiers, and is no figure to plan with."
        )


def _step(word: str, step: NeighbourTier, decision: Decision) -> str:
    cost = ""
    if step.cost_change and decision.currency:
        cost = f", {wording.money(abs(step.cost_change), decision.currency)} a month {word}"
    changes = units.listed([f"{c.title} {_told(c)}" for c in step.changes])
    side = "up" if word == "dearer" else "down"
    return f"One step {side}, {step.tier}{cost}: {changes}."


def _told(change: Change) -> str:
    text, interval = units.format_change(change.change_pct), _interval(change)
    return f"{text} ({interval})" if interval else text
