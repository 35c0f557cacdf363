"""The raw disk matrix, of the verdict's means: ceilings, and latency against depth and block."""

from collections.abc import Iterator, Sequence

import pandas as pd

from orchestrator import units
from orchestrator.analysis.answers.disk_ceilings import ByTier, measured_by_tier
from orchestrator.analysis.figures import matrix_laws
from orchestrator.design import disk_matrix
from orchestrator.model import Measurement, Profile, Workload
from orchestrator.report import wording
from orchestrator.report.blocks import (
    Block,
    Cell,
    Chart,
    Charts,
    Paragraph,
    Part,
    Row,
    Section,
    Table,
    absent,
    table_of,
)
from orchestrator.report.charts import charts
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections.matrix_cells import (
    every_cell,
    load_in_words,
    mix_in_words,
    seconds,
)
from orchestrator.texts import prose

_Cells = Sequence[disk_matrix.MatrixCell]


def sections(index: ReportIndex) -> tuple[Section, ...]:
    """One for each workload that is a matrix."""
    shown: list[Section] = []
    for workload in index.workloads:
        cells = disk_matrix.planned(workload.options)
        if cells:
            shown.append(_section(index, workload, cells))
    return tuple(shown)


def _section(index: ReportIndex, workload: Workload, cells: _Cells) -> Section:
    title = f"{workload.name}: {workload.title}"
    parts = tuple(_parts(index, workload, cells))
    return Section(f"matrix-{workload.name}", title, parts)


def _parts(index: ReportIndex, workload: Workload, cells: _Cells) -> Iterator[Part]:
    """What the cells of each tier say together, then every cell."""
    measured = measured_by_tier(index, workload)
    begun = _begun_by_tier(index, workload.name, cells, measured)
    if not measured and not begun:
        yield Part("", (Paragraph("No run of this workload left figures."),))
        return
    yield Part("", (Paragraph(_about(workload, cells)),))
    # The highest of a part of the cells may lie below the ceiling, so they give none.
    if measured:
        yield Part("Ceilings found", (_ceilings(index, measured),))
        yield Part("Latency against depth", tuple(_depth(index, workload, measured)))
        yield Part("What a larger block costs", (_steps(measured),))
    shown = {**measured, **begun}
    for tier, rows in shown.items():
        # All tiers go in, because their maps share one range of colours.
        blocks = tuple(every_cell(shown, tier, workload.name))
        if tier in measured:
            yield Part(f"Every cell of {tier}", blocks)
        else:
            progress = Paragraph(_progress(tier, len(rows), len(cells)))
            yield Part(f"Cells of {tier} so far", (progress, *blocks))


def _progress(tier: str, measured: int, planned: int) -> str:
    cells = prose.counted(planned, "cell")
    return f"No run of {tier} was measured to its end: {measured} of {cells} so far."


def _about(workload: Workload, cells: _Cells) -> str:
    count = prose.counted(len(cells), "cell")
    measured = units.format_seconds(workload.measure_s)
    warm_up = units.format_seconds(workload.warmup_s)
    return (
        f"{count} of pattern, read share, block, depth and threads. fio measured each for "
        f"{measured} after {warm_up} of warm-up. In other tables its throughput is the highest "
        "IOPS of any cell. Its latency is that of one small random I/O alone."
    )


# ------------------------------------------------------------------ what was measured


def _begun_by_tier(
    index: ReportIndex, workload: str, cells: _Cells, measured: ByTier
) -> ByTier:
    """The matrices of other tiers, if a run of them has begun to measure."""
    by_tier: dict[str, pd.DataFrame] = {}
    for tier in index.tiers:
        if tier not in measured:
            rows = _so_far(index, tier, workload, cells)
            if not rows.empty:
                by_tier[tier] = rows
    return by_tier


def _so_far(
    index: ReportIndex, tier: str, workload: str, cells: _Cells
) -> pd.DataFrame:
    """What the newest of its runs has measured that has not finished."""
    figures: dict[tuple[str, str], float] = {}
    for measurement in _newest_so_far(index, tier, workload):
        figures[measurement.metric, measurement.scope] = measurement.value
    return matrix_laws.table(cells, figures)


def _newest_so_far(
    index: ReportIndex, tier: str, workload: str
) -> tuple[Measurement, ...]:
    # Runs stand in the order of their numbers, so the newest is the last.
    for run in reversed(index.planned(tier, workload)):
        measurements = index.campaign.so_far.get(run.number)
        if measurements:
            return measurements
    return ()


# ------------------------------------------------------------------ ceilings

_ABOUT_CEILINGS = (
    "A ceiling is the median of the cells on the highest plateau. There "
    "50 % more I/Os in flight gave no more, and the other limit was not reached. The "
    "native I/O size is the block at which the two ceilings meet. A smaller block "
    "costs the disk the same. A larger block costs more, in proportion."
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
            row |= dict.fromkeys(_CEILING_TITLES, absent("missing"))
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
    # A matrix of reads alone has no ceiling of writes.
    if ceiling is None:
        return Cell("not asked for")
    text = units.format_quantity(ceiling.value, unit)
    # More in flight might have given more, so it is not held against the declared limit.
    if not ceiling.reached:
        return Cell(_NOT_REACHED, detail=f"highest {text}")
    cells = prose.counted(ceiling.cells, "cell")
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
    load = load_in_words(lightest)
    in_flight = int(lightest["in_flight"])
    latency = seconds(lightest["latency_avg_s"])
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
    mix = mix_in_words(law.pattern, law.read_pct)
    block = disk_matrix.block_name(law.block_bytes)
    row: dict[str, Cell | str] = {"Tier": Cell(tier, tier=tier)}
    row["Asked for"] = f"{mix} of {block}"
    row["Alone"] = alone
    row["Saturated from"] = f"{law.saturated_from} in flight"
    # The two stand beside each other, because by Little's law they are the same.
    row["Added by each I/O in flight"] = units.format_seconds(law.slope_s)
    row["1 / IOPS"] = units.format_seconds(1 / law.iops)
    row["Largest deviation from the line"] = Cell(off, detail=f"{law.points} depths")
    return row


def _depth_chart(measured: ByTier, tiers: Sequence[str], workload: str) -> Chart:
    """The first series among those with the most depths, with a line for each tier."""
    # One series for all tiers: latencies of unlike loads cannot be compared.
    longest = _longest_series(measured)
    # The median, because I/Os that are in flight at the end lengthen a mean.
    drawn = longest.assign(ms=longest["typical_s"] * 1e3)
    points = drawn[["tier", "in_flight", "ms"]].to_dict("records")
    load = load_in_words(longest.iloc[0])
    spec = charts.drawing("depth", tiers, title=f"Latency of {load}")
    title = f"Median latency of {load} against what is in flight, ms"
    return charts.figure(f"{workload}-depth", title, spec, {"points": points})


def _longest_series(measured: ByTier) -> pd.DataFrame:
    """The cells of all tiers, of that pattern, read share and block."""
    cells: pd.DataFrame = pd.concat(measured, names=["tier"]).reset_index("tier")
    # Counts are over all tiers together, so that each has its line of the same series.
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
    # Both ratios stand in a row. They are equal where bandwidth limits the disk. The latency hardly
    # grows where IOPS do.
    size_ratio = units.format_number(step.large_bytes / step.small_bytes)
    latency_ratio = units.format_number(step.latency_ratio)
    loads = prose.counted(step.cells, "load")
    return {
        "Tier": Cell(tier, tier=tier),
        "From": disk_matrix.block_name(step.small_bytes),
        "To": disk_matrix.block_name(step.large_bytes),
        "Bytes": f"× {size_ratio}",
        "Latency": Cell(f"× {latency_ratio}", detail=loads),
    }
