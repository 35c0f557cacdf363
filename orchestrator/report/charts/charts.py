"""What all charts share: drawings in Vega-Lite (drawings.yaml), colours, and how a drawing becomes
a block of the report: a static SVG, and the same with what makes it live on the page (`figure`).

A tier has one colour everywhere, of those of Okabe and Ito (Color Universal Design, 2008), which
stay apart for every common kind of colour blindness; grey takes the place of their yellow."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.keys.shipped_yaml import filled, shipped
from orchestrator.report.blocks import Chart
from orchestrator.report.charts import vega_library
from orchestrator.texts.foreign_text import printable

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#767676")
# Significant digits of every number drawn. A chart is some hundred pixels high, so more are not
# seen, and a page goes into mails and tickets.
_DIGITS = 5
# A label is of 11 px. Names and prices in DejaVu Sans, the widest of the usual fonts, took 5.8 to
# 6.4 px a letter in Chromium.
_LETTER_PX = 6.5
_LABEL_PADDING_PX = 8
_MOST_LABEL_PX = 200
_NOT_DRAWN = "Not drawn: what draws charts is not installed."
_HOW_TO_INSTALL = "pip install 'tierbench[charts]'"
_IN_ITS_PLACE = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 320 44" font-size="12">'
    f'<g fill="currentColor"><text x="8" y="18">{_NOT_DRAWN}</text>'
    f'<text x="8" y="36">{_HOW_TO_INSTALL}</text></g></svg>'
)


def colours(tiers: Sequence[str]) -> dict[str, str]:
    """Tier → colour, by position; an eighth tier starts over."""
    return {tier: PALETTE[place % len(PALETTE)] for place, tier in enumerate(tiers)}


def drawing(kind: str, tiers: Sequence[str] = (), **values: Any) -> dict[str, Any]:
    """The drawing of that kind, with these values in its places. What is None is left out."""
    return laid_out(shipped(__package__, "drawings.yaml")[kind], tiers, **values)


def laid_out(
    template: Mapping[str, Any], tiers: Sequence[str] = (), **values: Any
) -> dict[str, Any]:
    """A drawing that an extension has in a file of its own, as `drawing` gives one of ours."""
    palette = list(colours(tiers).values())
    scale = {"domain": list(tiers), "range": palette}
    room = _room_for(values.get("labels", tiers))
    given = {**values, "tiers": list(tiers), "colours": scale}
    given |= {"room": room, "limit": _MOST_LABEL_PX}
    return dict(filled(template, given))


def _room_for(labels: Sequence[str]) -> float:
    """The pixels left of an axis for the longest of its labels, whose letters are as wide as the
    browser has them. What draws the static chart knows narrower ones only."""
    longest = 0
    for label in labels:
        longest = max(longest, len(label))
    return min(_MOST_LABEL_PX, longest * _LETTER_PX) + _LABEL_PADDING_PX


def _datasets(
    tables: Mapping[str, Sequence[Mapping[Any, Any]]],
) -> dict[str, list[dict[str, Any]]]:
    datasets: dict[str, list[dict[str, Any]]] = {}
    for name, rows in tables.items():
        datasets[name] = [_drawable(row) for row in rows]
    return datasets


def figure(
    name: str,
    title: str,
    spec: Mapping[str, Any],
    tables: Mapping[str, Sequence[Mapping[Any, Any]]],
    remark: str = "",
    hover: Sequence[Mapping[str, Any]] = (),
) -> Chart:
    """A chart of the report.

    `name`: of its file, unlike those of others. `title`: what is drawn, with unit. `spec`: in
    Vega-Lite (`drawing`), whose named data are in `tables`; its marks may have tooltips, and rows
    with a field `tier` can be hidden by the page's legend. `remark`: what a reader must know.
    `hover`: layers and selections for the page alone (`readings`).
    """
    datasets = _datasets(tables)
    # It comes with the extra `charts`; a page without pictures is better than none.
    if not vega_library.is_installed():
        why = f"{title}. {_NOT_DRAWN} {_HOW_TO_INSTALL}"
        return Chart(name, why, _in_its_place, remark)
    title = printable(title)
    spec = _printable_in(spec)
    still = _Still(name, {**spec, "config": drawing("look"), "datasets": datasets})
    live = {**_with_layers(spec, hover), "description": title, "datasets": datasets}
    return Chart(name, title, still, remark, live)


@dataclass(frozen=True)
class _Still:
    """A static chart in Vega-Lite, which is drawn when it is called."""

    name: str
    spec: Mapping[str, Any]

    def __call__(self) -> str:
        svg = vega_library.drawn(json.dumps(self.spec))
        return with_own_ids(svg, self.name)


def _in_its_place() -> str:
    return _IN_ITS_PLACE


def _drawable(row: Mapping[Any, Any]) -> dict[str, Any]:
    return {key: _drawable_value(value) for key, value in row.items()}


def _drawable_value(value: Any) -> Any:
    """A figure without the digits that nobody sees; None for what is not a number."""
    # JSON has no word for NaN, which alone is unlike itself.
    if value != value:
        return None
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    return _printable_in(value)


def _printable_in(content: Any) -> Any:
    """All texts of a drawing without control characters, at which the library of charts ends the
    whole program."""
    if isinstance(content, str):
        return printable(content)
    if isinstance(content, Mapping):
        fields: dict[Any, Any] = {}
        for key, value in content.items():
            fields[key] = _printable_in(value)
        return fields
    if isinstance(content, (list, tuple)):
        values: list[Any] = []
        for value in content:
            values.append(_printable_in(value))
        return values
    return content


# Attributes of an SVG have a space before them. Looking for the end of a word takes four times as
# long.
_ID = re.compile(r'(?P<before> id="|url\(#|href="#)(?P<id>[^")]+)')


def with_own_ids(svg: str, prefix: str) -> str:
    """The SVG with ids unlike those of other charts on a page, and the same at every rendering."""
    # Vega numbers ids anew in each drawing, so `url(#clip0)` would be another chart's.
    new_ids: dict[str, str] = {}

    def renamed(match: re.Match[str]) -> str:
        number = len(new_ids)
        new_id = new_ids.setdefault(match["id"], f"{prefix}-{number}")
        return match["before"] + new_id

    return _ID.sub(renamed, svg)


# ------------------------------------------------------------------ live on the page

# The parts of Vega-Lite in which the page's drawing differs from the static one: values under the
# pointer, time to zoom. The page's script (`page.js`) takes away legends, and rows of tiers that
# the reader switched off in its own, and keeps the `zoom` of charts over the same time together.


def _with_layers(
    spec: Mapping[str, Any], more: Sequence[Mapping[str, Any]]
) -> Mapping[str, Any]:
    """Above the layers of the drawing, or of each panel."""
    # A drawing in panels (a facet) has its layers in the `spec` of a panel.
    if "spec" in spec:
        return {**spec, "spec": _with_layers(spec["spec"], more)}
    if more:
        return {**spec, "layer": [*spec["layer"], *more]}
    return spec


def readings(
    data: str,
    place: str,
    lines: Sequence[str],
    unit: str,
    shown_place: str,
    more: Sequence[Mapping[str, Any]] = (),
    panel: str = "",
    line: str = "datum.tier",
) -> dict[str, Any]:
    """A layer that shows all lines' values at the place under the pointer, and marks the place.

    `place`: the field of the x axis, of which points of all lines have the same values. `lines`:
    their labels; `line`: the expression for that of a `datum`, whose values there are averaged.
    `shown_place`: expression for the place in words. `more`: selections of the chart. `panel`: the
    field by which the chart is cut into panels, if it is.

    Each place has an unseen strip that reaches half way to its neighbours: a point or a line would
    be too thin to be hit.
    """
    panels: list[str] = []
    source: dict[str, str] | None = {"name": data}
    if panel:
        panels = [panel]
        source = None  # a panel has its part of the table
    # Columns have the number of their line: a dot in a field's name is a nested field to Vega, and
    # a tier's name may have one.
    names = json.dumps(list(lines))
    shown = drawing(
        "readings",
        data=source,
        place=place,
        places=[place],
        panels=panels,
        strips=[place, *panels],
        which=f"'l' + indexof({names}, {line})",
        left=_half_way("before", place),
        right=_half_way("after", place),
        shown_place=shown_place,
    )
    for number, label in enumerate(lines):
        _add_text(shown, number, label, unit)
    return {**shown, "params": [*shown["params"], *more]}


def _add_text(shown: Mapping[str, Any], number: int, label: str, unit: str) -> None:
    """A line's value to what is shown under the pointer."""
    field = f"text{number}"
    in_words = {"calculate": _in_words(f"datum.l{number}", unit), "as": field}
    shown["transform"].append(in_words)
    text = {"field": field, "type": "nominal", "title": label}
    shown["encoding"]["tooltip"].append(text)


def _half_way(neighbour: str, place: str) -> str:
    """The expression for the middle between a place and its neighbour, if it has one."""
    middle = f"(datum.{neighbour} + datum.{place}) / 2"
    return f"isValid(datum.{neighbour}) ? {middle} : datum.{place}"


def _in_words(value: str, unit: str) -> str:
    """The expression for a value with its unit, or a dash where there is none."""
    digits = f"{value} >= 1000 ? format({value}, ',.0f') : format({value}, '.3~r')"
    after = json.dumps(f" {unit}")
    return f"isValid({value}) ? ({digits}) + {after} : '–'"
