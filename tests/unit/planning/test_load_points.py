"""Workloads at several loads: names, options, and what cannot be asked for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.design import factors, varied_workloads
from orchestrator.errors import UsageError
from orchestrator.facts import Varied
from orchestrator.load_generators.binding import bind
from orchestrator.planning.durations import timed
from orchestrator.planning.plan import followed_by
from tests.plans import a_plan, a_profile, a_workload, planned

LOAD = a_workload()


def test_a_sweep_of_threads_is_a_workload_for_each_value_on_one_data_set() -> None:
    made, share_pct = varied_workloads.at_loads(
        [LOAD], factors.parse("threads=16,1,4", "load"), None
    )
    assert [one.name for one in made] == [
        "point-select-at-1-thread",
        "point-select-at-4-threads",
        "point-select-at-16-threads",
    ]
    assert [one.threads for one in made] == [1, 4, 16]
    assert all(
        one.dataset == LOAD.dataset and one.options == LOAD.options for one in made
    )
    assert made[0].title.endswith("1 thread") and made[1].title.endswith("4 threads")
    assert share_pct is None


def test_a_sweep_of_rates_is_in_open_loop_and_known_to_the_generator() -> None:
    made, _ = varied_workloads.at_loads(
        [LOAD], factors.parse("rate=50,100.5/s", "load"), None
    )
    assert [one.name for one in made] == [
        "point-select-at-50-per-s",
        "point-select-at-100.5-per-s",
    ]
    assert [one.options["arrival_rate"] for one in made] == [50.0, 100.5]
    assert {one.threads for one in made} == {LOAD.threads}
    assert made[1].varied == Varied(
        "point-select", "arrival_rate", "100.5", 100.5, "load"
    )
    for one in made:
        bind(one, None)  # its check of options


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("threads=4", "two or more"),
        ("rate=50,50.0/s", "each once"),
        ("threads=0,4", "from 1 to 10,000"),
        ("threads=1.5,4", "not a whole number"),
        ("rate=1,-4", "not a number"),
        ("warehouses=1,2", "neither threads nor rate"),
    ],
)
def test_a_sweep_that_is_none_is_refused(text: str, word: str) -> None:
    with pytest.raises(UsageError, match=word):
        varied_workloads.at_loads([LOAD], factors.parse(text, "load"), None)


@pytest.mark.parametrize(
    ("text", "value", "is_share"),
    [
        ("70%", 70.0, True),
        ("70 %", 70.0, True),
        ("120", 120.0, False),
        ("120.5/s", 120.5, False),
        ("99.9%", 99.9, True),
        ("1", 1.0, False),
    ],
)
def test_latency_at_is_a_share_or_a_rate(
    text: str, value: float, is_share: bool
) -> None:
    assert factors.parse_latency_at(text) == (value, is_share)


@pytest.mark.parametrize(
    "text", ["", "0", "0%", "100%", "120%", "-5", "fast", "50/s%", "1e3"]
)
def test_latency_at_anything_else_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--latency-at"):
        factors.parse_latency_at(text)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("0.7", "may be a share of the slowest tier's capacity or a rate"),
        ("0", "is neither"),
    ],
)
def test_a_number_below_one_may_be_meant_as_a_share(text: str, what: str) -> None:
    with pytest.raises(UsageError, match=what):
        factors.parse_latency_at(text)


def test_a_share_leaves_the_workloads_and_a_rate_replaces_them() -> None:
    assert varied_workloads.at_loads([LOAD], (), "70%") == ((LOAD,), 70.0)
    made, share_pct = varied_workloads.at_loads([LOAD], (), "120")
    assert [one.name for one in made] == [
        "point-select-at-120-per-s"
    ] and share_pct is None


@pytest.mark.parametrize(
    ("change", "sweep", "word"),
    [
        ({"database": "none"}, "threads=1,2", "disk alone"),
        ({"options": {"think": "spec"}}, "threads=1,2", "terminals think"),
        ({"options": {"arrival_rate": 9}}, "threads=1,2", "of its own"),
        ({"generator": "benchbase"}, "rate=1,2", "is run by benchbase"),
        ({"generator": "benchbase"}, None, "is run by benchbase"),
        ({"generator": "sysbench-stock"}, "rate=1,2", "is run by sysbench-stock"),
    ],
)
def test_a_load_that_cannot_be_set_is_refused_before_anything_starts(
    change: dict[str, object], sweep: str | None, word: str
) -> None:
    one = replace(LOAD, **change)  # type: ignore[arg-type]
    with pytest.raises(UsageError) as refused:
        varied_workloads.at_loads(
            [one], factors.parse(sweep, "load"), None if sweep else "70%"
        )
    assert word in refused.value.mistakes[0].what


def test_more_workloads_are_planned_behind_the_others_in_blocks() -> None:
    first = a_plan(("premium", "ultra", "v2"), repetitions=3)
    more = varied_workloads.at_load(LOAD, varied_workloads.same_rate(120))
    made = followed_by(first, [(more, [a_profile("premium"), a_profile("ultra")])])
    assert made.runs[:9] == first.runs
    added = made.runs[9:]
    assert [run.number for run in added] == [10, 11, 12, 13, 14, 15]
    assert [run.repetition for run in added] == [1, 1, 2, 2, 3, 3]
    assert {run.workload for run in added} == {more.name}
    for block in (added[:2], added[2:4], added[4:]):
        assert {run.profile for run in block} == {"premium", "ultra"}
    assert [run.profile for run in added[:2]] == [run.profile for run in added[2:4]][
        ::-1
    ]


def test_the_time_of_both_stages_is_estimated_before_the_first() -> None:
    tiers = [a_profile("premium"), a_profile("ultra")]
    times = [
        timed(
            planned(tiers, [LOAD], repetitions=3, latency_at_pct=share_pct)
        ).estimate_s
        for share_pct in (None, 70.0)
    ]
    assert 1.5 * times[0] < times[1] < 2.1 * times[0]


def test_the_loads_of_a_repetition_stand_in_one_block() -> None:
    made, _ = varied_workloads.at_loads(
        [LOAD], factors.parse("threads=1,4", "load"), None
    )
    tiers = [a_profile("premium"), a_profile("ultra")]
    plan = planned(tiers, made, repetitions=2)
    loads = [run.workload for run in plan.runs]
    assert loads[:4:2] == loads[1:4:2] == loads[4::2][::-1] == loads[5::2][::-1]
    assert {run.repetition for run in plan.runs[:4]} == {1} and len(set(loads[:4])) == 2
