"""The answer by weights: what one workload does not compare counts over the others, and is said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from orchestrator.analysis.conclusions import ClusterDecision
from orchestrator.analysis.decisions import cluster_decision, remarks
from orchestrator.analysis.decisions.candidates import (
    LATENCIES,
    NEW_ORDER,
    REBUILD,
    THROUGHPUT,
    Candidate,
    Criterion,
)
from orchestrator.analysis.decisions.contest_rules import ContestRules
from orchestrator.analysis.decisions.contests import Contest, make_contest
from orchestrator.analysis.decisions.weighted_mean import AVERAGE, P99
from orchestrator.analysis.decisions.weights import weighed
from orchestrator.analysis.verdicts import judge
from orchestrator.metrics import measured
from orchestrator.model import Record
from tests.campaigns import build_campaign, build_profile, with_tail
from tests.decision_scenarios import TIERS, Change, without_p99
from tests.plans import changed_plan

FAST = (2000.0, 2010.0, 1990.0)
LOADS = ("point-select", "tpcc")
NOISE = (1.0, 1.004, 0.996, 1.002, 0.998)
CEILING_NOPM = 20 * 12.86  # of 20 warehouses with think time

Weights = Mapping[str, float]


def decided(
    change: Change,
    weights: Weights,
    measure_s: float = 60.0,
    loads: Sequence[str] = LOADS,
) -> ClusterDecision:
    """Three tiers alike in all workloads but for the change; five repetitions."""
    rates = {"point-select": 4300.0, "insert": 600.0, "tpcc": 430.0}
    values = {
        (tier, load): [rates[load] * factor for factor in NOISE]
        for tier in TIERS
        for load in loads
    }
    campaign = with_tail(
        build_campaign(
            workloads=list(loads),
            repetitions=5,
            values=values,
            measure_s=measure_s,
            frames=False,
            change=change,
        )
    )
    plan = changed_plan(campaign.plan, weights=weights)
    cluster = judge(replace(campaign, plan=plan)).cluster
    assert cluster is not None
    return cluster


def times(metric: str, factor: float, scope: str = "all") -> Change:
    """With this figure so many times as high."""

    def change(record: Record) -> Record:
        figures = [
            replace(one, value=one.value * factor)
            if (one.metric, one.scope) == (metric, scope)
            else one
            for one in record.measurements
        ]
        return replace(record, measurements=tuple(figures))

    return change


def thinking(record: Record) -> Record:
    """At the ceiling that think time sets."""
    load = replace(
        record.workload, options={**record.workload.options, "think": "spec"}
    )
    others = [one for one in record.measurements if one.metric != "nopm"]
    figures = (*others, measured("nopm", CEILING_NOPM))
    return replace(record, workload=load, measurements=figures)


def of(load: str, change: Change, tier: str = "") -> Change:
    """The change in one workload, on one tier or on all."""

    def of_load(record: Record) -> Record:
        if record.run.workload != load or (tier and record.run.profile != tier):
            return record
        return change(record)

    return of_load


def both(first: Change, second: Change) -> Change:
    return lambda record: second(first(record))


def _half_as_fast_beside_think_time() -> Change:
    slow = times("throughput_per_s", 0.5)
    return both(of("tpcc", thinking), of("point-select", slow, "premium"))


def _five_times_the_p99_beside_none() -> Change:
    slow = times("latency_p99_s", 5.0)
    return both(of("tpcc", without_p99), of("point-select", slow, "premium"))


def _new_orders_twice_as_long() -> Change:
    return of("tpcc", times("latency_avg_s", 2.0, "new_order"), "premium")


@pytest.mark.parametrize(
    ("change", "weights", "says"),
    [
        (
            _half_as_fast_beside_think_time(),
            {"point-select": 95, "tpcc": 5},
            "throughput counts over point-select alone: tpcc does not compare it",
        ),
        (
            _five_times_the_p99_beside_none(),
            {"point-select": 95, "tpcc": 5},
            "p99 latency counts over point-select alone: tpcc does not compare it",
        ),
        (_new_orders_twice_as_long(), {"point-select": 5, "tpcc": 95}, ""),
    ],
)
def test_what_one_workload_does_not_compare_refuses_by_the_other(
    change: Change, weights: Weights, says: str
) -> None:
    cluster = decided(change, weights)
    assert cluster.standings["premium"] == "not enough", cluster.reason
    assert cluster.tier == "premium-v2"
    assert says.lower() in cluster.reason.lower()


def test_a_longer_average_in_little_of_the_work_is_weighed_with_the_rest() -> None:
    """In a closed loop throughput stands for the average, whose figure is there."""
    cluster = decided(_new_orders_twice_as_long(), {"point-select": 95, "tpcc": 5})
    assert cluster.tier == "premium"  # 2 ** 0.05 is 3.5 % more


def test_a_workload_without_a_weight_has_to_be_met_by_itself() -> None:
    slow_in_tpcc = of("tpcc", times("nopm", 0.5), "premium")
    loads = ("point-select", "insert", "tpcc")
    weights = {"point-select": 1, "insert": 1}
    cluster = decided(slow_in_tpcc, weights, loads=loads)
    assert cluster.standings["premium"] == "not enough"
    assert cluster.tier == "premium-v2"


def test_a_criterion_that_no_weighted_workload_has_is_told() -> None:
    cluster = decided(without_p99, {"point-select": 1, "tpcc": 1})
    assert "no weighted workload compares p99 latency" in cluster.reason


def test_a_workload_with_criteria_of_its_own_has_to_be_met_by_itself() -> None:
    """The time to rebuild a node is not the average latency of anything."""
    rebuilt = _contest("rebuild", {THROUGHPUT: 1.0, REBUILD[0]: 2.0})
    plain = _contest("insert", {THROUGHPUT: 1.0, LATENCIES[0]: 1.0})
    weights = {"rebuild": 1.0, "insert": 99.0}
    made = cluster_decision.decide_cluster([rebuilt, plain], weights)
    assert made is not None
    assert made.standings["premium-v2"] == "not enough"
    assert "Weights do not count" in made.reason


def _contest(
    workload: str,
    times_of_dearer: Mapping[Criterion, float],
    cause_of_dearer: str = "unattributed",
) -> Contest:
    """Two tiers; of each criterion, how many times that of the dearer the cheaper has."""
    causes = {TIERS[1]: "unattributed", TIERS[2]: cause_of_dearer}
    candidates = []
    for tier in TIERS[1:]:
        values = {}
        for criterion, factor in times_of_dearer.items():
            own = factor if tier == TIERS[1] else 1.0
            values[criterion] = tuple(own * rate for rate in 4 * FAST)
        candidates.append(Candidate(build_profile(tier), values, causes[tier]))
    return make_contest(
        workload, candidates, TIERS[1:], ContestRules(5.0, tuple(times_of_dearer))
    )


@pytest.mark.parametrize(
    ("in_insert", "in_tpcc", "standing"),
    [
        ("unattributed", "unattributed", "enough"),
        ("iops_cap", "cpu_bound", "enough"),
        ("client_bound", "iops_cap", "open"),
        ("iops_cap", "client_bound", "open"),
        ("iops_cap", "machine_bound", "open"),
        ("iops_cap", "slow_node", "open"),
    ],
)
def test_what_held_the_dearer_tier_back_in_one_workload_counts_in_the_mean(
    in_insert: str, in_tpcc: str, standing: str
) -> None:
    """Of a tier that the client, the machine or a slow node limited it is not known what it can
    do, so the cheaper one, which is as fast, is not proven to be enough."""
    contests = [
        _contest("insert", {THROUGHPUT: 1.0}, in_insert),
        _contest("tpcc", {THROUGHPUT: 1.0}, in_tpcc),
    ]
    made = cluster_decision.decide_cluster(contests, {"insert": 1.0, "tpcc": 9.0})
    assert made is not None
    assert made.standings["premium-v2"] == standing, made.reason


def test_workloads_without_a_common_repetition_say_so() -> None:
    """Both tiers have two repetitions of each workload, of unlike numbers."""
    made = _of_repetitions((1, 3), (2, 4))
    assert made.tier is None
    assert (
        "The mean takes repetitions that finished under each of its workloads: "
        "premium-v2 has none, ultra has none"
    ) in made.reason


def test_two_common_repetitions_are_enough_for_a_mean() -> None:
    assert "The mean takes" not in _of_repetitions((1, 2), (1, 2)).reason
    assert "premium-v2 has one" in _of_repetitions((1, 2), (2, 3)).reason
    # Of a workload with a single repetition that is the reason, and no lack of common ones.
    assert "The mean takes" not in _of_repetitions((1,), (2, 3)).reason


def _of_repetitions(*numbers_of_loads: tuple[int, ...]) -> ClusterDecision:
    contests = []
    for load, numbers in zip(("insert", "tpcc"), numbers_of_loads, strict=True):
        tiers = []
        for tier in TIERS[1:]:
            values = {THROUGHPUT: (1000.0, 1005.0)[: len(numbers)]}
            named = Candidate(build_profile(tier), values, "", repetitions=numbers)
            tiers.append(named)
        contests.append(
            make_contest(load, tiers, TIERS[1:], ContestRules(5.0, (THROUGHPUT,)))
        )
    made = cluster_decision.decide_cluster(contests, {"insert": 1.0, "tpcc": 1.0})
    assert made is not None
    return made


@pytest.mark.parametrize(
    ("rebuilt", "note"),
    [
        (
            ("lost",),
            "The weight of lost does not count: it has to be met alone",
        ),
        (
            ("lost", "gone"),
            "The weights of lost and gone do not count: each has to be met alone",
        ),
    ],
)
def test_weights_of_what_has_to_be_met_alone_do_not_count(
    rebuilt: Sequence[str], note: str
) -> None:
    contests = [_contest(load, {THROUGHPUT: 1.0}) for load in LOADS]
    contests += [_contest(load, {THROUGHPUT: 1.0, REBUILD[0]: 1.0}) for load in rebuilt]
    made = weighed(contests, dict.fromkeys((*LOADS, *rebuilt), 1.0))
    assert note in made.notes
    assert [contest.workload for contest in made.contests[1:]] == list(rebuilt)


@pytest.mark.parametrize(
    ("with_average", "note"),
    [
        (
            ("a",),
            "Average latency counts over a alone: b and c do not compare it",
        ),
        (
            ("a", "b"),
            "Average latency counts over a and b alone: c does not compare it",
        ),
        (("a", "b", "c"), ""),
    ],
)
def test_what_not_all_workloads_compare_is_told(
    with_average: Sequence[str], note: str
) -> None:
    contests: list[Contest] = []
    for load in ("a", "b", "c"):
        criteria = {P99: 1.0}
        if load in with_average:
            criteria[AVERAGE] = 1.0
        contests.append(_contest(load, criteria))
    notes = weighed(contests, {"a": 1.0, "b": 2.0, "c": 3.0}).notes
    assert [text for text in notes if "counts over" in text] == [note] * bool(note)
    assert "In the mean no weighted workload compares throughput" in notes


# ------------------------------------------------------------------ what it rests on


@pytest.mark.parametrize("weights", [{}, {"point-select": 95, "tpcc": 5}])
def test_the_joint_answer_says_level_repetitions_windows_and_limits(
    weights: Weights,
) -> None:
    cluster = decided(lambda record: record, weights, measure_s=7.0)
    assert cluster.tier == "premium"
    assert cluster.basis == (
        "that a tier is enough for all holds at 95 %; n = 5 (repetitions 1 to 5), "
        "windows of 7 s"
    )
    assert "What limits this answer: scale laptop" in cluster.reason
    assert "short window (30 runs)" in cluster.reason


def test_unlike_numbers_of_repetitions_are_told_by_workload() -> None:
    values = {THROUGHPUT: (1000.0, 1005.0, 995.0)}
    more = {THROUGHPUT: (*values[THROUGHPUT], 1001.0)}
    contests = []
    for name, figures in (("insert", values), ("tpcc", more)):
        tiers = [Candidate(build_profile(tier), figures, "") for tier in TIERS]
        contests.append(make_contest(name, tiers, TIERS, ContestRules(5.0)))
    made = cluster_decision.decide_cluster(contests)
    assert made is not None
    assert "n = 3 (repetitions 1 to 3) of insert" in made.basis
    assert "n = 4 (repetitions 1 to 4) of tpcc" in made.basis


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ((2,), "n = 1"),
        ((1, 2), "n = 2 (repetitions 1 and 2)"),
        ((2, 3, 4), "n = 3 (repetitions 2 to 4)"),
        ((1, 2, 4), "n = 3 (repetitions 1, 2 and 4)"),
    ],
)
def test_repetitions_are_told_by_number(numbers: tuple[int, ...], words: str) -> None:
    values = {THROUGHPUT: (1000.0,) * len(numbers)}
    profile = build_profile(TIERS[0])
    whole = Candidate(profile, values, "", repetitions=numbers)
    rules = ContestRules(5.0, (THROUGHPUT,))
    contest = make_contest("tpcc", [whole], TIERS, rules)
    assert remarks.runs_in_words(contest) == words
    lost = replace(whole, profile=build_profile(TIERS[1]), repetitions=(7, 9))
    lost = replace(lost, values={THROUGHPUT: (1000.0, 1001.0)})
    contest = make_contest("tpcc", [whole, lost], TIERS, rules)
    assert remarks.runs_in_words(contest) == (
        f"{words} of {TIERS[0]}, n = 2 (repetitions 7 and 9) of {TIERS[1]}"
    )


def test_nothing_is_named_where_no_figure_was_measured_in_all_runs() -> None:
    contests: list[Contest] = []
    for load in LOADS:
        tiers = [Candidate(build_profile(tier), {}, "") for tier in TIERS[1:]]
        tiers = [replace(tier, repetitions=(1, 2, 3)) for tier in tiers]
        contests.append(make_contest(load, tiers, TIERS[1:], ContestRules(5.0, ())))
    made = cluster_decision.decide_cluster(contests, dict.fromkeys(LOADS, 1.0))
    assert made is not None and made.tier is None
    assert set(made.standings.values()) == {"open"}
    assert "no weighted workload compares throughput and p99 latency" in made.reason


def _many(count: int) -> ClusterDecision:
    contests = [
        _contest(f"load-{number}", {NEW_ORDER[0]: 1.0}) for number in range(count)
    ]
    made = cluster_decision.decide_cluster(contests)
    assert made is not None
    return made


def test_one_answer_for_20_workloads_is_refused() -> None:
    most = _many(19)
    assert most.tier == "premium-v2"
    assert "cannot be proven for more" not in most.reason
    many = _many(20)
    assert many.tier is None
    assert set(many.standings.values()) == {"open"}
    assert "cannot be proven for more than 19 workloads" in many.reason
    assert "--weights" in many.reason
