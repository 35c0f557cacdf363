"""Each workload over time: one line per run, warm-up shaded, caps dashed; and node by node."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from orchestrator import units
from orchestrator.planning import factors
from orchestrator.report.blocks import (
    Block,
    Chart,
    Charts,
    Measure,
    Paragraph,
    Part,
    Section,
)
from orchestrator.report.charts import charts, series
from orchestrator.report.charts.series import BUSIEST, MEAN, Series
from orchestrator.report.prose import measures, said
from orchestrator.report.report_index import ReportIndex
from orchestrator.tier import Tier

_INTERVALS = measures("over_time.measures")
_DISKS = measures("over_time.disks")
(_CPU,) = measures("over_time.cpu")
_BY_NODE = "Node by node: CPU, IOPS and bandwidth"

_CAP_IN_VIEW = 2.0
_FEW_POINTS = 60  # of a whole chart: below that, dots show each second
# pixels of lines, and of each tier's band below them
_HEIGHT = 150
_BAND = 6
_LIMITS = {
    "IOPS cap": "#882255",
    "bandwidth cap": "#DDCC77",
    "node CPU": "#332288",
}  # its colour
_NO_STRIP = pd.DataFrame({"tier": [], "limit": []})
_SECOND = "format(datum.seconds, '.1~f') + ' s'"  # an expression of Vega
_Caps = Mapping[float, str]  # declared limit → its label


def section(index: ReportIndex) -> Section:
    alone = [load for load in index.workloads if not factors.asks(load, "load")]
    why = "The loads of a sweep are drawn against each other, above."
    if alone:
        why = ""
    if all(run.intervals.empty and run.telemetry.empty for run in index.campaign.runs):
        why = "No charts: no run left figures over time."
    if why:
        nothing = Part("", (Paragraph(why),))
        return Section("over-time", "Over time", (nothing,))
    parts = tuple(_workload_part(index, load.name) for load in alone)
    return Section("over-time", "Over time", parts)


def _workload_part(index: ReportIndex, workload: str) -> Part:
    runs = series.Runs(index, workload)
    bin_s = runs.of_interval("throughput_per_s").bin_s
    strip = runs.of_limits(bin_s)
    drawn = tuple(_drawn(index, runs, strip))
    if not drawn:
        nothing = "No charts: no run of this workload left figures over time."
        return Part(workload, (Paragraph(nothing),))
    if bin_s == 1:
        points = "second by second"
    else:
        points = f"means over {bin_s} s"
    remark = max(
        (chart.remark for chart in drawn), key=len
    )  # that of the caps holds the other
    caption = said("over_time.lines", points=points, remark=remark).rstrip()
    block = Charts(drawn, index.tiers_with_figures, caption, bands=_bands(strip))
    return Part(workload, (block, *_node_charts(index, runs)))


def _bands(strip: pd.DataFrame) -> dict[str, str]:
    """What was at its limit → its colour."""
    return {
        name: colour for name, colour in _LIMITS.items() if name in set(strip["limit"])
    }


def _drawn(
    index: ReportIndex, runs: series.Runs, strip: pd.DataFrame
) -> Iterator[Chart]:
    drawn = [(m, runs.of_interval(m.metric)) for m in _INTERVALS]
    drawn += [(m, runs.of_disk(m.metric)) for m in _DISKS]
    drawn.append((_CPU, runs.of_cpu()))
    for measure, means in drawn:
        if means.table.empty:
            continue
        limits = _limits(index, measure, means)
        remark = ""
        if measure in _DISKS:
            remark = said("over_time.busiest")
        if limits:
            remark += f" {said('over_time.caps')}"
        yield over_time(
            runs.workload, measure, means, index.tiers, limits, remark, strip
        )


def _node_charts(index: ReportIndex, runs: series.Runs) -> Iterator[Block]:
    """Folded, and only where a cluster has more than one node: else all is drawn already."""
    drawn = []
    bin_s = 1
    for measure in (_CPU, *_DISKS) if runs.nodes.max() > 1 else ():
        rates = runs.of_nodes(measure.metric)
        if len(rates.table) and rates.table["node"].nunique() > 1:
            limits = _limits(index, measure, rates)
            drawn.append(by_node(runs.workload, measure, rates, index.tiers, limits))
            bin_s = rates.bin_s
    if drawn:
        if bin_s == 1:
            points = "second by second"
        else:
            points = f"over {bin_s} s"
        caption = said("over_time.nodes", points=points)
        yield Charts(tuple(drawn), index.tiers_with_figures, caption, folded=_BY_NODE)


def _limits(index: ReportIndex, measure: Measure, drawn: Series) -> _Caps:
    """Of disks alone: a cap of IOPS is none of CPU."""
    tiers = {profile.name: profile.tier for profile in index.profiles}
    if measure in _DISKS:
        return caps(tiers, measure.metric, drawn.highest)
    return {}


def caps(
    tiers: Mapping[str, Tier], metric: str, highest: Mapping[str, float]
) -> dict[float, str]:
    """Declared limit → its label, which names every tier that declares it. Only limits that a tier
    came near to: one far above all lines would only flatten them."""
    limit, unit = (
        ("bytes_per_s", "bytes/s") if metric == "disk_bytes_per_s" else ("iops", "")
    )
    names = units.gathered(
        (float(value), f"{name}{burst}")
        for name, tier in tiers.items()
        for held, burst in ((tier.limits, ""), (tier.limits.burst, " burst"))
        if (value := getattr(held, limit, None)) is not None
        and value <= _CAP_IN_VIEW * highest.get(name, 0.0)
    )
    words = {  # two names fit beside a line
        value: ", ".join(of) if len(of) <= 2 else f"{len(of)} tiers"
        for value, of in names.items()
    }
    return {
        v: f"cap of {whose}: {units.format_quantity(v, unit)}"
        for v, whose in words.items()
    }


def over_time(
    workload: str,
    measure: Measure,
    series: Series,
    tiers: Sequence[str],
    limits: _Caps,
    remark: str = "",
    strip: pd.DataFrame = _NO_STRIP,
) -> Chart:
    """One thin line per run in its tier's colour; the busiest node's is dashed, if it is told.
    strip: what was at its limit (`Runs.of_limits`), which stands below, a line for each tier."""
    both = "of" in series.table and BUSIEST in set(series.table["of"])
    few = len(series.table) < _FEW_POINTS
    if both:
        told = {"subtitle": f"{MEAN}; dotted: {BUSIEST}"}
    else:
        told = {}
    drawn = [tier for tier in tiers if tier in set(series.table["tier"])]
    bands = _bands(strip)
    if bands:
        banded = drawn
    else:
        banded = []
    spec = charts.drawing(
        "over_time",
        tiers,
        title={"text": measure.title, **told},
        unit=measure.unit,
        dots={"size": 12, "filled": True} if few else False,
        dashes=charts.drawing("over_time.dashes", both=[MEAN, BUSIEST])
        if both
        else None,
        caps=charts.drawing("over_time.caps") if limits else None,
        height=_HEIGHT,
        below=_BAND * len(banded),
    )
    for place, tier in enumerate(banded):
        of_tier = strip[strip["tier"] == tier].drop(columns="tier")
        spec["layer"].append(_band(place, charts.colours(tiers)[tier], of_tier, bands))
    title = f"{measure.title} under {workload}, {measure.unit}"
    lines = drawn
    line = "datum.tier"
    if both:
        lines = [
            f"{tier}, {of}"
            for tier in drawn
            for of in dict.fromkeys(series.table["of"])
        ]
        line = "datum.tier + ', ' + datum.of"
    asked = measure.unit, _SECOND, [charts.drawing("zoom")]
    reading = charts.readings("runs", "seconds", lines, *asked, line=line)
    tables = _tables(series, measure, limits)
    return charts.figure(
        f"{workload}-{measure.file}", title, spec, tables, remark, [reading]
    )


def _band(
    place: int, colour: str, strip: pd.DataFrame, bands: Mapping[str, str]
) -> dict[str, Any]:
    """Between the lines and their axis: what was at its limit, behind the tier's colour. Its data
    are its own: a tier that is hidden, or never at a limit, must leave no axis without values."""
    bottom = _HEIGHT + _BAND * (place + 1)
    edges: dict[str, Any] = {"top": bottom - _BAND + 2, "bottom": bottom}
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
    return {
        "runs": table.to_dict("records"),
        "warm_up": [{"from": start_s, "to": 0.0, "text": "warm-up" if start_s else ""}],
        "caps": [
            {"cap": value * measure.factor, "text": label}
            for value, label in limits.items()
        ],
    }


def by_node(
    workload: str, measure: Measure, series: Series, tiers: Sequence[str], limits: _Caps
) -> Chart:
    """A panel for each node, one below the other, with the same axes; a line for each tier."""
    spec = charts.drawing(
        "by_node",
        tiers,
        title=f"{measure.title}, node by node",
        unit=measure.unit,
        nodes=list(dict.fromkeys(series.table["node"])),
        caps=charts.drawing("by_node.caps") if limits else None,
    )
    title = f"{measure.title} of each node under {workload}, {measure.unit}"
    drawn = [tier for tier in tiers if tier in set(series.table["tier"])]
    reading = charts.readings(
        "runs", "seconds", drawn, measure.unit, _SECOND, panel="node"
    )
    tables = _tables(series, measure, limits)
    name = f"{workload}-nodes-{measure.file}"
    return charts.figure(name, title, spec, tables, hover=[reading])
