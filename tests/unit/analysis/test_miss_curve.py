"""Reads with other memory: against caches that are simulated, and out of runs' samples."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from orchestrator.analysis.prediction.demands import model, reading
from orchestrator.analysis.prediction.miss_curve import curve_of, size_with, with_memory
from orchestrator.analysis.prediction.prediction import Predictor
from orchestrator.analysis.results import Results, RunData
from orchestrator.analysis.telemetry.counters import FIRST_READ_BYTES, Samples
from orchestrator.errors import UsageError
from orchestrator.model import Node
from tests.campaigns import build_campaign

GIB = 2**30
BLOCK, BLOCKS, STATEMENTS = 8192, 20_000, 10


def misses(keys: np.ndarray, blocks: int) -> np.ndarray:
    """Of each read, whether a cache that drops what was used least recently misses it."""
    held, missed = OrderedDict[int, None](), np.ones(len(keys), bool)
    for number, key in enumerate(keys.tolist()):
        if key in held:
            held.move_to_end(key)
            missed[number] = False
        held[key] = None
        if len(held) > blocks:
            held.popitem(last=False)
    return missed


@pytest.mark.parametrize("power", [1.0, 7.2])  # uniform; four of five reads in a fifth of the data
def test_a_cold_start_tells_what_caches_of_any_size_read(power: float) -> None:
    keys = (np.random.default_rng(1).random(300_000) ** power * BLOCKS).astype(int)
    firsts = np.cumsum(misses(keys, BLOCKS)).astype(float) * BLOCK
    done = np.arange(1, len(keys) + 1) / STATEMENTS
    curve = curve_of(np.stack([done, firsts], axis=1)[::100])
    reads = {
        blocks: BLOCK * STATEMENTS * misses(keys, blocks)[150_000:].mean()
        for blocks in (4000, 6000, 9000)
    }
    for blocks, read_bytes in reads.items():
        assert np.interp(blocks * BLOCK, *curve) == pytest.approx(read_bytes, rel=0.1)
        assert size_with(read_bytes, curve) == pytest.approx(blocks * BLOCK, rel=0.1)
    assert size_with(2 * BLOCK * STATEMENTS, curve) is None, "more than with nothing cached"
    assert size_with(0.0, curve) is None


# ------------------------------------------------------------------ out of runs

DATA = 2 * GIB


def sampling(run: RunData, firsts: np.ndarray | None) -> RunData:
    """With half a GiB of files in its memory, and what its disk was asked first by each second."""
    begins_s = run.intervals["time_s"].to_numpy()
    times_s = np.concatenate([begins_s[:1], begins_s + 1])

    def parts() -> Iterator[pd.DataFrame]:
        for table in run.sampled.parts():
            plain = table.astype({"node": str, "metric": str, "unit": str})
            ticks = plain[["time_s", "phase"]].drop_duplicates().assign(node="node-1", unit="bytes")
            yield pd.concat([plain, ticks.assign(metric="memory_cache_bytes", value=GIB / 2)])
        if firsts is not None:
            own = {"node": "disk-node-1", "metric": FIRST_READ_BYTES, "unit": "bytes", "phase": ""}
            yield pd.DataFrame({"time_s": times_s, "value": firsts, **own})

    nodes = (*run.record.nodes, Node("disk-node-1", "disk"))
    return replace(run, record=replace(run.record, nodes=nodes), sampled=Samples(parts))


def read_bytes(run: RunData) -> float:
    system, _ = model(run, None, None)
    return system.stages[-1][1] * system.read_bytes


def campaign(asked: float | None = 2.0) -> tuple[Results, RunData]:
    """A run with 1 GiB of memory, and one with cold caches whose transactions ask for `asked` times
    the bytes that the first one's read, anywhere in the data alike; None: no disk said it."""
    results = build_campaign(workloads=["tpcc"], repetitions=2, nodes=1, noise_pct=1.0)
    warm, cold = (run for run in results.done if run.record.profile.name == "ultra")
    warm = sampling(warm, None)
    done = np.cumsum(np.concatenate([[0.0], cold.intervals["throughput_per_s"]]))
    of_data = (asked or 0.0) * read_bytes(warm) * done / DATA
    cold = sampling(cold, DATA * (1 - np.exp(-of_data)) if asked else None)
    return replace(results, runs=(warm, cold)), warm


def told(memory_gib: float, asked: float | None = 2.0) -> tuple[float, float]:
    results, run = campaign(asked)
    system, _ = model(run, None, None)
    return with_memory(results, run, int(memory_gib * GIB), system)


def test_reads_fall_by_what_more_memory_holds_of_the_data() -> None:
    """The measured run missed half of what it asked for, so its cache held 1 GiB of the data, by
    0.5 GiB of memory: the database's own and the file system's hold the same at different times."""
    shares = [told(gib)[0] for gib in (0.75, 1.0, 1.1, 1.25)]
    assert shares == pytest.approx([1.5, 1.0, 0.8, 0.5], rel=0.02)
    errors = [told(gib)[1] for gib in (0.75, 1.1, 1.25)]
    assert errors == sorted(errors), "where the curve is steep the size of the cache matters more"
    assert errors[1] == pytest.approx(math.log((1 - 0.6 * 0.905) / (1 - 0.6 * 1.105)) / 2, rel=0.1)


def test_what_was_not_seen_is_refused_and_says_what_would_tell() -> None:
    with pytest.raises(UsageError, match=r"was not seen, but with .* to 1.2[0-9] GiB") as refused:
        told(1.5)
    assert "measure longer with cold caches" in refused.value.advice
    with pytest.raises(UsageError, match=r"nothing says what .* with other memory") as refused:
        told(1.25, None)
    assert "--vary cache=cold,warm" in refused.value.advice
    for asked in (0.9, 0.1):
        with pytest.raises(UsageError, match="nothing says what"):
            told(1.25, asked)


def test_another_load_and_other_data_tell_nothing() -> None:
    results, run = campaign()
    system, _ = model(run, None, None)
    other = results.done[1]
    for changes in ({"options": {"rand_type": "pareto"}}, {"script": "insert"}):
        load = replace(other.record.workload, **changes)
        unlike = replace(other, record=replace(other.record, workload=load))
        with pytest.raises(UsageError, match="nothing says what"):
            with_memory(replace(results, runs=(run, unlike)), run, GIB, system)


def test_a_prediction_with_more_memory_is_faster_and_marked_and_wider() -> None:
    results, run = campaign()
    own = run.record.profile.tier
    plain, more = (
        Predictor(results, run, memory_bytes=m).predict(own) for m in (None, 5 * GIB // 4)
    )
    assert more.tier == f"{own.name} with 1.25 GiB of memory"
    figures = [p.figures["throughput_per_s"] for p in (plain, more)]
    assert figures[0].value < figures[1].value
    assert figures[1].high / figures[1].low > figures[0].high / figures[0].low


def test_writes_and_all_else_stay_and_the_disks_own_cpu_goes_with_its_ios() -> None:
    _, run = campaign()
    system, _ = model(run, None, None)
    system = replace(system, other_s=0.001)
    fewer = reading(system, 0.5)
    (_, reads, writes), (_, halved, same) = system.stages[-1], fewer.stages[-1]
    assert (halved, same) == (reads / 2, writes)
    assert fewer.other_s == pytest.approx(0.001 * (halved + writes) / (reads + writes))
    assert replace(fewer, stages=system.stages, other_s=0.001) == system
