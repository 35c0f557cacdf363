"""Change points of a series, and the trend of a profile over stored campaigns.

Goal: a series without any change gets one in at most 5 % of cases, and a clear shift is seen after
two campaigns. The rates at length: `make bench NAME=history`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from orchestrator.analysis.results import Results
from orchestrator.extensions.over_time import across_days, campaign_tables
from orchestrator.extensions.over_time.trend import Trend, trend
from orchestrator.report.blocks import Table
from tests.campaigns import of_a_day

HOST = {"hostname": "example", "kernel": "6.1"}


def steady(n: int, seed: int = 3) -> np.ndarray:
    return np.asarray(np.random.default_rng(seed).normal(0.0, 0.01, n))


def energy(left: Sequence[float], right: Sequence[float]) -> float:
    """The statistic by its definition, pair by pair (Matteson and James 2014, moment 1)."""

    def within(side: Sequence[float]) -> float:
        pairs = [abs(a - b) for i, a in enumerate(side) for b in side[:i]]
        return sum(pairs) / len(pairs)

    m, n = len(left), len(right)
    between = sum(abs(a - b) for a in left for b in right) / (m * n)
    return m * n / (m + n) * (2 * between - within(left) - within(right))


def test_the_statistic_is_that_of_its_definition() -> None:
    values = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0]
    distances = np.abs(np.subtract.outer(values, values))
    wanted = [energy(values[:k], values[k:]) for k in range(2, 7)]
    assert across_days._energies(distances) == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("values", "places"),
    [
        (steady(20), ()),
        ([5.0] * 20, ()),
        (np.r_[steady(12), steady(6) - 0.1], (12,)),
        (np.r_[steady(12), steady(2, 4) + 0.1], (12,)),
        (np.r_[steady(12), steady(8, 5) - 0.1, steady(10, 6) + 0.1], (12, 20)),
        (np.r_[steady(19), -0.2], ()),  # a single one is no level
        (np.r_[steady(10), 0.3, steady(9)], ()),  # an outlier in between
        ([0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0], ()),  # fewer than eight
        ([0.0, 0.1, 0.0, 0.1, 1.0, 1.1, 1.0, 1.1], (4,)),
        ([], ()),
    ],
)
def test_levels_begin_where_they_do(
    values: Sequence[float], places: tuple[int, ...]
) -> None:
    assert across_days.change_points(values) == places
    assert across_days.change_points(values) == places  # the draw is seeded


def test_a_series_must_be_of_numbers() -> None:
    with pytest.raises(ValueError, match="finite"):
        across_days.change_points([1.0, float("nan")] * 5)


@pytest.mark.parametrize("heavy_tails", [False, True])
def test_without_a_change_one_is_seldom_found(heavy_tails: bool) -> None:
    """5 % at most; of 120 series 8.3 % may have one by chance (97.5 %)."""
    random = np.random.default_rng(1)
    series = (
        random.standard_t(3, (120, 12))
        if heavy_tails
        else random.normal(size=(120, 12))
    )
    assert sum(bool(across_days.change_points(one)) for one in series) <= 10


# ------------------------------------------------------------------ of campaigns


def campaign_of_day(day: int, rate: float, hostname: str = "example") -> Results:
    """Two runs a little apart, whose mean is `rate`."""
    host = {**HOST, "hostname": hostname}
    rates = (rate * 0.999, rate * 1.001)
    return of_a_day(day, rates, host=host, revision=f"{day:040d}")


def over(rates: Sequence[float]) -> list[Results]:
    """A campaign a day; the newest first, as a list of them is."""
    return [campaign_of_day(day, rate) for day, rate in enumerate(rates)][::-1]


def of(campaigns: Sequence[Results], across: Collection[str] = ()) -> Trend:
    found = trend(campaigns, "ultra", "point-select", across)
    assert found is not None
    return found


RATES = (100 * np.exp(steady(12))).tolist()


def drawn(found: Trend) -> str:
    table: Table = campaign_tables.trend(found)
    return "\n".join(
        (*(row[0].text for row in table.rows if len(row) == 1), *table.remarks)
    )


def test_a_trend_tells_levels_and_where_they_begin() -> None:
    found = of(over([*RATES, 80.0, 81.0, 80.5]))
    assert found.metric == "throughput_per_s" and found.worse and not found.open
    first, second = found.levels
    assert (first.campaigns, second.campaigns) == (12, 3)
    assert (second.first, second.last, second.word) == ("day-12", "day-14", "worse")
    assert second.change_pct == pytest.approx(-19.6, abs=0.5)
    assert [point.level for point in found.points] == [1] * 12 + [2] * 3
    assert all(a.began_s < b.began_s for a, b in pairwise(found.points))
    assert "from day-12 on: −19" in drawn(found) and ", worse" in drawn(found)


def test_a_rise_and_a_small_change_are_not_worse() -> None:
    rising = of(over([*RATES, 120.0, 121.0, 119.0]))
    assert rising.levels[-1].word == "better" and not rising.worse
    small = of(over([*RATES, 96.5, 96.6, 96.4, 96.5]))
    assert small.levels[-1].word == "same" and not small.worse


def test_one_campaign_off_its_level_is_open_and_not_worse() -> None:
    found = of(over([*RATES, 80.0]))
    assert len(found.levels) == 1 and not found.worse
    assert "19.9 % below its level" in found.open
    assert "25.1 % above its level" in of(over([*RATES, 125.0])).open
    assert not of(over(RATES)).open


def test_campaigns_unlike_the_newest_are_left_out_and_named() -> None:
    every = [*over(RATES), campaign_of_day(-3, 50.0, hostname="other")]
    found = of(every)
    (left,) = found.left_out
    assert (left.campaign, left.reason) == (
        "day--3",
        "unlike machine other against example",
    )
    assert "Left out, day--3: unlike machine other against example." in drawn(found)
    assert len(of(every, across={"machines"}).points) == 13


def test_a_copy_of_a_campaign_is_no_further_day() -> None:
    days = over(RATES)
    copies = [replace(day, name=f"{day.name} (copy)") for day in (days[0], days[5])]
    found = of([*copies, *days])
    assert len(found.points) == len(RATES)
    assert {left.campaign for left in found.left_out} == {copy.name for copy in copies}
    assert f"a copy of {days[0].name}" in found.left_out[0].reason
    assert not found.open


def test_a_newest_campaign_that_is_not_sound_itself_is_open() -> None:
    newest = campaign_of_day(20, 100.0)
    slow = newest.runs[0]
    workload = replace(slow.record.workload, threads=1)
    mixed = replace(slow, record=replace(slow.record, workload=workload))
    found = of([*over(RATES), replace(newest, runs=(mixed, *newest.runs[1:]))])
    assert not found.points and not found.worse
    assert found.open.startswith("the newest campaign is left out")


def test_few_campaigns_prove_nothing() -> None:
    found = of(over([100.0, 100.0, 50.0, 50.0]))
    assert len(found.levels) == 1
    assert (
        "No change of level can be proven with 4 comparable campaigns: 8 are needed"
        in drawn(found)
    )
    assert "with 1 comparable campaign: 8 are needed" in drawn(of(over([100.0])))


@pytest.mark.parametrize(("days", "are_few"), [(7, True), (8, False)])
def test_eight_campaigns_are_enough_for_a_change_of_level(
    days: int, are_few: bool
) -> None:
    text = drawn(of(over(RATES[:days])))
    assert ("No change of level can be proven" in text) is are_few


def test_without_that_cell_there_is_no_trend() -> None:
    assert trend(over(RATES), "premium", "point-select") is None
    assert trend([], "ultra", "point-select") is None


def test_a_sparkline_goes_from_the_lowest_to_the_highest() -> None:
    assert campaign_tables.sparkline([1.0, 2.0, 8.0]) == "▁▂█"
    assert campaign_tables.sparkline([3.0, 3.0]) == "▁▁"
    assert campaign_tables.sparkline([]) == ""
