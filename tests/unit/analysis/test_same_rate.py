"""All tiers at one rate: what follows a measured capacity, and what overload decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import repeat

import numpy as np
import pandas as pd
import pytest

from orchestrator.analysis import overload
from orchestrator.analysis.answers.campaign import campaign_answer
from orchestrator.analysis.conclusions import Bottleneck, Decision, Delta
from orchestrator.analysis.decisions import decision
from orchestrator.analysis.figures import slowed
from orchestrator.analysis.figures.transactions import COMMITTED, Window
from orchestrator.analysis.results import Results, RunData
from orchestrator.analysis.verdicts import judge
from orchestrator.metrics import measured
from orchestrator.model import Measurement, Objective, Run, Workload
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections import tier_picture
from orchestrator.run.runs_ahead import same_rate
from orchestrator.tier.slow_disk import SlowDisk
from tests import loads
from tests.fakes import transaction_table
from tests.loads import a_load, at_rate, flow

# ------------------------------------------------------------------ the plan grows

SLOW = (SlowDisk("node-3", "share", 10.0, 20.0),)
CAPACITY = {"premium": 1000.0, "ultra": 4000.0}


def capacity(run: Run, _: Workload) -> list[Measurement]:
    noise = (0.9, 1.0, 1.3)[
        run.repetition - 1
    ]  # the median, not the mean, is the capacity
    return [measured("throughput_per_s", CAPACITY[run.profile] * noise)]


def test_all_tiers_follow_at_the_share_of_the_slowest_s_median_capacity() -> None:
    campaign = loads.build([a_load()], capacity, latency_at_pct=70.0)
    grown = same_rate.plan_at_same_rate(campaign)
    assert grown is not None
    added = grown.runs[len(campaign.plan.runs) :]
    assert {run.workload for run in added} == {"point-select-at-700-per-s"}
    assert [run.repetition for run in added] == [1, 1, 2, 2, 3, 3]
    assert grown.workloads[-1].options["arrival_rate"] == 700.0
    assert same_rate.plan_at_same_rate(replace(campaign, plan=grown)) is None


def test_the_rate_does_not_pretend_to_be_known_better_than_the_capacity() -> None:
    campaign = loads.build([a_load()], capacity, latency_at_pct=33.333)
    grown = same_rate.plan_at_same_rate(campaign)
    assert grown is not None and grown.workloads[-1].options["arrival_rate"] == 333.0


def test_the_capacity_with_a_slow_disk_is_that_of_the_time_before() -> None:
    def slow_meanwhile(run: Run, load: Workload) -> list[Measurement]:
        (whole,) = capacity(run, load)
        before = replace(whole, scope=slowed.BEFORE)
        return [replace(whole, value=whole.value / 2), before]

    load = replace(a_load(), slow=SLOW)
    campaign = loads.build([load], slow_meanwhile, latency_at_pct=70.0)
    grown = same_rate.plan_at_same_rate(campaign)
    assert grown is not None
    assert grown.workloads[-1].options["arrival_rate"] == 700.0


def test_a_tier_without_capacity_is_left_out_and_that_is_said() -> None:
    campaign = loads.build(
        [a_load()],
        capacity,
        profiles=("premium", "premium-v2", "ultra"),
        latency_at_pct=70.0,
        failed=["premium-v2"],
    )
    grown = same_rate.plan_at_same_rate(campaign)
    assert grown is not None
    assert {run.profile for run in grown.runs[9:]} == {"premium", "ultra"}
    (note,) = grown.notes
    assert str(note).startswith("premium-v2: left out of point-select at the same rate")


def test_without_any_capacity_nothing_more_is_run() -> None:
    campaign = loads.build(
        [a_load()], capacity, latency_at_pct=70.0, failed=["premium", "ultra"]
    )
    grown = same_rate.plan_at_same_rate(campaign)
    assert (
        grown is not None and grown.runs == campaign.plan.runs and len(grown.notes) == 2
    )


def test_a_campaign_that_asked_for_no_rate_does_not_grow() -> None:
    assert same_rate.plan_at_same_rate(loads.build([a_load()], capacity)) is None


# ------------------------------------------------------------------ offered and served


def queue(
    rate_per_s: float, service_per_s: float, seconds: float, seed: int = 1
) -> tuple[pd.DataFrame, int]:
    """One server, Poisson arrivals, exponential times: the records of a run from 0 s to `seconds`,
    and the number of those that were due and had not begun."""
    dice = np.random.default_rng(seed)
    due_s = np.cumsum(dice.exponential(1 / rate_per_s, int(rate_per_s * seconds * 2)))
    due_s = due_s[due_s < seconds]
    served_s = dice.exponential(1 / service_per_s, due_s.size)
    ended_s = np.empty(due_s.size)
    free_s = 0.0
    for place, (due, takes) in enumerate(zip(due_s, served_s, strict=True)):
        free_s = ended_s[place] = max(free_s, due) + takes
    begun = ended_s - served_s < seconds
    rows = zip(due_s, ended_s - due_s, repeat("x"), repeat(COMMITTED), strict=False)
    table = transaction_table(list(rows))[begun]
    return table, int((~begun).sum())


def rates(figures: Sequence[Measurement]) -> dict[str, float]:
    return {one.metric: one.value for one in figures}


def flowed(
    table: pd.DataFrame, start_s: float, end_s: float, rate_per_s: float, unstarted: int
) -> Sequence[Measurement]:
    """Of the table in two parts."""
    found = Window(start_s, end_s, pooled=False, at_a_rate=False)
    for part in (table[: len(table) // 2], table[len(table) // 2 :]):
        found.add(part)
    return found.flow(rate_per_s, unstarted)


def test_what_is_offered_is_served_below_capacity() -> None:
    table, unstarted = queue(100, 200, 70)
    found = rates(flowed(table, 10, 70, 100, unstarted))
    assert found["offered_per_s"] == pytest.approx(100, rel=0.05)
    assert found["served_per_s"] == pytest.approx(found["offered_per_s"], rel=0.005)


def test_beyond_capacity_the_difference_is_what_the_queue_grew_by() -> None:
    table, unstarted = queue(100, 80, 70)
    found = rates(flowed(table, 10, 70, 100, unstarted))
    assert found["served_per_s"] == pytest.approx(80, rel=0.05)
    assert found["offered_per_s"] == pytest.approx(100, rel=0.05)


def test_far_beyond_it_what_came_before_the_window_does_not_count_as_offered() -> None:
    table, unstarted = queue(1000, 10, 70)
    found = rates(flowed(table, 60, 70, 1000, unstarted))
    assert found["offered_per_s"] == 1000


@pytest.mark.parametrize(
    ("offered", "served", "behind"),
    [
        (1000.0, 1000.0, False),
        (1000.0, 990.0, False),  # 1 %: the queue of a moment
        (1000.0, 989.9, True),
        (10.0, 8.0, False),  # 120 transactions of 60 threads: two each
        (10.0, 7.9, True),
        (1000.0, 1020.0, False),  # a queue that drains
    ],
)
def test_a_run_is_overloaded_when_its_queue_grew(
    offered: float, served: float, behind: bool
) -> None:
    campaign = loads.build(
        [at_rate(offered)], lambda run, _: flow(run, offered, served, 0.01)
    )
    record = campaign.runs[0].record
    assert overload.overloaded(record) is behind
    closed = replace(record, workload=a_load())
    assert not overload.overloaded(closed)


# ------------------------------------------------------------------ what it decides

Served = dict[str, tuple[float, float]]  # tier → served/s, average latency
TIERS = ("premium", "premium-v2", "ultra")


def campaign_of(
    served: Served,
    *,
    at_times: str = "",
    repetitions: int = 3,
    slo: tuple[Objective, ...] = (),
) -> Results:
    def figures(run: Run, _: Workload) -> list[Measurement]:
        rate, latency_s = served[run.profile]
        if run.profile == at_times and run.repetition == 1:
            rate, latency_s = 900.0, 2.0
        return flow(run, 1000.0, rate, latency_s)

    return loads.build(
        [at_rate(1000, slo)], figures, profiles=list(served), repetitions=repetitions
    )


def decided(campaign: Results) -> Decision:
    (found,) = judge(campaign).decisions
    return found


def latency(campaign: Results, contender: str, metric: str = "latency_avg_s") -> Delta:
    deltas = judge(campaign).deltas
    return next(d for d in deltas if (d.contender, d.metric) == (contender, metric))


def test_at_one_rate_latency_ranks() -> None:
    found = decided(
        campaign_of(
            dict(zip(TIERS, [(1000, 0.03), (1000, 0.01), (1000, 0.01)], strict=True))
        )
    )
    assert found.tier == "premium-v2", found.reason
    assert found.criterion == "average latency"
    assert "All tiers are asked for the same rate, so latency ranks" in found.reason
    assert "throughput" not in found.reason
    assert [offer.standing for offer in found.offers] == [
        "not enough",
        "enough",
        "enough",
    ]


def test_how_the_criterion_is_worded_changes_no_answer_and_no_picture() -> None:
    figures = [(1000.0, 0.03), (1000.0, 0.01), (1000.0, 0.01)]
    campaign = campaign_of(dict(zip(TIERS, figures, strict=True)))
    verdict = judge(campaign)
    (decision,) = verdict.decisions
    reworded = replace(decision, criterion="time until an answer, mean")
    other = replace(verdict, decisions=(reworded,), answer=None)
    brief = campaign_answer(campaign, other).brief
    assert "is 3.00 times as fast by average latency as" in brief.why
    picture = tier_picture.picture(ReportIndex(campaign, other), decision.workload)
    assert picture is not None
    assert picture.title.startswith("average latency, ms of each tier")


def test_an_overloaded_tier_loses_and_its_latency_is_not_compared() -> None:
    """Its average is the shortest: what was served was served before the queue grew."""
    campaign = campaign_of(
        dict(zip(TIERS, [(800, 0.001), (1000, 0.01), (1000, 0.01)], strict=True))
    )
    found = decided(campaign)
    assert found.tier == "premium-v2", found.reason
    assert found.criterion == "served rate"
    assert (
        "Overloaded at this rate is premium: latency there depends on how long"
        in found.reason
    )
    assert [offer.tier for offer in found.offers] == ["premium-v2", "ultra"]
    change = latency(campaign, "ultra")
    assert (change.verdict, change.overloaded) == ("better", ("premium",))
    assert change.ci_low_pct is None
    assert "premium is overloaded (800 of 1,000 transactions/s)" in change.reason
    assert latency(campaign, "ultra", "throughput_per_s").overloaded == ()


def with_a_slow_disk(served: dict[str, float], before: float) -> Results:
    """1,000/s are asked for. `before`: transactions/s before the disk is slow."""
    campaign = campaign_of({tier: (rate, 0.01) for tier, rate in served.items()})
    runs: list[RunData] = []
    for run in campaign.runs:
        record = run.record
        load = replace(record.workload, slow=SLOW)
        figure = measured("throughput_per_s", before, slowed.BEFORE)
        figures = (*record.measurements, figure)
        record = replace(record, workload=load, measurements=figures)
        runs.append(replace(run, record=record))
    loads_of_plan = [replace(load, slow=SLOW) for load in campaign.plan.workloads]
    plan = replace(campaign.plan, workloads=tuple(loads_of_plan))
    return replace(campaign, plan=plan, runs=tuple(runs))


def test_a_rate_that_was_not_served_before_a_disk_was_slow_is_no_slow_disk_s_doing() -> (
    None
):
    verdict = judge(with_a_slow_disk({"premium": 800, "ultra": 1000}, before=800.0))
    (found,) = verdict.decisions
    assert "the only tier that serves the rate asked for." in found.reason
    assert "with a slow disk" not in found.reason
    for doubt in verdict.doubts:
        if doubt.kind == "overload":
            assert "with a slow disk" not in doubt.text
            assert "`arrival_rate`" in doubt.advice
    # Its queue has no usual latency to recover to, and the overload is told already.
    recovering = {
        doubt.run for doubt in verdict.doubts if doubt.kind == "not recovered"
    }
    overloaded = {doubt.run for doubt in verdict.doubts if doubt.kind == "overload"}
    assert overloaded and not recovering & overloaded


@pytest.mark.parametrize(
    ("premium", "ultra", "words"),
    [
        (800, 1000, "the only tier that serves the rate asked for with a slow disk"),
        (800, 1000, "Overloaded at this rate with a slow disk is premium"),
        (
            800,
            800,
            "every tier is overloaded at the rate asked for with a slow disk (premium and "
            "ultra), so no latency can be compared. Measure for longer after the slow disk",
        ),
    ],
)
def test_with_a_slow_disk_a_tier_is_not_called_overloaded_without_it(
    premium: float, ultra: float, words: str
) -> None:
    """Its queue may come from the slow disk alone: the rate may be served on other days."""
    verdict = judge(
        with_a_slow_disk({"premium": premium, "ultra": ultra}, before=1000.0)
    )
    (found,) = verdict.decisions
    assert words in found.reason
    texts = [doubt.text for doubt in verdict.doubts if doubt.kind == "overload"]
    assert texts
    for text in texts:
        assert "The queue grew with a slow disk" in text


def test_an_overloaded_contender_is_worse() -> None:
    campaign = campaign_of({"premium": (1000, 0.01), "ultra": (800, 0.001)})
    change = latency(campaign, "ultra", "latency_p99_s")
    assert (change.verdict, change.overloaded) == ("worse", ("ultra",))
    found = decided(campaign)
    assert found.tier == "premium"
    assert "premium is the only tier that serves the rate asked for" in found.reason


def test_where_every_tier_is_overloaded_there_is_no_answer() -> None:
    campaign = campaign_of({"premium": (700, 0.01), "ultra": (800, 0.01)})
    found = decided(campaign)
    assert found.tier is None and "every tier is overloaded" in found.reason
    assert latency(campaign, "ultra").verdict == "inconclusive"


@pytest.mark.parametrize("at_times", ["premium", "ultra"])
def test_a_tier_that_is_overloaded_at_times_leaves_it_open(at_times: str) -> None:
    campaign = campaign_of(
        {"premium": (1000, 0.01), "ultra": (1000, 0.01)}, at_times=at_times
    )
    found = decided(campaign)
    assert found.tier is None
    assert f"{at_times} did not serve the rate asked for in every run" in found.reason
    assert latency(campaign, "ultra").verdict == "inconclusive"


def test_a_tier_that_the_machine_held_back_is_not_proven_overloaded() -> None:
    campaign = campaign_of({"premium": (800, 0.01), "ultra": (1000, 0.01)})
    name = campaign.plan.workloads[0].name
    limits = [Bottleneck("premium", name, "node-1", "machine_bound", "", {})]
    (found,) = decision.decide_all(campaign, limits)[0]
    assert found.tier is None and "is not proven" in found.reason


def test_one_overloaded_run_proves_nothing() -> None:
    campaign = campaign_of(
        {"premium": (800, 0.01), "ultra": (1000, 0.01)}, repetitions=1
    )
    assert decided(campaign).tier is None
    assert latency(campaign, "ultra").verdict == "inconclusive"


def test_an_slo_is_not_met_by_an_overloaded_tier() -> None:
    slo = (Objective("latency_avg_s", "all", 0.05),)
    found = decided(
        campaign_of({"premium": (800, 0.001), "ultra": (1000, 0.01)}, slo=slo)
    )
    assert found.tier == "ultra", found.reason
    assert "Overloaded at this rate is premium" in found.reason


def test_a_doubt_says_that_the_queue_grew() -> None:
    verdict = judge(campaign_of({"premium": (800, 0.01), "ultra": (1000, 0.01)}))
    said = [doubt.text for doubt in verdict.doubts if doubt.kind == "overload"]
    assert (
        len(said) == 3
        and "1,000 transactions/s fell due in the window and 800 ended in it" in said[0]
    )
    assert not [doubt for doubt in verdict.doubts if doubt.kind == "Little's law"]
