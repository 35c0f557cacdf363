"""Charts of the raw disk matrix: heat maps of its cells, and latency against what is in flight."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from orchestrator.planning import disk_matrix
from orchestrator.report.blocks import Chart, Measure
from orchestrator.report.charts import charts

_STEP, _ROW, _PANELS_IN_A_ROW = 30, 18, 2
_PALE, _DEEP = "#eaf3f9", charts.PALETTE[0]
_ON_PALE, _ON_DEEP = "#222222", "#ffffff"
_EVEN = 1.01  # the narrowest range of colours: all cells may be alike


def in_words(pattern: str, read_pct: float) -> str:
    """What a cell does: `random reads`, `sequential I/O, 30 % reads`."""
    read_pct = int(read_pct)
    mix = {100: "reads", 0: "writes"}.get(read_pct, f"I/O, {read_pct} % reads")
    return f"{pattern} {mix}"


# ------------------------------------------------------------------ heat maps


_HEATS = (
    Measure("iops", "iops", "IOPS", "I/Os per second"),
    Measure("bytes_per_s", "bandwidth", "Bandwidth", "MB/s", 1e-6),
    Measure("latency_avg_s", "latency", "Mean latency", "ms", 1e3),
)


def heat_maps(measured: Mapping[str, pd.DataFrame], tier: str, workload: str) -> tuple[Chart, ...]:
    """IOPS, bandwidth and latency of one tier. A colour means the same for all tiers."""
    every = pd.concat(measured.values())
    drawn = []
    for heat in _HEATS:
        name = f"{workload}-{tier}-{heat.file}"
        values = every[heat.metric] * heat.factor
        span = float(values.min()), float(values.max())
        title = f"{heat.title} of {tier} in every cell of {workload}, {heat.unit}"
        spec, cells = _heat_map(measured[tier], heat, tier, span)
        drawn.append(charts.figure(name, title, spec, {"cells": cells}))
    return tuple(drawn)


def _heat_map(
    rows: pd.DataFrame, heat: Measure, tier: str, span: tuple[float, float]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A panel for each pattern and read share: block down, in flight across; and its cells."""
    low, high = span
    cells = [_heat_cell(row, heat) for _, row in rows.iterrows()]
    scale = alt.Scale(type="log", domain=[low, max(high, low * _EVEN)], range=[_PALE, _DEEP])
    deep = alt.datum.value > math.sqrt(low * high)
    base = alt.Chart().encode(
        x=_axis("flight", cells, "flight_rank"),
        y=_axis("block", cells, "block_bytes"),
        tooltip=[
            *charts.tooltips(panel="load", block="", flight="in flight"),
            alt.Tooltip("value:Q", title=heat.unit, format=",.4~r"),
        ],
    )
    colour = alt.Color("value:Q", scale=scale, legend=None)
    ink = alt.condition(deep, alt.value(_ON_DEEP), alt.value(_ON_PALE))
    layers = alt.layer(
        base.mark_rect(stroke="white").encode(color=colour),
        base.mark_text(fontSize=9).encode(text="text:N", color=ink),
        data=alt.NamedData("cells"),
    ).properties(width=alt.Step(_STEP), height=alt.Step(_ROW))
    panels = list(dict.fromkeys(cell["panel"] for cell in cells))
    header = alt.Header(title=None, labelAnchor="start")
    panel = alt.Facet("panel:N", sort=panels, header=header)
    chart = layers.facet(panel, columns=_PANELS_IN_A_ROW, spacing=12)
    title = alt.Title(f"{heat.title} of {tier}", subtitle=heat.unit)
    return chart.properties(title=title).to_dict(), cells


def _axis(name: str, cells: Sequence[Mapping[str, Any]], rank: str) -> dict[str, Any]:
    axis = {"labelAngle": 0, "ticks": False, "domain": False, "grid": False}
    order = dict.fromkeys(cell[name] for cell in sorted(cells, key=lambda cell: cell[rank]))
    return {"field": name, "type": "ordinal", "title": None, "sort": [*order], "axis": axis}


def _heat_cell(row: pd.Series, heat: Measure) -> dict[str, Any]:
    value = float(row[heat.metric]) * heat.factor
    depth, threads, block = (int(row[key]) for key in ("depth", "threads", "block_bytes"))
    return {
        "panel": in_words(row["pattern"], row["read_pct"]),
        "flight": str(depth) if threads == 1 else f"{depth}×{threads}",
        "flight_rank": depth * threads,
        "block": disk_matrix.block_name(block),
        "block_bytes": block,
        "value": value,
        "text": _short(value),
    }


def _short(value: float) -> str:
    """Few enough characters for a square: two digits or whole numbers, from ten thousand as k."""
    if value >= 9_999.5:
        return f"{value / 1000:.0f}k"
    return f"{value:.0f}" if value >= 9.95 else f"{value:.2g}"


# ------------------------------------------------------------------ latency against depth


def depth_chart(measured: Mapping[str, pd.DataFrame], tiers: Sequence[str], workload: str) -> Chart:
    """The first series among those with the most depths, with a line for each tier."""
    every = pd.concat(measured.values())
    depths = every.groupby(disk_matrix.SERIES)["in_flight"].transform("nunique")
    longest = every[depths == depths.max()].iloc[0]
    points = [
        {"tier": tier, "in_flight": int(flight), "ms": float(latency_s) * 1e3}
        for tier, rows in measured.items()
        for flight, latency_s in _latencies(rows, longest)
    ]
    block = disk_matrix.block_name(int(longest["block_bytes"]))
    load = f"{in_words(longest['pattern'], longest['read_pct'])} of {block}"
    name = f"{workload}-depth"
    title = f"Median latency of {load} against what is in flight, ms"
    return charts.figure(name, title, _lines(tiers, load), {"points": points})


def _latencies(rows: pd.DataFrame, like: pd.Series) -> list[tuple[int, float]]:
    own = rows[(rows[disk_matrix.SERIES] == like[disk_matrix.SERIES]).all(axis=1)]
    return list(zip(own["in_flight"], own["typical_s"], strict=True))


def _lines(tiers: Sequence[str], load: str) -> dict[str, Any]:
    base = alt.Chart(alt.NamedData("points")).encode(
        x=alt.X("in_flight:Q", title="I/Os in flight"),
        y=alt.Y("ms:Q", title="median latency, ms", scale=alt.Scale(zero=True)),
        color=charts.colour(tiers, legend=False),
        tooltip=[
            alt.Tooltip("tier:N"),
            alt.Tooltip("in_flight:Q", title="in flight"),
            alt.Tooltip("ms:Q", title="ms", format=",.3~r"),
        ],
    )
    layers = alt.layer(base.mark_line(strokeWidth=1.2), base.mark_point(size=30, filled=True))
    chart = layers.properties(width=charts.WIDTH, height=charts.HEIGHT, title=f"Latency of {load}")
    spec: dict[str, Any] = chart.to_dict()
    return spec
