"""Charts as static SVG, drawn with altair and rendered by vl-convert: no browser, no network.

A tier has one colour in all charts and tables. The colours are those of Okabe and Ito (Color
Universal Design, 2008), chosen to stay apart for every common kind of colour blindness; yellow,
unreadable on white, gives way to grey.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import altair as alt
import vl_convert

from orchestrator import units
from orchestrator.analysis.conclusions import Delta
from orchestrator.report.series import Series
from orchestrator.tier import Tier

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#767676")
_WIDTH, _HEIGHT = 320, 150
_CAP_IN_VIEW = 2.0
_FEW_POINTS = 60  # of a whole chart: below that, dots show each second
_SHADE = "#808080"
_INK, _QUIET, _GRID = "#444444", "#666666", "#dddddd"
_Layers = alt.LayerChart | alt.FacetChart


def colours(tiers: Sequence[str]) -> dict[str, str]:
    """Tier → colour, by position; an eighth tier starts over."""
    return {tier: PALETTE[place % len(PALETTE)] for place, tier in enumerate(tiers)}


@dataclass(frozen=True)
class Cap:
    """A declared limit to draw across a chart; `label` names every tier that declares it."""

    label: str
    value: float


def caps(tiers: Mapping[str, Tier], metric: str, highest: Mapping[str, float]) -> tuple[Cap, ...]:
    """The limits that a tier came near to; one far above all lines would only flatten them."""
    names: dict[float, list[str]] = {}
    for name, tier in tiers.items():
        base, burst = tier.iops, tier.burst.iops if tier.burst else None
        if metric == "disk_bytes_per_s":
            base, burst = tier.bytes_per_s, tier.burst.bytes_per_s if tier.burst else None
        for value, words in ((base, name), (burst, f"{name} burst")):
            if value is not None and value <= _CAP_IN_VIEW * highest.get(name, 0.0):
                names.setdefault(float(value), []).append(words)
    unit = "bytes/s" if metric == "disk_bytes_per_s" else ""
    return tuple(
        Cap(f"cap of {_few(words)}: {units.format_quantity(value, unit)}", value)
        for value, words in names.items()
    )


def _few(names: Sequence[str]) -> str:
    """Two names fit beside a line; more are counted."""
    return ", ".join(names) if len(names) <= 2 else f"{len(names)} tiers"


def over_time(
    series: Series,
    tiers: Sequence[str],
    title: str,
    unit: str,
    factor: float = 1.0,
    limits: Sequence[Cap] = (),
) -> str:
    """One thin line per run in its tier's colour, warm-up shaded, limits dashed. SVG text."""
    table = series.table.assign(value=(series.table["value"] * factor).round(6))
    start_s = min(float(table["seconds"].min()), 0.0)
    heading = {"title": {"text": title, "subtitle": unit}}
    spec = dict(_over_time_spec(tuple(tiers), bool(limits), len(table) < _FEW_POINTS)) | heading
    return rendered(
        spec,
        runs=table.to_dict("records"),
        warm_up=[{"from": start_s, "to": 0.0, "text": "warm-up" if start_s else ""}],
        caps=[{"cap": cap.value * factor, "text": cap.label} for cap in limits],
    )


@cache
def _over_time_spec(tiers: tuple[str, ...], with_caps: bool, with_dots: bool) -> Mapping[str, Any]:
    """The drawing without its data. Each kind is made once, since altair is slow."""
    x = alt.X("seconds:Q", title="seconds since measuring began", scale=alt.Scale(nice=False))
    y = alt.Y("value:Q", title=None, scale=alt.Scale(zero=True))
    dots = alt.OverlayMarkDef(size=12, filled=True) if with_dots else False
    line = alt.Chart(alt.NamedData("runs")).mark_line(
        strokeWidth=1.2, opacity=0.85, clip=True, point=dots
    )
    lines = line.encode(x=x, y=y, color=colour(tiers), detail="run:N")
    layers = [_warm_up_shade(), alt.layer(lines)]
    if with_caps:
        layers.append(_cap_layers())
    spec: dict[str, Any] = alt.layer(*layers).properties(width=_WIDTH, height=_HEIGHT).to_dict()
    return spec


def colour(tiers: Sequence[str], legend: bool = True) -> alt.Color:
    scale = alt.Scale(domain=list(tiers), range=list(colours(tiers).values()))
    shown = alt.Legend(orient="bottom", columns=4, title=None, symbolType="stroke")
    return alt.Color("tier:N", scale=scale, legend=shown if legend else None)


def _warm_up_shade() -> _Layers:
    base = alt.Chart(alt.NamedData("warm_up")).encode(x="from:Q")
    shade = base.mark_rect(color=_SHADE, opacity=0.14).encode(x2="to:Q")
    word = base.mark_text(align="left", baseline="bottom", dy=-2, fontSize=10, color=_QUIET)
    return alt.layer(shade, word.encode(y=alt.value(0), text="text:N"))


def _cap_layers() -> _Layers:
    """Above the lines and in ink, since a run at its cap hides anything of its own colour."""
    base = alt.Chart(alt.NamedData("caps")).encode(y="cap:Q")
    rule = base.mark_rule(strokeDash=[5, 4], strokeWidth=1.2, color=_INK)
    word = base.mark_text(align="right", baseline="bottom", dy=-2, fontSize=10, color=_INK)
    return alt.layer(rule, word.encode(x=alt.value(_WIDTH), text="text:N"))


# ------------------------------------------------------------------ deltas


def changes(
    deltas: Sequence[Delta], tiers: Sequence[str], margin_pct: float, title: str, better: str
) -> str:
    """A dot per contender and workload with its interval; within the margin is shaded. SVG text."""
    rows = [_change_row(delta) for delta in deltas]
    scale = alt.Scale(domain=list(_domain(deltas, margin_pct)), nice=False)
    x = alt.X("change:Q", title="change against the baseline, %", scale=scale)
    y = alt.Y("tier:N", title=None, sort=list(tiers), axis=alt.Axis(domain=False, ticks=False))
    base = alt.Chart().encode(y=y, color=colour(tiers, legend=False))
    layers = (
        _margin_shade(margin_pct),
        alt.Chart().mark_rule(color=_SHADE).encode(x=alt.datum(0)),
        base.mark_rule(strokeWidth=2, clip=True).encode(x=alt.X("low:Q", scale=scale), x2="high:Q"),
        base.mark_point(size=55, filled=True, opacity=1).encode(x=x),
    )
    workloads = list(dict.fromkeys(delta.workload for delta in deltas))
    header = alt.Header(title=None, labelAlign="left", labelAnchor="start", labelOrient="top")
    chart = (
        alt.layer(*layers, data=alt.NamedData("changes"))
        .properties(width=_WIDTH - 30, height=alt.Step(18))
        .facet(row=alt.Row("workload:N", sort=workloads, header=header), spacing=8)
        .properties(title=alt.Title(title, subtitle=better))
    )
    return rendered(chart.to_dict(), changes=rows)


def _margin_shade(margin_pct: float) -> alt.Chart:
    shade: alt.Chart = alt.Chart().mark_rect(color=_SHADE, opacity=0.14)
    return shade.encode(x=alt.datum(-margin_pct), x2=alt.datum(margin_pct))


def _change_row(delta: Delta) -> dict[str, Any]:
    return {
        "tier": delta.contender,
        "workload": delta.workload,
        "change": delta.change_pct,
        "low": delta.change_pct if delta.ci_low_pct is None else delta.ci_low_pct,
        "high": delta.change_pct if delta.ci_high_pct is None else delta.ci_high_pct,
    }


def _domain(deltas: Sequence[Delta], margin_pct: float) -> tuple[float, float]:
    """All dots and the margin; intervals too, but cut if they are much wider than both."""
    rows = [_change_row(delta) for delta in deltas]
    reach = max(margin_pct, *(abs(row["change"]) for row in rows)) * 2
    low = max(min(row["low"] for row in rows), -reach, -100.0)
    high = min(max(row["high"] for row in rows), reach)
    low, high = min(low, -margin_pct), max(high, margin_pct)
    room = (high - low) * 0.05
    return low - room, high + room


# ------------------------------------------------------------------ rendering


_LOOK: Mapping[str, Any] = {
    "background": "white",
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "title": {
        "anchor": "start",
        "frame": "group",
        "fontSize": 13,
        "fontWeight": 600,
        "color": _INK,
        "subtitleColor": _QUIET,
        "subtitleFontSize": 11,
        "offset": 8,
    },
    "axis": {
        "labelColor": _QUIET,
        "titleColor": _QUIET,
        "titleFontWeight": "normal",
        "titleFontSize": 11,
        "labelFontSize": 11,
        "gridColor": _GRID,
        "domainColor": _GRID,
        "tickColor": _GRID,
        "tickCount": 5,
    },
    "axisX": {"grid": False},
    "axisY": {"minExtent": 40},
    "padding": {"left": 8, "right": 8, "top": 4, "bottom": 4},
    "legend": {"labelColor": _INK, "labelFontSize": 11, "symbolStrokeWidth": 3, "offset": 4},
    "header": {"labelColor": _INK, "labelFontSize": 11, "labelFontWeight": 600, "labelPadding": 2},
}


def rendered(spec: dict[str, Any], **tables: Sequence[Mapping[Any, Any]]) -> str:
    """SVG of a drawing with its data, which altair never sees: it would check every row."""
    full = spec | {"config": dict(_LOOK), "datasets": {k: list(v) for k, v in tables.items()}}
    return str(vl_convert.vegalite_to_svg(full))


_ID = re.compile(r'(\bid="|url\(#|href="#)([^")]+)')


def with_own_ids(svg: str, prefix: str) -> str:
    """The SVG with ids unlike those of other charts on a page, and the same at every rendering."""
    ids: dict[str, str] = {}

    def renamed(match: re.Match[str]) -> str:
        return match[1] + ids.setdefault(match[2], f"{prefix}-{len(ids)}")

    return _ID.sub(renamed, svg)
