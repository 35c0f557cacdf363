"""Claims that hold together: levels by hand, and how often a simulated decision is wrong."""

from __future__ import annotations

import pytest

from orchestrator.analysis.statistics import stats
from tests.bench import bench_blocks
from tests.bench.bench_decisions import USUAL, WORST, shares


@pytest.mark.parametrize(
    ("p_values", "level"),
    [
        ([0.04], 0.05),
        ([0.04, 0.049], 0.05),  # all reach 5 %
        ([0.02, 0.06], 0.025),  # the better one has to reach half of it
        ([0.03, 0.06], 0.025),
        ([0.01, 0.024, 0.2], 0.025),
        ([0.016, 0.2, 0.2], 0.05 / 3),
        ([0.02, 0.2, 0.2], 0.05 / 3),
        ([], 0.05),
    ],
)
def test_level_of_claims(p_values: list[float], level: float) -> None:
    assert stats.level_of_claims(p_values) == pytest.approx(level)


def test_one_sided_p_values_agree_with_the_intervals() -> None:
    """The ends of a 90 % interval have p = 5 %."""
    left, right = (1000.0, 1012.0, 991.0), (961.0, 975.0, 950.0)
    ratio = stats.ratio_of_means(left, right, 0.90)
    assert ratio.low and ratio.high
    assert stats.chance_beyond(left, right, ratio.high) == pytest.approx(0.05)
    assert stats.chance_beyond(left, right, ratio.low) == pytest.approx(0.95)
    low, high = stats.bounds(left, 0.90) or (0.0, 0.0)
    assert stats.chance_above(left, high) == pytest.approx(0.05)
    assert stats.chance_above(left, low) == pytest.approx(0.95)


@pytest.mark.parametrize("truth", ["two at the margin", "two, each at the margin in another"])
def test_at_most_five_percent_of_decisions_are_wrong(truth: str) -> None:
    """The hardest cells of the bench; 5 % for each claim alone would be wrong in 7 %."""
    wrong, _ = shares(WORST[truth], 5, 2.0, campaigns=700)["now"]
    assert 1.0 <= wrong <= 5.0 + 1.7  # two standard errors of 700


def test_it_answers_more_often_than_the_rule_before_it() -> None:
    found = shares(USUAL["cheapest 7 % below"], 3, 1.0, campaigns=60)
    assert found["now"][1] > found["before"][1] > 0


def test_drift_of_the_machine_hides_less_than_from_independent_samples() -> None:
    found = bench_blocks.shares(bench_blocks.CASES["drift of 10 % over the campaign"], 3, 400)
    missed, seen = found["paired"]
    assert missed <= 5.0 and seen > found["Welch"][1] + 20
