"""Reads with less memory and of more data: against simulated caches, and out of runs' samples."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from orchestrator.analysis.prediction.demands import model
from orchestrator.analysis.prediction.miss_curve import with_memory
from orchestrator.analysis.prediction.prediction import Predictor
from orchestrator.analysis.prediction.simulation import System
from orchestrator.errors import UsageError
from tests.campaigns import build_campaign
from tests.cold_caches import GIB, HELD, a_run, by_key

BLOCKS = 20_000


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


@pytest.mark.parametrize(
    "power", [1.0, 7.2]
)  # uniform; four of five reads in a fifth of the data
def test_while_a_cache_fills_it_misses_as_much_as_full_ones_of_each_size(
    power: float,
) -> None:
    """What the prediction rests on."""
    keys = (np.random.default_rng(1).random(300_000) ** power * BLOCKS).astype(int)
    filling = misses(keys, BLOCKS)
    read = np.cumsum(filling)
    for blocks in (4000, 6000, 9000):
        first, last = np.searchsorted(read, [0.9 * blocks, 1.1 * blocks])
        full = misses(keys, blocks)[150_000:].mean()
        assert filling[first:last].mean() == pytest.approx(full, rel=0.1)


@pytest.mark.parametrize("power", [1.0, 7.2])
def test_of_more_data_a_cache_misses_as_one_did_that_was_smaller_by_as_much(
    power: float,
) -> None:
    """Where keys are drawn over relative positions."""
    places = np.random.default_rng(1).random(400_000) ** power
    held, cache = misses((places * BLOCKS).astype(int), BLOCKS), 8000
    read = np.cumsum(held)
    for times in (1.3, 1.6, 2.0):
        size = cache / times
        first, last = np.searchsorted(read, [0.9 * size, 1.1 * size])
        there = misses((places * times * BLOCKS).astype(int), cache)[200_000:].mean()
        assert held[first:last].mean() == pytest.approx(there, rel=0.1)


# ------------------------------------------------------------------ out of runs


def told(
    memory_gib: float, times: float = 1.0, **given: Any
) -> tuple[System, System, float]:
    """The system of the run, that with other memory and so many times the data, and its error."""
    run = a_run(**given)
    run = by_key(run) if times != 1 else run
    system, _ = model(run, None, None)
    return system, *with_memory(run, int(memory_gib * GIB), system, times)


@pytest.mark.parametrize(
    ("memory_gib", "times", "reads"),
    [
        (0.0, 1.25, 1.2),
        (0.0, 2.0, 1.5),
        (0.75, 1.25, 1.4),
        (0.75, 0.75, 1.0),
        (0.5, 0.5, 1.0),
    ],
)
def test_of_more_data_as_much_is_read_as_with_less_memory(
    memory_gib: float, times: float, reads: float
) -> None:
    """Of 1.5 GiB 0.75 were cached: less of it is of the data that are more, and the two multiply.
    Until then as much is read of more."""
    system, other, error = told(memory_gib, times)
    (*_, before, (_, was, _)), (*_, then, (_, now, _)) = system.stages, other.stages
    assert now / was == pytest.approx(reads, rel=0.04)
    assert then[0] == pytest.approx(times * before[0])
    assert error == pytest.approx(0.13, rel=0.2)


def test_reads_grow_by_what_less_memory_does_not_hold_of_the_data() -> None:
    """Of 1.5 GiB of data 0.75 were cached, and three quarters of what is taken would be less."""
    shares, errors = [], []
    for gib in (0.5, 0.75, 1.0):
        system, other, error = told(gib)
        shares.append(other.stages[-1][1] / system.stages[-1][1])
        errors.append(error)
    assert shares == pytest.approx([1.5, 1.25, 1.0], rel=0.04)
    assert errors[0] == pytest.approx(0.13, rel=0.2), "what trials found, and chance"
    assert all(error > 0.13 for error in errors)


def test_a_server_cache_of_a_set_size_leaves_less_to_the_page_cache() -> None:
    run = a_run()
    cluster = run.record.profile.cluster
    cluster = replace(cluster, settings={**cluster.settings, "shared_buffers": "256MB"})
    profile = replace(run.record.profile, cluster=cluster)
    system, _ = model(run, None, None)
    by_hand = replace(run, record=replace(run.record, profile=profile))
    other, _ = with_memory(by_hand, GIB // 2, system)
    assert other.stages[-1][1] == pytest.approx(5 / 3 * system.stages[-1][1], rel=0.03)


def test_until_the_smaller_cache_is_full_as_much_is_read_as_was() -> None:
    system, other, _ = told(0.5)
    reads = np.array([[read for _, read, _ in each.stages] for each in (system, other)])
    own, less = reads
    assert (less >= own).all()
    assert (less[:5] == own[:5]).all() and own[0] > 1.2 * less[-1], (
        "all of it is new at first"
    )
    assert less[-20:] == pytest.approx(np.full(20, less[-1]))


def test_writes_and_all_else_stay_and_the_disks_own_cpu_goes_with_its_ios() -> None:
    run = a_run()
    system = replace(model(run, None, None)[0], other_s=0.001)
    other, _ = with_memory(run, GIB // 2, system)
    (_, reads, writes), (_, more, same) = system.stages[-1], other.stages[-1]
    assert same == writes
    assert other.other_s == pytest.approx(0.001 * (more + writes) / (reads + writes))
    assert replace(other, stages=system.stages, other_s=0.001) == system


@pytest.mark.parametrize(
    ("memory_gib", "given", "said", "advice"),
    [
        (
            1.25,
            {},
            "with 1.25 GiB of memory, but with 512 MiB to 1 GiB",
            "at least as much memory",
        ),
        (0.4, {}, "less was never held against runs", "at least as much memory"),
        (
            0.75,
            {"held_first": 0.5 * HELD},
            "were filled before it",
            "--vary cache=cold,warm",
        ),
        (0.75, {"slow": 4.0}, "before its cache was full", "--set measure="),
        (
            0.75,
            {"held_first": 0.0, "held": 0.0},
            "only of PostgreSQL is it known",
            "telemetry",
        ),
    ],
)
def test_what_was_not_seen_is_refused_and_says_what_would_tell(
    memory_gib: float, given: dict[str, Any], said: str, advice: str
) -> None:
    with pytest.raises(UsageError, match=said) as refused:
        told(memory_gib, **given)
    assert advice in refused.value.advice


@pytest.mark.parametrize(
    ("memory_gib", "times", "said"),
    [
        (
            0.0,
            2.5,
            "read with 40 % of the memory that it had for each byte of data, but with 50 % to",
        ),
        (0.75, 2.0, "read with 38 %"),
        (0.0, 0.8, "read with 125 %"),
        (0.75, 0.5, "read with 150 %"),
    ],
)
def test_less_data_are_refused_as_more_memory_is(
    memory_gib: float, times: float, said: str
) -> None:
    with pytest.raises(UsageError, match=said) as refused:
        told(memory_gib, times)
    assert "as much memory for each byte" in refused.value.advice


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"writes": True, "script": "sysbench/insert.lua"},
            "it writes, and how much follows from",
        ),
        (
            {"script": "bulk/scan.lua"},
            "bulk/scan.lua is not known to read tables alike",
        ),
        (
            {"script": "select_random_points"},
            "and rows at places relative to their number",
        ),
    ],
)
def test_what_does_not_read_more_data_alike_is_refused(
    changes: dict[str, Any], said: str
) -> None:
    run = by_key(a_run())
    load = replace(run.record.workload, **changes)
    run = replace(run, record=replace(run.record, workload=load))
    system, _ = model(run, None, None)
    with pytest.raises(UsageError, match=said) as refused:
        with_memory(run, 0, system, 1.5)
    assert "--vary data=" in refused.value.advice


def test_a_database_whose_own_cache_is_not_known_is_refused() -> None:
    run = a_run()
    facts = {**run.record.facts, "database": {}}
    system, _ = model(run, None, None)
    with pytest.raises(UsageError, match="only of PostgreSQL is it known"):
        with_memory(
            replace(run, record=replace(run.record, facts=facts)), GIB // 2, system
        )


def test_a_prediction_with_less_memory_is_slower_and_marked_and_wider() -> None:
    run = a_run()
    campaign = replace(
        build_campaign(workloads=["tpcc"], repetitions=1, nodes=1), runs=(run,)
    )
    own = run.record.profile.tier
    plain, less = (Predictor(campaign, run, memory_bytes=of) for of in (0, GIB // 2))
    before, after = (each.predict(own) for each in (plain, less))
    assert after.tier == f"{own.name} with 512 MiB of memory"
    was, told = (each.figures["throughput_per_s"] for each in (before, after))
    assert told.value < was.value
    assert told.high / told.low > was.high / was.low
