"""Whether what was counted in several places adds up. Pure.

Payload is held against bytes at the disks, the log against bytes on the network, and threads
against transactions in flight. What was not counted is absent, never 0."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from orchestrator.analysis import disks_of_nodes, metric_values, results
from orchestrator.analysis.results import RunData
from orchestrator.analysis.telemetry.counters import counter_names
from orchestrator.analysis.telemetry.use import (
    load_and_sessions,
    node_values,
    run_telemetry,
)
from orchestrator.metrics import measured
from orchestrator.model import Measurement, Node


class _Bytes(NamedTuple):
    """Counters of bytes, of a node's data disk, and of its log's, if that is another."""

    data: str
    log: str

    def of(self, node: Node) -> list[str]:
        if node.wal_device:
            return [self.data, self.log]
        return [self.data]


_READ = _Bytes(counter_names.READ_BYTES, counter_names.WAL_READ_BYTES)
_WRITTEN = _Bytes(counter_names.WRITTEN_BYTES, counter_names.WAL_WRITTEN_BYTES)
# What nodes say to each other besides is as much as a smaller log.
_LEAST_LOG_BYTES = 2**20


def figures(run: RunData) -> Iterator[Measurement]:
    """The metrics of conservation that can be told of a run."""
    yield from _payload_figures(run)
    yield from _read_per_payload(run)
    yield from _written_per_payload(run)
    yield from _debt(run)
    # More than the log is sent to a node that is rebuilt.
    if run.record.workload.lost_after_s is None:
        sent_pct = _log_sent_pct(run)
        if sent_pct is not None:
            yield measured("log_sent_pct", sent_pct)
    flying = in_flight(run)
    if flying is not None:
        yield measured("in_flight_pct", 100 * flying / run.record.workload.threads)


# ------------------------------------------------------------------ payload


def _payload_figures(run: RunData) -> Iterator[Measurement]:
    """Payload of a node per second, and the CPU that a gigabyte of it took."""
    rate = metric_values.value_of(run.record, "payload_bytes_per_s")
    if not rate:
        return
    nodes = _names(run, "database")
    yield measured("node_payload_bytes_per_s", rate / len(nodes))
    cpu_s = _moved(run, ["measure"], nodes, [counter_names.CPU_SECONDS])
    if cpu_s:
        gigabytes = rate * results.measured_s(run.record) / 1e9
        yield measured("cpu_s_per_gb", cpu_s / gigabytes)


def _read_per_payload(run: RunData) -> Iterator[Measurement]:
    run_bytes = _bytes_of_disks(run, "measure", _READ)
    yield from _ratio("read_per_payload", run_bytes, payload(run, "read", "sorted"))
    window_bytes = _bytes_of_disks(run, run_telemetry.WINDOWS, _READ)
    given = sum(window["read_bytes"] for window in _windows(run))
    yield from _ratio("read_per_payload", window_bytes, given)


def _written_per_payload(run: RunData) -> Iterator[Measurement]:
    """Bytes at the disks for each byte of rows, and of what all their copies must take."""
    run_bytes = written(run)
    given = payload(run, "written", "sorted")
    yield from _ratio("written_per_payload", run_bytes, given)
    window_bytes = _bytes_of_disks(run, run_telemetry.WINDOWS, _WRITTEN)
    generator_bytes = sum(window["written_bytes"] for window in _windows(run))
    yield from _ratio("written_per_payload", window_bytes, generator_bytes)
    yield from _written_of_copies(run, sum(run_bytes.values()))


def _written_of_copies(run: RunData, written_bytes: float) -> Iterator[Measurement]:
    must_bytes = of_copies(run)
    if must_bytes:
        yield measured("written_of_copies_pct", 100 * written_bytes / must_bytes)


def _windows(run: RunData) -> Sequence[Mapping[str, float]]:
    """The windows of a load generator that measures in several, with the bytes that it counted."""
    return results.generator(run.record).windows or ()


def _ratio(
    metric: str, moved: Mapping[str, float], given: float | None
) -> Iterator[Measurement]:
    if moved and given:
        yield measured(metric, sum(moved.values()) / given)


def _debt(run: RunData) -> Iterator[Measurement]:
    """What the disks were still owed when the window ended."""
    settling = run.record.phase("settle")
    if not settling:
        return
    yield measured("debt_s", settling.duration_s)
    owed = _bytes_of_disks(run, "settle", _WRITTEN)
    if owed:
        yield measured("debt_bytes", sum(owed.values()))


def payload(run: RunData, *ways: str) -> float | None:
    """Bytes of rows that the load generator had in the window, once: without copies, log or
    indexes. None unless it knows them, and that they were `ways` ("written", "read", "sorted")."""
    rate = metric_values.value_of(run.record, "payload_bytes_per_s")
    if not rate or results.generator(run.record).payload not in ways:
        return None
    return rate * results.measured_s(run.record)


def written(run: RunData) -> dict[str, float]:
    """Node → bytes written to its disks in the window, and what they were still owed then; empty
    unless all were sampled. Where nodes share a disk the first of them stands for all."""
    # What the page cache still held when the window ended was written for the window's rows.
    owed = _bytes_of_disks(run, "settle", _WRITTEN)
    moved = _bytes_of_disks(run, "measure", _WRITTEN)
    for node, count in moved.items():
        moved[node] = count + owed.get(node, 0.0)
    return moved


def of_copies(run: RunData) -> float | None:
    """Bytes that the disks must be written, by the payload and its copies, where a copy is nothing
    but its bytes and the load only writes; None where either is not so, or not all was sampled."""
    bytes_of_copy = results.database(run.record).bytes_of_copy
    given = payload(run, "written")
    if bytes_of_copy is None or given is None or not written(run):
        return None
    return bytes_of_copy * given * run.record.profile.cluster.replication_factor


def of_node(run: RunData) -> dict[str, float]:
    """Node → bytes that its disk must be written, by what the node says it was given, where
    `of_copies` holds."""
    # Nodes count from their start on, so what they were given before the window is taken off.
    now = results.database(run.record).given_bytes
    before = results.database_before(run.record).given_bytes or {}
    bytes_of_copy = results.database(run.record).bytes_of_copy
    if not (now and bytes_of_copy and of_copies(run)):
        return {}
    # A node that came or went meanwhile has no growth, and the others got its part.
    if set(now) != set(before):
        return {}
    must: dict[str, float] = {}
    for node, count in now.items():
        must[node] = bytes_of_copy * (count - before[node])
    return must


# ------------------------------------------------------------------ in flight, between nodes


def in_flight(run: RunData) -> float | None:
    """Transactions in flight by Little's law, failed ones too; None where threads pause on purpose,
    or each cell of a matrix has its own load."""
    workload = run.record.workload
    if load_and_sessions.has_pace(workload) or "cells" in workload.options:
        return None
    rate_per_s = metric_values.value_of(run.record, "throughput_per_s")
    latency_s = metric_values.value_of(run.record, "latency_avg_s")
    if rate_per_s is None or latency_s is None:
        return None
    # A transaction that fails in the end has kept its thread for as long as others do.
    failed = metric_values.value_of(run.record, "failures") or 0.0
    failed_per_s = failed / results.measured_s(run.record)
    return (rate_per_s + failed_per_s) * latency_s


def _log_sent_pct(run: RunData) -> float | None:
    """What nodes received from each other, in % of the log that they must receive.

    Each node but one must receive the log, counted from the begin of the warm-up. Only a database
    with one log for all nodes (PostgreSQL) has this figure. None if traffic was not sampled, or if
    the log is too small.
    """
    copies = run.record.profile.cluster.replication_factor - 1
    log_bytes = copies * (results.database(run.record).counter("wal_bytes") or 0.0)
    phases = ("warm-up", "measure")
    nodes = _names(run, "database")
    clients = _names(run, "client")
    # Nodes receive from clients too: what these sent is no log.
    received = _moved(run, phases, nodes, [counter_names.RECEIVED_BYTES])
    sent = _moved(run, phases, clients, [counter_names.SENT_BYTES])
    if received is None or sent is None or log_bytes < _LEAST_LOG_BYTES:
        return None
    return 100 * (received - sent) / log_bytes


# ------------------------------------------------------------------ counters


def _names(run: RunData, role: str) -> list[str]:
    return [node.name for node in run.record.nodes if node.role == role]


def _bytes_of_disks(run: RunData, phase: str, counted: _Bytes) -> dict[str, float]:
    """First node of each disk → its bytes in a phase; empty unless all were sampled."""
    moved: dict[str, float] = {}
    for on_disk in disks_of_nodes.by_disk(run.record.nodes).values():
        first = on_disk[0]
        count = _moved(run, [phase], [first.name], counted.of(first))
        if count is None:
            return {}
        moved[first.name] = count
    return moved


def _moved(
    run: RunData, phases: Sequence[str], nodes: Sequence[str], names: Sequence[str]
) -> float | None:
    """What these counters of these nodes grew by; None unless all were sampled.

    A phase in which nothing was sampled took no time, and does not count.
    """
    counters = list(product(nodes, names))
    values: list[float | None] = []
    for phase in phases:
        grown = run.telemetry.moved.get(phase)
        if grown:
            values += [grown.get(counter) for counter in counters]
    return node_values.sum_if_all(values)
