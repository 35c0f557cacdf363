"""The table of a workload's transaction types: what each took, and how often it was tried again."""

from __future__ import annotations

from orchestrator.report import wording
from orchestrator.report.blocks import Cell, Table, numbers, texts
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.summary import value_cell

_COLUMNS = {
    "throughput_per_s": "Transactions/s",
    "latency_avg_s": "Average latency",
    "latency_p95_s": "p95",
    "latency_p99_s": "p99",
    "retries": "Retries",
    "rollbacks": "Rolled back",
    "failures": "Failed",
}


def tables(index: ReportIndex, workload: str) -> tuple[Table, ...]:
    """One table, types down and their tiers below each; none if all transactions are of one type.

    Retries, rollbacks on purpose and failures are counts of one run, means over the repetitions.
    """
    types = index.transaction_types(workload)
    if not types:
        return ()
    rows: list[tuple[Cell, ...]] = []
    for name in types:
        rows.append((Cell(name.replace("_", " "), strong=True),))
        rows += [_row(index, tier, workload, name) for tier in index.tiers]
    heads = (*texts("Transaction"), *numbers(*_COLUMNS.values()))
    return (Table(heads, tuple(rows), remarks=_remarks(index, workload)),)


def _row(index: ReportIndex, tier: str, workload: str, name: str) -> tuple[Cell, ...]:
    cells = (index.cell_of_type(tier, workload, metric, name) for metric in _COLUMNS)
    values = (value_cell(index, tier, workload, cell, wording.value) for cell in cells)
    return (Cell(tier, tier=tier), *values)


def _remarks(index: ReportIndex, workload: str) -> tuple[str, ...]:
    counts = "Retries, rollbacks on purpose and failures are counts of one run."
    level = index.campaign.plan.workload(workload).options.get("isolation", "read committed")
    return (f"{counts} Isolation asked for: {level}.", *_effective(index, workload))


def _effective(index: ReportIndex, workload: str) -> tuple[str, ...]:
    """What the servers made of it, if they said so."""
    runs = (run for tier in index.tiers for run in index.finished(tier, workload))
    levels = {str(run.record.facts.get("database", {}).get("isolation") or "") for run in runs}
    return tuple(f"In effect: {level}." for level in sorted(levels - {""}))
