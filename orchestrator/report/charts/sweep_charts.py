"""Charts of a load sweep: throughput and latency against load, a line for each tier."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt

from orchestrator.analysis.conclusions import CellSummary, Sweep
from orchestrator.report.blocks import Chart
from orchestrator.report.charts import charts
from orchestrator.report.charts.charts import Measure
from orchestrator.report.report_index import ReportIndex

_WIDTH, _HEIGHT = 320, 150
_WIDE = 8.0  # from the least load to the highest: beyond, loads stand at equal ratios
_THROUGHPUT = Measure("throughput_per_s", "throughput", "Throughput", "transactions/s")
_P99 = Measure("latency_p99_s", "p99", "p99 latency", "ms", 1e3)
_AVERAGE = Measure("latency_avg_s", "average", "Average latency", "ms", 1e3)


def drawn(index: ReportIndex, sweep: Sweep) -> tuple[Chart, ...]:
    """Those of which there are figures."""
    tails = index.has_p99(
        (tier, workload)
        for tier in index.tiers
        for workload in sweep.workloads
        if not index.overloaded(tier, workload)
    )
    made = []
    for shown in (_THROUGHPUT, _P99 if tails else _AVERAGE):
        points = list(_points(index, sweep, shown))
        if points:
            name = f"{sweep.workload}-load-{shown.file}"
            what = f"{shown.title} of {_whose(index, sweep, shown)}"
            title = f"{what} against {_axis(sweep)}, {shown.unit}"
            spec = _lines(index.tiers, sweep, what, shown.unit)
            made.append(charts.figure(name, title, spec, {"points": points}))
    return tuple(made)


def _whose(index: ReportIndex, sweep: Sweep, shown: Measure) -> str:
    """Of TPC-C-derived transactions New-Order's latency is shown."""
    of_all = index.latency_scope(sweep.workloads[0]) == "all"
    latency = shown.metric.startswith("latency")
    return f"New-Order, {sweep.workload}" if latency and not of_all else sweep.workload


def _points(index: ReportIndex, sweep: Sweep, shown: Measure) -> Iterator[dict[str, Any]]:
    """One per tier and load, with the ends of its interval. Latency under overload is left out."""
    for tier in index.tiers:
        for value, workload in zip(sweep.values, sweep.workloads, strict=True):
            cell = index.cell(tier, workload, shown.metric)
            latency = shown.metric.startswith("latency")
            if cell is not None and not (latency and index.overloaded(tier, workload)):
                yield {"tier": tier, "load": value, **_ends(cell, shown.factor)}


def _ends(cell: CellSummary, factor: float) -> dict[str, float]:
    low = cell.mean if cell.ci_low is None else max(cell.ci_low, 0.0)
    high = cell.mean if cell.ci_high is None else cell.ci_high
    return {"value": cell.mean * factor, "low": low * factor, "high": high * factor}


def _axis(sweep: Sweep) -> str:
    return "threads" if sweep.axis == "threads" else "transactions/s asked for"


def _lines(tiers: Sequence[str], sweep: Sweep, what: str, unit: str) -> dict[str, Any]:
    """A drawing of `points`, one line for each tier."""
    wide = sweep.values[-1] >= _WIDE * sweep.values[0]
    scale = alt.Scale(type="log", base=2, nice=False) if wide else alt.Scale(zero=False)
    axis = alt.Axis(values=list(sweep.values), labelOverlap=True, format="~r")
    base = alt.Chart(alt.NamedData("points")).encode(
        x=alt.X("load:Q", title=_axis(sweep), scale=scale, axis=axis),
        color=charts.colour(tiers, legend=False),
    )
    y = alt.Y("value:Q", title=None, scale=alt.Scale(zero=True))
    layers = alt.layer(
        base.mark_rule(strokeWidth=1.2, opacity=0.6).encode(y=alt.Y("low:Q"), y2="high:Q"),
        base.mark_line(strokeWidth=1.2).encode(y=y),
        base.mark_point(size=30, filled=True, opacity=1).encode(y=y, tooltip=_hover(sweep, unit)),
    )
    title = alt.Title(what, subtitle=unit)
    spec: dict[str, Any] = layers.properties(width=_WIDTH, height=_HEIGHT, title=title).to_dict()
    return spec


def _hover(sweep: Sweep, unit: str) -> list[alt.Tooltip]:
    ends = (("value", "mean"), ("low", "interval from"), ("high", "to"))
    return [
        alt.Tooltip("tier:N"),
        alt.Tooltip("load:Q", title=_axis(sweep)),
        *(alt.Tooltip(f"{key}:Q", title=f"{word}, {unit}", format=",.4~r") for key, word in ends),
    ]
