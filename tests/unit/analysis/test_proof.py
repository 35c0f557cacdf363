"""What changes of a run's own limits say of its cause: transactions that answer them as told."""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from orchestrator.analysis.conclusions import Bottleneck, Elasticity
from orchestrator.analysis.results import RunData
from orchestrator.analysis.telemetry.causes import proof_by_trial, trial_elasticities
from orchestrator.facts import BottleneckCause, TriedLimit
from orchestrator.run.window import confirming
from tests import simulated_trials
from tests.campaigns import build_campaign
from tests.fakes import transaction_table
from tests.simulated_trials import System

TRIALS_S = 60.0  # for which four pairs of changes of each are drawn
EACH_S, SETTLES_S = 1.0, 0.4
RATE_PER_S = 2000
LIMITS: tuple[TriedLimit, ...] = (
    *("IOPS", "disk latency", "shared IOPS", "shared bandwidth"),
    *("node CPU", "client CPU", "sessions"),
)
LEVELS = {"client CPU": (1.0, 0.75), "sessions": (1.0, 0.75)}
(RUN,) = build_campaign(
    profiles=("premium",), workloads=("insert",), repetitions=1
).runs
THREADS = 4


def tried_out(
    elasticity: Mapping[str, float],
    noise_pct: float = 0.0,
    drift_pct: float = 0.0,
    seed: int = 1,
    **options: Any,
) -> RunData:
    """A run in which throughput follows each limit as told, with noise from change to change, and
    loses so much from the first to the last."""
    dice = np.random.default_rng(seed)
    levels = {limit: LEVELS.get(limit, (1.25, 0.75)) for limit in LIMITS}
    order = confirming.drawn_order(levels, TRIALS_S, seed)
    changes, rows, start_s = [], [], 1000.0
    for number, (limit, times) in enumerate(order):
        faster = times ** elasticity.get(limit, 0.0) * (
            1 + noise_pct / 100 * dice.normal()
        )
        latency_s = THREADS / (
            RATE_PER_S * faster * (1 - drift_pct / 100 * number / len(order))
        )
        count = int(THREADS * EACH_S / latency_s)
        ended_s = start_s + np.arange(1, count + 1) * EACH_S / (count + 1)
        rows += [(end_s - latency_s, latency_s, "insert", 0) for end_s in ended_s]
        span = {"start_s": start_s, "end_s": start_s + EACH_S}
        changes.append({"limit": limit, "times": times, **span})
        start_s += EACH_S + SETTLES_S
    record = replace(RUN.record, facts={**RUN.record.facts, "confirm": changes})
    if options:
        workload = replace(
            record.workload, options={**record.workload.options, **options}
        )
        record = replace(record, workload=workload)
    # One table of all, because to make one for each change took three quarters of the time.
    table = transaction_table(rows)
    return replace(RUN, record=record, transactions=lambda: iter((table,)))


def elasticities(*runs: RunData) -> dict[str, Elasticity]:
    tried = trial_elasticities.trials(runs)
    assert tried is not None
    return {elasticity.limit: elasticity for elasticity in tried.elasticities}


def judged(cause: BottleneckCause, *runs: RunData) -> Bottleneck:
    named = Bottleneck("premium", "insert", "node-1", cause, "Its counters say so.", {})
    return proof_by_trial.proven(named, runs)


def test_a_limit_that_throughput_follows_is_confirmed_and_the_others_are_not() -> None:
    bottleneck = judged(
        "iops_cap", tried_out({"IOPS": 1.0, "disk latency": -0.05}, noise_pct=0.5)
    )
    assert bottleneck.cause == "iops_cap"
    assert "confirms this." in bottleneck.text
    tried = {elasticity.limit: elasticity for elasticity in bottleneck.elasticities}
    assert set(tried) == set(LIMITS)
    iops, latency, cpu = (tried[limit] for limit in LIMITS[:3])
    assert iops.low < 1.0 < iops.high and iops.high - iops.low < 0.1
    assert abs(latency.value - 0.05) < 0.03 and abs(cpu.value) < 0.03
    assert "IOPS +25 % gave throughput +25 % (+2" in bottleneck.text
    assert "disk latency −25 % gave throughput +1 % (" in bottleneck.text


@pytest.mark.parametrize(
    ("elasticity", "says"),
    [
        (0.5, "confirms this."),
        (0.3, "confirms this in part."),
        (0.11, "confirms this in part."),
    ],
)
def test_how_much_of_it_is_confirmed(elasticity: float, says: str) -> None:
    assert says in judged("cpu_bound", tried_out({"node CPU": elasticity + 0.005})).text


def test_of_limits_that_disks_share_the_one_that_throughput_follows_confirms_the_cause() -> (
    None
):
    text = judged("shared_cap", tried_out({"shared IOPS": 0.9})).text
    assert "Trying it out confirms this. " in text
    assert "shared IOPS +25 % gave throughput +22 %" in text


def test_a_cause_that_is_rejected_gives_way_to_the_limit_that_helps() -> None:
    bottleneck = judged("iops_cap", tried_out({"node CPU": 0.9}, noise_pct=0.5))
    assert bottleneck.cause == "cpu_bound"
    assert (
        "rejects that" in bottleneck.text and "the limit is node CPU" in bottleneck.text
    )


def test_a_cause_that_is_too_noisy_to_prove_gives_way_to_a_limit_that_is_proven() -> (
    None
):
    """As of a node whose CPU quota sent I/Os in bursts: IOPS −0.08 to 0.85, CPU 0.38 to 1.30."""
    tried = tried_out({"IOPS": 0.35, "node CPU": 0.95}, noise_pct=16.0)
    bottleneck = judged("iops_cap", tried)
    of = {elasticity.limit: elasticity for elasticity in bottleneck.elasticities}
    assert (
        of["IOPS"].low
        < proof_by_trial.REJECTED
        < proof_by_trial.CONFIRMED
        < of["IOPS"].high
    )
    assert of["node CPU"].low > proof_by_trial.REJECTED
    assert bottleneck.cause == "cpu_bound"
    assert "does not prove. By trial the limit is node CPU." in bottleneck.text
    assert judged("cpu_bound", tried).cause == "cpu_bound"


def test_where_nothing_helps_no_cause_is_left() -> None:
    bottleneck = judged("iops_cap", tried_out({}, noise_pct=0.5))
    assert bottleneck.cause == "unattributed"


def test_a_cause_is_found_where_counters_told_none() -> None:
    bottleneck = judged(
        "unattributed", tried_out({"disk latency": -0.8}, noise_pct=0.5)
    )
    assert bottleneck.cause == "latency_bound"


def test_what_can_only_be_less_is_told_so() -> None:
    bottleneck = judged("client_bound", tried_out({"client CPU": 1.0}, noise_pct=0.5))
    assert "client CPU −25 % gave throughput −25 % (−2" in bottleneck.text
    assert "confirms this." in bottleneck.text
    (told,) = re.findall(
        r"client CPU −25 % gave \S+ \S+ % \(−(\d+) to −(\d+) %\)", bottleneck.text
    )
    assert int(told[0]) > int(told[1]), (
        "the greatest loss comes first, as in all intervals"
    )


def test_sessions_are_the_limit_only_where_no_other_is() -> None:
    """More of them help wherever a wait is not for a queue."""
    told = tried_out({"sessions": 0.9, "disk latency": -0.8}, noise_pct=0.5)
    assert judged("unattributed", told).cause == "latency_bound"
    assert (
        judged("unattributed", tried_out({"sessions": 0.9}, noise_pct=0.5)).cause
        == "few_sessions"
    )
    in_memory = judged("in_cache", tried_out({"sessions": 0.9}, noise_pct=0.5))
    assert in_memory.cause == "in_cache"


def test_a_cause_that_is_no_limit_stays_and_what_was_tried_is_told() -> None:
    bottleneck = judged("machine_bound", tried_out({"IOPS": 0.2}, noise_pct=0.5))
    assert bottleneck.cause == "machine_bound" and "IOPS +25 % gave" in bottleneck.text


def test_noise_neither_confirms_nor_rejects_and_it_is_said_how_many_runs_would() -> (
    None
):
    bottleneck = judged("iops_cap", tried_out({"IOPS": 0.3}, noise_pct=30.0))
    assert bottleneck.cause == "iops_cap"
    assert "did not decide whether that is the limit. About " in bottleneck.text


def test_where_the_limit_is_not_decided_it_is_said_between_which_and_what_it_takes() -> (
    None
):
    """Windows differ by a fifth: one run in three finds the limit, and as many as it says do."""
    dice = np.random.default_rng(1)
    noisy = System(noise=0.2)
    needed: list[int] = []
    for _ in range(20):
        limit = simulated_trials.judged("unattributed", noisy, {"IOPS": 0.95}, dice)
        if limit.cause == "unattributed":
            assert "did not decide whether the limit is" in limit.text
            told = re.search(r"About (\d+) such runs would decide it", limit.text)
            assert told, limit.text
            needed.append(int(told[1]))
    runs = round(statistics.median(needed))
    assert runs > 2
    found = 0
    for _ in range(20):
        limit = simulated_trials.judged(
            "unattributed", noisy, {"IOPS": 0.95}, dice, runs
        )
        found += limit.cause == "iops_cap"
    assert found >= 17


def test_where_no_limit_is_followed_that_is_said() -> None:
    text = judged("unattributed", tried_out({}, noise_pct=0.5)).text
    assert "Throughput follows none of the limits that were tried out." in text


def test_a_steady_drift_favours_none() -> None:
    tried = elasticities(tried_out({"IOPS": 1.0}, drift_pct=30.0))
    assert len(tried) > 1 and "IOPS" in tried
    for limit, elasticity in tried.items():
        assert abs(elasticity.value - (limit == "IOPS")) < 0.05


def falsely_named(system: System, seed: int = 1) -> int:
    """Of 60 runs whose throughput follows no limit."""
    dice = np.random.default_rng(seed)
    named = 0
    for _ in range(60):
        limit = simulated_trials.judged("unattributed", system, {}, dice)
        named += limit.cause != "unattributed"
    return named


@pytest.mark.slow
def test_of_many_limits_the_best_is_not_named_by_chance() -> None:
    """Of six that are tried, where none is one and windows differ by a fifth."""
    assert falsely_named(System(noise=0.2)) <= 3


@pytest.mark.parametrize("times", [1.5, 3, 8, 24])
def test_pages_that_are_written_back_make_no_false_limit(times: float) -> None:
    """In 30 % of the time a third less, so many times in the trials, as between checkpoints."""
    written_back = System(0.05, simulated_trials.dips(times))
    assert falsely_named(written_back) <= 2


def test_pages_that_are_written_back_hide_no_limit() -> None:
    dice = np.random.default_rng(1)
    written_back = System(0.05, simulated_trials.dips(3))
    for _ in range(20):
        limit = simulated_trials.judged(
            "unattributed", written_back, {"IOPS": 0.95}, dice
        )
        assert limit.cause == "iops_cap"


def test_a_limit_whose_own_changes_are_unsteady_is_not_named_for_that() -> None:
    """The others' steady changes do not tell how much its own differ by chance."""
    assert falsely_named(System(0.03, unsteady={"sessions": 0.5})) <= 4


def test_changes_without_the_other_one_of_their_pair_do_not_count() -> None:
    run = tried_out({"IOPS": 1.0})
    kept = run.record.facts["confirm"]
    first = kept[0]["limit"]
    fewer = replace(run.record, facts={**run.record.facts, "confirm": kept[1:]})
    whole = [pair.limit for pair in trial_elasticities.pairs_of(run)]
    left = [
        pair.limit for pair in trial_elasticities.pairs_of(replace(run, record=fewer))
    ]
    assert len(whole) == 4 * len(LIMITS)
    assert left == whole[1:] and whole[0] == first


def test_intervals_hold_what_is_true_of_several_runs() -> None:
    runs = [tried_out({"IOPS": 0.7}, noise_pct=3.0, seed=seed) for seed in range(3)]
    one = elasticities(runs[0])["IOPS"]
    several = elasticities(*runs)["IOPS"]
    assert one.low < 0.7 < one.high
    assert several.high - several.low < one.high - one.low


def test_where_the_number_of_transactions_is_given_their_time_counts() -> None:
    """At an arrival rate throughput follows no limit; how long each takes does."""
    bottleneck = judged(
        "latency_bound", tried_out({"disk latency": -0.8}, arrival_rate=50)
    )
    assert "−25 % gave speed of transactions +2" in bottleneck.text
    assert "confirms this." in bottleneck.text


def test_a_limit_that_a_closed_loop_follows_too_far_is_not_the_limit() -> None:
    """As of two stalls that fell into a machine's bandwidth while it was lowered: 4.7."""
    stalled = {"shared bandwidth": 4.7}
    assert judged("unattributed", tried_out(stalled)).cause == "unattributed"
    assert judged("iops_cap", tried_out(stalled)).cause == "unattributed"
    # What queues at an arrival rate may follow its limit as far.
    at_a_rate = tried_out(stalled, arrival_rate=50)
    assert judged("unattributed", at_a_rate).cause == "shared_cap"


def test_a_limit_is_found_beside_one_that_is_followed_too_far() -> None:
    tried = tried_out({"shared bandwidth": 4.7, "node CPU": 0.9})
    assert judged("unattributed", tried).cause == "cpu_bound"


def test_a_run_without_changes_is_as_it_was() -> None:
    plain = Bottleneck(
        "premium", "insert", "node-1", "iops_cap", "Its counters say so.", {}
    )
    assert proof_by_trial.proven(plain, [RUN]) is plain


def test_a_limit_that_is_not_known_here_is_left_out() -> None:
    """A record of another version, or of somebody's mechanism, ended the whole analysis."""
    run = tried_out({"IOPS": 1.0})
    renamed: list[dict[str, Any]] = []
    for change in run.record.facts["confirm"]:
        if change["limit"] == "IOPS":
            change = {**change, "limit": "their queue"}
        renamed.append(change)
    record = replace(run.record, facts={**run.record.facts, "confirm": renamed})
    assert judged("unattributed", run).cause == "iops_cap"
    assert judged("unattributed", replace(run, record=record)).cause == "unattributed"


# ------------------------------------------------------------------ both sides of each border


def concluded(
    cause: BottleneckCause, value: float, low: float, high: float, error: float = 1.5
) -> Bottleneck:
    """What is concluded of a cause where IOPS alone were tried, with this elasticity."""
    elasticity = Elasticity("IOPS", value, low, high)
    tried = trial_elasticities.Trials((elasticity,), (error,), freedom=20, runs=1)
    named = Bottleneck("premium", "insert", "node-1", cause, "Its counters say so.", {})
    return proof_by_trial.concluded_from(tried, named, "throughput")


@pytest.mark.parametrize(
    ("value", "low", "high", "says"),
    [
        (0.099, 0.0, 0.499, "trying it out rejects that"),
        (0.1, 0.0, 0.499, "did not decide whether that is the limit"),
        (0.099, 0.0, 0.5, "did not decide whether that is the limit"),
        (0.3, 0.099, 0.6, "did not decide whether that is the limit"),
        (0.3, 0.1, 0.6, "Trying it out confirms this in part."),
        (0.499, 0.1, 0.6, "Trying it out confirms this in part."),
        (0.5, 0.1, 0.6, "Trying it out confirms this."),
    ],
)
def test_a_suspected_limit_from_each_border_on(
    value: float, low: float, high: float, says: str
) -> None:
    assert says in concluded("iops_cap", value, low, high).text


@pytest.mark.parametrize(
    ("value", "low", "high", "says"),
    [
        (0.5, 0.1, 0.9, "by trial the limit is IOPS"),
        (1.5, 0.1, 2.9, "by trial the limit is IOPS"),
        (1.51, 0.1, 2.9, "did not decide whether the limit is IOPS"),
        (0.499, 0.1, 0.9, "did not decide whether the limit is IOPS"),
        (0.5, 0.099, 0.9, "did not decide whether the limit is IOPS"),
        (0.0, -0.5, 0.5, "did not decide whether the limit is IOPS"),
        (0.0, -0.5, 0.499, "Throughput follows none of the limits"),
    ],
)
def test_a_limit_that_counters_did_not_name_from_each_border_on(
    value: float, low: float, high: float, says: str
) -> None:
    assert says in concluded("unattributed", value, low, high).text


@pytest.mark.parametrize(
    ("error", "says"),
    [
        # One run is enough, and was made: noise is not why nothing was decided.
        (0.01, "whether that is the limit. IOPS"),
        (0.5, "About 4 such runs would decide it (`--repeats 4`)."),
        (1.9151, "About 50 such runs would decide it"),
        (2.0, "More than 50 such runs would be needed: measure for longer."),
    ],
)
def test_what_it_takes_is_told_up_to_the_most_runs(error: float, says: str) -> None:
    assert says in concluded("iops_cap", 0.3, 0.0, 0.6, error).text


def test_what_it_takes_is_told_of_the_limit_that_is_followed_most() -> None:
    most = Elasticity("IOPS", 0.3, 0.0, 0.6)
    other = Elasticity("node CPU", 0.2, -0.2, 0.6)
    tried = trial_elasticities.Trials((other, most), (2.5, 0.5), freedom=20, runs=1)
    named = Bottleneck("premium", "insert", "", "unattributed", "It is not known.", {})
    text = proof_by_trial.concluded_from(tried, named, "throughput").text
    assert "whether the limit is among node CPU and IOPS. About 5 such runs" in text


def test_one_pair_of_a_limit_tells_no_noise() -> None:
    pair = trial_elasticities.ChangePair("IOPS", 0.5, 0.4)
    assert trial_elasticities.of_pairs([pair], 1) is None
    assert trial_elasticities.of_pairs([pair, pair], 1) is not None


@pytest.mark.parametrize(
    ("later_s", "ended_s", "speed_growth"),
    [
        # It settles for a shorter time than the first change lasts.
        (10.9, (9.5, 11.5), 0.0),
        (11.0, (9.5, 11.5), None),
        # What ends as a change begins is in it, and what ends with it is not.
        (10.5, (9.0, 10.5), 0.0),
        (10.5, (10.0, 10.5), None),
        (10.5, (9.5, 11.5), None),
        # No transaction ended under one of both.
        (10.5, (9.5,), None),
        (10.5, (11.0,), None),
    ],
)
def test_a_pair_is_of_two_changes_in_which_transactions_ended(
    later_s: float, ended_s: tuple[float, ...], speed_growth: float | None
) -> None:
    """The first change lasts from 9 to 10 s, the other one for a second from `later_s` on."""
    spans_s = ((1.25, 9.0, 10.0), (0.75, later_s, later_s + 1.0))
    changes: list[dict[str, Any]] = []
    for times, start_s, end_s in spans_s:
        span = {"start_s": start_s, "end_s": end_s}
        changes.append({"limit": "IOPS", "times": times, **span})
    record = replace(RUN.record, facts={**RUN.record.facts, "confirm": changes})
    table = transaction_table([(end_s - 0.5, 0.5, "insert", 0) for end_s in ended_s])
    run = replace(RUN, record=record, transactions=lambda: iter((table,)))
    pairs = trial_elasticities.pairs_of(run)
    growths = [pair.speed_growth for pair in pairs]
    assert growths == ([] if speed_growth is None else [speed_growth])


# ------------------------------------------------------------------ how many runs prove it


@pytest.mark.parametrize(
    ("error", "count"), [(0.01, 1), (10.0, trial_elasticities.MOST_RUNS + 1)]
)
def test_the_number_of_runs_that_would_prove_a_limit_has_both_ends(
    error: float, count: int
) -> None:
    """With hardly any noise one run is enough; with too much, one more than the most is told."""
    limit = Elasticity("IOPS", 0.9, 0.8, 1.0)
    tried = trial_elasticities.Trials((limit,), (error,), freedom=20, runs=1)
    assert tried.runs_to_prove(limit, bound=0.5) == count
