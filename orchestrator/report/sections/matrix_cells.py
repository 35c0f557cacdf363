"""Every cell of a raw disk matrix: as maps of colours, as a table, and in words."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from orchestrator import units
from orchestrator.analysis.answers.disk_ceilings import ByTier
from orchestrator.design import disk_matrix
from orchestrator.report.blocks import Block, Chart, Charts, Measure, table_of
from orchestrator.report.charts import charts

_HEATS = (
    Measure("iops", "iops", "IOPS", "I/Os per second"),
    Measure("bytes_per_s", "bandwidth", "Bandwidth", "MB/s", 1e-6),
    Measure("latency_avg_s", "latency", "Mean latency", "ms", 1e3),
)
_ABOUT_MAPS = (
    "Down: block; across: I/Os in flight (depth × threads). A blank was not measured."
)
_ABOUT_CELLS = (
    "Latency. A percentile is shown if ten I/Os lie beyond it. I/Os in flight at the end do not "
    "count, because fio collects them all at once. They lengthen the mean by "
    "latency / (2 × measured time)."
)


def every_cell(shown: ByTier, tier: str, workload: str) -> Iterator[Block]:
    """Every cell of one tier, as maps and as a table."""
    maps = [_heat_map(shown, heat, tier, workload) for heat in _HEATS]
    yield Charts(tuple(maps), (tier,), _ABOUT_MAPS)
    rows = [_cell_row(cell) for _, cell in shown[tier].iterrows()]
    yield table_of(rows, ("Asked for",), (_ABOUT_CELLS,))


def _cell_row(cell: pd.Series) -> dict[str, str]:
    depth = int(cell["depth"])
    threads = int(cell["threads"])
    row = {"Asked for": mix_in_words(cell["pattern"], cell["read_pct"])}
    row["Block"] = disk_matrix.block_name(int(cell["block_bytes"]))
    row["Depth × threads"] = f"{depth} × {threads}"
    row["IOPS"] = units.format_number(float(cell["iops"]))
    row["Bandwidth"] = units.format_bytes_per_s(float(cell["bytes_per_s"]))
    row["Mean"] = seconds(cell["latency_avg_s"])
    row["p50"] = seconds(cell["latency_p50_s"])
    row["p95"] = seconds(cell["latency_p95_s"])
    row["p99"] = seconds(cell["latency_p99_s"])
    return row


# ------------------------------------------------------------------ maps of colours

_PALE = "#eaf3f9"  # colour of the lowest value
# The least factor from the lowest to the highest of a range of colours: all cells may be alike.
_LEAST_RANGE = 1.01


class _Range(NamedTuple):
    """The range of the values of all tiers, in a chart's unit."""

    low: float
    high: float


def _heat_map(shown: ByTier, heat: Measure, tier: str, workload: str) -> Chart:
    """A panel for each pattern and read share. Colours mean the same for all tiers."""
    cells = [_heat_cell(cell, heat) for _, cell in shown[tier].iterrows()]
    spec = _heat_spec(heat, tier, cells, _range(shown, heat))
    title = f"{heat.title} of {tier} in every cell of {workload}, {heat.unit}"
    name = f"{workload}-{tier}-{heat.file}"
    return charts.figure(name, title, spec, {"cells": cells})


def _heat_spec(
    heat: Measure, tier: str, cells: Sequence[Mapping[str, Any]], values: _Range
) -> dict[str, Any]:
    # The middle of a logarithmic range: on the darker half letters are white.
    middle = math.sqrt(values.low * values.high)
    panels = dict.fromkeys(cell["panel"] for cell in cells)
    return charts.drawing(
        "cells",
        [tier],
        title=f"{heat.title} of {tier}",
        unit=heat.unit,
        panels=list(panels),
        shades=_shades(values),
        is_deep=f"datum.value > {middle}",
    )


def _range(shown: ByTier, heat: Measure) -> _Range:
    # The range is that of all tiers together, so that a colour means one value in every map.
    values = pd.concat(shown.values())[heat.metric] * heat.factor
    return _Range(float(values.min()), float(values.max()))


def _shades(values: _Range) -> dict[str, Any]:
    dark = charts.PALETTE[0]
    top = max(values.high, values.low * _LEAST_RANGE)
    # Values of a matrix differ by powers of ten, of which a linear scale shows the top alone.
    return {"type": "log", "domain": [values.low, top], "range": [_PALE, dark]}


def _heat_cell(cell: pd.Series, heat: Measure) -> dict[str, Any]:
    value = float(cell[heat.metric]) * heat.factor
    depth = int(cell["depth"])
    threads = int(cell["threads"])
    block_bytes = int(cell["block_bytes"])
    in_flight = str(depth)
    # Squares are narrow: one thread is what is taken for granted.
    if threads != 1:
        in_flight = f"{depth}×{threads}"
    mix = mix_in_words(cell["pattern"], cell["read_pct"])
    square: dict[str, Any] = {"panel": mix, "flight": in_flight}
    # Columns stand in the order of what is in flight: "1×8" is beside "8".
    square["flight_rank"] = depth * threads
    square["block"] = disk_matrix.block_name(block_bytes)
    square["block_bytes"] = block_bytes
    square["value"] = value
    square["text"] = _short(value)
    return square


def _short(value: float) -> str:
    """Few enough characters for a square: two digits or whole numbers, from ten thousand as k."""
    # Rounding would give a digit more from here on: 9.96 is shown as 10, not as 1e+01.
    if value >= 9_999.5:
        return f"{value / 1000:.0f}k"
    if value >= 9.95:
        return f"{value:.0f}"
    return f"{value:.2g}"


# ------------------------------------------------------------------ in words


def seconds(value_s: float) -> str:
    """Empty if it was not measured."""
    # A percentile has no value where fewer than ten I/Os lie beyond it.
    if math.isnan(value_s):
        return ""
    return units.format_seconds(float(value_s))


def load_in_words(cell: pd.Series) -> str:
    """`random reads of 4 KiB`."""
    mix = mix_in_words(cell["pattern"], cell["read_pct"])
    return f"{mix} of {disk_matrix.block_name(int(cell['block_bytes']))}"


def mix_in_words(pattern: str, read_pct: float) -> str:
    """What a cell does: `random reads`, `sequential I/O, 30 % reads`."""
    if int(read_pct) == 100:
        return f"{pattern} reads"
    if int(read_pct) == 0:
        return f"{pattern} writes"
    return f"{pattern} I/O, {read_pct:.0f} % reads"
