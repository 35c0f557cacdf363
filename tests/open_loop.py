"""A database whose answers take a known time, and the queue that its connections should share."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from orchestrator.model import Cluster, Dataset, Workload
from tests.integration.postgresql_nodes import session
from tests.plans import a_workload

CONNECTIONS = 8
MEAN_S = 0.02  # of an answer, drawn from an exponential distribution
CAPACITY_PER_S = CONNECTIONS / MEAN_S
READS = replace(
    a_workload("point-select"),
    script="sysbench/point_select.lua",
    dataset=Dataset("sysbench-tables", {"tables": 1, "table_size": 1000}),
    threads=CONNECTIONS,
    warmup_s=0.0,
    statements_per_transaction=1,
)


def slow_down(cluster: Cluster) -> None:
    """Puts a view in the place of the loaded table: each row that is read takes its time."""
    slow = f"c || pg_sleep(-ln(1 - random()) * {MEAN_S})::text AS c"
    with session(cluster) as connection:
        connection.execute("ALTER TABLE sbtest1 RENAME TO rows_of_sbtest1")
        connection.execute(
            f"CREATE VIEW sbtest1 AS SELECT id, k, {slow}, pad FROM rows_of_sbtest1".encode()
        )


def at(share: float, seconds: float) -> Workload:
    """One read a transaction, at a share of what the connections can do."""
    options = {"seed": 1, "skip_trx": 1, "arrival_rate": share * CAPACITY_PER_S}
    return replace(READS, options=options, measure_s=seconds)


@dataclass(frozen=True)
class Latency:
    average_s: float
    p99_s: float


def measured(table: pd.DataFrame) -> Latency:
    return _of(table["latency_s"].to_numpy())


def of_one_queue(table: pd.DataFrame) -> Latency:
    """The same arrivals and service times, first come first served by any free connection."""
    ordered = table.sort_values("start_s")
    service_s = (ordered["latency_s"] - ordered["queue_s"]).to_numpy()
    waits_s = np.fromiter(_waits_s(ordered["start_s"].to_numpy(), service_s), float)
    return _of(waits_s + service_s)


def _waits_s(due_s: np.ndarray, service_s: np.ndarray) -> Iterator[float]:
    free_s = [0.0] * CONNECTIONS
    for due, service in zip(due_s, service_s, strict=True):
        start = max(due, free_s[0])
        heapq.heapreplace(free_s, start + service)
        yield start - due


def _of(latency_s: np.ndarray) -> Latency:
    p99_s = np.percentile(latency_s, 99.0, method="inverted_cdf")
    return Latency(float(latency_s.mean()), float(p99_s))
