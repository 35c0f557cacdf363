"""The raw disk matrix, of the verdict's means: ceilings, latency against depth, every cell."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from orchestrator import units
from orchestrator.analysis.answers.disk_ceilings import (
    ByTier,
    Cells,
    measured_by_tier,
)
from orchestrator.analysis.figures import matrix_laws
from orchestrator.design import disk_matrix
from orchestrator.model import Measurement, Profile, Workload
from orchestrator.report import wording
from orchestrator.report.blocks import (
    Block,
    Cell,
    Chart,
    Charts,
    Measure,
    Paragraph,
    Part,
    Row,
    Section,
    Table,
    table_of,
)
from orchestrator.report.charts import charts
from orchestrator.report.report_index import ReportIndex


def sections(index: ReportIndex) -> tuple[Section, ...]:
    """One for each workload that is a matrix."""
    shown: list[Section] = []
    for workload in index.workloads:
        cells = disk_matrix.planned(workload.options)
        if cells:
            shown.append(_section(index, workload, cells))
    return tuple(shown)


def _section(index: ReportIndex, workload: Workload, cells: Cells) -> Section:
    title = f"{workload.name}: {workload.title}"
    parts = tuple(_parts(index, workload, cells))
    return Section(f"matrix-{workload.name}", title, parts)


def _parts(index: ReportIndex, workload: Workload, cells: Cells) -> Iterator[Part]:
    """What the cells of each tier say together, then every cell."""
    measured = measured_by_tier(index.asked, workload.name, cells)
    begun = _begun_by_tier(index, workload.name, cells, measured)
    if not measured and not begun:
        yield Part("", (Paragraph("No run of this workload left figures."),))
        return
    yield Part("", (Paragraph(_about(workload, cells)),))
    if measured:
        yield Part("Ceilings found", (_ceilings(index, measured),))
        yield Part("Latency against depth", tuple(_depth(index, workload, measured)))
        yield Part("What a larger block costs", (_steps(measured),))
    shown = {**measured, **begun}
    for tier, rows in shown.items():
        every_cell = tuple(_every_cell(shown, tier, workload.name))
        if tier in measured:
            yield Part(f"Every cell of {tier}", every_cell)
        else:
            progress = Paragraph(_progress(tier, len(rows), len(cells)))
            yield Part(f"Cells of {tier} so far", (progress, *every_cell))


def _progress(tier: str, measured: int, planned: int) -> str:
    cells = units.counted(planned, "cell")
    return f"No run of {tier} was measured to its end: {measured} of {cells} so far."


def _about(workload: Workload, cells: Cells) -> str:
    count = units.counted(len(cells), "cell")
    measured = units.format_seconds(workload.measure_s)
    warm_up = units.format_seconds(workload.warmup_s)
    return (
        f"{count} of pattern, read share, block, depth and threads. fio measured each for "
        f"{measured} after {warm_up} of warm-up. In other tables its throughput is the highest "
        "IOPS of any cell. Its latency is that of one small random I/O alone."
    )


# ------------------------------------------------------------------ what was measured


def _begun_by_tier(
    index: ReportIndex, workload: str, cells: Cells, measured: ByTier
) -> ByTier:
    """The matrices of other tiers, if a run of them has begun to measure."""
    by_tier: dict[str, pd.DataFrame] = {}
    for tier in index.tiers:
        if tier not in measured:
            rows = _so_far(index, tier, workload, cells)
            if not rows.empty:
                by_tier[tier] = rows
    return by_tier


def _so_far(index: ReportIndex, tier: str, workload: str, cells: Cells) -> pd.DataFrame:
    """What the newest of its runs has measured that has not finished."""
    figures: dict[tuple[str, str], float] = {}
    for measurement in _newest_so_far(index, tier, workload):
        figures[measurement.metric, measurement.scope] = measurement.value
    return matrix_laws.table(cells, figures)


def _newest_so_far(
    index: ReportIndex, tier: str, workload: str
) -> tuple[Measurement, ...]:
    for run in reversed(index.planned(tier, workload)):
        measurements = index.campaign.so_far.get(run.number)
        if measurements:
            return measurements
    return ()


# ------------------------------------------------------------------ ceilings

_ABOUT_CEILINGS = (
    "A ceiling is the median of the cells on the highest plateau. It was reached where half as "
    "much again in flight gave no more. There the other limit did not hold the disk back. The "
    "native I/O size is the block at which the two ceilings meet. A smaller block costs the disk "
    "as much, a larger one in proportion."
)
_CEILING_TITLES = (
    "IOPS",
    "IOPS declared",
    "Reading",
    "Writing",
    "Bandwidth declared",
    "Native I/O size",
    "One I/O alone",
)
_NOT_REACHED = "not reached"


def _ceilings(index: ReportIndex, measured: ByTier) -> Table:
    """A row for each tier, also for those without figures."""
    rows: list[Row] = []
    for profile in index.profiles:
        row = {"Tier": Cell(profile.name, tier=profile.name)}
        if profile.name in measured:
            row |= _ceiling_cells(profile, measured[profile.name])
        else:
            row |= dict.fromkeys(_CEILING_TITLES, Cell("missing", missing=True))
        rows.append(row)
    return table_of(rows, ("Tier",), (_ABOUT_CEILINGS,))


def _ceiling_cells(profile: Profile, rows: pd.DataFrame) -> dict[str, Cell]:
    limits = profile.tier.limits
    iops = matrix_laws.ceilings(rows, "iops")
    rates = matrix_laws.ceilings(rows, "bytes_per_s")
    declared_rate = wording.declared(limits.bytes_per_s, "bytes/s")
    cells = {"IOPS": _ceiling(iops.get("all"), limits.iops, "")}
    cells["IOPS declared"] = Cell(wording.declared(limits.iops, ""))
    cells["Reading"] = _ceiling(rates.get("read"), limits.bytes_per_s, "bytes/s")
    cells["Writing"] = _ceiling(rates.get("write"), limits.bytes_per_s, "bytes/s")
    cells["Bandwidth declared"] = Cell(declared_rate)
    cells["Native I/O size"] = _native_size(rows)
    cells["One I/O alone"] = _alone(rows)
    return cells


def _ceiling(
    ceiling: matrix_laws.Ceiling | None, declared: float | None, unit: str
) -> Cell:
    """The ceiling with how far it is off what the tier declares, and the cells that it rests on."""
    if ceiling is None:
        return Cell("not asked for")
    text = units.format_quantity(ceiling.value, unit)
    if not ceiling.reached:
        return Cell(_NOT_REACHED, detail=f"highest {text}")
    cells = units.counted(ceiling.cells, "cell")
    if not declared:
        return Cell(text, detail=cells)
    off_pct = (ceiling.value / declared - 1) * 100
    return Cell(text, detail=f"{units.format_change(off_pct)}, {cells}")


def _native_size(rows: pd.DataFrame) -> Cell:
    native_bytes = matrix_laws.native_io_bytes(rows)
    if not native_bytes:
        return Cell(_NOT_REACHED)
    return Cell(units.format_bytes(native_bytes))


def _alone(rows: pd.DataFrame) -> Cell:
    lightest = matrix_laws.lightest(rows)
    load = _load_in_words(lightest)
    in_flight = int(lightest["in_flight"])
    latency = _seconds(lightest["latency_avg_s"])
    return Cell(latency, detail=f"{load}, {in_flight} in flight")


# ------------------------------------------------------------------ latency against depth


_ABOUT_LAWS = (
    "Where the disk is saturated, a straight line is fitted to median latency against I/Os in "
    "flight. By Little's law its slope is 1 / IOPS."
)
_ABOUT_DEPTH = "A saturated disk gives no more: each further I/O in flight only waits."


def _depth(index: ReportIndex, workload: Workload, measured: ByTier) -> Iterator[Block]:
    rows: list[Row] = []
    for tier, table in measured.items():
        for law in matrix_laws.depth_laws(table):
            rows.append(_law_row(tier, law))
    if rows:
        yield table_of(rows, ("Tier", "Asked for"), (_ABOUT_LAWS,))
    else:
        depths = matrix_laws.MIN_LAW_POINTS
        yield Paragraph(f"No disk was saturated at {depths} depths: nothing to fit.")
    chart = _depth_chart(measured, index.tiers, workload.name)
    yield Charts((chart,), tuple(measured), _ABOUT_DEPTH)


def _law_row(tier: str, law: matrix_laws.DepthLaw) -> dict[str, Cell | str]:
    alone = ""
    if law.alone_s is not None:
        alone = units.format_seconds(law.alone_s)
    off = units.format_quantity(round(law.off_pct, 2), "%")
    mix = _mix_in_words(law.pattern, law.read_pct)
    block = disk_matrix.block_name(law.block_bytes)
    return {
        "Tier": Cell(tier, tier=tier),
        "Asked for": f"{mix} of {block}",
        "Alone": alone,
        "Saturated from": f"{law.saturated_from} in flight",
        "Added by each I/O in flight": units.format_seconds(law.slope_s),
        "1 / IOPS": units.format_seconds(1 / law.iops),
        "Largest deviation from the line": Cell(off, detail=f"{law.points} depths"),
    }


def _depth_chart(measured: ByTier, tiers: Sequence[str], workload: str) -> Chart:
    """The first series among those with the most depths, with a line for each tier."""
    longest = _longest_series(measured)
    drawn = longest.assign(ms=longest["typical_s"] * 1e3)
    points = drawn[["tier", "in_flight", "ms"]].to_dict("records")
    load = _load_in_words(longest.iloc[0])
    spec = charts.drawing("depth", tiers, title=f"Latency of {load}")
    title = f"Median latency of {load} against what is in flight, ms"
    return charts.figure(f"{workload}-depth", title, spec, {"points": points})


def _longest_series(measured: ByTier) -> pd.DataFrame:
    """The cells of all tiers, of that pattern, read share and block."""
    cells: pd.DataFrame = pd.concat(measured, names=["tier"]).reset_index("tier")
    depths = cells.groupby(matrix_laws.SERIES)["in_flight"].transform("nunique")
    first = cells[depths == depths.max()].iloc[0]
    is_alike = cells[matrix_laws.SERIES] == first[matrix_laws.SERIES]
    longest: pd.DataFrame = cells[is_alike.all(axis=1)]
    return longest


# ------------------------------------------------------------------ what a larger block costs

_ABOUT_STEPS = "Median latencies, and their median over the loads that saturate the disk with both."


def _steps(measured: ByTier) -> Table | Paragraph:
    rows: list[Row] = []
    for tier, table in measured.items():
        for step in matrix_laws.block_steps(table):
            rows.append(_step_row(tier, step))
    if not rows:
        return Paragraph(
            "No disk was saturated with two sizes of block under the same load."
        )
    return table_of(rows, ("Tier",), (_ABOUT_STEPS,))


def _step_row(tier: str, step: matrix_laws.BlockStep) -> dict[str, Cell | str]:
    size_ratio = units.format_number(step.large_bytes / step.small_bytes)
    latency_ratio = units.format_number(step.latency_ratio)
    loads = units.counted(step.cells, "load")
    return {
        "Tier": Cell(tier, tier=tier),
        "From": disk_matrix.block_name(step.small_bytes),
        "To": disk_matrix.block_name(step.large_bytes),
        "Bytes": f"× {size_ratio}",
        "Latency": Cell(f"× {latency_ratio}", detail=loads),
    }


# ------------------------------------------------------------------ every cell

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


def _every_cell(shown: ByTier, tier: str, workload: str) -> Iterator[Block]:
    """Every cell of one tier, as maps and as a table."""
    maps = [_heat_map(shown, heat, tier, workload) for heat in _HEATS]
    yield Charts(tuple(maps), (tier,), _ABOUT_MAPS)
    rows = [_cell_row(cell) for _, cell in shown[tier].iterrows()]
    yield table_of(rows, ("Asked for",), (_ABOUT_CELLS,))


def _cell_row(cell: pd.Series) -> dict[str, str]:
    depth = int(cell["depth"])
    threads = int(cell["threads"])
    row = {"Asked for": _mix_in_words(cell["pattern"], cell["read_pct"])}
    row["Block"] = disk_matrix.block_name(int(cell["block_bytes"]))
    row["Depth × threads"] = f"{depth} × {threads}"
    row["IOPS"] = units.format_number(float(cell["iops"]))
    row["Bandwidth"] = units.format_bytes_per_s(float(cell["bytes_per_s"]))
    row["Mean"] = _seconds(cell["latency_avg_s"])
    row["p50"] = _seconds(cell["latency_p50_s"])
    row["p95"] = _seconds(cell["latency_p95_s"])
    row["p99"] = _seconds(cell["latency_p99_s"])
    return row


def _seconds(value_s: float) -> str:
    """Empty if it was not measured."""
    if math.isnan(value_s):
        return ""
    return units.format_seconds(float(value_s))


def _load_in_words(cell: pd.Series) -> str:
    """`random reads of 4 KiB`."""
    mix = _mix_in_words(cell["pattern"], cell["read_pct"])
    return f"{mix} of {disk_matrix.block_name(int(cell['block_bytes']))}"


def _mix_in_words(pattern: str, read_pct: float) -> str:
    """What a cell does: `random reads`, `sequential I/O, 30 % reads`."""
    if int(read_pct) == 100:
        return f"{pattern} reads"
    if int(read_pct) == 0:
        return f"{pattern} writes"
    return f"{pattern} I/O, {read_pct:.0f} % reads"


# ------------------------------------------------------------------ maps of colours

_PALE = "#eaf3f9"  # of the lowest value
# The narrowest range of colours: all cells may be alike.
_EVEN = 1.01


class _Range(NamedTuple):
    """The range of the values of all tiers, in a chart's unit."""

    low: float
    high: float


def _range(shown: ByTier, heat: Measure) -> _Range:
    values = pd.concat(shown.values())[heat.metric] * heat.factor
    return _Range(float(values.min()), float(values.max()))


def _heat_spec(
    heat: Measure, tier: str, cells: Sequence[Mapping[str, Any]], values: _Range
) -> dict[str, Any]:
    # Of a logarithmic range; on the darker half letters are white.
    middle = math.sqrt(values.low * values.high)
    panels = dict.fromkeys(cell["panel"] for cell in cells)
    return charts.drawing(
        "cells",
        [tier],
        title=f"{heat.title} of {tier}",
        unit=heat.unit,
        panels=list(panels),
        shades=_shades(values.low, values.high),
        is_deep=f"datum.value > {middle}",
    )


def _heat_map(shown: ByTier, heat: Measure, tier: str, workload: str) -> Chart:
    """A panel for each pattern and read share. Colours mean the same for all tiers."""
    cells = [_heat_cell(cell, heat) for _, cell in shown[tier].iterrows()]
    spec = _heat_spec(heat, tier, cells, _range(shown, heat))
    title = f"{heat.title} of {tier} in every cell of {workload}, {heat.unit}"
    name = f"{workload}-{tier}-{heat.file}"
    return charts.figure(name, title, spec, {"cells": cells})


def _shades(low: float, high: float) -> dict[str, Any]:
    dark = charts.PALETTE[0]
    top = max(high, low * _EVEN)
    return {"type": "log", "domain": [low, top], "range": [_PALE, dark]}


def _heat_cell(cell: pd.Series, heat: Measure) -> dict[str, Any]:
    value = float(cell[heat.metric]) * heat.factor
    depth = int(cell["depth"])
    threads = int(cell["threads"])
    block_bytes = int(cell["block_bytes"])
    flight = str(depth)
    if threads != 1:
        flight = f"{depth}×{threads}"
    mix = _mix_in_words(cell["pattern"], cell["read_pct"])
    return {
        "panel": mix,
        "flight": flight,
        "flight_rank": depth * threads,
        "block": disk_matrix.block_name(block_bytes),
        "block_bytes": block_bytes,
        "value": value,
        "text": _short(value),
    }


def _short(value: float) -> str:
    """Few enough characters for a square: two digits or whole numbers, from ten thousand as k."""
    if value >= 9_999.5:
        return f"{value / 1000:.0f}k"
    if value >= 9.95:
        return f"{value:.0f}"
    return f"{value:.2g}"
