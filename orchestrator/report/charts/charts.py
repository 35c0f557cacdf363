"""What all charts share: colours, look, and how a drawing becomes a block of the report.

`figure` is the way to add one: a Vega-Lite drawing and its data become a static SVG (drawn by
vl-convert: no browser, no network) for Markdown, print and readers without scripts, and the same
drawing with `live` additions for the page's script.

A tier has one colour in all charts and tables. The colours are those of Okabe and Ito (Color
Universal Design, 2008), chosen to stay apart for every common kind of colour blindness; yellow,
unreadable on white, gives way to grey.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import vl_convert

from orchestrator.report.blocks import Chart
from orchestrator.report.charts import live

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#767676")
WIDTH, HEIGHT = 320, 150
SHADE = "#808080"
INK, QUIET = "#444444", "#666666"
_GRID = "#dddddd"
_DIGITS = 6  # significant ones of every number drawn


@dataclass(frozen=True)
class Measure:
    """What a chart draws: a metric, or a column of a table; `file` is the end of the drawing's
    name, and `factor` makes `unit` of the base unit."""

    metric: str
    file: str
    title: str
    unit: str
    factor: float = 1.0


def colours(tiers: Sequence[str]) -> dict[str, str]:
    """Tier → colour, by position; an eighth tier starts over."""
    return {tier: PALETTE[place % len(PALETTE)] for place, tier in enumerate(tiers)}


def colour(tiers: Sequence[str], legend: bool = True) -> alt.Color:
    """The channel that gives the field `tier` its colour."""
    scale = alt.Scale(domain=list(tiers), range=list(colours(tiers).values()))
    shown = alt.Legend(orient="bottom", columns=4, title=None, symbolType="stroke")
    return alt.Color("tier:N", scale=scale, legend=shown if legend else None)


def figure(
    name: str,
    title: str,
    spec: Mapping[str, Any],
    tables: Mapping[str, Sequence[Mapping[Any, Any]]],
    remark: str = "",
    hover: Sequence[Mapping[str, Any]] = (),
) -> Chart:
    """A chart of the report.

    name: of its file, unlike those of others. title: what is drawn, with unit. spec: a Vega-Lite
    drawing (altair's `to_dict()`) whose `NamedData` are in `tables`; its marks may have tooltips,
    and rows with a field `tier` can be hidden by the page's legend. hover: layers and selections
    for the page alone (see `live`). remark: what a reader of this chart must know.
    """
    short = {key: [_short(row) for row in rows] for key, rows in tables.items()}
    svg = with_own_ids(rendered(dict(spec), **short), name)
    return Chart(name, title, svg, remark, live.drawing(spec, short, hover, title))


def _short(row: Mapping[Any, Any]) -> dict[str, Any]:
    """Figures without the digits that nobody sees; what is not a number is left out."""
    values = {
        key: float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value
        for key, value in row.items()
    }
    return {key: None if value != value else value for key, value in values.items()}


# ------------------------------------------------------------------ rendering


LOOK: Mapping[str, Any] = {
    "background": "white",
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "title": {
        "anchor": "start",
        "frame": "group",
        "fontSize": 13,
        "fontWeight": 600,
        "color": INK,
        "subtitleColor": QUIET,
        "subtitleFontSize": 11,
        "offset": 8,
    },
    "axis": {
        "labelColor": QUIET,
        "titleColor": QUIET,
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
    "legend": {"labelColor": INK, "labelFontSize": 11, "symbolStrokeWidth": 3, "offset": 4},
    "header": {"labelColor": INK, "labelFontSize": 11, "labelFontWeight": 600, "labelPadding": 2},
}


def rendered(spec: dict[str, Any], **tables: Sequence[Mapping[Any, Any]]) -> str:
    """SVG of a drawing with its data, which altair never sees: it would check every row."""
    full = spec | {"config": dict(LOOK), "datasets": {k: list(v) for k, v in tables.items()}}
    return str(vl_convert.vegalite_to_svg(full))


_ID = re.compile(r'(\bid="|url\(#|href="#)([^")]+)')


def with_own_ids(svg: str, prefix: str) -> str:
    """The SVG with ids unlike those of other charts on a page, and the same at every rendering."""
    ids: dict[str, str] = {}

    def renamed(match: re.Match[str]) -> str:
        return match[1] + ids.setdefault(match[2], f"{prefix}-{len(ids)}")

    return _ID.sub(renamed, svg)
