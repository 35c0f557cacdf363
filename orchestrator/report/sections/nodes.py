"""Each database node by itself, where there are several: CPU and disk, the busiest marked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from orchestrator.analysis.conclusions import CellSummary
from orchestrator.report import wording
from orchestrator.report.blocks import Cell, Part, Section, Table, numbers, texts
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections.summary import value_cell

_COLUMNS = {
    "cpu_pct": "CPU",
    "disk_read_iops": "Reads/s",
    "disk_write_iops": "Writes/s",
    "disk_iops": "IOPS",
    "disk_bytes_per_s": "Bandwidth",
    "disk_await_s": "Time per I/O",
    "wal_disk_iops": "IOPS, WAL's disk",
    "wal_disk_bytes_per_s": "Bandwidth, WAL's disk",
    "wal_disk_await_s": "Time per I/O, WAL's disk",
}
_REMARK = (
    "Means over the measured window and the repetitions; CPU in percent of the node's limit. The "
    "highest of a tier's nodes is bold. Nodes on one disk have the figures of that whole disk each."
)

_Node = dict[str, CellSummary]  # metric → its value


def section(index: ReportIndex) -> tuple[Section, ...]:
    """Empty where no cluster had several nodes with figures of their own."""
    parts: list[Part] = []
    for workload in index.workloads:
        nodes = {tier: _nodes(index, tier, workload.name) for tier in index.tiers}
        if any(len(of_tier) > 1 for of_tier in nodes.values()):
            parts.append(Part(workload.name, (_table(index, workload.name, nodes),)))
    return (Section("nodes", "Each node", tuple(parts)),) if parts else ()


def _nodes(index: ReportIndex, tier: str, workload: str) -> dict[str, _Node]:
    """Node → its figures; a metric's other scope is "all", of the nodes together."""
    nodes: dict[str, _Node] = {}
    for cell in index.verdict.cells:
        own = (cell.profile, cell.workload) == (tier, workload) and cell.scope != "all"
        if own and cell.metric in _COLUMNS:
            nodes.setdefault(cell.scope, {})[cell.metric] = cell
    return nodes


def _table(index: ReportIndex, workload: str, nodes: Mapping[str, Mapping[str, _Node]]) -> Table:
    found = {metric for of_tier in nodes.values() for node in of_tier.values() for metric in node}
    shown = [metric for metric in _COLUMNS if metric in found]
    rows: list[tuple[Cell, ...]] = []
    for tier, of_tier in nodes.items():
        lacks = Cell("missing" if not index.finished(tier, workload) else "", missing=True)
        head = Cell(tier, tier=tier, strong=True)
        rows.append((head,) if of_tier else (head, *(lacks for _ in shown)))
        rows += _rows(index, tier, workload, of_tier, shown)
    columns = (*texts("Node"), *numbers(*(_COLUMNS[metric] for metric in shown)))
    return Table(columns, tuple(rows), remarks=(_REMARK,))


def _rows(
    index: ReportIndex, tier: str, workload: str, nodes: Mapping[str, _Node], shown: list[str]
) -> Iterator[tuple[Cell, ...]]:
    columns = [_column(index, tier, workload, nodes, metric) for metric in shown]
    for name, *cells in zip(nodes, *columns, strict=True):
        yield (Cell(name), *cells)


def _column(
    index: ReportIndex, tier: str, workload: str, nodes: Mapping[str, _Node], metric: str
) -> list[Cell]:
    """One metric of each node; the highest is marked unless another looks the same."""
    values = [node.get(metric) for node in nodes.values()]
    cells = [value_cell(index, tier, workload, value, wording.value) for value in values]
    known = [(value.mean, n) for n, value in enumerate(values) if value is not None]
    if len(known) > 1:
        _, busiest = max(known)
        if [cell.text for cell in cells].count(cells[busiest].text) == 1:
            cells[busiest] = replace(cells[busiest], strong=True)
    return cells
