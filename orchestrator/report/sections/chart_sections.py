"""The charts of a report: each workload over time, and the changes with their intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orchestrator.metrics import PERCENTILES
from orchestrator.planning import load_points
from orchestrator.report import wording
from orchestrator.report.blocks import Block, Chart, Charts, Paragraph, Part, Section
from orchestrator.report.charts import change_charts, latency_charts, series, time_charts
from orchestrator.report.charts.charts import Measure
from orchestrator.report.charts.series import Series
from orchestrator.report.charts.time_charts import CapLine
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections import summary

_INTERVALS = (
    Measure("throughput_per_s", "throughput", "Throughput", "transactions/s"),
    Measure("latency_p50_s", "latency-p50", "Median latency", "ms", 1e3),
    Measure("latency_p95_s", "latency-p95", "95th percentile latency", "ms", 1e3),
    Measure("latency_p99_s", "latency-p99", "99th percentile latency", "ms", 1e3),
)
_CPU = Measure("cpu_pct", "cpu", "CPU of the database nodes", "% of limit")
_DISKS = (
    Measure("disk_iops", "iops", "Disk IOPS", "IOPS"),
    Measure("disk_bytes_per_s", "bandwidth", "Disk bandwidth", "MB/s", 1e-6),
)

_BUSIEST = "Disk figures are those of the busiest database node."
_CAPS = "Dashed: the declared cap of a tier's disk, if the tier came near it."
_DISTRIBUTION = Paragraph(
    "Each curve is made of every transaction of a tier's measured windows, all runs together, and "
    "ends where ten transactions are slower; tables and verdicts take the mean of each run's own "
    "percentile instead. Percentiles stand further apart the closer they come to 100 %."
)
_BY_NODE = "Node by node: CPU, IOPS and bandwidth"


def over_time(index: ReportIndex) -> Section:
    if all(run.intervals.empty and run.sampled.empty for run in index.campaign.runs):
        nothing = Paragraph("No charts: no run left figures over time.")
        return Section("over-time", "Over time", (Part("", (nothing,)),))
    alone = [one for one in index.workloads if load_points.of_sweep(one) is None]
    if not alone:
        swept = Paragraph("The loads of a sweep are drawn against each other, above.")
        return Section("over-time", "Over time", (Part("", (swept,)),))
    parts = tuple(_workload_part(index, workload.name) for workload in alone)
    return Section("over-time", "Over time", parts)


def _workload_part(index: ReportIndex, workload: str) -> Part:
    drawn = tuple(_drawn(index, workload))
    if not drawn:
        nothing = "No charts: no run of this workload left figures over time."
        return Part(workload, (Paragraph(nothing),))
    bin_s = series.of_interval(index, workload, "throughput_per_s").bin_s
    charts = Charts(drawn, _shown(index), _caption(drawn, bin_s))
    return Part(workload, (charts, *_by_node(index, workload)))


def _shown(index: ReportIndex) -> tuple[str, ...]:
    """The tiers of which any run left figures."""
    shown = {run.profile for run in index.campaign.plan.runs if index.loss(run) is None}
    return tuple(tier for tier in index.tiers if tier in shown)


def _drawn(index: ReportIndex, workload: str) -> Iterator[Chart]:
    for measure in _INTERVALS:
        means = series.of_interval(index, workload, measure.metric)
        yield from _chart(index, workload, measure, means)
    for measure in _DISKS:
        rates = series.of_disk(index, workload, measure.metric)
        limits = _limits(index, measure.metric, rates)
        remark = f"{_BUSIEST} {_CAPS}" if limits else _BUSIEST
        yield from _chart(index, workload, measure, rates, limits, remark)
    yield from _chart(index, workload, _CPU, series.of_cpu(index, workload))


def _chart(
    index: ReportIndex,
    workload: str,
    measure: Measure,
    drawn: Series,
    limits: Sequence[CapLine] = (),
    remark: str = "",
) -> Iterator[Chart]:
    if len(drawn.table):
        name = f"{workload}-{measure.file}"
        yield time_charts.over_time(name, workload, measure, drawn, index.tiers, limits, remark)


def _limits(index: ReportIndex, metric: str, rates: Series) -> tuple[CapLine, ...]:
    tiers = {profile.name: profile.tier for profile in index.profiles}
    return time_charts.caps(tiers, metric, rates.highest)


def _caption(drawn: Sequence[Chart], bin_s: int) -> str:
    points = "second by second" if bin_s == 1 else f"means over {bin_s} s"
    first = f"One line per run, {points}; the shaded warm-up is not counted."
    remarks = sorted({chart.remark for chart in drawn}, key=len)
    return f"{first} {remarks[-1]}".rstrip()


def _by_node(index: ReportIndex, workload: str) -> Iterator[Block]:
    """Folded, and only where a cluster has more than one node: else all is drawn already."""
    nodes = [
        sum(node.role == "database" for node in data.record.nodes)
        for tier in index.tiers
        for data in index.finished(tier, workload)
    ]
    drawn = []
    bin_s = 1
    for measure in (_CPU, *_DISKS) if max(nodes, default=0) > 1 else ():
        rates = series.of_nodes(index, workload, measure.metric)
        if len(rates.table) and rates.table["node"].nunique() > 1:
            limits = _limits(index, measure.metric, rates)
            name, bin_s = f"{workload}-nodes-{measure.file}", rates.bin_s
            drawn.append(time_charts.by_node(name, workload, measure, rates, index.tiers, limits))
    if drawn:
        points = "second by second" if bin_s == 1 else f"over {bin_s} s"
        caption = f"A panel for each database node; lines are means of a tier's runs, {points}."
        yield Charts(tuple(drawn), _shown(index), caption, folded=_BY_NODE)


# ------------------------------------------------------------------ latency


def distributions(index: ReportIndex) -> tuple[Section, ...]:
    """Empty if no run kept its transactions."""
    parts = []
    for workload in index.workloads:
        drawn = tuple(latency_charts.of_workload(index, workload.name))
        if drawn:
            counted = " ".join(chart.remark for chart in drawn)
            parts.append(Part(workload.name, (Charts(drawn, _shown(index), counted),)))
    about = Part("", (_DISTRIBUTION,))
    section = Section("latency", "Latency of every transaction", (about, *parts))
    return (section,) if parts else ()


# ------------------------------------------------------------------ changes


def changes(index: ReportIndex) -> tuple[Charts, ...]:
    """The dot-and-interval charts; none if there is nothing to compare."""
    drawn = tuple(_changes(index))
    if not drawn:
        return ()
    plan = index.campaign.plan
    margin = f"Shaded: {wording.margins(plan.margin_pct, plan.p99_margin_pct)}"
    if summary.has_intervals(index):
        caption = (
            f"Dots: change of the mean; bars: {summary.levels(index)} interval, cut off if it is "
            f"far wider than the changes. {margin}, within which a change does not matter."
        )
    else:
        caption = f"Dots: change, without an interval since nothing was repeated. {margin}."
    return (Charts(drawn, index.contenders, caption),)


def _changes(index: ReportIndex) -> Iterator[Chart]:
    for metric, name, title, better in (
        ("", "throughput", "Throughput", "right is better"),
        ("latency_avg_s", "latency", "Average latency", "left is better"),
    ):
        deltas = [
            delta
            for load in (workload.name for workload in index.workloads)
            for contender in index.contenders
            if (delta := index.delta(contender, load, metric or index.throughput_metric(load)))
            and not delta.overloaded
        ]
        if deltas:
            plan = index.campaign.plan
            margin_pct = plan.p99_margin_pct if metric in PERCENTILES else plan.margin_pct
            file = f"changes-{name}"
            yield change_charts.changes(file, deltas, index.tiers, margin_pct, title, better)
