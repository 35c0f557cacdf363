"""The raw disk matrix, of the verdict's means: ceilings, latency against depth, every cell."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from orchestrator import units
from orchestrator.model import Profile, Workload
from orchestrator.planning import disk_matrix
from orchestrator.report import blocks, prose, wording
from orchestrator.report.blocks import (
    Cell,
    Chart,
    Charts,
    Paragraph,
    Part,
    Section,
    table_of,
)
from orchestrator.report.charts import charts
from orchestrator.report.report_index import ReportIndex

Matrix = Sequence[disk_matrix.MatrixCell]
ByTier = Mapping[str, pd.DataFrame]  # tier → what was measured of its cells

_NOT_REACHED = "not reached"
_PALE = "#eaf3f9"  # of the lowest value
_EVEN = 1.01  # the narrowest range of colours: all cells may be alike
_HEATS = prose.measures("matrix.measures")


def sections(index: ReportIndex) -> tuple[Section, ...]:
    """One for each workload that is a matrix."""
    return tuple(
        _section(index, workload, cells)
        for workload in index.workloads
        if (cells := disk_matrix.planned(workload.options))
    )


def _section(index: ReportIndex, workload: Workload, cells: Matrix) -> Section:
    measured = {
        tier: _measured(index, tier, workload.name, cells) for tier in index.tiers
    }
    known = {tier: rows for tier, rows in measured.items() if not rows.empty}
    begun = {tier: _so_far(index, tier, workload.name, cells) for tier in index.tiers}
    begun = {
        tier: rows
        for tier, rows in begun.items()
        if tier not in known and not rows.empty
    }
    count = units.counted(len(cells), "cell")
    warmup, lasted = map(units.format_seconds, (workload.warmup_s, workload.measure_s))
    about = prose.said("matrix.about", cells=count, warmup=warmup, measured=lasted)
    parts = [Part("", (Paragraph(about),))]
    if known:
        highest = [
            _ceiling_row(profile, measured[profile.name]) for profile in index.profiles
        ]
        ceilings = table_of(highest, ("Tier",), (prose.said("matrix.ceilings"),))
        parts += [
            Part("Ceilings found", (ceilings,)),
            Part("Latency against depth", tuple(_depth(index, workload, known))),
            Part("What a larger block costs", (_steps(known),)),
        ]
    shown = {**known, **begun}
    for tier, rows in shown.items():
        above = list[blocks.Block]()
        title = f"Every cell of {tier}"
        if tier in begun:
            title = f"Cells of {tier} so far"
            text = f"No run of {tier} was measured to its end: {len(rows)} of {count} so far."
            above.append(Paragraph(text))
        maps = tuple(_heat_map(shown, heat, tier, workload.name) for heat in _HEATS)
        cell_rows = [_row(row) for _, row in rows.iterrows()]
        table = table_of(cell_rows, ("Asked for",), (prose.said("matrix.every_cell"),))
        parts.append(
            Part(
                title, (*above, Charts(maps, (tier,), prose.said("matrix.maps")), table)
            )
        )
    if not shown:
        parts = [Part("", (Paragraph("No run of this workload left figures."),))]
    title = f"{workload.name}: {workload.title}"
    return Section(f"matrix-{workload.name}", title, tuple(parts))


def _measured(
    index: ReportIndex, tier: str, workload: str, cells: Matrix
) -> pd.DataFrame:
    """Means over the repetitions. Cells that one of them lacks are left out: the rest is biased."""
    n = len(index.finished(tier, workload))
    means = {
        (cell.metric, cell.scope): cell.mean
        for cell in index.verdict.cells
        if (cell.profile, cell.workload, cell.n) == (tier, workload, n)
    }
    return disk_matrix.table(cells, means)


def _so_far(
    index: ReportIndex, tier: str, workload: str, cells: Matrix
) -> pd.DataFrame:
    """What the newest of its runs has measured that has not finished."""
    runs = [
        index.campaign.so_far.get(run.number) for run in index.planned(tier, workload)
    ]
    newest = next(filter(None, reversed(runs)), ())
    return disk_matrix.table(cells, {(m.metric, m.scope): m.value for m in newest})


_CEILINGS = prose.words("matrix.columns").values()


def _ceiling_row(profile: Profile, rows: pd.DataFrame) -> dict[str, Cell]:
    limits = profile.tier.limits
    row = {"Tier": Cell(profile.name, tier=profile.name)}
    if rows.empty:
        return row | dict.fromkeys(_CEILINGS, Cell("missing", missing=True))
    iops, rate = (
        disk_matrix.ceilings(rows, metric) for metric in ("iops", "bytes_per_s")
    )
    native = disk_matrix.native_io_bytes(rows)
    alone = disk_matrix.lightest(rows)
    load = _load(*alone[disk_matrix.SERIES])
    cells = (
        _ceiling(iops.get("all"), limits.iops, ""),
        Cell(wording.declared(limits.iops, "")),
        _ceiling(rate.get("read"), limits.bytes_per_s, "bytes/s"),
        _ceiling(rate.get("write"), limits.bytes_per_s, "bytes/s"),
        Cell(wording.declared(limits.bytes_per_s, "bytes/s")),
        Cell(units.format_bytes(native) if native else _NOT_REACHED),
        Cell(
            _seconds(alone["latency_avg_s"]),
            detail=f"{load}, {int(alone.in_flight)} in flight",
        ),
    )
    return row | dict(zip(_CEILINGS, cells, strict=True))


def _ceiling(
    ceiling: disk_matrix.Ceiling | None, declared: float | None, unit: str
) -> Cell:
    if ceiling is None:
        return Cell("not asked for")
    text = units.format_quantity(ceiling.value, unit)
    if not ceiling.reached:
        return Cell(_NOT_REACHED, detail=f"highest {text}")
    if declared:
        off = [units.format_change((ceiling.value / declared - 1) * 100)]
    else:
        off = []
    return Cell(text, detail=", ".join((*off, units.counted(ceiling.cells, "cell"))))


def _load(pattern: str, read_pct: float, block_bytes: float) -> str:
    """`random reads of 4 KiB`."""
    return (
        f"{_in_words(pattern, read_pct)} of {disk_matrix.block_name(int(block_bytes))}"
    )


def _depth(
    index: ReportIndex, workload: Workload, measured: ByTier
) -> Iterator[blocks.Block]:
    laws = [
        (tier, law)
        for tier, rows in measured.items()
        for law in disk_matrix.depth_laws(rows)
    ]
    least = disk_matrix.MIN_LAW_POINTS
    nothing = Paragraph(f"No disk was saturated at {least} depths: nothing to fit.")
    table = table_of(
        [_law_row(*law) for law in laws],
        ("Tier", "Asked for"),
        (prose.said("matrix.depth"),),
    )
    if laws:
        yield table
    else:
        yield nothing
    chart = _depth_chart(measured, index.tiers, workload.name)
    yield Charts((chart,), tuple(measured), prose.said("matrix.deeper"))


def _law_row(tier: str, law: disk_matrix.DepthLaw) -> dict[str, Cell | str]:
    off = units.format_quantity(round(law.off_pct, 2), "%")
    return {
        "Tier": Cell(tier, tier=tier),
        "Asked for": _load(law.pattern, law.read_pct, law.block_bytes),
        "Alone": "" if law.alone_s is None else units.format_seconds(law.alone_s),
        "Saturated from": f"{law.saturated_from} in flight",
        "Added by each in flight": units.format_seconds(law.slope_s),
        "1 / IOPS": units.format_seconds(1 / law.iops),
        "Off the line at most": Cell(off, detail=f"{law.points} depths"),
    }


def _depth_chart(measured: ByTier, tiers: Sequence[str], workload: str) -> Chart:
    """The first series among those with the most depths, with a line for each tier."""
    every = pd.concat(measured, names=["tier"]).reset_index("tier")
    depths = every.groupby(disk_matrix.SERIES)["in_flight"].transform("nunique")
    longest = every[depths == depths.max()].iloc[0]
    own = every[(every[disk_matrix.SERIES] == longest[disk_matrix.SERIES]).all(axis=1)]
    points = own.assign(ms=own["typical_s"] * 1e3)[["tier", "in_flight", "ms"]].to_dict(
        "records"
    )
    load = _load(*longest[disk_matrix.SERIES])
    spec = charts.drawing("depth", tiers, title=f"Latency of {load}")
    title = f"Median latency of {load} against what is in flight, ms"
    return charts.figure(f"{workload}-depth", title, spec, {"points": points})


def _steps(measured: ByTier) -> blocks.Table | Paragraph:
    rows: list[dict[str, Cell | str]] = [
        {
            "Tier": Cell(tier, tier=tier),
            "From": disk_matrix.block_name(step.small_bytes),
            "To": disk_matrix.block_name(step.large_bytes),
            "Bytes": f"× {units.format_number(step.large_bytes / step.small_bytes)}",
            "Latency": Cell(
                f"× {units.format_number(step.latency_ratio)}",
                detail=units.counted(step.cells, "load"),
            ),
        }
        for tier, table in measured.items()
        for step in disk_matrix.block_steps(table)
    ]
    if not rows:
        return Paragraph(
            "No disk was saturated with two sizes of block under the same load."
        )
    return table_of(rows, ("Tier",), (prose.said("matrix.steps"),))


_LATENCIES = {
    "latency_avg_s": "Mean",
    **{f"latency_{p}_s": p for p in ("p50", "p95", "p99")},
}


def _row(row: pd.Series) -> dict[str, str]:
    return {
        "Asked for": _in_words(row["pattern"], row["read_pct"]),
        "Block": disk_matrix.block_name(int(row["block_bytes"])),
        "Depth × threads": f"{int(row['depth'])} × {int(row['threads'])}",
        "IOPS": units.format_number(float(row["iops"])),
        "Bandwidth": units.format_bytes_per_s(float(row["bytes_per_s"])),
        **{title: _seconds(row[metric]) for metric, title in _LATENCIES.items()},
    }


def _seconds(value_s: float) -> str:
    if math.isnan(value_s):
        return ""
    return units.format_seconds(float(value_s))


def _in_words(pattern: str, read_pct: float) -> str:
    """What a cell does: `random reads`, `sequential I/O, 30 % reads`."""
    mix = {100: "reads", 0: "writes"}.get(int(read_pct), f"I/O, {read_pct:.0f} % reads")
    return f"{pattern} {mix}"


def _heat_map(
    measured: ByTier, heat: blocks.Measure, tier: str, workload: str
) -> Chart:
    """A panel for each pattern and read share. Colours mean the same for all tiers."""
    values = pd.concat(measured.values())[heat.metric] * heat.factor
    low = float(values.min())
    high = float(values.max())
    cells = [_heat_cell(row, heat) for _, row in measured[tier].iterrows()]
    ends = [low, max(high, low * _EVEN)]
    spec = charts.drawing(
        "cells",
        [tier],
        title=f"{heat.title} of {tier}",
        unit=heat.unit,
        panels=list(dict.fromkeys(cell["panel"] for cell in cells)),
        shades={"type": "log", "domain": ends, "range": [_PALE, charts.PALETTE[0]]},
        is_deep=f"datum.value > {math.sqrt(low * high)}",
    )
    title = f"{heat.title} of {tier} in every cell of {workload}, {heat.unit}"
    return charts.figure(
        f"{workload}-{tier}-{heat.file}", title, spec, {"cells": cells}
    )


def _heat_cell(row: pd.Series, heat: blocks.Measure) -> dict[str, Any]:
    value = float(row[heat.metric]) * heat.factor
    depth, threads, block = (
        int(row[key]) for key in ("depth", "threads", "block_bytes")
    )
    return {
        "panel": _in_words(row["pattern"], row["read_pct"]),
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
    if value >= 9.95:
        return f"{value:.0f}"
    return f"{value:.2g}"
