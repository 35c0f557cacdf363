"""Each workload over time: one line per run, or of many runs their median and its band; warm-up
shaded, caps dashed; and node by node."""

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from orchestrator import units
from orchestrator.design import slow_disks, varied_workloads
from orchestrator.design.slow_disks import SlowTime
from orchestrator.model import Workload
from orchestrator.report.blocks import (
    Block,
    Chart,
    Charts,
    Measure,
    Paragraph,
    Part,
    Section,
)
from orchestrator.report.charts.series import Runs, Series
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections import over_time_charts
from orchestrator.tier import Tier

_INTERVALS = (
    Measure("throughput_per_s", "throughput", "Throughput", "transactions/s"),
    Measure("latency_p50_s", "latency-p50", "Median latency", "ms", 1e3),
    Measure("latency_p95_s", "latency-p95", "95th percentile latency", "ms", 1e3),
    Measure("latency_p99_s", "latency-p99", "99th percentile latency", "ms", 1e3),
)
_DISKS = (
    Measure("disk_iops", "iops", "Disk IOPS", "IOPS"),
    Measure("disk_bytes_per_s", "bandwidth", "Disk bandwidth", "MB/s", 1e-6),
)
_HELD_BACK = Measure(
    "held_back_pct",
    "held-back",
    "Held back by disk limits",
    "% of time, by its own count",
)
_CPU = Measure("cpu_pct", "cpu", "CPU of the database nodes", "% of limit")
_BY_NODE = "Node by node: CPU, IOPS and bandwidth"

# A cap is drawn if a tier came to half of it: one far above all lines would only flatten them.
_CAP_IN_VIEW = 2.0
_NAMES_BESIDE_A_LINE = 2


def section(index: ReportIndex) -> Section:
    """The section for each workload that is no load of a sweep."""
    alone = [
        load
        for load in index.workloads
        if not varied_workloads.asked_value(load, "load")
    ]
    nothing = _why_nothing(index, alone)
    if nothing:
        parts = [Part("", (Paragraph(nothing),))]
    else:
        parts = [_workload_part(index, load) for load in alone]
    return Section("over-time", "Over time", tuple(parts))


def _why_nothing(index: ReportIndex, alone: Sequence[Workload]) -> str:
    """Why no workload is drawn; empty if one may be."""
    runs = index.campaign.runs
    if all(run.intervals.empty and run.telemetry.empty for run in runs):
        return "No charts: no run left figures over time."
    if not alone:
        return "The loads of a sweep are drawn against each other, above."
    return ""


def _workload_part(index: ReportIndex, load: Workload) -> Part:
    workload = load.name
    runs = Runs(index, workload)
    slow = slow_disks.slow_time(load.slow, load.measure_s)
    # The band below is cut at the same moments as the lines above it.
    bin_s = runs.of_interval("throughput_per_s").bin_s
    strip = runs.of_limits(bin_s)
    drawn = tuple(_drawn(index, runs, strip, slow))
    if not drawn:
        nothing = "No charts: no run of this workload left figures over time."
        return Part(workload, (Paragraph(nothing),))
    caption = _caption(drawn, bin_s, runs.are_many, slow)
    block = Charts(
        drawn,
        index.tiers_with_figures,
        caption,
        bands=over_time_charts.colours_of_limits(strip),
    )
    return Part(workload, (block, *_node_charts(index, runs, slow)))


def _caption(
    drawn: Sequence[Chart], bin_s: int, are_many: bool, slow: SlowTime | None
) -> str:
    points = "second by second"
    if bin_s > 1:
        points = f"means over {bin_s} s"
    lines = "One line per run"
    if are_many:
        lines = "Lines are medians of a tier's runs, and the tint holds the middle 80 % of them"
    # Remarks differ by a sentence at their end: the longest holds the others.
    remark = max((chart.remark for chart in drawn), key=len)
    shaded = "The shaded warm-up is not counted."
    if slow is not None:
        shaded = f"{shaded} Shaded too: the time in which a disk was slow."
    return (
        f"{lines}, {points}. {shaded} {remark} The band below: "
        "what was at its limit in most of a tier's runs, on the node judged."
    )


def _drawn(
    index: ReportIndex, runs: Runs, strip: pd.DataFrame, slow: SlowTime | None
) -> Iterator[Chart]:
    for measure, means in _measured(runs):
        # A run may have left no samples, and then has no lines of disks and CPU.
        if means.table.empty:
            continue
        limits = _limits(index, measure, means)
        remark = _remark(measure, limits)
        yield over_time_charts.over_time(
            runs.workload, measure, means, index.tiers, limits, remark, strip, slow
        )


def _measured(runs: Runs) -> Iterator[tuple[Measure, Series]]:
    for measure in _INTERVALS:
        yield measure, runs.of_interval(measure.metric)
    for measure in _DISKS:
        yield measure, runs.of_disk(measure.metric)
    yield _HELD_BACK, runs.of_disk(_HELD_BACK.metric)
    yield _CPU, runs.of_cpu()


def _remark(measure: Measure, limits: over_time_charts.Caps) -> str:
    remark = ""
    if measure in _DISKS:
        remark = "Disk figures are those of the busiest database node."
    if limits:
        remark += (
            " Dashed: the declared cap of a tier's disk, if the tier came near it."
        )
    return remark


def _node_charts(
    index: ReportIndex, runs: Runs, slow: SlowTime | None
) -> Iterator[Block]:
    """Folded, and only where a cluster has more than one node: else all is drawn already."""
    # Written so, because the maximum of no runs is NaN, of which every comparison is false.
    if not runs.nodes.max() > 1:
        return
    drawn: list[Chart] = []
    points = "second by second"
    for measure in (_CPU, *_DISKS):
        rates = runs.of_nodes(measure.metric)
        # The chart above has the line already of a tier on one node.
        if rates.table.empty or rates.table["node"].nunique() < 2:
            continue
        limits = _limits(index, measure, rates)
        drawn.append(
            over_time_charts.by_node(
                runs.workload, measure, rates, index.tiers, limits, slow
            )
        )
        points = "second by second"
        if rates.bin_s > 1:
            points = f"over {rates.bin_s} s"
    if drawn:
        caption = f"A panel for each database node; lines are means of a tier's runs, {points}."
        yield Charts(tuple(drawn), index.tiers_with_figures, caption, folded=_BY_NODE)


# ------------------------------------------------------------------ caps


def _limits(
    index: ReportIndex, measure: Measure, drawn: Series
) -> over_time_charts.Caps:
    """The caps to draw. A cap of a disk is drawn with figures of disks alone."""
    if measure not in _DISKS:
        return {}
    tiers = {profile.name: profile.tier for profile in index.profiles}
    return caps(tiers, measure.metric, drawn.highest)


def caps(
    tiers: Mapping[str, Tier], metric: str, highest: Mapping[str, float]
) -> dict[float, str]:
    """Declared limit → its label, which names every tier that declares it. Only limits that a tier
    came near to."""
    labels: dict[float, str] = {}
    in_view = units.gathered(_in_view(tiers, metric, highest))
    for value, names in in_view.items():
        whose = ", ".join(names)
        # More names would be longer than the chart is wide.
        if len(names) > _NAMES_BESIDE_A_LINE:
            whose = f"{len(names)} tiers"
        # Tiers of the same cap share a line, whose labels would else lie on each other.
        labels[value] = f"cap of {whose}: {_cap_in_words(value, metric)}"
    return labels


def _in_view(
    tiers: Mapping[str, Tier], metric: str, highest: Mapping[str, float]
) -> Iterator[tuple[float, str]]:
    """Each limit that a tier came near to, and whose it is."""
    for name, tier in tiers.items():
        # A tier without figures has no highest one, and so no cap in view.
        most = _CAP_IN_VIEW * highest.get(name, 0.0)
        for whose, value in _declared(name, tier, metric):
            if value is not None and value <= most:
                yield float(value), whose


def _declared(name: str, tier: Tier, metric: str) -> Iterator[tuple[str, float | None]]:
    """What a tier is held to for good, and in a burst."""
    limits = tier.limits
    burst = limits.burst
    if metric == "disk_bytes_per_s":
        yield name, limits.bytes_per_s
        # A disk goes beyond its cap in a burst, which without this line would seem a fault.
        if burst is not None:
            yield f"{name} burst", burst.bytes_per_s
        return
    yield name, limits.iops
    if burst is not None:
        yield f"{name} burst", burst.iops


def _cap_in_words(value: float, metric: str) -> str:
    if metric == "disk_bytes_per_s":
        return units.format_quantity(value, "bytes/s")
    return units.format_quantity(value, "")
