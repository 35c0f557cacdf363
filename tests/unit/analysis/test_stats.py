"""The statistics against hand-computed and published values, and against simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from orchestrator.analysis.figures.counted import Counted
from orchestrator.analysis.statistics import many_tests, repetitions_needed, stats
from orchestrator.analysis.statistics.steadiness import Steadiness, steadiness


def test_mean_with_t_interval() -> None:
    found = stats.summarise([10.0, 12.0, 14.0])
    # s = 2, t(0.975; 2) = 4.302653, half = 4.302653 · 2 / √3 = 4.968275
    assert (found.n, found.mean, found.median) == (3, 12.0, 12.0)
    assert found.ci_low == pytest.approx(7.031725, abs=1e-5)
    assert found.ci_high == pytest.approx(16.968275, abs=1e-5)


def test_two_values_have_an_interval() -> None:
    found = stats.summarise([10.0, 12.0])
    # s = √2, t(0.975; 1) = 12.706205, half = 12.706205 · √2 / √2
    assert (found.ci_low, found.ci_high) == pytest.approx((-1.706205, 23.706205))


def test_one_value_has_no_interval() -> None:
    assert stats.summarise([7.0]) == stats.Summary(1, 7.0, 7.0, None, None)


@pytest.mark.parametrize("values", [[], [1.0, math.nan], [math.inf]])
def test_no_summary_of_nothing_or_of_what_is_not_a_number(values: list[float]) -> None:
    with pytest.raises(ValueError, match="at least one value, all finite"):
        stats.summarise(values)


@pytest.mark.parametrize(
    ("percent", "expected"),
    [(50, 20), (5, 15), (30, 20), (40, 20), (100, 50), (60.1, 35)],
)
def test_nearest_rank_percentile(percent: float, expected: float) -> None:
    counted = Counted()
    counted.add(np.array([50.0, 15, 20, 35, 20]))
    assert counted.percentile(percent) == expected


def test_values_that_come_in_several_tables_are_counted_together() -> None:
    counted = Counted()
    counted.add(np.array([50.0, 20.0]))
    counted.add(np.array([30.0, 20.0]))
    assert (counted.most, counted.mean, counted.total) == (50.0, 30.0, 4)
    assert counted.percentile(50) == 20.0


def test_percentile_refuses_nothing_and_nonsense() -> None:
    for count, percent in ((0, 50.0), (1, 0.0), (1, 101.0)):
        with pytest.raises(ValueError, match="percentile"):
            stats.rank(count, percent)


def test_percentiles_need_ten_observations_beyond() -> None:
    needed = {p: stats.percentile_min_count(p) for p in (50, 95, 99, 99.9, 99.99)}
    assert needed == {50: 20, 95: 200, 99: 1_000, 99.9: 10_000, 99.99: 100_000}
    assert stats.percentile_min_count(0) == 10
    with pytest.raises(ValueError, match="below 100"):
        stats.percentile_min_count(100)
    with pytest.raises(ValueError, match="below 100"):
        stats.percentile_min_count(-0.1)


# ------------------------------------------------------------------ ratios


def test_ratio_of_geometric_means_with_its_interval() -> None:
    baseline, contender = [100.0, 102.0, 98.0], [150.0, 147.0, 153.0]
    found = stats.ratio_of_means(baseline, contender)
    # three blocks have 2 degrees of freedom: t(0.975; 2) = 4.302653
    error = (np.log(contender) - np.log(baseline)).std(ddof=1) / math.sqrt(3)
    assert found.ratio == pytest.approx(1.5, rel=1e-4)
    assert found.low == pytest.approx(
        found.ratio * math.exp(-4.302653 * error), rel=1e-5
    )
    assert found.high == pytest.approx(
        found.ratio * math.exp(4.302653 * error), rel=1e-5
    )
    assert found.change_pct == pytest.approx(50.0, abs=0.02)


def test_what_a_whole_block_shares_cancels_out() -> None:
    calm = stats.ratio_of_means([100, 104, 99], [80, 82, 85])
    slowed = stats.ratio_of_means([100, 52, 99], [80, 41, 85])
    assert (slowed.low, slowed.high) == pytest.approx((calm.low, calm.high))


def test_exchanging_the_sides_gives_the_inverse() -> None:
    one = stats.ratio_of_means([100, 104, 99], [80, 82, 85])
    two = stats.ratio_of_means([80, 82, 85], [100, 104, 99])
    assert one.low and one.high
    assert (two.ratio, two.low, two.high) == pytest.approx(
        (1 / one.ratio, 1 / one.high, 1 / one.low)
    )
    assert one.p_value == pytest.approx(two.p_value)


def test_one_block_gives_a_ratio_without_interval() -> None:
    found = stats.ratio_of_means([100.0], [110.0])
    assert found.ratio == pytest.approx(1.1)
    assert (found.low, found.high, found.p_value, found.interval_pct) == (None,) * 4


def test_identical_changes_still_get_an_interval() -> None:
    """Two equal changes are luck or rounding, not the absence of noise."""
    found = stats.ratio_of_means([100.0, 100.0], [100.0, 100.0])
    assert found.interval_pct is not None
    assert found.p_value == pytest.approx(1.0)
    # t(0.975; 1) = 12.7062 times 0.5 % of either side
    assert found.interval_pct == pytest.approx((-6.16, 6.56), abs=0.01)


def test_an_interval_wider_than_any_number_is_still_one() -> None:
    found = stats.ratio_of_means([100.0, 100.0], [50.0, 200.0], 0.99999)
    assert found.low == pytest.approx(0) and found.high and math.isfinite(found.high)
    assert math.isfinite(stats.geometric_mean([50.0, 200.0], 0.99999).high or math.inf)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_no_ratio_of_what_is_not_above_zero(bad: float) -> None:
    with pytest.raises(ValueError, match="above zero"):
        stats.ratio_of_means([100.0, 100.0], [100.0, bad])
    for left, right in (([], []), ([100.0], [100.0, 101.0])):
        with pytest.raises(ValueError, match="each side"):
            stats.ratio_of_means(left, right)


def test_adjusting_for_many_is_benjamini_and_hochberg() -> None:
    assert many_tests.adjust_for_many([0.01, 0.04, 0.03, 0.5]) == pytest.approx(
        (0.04, 0.16 / 3, 0.16 / 3, 0.5)
    )
    assert many_tests.adjust_for_many([]) == ()


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize(
    ("left_noise", "right_noise"), [(0.03, 0.03), (0.08, 0.02), (0.005, 0.05)]
)
@pytest.mark.parametrize("of_blocks", [0.0, 0.05])
def test_the_interval_misses_the_truth_at_most_one_time_in_twenty(
    n: int, left_noise: float, right_noise: float, of_blocks: float
) -> None:
    """Also with unlike noise, and where whole repetitions differ."""
    dice = np.random.default_rng(20)
    trials = 1_500
    blocks = dice.normal(0, of_blocks, (trials, n)) if of_blocks else 0.0
    left = np.exp(blocks + dice.normal(0, left_noise, (trials, n)))
    right = np.exp(blocks + dice.normal(math.log(1.2), right_noise, (trials, n)))
    missed = 0
    for one, two in zip(left.tolist(), right.tolist(), strict=True):
        found = stats.ratio_of_means(one, two)
        assert found.low and found.high
        missed += not found.low <= 1.2 <= found.high
    assert missed / trials <= 0.05 + 0.011  # two standard errors of 1,500


# ------------------------------------------------------------------ how many repetitions


@pytest.mark.parametrize(
    ("n", "factor"), [(2, 20.58), (3, 6.155), (5, 3.407), (10, 2.355)]
)
def test_share_of_single_values_below_a_limit(n: int, factor: float) -> None:
    """Factors of one-sided tolerance bounds, 90 % of values with 95 % confidence, as tabled by
    Hahn and Meeker."""
    logs = np.linspace(-0.1, 0.1, n)
    values, spread = np.exp(logs).tolist(), float(np.std(logs, ddof=1))
    assert stats.share_below(values, math.exp(factor * spread)) == pytest.approx(
        0.9, abs=2e-4
    )
    assert stats.share_below([1.0], 2.0) == 0.0


def test_shares_of_two_runs_tell_how_sure_a_limit_is_kept() -> None:
    # Student's t with one degree of freedom: −2 / (√2 / √2), and below it arctan(−2) / π + ½.
    chance = stats.chance_of_share_above([1.0, 3.0], 4.0)
    assert chance == pytest.approx(math.atan(-2) / math.pi + 0.5)
    assert stats.chance_of_share_above([1.0], 4.0) is None


def test_one_of_several_hypotheses_is_false() -> None:
    """Simes: the k-th smallest of n counts n ÷ k times."""
    assert many_tests.any_of([0.03], 1) == 0.03
    assert many_tests.any_of([0.9, 0.03, 0.9], 3) == pytest.approx(0.09)
    assert many_tests.any_of([0.9, 0.03], 4) == pytest.approx(0.12)
    assert many_tests.any_of([0.04, 0.03], 2) == pytest.approx(0.04)
    assert many_tests.any_of([], 0) == 1.0


def test_repetitions_to_reach_a_width() -> None:
    one, two, width = [100.0, 102.0, 98.0], [100.0, 99.0, 101.0], math.log(1.03)
    # changes of 3 % noise: t(0.975; 6) · 3.03 % / √7 = 2.80 %, and with 6 blocks 3.2 %
    assert repetitions_needed.repetitions_to_reach(one, two, width) == 7
    assert (
        repetitions_needed.repetitions_to_reach(one, two, width, confidence=0.99) == 11
    )
    assert repetitions_needed.repetitions_to_reach(one, two, math.log(1.4)) == 2
    assert repetitions_needed.repetitions_to_reach(one, two, 1e-6) is None
    assert repetitions_needed.repetitions_to_reach([100.0], [100.0], width) is None


# ------------------------------------------------------------------ steadiness


def steadiness_of(values: np.ndarray) -> Steadiness:
    found = steadiness([float(i) for i in range(values.size)], values.tolist())
    assert found is not None
    return found


def noise(seed: int, spread: float = 2.0, size: int = 60) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, spread, size)


def test_a_clear_drift_is_unsteady() -> None:
    found = steadiness_of(100 + 0.5 * np.arange(60.0) + noise(1))
    assert not found.steady
    assert found.drift_pct == pytest.approx(26.1, abs=3)  # 30 of a mean of 115
    assert found.halves_pct == pytest.approx(13.0, abs=2)


@pytest.mark.parametrize("at", [9, 30, 48])
def test_a_step_is_unsteady_wherever_it_comes(at: int) -> None:
    assert not steadiness_of(
        np.where(np.arange(60) < at, 100.0, 78.0) + noise(2)
    ).steady


def test_a_slight_drift_is_steady_and_so_is_noise() -> None:
    assert steadiness_of(100 + 0.05 * np.arange(60.0) + noise(3)).steady
    assert (
        sum(not steadiness_of(100 + noise(s, spread=15)).steady for s in range(200))
        <= 12
    )


def test_noise_that_lasts_for_seconds_is_seldom_called_drift() -> None:
    alarms = 0
    for seed in range(200):
        kept = noise(seed, spread=13)
        for second in range(1, 60):
            kept[second] += 0.5 * kept[second - 1]
        alarms += not steadiness_of(100 + kept).steady
    assert alarms <= 18


def test_steadiness_needs_enough_finite_values() -> None:
    times = [float(i) for i in range(25)]
    assert steadiness(times[:20], [1.0] * 20) is not None
    assert steadiness(times[:19], [1.0] * 19) is None
    assert steadiness(times, [math.nan] * 6 + [1.0] * 19) is None
    assert steadiness(times, [0.0] * 25) is None
    flat = steadiness(times, [5.0] * 25)
    assert flat is not None and flat.steady and flat.drift_pct == pytest.approx(0)


# ------------------------------------------------------------------ two blocks of several tiers


def test_of_two_blocks_the_spread_is_that_of_all_treatments() -> None:
    """Changes of 2, 4 and 0 % from block to block: their variance is 4, and k ÷ 4 of it 3."""
    first, second, third = ([1.0, math.exp(change)] for change in (0.02, 0.04, 0.0))
    found = stats.ratio_of_two_blocks(first, second, [third])
    assert found.error == pytest.approx(math.sqrt(3) / 100)
    assert found.ratio == pytest.approx(math.exp(0.01))
    assert found.freedom == 1.5


def test_two_treatments_have_no_more_than_their_own_spread() -> None:
    first, second = [1.0, 1.02], [1.1, 1.05]
    alone = stats.ratio_of_means(first, second)
    assert stats.ratio_of_two_blocks(first, second, []).error == pytest.approx(
        alone.error
    )


@pytest.mark.parametrize(
    "spreads", [(3, 3, 3), (1, 6, 3), (6, 3, 1), (0.5, 5, 2), (5, 2, 0.5)]
)
def test_a_claim_of_two_blocks_at_the_margin_is_false_in_few(
    spreads: tuple[float, float, float],
) -> None:
    """4.5 % is the level of a claim; the standard error of 2,000 is 0.5 %."""
    random = np.random.default_rng(8)
    false = 0
    for _ in range(2000):
        values = np.exp(random.normal(0, 1, (3, 2)) * np.array(spreads)[:, None] / 100)
        left, right, beside = values.tolist()
        found = stats.ratio_of_two_blocks(left, right, [beside])
        false += 1 - found.chance_beyond(1.0) <= 0.045
    assert false / 2000 <= 0.055


def test_blocks_other_than_two_are_refused() -> None:
    three = [1.0, 1.1, 1.2]
    with pytest.raises(ValueError, match="two values"):
        stats.ratio_of_two_blocks(three, three, [three])


# ------------------------------------------------------------------ order as a factor

ORDER = [1, -1, 0, 1, -1, 0]


def _blocks(effect: float, noise: float, seed: int) -> tuple[list[float], list[float]]:
    """Six blocks of a contender 10 % better, whichever of both is first being slower."""
    random = np.random.default_rng(seed)
    logs = 0.1 + effect * np.array(ORDER) + random.normal(0, noise, 6)
    return [1.0] * 6, np.exp(logs).tolist()


def test_a_slow_first_run_of_each_block_does_not_widen_the_interval() -> None:
    baseline, contender = _blocks(-0.06, 0.01, seed=1)
    plain = stats.ratio_of_means(baseline, contender)
    beside = stats.ratio_beside_order(baseline, contender, ORDER)
    assert plain.error is not None and beside.error is not None
    assert beside.error < plain.error / 3
    assert beside.freedom == 4
    assert beside.ratio == pytest.approx(plain.ratio)  # the order is balanced


def test_an_order_that_is_not_balanced_is_taken_out_of_the_change() -> None:
    order = [1, 1, 1, 1, -1]
    contender = np.exp(0.1 - 0.06 * np.array(order)).tolist()
    found = stats.ratio_beside_order([1.0] * 5, contender, order)
    assert found.ratio == pytest.approx(math.exp(0.1))


def test_two_blocks_are_too_few_for_an_order() -> None:
    """The mean and the slope would leave no degree of freedom."""
    baseline, contender = [1.0, 1.0], [1.1, 1.2]
    plain = stats.ratio_of_means(baseline, contender)
    assert stats.ratio_beside_order(baseline, contender, [1, -1]) == plain


def test_an_order_that_never_changes_is_no_factor() -> None:
    baseline, contender = _blocks(0.0, 0.01, seed=2)
    plain = stats.ratio_of_means(baseline, contender)
    assert stats.ratio_beside_order(baseline, contender, [1] * 6) == plain


def test_intervals_beside_order_hold_the_truth() -> None:
    """In 95 % of 1,000, of which the standard error is 0.7 %."""
    held = 0
    for seed in range(1000):
        found = stats.ratio_beside_order(*_blocks(-0.06, 0.03, seed), ORDER)
        assert found.low is not None and found.high is not None
        held += found.low <= math.exp(0.1) <= found.high
    assert 0.93 <= held / 1000 <= 0.97


def test_a_drift_that_chance_just_explains_is_steady() -> None:
    assert Steadiness(drift_pct=20.0, halves_pct=10.0, noise_pct=20.0).steady
    assert not Steadiness(drift_pct=20.1, halves_pct=10.0, noise_pct=20.0).steady


@pytest.mark.parametrize(
    ("drift_pct", "halves_pct", "is_within"),
    [
        (10.0, 5.0, True),
        (-10.0, -5.0, True),
        (10.1, 5.0, False),
        (10.0, -5.1, False),
    ],
)
def test_a_series_is_within_limits_by_its_line_and_by_its_halves(
    drift_pct: float, halves_pct: float, is_within: bool
) -> None:
    found = Steadiness(drift_pct, halves_pct, noise_pct=10.05)
    assert found.within_limits is is_within
    # More than chance gives: what is not within limits is steady where chance explains it.
    assert found.steady is (is_within or abs(drift_pct) <= 10.05)
