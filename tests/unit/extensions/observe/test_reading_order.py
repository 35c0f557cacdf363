"""How many readings out of their order are a clock's doing, and how many are another disk's."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

import numpy as np
import pandas as pd
import pytest

from orchestrator.errors import UsageError
from orchestrator.extensions.observe.judging import reading_order


def readings(times_s: Sequence[float]) -> pd.DataFrame:
    return pd.DataFrame({"time_s": times_s, "node": "db-1", "device": "sdc"})


def with_steps_back(count: int, steps_back: int) -> pd.DataFrame:
    """So many readings, second by second, and a clock that is set back now and then."""
    times_s = np.arange(float(count))
    for step in range(steps_back):
        times_s[2 + 2 * step :] -= 5.0
    return readings(times_s.tolist())


@pytest.mark.parametrize(
    "came",
    [
        # Three are few of any number, and a quarter of many is not often.
        with_steps_back(8, 3),
        with_steps_back(16, 4),
        # One time twice is no step back.
        readings([0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0]),
    ],
)
def test_readings_stay_in_the_order_in_which_they_came(came: pd.DataFrame) -> None:
    ordered = reading_order.in_order_of_arrival(came)
    assert ordered["time_s"].tolist() == came["time_s"].tolist()
    assert list(ordered.columns) == list(came.columns)


def test_more_than_a_quarter_of_steps_back_is_no_order() -> None:
    with pytest.raises(UsageError, match="go backwards repeatedly"):
        reading_order.in_order_of_arrival(with_steps_back(15, 4))


def test_the_newest_first_is_turned_round_though_a_time_is_there_twice() -> None:
    ordered = reading_order.in_order_of_arrival(readings([2.0, 1.0, 1.0, 0.0]))
    assert ordered["time_s"].tolist() == [0.0, 1.0, 1.0, 2.0]


# ------------------------------------------------------------------ two disks of one name


@pytest.mark.parametrize(
    ("count", "falls", "same_times", "is_refused"),
    [
        # Counters that began anew in three readings, or in a quarter of all.
        (6, 3, 0, False),
        (16, 4, 0, False),
        (15, 4, 0, True),
        # Three readings of one time, or a tenth of all.
        (6, 0, 3, False),
        (40, 0, 4, False),
        (39, 0, 4, True),
        # What fell within no time began anew in none.
        (12, 2, 2, False),
    ],
)
def test_readings_that_contradict_each_other_often_are_of_two_disks(
    count: int, falls: int, same_times: int, is_refused: bool
) -> None:
    step_s = np.ones(count)
    step_s[:same_times] = 0.0
    growth = np.ones(count)
    growth[: same_times + falls] = -1.0
    expected: AbstractContextManager[object] = nullcontext()
    if is_refused:
        expected = pytest.raises(UsageError, match="4 readings of db-1 sdc")
    with expected:
        reading_order.refuse_two_disks(
            readings(np.arange(float(count)).tolist()),
            pd.Series(step_s),
            pd.DataFrame({"reads": growth}),
        )


def kept_s(intervals: int, others: int) -> list[float]:
    """Begins of the intervals of a second that count. Beside some is another one, half a second
    late."""
    begin_s = np.arange(float(intervals))
    begin_s = np.sort(np.concatenate((begin_s, begin_s[:others] + 0.5)))
    amounts = np.arange(float(len(begin_s)))[None, :]
    is_kept = reading_order.without_repeats(
        "db-1", "sdc", begin_s, begin_s + 1, amounts
    )
    return [float(begin) for begin in begin_s[is_kept]]


@pytest.mark.parametrize(("intervals", "others"), [(5, 3), (40, 4)])
def test_few_intervals_that_overlap_are_left_out(intervals: int, others: int) -> None:
    assert kept_s(intervals, others) == list(range(intervals))


@pytest.mark.parametrize(("intervals", "others"), [(5, 4), (39, 4)])
def test_many_intervals_that_overlap_are_of_two_disks(
    intervals: int, others: int
) -> None:
    with pytest.raises(UsageError, match="4 readings of db-1 sdc have the same times"):
        kept_s(intervals, others)


# ------------------------------------------------------------------ two series of one disk

MINUTES_S = np.arange(0.0, 600.0, 60.0)


@pytest.mark.parametrize(
    ("times_s", "others_s", "lies_within"),
    [
        ([30.0], MINUTES_S, True),
        # Before the first reading and behind the last one nothing was read.
        ([-30.0], MINUTES_S, False),
        ([0.0], MINUTES_S, False),
        ([570.0], MINUTES_S, False),
        # A step of one and a half is late, and no gap; beyond that a reading is missing.
        ([200.0], [0.0, 60.0, 120.0, 210.0], True),
        ([200.0], [0.0, 60.0, 120.0, 211.0], False),
        # One of ten may be a clock's doing.
        ([30.0, *range(600, 609)], MINUTES_S, False),
        ([30.0, *range(600, 608)], MINUTES_S, True),
        ([30.0], [0.0], False),
    ],
)
def test_readings_between_those_of_another_series_are_of_another_disk(
    times_s: Sequence[float], others_s: Sequence[float], lies_within: bool
) -> None:
    found = reading_order.lies_within(np.array(times_s), np.array(others_s))
    assert found == lies_within


def test_labels_differ_where_a_series_lacks_one_or_has_another_value() -> None:
    series = [
        {"cluster": "prod", "instance": "a"},
        {"cluster": "prod", "instance": "b", "zone": "1"},
    ]
    assert reading_order.differing([*series]) == {
        "instance": ["a", "b"],
        "zone": ["", "1"],
    }
