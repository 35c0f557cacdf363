"""What the runs used: the bottleneck of each, and what was counted in several places."""

from collections.abc import Mapping
from dataclasses import replace

from orchestrator import units
from orchestrator.analysis.conclusions import Bottleneck
from orchestrator.analysis.telemetry.causes.cause import cause_in_words
from orchestrator.report import wording
from orchestrator.report.blocks import (
    Cell,
    Part,
    Row,
    Section,
    absent,
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
    # A run that counts and has no cause is unlike one that is lost.
    if index.finished(tier, workload):
        why = "could not be told"
    head = Cell(tier, tier=tier)
    values = dict.fromkeys(_EVIDENCE.values(), Cell(""))
    return {"Tier": head, "Limited by": absent(why), **values}


def _row_with_cause(tier: str, bottleneck: Bottleneck) -> Row:
    node = bottleneck.node or "no node"
    cause = cause_in_words(bottleneck.cause)
    row: dict[str, Cell | str] = {}
    row["Tier"] = Cell(tier, detail=node, tier=tier)
    row["Limited by"] = Cell(cause, detail=bottleneck.in_words)
    for name, title in _EVIDENCE.items():
        row[title] = _evidence(bottleneck, name)
    return row


def _evidence(bottleneck: Bottleneck, name: str) -> Cell:
    """A value, and beside the time of an I/O that on the idle disk."""
    value = bottleneck.evidence.get(name)
    if value is None:
        return absent("not measured")
    text = units.format_quantity(value, _unit(name))
    # The time of an I/O says only beside the idle disk's whether it waited in a queue.
    if name != "disk_await_s":
        return Cell(text)
    idle_s = bottleneck.evidence.get("idle_disk_latency_s")
    # There is nothing to hold it against if the idle disk's time is not known.
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
    "drive_syncs_per_s": "Syncs of all files/s",
    "drive_sync_avg_s": "Time of any sync",
    "drive_written_bytes_per_s": "Written to drives",
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
        "time stands the node where it took longest. Syncs of all files are of the log and of data "
        "files, on all drives of a node. Writes held back: time of stalls, summed "
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
    # A section of nothing but gaps would say nothing.
    if not any(index.figures.has_metric(metric) for metric in titles):
        return []

    def row(tier: str, workload: str) -> Row:
        cells = index.metric_cells(tier, workload, titles)
        # The mean of all nodes hides one whose syncs are slow.
        node = index.busiest(tier, workload, slowest)
        if node is not None and index.figures.cell(tier, workload, slowest) is not None:
            where = f"{node.scope} {wording.value(node)}"
            title = titles[slowest]
            cells[title] = replace(cells[title], detail=where)
        return {"Tier": Cell(tier, tier=tier), **cells}

    return list(index.rows(row))
