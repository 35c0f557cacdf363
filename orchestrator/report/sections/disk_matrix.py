"""The raw disk matrix in the report: ceilings found, latency against depth, every cell.

Values are the verdict's means over repetitions; ceilings and laws are computed from these anew by
`planning/disk_matrix.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from orchestrator import units
from orchestrator.model import Profile, Workload
from orchestrator.planning import disk_matrix
from orchestrator.planning.disk_matrix import Ceiling, DepthLaw, MatrixCell
from orchestrator.report import wording
from orchestrator.report.blocks import (
    Block,
    Cell,
    Charts,
    Paragraph,
    Part,
    Section,
    Table,
    table_of,
)
from orchestrator.report.charts import matrix_charts
from orchestrator.report.report_index import ReportIndex

_NOT_REACHED = "not reached"


def sections(index: ReportIndex) -> tuple[Section, ...]:
    """One for each workload that is a matrix."""
    return tuple(
        _section(index, workload, cells)
        for workload in index.workloads
        if (cells := disk_matrix.planned(workload.options))
    )


def _section(index: ReportIndex, workload: Workload, cells: Sequence[MatrixCell]) -> Section:
    measured = {tier: _measured(index, tier, workload.name, cells) for tier in index.tiers}
    known = {tier: rows for tier, rows in measured.items() if not rows.empty}
    anchor, title = f"matrix-{workload.name}", f"{workload.name}: {workload.title}"
    if not known:
        nothing = Paragraph("No run of this workload left figures.")
        return Section(anchor, title, (Part("", (nothing,)),))
    parts = (
        Part("", (_about(workload, cells),)),
        Part("Ceilings found", (_ceilings(index.profiles, measured),)),
        Part("Latency against depth", tuple(_depth(index, workload, known))),
        Part("What a larger block costs", (_steps(known),)),
        *(Part(f"Every cell of {tier}", _every_cell(workload, known, tier)) for tier in known),
    )
    return Section(anchor, title, parts)


def _measured(
    index: ReportIndex, tier: str, workload: str, cells: Sequence[MatrixCell]
) -> pd.DataFrame:
    """Means over the repetitions. Cells that one of them lacks are left out: the rest is biased."""
    n = len(index.finished(tier, workload))
    means = {
        (cell.metric, cell.scope): cell.mean
        for cell in index.verdict.cells
        if (cell.profile, cell.workload, cell.n) == (tier, workload, n)
    }
    return disk_matrix.table(cells, means)


def _about(workload: Workload, cells: Sequence[MatrixCell]) -> Paragraph:
    return Paragraph(
        f"{units.counted(len(cells), 'cell')} of pattern, read share, block, depth and threads, "
        f"each by fio for {units.format_seconds(workload.measure_s)} after "
        f"{units.format_seconds(workload.warmup_s)} of warm-up. In the tables of all workloads, "
        "its throughput is the IOPS ceiling and its latency that of one small random I/O alone."
    )


# ------------------------------------------------------------------ ceilings


_CEILINGS = (
    *("IOPS", "IOPS declared", "Reading", "Writing", "Bandwidth declared"),
    *("Native I/O size", "One I/O alone"),
)


def _ceilings(profiles: Sequence[Profile], measured: Mapping[str, pd.DataFrame]) -> Table:
    remark = (
        "A ceiling is the median of the cells on the highest plateau; it was reached where half as "
        "much again in flight gave no more, and the other limit was not what held it back. The "
        "native I/O size is the block at which the two ceilings meet: a smaller one costs the disk "
        "as much, a larger one in proportion."
    )
    rows = [_ceiling_row(profile, measured[profile.name]) for profile in profiles]
    return table_of(rows, ("Tier",), (remark,))


def _ceiling_row(profile: Profile, rows: pd.DataFrame) -> dict[str, Cell]:
    limits, row = profile.tier.limits, {"Tier": Cell(profile.name, tier=profile.name)}
    if rows.empty:
        return row | dict.fromkeys(_CEILINGS, Cell("missing", missing=True))
    iops, rate = (disk_matrix.ceilings(rows, metric) for metric in ("iops", "bytes_per_s"))
    native = disk_matrix.native_io_bytes(rows)
    alone = disk_matrix.lightest(rows)
    cells = (
        _ceiling(iops.get("all"), limits.iops, ""),
        Cell(wording.declared(limits.iops, "")),
        _ceiling(rate.get("read"), limits.bytes_per_s, "bytes/s"),
        _ceiling(rate.get("write"), limits.bytes_per_s, "bytes/s"),
        Cell(wording.declared(limits.bytes_per_s, "bytes/s")),
        Cell(units.format_bytes(native) if native else _NOT_REACHED),
        Cell(_seconds(alone["latency_avg_s"]), detail=_load(alone)),
    )
    return row | dict(zip(_CEILINGS, cells, strict=True))


def _ceiling(ceiling: Ceiling | None, declared: float | None, unit: str) -> Cell:
    if ceiling is None:
        return Cell("not asked for")
    text = units.format_quantity(ceiling.value, unit)
    if not ceiling.reached:
        return Cell(_NOT_REACHED, detail=f"highest {text}")
    off = [units.format_change((ceiling.value / declared - 1) * 100)] if declared else []
    return Cell(text, detail=", ".join((*off, units.counted(ceiling.cells, "cell"))))


def _load(row: pd.Series) -> str:
    block = disk_matrix.block_name(int(row["block_bytes"]))
    words = matrix_charts.in_words(row["pattern"], row["read_pct"])
    return f"{words} of {block}, {int(row['in_flight'])} in flight"


# ------------------------------------------------------------------ latency against depth


def _depth(
    index: ReportIndex, workload: Workload, measured: Mapping[str, pd.DataFrame]
) -> Iterator[Block]:
    laws = [(tier, law) for tier, rows in measured.items() for law in disk_matrix.depth_laws(rows)]
    least = disk_matrix.MIN_LAW_POINTS
    nothing = Paragraph(f"No disk was saturated at {least} depths: nothing to fit.")
    yield _laws(laws) if laws else nothing
    chart = matrix_charts.depth_chart(measured, index.tiers, workload.name)
    caption = "A saturated disk gives no more: each further I/O in flight only waits."
    yield Charts((chart,), tuple(measured), caption)


def _laws(laws: Sequence[tuple[str, DepthLaw]]) -> Table:
    remark = (
        "Where the disk is saturated, median latency is fitted by a straight line against what is "
        "in flight; by Little's law its slope is 1 / IOPS."
    )
    return table_of([_law_row(*law) for law in laws], ("Tier", "Asked for"), (remark,))


def _law_row(tier: str, law: DepthLaw) -> dict[str, Cell | str]:
    words = matrix_charts.in_words(law.pattern, law.read_pct)
    off = units.format_quantity(round(law.off_pct, 2), "%")
    return {
        "Tier": Cell(tier, tier=tier),
        "Asked for": f"{words} of {disk_matrix.block_name(law.block_bytes)}",
        "Alone": "" if law.alone_s is None else units.format_seconds(law.alone_s),
        "Saturated from": f"{law.saturated_from} in flight",
        "Added by each in flight": units.format_seconds(law.slope_s),
        "1 / IOPS": units.format_seconds(1 / law.iops),
        "Off the line at most": Cell(off, detail=f"{law.points} depths"),
    }


# ------------------------------------------------------------------ blocks


def _steps(measured: Mapping[str, pd.DataFrame]) -> Table | Paragraph:
    rows: list[dict[str, Cell | str]] = [
        {
            "Tier": Cell(tier, tier=tier),
            "From": disk_matrix.block_name(step.small_bytes),
            "To": disk_matrix.block_name(step.large_bytes),
            "Bytes": f"× {units.format_number(step.bytes_ratio)}",
            "Latency": Cell(
                f"× {units.format_number(step.latency_ratio)}",
                detail=units.counted(step.cells, "load"),
            ),
        }
        for tier, table in measured.items()
        for step in disk_matrix.block_steps(table)
    ]
    if not rows:
        return Paragraph("No disk was saturated with two sizes of block under the same load.")
    remark = "Median latencies, and their median over the loads that saturate the disk with both."
    return table_of(rows, ("Tier",), (remark,))


# ------------------------------------------------------------------ every cell


def _every_cell(
    workload: Workload, measured: Mapping[str, pd.DataFrame], tier: str
) -> tuple[Block, ...]:
    maps = matrix_charts.heat_maps(measured, tier, workload.name)
    caption = "Down: block; across: I/Os in flight (depth × threads). A blank was not measured."
    return Charts(maps, (tier,), caption), _table(measured[tier])


_LATENCIES = {
    "latency_avg_s": "Mean",
    "latency_p50_s": "p50",
    "latency_p95_s": "p95",
    "latency_p99_s": "p99",
}


def _table(rows: pd.DataFrame) -> Table:
    remark = (
        "Latency. A percentile stands where ten I/Os lie beyond it besides those in flight at the "
        "end, which fio collects all at once; they lengthen the mean by latency / (2 × measured "
        "time)."
    )
    return table_of([_row(row) for _, row in rows.iterrows()], ("Asked for",), (remark,))


def _row(row: pd.Series) -> dict[str, str]:
    return {
        "Asked for": matrix_charts.in_words(row["pattern"], row["read_pct"]),
        "Block": disk_matrix.block_name(int(row["block_bytes"])),
        "Depth × threads": f"{int(row['depth'])} × {int(row['threads'])}",
        "IOPS": units.format_number(float(row["iops"])),
        "Bandwidth": units.format_bytes_per_s(float(row["bytes_per_s"])),
        **{title: _seconds(row[metric]) for metric, title in _LATENCIES.items()},
    }


def _seconds(value_s: float) -> str:
    return "" if math.isnan(value_s) else units.format_seconds(float(value_s))
