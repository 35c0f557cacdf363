"""Load sweeps: the loads of each tier as tables and charts, its knee, its capacity at the SLO."""

from collections.abc import Iterator
from typing import Any, get_args

from orchestrator import units
from orchestrator.analysis.conclusions import Sweep, TierSweep
from orchestrator.planning.load_points import Axis, load_in_words
from orchestrator.report import blocks, wording
from orchestrator.report.blocks import Cell, Chart, Charts, Paragraph, Part, Section, table_of
from orchestrator.report.charts import charts
from orchestrator.report.prose import measures, said
from orchestrator.report.report_index import ReportIndex


def sections(index: ReportIndex) -> Iterator[Section]:
    """One for each sweep: what was found, charts, then each tier's figures at each load."""
    for sweep in index.verdict.sweeps:
        drawn = charts_of_sweep(index, sweep)
        pictures = (Charts(drawn, index.tiers, said("sweeps.charts")),) if drawn else ()
        text = " ".join([said("sweeps.knee"), *([said("sweeps.capacity")] if sweep.slo else [])])
        parts = (
            Part("", (Paragraph(text), overview(sweep), *pictures)),
            *(Part(tier, (_loads(index, sweep, tier),)) for tier in index.tiers),
        )
        title = f"{sweep.workload} under several loads"
        yield Section(f"sweep-{sweep.workload}", title, parts)


def overview(sweep: Sweep) -> blocks.Table:
    """What was found of each tier."""
    stops = [f"{tier.tier}: {tier.stopped}." for tier in sweep.tiers if tier.stopped]
    remarks = (f"SLO: {', '.join(sweep.slo)}.",) if sweep.slo else ()
    rows = [_overview_row(sweep, tier) for tier in sweep.tiers]
    return table_of(rows, ("Tier",), (*remarks, *stops))


def _overview_row(sweep: Sweep, tier: TierSweep) -> dict[str, Cell]:
    peak, knee = Cell("missing", missing=True), "–"
    if tier.peak_per_s is not None:
        peak = Cell(units.format_quantity(tier.peak_per_s, "1/s"))
        knee = "not reached" if tier.knee is None else load_in_words(sweep.axis, tier.knee)
    capacity = Cell("none proven")
    if tier.at_slo is not None and tier.at_slo_per_s is not None:
        rate = units.format_quantity(tier.at_slo_per_s, "1/s")
        capacity = Cell(load_in_words(sweep.axis, tier.at_slo), detail=rate)
    return {
        "Tier": Cell(tier.tier, tier=tier.tier),
        "Highest throughput": peak,
        "Knee": Cell(knee),
        **({"Capacity at the SLO": capacity} if sweep.slo else {}),
    }


def _loads(index: ReportIndex, sweep: Sweep, tier: str) -> blocks.Table:
    """A tier's figures, its loads as rows."""
    of_new_order = index.latency_scope(sweep.workloads[0]) != "all"
    titles = {
        **({"offered_per_s": "Offered", "served_per_s": "Served"} if sweep.axis == "rate" else {}),
        **({"nopm": "NOPM"} if index.is_tpcc_derived(sweep.workloads[0]) else {}),
        "throughput_per_s": "Transactions/s",
        "latency_avg_s": "New-Order average latency" if of_new_order else "Average latency",
        "latency_p99_s": "p99",
    }
    rows = [
        {
            "Load": Cell(
                load_in_words(sweep.axis, value),
                detail="overloaded" if index.overloaded(tier, workload) else "",
                notes=index.notes(workload, tier),
            ),
            **index.metric_cells(tier, workload, titles),
        }
        for value, workload in zip(sweep.values, sweep.workloads, strict=True)
    ]
    return table_of(rows, ("Load",))


_MANY = 1e6  # in thousands and millions from here on, as bytes are
_WIDE = 8.0  # from the least load to the highest: beyond, loads stand at equal ratios
_THROUGHPUT, _P99, _AVERAGE = measures("sweeps.measures")


def charts_of_sweep(index: ReportIndex, sweep: Sweep) -> tuple[Chart, ...]:
    """Throughput and latency against load, each if there are figures of it. On logarithmic
    axes if they are values of a factor."""
    tails = index.has_p99(
        (tier, workload)
        for tier in index.tiers
        for workload in sweep.workloads
        if not index.overloaded(tier, workload)
    )
    drawn = (_chart(index, sweep, shown) for shown in (_THROUGHPUT, _P99 if tails else _AVERAGE))
    return tuple(chart for chart in drawn if chart is not None)


def _points(index: ReportIndex, sweep: Sweep, shown: blocks.Measure) -> Iterator[dict[str, Any]]:
    """One per tier and load, with the ends of its interval. Latency under overload is left out."""
    for tier in index.tiers:
        for value, workload in zip(sweep.values, sweep.workloads, strict=True):
            cell = index.cell(tier, workload, shown.metric)
            latency = shown.metric.startswith("latency")
            if cell is not None and not (latency and index.overloaded(tier, workload)):
                mean, low, high = (of * shown.factor for of in (cell.mean, *wording.ends(cell)))
                yield {"tier": tier, "load": value, "value": mean, "low": low, "high": high}


def _chart(index: ReportIndex, sweep: Sweep, shown: blocks.Measure) -> Chart | None:
    points = list(_points(index, sweep, shown))
    if not points:
        return None
    of_new_order = index.latency_scope(sweep.workloads[0]) != "all"
    whose = "New-Order, " * (of_new_order and shown.metric.startswith("latency"))
    what = f"{shown.title} of {whose}{sweep.workload}"
    load = {"rate": "transactions/s asked for"}.get(sweep.axis, sweep.axis)
    of_loads = sweep.axis in get_args(Axis)
    if not of_loads:  # nothing reaches zero there: such an interval is cut
        points = [{**point, "low": point["low"] or point["value"] / 10} for point in points]
    wide = not of_loads or sweep.values[-1] >= _WIDE * sweep.values[0]
    spec = charts.drawing(
        "load",
        index.tiers,
        title=what,
        unit=shown.unit,
        load=load,
        loads=list(sweep.values),
        across={"type": "log", "base": 2, "nice": False} if wide else {"zero": False},
        marks=".3~s" if sweep.values[-1] >= _MANY else "~r",
        up={"zero": True} if of_loads else {"type": "log", "nice": False},
        mean=f"mean, {shown.unit}",
        low=f"interval from, {shown.unit}",
        high=f"to, {shown.unit}",
    )
    told = f"{what} against {load}, {shown.unit}"
    return charts.figure(f"{sweep.workload}-load-{shown.file}", told, spec, {"points": points})
