"""Records and their tables as one bundle, and tidy pandas frames made from them. Pure.

`Campaign` is what the store hands to everything right of "records": analysis and report.

Counters that collectors write (names end in `_total`; gauges do not):
- per container: cpu_seconds_total, cpu_throttled_seconds_total; gauges memory_used_bytes,
  memory_cache_bytes
- per device, under its database node's name: disk_reads_total, disk_writes_total,
  disk_flushes_total, disk_read_bytes_total, disk_written_bytes_total, disk_read_seconds_total,
  disk_write_seconds_total, disk_busy_seconds_total, disk_queue_seconds_total (each I/O in flight
  counts); gauge disk_in_flight
- per node of role "host": cpu_busy_seconds_total, cpu_steal_seconds_total and
  pressure_{cpu,io,memory}_some_seconds_total
- per container: network_received_bytes_total, network_sent_bytes_total
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from orchestrator.metrics import measured
from orchestrator.model import Measurement, Node, Plan, Record

READS = "disk_reads_total"
WRITES = "disk_writes_total"
READ_BYTES = "disk_read_bytes_total"
WRITTEN_BYTES = "disk_written_bytes_total"
READ_SECONDS = "disk_read_seconds_total"
WRITE_SECONDS = "disk_write_seconds_total"
BUSY_SECONDS = "disk_busy_seconds_total"
QUEUE_SECONDS = "disk_queue_seconds_total"
CPU_SECONDS = "cpu_seconds_total"
HOST_CPU_SECONDS = "cpu_busy_seconds_total"
MEMORY_PRESSURE_SECONDS = "pressure_memory_some_seconds_total"

MIN_COVERAGE = 0.5  # of the window: samples of less of it do not stand for the whole


@dataclass(frozen=True)
class RunData:
    """One run as stored.

    intervals: time_s (Unix), phase, throughput_per_s, latency_avg_s, latency_p50_s,
        latency_p95_s, latency_p99_s, errors: one row per second.
    samples: time_s (Unix), node, metric, unit, value, phase: counters as read, no rates.
    Both are empty frames with these columns where a run left none.
    """

    record: Record
    intervals: pd.DataFrame
    samples: pd.DataFrame


@dataclass(frozen=True)
class Campaign:
    """One results folder, loaded."""

    name: str
    plan: Plan
    fingerprint: Mapping[str, Any]
    runs: tuple[RunData, ...]


# ------------------------------------------------------------------ picking


def finished(campaign: Campaign, profile: str, workload: str) -> tuple[RunData, ...]:
    """The runs of a cell that may enter results, in the order of their numbers."""
    planned = {run.number for run in campaign.plan.runs}
    runs = (
        run
        for run in campaign.runs
        if run.record.outcome == "done"
        and (run.record.run.profile, run.record.run.workload) == (profile, workload)
        and run.record.run.number in planned
    )
    return tuple(sorted(runs, key=lambda run: run.record.run.number))


def machine_cpus(campaign: Campaign) -> float | None:
    """Cores of the machine that ran the campaign, from its fingerprint."""
    host = campaign.fingerprint.get("host")
    cpus = host.get("cpus") if isinstance(host, Mapping) else None
    return float(cpus) if isinstance(cpus, (int, float)) and cpus > 0 else None


def measured_window(record: Record) -> tuple[float, float] | None:
    """Start and end (Unix seconds) of the measured window, if the run came that far."""
    phase = record.phase("measure")
    return (phase.start_s, phase.end_s) if phase and phase.duration_s > 0 else None


def measured_intervals(run: RunData) -> pd.DataFrame:
    """The rows of `intervals` in the measured window, in order of time."""
    rows = run.intervals[run.intervals["phase"] == "measure"]
    return rows.sort_values("time_s", ignore_index=True)


def fact(record: Record, key: str) -> Any:
    """A fact by its key, at the top or one level below (`database` before all others), or None."""
    if key in record.facts:
        return record.facts[key]
    groups = sorted(record.facts.items(), key=lambda item: item[0] != "database")
    found = (group[key] for _, group in groups if isinstance(group, Mapping) and key in group)
    return next(found, None)


def value_of(record: Record, metric: str, scope: str = "all") -> float | None:
    """A figure of a run, or None where it has none (NaN and infinity count as none)."""
    for one in record.measurements:
        if (one.metric, one.scope) == (metric, scope):
            return one.value if np.isfinite(one.value) else None
    return None


# ------------------------------------------------------------------ counters to rates


def rates(samples: pd.DataFrame) -> pd.DataFrame:
    """Counters per second: time_s (end of the step), step_s, node, metric, value, phase.

    One row per two successive samples, so a gap is one long step at its mean rate. A step where
    the counter falls was a reset: how much it grew is not known, so the step is left out.
    """
    counters = samples[samples["metric"].astype(str).str.endswith("_total")]
    ordered = counters.sort_values(["node", "metric", "time_s"], ignore_index=True)
    groups = ordered.groupby(["node", "metric"], sort=False)
    step_s = groups["time_s"].diff()
    growth = groups["value"].diff()
    kept = (step_s > 0) & (growth >= 0)
    table = ordered.loc[kept, ["time_s", "node", "metric", "phase"]].assign(
        step_s=step_s[kept], value=growth[kept] / step_s[kept]
    )
    return table[["time_s", "step_s", "node", "metric", "value", "phase"]].reset_index(drop=True)


def wide_rates(samples: pd.DataFrame, node: str) -> pd.DataFrame:
    """The counters of one node per second: time_s as index, step_s and one column per metric."""
    table = rates(samples[samples["node"] == node])
    if table.empty:
        return pd.DataFrame({"step_s": pd.Series(dtype="float64")})
    wide = table.pivot_table(index="time_s", columns="metric", values="value")
    wide.insert(0, "step_s", table.groupby("time_s")["step_s"].max())
    return wide


class Growth:
    """What each counter of each node grew by per second between the window's first and last sample.

    From the ends, not as a mean of rates, so that uneven sampling weighs nothing. Counters sampled
    over less than half of the window are not there.
    """

    def __init__(self, samples: pd.DataFrame, start_s: float, end_s: float) -> None:
        inside = samples[(samples["time_s"] >= start_s) & (samples["time_s"] <= end_s)]
        table = rates(inside)
        sums = (
            table.assign(growth=table["value"] * table["step_s"])
            .groupby(["node", "metric"])[["growth", "step_s"]]
            .sum()
        )
        enough = sums[sums["step_s"] >= MIN_COVERAGE * (end_s - start_s)]
        self._per_s: dict[tuple[str, str], float] = {
            (str(node), str(metric)): float(growth) / float(step_s)
            for (node, metric), growth, step_s in zip(
                enough.index, enough["growth"], enough["step_s"], strict=True
            )
        }

    def per_s(self, node: str, *metrics: str) -> float | None:
        """The sum of these counters per second; None where any was not sampled."""
        found = [self._per_s.get((node, metric)) for metric in metrics]
        known = [value for value in found if value is not None]
        return sum(known) if len(known) == len(found) else None


# ------------------------------------------------------------------ telemetry as measurements

_DISK = {
    "disk_read_iops": (READS,),
    "disk_write_iops": (WRITES,),
    "disk_iops": (READS, WRITES),
    "disk_read_bytes_per_s": (READ_BYTES,),
    "disk_write_bytes_per_s": (WRITTEN_BYTES,),
    "disk_bytes_per_s": (READ_BYTES, WRITTEN_BYTES),
    "disk_queue_depth": (QUEUE_SECONDS,),
}


def telemetry(
    nodes: Sequence[Node],
    samples: pd.DataFrame,
    start_s: float,
    end_s: float,
    cpus: float | None = None,
) -> tuple[Measurement, ...]:
    """The telemetry metrics over a window. What was not sampled is absent, never 0.

    Scope is a database node's name, or "all": the sum over database nodes of IOPS, bandwidth and
    queue depth, the mean of their CPU, and the wait of all I/Os over the number of all I/Os.
    `cpus`: cores of the machine, for nodes that do not say theirs.
    """
    if samples.empty or end_s <= start_s:
        return ()
    growth = Growth(samples, start_s, end_s)
    database = [node for node in nodes if node.role == "database"]
    host = next((node for node in nodes if node.role == "host"), None)
    machine = (host.cpus if host else None) or cpus
    return (
        *_cpu(database, growth, machine),
        *_disk(database, growth),
        *_client_and_host(nodes, growth, machine),
    )


def telemetry_of(run: RunData, cpus: float | None = None) -> tuple[Measurement, ...]:
    """`telemetry` over the run's measured window."""
    window = measured_window(run.record)
    return telemetry(run.record.nodes, run.samples, *window, cpus) if window else ()


def _cpu(database: Sequence[Node], growth: Growth, machine: float | None) -> Iterator[Measurement]:
    found: list[float] = []
    for node in database:
        used, limit = growth.per_s(node.name, CPU_SECONDS), node.cpus or machine
        if used is not None and limit:
            found.append(100.0 * used / limit)
            yield measured("cpu_pct", found[-1], node.name)
    if found and len(found) == len(database):
        yield measured("cpu_pct", sum(found) / len(found))


def _disk(database: Sequence[Node], growth: Growth) -> Iterator[Measurement]:
    for metric, counters in _DISK.items():
        found = {node.name: growth.per_s(node.name, *counters) for node in database}
        known = {name: value for name, value in found.items() if value is not None}
        for name, value in known.items():
            yield measured(metric, value, name)
        if known and len(known) == len(database):
            yield measured(metric, sum(known.values()))
    waits = {node.name: _wait(node.name, growth) for node in database}
    known_waits = {name: wait for name, wait in waits.items() if wait is not None}
    for name, (seconds, count) in known_waits.items():
        if count > 0:
            yield measured("disk_await_s", seconds / count, name)
    total = sum(count for _, count in known_waits.values())
    if total > 0 and len(known_waits) == len(database):
        waited = sum(seconds for seconds, _ in known_waits.values())
        yield measured("disk_await_s", waited / total)


def _wait(node: str, growth: Growth) -> tuple[float, float] | None:
    """Seconds that I/Os took, and how many ended, each per second."""
    seconds = growth.per_s(node, READ_SECONDS, WRITE_SECONDS)
    count = growth.per_s(node, READS, WRITES)
    return None if seconds is None or count is None else (seconds, count)


def _client_and_host(
    nodes: Sequence[Node], growth: Growth, machine: float | None
) -> Iterator[Measurement]:
    if not machine:
        return
    clients = [growth.per_s(n.name, CPU_SECONDS) for n in nodes if n.role == "client"]
    used = [value for value in clients if value is not None]
    if used:
        yield measured("client_cpu_pct", 100.0 * sum(used) / machine)
    hosts = [growth.per_s(n.name, HOST_CPU_SECONDS) for n in nodes if n.role == "host"]
    for busy in hosts:
        if busy is not None:
            yield measured("host_cpu_pct", 100.0 * busy / machine)
