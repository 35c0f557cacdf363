"""What the servers did with log and data files while measuring, where that was sampled."""

from __future__ import annotations

from orchestrator.report import wording
from orchestrator.report.blocks import Cell, Part, Section, Table, numbers, texts
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections.summary import value_cell

_COLUMNS = {
    "wal_syncs_per_s": "WAL syncs/s",
    "wal_sync_avg_s": "Time of a sync",
    "wal_append_avg_s": "Time of an append",
    "wal_bytes_per_s": "WAL written",
    "flush_bytes_per_s": "Flushed",
    "compaction_read_bytes_per_s": "Compactions read",
    "compaction_write_bytes_per_s": "Compactions wrote",
    "block_cache_hit_pct": "Block cache hits",
    "write_stall_pct": "Writes held back",
}
_REMARK = (
    "All nodes together over the measured window. A sync is of one tablet's log; below its time "
    "stands the node where it took longest. Writes held back: time of stalls, summed over a node's "
    "tablets, mean of the nodes. Figures of each node are in verdict.json."
)


def section(index: ReportIndex) -> tuple[Section, ...]:
    """Empty where no server's counters were sampled."""
    shown = [metric for metric in _COLUMNS if index.has(metric)]
    if not shown:
        return ()
    rows: list[tuple[Cell, ...]] = []
    for workload in index.workloads:
        rows.append((Cell(workload.name, strong=True),))
        rows += [_row(index, tier, workload.name, shown) for tier in index.tiers]
    columns = (*texts("Tier"), *numbers(*(_COLUMNS[metric] for metric in shown)))
    table = Table(columns, tuple(rows), remarks=(_REMARK,))
    return (Section("storage-engine", "Log and data files", (Part("", (table,)),)),)


def _row(index: ReportIndex, tier: str, workload: str, shown: list[str]) -> tuple[Cell, ...]:
    return (Cell(tier, tier=tier), *(_cell(index, tier, workload, metric) for metric in shown))


def _cell(index: ReportIndex, tier: str, workload: str, metric: str) -> Cell:
    cell = index.cell(tier, workload, metric)
    shown = value_cell(index, tier, workload, cell, wording.value)
    slowest = index.busiest(tier, workload, metric) if metric == "wal_sync_avg_s" else None
    if cell is None or slowest is None:
        return shown
    return Cell(shown.text, detail=f"{slowest.scope} {wording.value(slowest)}")
