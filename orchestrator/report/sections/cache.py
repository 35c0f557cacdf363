"""Data set against cache: whether a workload needed the disk at all."""

from collections.abc import Iterable, Iterator

from orchestrator import units
from orchestrator.analysis.results import database
from orchestrator.report.blocks import (
    Block,
    Cell,
    Paragraph,
    Part,
    Row,
    Section,
    absent,
    table_of,
)
from orchestrator.report.report_index import ReportIndex


def section(index: ReportIndex) -> Section:
    """Whether each data set fits in the database's cache: if so, its reads need no disk."""
    part = Part("", tuple(_cache_blocks(index)))
    return Section("cache", "Data set against cache", (part,))


def _cache_blocks(index: ReportIndex) -> Iterator[Block]:
    # A workload that names its own database measures the disk alone.
    loads = [workload.name for workload in index.workloads if workload.database is None]
    if not loads:
        yield Paragraph("No database was measured, so there is no cache to compare.")
        return
    yield Paragraph(
        "Data and cache of one database node, as read back from the running server. A data set "
        "that fits in the cache is read from memory, whatever the disk."
    )
    rows: list[Row] = []
    for workload in loads:
        rows.extend(_cache_rows(index, workload))
    yield table_of(rows, ("Workload", "Tier", "What follows"))


def _cache_rows(index: ReportIndex, workload: str) -> Iterator[dict[str, Cell]]:
    """One row if all tiers agree, else one each."""
    by_tier: dict[str, dict[str, Cell]] = {}
    for tier in index.tiers:
        by_tier[tier] = _cache_cells(index, tier, workload)
    # Tiers mostly differ in their disks alone.
    first, *others = by_tier.values()
    if others and all(cells == first for cells in others):
        yield {"Workload": Cell(workload), "Tier": Cell("all tiers"), **first}
        return
    for tier, cells in by_tier.items():
        yield {"Workload": Cell(workload), "Tier": Cell(tier, tier=tier), **cells}


def _cache_cells(index: ReportIndex, tier: str, workload: str) -> dict[str, Cell]:
    facts = [database(run.record) for run in index.finished(tier, workload)]
    data_bytes = _first_read(fact.data_bytes for fact in facts)
    cache_bytes = _first_read(fact.cache_bytes for fact in facts)
    cells = {"Data set": _size(data_bytes), "Cache": _size(cache_bytes)}
    # A size that was not read is no 0, and nothing is divided by a cache of 0.
    if data_bytes is not None and cache_bytes:
        cells["Data : cache"] = Cell(f"{data_bytes / cache_bytes:.1f}")
        cells["What follows"] = Cell(_what_follows(data_bytes, cache_bytes))
        return cells
    cells["Data : cache"] = Cell("")
    absence = "missing: no finished run"
    # Runs that count may be of a server that does not tell its sizes.
    if facts:
        absence = "not recorded"
    cells["What follows"] = absent(absence)
    return cells


def _first_read(sizes_bytes: Iterable[float | None]) -> float | None:
    """The size in the first run that has it: data and cache are the same in all runs."""
    for size_bytes in sizes_bytes:
        if size_bytes is not None:
            return size_bytes
    return None


def _size(size_bytes: float | None) -> Cell:
    if size_bytes is None:
        return absent("missing")
    return Cell(units.format_bytes(size_bytes))


def _what_follows(data_bytes: float, cache_bytes: float) -> str:
    # Both are of one node, so copies and nodes need no reckoning here.
    if data_bytes <= cache_bytes:
        return "fits in the cache: reads need no disk"
    return "exceeds the cache"
