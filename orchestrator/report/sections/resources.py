"""What the runs used: the bottleneck of each, each database node, and the storage engine."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import pandas as pd

from orchestrator import facts, units
from orchestrator.analysis.conclusions import Bottleneck, CellSummary
from orchestrator.analysis.figures.statements import pooled
from orchestrator.model import Record
from orchestrator.report import wording
from orchestrator.report.blocks import (
    Block,
    Cell,
    Paragraph,
    Part,
    Row,
    Section,
    Table,
    table_of,
)
from orchestrator.report.report_index import ReportIndex

# ------------------------------------------------------------------ bottlenecks

# A value behind a cause (`use.node_values.Evidence`) → title of its column.
_EVIDENCE = {
    "iops_of_cap_pct": "IOPS, of cap",
    "bandwidth_of_cap_pct": "Bandwidth, of cap",
    "disk_await_s": "Time per I/O",
    "disk_queue_depth": "I/Os in flight",
    "cpu_pct": "Node CPU",
    "client_cpu_pct": "Client CPU",
    "host_cpu_pct": "Machine CPU",
    "sessions_reading_pct": "Sessions reading",
    "log_syncing_pct": "Log syncing",
    "wal_disk_syncing_pct": "Log syncing, on its own disk",
    "wal_iops_of_cap_pct": "IOPS, of cap, WAL's disk",
    "wal_bandwidth_of_cap_pct": "Bandwidth, of cap, WAL's disk",
    "background_log_syncing_pct": "Log syncing behind commits",
}
_ABOUT_LIMITS = (
    "Figures of the busiest database node while measuring. Of cap: median second (the mean where "
    "no seconds were sampled), in percent of what the tier declares. Client and Machine CPU are "
    "in percent of the whole machine. The other figures behind a cause are in verdict.json."
)


def bottlenecks(index: ReportIndex) -> Section:
    """The cause that limited each cell in words, and the values of each resource beside it."""
    by_cell: dict[tuple[str, str], Bottleneck] = {}
    for bottleneck in index.verdict.bottlenecks:
        by_cell[bottleneck.profile, bottleneck.workload] = bottleneck

    def row(tier: str, workload: str) -> Row:
        bottleneck = by_cell.get((tier, workload))
        if bottleneck is None:
            return _row_without_cause(index, tier, workload)
        return _row_with_cause(tier, bottleneck)

    table = table_of(index.rows(row), ("Tier", "Limited by"), (_ABOUT_LIMITS,))
    return Section("limits", "What limited each run", (Part("", (table,)),))


def _row_without_cause(index: ReportIndex, tier: str, workload: str) -> Row:
    why = "missing: no finished run"
    if index.finished(tier, workload):
        why = "could not be told"
    head = Cell(tier, tier=tier)
    values = dict.fromkeys(_EVIDENCE.values(), Cell(""))
    return {"Tier": head, "Limited by": Cell(why, missing=True), **values}


def _row_with_cause(tier: str, bottleneck: Bottleneck) -> Row:
    node = bottleneck.node or "no node"
    cause = _cause_in_words(bottleneck)
    row: dict[str, Cell | str] = {}
    row["Tier"] = Cell(tier, detail=node, tier=tier)
    row["Limited by"] = Cell(cause, detail=bottleneck.text)
    for name, title in _EVIDENCE.items():
        row[title] = _evidence(bottleneck, name)
    return row


def _cause_in_words(bottleneck: Bottleneck) -> str:
    """`IOPS cap`."""
    words = bottleneck.cause.replace("_", " ")
    return words.replace("iops", "IOPS").replace("cpu", "CPU")


def _evidence(bottleneck: Bottleneck, name: str) -> Cell:
    """A value, and beside the time of an I/O that on the idle disk."""
    value = bottleneck.evidence.get(name)
    if value is None:
        return Cell("not measured", missing=True)
    text = units.format_quantity(value, _unit(name))
    if name != "disk_await_s":
        return Cell(text)
    idle_s = bottleneck.evidence.get("idle_disk_latency_s")
    if not idle_s:
        return Cell(text)
    return Cell(text, detail=f"idle {units.format_seconds(idle_s)}")


def _unit(name: str) -> str:
    """The unit of a figure, which the end of its name says."""
    if name.endswith("_pct"):
        return "%"
    if name.endswith("_s"):
        return "s"
    return ""


# ------------------------------------------------------------------ nodes

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
_Nodes = Mapping[str, _Node]  # by name


def nodes(index: ReportIndex) -> tuple[Section, ...]:
    """Empty where no cluster had several nodes with figures of their own."""
    parts: list[Part] = []
    for load in index.workloads:
        by_tier = {tier: _nodes(index, tier, load.name) for tier in index.tiers}
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
    lacks = Cell("missing", missing=True)
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
    # Of nodes with the same value the last.
    busiest = max(reversed(means), key=means.__getitem__)
    texts = [cell.text for cell in cells]
    if texts.count(texts[busiest]) > 1:
        return None
    return busiest


# ------------------------------------------------------------------ counted in several places

# Metric → title of its column.
_CONSERVATION = {
    "written_per_payload": "Written ÷ payload",
    "written_of_copies_pct": "Written, of what all copies take",
    "read_per_payload": "Read ÷ payload",
    "cpu_s_per_gb": "CPU",
    "debt_s": "Quiet after",
    "debt_bytes": "Written until then",
    "log_sent_pct": "Between nodes, of the log's copies",
    "in_flight_pct": "In flight, of the threads",
}
_STORAGE_ENGINE = {
    "wal_syncs_per_s": "WAL syncs/s",
    "wal_sync_avg_s": "Time of a sync",
    "wal_append_avg_s": "Time of an append",
    "wal_bytes_per_s": "WAL written",
    "flush_bytes_per_s": "Flushed",
    "compaction_read_bytes_per_s": "Compactions read",
    "compaction_write_bytes_per_s": "Compactions wrote",
    "block_cache_hit_pct": "Block cache hits",
    "write_stall_pct": "Writes held back",
    "write_rejections_per_s": "Writes refused/s",
    "request_queued_avg_s": "Requests queued",
    "requests_refused_per_s": "Requests refused/s",
    "transaction_conflicts_per_s": "Conflicts/s",
}


def conservation(index: ReportIndex) -> tuple[Section, ...]:
    """Whether what was counted in several places adds up; empty where nothing was."""
    rows = _counted(index, _CONSERVATION)
    if not rows:
        return ()
    about = (
        "Bytes at the disks of all nodes against those of the rows or of fio's I/Os "
        "(payload). A loaded byte is written once for each copy, and again as log and index. "
        "Bytes still to be written when the window ended are counted as written. Bytes between "
        "nodes are of PostgreSQL's log and its copies. Throughput x latency is 100 % of the "
        "threads where none pauses (Little's law)."
    )
    table = table_of(rows, ("Tier",), (about,))
    part = Part("", (table,))
    return (Section("conservation", "Cross-checks of counts", (part,)),)


def storage_engine(index: ReportIndex) -> tuple[Section, ...]:
    """What the servers did with log and data files; empty where no counters were sampled."""
    rows = _counted(index, _STORAGE_ENGINE, "wal_sync_avg_s")
    if not rows:
        return ()
    about = (
        "All nodes together over the measured window. A sync is of one tablet's log. Below its "
        "time stands the node where it took longest. Writes held back: time of stalls, summed "
        "over a node's tablets, mean of the nodes. Writes refused: too many files wait for "
        "merging. Requests queued: how long each waited for a thread of its tablet server. "
        "Requests refused: the queue was full, they came too late, or memory was short. Figures "
        "of each node are in verdict.json."
    )
    table = table_of(rows, ("Tier",), (about,))
    return (Section("storage-engine", "Log and data files", (Part("", (table,)),)),)


def _counted(
    index: ReportIndex, titles: Mapping[str, str], slowest: str = ""
) -> list[Row]:
    """The rows of what was counted, without titles of which no cell has a figure.

    `slowest`: the title for which the worst node is named.
    """
    if not any(index.has(metric) for metric in titles):
        return []

    def row(tier: str, workload: str) -> Row:
        cells = index.metric_cells(tier, workload, titles)
        node = index.busiest(tier, workload, slowest)
        if node is not None and index.cell(tier, workload, slowest) is not None:
            where = f"{node.scope} {wording.value(node)}"
            title = titles[slowest]
            cells[title] = replace(cells[title], detail=where)
        return {"Tier": Cell(tier, tier=tier), **cells}

    return list(index.rows(row))


# ------------------------------------------------------------------ statements

_OF_STATEMENT = {
    "calls": "Calls/s",
    "ms": "Mean, ms",
    "read_ms": "Reading, ms",
    "share": "Of all time, %",
    "blocks_read": "Blocks read per call",
    "wal_bytes": "Bytes of WAL per call",
    "storage_requests": "Storage requests per call",
}
# statements, and characters of each
_MOST = 10
_LONGEST = 160


def statements(index: ReportIndex) -> tuple[Section, ...]:
    """What the servers counted of each, and why others did not; empty where none was asked."""
    rows: list[Row] = []
    reasons: dict[str, None] = {}
    for load in index.workloads:
        for tier in index.tiers:
            records = _records(index, tier, load.name)
            rows += _statement_rows(f"{load.name}, {tier}", records)
            reasons |= dict.fromkeys(_reasons(records))
    return _statement_sections(rows, reasons)


def _records(index: ReportIndex, tier: str, workload: str) -> list[Record]:
    return [run.record for run in index.finished(tier, workload)]


def _statement_sections(
    rows: Sequence[Row], reasons: Iterable[str]
) -> tuple[Section, ...]:
    blocks: list[Block] = []
    if rows:
        blocks.append(_statement_table(rows))
    blocks += [_not_counted(reason) for reason in reasons]
    if not blocks:
        return ()
    return (Section("statements", "Statements", (Part("", tuple(blocks)),)),)


def _statement_table(rows: Sequence[Row]) -> Table:
    about = (
        "The statements that took most time, with their share of it. The servers counted them "
        "over the measured windows of a tier's finished runs. Blocks read were not in the "
        "server's own cache. `#` stands for the number that ends a name. Texts are the server's, "
        "without constants."
    )
    return table_of(rows, ("Statement",), (about,))


def _not_counted(reason: str) -> Paragraph:
    text = (
        f"{reason}. PostgreSQL counts statements if `shared_preload_libraries` has "
        "`pg_stat_statements`. Set it in the profile of a cluster that is set up here. Other "
        "clusters need its extension in their `maintenance_database` too."
    )
    return Paragraph(text, "Not counted")


def _reasons(records: Sequence[Record]) -> Iterator[str]:
    """Why servers did not count, without the address that stands in front."""
    for record in records:
        group = facts.group(record.facts, "statements")
        reason = str(group.get("not_read", ""))
        if reason:
            yield reason.partition(": ")[2]


def _statement_rows(title: str, records: Sequence[Record]) -> Iterator[Row]:
    """Below the title those that took most time; nothing if none was counted."""
    table, window_s = pooled(records)
    if table.empty:
        return
    yield Cell(title, strong=True)
    shown = _means_of_call(table, window_s).head(_MOST).rename(columns=_OF_STATEMENT)
    for query, values in shown.iterrows():
        yield _statement_row(str(query), values)


def _statement_row(query: str, values: pd.Series) -> Row:
    statement = units.shortened(query, _LONGEST)
    row: dict[str, Cell | str] = {"Statement": statement}
    for column, value in values.items():
        row[str(column)] = _number(value)
    return row


def _means_of_call(table: pd.DataFrame, window_s: float) -> pd.DataFrame:
    """Means of a call, with calls a second and the share of all time in percent."""
    means = table.div(table["calls"], axis=0)
    calls_per_s = table["calls"] / window_s
    share_pct = 100 * table["ms"] / table["ms"].sum()
    return means.assign(calls=calls_per_s, share=share_pct)[list(_OF_STATEMENT)]


def _number(value: float) -> str:
    """Empty instead of 0: what is 0 throughout is no column."""
    if not value:
        return ""
    return units.format_number(value)
