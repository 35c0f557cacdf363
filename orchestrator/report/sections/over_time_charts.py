"""Drawings of runs over time: all tiers in one chart, and a panel for each node."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from orchestrator.design.slow_disks import SlowTime
from orchestrator.report.blocks import Chart, Measure
from orchestrator.report.charts import charts
from orchestrator.report.charts.series import BUSIEST, MEAN, Series

_FEW_POINTS = 60  # points of a whole chart: below that, dots show each second
# pixels of lines, and of each tier's band below them
_HEIGHT = 150
_BAND = 6
# What was at its limit → its colour.
_LIMITS = {
    "IOPS cap": "#882255",
    "bandwidth cap": "#DDCC77",
    "machine's cap on disks": "#44AA99",
    "disk limits, counted": "#CC6677",
    "node CPU": "#332288",
}
_NO_STRIP = pd.DataFrame({"tier": [], "limit": []})
_SECOND = "format(datum.seconds, '.1~f') + ' s'"  # an expression of Vega
Caps = Mapping[float, str]  # declared limit → its label


def colours_of_limits(strip: pd.DataFrame) -> dict[str, str]:
    """What was at its limit → its colour."""
    limits = set(strip["limit"])
    return {name: colour for name, colour in _LIMITS.items() if name in limits}


def over_time(
    workload: str,
    measure: Measure,
    series: Series,
    tiers: Sequence[str],
    limits: Caps,
    remark: str = "",
    strip: pd.DataFrame = _NO_STRIP,
    slow: SlowTime | None = None,
) -> Chart:
    """One thin line per run, or the median of many, in its tier's colour; the busiest node's is
    dashed, if it is told.
    strip: what was at its limit (`Runs.of_limits`), which stands below, a line for each tier.
    slow: when a disk was slow, which is shaded."""
    drawn = _drawn_tiers(series, tiers)
    # An empty band would only be a gap if nothing was at a limit.
    banded: list[str] = []
    if colours_of_limits(strip):
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
    tables = _tables(series, measure, limits, slow)
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
    series: Series, limits: Caps, tiers: Sequence[str], unit: str
) -> _OptionalParts:
    dots: dict[str, Any] | bool = False
    # A line needs two points, so a bin alone would not be seen.
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
    # Else the mean and the busiest node of a tier would be averaged under the pointer.
    if _has_busiest(series):
        kinds = list(dict.fromkeys(series.table["of"]))
        lines = [f"{tier}, {kind}" for tier in drawn for kind in kinds]
        line = "datum.tier + ', ' + datum.of"
    zoom = [charts.drawing("zoom")]
    return charts.readings("runs", "seconds", lines, unit, _SECOND, zoom, line=line)


def _bands_of_tiers(
    tiers: Sequence[str], banded: Sequence[str], strip: pd.DataFrame
) -> Iterator[dict[str, Any]]:
    bands = colours_of_limits(strip)
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
    # Two pixels between a band and the one above it.
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
    series: Series, measure: Measure, limits: Caps, slow: SlowTime | None
) -> dict[str, list[dict[Any, Any]]]:
    table = series.table.assign(value=series.table["value"] * measure.factor)
    # Seconds count from the begin of the window, so those of the warm-up are negative.
    start_s = min(float(table["seconds"].min()), 0.0)
    warm_up: dict[Any, Any] = {"from": start_s, "to": 0.0, "text": ""}
    # The word would stand on a stripe that has no width if there was no warm-up.
    if start_s:
        warm_up["text"] = "warm-up"
    caps: list[dict[Any, Any]] = []
    for value, label in limits.items():
        # Caps are declared in base units, and drawn in those of the lines.
        caps.append({"cap": value * measure.factor, "text": label})
    shaded = [warm_up]
    if slow is not None:
        shaded.append({"from": slow.begin_s, "to": slow.end_s, "text": "slow disk"})
    tables = {"shaded": shaded, "caps": caps}
    if "low" in table:
        tables["spread"] = _spread(table, measure)
        # The band has its own table; in the lines' it would be written twice into the page.
        table = table.drop(columns=["low", "high"])
    return {**tables, "runs": _rows(table)}


def _spread(table: pd.DataFrame, measure: Measure) -> list[dict[Any, Any]]:
    """Between which values most runs of a tier were; of nodes that of their mean alone."""
    if "of" in table:
        table = table[table["of"] == MEAN]
    bounds = table[["tier", "seconds", "low", "high"]]
    for column in ("low", "high"):
        bounds = bounds.assign(**{column: bounds[column] * measure.factor})
    return _rows(bounds)


def _rows(table: pd.DataFrame) -> list[dict[Any, Any]]:
    """The rows of a table: `to_dict` asks pandas for each text by itself."""
    columns = [table[name].to_numpy(dtype=object).tolist() for name in table]
    names = list(table)
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def by_node(
    workload: str,
    measure: Measure,
    series: Series,
    tiers: Sequence[str],
    limits: Caps,
    slow: SlowTime | None = None,
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
    tables = _tables(series, measure, limits, slow)
    return charts.figure(name, title, spec, tables, hover=[reading])
