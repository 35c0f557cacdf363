"""The raw disk matrix in the report: ceilings found, latency against depth, every cell.

Figures are the verdict's means over repetitions; what they say together is counted anew from them
by orchestrator/matrix.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from orchestrator import units
from orchestrator.model import Profile, Workload
from orchestrator.planning import disk_matrix
from orchestrator.planning.disk_matrix import Ceiling, DepthLaw, MatrixCell
from orchestrator.report import matrix_charts, wording
from orchestrator.report.blocks import Block, Cell, Column, Figures, Paragraph, Part, Section, Table
from orchestrator.report.findings import Findings

_NOT_REACHED = "not reached"


def sections(findings: Findings) -> tuple[Section, ...]:
    """One for each workload that is a matrix."""
    return tuple(
        _section(findings, workload, cells)
        for workload in findings.workloads
        if (cells := disk_matrix.planned(workload.options))
    )


def _section(findings: Findings, workload: Workload, cells: Sequence[MatrixCell]) -> Section:
    measured = {tier: _measured(findings, tier, workload.name, cells) for tier in findings.tiers}
    known = {tier: rows for tier, rows in measured.items() if not rows.empty}
    anchor, title = f"matrix-{workload.name}", f"{workload.name}: {workload.title}"
    if not known:
        nothing = Paragraph("No run of this workload left figures.")
        return Section(anchor, title, (Part("", (nothing,)),))
    parts = (
        Part("", (_about(workload, cells),)),
        Part("Ceilings found", (_ceilings(findings.profiles, measured),)),
        Part("Latency against depth", tuple(_depth(findings, workload, known))),
        Part("What a larger block costs", (_steps(known),)),
        *(Part(f"Every cell of {tier}", _every_cell(workload, known, tier)) for tier in known),
    )
    return Section(anchor, title, parts)


def _measured(
    findings: Findings, tier: str, workload: str, cells: Sequence[MatrixCell]
) -> pd.DataFrame:
    """Means over the repetitions. What one of them lacks is left out: the rest is biased."""
    n = len(findings.finished(tier, workload))
    figures = {
        (cell.metric, cell.scope): cell.mean
        for cell in findings.verdict.cells
        if (cell.profile, cell.workload, cell.n) == (tier, workload, n)
    }
    return disk_matrix.table(cells, figures)


def _about(workload: Workload, cells: Sequence[MatrixCell]) -> Paragraph:
    return Paragraph(
        f"{wording.count(len(cells), 'cell')} of pattern, read share, block, depth and threads, "
        f"each by fio for {units.format_seconds(workload.measure_s)} after "
        f"{units.format_seconds(workload.warmup_s)} of warm-up. In the tables of all workloads, "
        "its throughput is the IOPS ceiling and its latency that of one small random I/O alone."
    )


# ------------------------------------------------------------------ ceilings


def _ceilings(profiles: Sequence[Profile], measured: Mapping[str, pd.DataFrame]) -> Table:
    columns = (
        Column("Tier"),
        Column("IOPS", numeric=True),
        Column("IOPS declared", numeric=True),
        Column("Reading", numeric=True),
        Column("Writing", numeric=True),
        Column("Bandwidth declared", numeric=True),
        Column("Native I/O size", numeric=True),
        Column("One I/O alone", numeric=True),
    )
    rows = tuple(_ceiling_row(profile, measured[profile.name]) for profile in profiles)
    remark = (
        "A ceiling is the median of the cells on the highest plateau; it was reached where half as "
        "much again in flight gave no more, and the other limit was not what held it back. The "
        "native I/O size is the block at which the two ceilings meet: a smaller one costs the disk "
        "as much, a larger one in proportion."
    )
    return Table(columns, rows, remarks=(remark,))


def _ceiling_row(profile: Profile, rows: pd.DataFrame) -> tuple[Cell, ...]:
    head, tier = Cell(profile.name, tier=profile.name), profile.tier
    if rows.empty:
        return (head, *[Cell("missing", missing=True)] * 7)
    iops, rate = (disk_matrix.ceilings(rows, metric) for metric in ("iops", "bytes_per_s"))
    native = disk_matrix.native_io_bytes(rows)
    alone = disk_matrix.lightest(rows)
    return (
        head,
        _ceiling(iops.get("all"), tier.iops, ""),
        _declared(tier.iops, ""),
        _ceiling(rate.get("read"), tier.bytes_per_s, "bytes/s"),
        _ceiling(rate.get("write"), tier.bytes_per_s, "bytes/s"),
        _declared(tier.bytes_per_s, "bytes/s"),
        Cell(units.format_bytes(native)) if native else Cell(_NOT_REACHED),
        Cell(units.format_seconds(float(alone["latency_avg_s"])), detail=_asked(alone)),
    )


def _ceiling(found: Ceiling | None, declared: float | None, unit: str) -> Cell:
    if found is None:
        return Cell("not asked for")
    text = units.format_quantity(found.value, unit)
    if not found.reached:
        return Cell(_NOT_REACHED, detail=f"highest {text}")
    off = [units.format_change((found.value / declared - 1) * 100)] if declared else []
    return Cell(text, detail=", ".join((*off, wording.count(found.cells, "cell"))))


def _declared(value: float | None, unit: str) -> Cell:
    return Cell("none declared") if value is None else Cell(units.format_quantity(value, unit))


def _asked(row: pd.Series) -> str:
    block = disk_matrix.block_name(int(row["block_bytes"]))
    return f"{matrix_charts.in_words(row)} of {block}, {int(row['in_flight'])} in flight"


# ------------------------------------------------------------------ latency against depth


def _depth(
    findings: Findings, workload: Workload, measured: Mapping[str, pd.DataFrame]
) -> Iterator[Block]:
    laws = [(tier, law) for tier, rows in measured.items() for law in disk_matrix.depth_laws(rows)]
    if laws:
        yield _laws(laws)
    else:
        yield Paragraph(
            f"No disk was saturated at {disk_matrix.MIN_LAW_POINTS} depths: nothing to fit."
        )
    figure = matrix_charts.depth_chart(measured, findings.tiers, workload.name)
    caption = "A saturated disk gives no more: each further I/O in flight only waits."
    yield Figures((figure,), tuple(measured), caption)


def _laws(laws: Sequence[tuple[str, DepthLaw]]) -> Table:
    columns = (
        Column("Tier"),
        Column("Asked for"),
        Column("Alone", numeric=True),
        Column("Saturated from", numeric=True),
        Column("Added by each in flight", numeric=True),
        Column("1 / IOPS", numeric=True),
        Column("Off the line at most", numeric=True),
    )
    remark = (
        "Where the disk is saturated, median latency is fitted by a straight line against what is "
        "in flight; by Little's law its slope is 1 / IOPS."
    )
    return Table(columns, tuple(_law_row(tier, law) for tier, law in laws), remarks=(remark,))


def _law_row(tier: str, law: DepthLaw) -> tuple[Cell, ...]:
    asked = {"pattern": law.pattern, "read_pct": law.read_pct}
    words = matrix_charts.in_words(pd.Series(asked))
    alone = Cell("") if law.alone_s is None else Cell(units.format_seconds(law.alone_s))
    return (
        Cell(tier, tier=tier),
        Cell(f"{words} of {disk_matrix.block_name(law.block_bytes)}"),
        alone,
        Cell(f"{law.saturated_from} in flight"),
        Cell(units.format_seconds(law.slope_s)),
        Cell(units.format_seconds(1 / law.iops)),
        Cell(units.format_quantity(round(law.off_pct, 2), "%"), detail=f"{law.points} depths"),
    )


# ------------------------------------------------------------------ blocks


def _steps(measured: Mapping[str, pd.DataFrame]) -> Table | Paragraph:
    rows = tuple(
        (
            Cell(tier, tier=tier),
            Cell(disk_matrix.block_name(step.small_bytes)),
            Cell(disk_matrix.block_name(step.large_bytes)),
            Cell(f"× {units.format_number(step.bytes_ratio)}"),
            Cell(
                f"× {units.format_number(step.latency_ratio)}",
                detail=wording.count(step.cells, "load"),
            ),
        )
        for tier, table in measured.items()
        for step in disk_matrix.block_steps(table)
    )
    if not rows:
        return Paragraph("No disk was saturated with two sizes of block under the same load.")
    columns = (
        Column("Tier"),
        Column("From", numeric=True),
        Column("To", numeric=True),
        Column("Bytes", numeric=True),
        Column("Latency", numeric=True),
    )
    remark = "Median latencies, and their median over the loads that saturate the disk with both."
    return Table(columns, rows, remarks=(remark,))


# ------------------------------------------------------------------ every cell


def _every_cell(
    workload: Workload, measured: Mapping[str, pd.DataFrame], tier: str
) -> tuple[Block, ...]:
    maps = matrix_charts.heat_maps(measured, tier, workload.name)
    caption = "Down: block; across: I/Os in flight (depth × threads). A blank was not measured."
    return Figures(maps, (tier,), caption), _table(measured[tier])


_LATENCIES = {
    "latency_avg_s": "Mean",
    "latency_p50_s": "p50",
    "latency_p95_s": "p95",
    "latency_p99_s": "p99",
}


def _table(rows: pd.DataFrame) -> Table:
    columns = (
        Column("Asked for"),
        Column("Block", numeric=True),
        Column("Depth × threads", numeric=True),
        Column("IOPS", numeric=True),
        Column("Bandwidth", numeric=True),
        *(Column(title, numeric=True) for title in _LATENCIES.values()),
    )
    remark = (
        "Latency. A percentile stands where ten I/Os lie beyond it besides those in flight at the "
        "end, which fio collects all at once; they lengthen the mean by latency / (2 × measured "
        "time)."
    )
    return Table(columns, tuple(_row(row) for _, row in rows.iterrows()), remarks=(remark,))


def _row(row: pd.Series) -> tuple[Cell, ...]:
    return (
        Cell(matrix_charts.in_words(row)),
        Cell(disk_matrix.block_name(int(row["block_bytes"]))),
        Cell(f"{int(row['depth'])} × {int(row['threads'])}"),
        Cell(units.format_number(float(row["iops"]))),
        Cell(units.format_bytes_per_s(float(row["bytes_per_s"]))),
        *(_latency(float(row[metric])) for metric in _LATENCIES),
    )


def _latency(value_s: float) -> Cell:
    return Cell("") if math.isnan(value_s) else Cell(units.format_seconds(value_s))
