"""The words better, worse, same and inconclusive: literal cases, bad luck, and error rates.

Goal: a wrong word is rarer than one in twenty. Method: simulation with seeded noise through the
same functions that judge a campaign.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from orchestrator.analysis import comparisons, figure_pairs, metric_values, verdicts
from orchestrator.analysis.conclusions import Delta, VerdictWord
from orchestrator.analysis.results import Results
from orchestrator.analysis.statistics import stats
from orchestrator.metrics import METRICS, measured
from orchestrator.model import Record
from tests.campaigns import build_campaign
from tests.plans import changed_plan

POINT_SELECT = ("ultra", "point-select")
CHANCE = 0.008  # two standard errors of a share of 5 % in 3,000 trials


def word(
    left: Sequence[float],
    right: Sequence[float],
    metric: str = "throughput_per_s",
    margin_pct: float = 5.0,
) -> tuple[VerdictWord, str]:
    """The verdict of a lone comparison."""
    compared = pair(left, right, metric)
    alone = comparisons.Family(1, compared.chance or 1.0, sharing=1)
    return comparisons.verdict(compared, margin_pct, alone)


def pair(
    left: Sequence[float], right: Sequence[float], metric: str
) -> figure_pairs.Pair:
    ratio = stats.ratio_of_means(left, right)
    sides = tuple(left), tuple(right)
    return figure_pairs.Pair(
        "ultra", "insert", METRICS[metric], "all", *sides, ratio, "", in_blocks=True
    )


def two_tiers(
    premium: Sequence[float],
    ultra: Sequence[float],
    failed: Sequence[int] = (),
    margin_pct: float = 5.0,
) -> Results:
    """Point select on two tiers with exactly these throughputs. Odd run numbers are premium's."""
    return build_campaign(
        profiles=["premium", "ultra"],
        workloads=["point-select"],
        repetitions=len(premium),
        values={("premium", "point-select"): premium, POINT_SELECT: ultra},
        failed=failed,
        margin_pct=margin_pct,
        frames=False,
    )


def throughput(campaign: Results) -> Delta:
    found = [d for d in verdicts.deltas(campaign) if d.metric == "throughput_per_s"]
    assert len(found) == 1
    return found[0]


# ------------------------------------------------------------------ the words


def test_more_throughput_is_better_and_more_latency_is_worse() -> None:
    less, more = [100, 101, 99], [130, 131, 129]
    assert (word(less, more)[0], word(more, less)[0]) == ("better", "worse")
    assert word(less, more, "latency_avg_s")[0] == "worse"
    assert word(more, less, "latency_p99_s")[0] == "better"


def test_within_the_margin_is_the_same_even_where_the_interval_excludes_no_change() -> (
    None
):
    found, reason = word([100, 100.2, 99.8, 100, 100], [102, 102.2, 101.8, 102, 102])
    assert found == "same"
    assert "lies within ±5 %" in reason
    assert word(
        [100, 100.2, 99.8, 100, 100], [102, 102.2, 101.8, 102, 102], margin_pct=1
    )[0] == ("better")


def test_the_words_of_p99_have_its_margin() -> None:
    """12 % more in both latencies, in every repetition."""

    def slower(record: Record) -> Record:
        longer = 1.12 if record.run.profile == "ultra" else 1.0
        found = tuple(
            measured(name, longer * (0.1 + record.run.repetition / 1e4))
            for name in ("latency_avg_s", "latency_p99_s")
        )
        return replace(record, measurements=found)

    campaign = build_campaign(
        profiles=("premium", "ultra"),
        workloads=("insert",),
        frames=False,
        change=slower,
    )
    words = {delta.metric: delta.verdict for delta in verdicts.deltas(campaign)}
    assert words == {"latency_avg_s": "worse", "latency_p99_s": "same"}
    plan = changed_plan(campaign.plan, p99_margin_pct=5.0)
    words = {
        delta.metric: delta.verdict
        for delta in verdicts.deltas(replace(campaign, plan=plan))
    }
    assert words == {"latency_avg_s": "worse", "latency_p99_s": "worse"}


def test_too_noisy_is_inconclusive_and_says_how_many_more() -> None:
    found, reason = word([100, 106, 97], [104, 101, 103])
    assert found == "inconclusive"
    assert "includes no change and also more than ±5 %" in reason
    assert "needs about" in reason and "more repetitions" in reason


def test_one_more_repetition_is_in_the_singular() -> None:
    found = word([100, 103.5, 97], [103.3, 101, 98])[1]
    assert found.endswith("needs about 1 more repetition"), found


def test_hopeless_noise_is_called_so() -> None:
    assert "more than 50 repetitions" in word([100, 200], [90, 230])[1]


def test_one_repetition_is_inconclusive() -> None:
    found, why = word([100.0], [200.0])
    assert (
        found == "inconclusive"
        and "one repetition that both sides finished gives no interval" in why
    )


def test_identical_values_are_the_same_and_far_ones_differ() -> None:
    assert word([100] * 3, [100] * 3)[0] == "same"
    assert word([100, 100], [103, 103])[0] == "inconclusive"
    assert word([100, 100], [120, 120])[0] == "better"


def test_sameness_is_an_interval_of_90_percent_within_the_margin() -> None:
    """Two one-sided tests at 5 %; the 95 % interval reaches from −6 to +6 %."""
    found, reason = word([100, 100, 100], [100, 102.4, 97.6])
    assert (found, reason) == (
        "same",
        "the 90 % interval −4.0 % to +4.1 % lies within ±5 %",
    )


def test_two_repetitions_prove_no_sameness() -> None:
    assert word([100, 100], [100, 100])[0] == "inconclusive"
    found, reason = word([100, 100], [100, 100], margin_pct=20)
    assert found == "inconclusive"
    assert reason == (
        "the interval −6.2 % to +6.6 % lies within ±20 %, but fewer than 3 repetitions do not "
        "prove it"
    )


@pytest.mark.parametrize("n", [3, 5])
@pytest.mark.parametrize("slow_share", [0.0, 0.3, 0.5])
def test_at_most_five_percent_exactly_at_the_margin_are_called_the_same(
    n: int, slow_share: float
) -> None:
    """Runs of normal noise, and of two speeds that are as far apart as the margin."""
    dice = np.random.default_rng(13)
    trials = 3_000
    noise = 0.02 if not slow_share else 0.002

    def runs(rate: float) -> list[list[float]]:
        log, slow = math.log(rate), 0.05 * (dice.random((trials, n)) < slow_share)
        drawn: list[list[float]] = np.exp(
            dice.normal(0, noise, (trials, n)) - slow + log
        ).tolist()
        return drawn

    words = [word(one, two)[0] for one, two in zip(runs(1.0), runs(0.95), strict=True)]
    assert words.count("same") / trials <= 0.05 + CHANCE


def test_what_slows_a_whole_repetition_down_does_not_count_as_noise() -> None:
    assert word([100, 80, 120], [121, 96, 144])[0] == "better"
    assert word([100, 80, 120], [144, 121, 96])[0] == "inconclusive"


# ------------------------------------------------------------------ error rates


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("noise", [0.01, 0.03, 0.08])
def test_no_difference_is_seldom_called_one(n: int, noise: float) -> None:
    dice = np.random.default_rng(11)
    trials = 3_000
    left = np.exp(dice.normal(0, noise, (trials, n))).tolist()
    right = np.exp(dice.normal(0, noise, (trials, n))).tolist()
    words = [word(one, two)[0] for one, two in zip(left, right, strict=True)]
    assert sum(w in ("better", "worse") for w in words) / trials <= 0.05 + CHANCE


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("noise", [0.01, 0.03, 0.08])
@pytest.mark.parametrize("factor", [1.10, 1 / 1.10])
def test_twice_the_margin_is_seldom_called_the_same(
    n: int, noise: float, factor: float
) -> None:
    dice = np.random.default_rng(12)
    trials = 600
    left = np.exp(dice.normal(0, noise, (trials, n))).tolist()
    right = (factor * np.exp(dice.normal(0, noise, (trials, n)))).tolist()
    words = [word(one, two)[0] for one, two in zip(left, right, strict=True)]
    assert words.count("same") / trials <= 0.05
    assert words.count("worse" if factor > 1 else "better") / trials <= 0.01


def test_with_three_quiet_repetitions_twice_the_margin_is_seen() -> None:
    """Care must not end in never saying anything."""
    dice = np.random.default_rng(13)
    left = np.exp(dice.normal(0, 0.01, (300, 3))).tolist()
    right = (1.1 * np.exp(dice.normal(0, 0.01, (300, 3)))).tolist()
    words = [word(one, two)[0] for one, two in zip(left, right, strict=True)]
    assert words.count("better") / 300 >= 0.95


def test_many_comparisons_raise_no_alarm_by_their_number() -> None:
    """A campaign of two tiers and three workloads, all alike: some word is wrong in ≤ 5 %."""
    wrong = 0
    campaigns = 100
    for seed in range(campaigns):
        flat = {
            (tier, load): 1.0
            for tier in ("premium", "ultra")
            for load in ("insert", "tpcc")
        }
        values = {
            cell: np.exp(np.random.default_rng([seed, i]).normal(5, 0.06, 3)).tolist()
            for i, cell in enumerate(flat)
        }
        campaign = build_campaign(
            profiles=["premium", "ultra"],
            workloads=["insert", "tpcc"],
            values=values,
            frames=False,
        )
        words = [delta.verdict for delta in verdicts.deltas(campaign)]
        wrong += any(w in ("better", "worse") for w in words)
    assert wrong / campaigns <= 0.05


def test_a_lone_chance_hit_among_many_is_inconclusive() -> None:
    sides = [100.0, 101.0, 99.0], [106.0, 107.5, 104.5]
    assert word(*sides)[0] == "better"
    one_of_many = comparisons.Family(24, 0.3, sharing=1)
    compared = pair(*sides, "throughput_per_s")
    found, reason = comparisons.verdict(compared, 5.0, one_of_many)
    assert found == "inconclusive"
    assert "Among 24 comparisons" in reason


def test_three_repetitions_that_do_not_prove_the_same_are_not_said_to_be_too_few() -> (
    None
):
    """The interval of 95 % lies within the margin; the one that eight tiers share does not."""
    compared = pair([100.0, 101.5, 98.5], [101.0, 102.3, 99.6], "throughput_per_s")
    assert compared.ratio.interval_pct is not None
    low, high = compared.ratio.interval_pct
    margin_pct = max(-low, high) + 0.01
    shared = comparisons.Family(8, compared.chance or 1.0, sharing=8)
    verdict, reason = comparisons.verdict(compared, margin_pct, shared)
    assert verdict == "inconclusive"
    assert "fewer than 3 repetitions" not in reason


def test_two_tiers_in_question_share_the_chance_of_a_false_word() -> None:
    """One that equals the baseline and one just beyond the margin may have false words of two
    kinds: by words at 5 % each, 7.5 % of such campaigns had one."""
    dice = np.random.default_rng(5)
    campaigns = 4000
    false = 0
    for logs in dice.normal(0, 0.025, (campaigns, 3, 10)):
        base, equal, beyond = np.exp(logs).tolist()
        beyond = [1.0501 * value for value in beyond]
        pairs = [pair(base, equal, "throughput_per_s")]
        pairs.append(pair(base, beyond, "throughput_per_s"))
        beside = [replace(one, question="insert") for one in pairs]
        of_equal, of_beyond = comparisons.deltas("premium", beside, 5.0, 20.0)
        is_told_apart = of_equal.verdict in ("better", "worse")
        false += is_told_apart or of_beyond.verdict == "same"
    assert false / campaigns <= 0.05


def test_a_tier_far_from_the_baseline_takes_nothing_from_another() -> None:
    base = [100.0, 101.0, 99.0]
    equal = pair(base, [100.5, 100.9, 98.6], "throughput_per_s")
    far = pair(base, [150.0, 152.0, 149.0], "throughput_per_s")
    near = pair(base, [101.5, 102.4, 100.6], "throughput_per_s")

    def word_beside(other: figure_pairs.Pair) -> VerdictWord:
        beside = [replace(one, question="insert") for one in (equal, other)]
        return comparisons.deltas("premium", beside, 1.5, 20.0)[0].verdict

    assert word_beside(far) == "same"
    assert word_beside(near) == "inconclusive"


# ------------------------------------------------------------------ campaigns


def test_a_clear_difference_in_a_campaign() -> None:
    delta = throughput(two_tiers([1500, 1510, 1490], [3000, 3030, 2970]))
    assert (delta.verdict, delta.baseline, delta.contender) == (
        "better",
        "premium",
        "ultra",
    )
    assert (delta.n_baseline, delta.n_contender) == (3, 3)
    assert delta.change_pct == pytest.approx(100.0, abs=0.1)
    assert delta.ci_low_pct is not None and 90 < delta.ci_low_pct < 100


def test_latency_of_the_same_campaign_is_better_by_being_lower() -> None:
    campaign = two_tiers([1500, 1510, 1490], [3000, 3030, 2970])
    found = {d.metric: d for d in verdicts.deltas(campaign)}
    assert found["latency_avg_s"].verdict == "better"
    assert found["latency_avg_s"].change_pct == pytest.approx(-50.0, abs=0.1)
    assert "statement_latency_avg_s" not in found


def test_failed_runs_never_enter() -> None:
    campaign = two_tiers([1500, 9, 1490, 1510], [3000, 3030, 9, 3010], failed=[3, 6])
    cell = next(c for c in verdicts.cells(campaign) if c.metric == "throughput_per_s")
    assert cell.values == (1500, 1490, 1510)


def test_only_repetitions_that_both_sides_finished_are_compared() -> None:
    """The first and the fourth: the change of the other two is left out with their lost runs."""
    campaign = two_tiers([1500, 9, 9000, 1510], [3000, 9000, 9, 3020], failed=[3, 6])
    delta = throughput(campaign)
    assert (delta.n_baseline, delta.n_contender) == (2, 2)
    assert delta.change_pct == pytest.approx(100.0)
    assert delta.verdict == "better"


def test_without_a_repetition_that_both_sides_finished_there_is_no_interval() -> None:
    delta = throughput(two_tiers([1500, 9, 1500], [9, 3000, 9], failed=[2, 3, 6]))
    assert delta.change_pct == pytest.approx(100.0) and delta.ci_low_pct is None
    assert delta.verdict == "inconclusive"
    assert "no repetition that both sides finished" in delta.reason


@pytest.mark.parametrize("failed", [[1, 3], [2, 4], [1, 2, 3, 4]])
def test_where_one_side_has_no_figures_nothing_is_compared(failed: list[int]) -> None:
    campaign = two_tiers([1500, 1510], [3000, 3030], failed=failed)
    assert verdicts.deltas(campaign) == ()


def with_change(campaign: Results, number: int, **changes: object) -> Results:
    runs = tuple(
        replace(run, record=replace(run.record, **changes))  # type: ignore[arg-type]
        if run.record.run.number == number
        else run
        for run in campaign.runs
    )
    return replace(campaign, runs=runs)


CLEAR = [1500.0, 1510.0, 1490.0], [3000.0, 3030.0, 2970.0]


def test_unlike_runs_are_not_compared_silently() -> None:
    campaign = two_tiers(*CLEAR)
    record = campaign.runs[3].record
    other = replace(
        record.profile, cluster=replace(record.profile.cluster, version="16.4")
    )
    found = verdicts.judge(with_change(campaign, record.run.number, profile=other))
    assert {d.verdict for d in found.deltas} == {"inconclusive"}
    assert "asked-for version 17.2 against 16.4" in found.deltas[0].reason
    assert "unlike runs" in {doubt.kind for doubt in found.doubts}
    assert found.decisions[0].tier is None


def test_a_figure_that_is_not_a_number_makes_it_inconclusive() -> None:
    campaign = two_tiers(*CLEAR)
    record = campaign.runs[0].record
    bad = tuple(
        replace(m, value=math.nan) if m.metric == "throughput_per_s" else m
        for m in record.measurements
    )
    delta = throughput(with_change(campaign, 1, measurements=bad))
    assert delta.verdict == "inconclusive"
    assert delta.reason == "1 of 6 runs have no such figure"


def test_a_throughput_of_zero_is_inconclusive_and_not_worse() -> None:
    campaign = two_tiers(*CLEAR)
    delta = throughput(
        with_change(campaign, 2, measurements=(measured("throughput_per_s", 0.0),))
    )
    assert delta.verdict == "inconclusive"
    assert "zero" in delta.reason
    assert delta.ci_low_pct is None


def test_a_baseline_of_zeros_has_no_delta() -> None:
    campaign = two_tiers(*CLEAR)
    for number in (1, 3, 5):
        campaign = with_change(
            campaign, number, measurements=(measured("throughput_per_s", 0.0),)
        )
    assert verdicts.deltas(campaign) == ()


def test_percentiles_without_enough_transactions_are_left_out() -> None:
    campaign = two_tiers(*CLEAR)
    record = campaign.runs[1].record
    few = (*record.measurements, measured("transactions", 999))
    campaign = with_change(campaign, 2, measurements=few)
    p99 = next(d for d in verdicts.deltas(campaign) if d.metric == "latency_p99_s")
    assert p99.verdict == "inconclusive"
    cells = {
        (c.profile, c.metric): c.n for c in verdicts.cells(campaign) if c.scope == "all"
    }
    assert cells["ultra", "latency_p99_s"] == 2
    assert cells["ultra", "latency_p95_s"] == 3
    assert cells["premium", "latency_p99_s"] == 3


@pytest.mark.parametrize(("transactions", "is_judged"), [(1_000, True), (999, False)])
def test_a_percentile_is_judged_from_ten_transactions_beyond_it_on(
    transactions: int, is_judged: bool
) -> None:
    figures = (measured("transactions", transactions), measured("latency_p99_s", 0.01))
    judged = metric_values.sound(figures)
    assert (("latency_p99_s", "all") in judged) is is_judged


def test_of_tpcc_new_order_is_compared_and_the_other_types_are_not() -> None:
    campaign = build_campaign(
        profiles=["premium", "ultra"], workloads=["tpcc"], frames=False
    )
    compared = {(d.metric, d.scope) for d in verdicts.deltas(campaign)}
    others = {
        ("payload_bytes_per_s", "all"),
        ("rebuild_s", "all"),
        ("slow_share_pct", "all"),
        ("recovery_s", "all"),
    }  # of rows, of a lost node, and of a slow disk
    scopes_of_others = ("rebuild", "slow_disk")
    of_node = {key for key in figure_pairs.COMPARED if key[1] in scopes_of_others}
    assert compared == set(figure_pairs.COMPARED) - others - of_node
    scopes = {c.scope for c in verdicts.cells(campaign)}
    assert {"all", "new_order", "payment", "delivery"} <= scopes


def test_cells_hold_telemetry_per_node_and_in_all() -> None:
    campaign = build_campaign(
        profiles=["premium"], workloads=["insert"], repetitions=2, nodes=2
    )
    found = {(c.metric, c.scope): c for c in verdicts.cells(campaign)}
    assert found["cpu_pct", "all"].mean == pytest.approx(90.0, rel=0.01)
    assert found["disk_iops", "node-1"].mean == pytest.approx(710.0, rel=0.01)
    assert found["disk_iops", "all"].mean == pytest.approx(1420.0, rel=0.01)
    assert found["throughput_per_s", "all"].n == 2
    one = found["throughput_per_s", "all"]
    assert one.ci_low is not None and one.ci_high is not None
    assert one.ci_low < one.mean < one.ci_high


def test_a_whole_campaign_is_judged() -> None:
    found = verdicts.judge(build_campaign(repetitions=3, nodes=1))
    assert (found.schema_version, found.baseline, found.missing) == (3, "premium", ())
    words = {
        (d.contender, d.workload): d.verdict for d in found.deltas if d.metric == "nopm"
    }
    assert words == {("premium-v2", "tpcc"): "better", ("ultra", "tpcc"): "better"}
    assert len(found.bottlenecks) == 9
    assert [d.workload for d in found.decisions] == ["point-select", "insert", "tpcc"]


def test_an_empty_campaign_is_judged() -> None:
    campaign = replace(build_campaign(repetitions=1, frames=False), runs=())
    found = verdicts.judge(campaign)
    assert (found.cells, found.deltas, found.bottlenecks) == ((), (), ())
    assert len(found.missing) == 9
    assert {decision.tier for decision in found.decisions} == {None}


def test_another_baseline_turns_the_words_round() -> None:
    campaign = two_tiers(*CLEAR)
    turned = replace(campaign, plan=replace(campaign.plan, baseline="ultra"))
    assert throughput(turned).verdict == "worse"
