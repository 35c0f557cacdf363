"""Doubts about what was written to the disks of a run: more or less than there must be. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from orchestrator import counter_sources
from orchestrator.analysis import results
from orchestrator.analysis.doubts.effects import is_only_told, limits_the_answer
from orchestrator.analysis.doubts.validity import Doubts
from orchestrator.analysis.results import RunData
from orchestrator.analysis.telemetry.counters.counter_names import (
    WAL_WRITTEN_BYTES,
    WRITTEN_BYTES,
)
from orchestrator.analysis.telemetry.use import conservation
from orchestrator.analysis.telemetry.use.all_nodes import Totals
from orchestrator.facts import group
from orchestrator.model import Doubt, Node
from orchestrator.texts.prose import listed
from orchestrator.units import format_bytes

APART_PCT = 2.0  # share of the payload, of which all is written
ALIKE_FROM = 3  # nodes of which one can be told from the others
MISSING_SHARE = 0.6  # share of what the median node wrote
# What is written besides may be as much as a smaller log.
LEAST_LOG_BYTES = 16 * 2**20
# Each byte of a log is written, a durable one's before its commit is answered, others' when the
# kernel writes them back. Load may differ between warm-up and window.
LOG_OVER_WRITTEN = 2.0
WRITTEN_BACK_S = 60.0


# ------------------------------------------------------------------ disks that do not count


def not_counted(run: RunData, _: Totals) -> Doubts:
    by_node = group(run.record.facts, "database", "disks_not_counted")
    for node, what in by_node.items():
        yield _disks_not_counted(node, what)
    yield from _log_elsewhere(run)
    yield from _log_unlike_declared(run)


def _log_unlike_declared(run: RunData) -> Doubts:
    """Disks of the WAL of a cluster that others run, held against what its profile declares."""
    tier = run.record.profile.tier
    if tier.disk.is_rented_for_each_run and tier.wal is not None:
        yield from _volumes_of_logs_not_found(run)
    # Of tiers of other kinds the flow itself makes or refuses them.
    if not tier.disk.is_of_others:
        return
    without: list[str] = []
    log_disks: list[str] = []
    for node in run.record.nodes:
        if node.role != "database" or counter_sources.NODE_EXPORTER not in node.sources:
            continue
        if node.wal_device is None:
            without.append(node.name)
        else:
            log_disks.append(f"{node.name}'s {node.wal_device}")
    if tier.wal is not None and without:
        yield _no_wal_disk_found(without)
    if tier.wal is None and log_disks:
        yield _wal_disks_without_limits(log_disks)


def _volumes_of_logs_not_found(run: RunData) -> Doubts:
    """Volumes whose device is not known, such as one that is mounted by a name not of /dev."""
    without: list[str] = []
    for node in run.record.nodes:
        if node.role == "database" and node.wal_device is None:
            without.append(node.name)
    if without:
        yield limits_the_answer(
            "disks not counted",
            f"{listed(without)}: the device of the volume that holds the WAL was not found. Its "
            "limits are held against nothing",
            advice="see by which name the pod mounts it: a device right below /dev is counted",
        )


def _log_elsewhere(run: RunData) -> Doubts:
    """A log that grows faster than the disks that count are written."""
    # Told by rates, because no directory tells it. `pg_wal` may be a link, and a path another one
    # outside of a container.
    log_per_s = _log_bytes_per_s(run)
    nodes = _nodes_of_log(run)
    written = list(_written_per_s(run, nodes))
    if log_per_s is None or not written:
        return
    written_per_s = sum(written)
    if log_per_s > LOG_OVER_WRITTEN * written_per_s:
        names = [node.name for node in nodes]
        yield _log_on_another_disk(names, log_per_s, written_per_s)


def _log_bytes_per_s(run: RunData) -> float | None:
    """How fast the log grew; None if that is not known, or too little was written to tell."""
    record = run.record
    facts = results.database(record)
    begin = record.phase("warm-up")
    measure = record.phase("measure")
    log_bytes = facts.counter("wal_bytes")
    if begin is None or measure is None or not log_bytes:
        return None
    # What no commit waits for the kernel writes back later: by default when it is 30 s old
    # (vm.dirty_expire_centisecs).
    if not facts.durable and measure.duration_s < WRITTEN_BACK_S:
        return None
    if log_bytes < LEAST_LOG_BYTES:
        return None
    return log_bytes / (measure.end_s - begin.start_s)


def _nodes_of_log(run: RunData) -> list[Node]:
    """The nodes whose data device is known. Of PostgreSQL it is the first, whose log is read."""
    nodes = [
        node for node in run.record.nodes if counter_sources.DISK_DEVICE in node.sources
    ]
    if results.database(run.record).more.get("flavour") == "postgresql":
        return nodes[:1]
    return nodes


def _written_per_s(run: RunData, nodes: Sequence[Node]) -> Iterator[float]:
    growth = run.telemetry.growth
    if not growth:
        return
    for node in nodes:
        # A node's log may have a disk of its own.
        for metric in (WRITTEN_BYTES, WAL_WRITTEN_BYTES):
            per_s = growth.per_s(node.name, metric)
            if per_s:
                yield per_s


# ------------------------------------------------------------------ copies


def copies(run: RunData, _: Totals) -> Doubts:
    """Whether each disk was written what copies take."""
    written_to_disks = conservation.written(run)
    number = run.record.profile.cluster.replication_factor
    yield from _missing_replicas(run, written_to_disks, number)
    payload = conservation.payload(run, "written")
    if not payload or not written_to_disks:
        return
    # Rows take at least their own bytes in each copy; log and indexes come on top.
    written = sum(written_to_disks.values())
    least = (1 - APART_PCT / 100) * number * payload
    if written < least:
        yield _data_in_memory(written, number, payload)


def _missing_replicas(
    run: RunData, of_disks: Mapping[str, float], number: int
) -> Doubts:
    nodes = run.record.profile.cluster.nodes
    # All must write as much only where each has a copy of all rows and its own disk.
    if not nodes == len(of_disks) == number >= ALIKE_FROM:
        return
    usual = median(of_disks.values())
    for node, written in of_disks.items():
        if usual >= LEAST_LOG_BYTES and written < MISSING_SHARE * usual:
            yield _replica_missing(node, written, usual, number)


# ------------------------------------------------------------------ in words


_INCOMPLETE = (
    "The figures of the disks leave out part of what the database asked of them"
)
_NAME_THE_DEVICE = (
    "name the device of the data in `existing.devices`. Let node_exporter see the mounts of "
    "all directories"
)


def _disks_not_counted(node: str, what: str) -> Doubt:
    return limits_the_answer(
        "disks not counted",
        f"{node}: {what}. {_INCOMPLETE}",
        advice=_NAME_THE_DEVICE,
    )


def _no_wal_disk_found(nodes: Sequence[str]) -> Doubt:
    return limits_the_answer(
        "disks not counted",
        f"{listed(nodes)}: no disk was found that holds only the WAL, though the profile declares "
        "one (`wal`). Its limits are held against nothing",
        advice="name it in `existing.wal_devices`, or leave `wal` out",
    )


def _wal_disks_without_limits(disks: Sequence[str]) -> Doubt:
    return is_only_told(
        "WAL disk not declared",
        f"the profile declares no limits of {listed(disks)}, which were found to hold only WAL. "
        "Their counters are kept, and no cap of theirs can be named",
        advice="give the tier a `wal`, such as `wal: azure/P10`",
    )


def _log_on_another_disk(
    nodes: Sequence[str], log_bytes_per_s: float, written_bytes_per_s: float
) -> Doubt:
    return limits_the_answer(
        "disks not counted",
        f"{listed(nodes)}: the database's log grew by {format_bytes(log_bytes_per_s)}/s, but "
        f"only {format_bytes(written_bytes_per_s)}/s were written to the disks that count. "
        f"{_INCOMPLETE}",
        advice=_NAME_THE_DEVICE,
    )


def _replica_missing(
    node: str, written_bytes: float, usual_bytes: float, copies: int
) -> Doubt:
    return limits_the_answer(
        "replica missing",
        f"{node} wrote {format_bytes(written_bytes)}, and the nodes' median is "
        f"{format_bytes(usual_bytes)}. Each should have one of {copies} copies, so a copy "
        "may be missing or behind",
        advice="see the log of that node; a copy that is behind makes writes look cheaper",
    )


def _data_in_memory(written_bytes: float, copies: int, given_bytes: float) -> Doubt:
    return limits_the_answer(
        "data in memory",
        f"{format_bytes(written_bytes)} were written to the disks, less than {copies} × the "
        f"{format_bytes(given_bytes)} that were loaded. The rest was still in memory, or a "
        "copy is missing",
        advice="measure for longer, so that what memory can hold matters less",
    )
