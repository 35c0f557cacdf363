"""What each tier gives for its price: throughput and latency against cost per month."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator import metrics
from orchestrator.analysis.answers import phrases
from orchestrator.analysis.conclusions import CellSummary, Decision, Offer
from orchestrator.design.slo import format_objective, limited_in_words
from orchestrator.metrics import NEW_ORDER
from orchestrator.model import Objective
from orchestrator.report import wording
from orchestrator.report.blocks import Chart, Charts, Measure
from orchestrator.report.charts import charts
from orchestrator.report.charts.rates import drawn_rate
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections import priced_nodes

# How far the axis of costs reaches beyond the dearest tier, whose dot has its name beside it.
_ROOM = 1.2


@dataclass(frozen=True)
class _Drawn:
    """What a chart draws.

    `transaction_type`: the type whose figures are drawn; empty: those that stand for the workload.
    """

    measure: Measure
    transaction_type: str = ""


_LATENCY = Measure("latency_avg_s", "latency", "average latency", "ms", 1e3)
_P99 = Measure("latency_p99_s", "p99", "p99 latency", "ms", 1e3)
_NEW_ORDER_LATENCY = Measure("latency_avg_s", "latency", "New-Order average", "ms", 1e3)
_NEW_ORDER_P99 = Measure("latency_p99_s", "p99", "New-Order p99", "ms", 1e3)


def price_charts(index: ReportIndex, decision: Decision) -> tuple[Charts, ...]:
    """Empty unless two tiers or more have prices of one list, and for a sweep's decision, whose
    figures are those of two loads."""
    # A sweep is decided under its own name, which no single load has.
    if decision.workload not in [workload.name for workload in index.workloads]:
        return ()
    # One dot is no comparison.
    offers = [offer for offer in decision.offers if offer.monthly_cost is not None]
    if len(offers) < 2:
        return ()
    drawn = tuple(_price_charts(index, decision, offers))
    if not drawn:
        return ()
    return (Charts(drawn, _legend(index, offers), _caption(index, decision)),)


def _legend(index: ReportIndex, offers: Sequence[Offer]) -> tuple[str, ...]:
    priced = [offer.tier for offer in offers]
    return tuple(tier for tier in index.tiers if tier in priced)


def _caption(index: ReportIndex, decision: Decision) -> str:
    nodes = priced_nodes.nodes_in_words(index, decision)
    unverified = ""
    for offer in decision.offers:
        if priced_nodes.is_unverified(index, offer.tier):
            # One price that nobody checked makes every comparison with it doubtful.
            unverified = f", {phrases.NOT_VERIFIED}"
    caption = (
        f"Cost of {nodes}, at list price{unverified}, as in the table. Dots are means, bars their "
        "95 % interval where runs were repeated. Filled: best at its price, because every tier "
        "that costs no more is proven worse in a criterion. Hollow: beaten, or not decided."
    )
    if not decision.slo:
        return caption
    return f"{caption} Dashed: the SLO."


def _price_charts(
    index: ReportIndex, decision: Decision, offers: Sequence[Offer]
) -> Iterator[Chart]:
    """Throughput, and latency: each if two tiers or more have it."""
    workload = decision.workload
    rate = _Drawn(drawn_rate(index.figures.throughput_metric(workload)))
    latency = _drawn_latency(index, workload, offers)
    for drawn in (rate, latency):
        rows = _price_rows(index, workload, offers, drawn)
        # One dot is no comparison.
        if len(rows) > 1:
            yield _price_chart(index, decision, drawn, rows, offers[0].currency)


# ------------------------------------------------------------------ what is drawn


def _drawn_latency(
    index: ReportIndex, workload: str, offers: Sequence[Offer]
) -> _Drawn:
    """The latency that the SLO is about, else the farthest percentile that all tiers have."""
    # The first latency of the SLO is drawn: it is what the tiers are asked for.
    for clause in index.campaign.plan.workload(workload).slo:
        if metrics.METRICS[clause.metric].unit == "s":
            return _Drawn(_measure_of(clause), clause.scope)
    have_p99 = index.has_p99((offer.tier, workload) for offer in offers)
    is_of_new_order = index.figures.latency_scope(workload) == NEW_ORDER
    return _Drawn(_usual_latency(have_p99, is_of_new_order))


def _measure_of(clause: Objective) -> Measure:
    return Measure(clause.metric, "latency", limited_in_words(clause), "ms", 1e3)


def _usual_latency(have_p99: bool, is_of_new_order: bool) -> Measure:
    if have_p99 and is_of_new_order:
        return _NEW_ORDER_P99
    if have_p99:
        return _P99
    if is_of_new_order:
        return _NEW_ORDER_LATENCY
    return _LATENCY


def _price_rows(
    index: ReportIndex, workload: str, offers: Sequence[Offer], drawn: _Drawn
) -> list[dict[str, Any]]:
    """The rows of the tiers that have the figure."""
    measure = drawn.measure
    rows: list[dict[str, Any]] = []
    for offer in offers:
        cell = index.figures.cell(
            offer.tier, workload, measure.metric, drawn.transaction_type
        )
        if cell is not None:
            rows.append(_price_row(offer, cell, measure.factor))
    return rows


def _price_row(offer: Offer, cell: CellSummary, factor: float) -> dict[str, Any]:
    low, high = wording.ends(cell)
    row: dict[str, Any] = {"tier": offer.tier, "cost": offer.monthly_cost}
    row["value"] = cell.mean * factor
    row["low"] = low * factor
    row["high"] = high * factor
    # A dot that is not proven is hollow too: a filled one is a claim.
    row["filled"] = float(offer.on_front is True)
    row["front"] = wording.FRONT[offer.on_front]
    row["told"] = wording.value_with_unit(cell)
    row["interval"] = _interval(cell)
    row["price"] = wording.money(offer.monthly_cost or 0.0, offer.currency)
    return row


def _interval(cell: CellSummary) -> str:
    # Both ends would be the mean, and look like an interval without any noise.
    if cell.ci_low is None:
        return "none: not repeated"
    low, high = wording.ends(cell)
    low_text = wording.value(cell, low)
    return f"{low_text} to {wording.value(cell, high)}"


# ------------------------------------------------------------------ charts


def _price_chart(
    index: ReportIndex,
    decision: Decision,
    drawn: _Drawn,
    rows: Sequence[Mapping[str, Any]],
    currency: str,
) -> Chart:
    measure = drawn.measure
    axis = _axis(measure)
    heading = f"{measure.title} against price"
    limits = _limits(index.campaign.plan.workload(decision.workload).slo, drawn)
    nodes = priced_nodes.nodes_in_words(index, decision)
    # The axis begins at 0, so that twice the price is twice as far.
    costs = [0, _ROOM * max(row["cost"] for row in rows)]
    spec = charts.drawing(
        "price",
        index.tiers,
        heading=heading,
        what=measure.title,
        value=axis,
        cost=f"cost of {nodes}, {currency} a month",
        costs=costs,
        slo=_lines(limits, axis),
    )
    name = f"{decision.workload}-price-{measure.file}"
    title = f"{heading}: {axis} against cost a month, {currency}"
    return charts.figure(name, title, spec, {"offers": rows, "slo": limits})


def _axis(measure: Measure) -> str:
    """NOPM are their own unit."""
    if measure.unit == measure.title:
        return measure.unit
    return f"{measure.title}, {measure.unit}"


def _lines(limits: Sequence[Mapping[str, Any]], axis: str) -> dict[str, Any] | None:
    """The layer of the drawing; None where the SLO has no limit to draw."""
    if not limits:
        return None
    return charts.drawing("price.slo", value=axis)


def _limits(slo: Sequence[Objective], drawn: _Drawn) -> list[dict[str, Any]]:
    """Lines of the SLO across the chart."""
    lines: list[dict[str, Any]] = []
    for clause in slo:
        # The limit of one type of transactions says nothing about the latency of another.
        is_drawn_type = drawn.transaction_type in ("", clause.scope)
        if clause.metric == drawn.measure.metric and is_drawn_type:
            value = clause.limit * drawn.measure.factor
            lines.append({"value": value, "slo": format_objective(clause)})
    return lines
