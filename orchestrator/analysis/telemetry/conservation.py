"""Whether what was counted in several places adds up: payload and bytes at the disks, the log and
the network, threads and transactions in flight. Pure. What was not counted is absent, never 0."""

from collections.abc import Iterator, Sequence

from orchestrator.analysis import results
from orchestrator.analysis.results import RunData
from orchestrator.analysis.telemetry import counters, kept, loads
from orchestrator.metrics import measured
from orchestrator.model import Measurement, Node

# Of a node's data disk, and of its log's, if that is another.
_READ = (counters.READ_BYTES, counters.WAL_READ_BYTES)
_WRITTEN = (counters.WRITTEN_BYTES, counters.WAL_WRITTEN_BYTES)
_LEAST_LOG_BYTES = 2**20  # of less, what nodes say to each other besides is as much


def figures(run: RunData) -> Iterator[Measurement]:
    """The metrics of conservation that can be told of a run."""
    record = run.record
    nodes = _names(run, "database")
    rate = results.value_of(record, "payload_bytes_per_s")
    if rate:
        yield measured("node_payload_bytes_per_s", rate / len(nodes))
        cpu_s = _moved(run, ["measure"], nodes, counters.CPU_SECONDS)
        if cpu_s:
            yield measured(
                "cpu_s_per_gb", cpu_s / (rate * results.measured_s(record) / 1e9)
            )
    windows = results.generator(record).windows or ()
    of_run = {"read": _of_disks(run, "measure", _READ), "written": written(run)}
    for way, names in (("read", _READ), ("written", _WRITTEN)):
        of_windows = sum(window[f"{way}_bytes"] for window in windows)
        for moved, given in (
            (of_run[way], payload(run, way, "sorted")),
            (_of_disks(run, kept.WINDOWS, names), of_windows),
        ):
            if moved and given:
                yield measured(f"{way}_per_payload", sum(moved.values()) / given)
    must = of_copies(run)
    if must:
        yield measured("written_of_copies_pct", 100 * sum(written(run).values()) / must)
    settling = record.phase("settle")
    if settling:
        yield measured("debt_s", settling.duration_s)
        owed = _of_disks(run, "settle", _WRITTEN)
        if owed:
            yield measured("debt_bytes", sum(owed.values()))
    # To a node that is rebuilt more than the log is sent.
    if (
        record.workload.lost_after_s is None
        and (sent_pct := _log_sent_pct(run)) is not None
    ):
        yield measured("log_sent_pct", sent_pct)
    flying = in_flight(run)
    if flying is not None:
        yield measured("in_flight_pct", 100 * flying / record.workload.threads)


def payload(run: RunData, *ways: str) -> float | None:
    """Bytes of rows that the load generator had in the window, once: without copies, log or
    indexes. None unless it knows them, and that they were `ways` ("written", "read", "sorted")."""
    rate = results.value_of(run.record, "payload_bytes_per_s")
    known = results.generator(run.record).payload in ways
    if rate and known:
        return rate * results.measured_s(run.record)
    return None


def written(run: RunData) -> dict[str, float]:
    """Node → bytes written to its disks in the window, and what they were still owed then; empty
    unless all were sampled. Where nodes share a disk the first of them stands for all."""
    owed, moved = (_of_disks(run, phase, _WRITTEN) for phase in ("settle", "measure"))
    return {node: count + owed.get(node, 0.0) for node, count in moved.items()}


def of_copies(run: RunData) -> float | None:
    """Bytes that the disks must be written, by the payload and its copies, where a copy is nothing
    but its bytes and the load only writes; None where either is not so, or not all was sampled."""
    each = results.database(run.record).bytes_of_copy
    given = payload(run, "written")
    if each is None or given is None or not written(run):
        return None
    return each * given * run.record.profile.cluster.replication_factor


def of_node(run: RunData) -> dict[str, float]:
    """Node → bytes that its disk must be written, by what the node says it was given, where
    `of_copies` holds."""
    now = results.database(run.record).given_bytes
    each = results.database(run.record).bytes_of_copy
    before = results.database_before(run.record).given_bytes or {}
    if not (now and each and of_copies(run)) or set(now) != set(before):
        return {}
    return {node: each * (count - before[node]) for node, count in now.items()}


def in_flight(run: RunData) -> float | None:
    """Transactions in flight by Little's law, failed ones too; None where threads pause on purpose,
    or each cell of a matrix has its own load."""
    names = ("throughput_per_s", "latency_avg_s", "failures")
    rate, latency_s, failed = (results.value_of(run.record, name) for name in names)
    of_matrix = "cells" in run.record.workload.options
    if (
        rate is None
        or latency_s is None
        or of_matrix
        or loads.has_pace(run.record.workload)
    ):
        return None
    return (rate + (failed or 0.0) / results.measured_s(run.record)) * latency_s


def _names(run: RunData, role: str) -> list[str]:
    return [node.name for node in run.record.nodes if node.role == role]


def _of_disks(run: RunData, phase: str, names: tuple[str, str]) -> dict[str, float]:
    def counted(node: Node) -> float | None:
        return _moved(run, [phase], [node.name], *names[: 2 if node.wal_device else 1])

    firsts = [on_it[0] for on_it in results.by_disk(run.record.nodes).values()]
    known = {
        node.name: count for node in firsts if (count := counted(node)) is not None
    }
    if len(known) == len(firsts):
        return known
    return {}


def _moved(
    run: RunData, phases: Sequence[str], nodes: Sequence[str], *names: str
) -> float | None:
    """What these counters of these nodes grew by; None unless all were sampled. A phase of which
    nothing was is none: it took no time."""
    sampled = [moved for phase in phases if (moved := run.telemetry.moved.get(phase))]
    values = [
        moved.get((node, name)) for moved in sampled for node in nodes for name in names
    ]
    known = [value for value in values if value is not None]
    if known and len(known) == len(values):
        return sum(known)
    return None


def _log_sent_pct(run: RunData) -> float | None:
    """What nodes received from each other, in % of the log that all but one must get, where there
    is one log for all (PostgreSQL), which is counted from the begin of the warm-up on."""
    copies = run.record.profile.cluster.replication_factor - 1
    log_bytes = copies * (results.database(run.record).counter("wal_bytes") or 0.0)
    received = _moved(
        run, ("warm-up", "measure"), _names(run, "database"), counters.RECEIVED_BYTES
    )
    sent = _moved(
        run, ("warm-up", "measure"), _names(run, "client"), counters.SENT_BYTES
    )
    if received is None or sent is None or log_bytes < _LEAST_LOG_BYTES:
        return None
    return 100 * (received - sent) / log_bytes
