"""Which charts a report has: each workload over time, and the changes with their intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orchestrator.report import charts, series
from orchestrator.report.blocks import Figure, Figures, Paragraph, Part, Section
from orchestrator.report.findings import Findings

_LATENCIES = (("p50", "Median latency"), ("p95", "95th percentile"), ("p99", "99th percentile"))
_DISK = (
    ("disk_iops", "iops", "Disk IOPS", "reads and writes per second", 1.0),
    ("disk_bytes_per_s", "bandwidth", "Disk bandwidth", "MB/s", 1e-6),
)

_BUSIEST = "Disk figures are those of the busiest database node."
_CAPS = "Dashed: the declared cap of a tier's disk, where the tier came near it."


def over_time(findings: Findings) -> Section:
    parts = [_workload_part(findings, workload.name) for workload in findings.workloads]
    return Section("over-time", "Over time", tuple(parts))


def _workload_part(findings: Findings, workload: str) -> Part:
    drawn = tuple(_drawn(findings, workload))
    if not drawn:
        nothing = "No charts: no run of this workload left figures over time."
        return Part(workload, (Paragraph(nothing),))
    bin_s = series.of_interval(findings, workload, "throughput_per_s").bin_s
    shown = {run.profile for run in findings.campaign.plan.runs if findings.loss(run) is None}
    tiers = tuple(tier for tier in findings.tiers if tier in shown)
    return Part(workload, (Figures(drawn, tiers, _caption(drawn, bin_s)),))


def _drawn(findings: Findings, workload: str) -> Iterator[Figure]:
    rates = series.of_interval(findings, workload, "throughput_per_s")
    if len(rates.table):
        svg = charts.over_time(rates, findings.tiers, "Throughput", "transactions/s")
        yield _figure(f"{workload}-throughput", f"Throughput of {workload}, transactions/s", svg)
    for name, title in _LATENCIES:
        times = series.of_interval(findings, workload, f"latency_{name}_s")
        if len(times.table):
            svg = charts.over_time(times, findings.tiers, title, "latency, ms", 1e3)
            yield _figure(f"{workload}-latency-{name}", f"{title} of {workload}, ms", svg)
    for metric, name, title, unit, factor in _DISK:
        found = series.of_disk(findings, workload, metric)
        if len(found.table):
            tiers = {profile.name: profile.tier for profile in findings.profiles}
            limits = charts.caps(tiers, metric, found.highest)
            svg = charts.over_time(found, findings.tiers, title, unit, factor, limits)
            remark = f"{_BUSIEST} {_CAPS}" if limits else _BUSIEST
            what = f"{title} under {workload}, {unit}"
            yield _figure(f"{workload}-{name}", what, svg, remark)


def _figure(name: str, title: str, svg: str, remark: str = "") -> Figure:
    return Figure(name, title, charts.with_own_ids(svg, name), remark)


def _caption(drawn: Sequence[Figure], bin_s: int) -> str:
    points = "second by second" if bin_s == 1 else f"means over {bin_s} s"
    first = f"One line per run, {points}; the shaded warm-up is not counted."
    remarks = sorted({figure.remark for figure in drawn}, key=len)
    return f"{first} {remarks[-1]}".rstrip()


def changes(findings: Findings) -> tuple[Figures, ...]:
    """The dot-and-interval charts, or nothing where there is nothing to compare."""
    drawn = tuple(_changes(findings))
    if not drawn:
        return ()
    caption = (
        "Dots: change of the mean; bars: 95 % interval, cut off where it is far wider than the "
        f"changes. Shaded: ±{findings.campaign.plan.margin_pct:g} %; an interval that lies within "
        "counts as the same."
    )
    return (Figures(drawn, findings.contenders, caption),)


def _changes(findings: Findings) -> Iterator[Figure]:
    for name, title, better in (
        ("throughput", "Throughput", "right is better"),
        ("latency", "Average latency", "left is better"),
    ):
        found = [
            delta
            for workload in findings.workloads
            for contender in findings.contenders
            if (
                delta := findings.delta(
                    contender, workload.name, _metric(findings, name, workload.name)
                )
            )
        ]
        if found:
            margin_pct = findings.campaign.plan.margin_pct
            svg = charts.changes(found, findings.tiers, margin_pct, title, better)
            yield _figure(f"changes-{name}", f"Change of {title.lower()} by tier", svg)


def _metric(findings: Findings, name: str, workload: str) -> str:
    return "latency_avg_s" if name == "latency" else findings.throughput_metric(workload)
