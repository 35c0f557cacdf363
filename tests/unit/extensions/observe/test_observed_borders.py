"""What readings of a disk are taken for: on both sides of each border, by its rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from orchestrator.extensions.observe.judging import contradicted_counts, queues
from orchestrator.extensions.observe.judging.counted_limits import CountedLimits
from orchestrator.extensions.observe.judging.demand import Demand
from orchestrator.extensions.observe.judging.disk_demands import demands, is_beyond
from orchestrator.extensions.observe.judging.rate_caps import RateCap
from orchestrator.extensions.observe.judging.reported_throttle import ReportedThrottle
from orchestrator.extensions.observe.judging.share_bounds import judged
from orchestrator.tier import Limits
from tests.counted_demands import SOURCE, counting
from tests.simulated_demand import as_reads, in_seconds, summed, table

BASE = RateCap("IOPS", "ios", 1000.0, 3000.0, 60_000.0)


@pytest.mark.parametrize(
    ("changes", "is_within"),
    [
        ({}, True),
        ({"base": 1001.0}, False),
        ({"top": 3001.0}, False),
        ({"bucket": 60_001.0}, False),
        ({"base": 900.0, "top": 2000.0, "bucket": 0.0}, True),
        ({"counted": "bytes"}, False),
    ],
)
def test_a_limit_lets_through_all_that_an_equal_one_does(
    changes: dict[str, object], is_within: bool
) -> None:
    assert replace(BASE, **changes).within(BASE) is is_within  # type: ignore[arg-type]


# ------------------------------------------------------------------ intervals


def of_steps(steps_s: Sequence[float], gaps_s: Sequence[float] = ()) -> Demand:
    """Intervals of these lengths with 10 I/Os each; a gap before the second one, and so on."""
    gaps = np.array([0.0, *gaps_s, *[0.0] * (len(steps_s) - 1 - len(gaps_s))])
    end_s = np.cumsum(np.array(steps_s) + gaps)
    like = in_seconds(np.full(len(steps_s), 10.0))
    return replace(like, begin_s=end_s - np.array(steps_s), end_s=end_s)


@pytest.mark.parametrize(("step_s", "is_fine"), [(1.5, True), (1.6, False)])
def test_up_to_one_and_a_half_seconds_show_what_a_second_does(
    step_s: float, is_fine: bool
) -> None:
    assert of_steps([step_s] * 5).is_fine is is_fine


@pytest.mark.parametrize(("gap_s", "stretches"), [(0.75, 1), (0.8, 2)])
def test_a_reading_that_is_a_little_late_leaves_no_gap(
    gap_s: float, stretches: int
) -> None:
    assert len(of_steps([1.0] * 4, [gap_s]).starts) == stretches


@pytest.mark.parametrize(
    ("ios", "queue_s", "in_flight"),
    [
        # A hundred I/Os that took no time show a counter that is not kept.
        (100.0, 0.0, np.nan),
        (99.0, 0.0, 0.0),
        (100.0, 0.5, 0.5),
        (99.0, -0.1, np.nan),
    ],
)
def test_few_ios_may_take_no_time(ios: float, queue_s: float, in_flight: float) -> None:
    demand = replace(in_seconds(np.array([ios])), queue_s=np.array([queue_s]))
    assert demand.in_flight == pytest.approx([in_flight], nan_ok=True)


@pytest.mark.parametrize(("seconds", "is_fine"), [(120, True), (119, False)])
def test_what_covers_as_much_time_in_seconds_is_judged_by_seconds(
    seconds: int, is_fine: bool
) -> None:
    minutes = summed(in_seconds(np.full(120, 10.0)), 60)
    fine = in_seconds(np.full(seconds, 10.0))
    later_s = 1000.0
    fine = replace(fine, begin_s=fine.begin_s + later_s, end_s=fine.end_s + later_s)
    (demand,) = demands(table(minutes, fine))
    assert demand.is_fine is is_fine


@pytest.mark.parametrize(
    ("lengths", "pieces"),
    [
        # Ten seconds show how they follow one another, and nine do not.
        ([10], [10]),
        ([9], []),
    ],
)
def test_a_piece_has_ten_seconds(lengths: Sequence[int], pieces: list[int]) -> None:
    minutes = summed(in_seconds(np.full(600, 10.0)), 60)
    parts = [minutes]
    for length in lengths:
        fine = in_seconds(np.full(length, 10.0))
        parts.append(
            replace(fine, begin_s=fine.begin_s + 2000, end_s=fine.end_s + 2000)
        )
    (demand,) = demands(table(*parts))
    assert [len(piece) for piece in demand.pieces] == pieces


@pytest.mark.parametrize(("lost_s", "pieces"), [(60, 1), (61, 2)])
def test_a_gap_of_an_interval_makes_no_two_pieces_of_one(
    lost_s: int, pieces: int
) -> None:
    minutes = summed(in_seconds(np.full(1200, 10.0)), 60)
    fine = in_seconds(np.full(40 + lost_s, 10.0))
    fine = replace(fine, begin_s=fine.begin_s + 2000, end_s=fine.end_s + 2000)
    is_read = np.ones(40 + lost_s, dtype=bool)
    is_read[20 : 20 + lost_s] = False
    (demand,) = demands(table(minutes, fine.part(is_read)))
    assert len(demand.pieces) == pieces


@pytest.mark.parametrize(
    ("ios", "io_bytes", "is_more"),
    [
        (2200.0, 512.0, False),
        (2201.0, 512.0, True),
        (100.0, 2_500_000.0, False),
        (100.0, 2_500_001.0, True),
    ],
)
def test_a_disk_never_does_more_than_twice_its_limits(
    ios: float, io_bytes: float, is_more: bool
) -> None:
    second = in_seconds(np.array([ios]), io_bytes=io_bytes)
    assert is_beyond(second, Limits(1100, 125_000_000)).tolist() == [is_more]


@pytest.mark.parametrize(("jumps", "left_out"), [(3, 3), (4, 0)])
def test_up_to_three_jumps_are_a_counters_doing(jumps: int, left_out: int) -> None:
    count = np.full(100, 100.0)
    count[10 : 10 + jumps] = 5000.0
    (demand,) = demands(table(in_seconds(count)), Limits(1100, 125_000_000))
    assert demand.left_out == left_out
    assert len(demand.ios) == 100 - left_out


def test_an_interval_without_length_is_none() -> None:
    rows = table(in_seconds(np.full(20, 10.0)))
    rows.loc[rows.index[5], "end_s"] = rows.loc[rows.index[5], "begin_s"]
    (demand,) = demands(rows)
    # Nor is it one that no disk can have done.
    assert (len(demand.ios), demand.impossible) == (19, 0)


def test_readings_that_are_late_by_half_a_second_are_of_seconds_too() -> None:
    (demand,) = demands(table(of_steps([*[1.0] * 10, *[1.5] * 10])))
    assert len(demand.ios) == 20


def test_of_two_intervals_with_one_begin_the_shorter_counts_whatever_the_order() -> (
    None
):
    rows = table(of_steps([1.4, 1.0, 1.0]))
    twice = rows.iloc[[0, 0, 1, 2]].reset_index(drop=True)
    twice.loc[1, "end_s"] = 1.0
    (demand,) = demands(twice)
    assert demand.end_s[0] == 1.0


# ------------------------------------------------------------------ what a disk counts


def counted(intervals: int, ios_per_s: float, over: dict[int, float]) -> Demand:
    """Minutes of the smallest I/Os at that rate. `over`: minute → the share of it above the limit
    of IOPS."""
    minutes = counting(in_seconds(np.full(60 * intervals, ios_per_s), io_bytes=0.0))
    minutes = replace(minutes, amounts=minutes.amounts * [[1.0], [1.0], [0.0], [0.0]])
    of_iops, *others = minutes.reported
    share = np.zeros(intervals)
    for minute, of_minute in over.items():
        share[minute] = of_minute
    return replace(minutes, reported=(replace(of_iops, share=share), *others))


def full(intervals: int, at_limit: int, rate: float) -> Demand:
    """So many minutes at that rate and the others idle; the disk counted no time at all."""
    count = np.full(60 * intervals, 10.0)
    count[: 60 * at_limit] = rate
    minutes = summed(in_seconds(count), 60)
    nothing = np.zeros(intervals)
    throttles = tuple(
        ReportedThrottle(limited, nothing, owner, is_counted=True)
        for owner in ("disk", "machine")
        for limited in ("ios", "bytes")
    )
    return replace(minutes, reported=throttles)


@pytest.mark.parametrize(
    ("demand", "is_contradicted"),
    [
        # Three minutes are chance, and so is one of a hundred.
        (full(100, 3, 3000.0), False),
        (full(100, 4, 3000.0), True),
        (full(400, 4, 3000.0), False),
        (full(400, 5, 3000.0), True),
        # 99 % of the limit is all that it lets through.
        (full(100, 10, 2970.0), True),
        (full(100, 10, 2969.0), False),
        # Of a whole minute above it, half of it would be served at least.
        (counted(100, 1500.0, dict.fromkeys(range(10), 1.0)), False),
        (counted(100, 1499.0, dict.fromkeys(range(10), 1.0)), True),
    ],
)
def test_readings_contradict_a_count_again_and_again(
    demand: Demand, is_contradicted: bool
) -> None:
    found = contradicted_counts.contradiction([demand], SOURCE)
    assert bool(found) is is_contradicted


@pytest.mark.parametrize(
    ("rate", "io_bytes", "is_counted"),
    [
        # 2 % more than its limit is a mean that was rounded.
        (3060.0, 512.0, True),
        (3061.0, 512.0, False),
        (1.0, 127_500_000.0, True),
        (1.0, 127_600_000.0, False),
    ],
)
def test_a_disk_that_did_more_than_its_limit_is_another_one(
    rate: float, io_bytes: float, is_counted: bool
) -> None:
    demand = counted(10, 10.0, {})
    seconds = in_seconds(np.full(600, rate), io_bytes=io_bytes)
    demand = replace(demand, amounts=summed(seconds, 60).amounts)
    found = CountedLimits.of([demand], SOURCE)
    assert (found is not None) is is_counted


@pytest.mark.parametrize(("over", "names"), [({}, []), ({0: 0.1}, ["IOPS"])])
def test_a_limit_above_which_no_time_was_counted_was_not_reached(
    over: dict[int, float], names: list[str]
) -> None:
    counts = CountedLimits.of([counted(10, 1000.0, over)], SOURCE)
    assert counts is not None
    assert [cap.name for cap in counts.reached] == names


@pytest.mark.parametrize(
    ("cap", "least"),
    [
        # Users of another disk ask for up to 30 % less.
        (2100.0, 0.1),
        (2101.0, 0.0),
    ],
)
def test_a_disk_that_is_smaller_by_what_users_ask_less_is_above_its_cap_too(
    cap: float, least: float
) -> None:
    demand = counted(10, 1000.0, {0: 1.0})
    counts = CountedLimits.of([demand], SOURCE)
    assert counts is not None
    caps = (RateCap("IOPS", "ios", cap, cap),)
    on = judged(in_seconds(np.full(60, 1.0)), caps, None)
    assert counts.settled(on, caps, None).at_cap_least == pytest.approx(least)


@pytest.mark.parametrize(("unit_bytes", "most"), [(256 * 1024, 0.0), (1024, 1.0)])
def test_a_larger_disk_with_the_same_unit_serves_all(
    unit_bytes: int, most: float
) -> None:
    source = replace(SOURCE, io_unit_bytes=256 * 1024)
    counts = CountedLimits.of([counted(10, 1000.0, {})], source)
    assert counts is not None
    caps = (
        RateCap("IOPS", "ios", 9000.0, 9000.0),
        RateCap("bytes/s", "bytes", 1e9, 1e9),
    )
    on = judged(as_reads(in_seconds(np.full(60, 20_000.0))), caps, None)
    assert on.at_cap_most == 1.0
    assert counts.settled(on, caps, unit_bytes).at_cap_most == most


# ------------------------------------------------------------------ what waits, and credit


@pytest.mark.parametrize(("seconds", "is_free"), [(100, True), (99, False)])
def test_a_hundred_seconds_show_whether_what_is_in_flight_follows_the_rate(
    seconds: int, is_free: bool
) -> None:
    """Each I/O takes a millisecond, whether there are more or fewer of them."""
    rates = np.array([1000.0 + second % 50 for second in range(seconds)])
    load = replace(in_seconds(rates), queue_s=rates / 1000.0)
    waiting_s = queues.waiting_s(load, RateCap("IOPS", "ios", 1000.0, 1000.0))
    assert (waiting_s == 0.0) is is_free


def test_a_second_with_nothing_in_flight_follows_no_rate() -> None:
    """Each I/O takes 20 ms, but for those of one second."""
    rates = np.array([40.0 + second % 20 for second in range(200)])
    queue_s = rates / 50.0
    queue_s[5] = 0.0
    load = replace(in_seconds(rates), queue_s=queue_s)
    assert queues.waiting_s(load, RateCap("IOPS", "ios", 40.0, 40.0)) == 199.0


def test_of_one_rate_all_the_time_nothing_can_follow_it() -> None:
    load = in_seconds(np.full(200, 1000.0))
    load = replace(load, queue_s=np.full(200, 1.0))
    assert queues.waiting_s(load, RateCap("IOPS", "ios", 1000.0, 1000.0)) == 200.0


@pytest.mark.parametrize(("lasts_s", "is_followed"), [(10.0, True), (9.9, False)])
def test_credit_is_followed_if_it_lasts_for_ten_steps(
    lasts_s: float, is_followed: bool
) -> None:
    load = as_reads(in_seconds(np.full(120, 1500.0)))
    cap = RateCap("IOPS", "ios", 1000.0, 3000.0, 2000.0 * lasts_s)
    assert (judged(load, (cap,), None).empty_s is not None) is is_followed
