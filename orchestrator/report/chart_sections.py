"""The charts of a report: each workload over time, and the changes with their intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orchestrator.planning import load_points
from orchestrator.report import charts, series, summary
from orchestrator.report.blocks import Chart, Charts, Paragraph, Part, Section
from orchestrator.report.report_index import ReportIndex

_INTERVALS = (  # column, file, title, unit, subtitle, factor
    ("throughput_per_s", "throughput", "Throughput", "transactions/s", "transactions/s", 1.0),
    ("latency_p50_s", "latency-p50", "Median latency", "ms", "latency, ms", 1e3),
    ("latency_p95_s", "latency-p95", "95th percentile", "ms", "latency, ms", 1e3),
    ("latency_p99_s", "latency-p99", "99th percentile", "ms", "latency, ms", 1e3),
)
_DISK = (
    ("disk_iops", "iops", "Disk IOPS", "reads and writes per second", 1.0),
    ("disk_bytes_per_s", "bandwidth", "Disk bandwidth", "MB/s", 1e-6),
)

_BUSIEST = "Disk figures are those of the busiest database node."
_CAPS = "Dashed: the declared cap of a tier's disk, if the tier came near it."


def over_time(index: ReportIndex) -> Section:
    if all(run.intervals.empty and run.samples.empty for run in index.campaign.runs):
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
    shown = {run.profile for run in index.campaign.plan.runs if index.loss(run) is None}
    tiers = tuple(tier for tier in index.tiers if tier in shown)
    return Part(workload, (Charts(drawn, tiers, _caption(drawn, bin_s)),))


def _drawn(index: ReportIndex, workload: str) -> Iterator[Chart]:
    for column, name, title, unit, subtitle, factor in _INTERVALS:
        means = series.of_interval(index, workload, column)
        if len(means.table):
            svg = charts.over_time(means, index.tiers, title, subtitle, factor)
            yield _chart(f"{workload}-{name}", f"{title} of {workload}, {unit}", svg)
    for metric, name, title, unit, factor in _DISK:
        rates = series.of_disk(index, workload, metric)
        if len(rates.table):
            tiers = {profile.name: profile.tier for profile in index.profiles}
            caps = charts.caps(tiers, metric, rates.highest)
            svg = charts.over_time(rates, index.tiers, title, unit, factor, caps)
            remark = f"{_BUSIEST} {_CAPS}" if caps else _BUSIEST
            yield _chart(f"{workload}-{name}", f"{title} under {workload}, {unit}", svg, remark)


def _chart(name: str, title: str, svg: str, remark: str = "") -> Chart:
    return Chart(name, title, charts.with_own_ids(svg, name), remark)


def _caption(drawn: Sequence[Chart], bin_s: int) -> str:
    points = "second by second" if bin_s == 1 else f"means over {bin_s} s"
    first = f"One line per run, {points}; the shaded warm-up is not counted."
    remarks = sorted({chart.remark for chart in drawn}, key=len)
    return f"{first} {remarks[-1]}".rstrip()


def changes(index: ReportIndex) -> tuple[Charts, ...]:
    """The dot-and-interval charts; none if there is nothing to compare."""
    drawn = tuple(_changes(index))
    if not drawn:
        return ()
    margin = f"Shaded: ±{index.campaign.plan.margin_pct:g} %"
    if summary.has_intervals(index):
        caption = (
            f"Dots: change of the mean; bars: {summary.levels(index)} interval, cut off if it is "
            f"far wider than the changes. {margin}; an interval that lies within counts as the "
            "same."
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
            margin_pct = index.campaign.plan.margin_pct
            svg = charts.changes(deltas, index.tiers, margin_pct, title, better)
            yield _chart(f"changes-{name}", f"Change of {title.lower()} by tier", svg)
