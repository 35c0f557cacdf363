"""Charts over time: one line per run, warm-up shaded, declared limits dashed; and node by node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import altair as alt

from orchestrator import units
from orchestrator.report.blocks import Chart
from orchestrator.report.charts import charts, live
from orchestrator.report.charts.charts import Measure
from orchestrator.report.charts.series import BUSIEST, MEAN, Series
from orchestrator.tier import Tier

_CAP_IN_VIEW = 2.0
_FEW_POINTS = 60  # of a whole chart: below that, dots show each second
_NODE_HEIGHT = 56
_SECONDS = "seconds since measuring began"
_SECOND = "format(datum.seconds, '.1~f') + ' s'"  # an expression of Vega
_Layers = alt.LayerChart | alt.FacetChart


@dataclass(frozen=True)
class CapLine:
    """A declared limit to draw across a chart; `label` names every tier that declares it."""

    label: str
    value: float


def caps(
    tiers: Mapping[str, Tier], metric: str, highest: Mapping[str, float]
) -> tuple[CapLine, ...]:
    """The limits that a tier came near to; one far above all lines would only flatten them."""
    names: dict[float, list[str]] = {}
    for name, tier in tiers.items():
        limit = "bytes_per_s" if metric == "disk_bytes_per_s" else "iops"
        base, burst = getattr(tier.limits, limit), getattr(tier.limits.burst, limit, None)
        for value, words in ((base, name), (burst, f"{name} burst")):
            if value is not None and value <= _CAP_IN_VIEW * highest.get(name, 0.0):
                names.setdefault(float(value), []).append(words)
    unit = "bytes/s" if metric == "disk_bytes_per_s" else ""
    return tuple(
        CapLine(f"cap of {_few(words)}: {units.format_quantity(value, unit)}", value)
        for value, words in names.items()
    )


def _few(names: Sequence[str]) -> str:
    """Two names fit beside a line; more are counted."""
    return ", ".join(names) if len(names) <= 2 else f"{len(names)} tiers"


def over_time(
    name: str,
    workload: str,
    measure: Measure,
    series: Series,
    tiers: Sequence[str],
    limits: Sequence[CapLine] = (),
    remark: str = "",
) -> Chart:
    """One thin line per run in its tier's colour; if the series tells mean from busiest, the
    busiest is dashed."""
    both = "of" in series.table and BUSIEST in set(series.table["of"])
    few = len(series.table) < _FEW_POINTS
    spec = dict(_over_time_spec(tuple(tiers), measure.unit, bool(limits), few, both))
    told = {"subtitle": f"{MEAN}; dotted: {BUSIEST}"} if both else {}
    spec["title"] = {"text": measure.title, **told}
    title = f"{measure.title} under {workload}, {measure.unit}"
    drawn = [tier for tier in tiers if tier in set(series.table["tier"])]
    lines = {tier: live.of_tier(tier) for tier in drawn}
    if both:
        lines = {
            f"{tier}, {of}": f"{live.of_tier(tier)} && datum.of === '{of}'"
            for tier in drawn
            for of in dict.fromkeys(series.table["of"])
        }
    reading = live.readings("runs", "seconds", lines, measure.unit, _SECOND, more=[live.zoom("x")])
    return charts.figure(name, title, spec, _tables(series, measure, limits), remark, [reading])


def _tables(
    series: Series, measure: Measure, limits: Sequence[CapLine]
) -> dict[str, list[dict[Any, Any]]]:
    table = series.table.assign(value=series.table["value"] * measure.factor)
    start_s = min(float(table["seconds"].min()), 0.0)
    return {
        "runs": table.to_dict("records"),
        "warm_up": [{"from": start_s, "to": 0.0, "text": "warm-up" if start_s else ""}],
        "caps": [{"cap": cap.value * measure.factor, "text": cap.label} for cap in limits],
    }


@cache
def _over_time_spec(
    tiers: tuple[str, ...], unit: str, with_caps: bool, with_dots: bool, both: bool
) -> Mapping[str, Any]:
    """The drawing without its data. Each kind is made once, since altair is slow."""
    runs = alt.Chart(alt.NamedData("runs"))
    lines = _lines(runs, tiers, unit, with_dots)
    if both:
        scale = alt.Scale(domain=[MEAN, BUSIEST], range=[[1, 0], [2, 2]])
        lines = lines.encode(strokeDash=alt.StrokeDash("of:N", scale=scale, legend=None))
    layers = [_warm_up_shade(), alt.layer(lines)]
    if with_caps:
        layers.append(_cap_layers())
    chart = alt.layer(*layers).properties(width=charts.WIDTH, height=charts.HEIGHT)
    spec: dict[str, Any] = chart.to_dict()
    return spec


def _lines(
    base: alt.Chart, tiers: Sequence[str], unit: str, with_dots: bool, legend: bool = True
) -> alt.Chart:
    x = alt.X("seconds:Q", title=_SECONDS, scale=alt.Scale(nice=False))
    y = alt.Y("value:Q", title=unit, scale=alt.Scale(zero=True))
    dots = alt.OverlayMarkDef(size=12, filled=True) if with_dots else False
    line: alt.Chart = base.mark_line(strokeWidth=1.2, opacity=0.85, clip=True, point=dots)
    return line.encode(x=x, y=y, color=charts.colour(tiers, legend), detail="run:N")


def _warm_up_shade() -> _Layers:
    base = alt.Chart(alt.NamedData("warm_up")).encode(x="from:Q")
    shade = base.mark_rect(color=charts.SHADE, opacity=0.14, clip=True).encode(x2="to:Q")
    word = _words(base, "left", charts.QUIET)
    return alt.layer(shade, word.encode(x=alt.value(0), y=alt.value(0), text="text:N"))


def _cap_layers() -> _Layers:
    """Above the lines and in ink, since a run at its cap hides anything of its own colour."""
    base = alt.Chart(alt.NamedData("caps")).encode(y="cap:Q")
    rule = base.mark_rule(strokeDash=[5, 4], strokeWidth=1.2, color=charts.INK)
    word = _words(base, "right", charts.INK)
    return alt.layer(rule, word.encode(x=alt.value("width"), text="text:N"))


def _words(base: alt.Chart, align: Literal["left", "right"], ink: str) -> alt.Chart:
    """Small text that may stand above the plot, where a zoom would cut it off."""
    text: alt.Chart = base.mark_text(
        align=align, baseline="bottom", dy=-2, fontSize=10, color=ink, clip=False
    )
    return text


# ------------------------------------------------------------------ node by node


def by_node(
    name: str,
    workload: str,
    measure: Measure,
    series: Series,
    tiers: Sequence[str],
    limits: Sequence[CapLine] = (),
) -> Chart:
    """A panel for each node, one below the other, with the same axes; a line for each tier."""
    # Without data of their own: each panel has its part of the facet's.
    lines = _lines(alt.Chart(), tiers, measure.unit, with_dots=False, legend=False)
    shade = alt.Chart(alt.NamedData("warm_up")).mark_rect(color=charts.SHADE, opacity=0.14)
    layers = [shade.encode(x="from:Q", x2="to:Q"), lines]
    if limits:
        rule = alt.Chart(alt.NamedData("caps")).mark_rule(strokeDash=[5, 4], color=charts.INK)
        layers.append(rule.encode(y="cap:Q"))
    header = alt.Header(title=None, labelAlign="left", labelAnchor="start", labelOrient="top")
    nodes = list(dict.fromkeys(series.table["node"]))
    chart = (
        alt.layer(*layers, data=alt.NamedData("runs"))
        .properties(width=charts.WIDTH - 30, height=_NODE_HEIGHT)
        .facet(row=alt.Row("node:N", sort=nodes, header=header), spacing=8)
        .properties(title=f"{measure.title}, node by node")
    )
    title = f"{measure.title} of each node under {workload}, {measure.unit}"
    each = {tier: live.of_tier(tier) for tier in tiers if tier in set(series.table["tier"])}
    reading = live.readings("runs", "seconds", each, measure.unit, _SECOND, panel="node")
    tables = _tables(series, measure, limits)
    return charts.figure(name, title, chart.to_dict(), tables, hover=[reading])
