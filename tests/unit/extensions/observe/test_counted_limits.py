"""A disk that counts for how long it was above its limits settles what sums of minutes hide.

Goal: more words from minutes, and none that seconds of the same demand contradict.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from orchestrator.extensions.observe.judging.candidate_answers import Observed
from orchestrator.extensions.observe.judging.demand import Demand
from orchestrator.extensions.observe.page.observation import observation_answer
from orchestrator.tier import Limits
from tests.counted_demands import (
    DAY_S,
    MINUTE_S,
    ONE_PCT,
    SOURCE,
    contradicted,
    counting,
    told,
    words,
)
from tests.simulated_demand import PROCESSES, in_seconds, seconds_of, summed


@pytest.fixture(scope="module")
def quiet() -> Demand:
    """It asks for more than its disk lets through in 0.1 % of the seconds."""
    return seconds_of("bursts of 2 s", 3, DAY_S // 4, mean=270.0)


def test_a_larger_disk_is_settled_from_minutes(quiet: Demand) -> None:
    demand = counting(quiet)
    without = words(replace(demand, reported=()))
    settled = words(demand)
    assert without["azure/P50"] == "cannot be told"
    assert settled["azure/P50"] == "would have carried"
    assert told(settled) > told(without)


def test_a_smaller_disk_is_settled_from_minutes() -> None:
    demand = counting(seconds_of("bursts of 10 s", 5, DAY_S // 4, mean=1200.0))
    without = words(replace(demand, reported=()))
    settled = words(demand)
    smaller = [
        name
        for name, word in without.items()
        if word == "cannot be told" and settled[name] == "would not"
    ]
    assert smaller


def test_the_disk_itself_stays_open(quiet: Demand) -> None:
    """Of demand that is a little higher its count says nothing."""
    alike = "azure/premium-v2:size=256GiB,iops=3000,throughput=125MB/s"
    assert words(counting(quiet))[alike] == "cannot be told"


@pytest.mark.parametrize(
    ("source", "of_all"), [(None, True), (SOURCE, False), (Limits(500, 10**7), True)]
)
def test_nothing_is_settled_unless_disk_and_time_are_known(
    quiet: Demand, source: Limits | None, of_all: bool
) -> None:
    """The last disk is too small for what was read: it is another one."""
    demand = counting(quiet, of_all=of_all)
    assert Observed.of([demand], ONE_PCT, source).counted is None


@pytest.mark.parametrize("process", PROCESSES)
def test_no_word_is_contradicted_by_seconds(process: str) -> None:
    asked = seconds_of(process, 7, DAY_S // 4, mean=500.0)
    assert contradicted(asked, words(counting(asked))) == []


def kinds(observation: Observed) -> dict[str, str]:
    answer = observation_answer(observation.with_answers([]), "", [])
    return {caution.kind: caution.text for caution in answer.cautions}


def test_whose_count_it_is_stands_on_the_page(quiet: Demand) -> None:
    found = kinds(Observed.of([counting(quiet)], ONE_PCT, SOURCE))
    assert "counted that limits held it back" in found["counted by the disk"]
    assert "held back by the machine" not in found


def test_a_machines_limit_is_measured_and_hides_what_disks_would_be_asked(
    quiet: Demand,
) -> None:
    observation = Observed.of([counting(quiet, machine=0.05)], ONE_PCT, SOURCE)
    assert observation.machine_share == pytest.approx(0.05)
    assert "for up to 5 % of the time" in kinds(observation)["held back by the machine"]
    assert words(counting(quiet, machine=0.05))["azure/P50"] == "cannot be told"


def test_a_disk_that_its_machine_held_back_is_not_averaged_with_one_it_did_not(
    quiet: Demand,
) -> None:
    """Data and log on one machine: what held the data's volume back is not halved."""
    data = counting(quiet, machine=0.015)
    log = replace(counting(quiet), device="sdd")
    observation = Observed.of([data, log], ONE_PCT, SOURCE)
    assert observation.machine_share == pytest.approx(0.015)


@pytest.mark.parametrize(
    ("iops", "over_share", "what"),
    [
        (3_000.0, 0.0, "all that --source lets through, and counted no time above"),
        (300.0, 1.0, "at less than half of that of --source"),
    ],
)
def test_a_count_that_readings_contradict_settles_nothing(
    iops: float, over_share: float, what: str
) -> None:
    """A counter that is not kept stays at zero; a wrong --source has another limit."""
    minutes = counting(in_seconds(np.full(DAY_S // 4, iops)))
    of_iops, *others = minutes.reported
    share = np.full(len(minutes.begin_s), over_share)
    throttles = (replace(of_iops, share=share), *others)
    demand = replace(minutes, reported=throttles)
    observation = Observed.of([demand], ONE_PCT, SOURCE)
    assert observation.counted is None
    assert what in kinds(observation)["count contradicted"]
    without = replace(minutes, reported=())
    assert words(demand)["azure/P50"] == words(without)["azure/P50"]


@pytest.mark.parametrize("process", PROCESSES)
def test_a_true_count_contradicts_nothing(process: str) -> None:
    asked = seconds_of(process, 7, DAY_S // 4, mean=500.0)
    observation = Observed.of([counting(asked)], ONE_PCT, SOURCE)
    assert observation.counted is not None
    assert "count contradicted" not in kinds(observation)


def test_a_heap_that_disk_and_machine_deny_is_the_loads() -> None:
    steady = in_seconds(np.full(DAY_S // 4, 2_000.0))
    heaped = summed(steady, MINUTE_S)
    assert Observed.of([heaped], ONE_PCT).source
    assert not Observed.of([counting(steady)], ONE_PCT).source
    assert Observed.of([counting(steady, machine=None)], ONE_PCT).source
