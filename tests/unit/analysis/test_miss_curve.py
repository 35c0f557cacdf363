"""Reads with other memory: against caches that are simulated, and out of runs' samples."""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from orchestrator.analysis.prediction.demands import model
from orchestrator.analysis.prediction.miss_curve import curve_of, size_with, with_memory
from orchestrator.analysis.prediction.prediction import Predictor
from orchestrator.analysis.prediction.simulation import System
from orchestrator.errors import UsageError
from tests.campaigns import build_campaign
from tests.cold_caches import DATA, GIB, READ_BYTES, a_run

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


def told(memory_gib: float, **given: Any) -> tuple[System, System, float]:
    """The system of the run, that with other memory, and its error."""
    run = a_run(**{"asked": 2.0, **given})
    system, _ = model(run, None, None)
    return system, *with_memory(run, int(memory_gib * GIB), system)


def test_reads_fall_by_what_more_memory_holds_of_the_data() -> None:
    """In the end the run misses half of what it asks for, so its cache is 1 GiB, by 0.5 GiB of
    memory that hold files: 2 GiB for each."""
    shares, errors = [], []
    for gib in (0.75, 1.0, 1.1, 1.25):
        system, other, error = told(gib)
        shares.append(other.stages[-1][1] / system.stages[-1][1])
        errors.append(error)
    assert shares == pytest.approx([1.5, 1.0, 0.8, 0.5], rel=0.03)
    assert errors[0] == pytest.approx(0.1, rel=0.1), "with less memory it was held against runs"
    assert min(errors[2:]) > 0.5, "with more it is off by more, and chance comes on top"


def test_until_the_cache_is_full_all_reads_are_new() -> None:
    """Fewer with more memory only from where the measured one was full, after 1 GiB."""
    system, more, _ = told(1.25)
    _, less, _ = told(0.75)
    reads = np.array([[reads for _, reads, _ in each.stages] for each in (system, more, less)])
    ends = [until for until, _, _ in system.stages]
    full, fuller = (-math.log(1 - part) * DATA / (2 * READ_BYTES) for part in (0.5, 0.75))
    for until, (own, of_more, of_less) in zip(ends[1:-1], reads.T[1:-1], strict=True):
        if until < full:
            assert of_more == pytest.approx(own, rel=0.02)
        elif until < fuller:
            assert 0.5 * reads[0, -1] <= of_more < own
        assert of_less >= own * 0.98
    assert reads[2, -1] == pytest.approx(1.5 * reads[0, -1], rel=0.03)


def test_writes_and_all_else_stay_and_the_disks_own_cpu_goes_with_its_ios() -> None:
    run = a_run(2.0)
    system = replace(model(run, None, None)[0], other_s=0.001)
    other, _ = with_memory(run, 5 * GIB // 4, system)
    (_, reads, writes), (_, fewer, same) = system.stages[-1], other.stages[-1]
    assert same == writes
    assert other.other_s == pytest.approx(0.001 * (fewer + writes) / (reads + writes))
    assert replace(other, stages=system.stages, other_s=0.001) == system


def test_what_was_not_seen_is_refused_and_says_what_would_tell() -> None:
    with pytest.raises(UsageError, match=r"was not seen, but with .* to 1.2[0-9] GiB") as refused:
        told(1.5)
    assert "measure for longer" in refused.value.advice
    with pytest.raises(UsageError, match="were filled before it") as refused:
        told(1.25, warm=True)
    assert "--vary cache=cold,warm" in refused.value.advice


@pytest.mark.parametrize("given", [{"says": False}, {"asked": 0.9}, {"least": 0.0}])
def test_a_run_whose_disk_or_cache_does_not_tell_is_refused(given: dict[str, Any]) -> None:
    """Without first reads; with more reads than were asked for; with a cache not yet full."""
    with pytest.raises(UsageError, match="does not tell what it would read with other memory"):
        told(1.1, **given)


def test_a_prediction_with_more_memory_is_faster_and_marked_and_wider() -> None:
    run = a_run(2.0)
    campaign = replace(build_campaign(workloads=["tpcc"], repetitions=1, nodes=1), runs=(run,))
    own = run.record.profile.tier
    plain, more = (Predictor(campaign, run, memory_bytes=of) for of in (None, 5 * GIB // 4))
    before, after = (each.predict(own) for each in (plain, more))
    assert after.tier == f"{own.name} with 1.25 GiB of memory"
    was, told = (each.figures["throughput_per_s"] for each in (before, after))
    assert was.value < told.value
    assert told.high / told.low > was.high / was.low
