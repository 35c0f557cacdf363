"""Tables of a made-up run: its intervals, transactions and samples, as its `Shape` has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd

from orchestrator import facts
from orchestrator.analysis.results import RunData
from orchestrator.analysis.telemetry.counters import counter_series, window_growth
from orchestrator.analysis.telemetry.counters.sample_tables import Samples, joined
from orchestrator.metrics import INTERVAL_COLUMNS, SAMPLE_COLUMNS
from orchestrator.model import Node, Phase, Profile, Workload

GIB = 2**30
OF_LOG = {facts.WAL_SYNCS, facts.WAL_SYNC_S, facts.WAL_SYNC_AVG_S, facts.WAL_NODES}
TRANSACTIONS = {
    "new_order": (0.45, 1.4),
    "payment": (0.43, 0.6),
    "order_status": (0.04, 0.5),
    "delivery": (0.04, 1.9),
    "stock_level": (0.04, 0.6),
}
FACTORS = {
    "avg": 1.0,
    "p50": 0.9,
    "p90": 1.5,
    "p95": 1.7,
    "p99": 2.4,
    "max": 8.0,
}  # of the mean


@dataclass(frozen=True)
class Shape:
    """What one cell does while it is measured; disk and CPU figures are per database node.

    host_cpu_pct None: what nodes and client use, and 5 % of the machine for its kernel.
    """

    throughput_per_s: float
    read_iops: float
    write_iops: float
    await_s: float
    cpu_pct: float
    bytes_per_io: float = 16_384.0
    client_cpu_pct: float = 8.0
    host_cpu_pct: float | None = None


def intervals_of(
    workload: Workload,
    phases: Sequence[Phase],
    mean: float,
    drift_pct: float,
    seed: int,
) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    warm, measure = phases
    time_s = np.arange(
        warm.start_s, measure.end_s - 0.5
    )  # a row stands at its second's begin
    position = (time_s - measure.start_s) / max(measure.duration_s, 1.0) - 0.5
    rate = (
        mean
        * (1.0 + drift_pct / 100.0 * position)
        * generator.normal(1.0, 0.02, time_s.size)
    )
    rate = np.where(time_s < measure.start_s, rate * 0.9, rate)
    average_s = workload.threads / rate
    phase = np.where(time_s < measure.start_s, "warm-up", "measure")
    latencies = (average_s * FACTORS[name] for name in ("avg", "p50", "p95", "p99"))
    columns = (time_s, phase, rate, *latencies, 0.0)
    return pd.DataFrame(dict(zip(INTERVAL_COLUMNS, columns, strict=True)))


def transactions_of(
    workload: Workload, phases: Sequence[Phase], rate: float, seed: int
) -> Iterator[pd.DataFrame]:
    """One row per transaction, at even distances, with latencies of a lognormal distribution."""
    generator = np.random.default_rng(seed)
    start_s, end_s = phases[0].start_s, phases[-1].end_s
    count = int(rate * (end_s - start_s))
    kinds = TRANSACTIONS if workload.name == "tpcc" else {workload.name: (1.0, 1.0)}
    kind = generator.choice(len(kinds), count, p=[share for share, _ in kinds.values()])
    weight = np.array([weight for _, weight in kinds.values()])[kind]
    spread = 0.5
    mean_s = workload.threads / rate * weight
    latency_s = mean_s * generator.lognormal(-(spread**2) / 2, spread, count)
    yield pd.DataFrame(
        {
            "start_s": np.linspace(start_s, end_s, count, endpoint=False),
            "latency_s": latency_s,
            "queue_s": 0.0,
            "type": pd.Categorical.from_codes(kind, pd.Index(list(kinds))),
            "outcome": 0,
            "retries": 0,
            "sqlstate": "",
        }
    )


def nodes_of(profile: Profile, host_cpus: float) -> tuple[Node, ...]:
    size = profile.cluster.size
    database = tuple(
        Node(
            name=f"node-{number}",
            role="database",
            container=f"tierbench-node-{number}",
            device=f"loop{number}",
            cpus=size.cpus,
            memory_bytes=size.memory_bytes,
        )
        for number in range(1, profile.cluster.nodes + 1)
    )
    client = Node("client", "client", "tierbench-client")
    host = Node("host", "host", cpus=host_cpus, memory_bytes=64 * GIB)
    return (*database, client, host)


def _host_cpu_pct(nodes: Sequence[Node], shape: Shape, host_cpus: float) -> float:
    if shape.host_cpu_pct is not None:
        return shape.host_cpu_pct
    cores = sum(node.cpus or host_cpus for node in nodes if node.role == "database")
    return shape.cpu_pct * cores / host_cpus + shape.client_cpu_pct + 5.0


def _rates(
    node: Node, nodes: Sequence[Node], shape: Shape, host_cpus: float
) -> dict[str, float]:
    """Counter growth per second of one node."""
    if node.role == "host":
        busy_pct = _host_cpu_pct(nodes, shape, host_cpus)
        return {"cpu_busy_seconds_total": busy_pct / 100.0 * host_cpus}
    if node.role == "client":
        return {"cpu_seconds_total": shape.client_cpu_pct / 100.0 * host_cpus}
    both = shape.read_iops + shape.write_iops
    return {
        "cpu_seconds_total": shape.cpu_pct / 100.0 * (node.cpus or host_cpus),
        "disk_reads_total": shape.read_iops,
        "disk_writes_total": shape.write_iops,
        "disk_read_bytes_total": shape.read_iops * shape.bytes_per_io,
        "disk_written_bytes_total": shape.write_iops * shape.bytes_per_io,
        "disk_read_seconds_total": shape.read_iops * shape.await_s,
        "disk_write_seconds_total": shape.write_iops * shape.await_s,
        "disk_busy_seconds_total": min(0.99, both * shape.await_s),
        "disk_queue_seconds_total": both * shape.await_s,
    }


def unit_of(metric: str) -> str:
    if metric.endswith("_seconds_total"):
        return "s"
    return "bytes" if "bytes" in metric else ""


def samples_of(
    nodes: Sequence[Node],
    phases: Sequence[Phase],
    shape: Shape,
    host_cpus: float,
    seed: int,
) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    warm, measure = phases
    time_s = np.arange(warm.start_s, measure.end_s + 0.5)
    phase = np.where(time_s < measure.start_s, "warm-up", "measure")
    values: dict[tuple[str, str], np.ndarray] = {}
    for node in nodes:
        for metric, rate in _rates(node, nodes, shape, host_cpus).items():
            steps = rate * generator.normal(1.0, 0.01, time_s.size)
            values[node.name, metric] = 1_000.0 + np.cumsum(steps)
        if node.role == "database":
            values[node.name, "memory_used_bytes"] = np.full(time_s.size, 0.7 * GIB)
    # One column at a time: a table for each counter, put together afterwards, takes ten times it.
    return pd.DataFrame(
        {
            "time_s": np.tile(time_s, len(values)),
            "node": np.repeat([name for name, _ in values], time_s.size),
            "metric": np.repeat([metric for _, metric in values], time_s.size),
            "unit": np.repeat([unit_of(metric) for _, metric in values], time_s.size),
            "value": np.concatenate(list(values.values())),
            "phase": np.tile(phase, len(values)),
        }
    )


def empty_intervals() -> pd.DataFrame:
    return _empty(INTERVAL_COLUMNS).copy()


def empty_samples() -> pd.DataFrame:
    return _empty(SAMPLE_COLUMNS).copy()


@cache
def _empty(columns: tuple[str, ...]) -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series(dtype="float64") for name in columns})


def rates_of(samples: pd.DataFrame) -> dict[counter_series.Key, counter_series.Steps]:
    """How fast each counter of a table of samples grew."""
    return counter_series.rates(counter_series.by_series(samples))


def growth_of(
    samples: pd.DataFrame, start_s: float, end_s: float
) -> window_growth.Growth:
    """What the samples of a window grew by."""
    growth = window_growth.Growth(start_s, end_s)
    growth.add(rates_of(samples))
    return growth


def sampled_in(run: RunData) -> pd.DataFrame:
    """All that was sampled in a run, as one table."""
    return joined(run.sampled.parts())


def held(table: pd.DataFrame) -> Samples:
    """The samples of a table in memory."""
    return Samples(lambda: (table,))
