"""Each database node: what it used, beside the others of its tier."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from orchestrator.analysis.conclusions import CellSummary
from orchestrator.report.blocks import (
    Cell,
    Part,
    Row,
    Section,
    Table,
    absent,
    table_of,
)
from orchestrator.report.report_index import ReportIndex

# Metric → title of its column.
_OF_NODE = {
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
_Node = dict[str, CellSummary]  # metric → its value
_Nodes = Mapping[str, _Node]  # nodes by name


def section(index: ReportIndex) -> tuple[Section, ...]:
    """Empty where no cluster had several nodes with figures of their own."""
    parts: list[Part] = []
    for load in index.workloads:
        by_tier = {tier: _nodes(index, tier, load.name) for tier in index.tiers}
        # The table of tiers has all figures of a single node.
        if any(len(tier_rows) > 1 for tier_rows in by_tier.values()):
            table = _node_table(index, load.name, by_tier)
            parts.append(Part(load.name, (table,)))
    if not parts:
        return ()
    return (Section("nodes", "Each node", tuple(parts)),)


def _nodes(index: ReportIndex, tier: str, workload: str) -> _Nodes:
    """The nodes with figures of their own. Figures of all nodes together have the scope "all"."""
    nodes: dict[str, _Node] = {}
    for cell in index.verdict.cells:
        if (cell.profile, cell.workload) != (tier, workload):
            continue
        # The scopes of other metrics are types of transactions.
        if cell.scope != "all" and cell.metric in _OF_NODE:
            nodes.setdefault(cell.scope, {})[cell.metric] = cell
    return nodes


def _node_table(
    index: ReportIndex, workload: str, by_tier: Mapping[str, _Nodes]
) -> Table:
    rows: list[Row] = []
    for tier, nodes in by_tier.items():
        head = Cell(tier, tier=tier, strong=True)
        if nodes:
            rows.append(head)
            rows += _node_rows(index, tier, workload, nodes)
        else:
            rows.append(_row_without_nodes(index, tier, workload, head))
    about = (
        "Means over the measured window and the repetitions. CPU is in percent of the node's "
        "limit. The highest of a tier's nodes is bold. Each of several nodes on one disk has the "
        "figures of the whole disk."
    )
    return table_of(rows, ("Node",), (about,))


def _row_without_nodes(
    index: ReportIndex, tier: str, workload: str, head: Cell
) -> dict[str, Cell]:
    lacks = absent("missing")
    # A cluster of one node has its figures in the table of tiers, so none is missing.
    if index.finished(tier, workload):
        lacks = Cell("")
    return {"Node": head, **dict.fromkeys(_OF_NODE.values(), lacks)}


def _node_rows(
    index: ReportIndex, tier: str, workload: str, nodes: _Nodes
) -> list[dict[str, Cell | str]]:
    rows: list[dict[str, Cell | str]] = [{"Node": name} for name in nodes]
    for metric, title in _OF_NODE.items():
        cells = _cells_of_nodes(index, tier, workload, nodes, metric)
        _add_column(rows, title, cells)
    return rows


def _add_column(
    rows: Sequence[dict[str, Cell | str]], title: str, cells: Sequence[Cell]
) -> None:
    for row, cell in zip(rows, cells, strict=True):
        row[title] = cell


def _cells_of_nodes(
    index: ReportIndex,
    tier: str,
    workload: str,
    nodes: _Nodes,
    metric: str,
) -> list[Cell]:
    """The busiest node's is strong."""
    values = [node.get(metric) for node in nodes.values()]
    cells = [index.value_cell(tier, workload, value) for value in values]
    # Caps are those of single nodes, so the busiest is the one that comes to a limit first.
    busiest = _busiest(values, cells)
    if busiest is not None:
        cells[busiest] = replace(cells[busiest], strong=True)
    return cells


def _busiest(values: Sequence[CellSummary | None], cells: Sequence[Cell]) -> int | None:
    """The node with the highest value; None if it is the only one, or another looks the same."""
    means: dict[int, float] = {}
    for number, value in enumerate(values):
        if value is not None:
            means[number] = value.mean
    if len(means) < 2:
        return None
    # The last of nodes with the same value is taken.
    busiest = max(reversed(means), key=means.__getitem__)
    # Bold for one of two equal figures would say a difference that nobody sees.
    texts = [cell.text for cell in cells]
    if texts.count(texts[busiest]) > 1:
        return None
    return busiest
