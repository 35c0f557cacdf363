"""What each tier costs and gives, per workload: the table that a decision was taken from, and
throughput and tail latency against cost per month."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator import metrics, units
from orchestrator.analysis.answers import phrases
from orchestrator.analysis.answers.to_buy import price_scope
from orchestrator.analysis.answers.untested import why_costs_only_rank
from orchestrator.analysis.conclusions import (
    CellSummary,
    Change,
    Decision,
    ObjectiveResult,
    Offer,
)
from orchestrator.model import Objective
from orchestrator.planning import factors
from orchestrator.planning.slo import format_objective
from orchestrator.report import wording
from orchestrator.report.blocks import (
    Block,
    Cell,
    Chart,
    Charts,
    Measure,
    Part,
    Row,
    Section,
    Table,
    table_of,
)
from orchestrator.report.charts import charts
from orchestrator.report.charts.rates import drawn_rate
from orchestrator.report.report_index import NEW_ORDER, ReportIndex
from orchestrator.tier import Price

_UNKNOWN = "–"
_STANDINGS = {"enough": "proven", "not enough": "no, proven", "open": "open"}


def section(index: ReportIndex) -> tuple[Section, ...]:
    """Empty where tiers were not compared."""
    parts: list[Part] = []
    for decision in index.verdict.decisions:
        if decision.offers:
            blocks: list[Block] = [table(index, decision)]
            blocks += price_charts(index, decision)
            parts.append(Part(decision.workload, tuple(blocks)))
    if not parts:
        return ()
    return (Section("decision", "What each tier costs and gives", tuple(parts)),)


# ------------------------------------------------------------------ the table


def table(index: ReportIndex, decision: Decision) -> Table:
    """Of a decision that compared tiers: a column for each, from cheap to dear."""
    offers = decision.offers
    rows: list[Row] = [
        _row("enough", offers, [_standing(offer, decision) for offer in offers]),
        _row("a month", offers, [_monthly_cost(offer, decision) for offer in offers]),
        _row(f"for {offers[0].unit}", offers, [_unit_cost(offer) for offer in offers]),
    ]
    if any(offer.least_margin_pct is not None for offer in offers):
        margins = [_least_margin(offer) for offer in offers]
        rows.append(_row("enough if this may be lost", offers, margins))
    if decision.slo:
        rows += _slo_rows(offers)
    else:
        rows += _change_rows(offers)
    return table_of(rows, ("",), tuple(_remarks(index, decision)))


def _row(
    title: str, offers: Sequence[Offer], cells: Sequence[Cell]
) -> dict[str, Cell | str]:
    """The title, then a cell below the name of each tier."""
    row: dict[str, Cell | str] = {"": title}
    for offer, cell in zip(offers, cells, strict=True):
        row[offer.tier] = cell
    return row


def _slo_rows(offers: Sequence[Offer]) -> Iterator[Row]:
    """A row for each clause, which all offers have in one order."""
    for place, clause in enumerate(offers[0].slo):
        cells = [_slo_cell(offer.slo[place]) for offer in offers]
        yield _row(clause.objective, offers, cells)


def _change_rows(offers: Sequence[Offer]) -> Iterator[Row]:
    """A row for each criterion, which all offers have in one order."""
    for place, change in enumerate(offers[0].worst):
        cells = [_change_cell(offer.worst[place]) for offer in offers]
        yield _row(change.title, offers, cells)


def _standing(offer: Offer, decision: Decision) -> Cell:
    is_chosen = offer.tier == decision.tier
    detail = ""
    if is_chosen:
        detail = "chosen"
    return Cell(_STANDINGS[offer.standing], detail=detail, strong=is_chosen)


def _monthly_cost(offer: Offer, decision: Decision) -> Cell:
    """With its place on the Pareto front, if any tier's is known."""
    is_compared = any(other.on_front is not None for other in decision.offers)
    front = ""
    if is_compared:
        front = wording.FRONT[offer.on_front]
    return _money(offer.monthly_cost, offer, front)


def _unit_cost(offer: Offer) -> Cell:
    low = offer.cost_per_unit_low
    high = offer.cost_per_unit_high
    bounds = ""
    if low is not None and high is not None:
        bounds = f"{low:,.2f} to {high:,.2f}"
    return _money(offer.cost_per_unit, offer, bounds)


def _money(amount: float | None, offer: Offer, detail: str) -> Cell:
    if amount is None:
        return Cell(_UNKNOWN, detail)
    return Cell(wording.money(amount, offer.currency), detail)


def _least_margin(offer: Offer) -> Cell:
    usual = _margin_in_words(offer.least_margin_pct)
    tail = _margin_in_words(offer.least_p99_margin_pct)
    if not tail:
        return Cell(usual or _UNKNOWN)
    return Cell(usual or _UNKNOWN, detail=f"p99: {tail}")


def _margin_in_words(margin_pct: float | None) -> str:
    """Above 100 %, where a latency may be twice as long, no digit says anything more."""
    if margin_pct is None:
        return ""
    if margin_pct <= 100:
        return units.format_quantity(margin_pct, "%")
    return "above 100 %"


def _slo_cell(result: ObjectiveResult) -> Cell:
    mean, _, interval = result.measured.partition(" (")
    return Cell(f"{result.word}: {mean}", detail=interval.removesuffix(")"))


def _change_cell(change: Change) -> Cell:
    text = units.format_change(change.change_pct)
    against = f"against {change.against}"
    interval = wording.interval(change)
    if not interval:
        return Cell(text, detail=against)
    return Cell(text, detail=f"{interval}\n{against}")


# ------------------------------------------------------------------ below the table


def _remarks(index: ReportIndex, decision: Decision) -> Iterator[str]:
    """How to read it, as far as this one needs it; then the steps in price, and the sources."""
    offers = decision.offers
    yield from _about_values(index, decision)
    if any(offer.on_front is not None for offer in offers):
        yield (
            "On the front: each tier as cheap is proven worse in something. Another beats it: one "
            "as cheap is proven within the margin in everything, worse in nothing, and cheaper or "
            "better."
        )
    if any(offer.least_margin_pct is not None for offer in offers):
        yield "Lost: lower throughput or longer latency; that it is no more is proven."
    why = why_costs_only_rank(index.campaign)
    if why and any(offer.cost_per_unit is not None for offer in offers):
        yield (
            f"Cost per throughput is of what was measured here, {' and '.join(why)}: it ranks "
            "tiers, and is no figure to plan with."
        )
    if decision.dearer is not None and decision.dearer.changes:
        yield phrases.step_in_words(decision.dearer, "dearer", decision.currency)
    if decision.cheaper is not None and decision.cheaper.changes:
        yield phrases.step_in_words(decision.cheaper, "cheaper", decision.currency)
    yield from _sources_of_prices(index, decision)


def _about_values(index: ReportIndex, decision: Decision) -> Iterator[str]:
    # Both ends of the two-sided interval are told as one-sided bounds.
    level = wording.confidence([(100 + decision.confidence_pct) / 2])
    bounds = f"with a lower and an upper bound, each of which holds at {level}"
    if not decision.slo:
        yield f"Each change is against the tier beside which this one comes off worst, {bounds}."
        return
    yield f"SLO: {', '.join(decision.slo)}. Values are means {bounds}."
    for load in index.campaign.plan.workloads:
        is_decided_on = factors.subject(load) == decision.workload
        if is_decided_on and load.dataset.family.startswith("tpcc"):
            yield "Latencies of all types together, averages too, leave Delivery out."
            return


def _sources_of_prices(index: ReportIndex, decision: Decision) -> Iterator[str]:
    """Which list the price of each tier is from, and of each size of machine that counts."""
    names_by_list: dict[str, list[str]] = {}
    for name, price in dict.fromkeys(_prices(index, decision)):
        names_by_list.setdefault(wording.place(price), []).append(name)
    if not names_by_list:
        return
    sources = [
        f"{units.listed(names)} {place}" for place, names in names_by_list.items()
    ]
    yield (
        f"List prices of the {price_scope(decision)} of all nodes: {'; '.join(sources)}."
    )


def _prices(index: ReportIndex, decision: Decision) -> Iterator[tuple[str, Price]]:
    """What has which price: disks from cheap to dear, then the machines that they need."""
    profiles = [index.campaign.plan.profile(offer.tier) for offer in decision.offers]
    for profile in profiles:
        if profile.tier.price:
            yield profile.name, profile.tier.price
    if not decision.with_vms:
        return
    for profile in profiles:
        if profile.cluster.vm_price:
            yield profile.cluster.vm or "machines", profile.cluster.vm_price


# ------------------------------------------------------------------ what it gives for its price


@dataclass(frozen=True)
class _Drawn:
    """What a chart draws, of one type of transactions; "": of what stands for the workload."""

    measure: Measure
    transaction_type: str = ""


_LATENCY = Measure("latency_avg_s", "latency", "average latency", "ms", 1e3)
_P99 = Measure("latency_p99_s", "p99", "p99 latency", "ms", 1e3)
_NEW_ORDER_LATENCY = Measure("latency_avg_s", "latency", "New-Order average", "ms", 1e3)
_NEW_ORDER_P99 = Measure("latency_p99_s", "p99", "New-Order p99", "ms", 1e3)


def price_charts(index: ReportIndex, decision: Decision) -> tuple[Charts, ...]:
    """Empty unless two tiers or more have prices of one list, and for a sweep's decision, whose
    figures are those of two loads."""
    if decision.workload not in [workload.name for workload in index.workloads]:
        return ()
    offers = [offer for offer in decision.offers if offer.monthly_cost is not None]
    if len(offers) < 2:
        return ()
    drawn = tuple(_price_charts(index, decision.workload, offers))
    if not drawn:
        return ()
    priced = [offer.tier for offer in offers]
    legend = tuple(tier for tier in index.tiers if tier in priced)
    caption = (
        "Cost of all nodes at list price, as in the table; dots are means, bars their 95 % "
        "interval where runs were repeated. Filled: on the Pareto front, as each tier as cheap is "
        "proven worse in a criterion of the decision. Hollow: another is proven to beat it, or it "
        "is open."
    )
    if decision.slo:
        caption += " Dashed: the SLO."
    return (Charts(drawn, legend, caption),)


def _price_charts(
    index: ReportIndex, workload: str, offers: Sequence[Offer]
) -> Iterator[Chart]:
    """Throughput, and latency: each if two tiers or more have it."""
    rate = drawn_rate(index.throughput_metric(workload))
    for drawn in (_Drawn(rate), _drawn_latency(index, workload, offers)):
        rows: list[dict[str, Any]] = []
        for offer in offers:
            cell = index.cell(
                offer.tier, workload, drawn.measure.metric, drawn.transaction_type
            )
            if cell is not None:
                rows.append(_price_row(offer, cell, drawn.measure.factor))
        if len(rows) > 1:
            yield _price_chart(index, workload, drawn, rows, offers[0].currency)


def _drawn_latency(
    index: ReportIndex, workload: str, offers: Sequence[Offer]
) -> _Drawn:
    """That which the SLO is about, else the farthest out that all tiers have."""
    for clause in index.campaign.plan.workload(workload).slo:
        if metrics.METRICS[clause.metric].unit == "s":
            title, _, _ = format_objective(clause).partition(" <")
            measure = Measure(clause.metric, "latency", title, "ms", 1e3)
            return _Drawn(measure, clause.scope)
    p99 = _P99
    average = _LATENCY
    if index.latency_scope(workload) == NEW_ORDER:
        p99 = _NEW_ORDER_P99
        average = _NEW_ORDER_LATENCY
    if index.has_p99((offer.tier, workload) for offer in offers):
        return _Drawn(p99)
    return _Drawn(average)


def _price_chart(
    index: ReportIndex,
    workload: str,
    drawn: _Drawn,
    rows: Sequence[Mapping[str, Any]],
    currency: str,
) -> Chart:
    measure = drawn.measure
    axis = measure.unit
    if measure.unit != measure.title:
        axis = f"{measure.title}, {measure.unit}"
    limits = _limits(index.campaign.plan.workload(workload).slo, drawn)
    lines: dict[str, Any] | None = None
    if limits:
        lines = charts.drawing("price.slo", value=axis)
    heading = f"{measure.title} against price"
    spec = charts.drawing(
        "price",
        index.tiers,
        heading=heading,
        what=measure.title,
        value=axis,
        cost=f"cost of all nodes, {currency} a month",
        costs=[0, max(row["cost"] for row in rows) * 1.2],
        slo=lines,
    )
    title = f"{heading}: {axis} against cost a month, {currency}"
    tables = {"offers": rows, "slo": limits}
    return charts.figure(f"{workload}-price-{measure.file}", title, spec, tables)


def _limits(slo: Sequence[Objective], drawn: _Drawn) -> list[dict[str, Any]]:
    """Lines of the SLO across the chart."""
    lines: list[dict[str, Any]] = []
    for clause in slo:
        is_drawn_type = drawn.transaction_type in ("", clause.scope)
        if clause.metric == drawn.measure.metric and is_drawn_type:
            value = clause.limit * drawn.measure.factor
            lines.append({"value": value, "slo": format_objective(clause)})
    return lines


def _price_row(offer: Offer, cell: CellSummary, factor: float) -> dict[str, Any]:
    low, high = wording.ends(cell)
    interval = "none: not repeated"
    if cell.ci_low is not None:
        interval = f"{wording.value(cell, low)} to {wording.value(cell, high)}"
    return {
        "tier": offer.tier,
        "cost": offer.monthly_cost,
        "value": cell.mean * factor,
        "low": low * factor,
        "high": high * factor,
        "filled": float(offer.on_front is True),
        "front": wording.FRONT[offer.on_front],
        "told": wording.value_with_unit(cell),
        "interval": interval,
        "price": wording.money(offer.monthly_cost or 0.0, offer.currency),
    }
