"""A disk at its limit is told from a steady load by what is in flight."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from orchestrator.extensions.observe.judging import queues
from orchestrator.extensions.observe.judging.candidate_answers import Observed
from orchestrator.extensions.observe.judging.counter_growth import grown
from orchestrator.extensions.observe.judging.demand import QUANTITIES, Demand
from orchestrator.extensions.observe.judging.disk_demands import demands
from orchestrator.extensions.observe.judging.rate_caps import RateCap
from tests.queueing_disk import closed_sessions, one_session, open_arrivals
from tests.simulated_demand import table

SECONDS = 600
RATE = 2000.0
NO_LIMIT = 1e6
TOLERANCE = 0.01


def held_back(disk: Demand) -> float:
    return Observed.of([disk], TOLERANCE).held_back


def honest(takes_s: float, seed: int = 1) -> Demand:
    dice = np.random.default_rng(seed)
    asked = dice.poisson(RATE, SECONDS).astype(float)
    return open_arrivals(dice, asked, NO_LIMIT, 0.0, takes_s)


@pytest.mark.parametrize("takes_s", [0.0003, 0.002, 0.01])
def test_a_steady_load_that_nothing_holds_back_is_not_at_a_limit(
    takes_s: float,
) -> None:
    load = honest(takes_s)
    assert held_back(load) == 0
    assert held_back(replace(load, queue_s=None)) > TOLERANCE, (
        "counts alone do not tell"
    )


@pytest.mark.parametrize("jitter", [0.0, 0.01, 0.03])
@pytest.mark.parametrize("takes_s", [0.0003, 0.01])
def test_open_arrivals_above_the_limit_are_held_back(
    jitter: float, takes_s: float
) -> None:
    dice = np.random.default_rng(2)
    asked = dice.poisson(1.2 * RATE, SECONDS).astype(float)
    assert held_back(open_arrivals(dice, asked, RATE, jitter, takes_s)) > TOLERANCE


@pytest.mark.parametrize("jitter", [0.0, 0.01, 0.03])
def test_sessions_at_the_limit_are_held_back(jitter: float) -> None:
    """What is in flight is as many as they are, in each second."""
    dice = np.random.default_rng(3)
    disk = closed_sessions(dice, 32, SECONDS, RATE, jitter, 0.002)
    assert held_back(disk) > TOLERANCE


def test_a_disk_at_its_limit_in_some_seconds_may_have_held_back_those_alone() -> None:
    """For 10 s of 50 more is asked for, and for 12 s more it waits; else less than one I/O is in
    flight."""
    dice = np.random.default_rng(4)
    level = np.where(np.arange(SECONDS) % 50 < 10, 1.5, 0.6)
    asked = dice.poisson(RATE * level).astype(float)
    disk = open_arrivals(dice, asked, RATE, 0.01, 0.0003)
    waiting_s = queues.waiting_s(disk, RateCap("IOPS", "ios", RATE, RATE))
    assert 0.4 * SECONDS <= waiting_s <= 0.55 * SECONDS


def test_what_is_in_flight_comes_with_the_intervals() -> None:
    load = honest(0.002)
    assert load.queue_s is not None
    rows = table(load).assign(queue_s=load.queue_s)
    (disk,) = demands(rows)
    assert disk.in_flight.mean() == pytest.approx(RATE * 0.002, rel=0.05)
    assert np.isnan(demands(table(load))[0].in_flight).all()


def test_a_counter_of_the_queue_that_begins_anew_costs_no_interval() -> None:
    count = 30
    readings = pd.DataFrame({"time_s": np.arange(count, dtype=float)})
    for name in QUANTITIES:
        readings[name] = 100.0 * np.arange(count)
    queue_s = 2.0 * np.arange(count)
    queue_s[20:] -= 40.0
    readings = readings.assign(node="db-1", device="sdc", queue_s=queue_s)
    intervals = grown(readings)
    assert len(intervals) == count - 1
    assert intervals["queue_s"].isna().sum() == 1
    assert intervals["queue_s"].dropna().eq(2.0).all()


@pytest.mark.parametrize(
    ("limit", "computes_s", "takes_s"),
    [(500.0, 0.0003, 0.0005), (500.0, 0.001, 0.0003), (3000.0, 0.0001, 0.0001)],
)
def test_one_session_that_computes_between_its_ios_is_held_back(
    limit: float, computes_s: float, takes_s: float
) -> None:
    """As one that writes a log: it would ask for 600 to 5,000 a second."""
    dice = np.random.default_rng(5)
    disk = one_session(dice, SECONDS, limit, computes_s, takes_s)
    assert disk.in_flight.mean() < 0.9
    assert held_back(disk) > TOLERANCE


@pytest.mark.parametrize("queue_s", [0.0, -1.0, np.nan, np.inf])
def test_a_time_in_which_ios_took_none_is_not_known(queue_s: float) -> None:
    """Such a counter is not kept, and no sign that nothing waits."""
    dice = np.random.default_rng(6)
    disk = closed_sessions(dice, 32, SECONDS, RATE, 0.01, 0.002)
    unknown = replace(disk, queue_s=np.full(SECONDS, queue_s))
    assert np.isnan(unknown.in_flight).all()
    assert held_back(unknown) == held_back(replace(disk, queue_s=None))
