"""Each workload over time: one line per run, or of many runs their median and its band; warm-up
shaded, caps dashed; and node by node."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from orchestrator import units
from orchestrator.design import factors
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
from orchestrator.report.charts import charts
from orchestrator.report.charts.series import BUSIEST, MEAN, Runs, Series
from orchestrator.report.report_index import ReportIndex
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
_CPU = Measure("cpu_pct", "cpu", "CPU of the database nodes", "% of limit")
_BY_NODE = "Node by node: CPU, IOPS and bandwidth"

# A cap is drawn if a tier came to half of it: one far above all lines would only flatten them.
_CAP_IN_VIEW = 2.0
_FEW_POINTS = 60  # of a whole chart: below that, dots show each second
_NAMES_BESIDE_A_LINE = 2
# pixels of lines, and of each tier's band below them
_HEIGHT = 150
_BAND = 6
# What was at its limit → its colour.
_LIMITS = {
    "IOPS cap": "#882255",
    "bandwidth cap": "#DDCC77",
    "node CPU": "#332288",
}
_NO_STRIP = pd.DataFrame({"tier": [], "limit": []})
_SECOND = "format(datum.seconds, '.1~f') + ' s'"  # an expression of Vega
_Caps = Mapping[float, str]  # declared limit → its label


def section(index: ReportIndex) -> Section:
    """The section for each workload that is no load of a sweep."""
    alone = [load for load in index.workloads if not factors.asks(load, "load")]
    nothing = _why_nothing(index, alone)
    if nothing:
        parts = [Part("", (Paragraph(nothing),))]
    else:
        parts = [_workload_part(index, load.name) for load in alone]
    return Section("over-time", "Over time", tuple(parts))


def _why_nothing(index: ReportIndex, alone: Sequence[Workload]) -> str:
    """Why no workload is drawn; empty if one may be."""
    runs = index.campaign.runs
    if all(run.intervals.empty and run.telemetry.empty for run in runs):
        return "No charts: no run left figures over time."
    if not alone:
        return "The loads of a sweep are drawn against each other, above."
    return ""


def _workload_part(index: ReportIndex, workload: str) -> Part:
    runs = Runs(index, workload)
    bin_s = runs.of_interval("throughput_per_s").bin_s
    strip = runs.of_limits(bin_s)
    drawn = tuple(_drawn(index, runs, strip))
    if not drawn:
        nothing = "No charts: no run of this workload left figures over time."
        return Part(workload, (Paragraph(nothing),))
    caption = _caption(drawn, bin_s, runs.are_many)
    block = Charts(drawn, index.tiers_with_figures, caption, bands=_bands(strip))
    return Part(workload, (block, *_node_charts(index, runs)))


def _caption(drawn: Sequence[Chart], bin_s: int, are_many: bool) -> str:
    points = "second by second"
    if bin_s > 1:
        points = f"means over {bin_s} s"
    lines = "One line per run"
    if are_many:
        lines = "Lines are medians of a tier's runs, and the tint holds the middle 80 % of them"
    # Remarks differ by a sentence at their end: the longest holds the others.
    remark = max((chart.remark for chart in drawn), key=len)
    return (
        f"{lines}, {points}. The shaded warm-up is not counted. {remark} The band below: "
        "what was at its limit in most of a tier's runs, on the node judged."
    )


def _bands(strip: pd.DataFrame) -> dict[str, str]:
    """What was at its limit → its colour."""
    limits = set(strip["limit"])
    return {name: colour for name, colour in _LIMITS.items() if name in limits}


def _drawn(index: ReportIndex, runs: Runs, strip: pd.DataFrame) -> Iterator[Chart]:
    for measure, means in _measured(runs):
        if means.table.empty:
            continue
        limits = _limits(index, measure, means)
        remark = _remark(measure, limits)
        yield over_time(
            runs.workload, measure, means, index.tiers, limits, remark, strip
        )


def _measured(runs: Runs) -> Iterator[tuple[Measure, Series]]:
    for measure in _INTERVALS:
        yield measure, runs.of_interval(measure.metric)
    for measure in _DISKS:
        yield measure, runs.of_disk(measure.metric)
    yield _CPU, runs.of_cpu()


def _remark(measure: Measure, limits: _Caps) -> str:
    remark = ""
    if measure in _DISKS:
        remark = "Disk figures are those of the busiest database node."
    if limits:
        remark += (
            " Dashed: the declared cap of a tier's disk, if the tier came near it."
        )
    return remark


def _node_charts(index: ReportIndex, runs: Runs) -> Iterator[Block]:
    """Folded, and only where a cluster has more than one node: else all is drawn already."""
    if not runs.nodes.max() > 1:
        return
    drawn: list[Chart] = []
    points = "second by second"
    for measure in (_CPU, *_DISKS):
        rates = runs.of_nodes(measure.metric)
        if rates.table.empty or rates.table["node"].nunique() < 2:
            continue
        limits = _limits(index, measure, rates)
        drawn.append(by_node(runs.workload, measure, rates, index.tiers, limits))
        points = "second by second"
        if rates.bin_s > 1:
            points = f"over {rates.bin_s} s"
    if drawn:
        caption = f"A panel for each database node; lines are means of a tier's runs, {points}."
        yield Charts(tuple(drawn), index.tiers_with_figures, caption, folded=_BY_NODE)


# ------------------------------------------------------------------ caps


def _limits(index: ReportIndex, measure: Measure, drawn: Series) -> _Caps:
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
        if len(names) > _NAMES_BESIDE_A_LINE:
            whose = f"{len(names)} tiers"
        labels[value] = f"cap of {whose}: {_cap_in_words(value, metric)}"
    return labels


def _in_view(
    tiers: Mapping[str, Tier], metric: str, highest: Mapping[str, float]
) -> Iterator[tuple[float, str]]:
    """Each limit that a tier came near to, and whose it is."""
    for name, tier in tiers.items():
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


# ------------------------------------------------------------------ drawings


def over_time(
    workload: str,
    measure: Measure,
    series: Series,
    tiers: Sequence[str],
    limits: _Caps,
    remark: str = "",
    strip: pd.DataFrame = _NO_STRIP,
) -> Chart:
    """One thin line per run, or the median of many, in its tier's colour; the busiest node's is
    dashed, if it is told.
    strip: what was at its limit (`Runs.of_limits`), which stands below, a line for each tier."""
    drawn = _drawn_tiers(series, tiers)
    banded: list[str] = []
    if _bands(strip):
        banded = drawn
    parts = _optional_parts(series, limits, tiers, measure.unit)
    spec = charts.drawing(
        "over_time",
        tiers,
        title=_heading(measure, series),
        unit=measure.unit,
        dots=parts.dots,
        dashes=parts.dashes,
        caps=parts.caps,
        spread=parts.spread,
        height=_HEIGHT,
        below=_BAND * len(banded),
    )
    spec["layer"] += _bands_of_tiers(tiers, banded, strip)
    reading = _reading(series, drawn, measure.unit)
    title = f"{measure.title} under {workload}, {measure.unit}"
    tables = _tables(series, measure, limits)
    name = f"{workload}-{measure.file}"
    return charts.figure(name, title, spec, tables, remark, [reading])


def _drawn_tiers(series: Series, tiers: Sequence[str]) -> list[str]:
    with_figures = set(series.table["tier"])
    return [tier for tier in tiers if tier in with_figures]


def _has_busiest(series: Series) -> bool:
    """Whether it has the line of the busiest node beside that of the mean."""
    return "of" in series.table and BUSIEST in set(series.table["of"])


def _heading(measure: Measure, series: Series) -> dict[str, str]:
    if not _has_busiest(series):
        return {"text": measure.title}
    return {"text": measure.title, "subtitle": f"{MEAN}; dotted: {BUSIEST}"}


@dataclass(frozen=True)
class _OptionalParts:
    """Parts of a chart in Vega-Lite, None where a chart has none of it.

    `dots` must be told to be off.
    """

    dots: dict[str, Any] | bool
    dashes: dict[str, Any] | None
    caps: dict[str, Any] | None
    spread: dict[str, Any] | None


def _optional_parts(
    series: Series, limits: _Caps, tiers: Sequence[str], unit: str
) -> _OptionalParts:
    dots: dict[str, Any] | bool = False
    if len(series.table) < _FEW_POINTS:
        dots = {"size": 12, "filled": True}
    dashes = None
    if _has_busiest(series):
        dashes = charts.drawing("over_time.dashes", both=[MEAN, BUSIEST])
    caps = None
    if limits:
        caps = charts.drawing("over_time.caps")
    spread = None
    if "low" in series.table:
        spread = charts.drawing("over_time.spread", tiers, unit=unit)
    return _OptionalParts(dots, dashes, caps, spread)


def _reading(series: Series, drawn: Sequence[str], unit: str) -> dict[str, Any]:
    """The values under the pointer, of each tier, or of its mean and its busiest node."""
    lines = list(drawn)
    line = "datum.tier"
    if _has_busiest(series):
        kinds = list(dict.fromkeys(series.table["of"]))
        lines = [f"{tier}, {kind}" for tier in drawn for kind in kinds]
        line = "datum.tier + ', ' + datum.of"
    zoom = [charts.drawing("zoom")]
    return charts.readings("runs", "seconds", lines, unit, _SECOND, zoom, line=line)


def _bands_of_tiers(
    tiers: Sequence[str], banded: Sequence[str], strip: pd.DataFrame
) -> Iterator[dict[str, Any]]:
    bands = _bands(strip)
    colours = charts.colours(tiers)
    for place, tier in enumerate(banded):
        tier_rows = strip[strip["tier"] == tier].drop(columns="tier")
        yield _band(place, colours[tier], tier_rows, bands)


def _band(
    place: int, colour: str, strip: pd.DataFrame, bands: Mapping[str, str]
) -> dict[str, Any]:
    """Between the lines and their axis: what was at its limit, behind the tier's colour. Its data
    are its own: a tier that is hidden, or never at a limit, must leave no axis without values."""
    bottom = _HEIGHT + _BAND * (place + 1)
    top = bottom - _BAND + 2
    edges: dict[str, Any] = {"top": top, "bottom": bottom}
    limits = {"domain": list(bands), "range": list(bands.values())}
    rows = {"values": strip.to_dict("records")}
    parts = [charts.drawing("over_time.band", rows=[{}], colour=colour, **edges)]
    if len(strip):
        parts.append(
            charts.drawing("over_time.stretches", rows=rows, limits=limits, **edges)
        )
    return {"layer": parts}


def _tables(
    series: Series, measure: Measure, limits: _Caps
) -> dict[str, list[dict[Any, Any]]]:
    table = series.table.assign(value=series.table["value"] * measure.factor)
    start_s = min(float(table["seconds"].min()), 0.0)
    warm_up = {"from": start_s, "to": 0.0, "text": ""}
    if start_s:
        warm_up["text"] = "warm-up"
    caps: list[dict[Any, Any]] = []
    for value, label in limits.items():
        caps.append({"cap": value * measure.factor, "text": label})
    tables = {"warm_up": [warm_up], "caps": caps}
    if "low" in table:
        tables["spread"] = _spread(table, measure)
        table = table.drop(columns=["low", "high"])
    return {**tables, "runs": table.to_dict("records")}


def _spread(table: pd.DataFrame, measure: Measure) -> list[dict[Any, Any]]:
    """Between which values most runs of a tier were; of nodes that of their mean alone."""
    if "of" in table:
        table = table[table["of"] == MEAN]
    bounds = table[["tier", "seconds", "low", "high"]]
    for column in ("low", "high"):
        bounds = bounds.assign(**{column: bounds[column] * measure.factor})
    return bounds.to_dict("records")


def by_node(
    workload: str, measure: Measure, series: Series, tiers: Sequence[str], limits: _Caps
) -> Chart:
    """A panel for each node, one below the other, with the same axes; a line for each tier."""
    caps = None
    if limits:
        caps = charts.drawing("by_node.caps")
    spec = charts.drawing(
        "by_node",
        tiers,
        title=f"{measure.title}, node by node",
        unit=measure.unit,
        nodes=list(dict.fromkeys(series.table["node"])),
        caps=caps,
    )
    drawn = _drawn_tiers(series, tiers)
    reading = charts.readings(
        "runs", "seconds", drawn, measure.unit, _SECOND, panel="node"
    )
    name = f"{workload}-nodes-{measure.file}"
    title = f"{measure.title} of each node under {workload}, {measure.unit}"
    tables = _tables(series, measure, limits)
    return charts.figure(name, title, spec, tables, hover=[reading])
