"""A made-up run from cold caches, whose disk says what it was asked for the first time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from orchestrator.analysis.results import RunData
from orchestrator.analysis.telemetry import counters
from orchestrator.model import Node
from tests.campaigns import SHAPES, build_campaign

GIB = 2**30
READ_BYTES = SHAPES["ultra", "tpcc"].read_iops / SHAPES["ultra", "tpcc"].throughput_per_s * 16_384
DATA = 2 * GIB  # that are read anywhere alike


def a_run(
    asked: float, warm: bool = False, says: bool = True, least: float = READ_BYTES
) -> RunData:
    """With 1 GiB of memory, half of which holds files. In the end it reads as on `ultra`, for each
    of 470 transactions a second; they ask for `asked` times that. In the beginning all of it is
    new, and read: until as much is cached as leaves so little to be read, `least`. `says`: whether
    its disk tells what is new."""
    results = build_campaign(workloads=["tpcc"], repetitions=1, nodes=1, noise_pct=0.0)
    (run,) = (run for run in results.done if run.record.profile.name == "ultra")
    begins_s = run.intervals["time_s"].to_numpy()
    times_s = np.concatenate([begins_s[:1], begins_s + 1])
    done = np.cumsum(np.concatenate([[0.0], run.intervals["throughput_per_s"]]))
    firsts = DATA * (1 - np.exp(-asked * READ_BYTES * done / DATA))
    read = np.cumsum(np.maximum(np.diff(firsts, prepend=0.0), least * np.diff(done, prepend=0)))
    series = {
        ("node-1", counters.READS, "measure"): read / 16_384,
        ("node-1", counters.READ_BYTES, "measure"): read,
        ("node-1", "memory_cache_bytes", "measure"): np.full(len(times_s), GIB / 2),
        **({("disk-node-1", counters.FIRST_READ_BYTES, ""): firsts} if says else {}),
    }

    def parts() -> Iterator[pd.DataFrame]:
        replaced = {metric for _, metric, _ in series}
        for table in run.sampled.parts():
            plain = table.astype({"node": str, "metric": str, "unit": str})
            yield plain[~plain["metric"].isin(replaced)]
        for (node, metric, phase), values in series.items():
            own = {"node": node, "metric": metric, "unit": "", "phase": phase}
            yield pd.DataFrame({"time_s": times_s, "value": values, **own})

    load = replace(run.record.workload, warm=warm)
    nodes = (*run.record.nodes, Node("disk-node-1", "disk"))
    return replace(
        run, record=replace(run.record, nodes=nodes, workload=load), sampled=counters.Samples(parts)
    )
