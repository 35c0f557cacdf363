"""What each tier gives for its price: throughput and tail latency against cost per month."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt

from orchestrator import units
from orchestrator.analysis.conclusions import CellSummary, Decision, Offer
from orchestrator.report import wording
from orchestrator.report.blocks import Chart, Charts
from orchestrator.report.charts import charts
from orchestrator.report.report_index import NEW_ORDER, ReportIndex

_CAPTION = (
    "Cost of the disks of all nodes at list price, VM not included; dots are means, bars their "
    "95 % interval where runs were repeated. Filled: on the Pareto front, as each tier as cheap is "
    "proven worse in a criterion of the decision. Hollow: another is proven to beat it, or it is "
    "open."
)


def of_decision(index: ReportIndex, decision: Decision) -> tuple[Charts, ...]:
    """Empty unless two tiers or more have prices of one list, and for a sweep's decision, whose
    figures are those of two loads."""
    if decision.workload not in {one.name for one in index.workloads}:
        return ()
    offers = [offer for offer in decision.offers if offer.monthly_cost is not None]
    if len(offers) < 2:
        return ()
    drawn = tuple(_drawn(index, decision.workload, offers))
    named = {offer.tier for offer in offers}
    tiers = tuple(tier for tier in index.tiers if tier in named)
    return (Charts(drawn, tiers, _CAPTION),) if drawn else ()


def _drawn(index: ReportIndex, workload: str, offers: Sequence[Offer]) -> Iterator[Chart]:
    nopm = index.throughput_metric(workload) == "nopm"
    tails = index.has_p99((offer.tier, workload) for offer in offers)
    latency = ("latency_p99_s", "p99") if tails else ("latency_avg_s", "latency")
    kind = "p99" if tails else "average"
    of_new_order = index.latency_scope(workload) == NEW_ORDER
    rate = ("NOPM", "NOPM") if nopm else ("Throughput", "transactions/s")
    figures = (
        (index.throughput_metric(workload), "throughput", *rate, 1.0),
        (*latency, f"New-Order {kind}" if of_new_order else f"{kind} latency", "ms", 1e3),
    )
    for metric, file, what, unit, factor in figures:
        cells = [(offer, index.cell(offer.tier, workload, metric)) for offer in offers]
        rows = [_row(offer, cell, factor) for offer, cell in cells if cell is not None]
        if len(rows) < 2:
            continue
        axis = unit if unit == what else f"{what}, {unit}"
        yield _chart(f"{workload}-price-{file}", what, axis, offers[0].currency, rows, index.tiers)


def _row(offer: Offer, cell: CellSummary, factor: float) -> dict[str, Any]:
    low, high = cell.ci_low, cell.ci_high
    ends, interval = (cell.mean, cell.mean), "none: not repeated"
    if low is not None and high is not None:
        ends = (max(low, 0.0), high)
        interval = " to ".join(units.format_quantity(end, _unit(cell)) for end in ends)
    return {
        "tier": offer.tier,
        "cost": offer.monthly_cost,
        "value": cell.mean * factor,
        "low": ends[0] * factor,
        "high": ends[1] * factor,
        "filled": 1.0 if offer.on_front else 0.0,
        "front": wording.FRONT[offer.on_front],
        "told": wording.value_with_unit(cell),
        "interval": interval,
        "price": wording.money(offer.monthly_cost or 0.0, offer.currency),
    }


def _unit(cell: CellSummary) -> str:
    return "" if cell.unit in ("1/s", "1/min") else cell.unit


def _chart(
    name: str,
    what: str,
    axis: str,
    currency: str,
    rows: Sequence[dict[str, Any]],
    tiers: Sequence[str],
) -> Chart:
    tooltips = [
        alt.Tooltip("tier:N"),
        alt.Tooltip("price:N", title="a month"),
        alt.Tooltip("told:N", title=what),
        alt.Tooltip("interval:N", title="95 % interval"),
        alt.Tooltip("front:N", title="Pareto front"),
    ]
    most = max(row["cost"] for row in rows)
    x = alt.X(
        "cost:Q",
        title=f"disks of all nodes, {currency} a month",
        scale=alt.Scale(domain=[0, most * 1.2], nice=False),
    )
    y = alt.Y("value:Q", title=axis, scale=alt.Scale(zero=True))
    hue = charts.colour(tiers, legend=False)
    base = alt.Chart(alt.NamedData("offers")).encode(x=x, color=hue, tooltip=tooltips)
    layers = alt.layer(
        base.mark_rule(strokeWidth=2).encode(y=alt.Y("low:Q", title=axis), y2="high:Q"),
        base.mark_point(size=70, filled=False, strokeWidth=2, opacity=1).encode(
            y=y, fill=hue, fillOpacity=alt.FillOpacity("filled:Q", scale=None, legend=None)
        ),
        alt.Chart(alt.NamedData("offers"))
        .mark_text(align="left", dx=8, dy=-8, fontSize=10, color=charts.QUIET)
        .encode(x=x, y=y, text="tier:N"),
    )
    heading = f"{what} against price"
    chart = layers.properties(width=charts.WIDTH, height=charts.HEIGHT, title=heading)
    told = f"{heading}: {axis} against cost a month, {currency}"
    return charts.figure(name, told, chart.to_dict(), {"offers": rows})
