"""A made-up run of PostgreSQL from cold caches, which fill, and then miss as much as at the end."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from orchestrator.analysis.results import RunData
from orchestrator.analysis.telemetry import counters
from orchestrator.model import Dataset
from tests.campaigns import SHAPES, build_campaign

GIB = 2**30
READ_BYTES = (
    SHAPES["ultra", "tpcc"].read_iops
    / SHAPES["ultra", "tpcc"].throughput_per_s
    * 16_384
)
DATA = 1.5 * GIB  # that are read anywhere alike
SHARED, HELD = (
    GIB // 4,
    GIB,
)  # of 1 GiB of memory, all of which holds files: 0.75 are cached


def a_run(held_first: float = 0.0, held: float = HELD, slow: float = 1.0) -> RunData:
    """In the end a transaction reads what it does on `ultra`, and asks for twice as much, because
    half of the data are cached; until then all that is new is read. held_first: how much of memory
    holds files when the load begins; slow: so many times as long it takes to read as much."""
    results = build_campaign(workloads=["tpcc"], repetitions=1, nodes=1, noise_pct=0.0)
    (run,) = (run for run in results.done if run.record.profile.name == "ultra")
    begins_s = run.intervals["time_s"].to_numpy()
    times_s = np.concatenate([begins_s[:1], begins_s + 1])
    done = np.cumsum(np.concatenate([[0.0], run.intervals["throughput_per_s"]])) / slow
    full_at = math.log(2) * DATA / (2 * READ_BYTES)  # transactions
    new = DATA * (1 - np.exp(-2 * READ_BYTES * np.minimum(done, full_at) / DATA))
    read = new + READ_BYTES * np.maximum(done - full_at, 0.0)
    fills = held_first + (held - held_first) * np.minimum(done / full_at, 1.0)
    series = {
        counters.READS: read / 16_384,
        counters.READ_BYTES: read,
        "memory_cache_bytes": fills,
    }

    def parts() -> Iterator[pd.DataFrame]:
        for table in run.sampled.parts():
            plain = table.astype({"node": str, "metric": str, "unit": str})
            yield plain[~plain["metric"].isin(series.keys())]
        for metric, values in series.items():
            own = {"node": "node-1", "metric": metric, "unit": "", "phase": "measure"}
            yield pd.DataFrame({"time_s": times_s, "value": values, **own})

    facts = {**run.record.facts["database"], "shared_buffers_bytes": SHARED}
    record = replace(run.record, facts={**run.record.facts, "database": facts})
    return replace(run, record=record, sampled=counters.Samples(parts))


def by_key(run: RunData) -> RunData:
    """The run as one of selects by key, from four tables."""
    data = Dataset("sysbench-tables", {"tables": 4, "table_size": 1_500_000})
    script, load = "sysbench/point_select.lua", run.record.workload
    workload = replace(load, script=script, writes=False, dataset=data)
    return replace(run, record=replace(run.record, workload=workload))
