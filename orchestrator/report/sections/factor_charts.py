"""What was varied, drawn: throughput and latency against the values of a factor, or the loads of
a sweep."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.analysis.answers.factor_sentences import factor_in_words
from orchestrator.analysis.conclusions import CellSummary, VariedWorkload
from orchestrator.design.factors import RATE_OPTION
from orchestrator.report import wording
from orchestrator.report.blocks import Chart, Measure
from orchestrator.report.charts import charts
from orchestrator.report.charts.rates import drawn_rate
from orchestrator.report.report_index import ReportIndex

_P99 = Measure("latency_p99_s", "p99", "p99 latency", "ms", 1e3)
_AVERAGE = Measure("latency_avg_s", "average", "Average latency", "ms", 1e3)
# Numbers are in thousands and millions from here on, as bytes are.
_MANY = 1e6
# Ratio of the highest load to the least: beyond it, loads stand at equal ratios.
_WIDE = 8.0
# An interval that reaches zero ends here on a logarithmic axis, where nothing reaches zero.
_CUT_AT = 10.0


def charts_of(index: ReportIndex, varied: VariedWorkload) -> tuple[Chart, ...]:
    """Throughput and latency against the values, each if there are figures of it; none if the
    values are no numbers above zero. On logarithmic axes if they are no loads."""
    # Stages have no numbers, and zero has no place on a logarithmic axis.
    if min(varied.numbers, default=0) <= 0:
        return ()
    drawn: list[Chart] = []
    for measure in (_rate(index, varied), _latency(index, varied)):
        points = list(_points(index, varied, measure))
        if points:
            drawn.append(_chart(index, varied, measure, points))
    return tuple(drawn)


def _rate(index: ReportIndex, varied: VariedWorkload) -> Measure:
    metric = index.figures.throughput_metric(varied.workloads[0])
    # The loads of a sweep are of all transactions, not of New-Orders.
    if metric == "nopm" and varied in index.verdict.sweeps:
        return drawn_rate("throughput_per_s")
    return drawn_rate(metric)


def _latency(index: ReportIndex, varied: VariedWorkload) -> Measure:
    """The p99 if all that is drawn has it, else the average of all."""
    drawn: list[tuple[str, str]] = []
    for tier in index.tiers:
        for workload in varied.workloads:
            # The latency of an overloaded tier is not drawn, so it need not have a p99.
            if not index.overloaded(tier, workload):
                drawn.append((tier, workload))
    if index.has_p99(drawn):
        return _P99
    return _AVERAGE


@dataclass(frozen=True)
class _Point:
    """A tier's mean at a value, with the ends of its interval."""

    tier: str
    number: float
    mean: float
    low: float
    high: float


def _points(
    index: ReportIndex, varied: VariedWorkload, measure: Measure
) -> Iterator[_Point]:
    """One per tier and value. Latency under overload is left out: it grows with the time that was
    measured."""
    for tier in index.tiers:
        for number, workload in zip(varied.numbers, varied.workloads, strict=True):
            cell = index.figures.cell(tier, workload, measure.metric)
            is_left_out = _is_latency(measure) and index.overloaded(tier, workload)
            if cell is not None and not is_left_out:
                yield _point(tier, number, cell, measure.factor)


def _point(tier: str, number: float, cell: CellSummary, factor: float) -> _Point:
    low, high = wording.ends(cell)
    mean = cell.mean * factor
    return _Point(tier, number, mean, low=low * factor, high=high * factor)


def _is_latency(measure: Measure) -> bool:
    return measure.metric.startswith("latency")


def _chart(
    index: ReportIndex,
    varied: VariedWorkload,
    measure: Measure,
    points: Sequence[_Point],
) -> Chart:
    is_sweep = varied in index.verdict.sweeps
    heading = f"{measure.title} of {_whose(index, varied, measure)}"
    load = _across_in_words(varied)
    spec = charts.drawing(
        "load",
        index.tiers,
        title=heading,
        unit=measure.unit,
        load=load,
        loads=list(varied.numbers),
        across=_scale_across(varied, is_sweep),
        marks=_format_of_marks(varied),
        up=_scale_up(is_sweep),
        mean=f"mean, {measure.unit}",
        low=f"interval from, {measure.unit}",
        high=f"to, {measure.unit}",
    )
    # The axes of a factor alone are logarithmic upwards.
    rows = [_row(point, cut=not is_sweep) for point in points]
    name = f"{varied.workload}-load-{measure.file}"
    title = f"{heading} against {load}, {measure.unit}"
    return charts.figure(name, title, spec, {"points": rows})


def _whose(index: ReportIndex, varied: VariedWorkload, measure: Measure) -> str:
    is_of_new_order = index.figures.latency_scope(varied.workloads[0]) != "all"
    if is_of_new_order and _is_latency(measure):
        return f"New-Order, {varied.workload}"
    return varied.workload


def _across_in_words(varied: VariedWorkload) -> str:
    if varied.factor == RATE_OPTION:
        return "transactions/s asked for"
    return factor_in_words(varied)


def _scale_across(varied: VariedWorkload, is_sweep: bool) -> dict[str, Any]:
    is_wide = varied.numbers[-1] >= _WIDE * varied.numbers[0]
    if is_sweep and not is_wide:
        return {"zero": False}
    # "nice" would widen the axis to round numbers.
    return {"type": "log", "base": 2, "nice": False}


def _scale_up(is_sweep: bool) -> dict[str, Any]:
    if is_sweep:
        # The axis begins at 0, so that twice the rate stands twice as high.
        return {"zero": True}
    # A power is a straight line on it.
    return {"type": "log", "nice": False}


def _format_of_marks(varied: VariedWorkload) -> str:
    # Formats of d3: `s` writes k, M and G, `r` plain digits.
    if varied.numbers[-1] >= _MANY:
        return ".3~s"
    return "~r"


def _row(point: _Point, cut: bool) -> dict[str, Any]:
    low = point.low
    if cut and not low:
        low = point.mean / _CUT_AT
    return {
        "tier": point.tier,
        "load": point.number,
        "value": point.mean,
        "low": low,
        "high": point.high,
    }
