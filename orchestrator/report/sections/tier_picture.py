"""Every tier of a workload as a dot with its 95 % interval, on one axis: the figure that decided.

What is enough is shaded: what the SLO asks for, or the margin of the best."""

from collections.abc import Iterator

from orchestrator import units
from orchestrator.analysis.answers.headline_figures import (
    LATENCY_NAMES,
    LATENCY_SLOW_DISK,
    ComparedFigure,
    compared_by,
)
from orchestrator.analysis.conclusions import CellSummary, Decision, Offer
from orchestrator.metrics import NEW_ORDER
from orchestrator.model import Workload
from orchestrator.report import wording
from orchestrator.report.blocks import Chart, Measure
from orchestrator.report.charts import charts
from orchestrator.report.charts.rates import drawn_rate
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections import slo_picture
from orchestrator.report.sections.tier_rows import (
    RowFigure,
    Stretch,
    TierRow,
    axis_end,
    on_axis,
    tier_row,
)

# Cells hold seconds, and a latency is read in milliseconds: hence the factor.
_LATENCIES = {
    by: Measure(by.metric, "tiers", name, "ms", 1e3, by.scope)
    for by, name in LATENCY_NAMES.items()
}


def picture(index: ReportIndex, workload: str) -> Chart | None:
    """Every tier a dot with its 95 % interval. None for a sweep, whose figures are those of several
    loads, and where fewer than two tiers have the figure and no SLO stands beside it."""
    load = index.workload(workload)
    if load is not None and index.answer.kind == "disks alone":
        # The code that reads a matrix takes long to load.
        from orchestrator.report.sections import disk_picture

        return disk_picture.picture(index, load)
    # A sweep is decided under its own name, which no single load has. It ends below without a
    # chart.
    decision = index.verdict.decision(workload)
    if load is None or decision is None:
        return None
    clause = slo_picture.clause_to_draw(load, decision)
    if clause is not None:
        rows = list(slo_picture.rows(clause, decision))
        enough = slo_picture.asked_for(clause)
        axis = slo_picture.axis(clause)
        return _drawn(f"{workload}-tiers", axis, index.tiers, rows, enough)
    measure = _measure(index, load, decision)
    rows = list(_rows(index, load, decision, measure))
    # One dot alone is compared with nothing.
    if len(rows) < 2:
        return None
    # Of an SLO of which no tier has a figure nothing is shaded: its limit is of another one.
    margin = None
    if not decision.slo:
        margin = _within_margin(index, measure, rows)
    axis = _axis(index, load, measure)
    return _drawn(f"{workload}-tiers", axis, index.tiers, rows, margin)


def _drawn(
    name: str,
    axis: str,
    tiers: tuple[str, ...],
    rows: list[TierRow],
    enough: Stretch | None,
) -> Chart:
    """The tiers of `rows`, with the stretch in which one is enough."""
    end = axis_end(rows, enough)
    shaded: list[Stretch] = []
    remark = ""
    if enough:
        shaded.append(on_axis(enough, end))
        remark = enough["words"]
    labels = [row["label"] for row in rows]
    # The axis begins at 0, so that twice the figure is twice as far.
    spec = charts.drawing("tiers", tiers, value=axis, labels=labels, reach=[0, end])
    title = f"{axis} of each tier, with its 95 % interval"
    tables = {"tiers": rows, "enough": shaded}
    return charts.figure(name, title, spec, tables, remark)


def _measure(index: ReportIndex, load: Workload, decision: Decision) -> Measure:
    """What decided: a latency where the criterion is one, else the rate."""
    by = decision.decided_by
    if by is not None and compared_by(by) in _LATENCIES:
        return _LATENCIES[compared_by(by)]
    return drawn_rate(index.figures.throughput_metric(load.name))


def _axis(index: ReportIndex, load: Workload, measure: Measure) -> str:
    """`NOPM`, `transactions/s`, `New-Order p99 latency, ms`."""
    # A rate's unit names it already: `NOPM, NOPM` would say it twice.
    by = ComparedFigure(measure.metric, measure.scope)
    if by not in _LATENCIES:
        return measure.unit
    title = measure.title
    is_of_all = by == LATENCY_SLOW_DISK
    if index.figures.latency_scope(load.name) == NEW_ORDER and not is_of_all:
        title = f"New-Order {title}"
    return f"{title}, {measure.unit}"


def _rows(
    index: ReportIndex, load: Workload, decision: Decision, measure: Measure
) -> Iterator[TierRow]:
    """The rows of the chart from cheap to dear, as the decision offers the tiers."""
    # A tier without figures has no dot, because zero would be read as measured.
    for offer in decision.offers:
        cell = index.figures.cell(offer.tier, load.name, measure.metric, measure.scope)
        if cell is not None:
            yield _row(offer, cell, measure)


def _row(offer: Offer, cell: CellSummary, measure: Measure) -> TierRow:
    # The words choose their own unit, so they take the figure without the factor.
    in_words = wording.value_with_unit(cell)
    low, high = wording.ends(cell)
    figure = RowFigure(cell.mean, low, high)
    return tier_row(offer, figure, measure.factor, in_words)


def _within_margin(
    index: ReportIndex, measure: Measure, rows: list[TierRow]
) -> Stretch:
    """The stretch in which a tier is as good as the best."""
    values: list[float] = []
    for row in rows:
        values.append(row["value"])
    margin_pct = _margin_pct(index, measure)
    words = f"Shaded: within {units.format_quantity(margin_pct, '%')} of the best."
    if ComparedFigure(measure.metric, measure.scope) in _LATENCIES:
        # The best latency is the lowest, so the margin reaches upwards.
        best = min(values)
        return {"from": best, "to": best * (1 + margin_pct / 100), "words": words}
    # The best rate is the highest, so the margin reaches downwards.
    best = max(values)
    return {"from": best * (1 - margin_pct / 100), "to": best, "words": words}


def _margin_pct(index: ReportIndex, measure: Measure) -> float:
    plan = index.campaign.plan
    # A p99 varies more than a mean, so it has a wider margin.
    if measure.metric == "latency_p99_s":
        return plan.judging.p99_margin_pct
    return plan.judging.margin_pct
