"""Rates of a node's disks: quotients of what is known, and what counts as sampled."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator.analysis.telemetry.counters import (
    counted_time,
    counter_series,
    rates,
    window_growth,
)
from orchestrator.analysis.telemetry.counters.counter_series import SampledSeries, Steps
from orchestrator.analysis.telemetry.counters.rates import DiskRates, WalDiskRates


@pytest.mark.parametrize(
    ("part", "whole", "quotient"),
    [
        (6.0, 3.0, 2.0),
        (0.0, 3.0, 0.0),
        (6.0, 0.0, None),
        (None, 3.0, None),
        (6.0, None, None),
    ],
)
def test_a_quotient_of_what_is_not_known_is_not_known(
    part: float | None, whole: float | None, quotient: float | None
) -> None:
    assert rates.quotient(part, whole) == quotient
    share_pct = None
    if quotient is not None:
        share_pct = 100 * quotient
    assert rates.share_pct(part, whole) == share_pct


def test_a_count_of_time_grows_by_no_more_than_passes_and_a_moment() -> None:
    """It may be read a second after the time that stands beside it."""
    growth_s = np.array([0.0, 1.0, 2.0, 2.1, -0.1, np.nan])
    possible = counted_time.is_possible(growth_s, np.ones(6))
    assert possible.tolist() == [True, True, True, False, False, False]


def test_a_counter_that_stood_still_is_a_step_and_one_that_was_read_twice_is_none() -> (
    None
):
    times_s = np.array([100.0, 101.0, 101.0, 102.0, 103.0])
    values = np.array([5.0, 5.0, 6.0, 8.0, 7.0])
    phase = np.array(["measure"] * 5, dtype=object)
    key = ("node-1", "disk_reads_total")
    steps = counter_series.rates({key: SampledSeries(times_s, values, phase)})[key]
    assert steps.end_s.tolist() == [101.0, 102.0]
    assert steps.per_s.tolist() == [0.0, 2.0]


def of_seconds(first_s: float, count: int) -> Steps:
    """So many steps of a second from `first_s` on, in each of which a counter grows by 2."""
    end_s = np.array([first_s + 1.0 + second for second in range(count)])
    phase = np.array(["measure"] * count, dtype=object)
    return Steps(end_s, np.ones(count), np.full(count, 2.0), phase)


KEY = ("node-1", "disk_reads_total")


@pytest.mark.parametrize(
    ("first_s", "count", "growth"),
    [
        (98.0, 2, None),  # it ends as the time begins
        (98.5, 2, 1.0),
        (100.0, 2, 4.0),
        (109.5, 2, 1.0),
        (110.0, 2, None),
    ],
)
def test_a_step_counts_as_far_as_it_reaches_into_a_time(
    first_s: float, count: int, growth: float | None
) -> None:
    moved = window_growth.moved({KEY: of_seconds(first_s, count)}, 100.0, 110.0)
    assert moved == ({} if growth is None else {KEY: growth})


@pytest.mark.parametrize(
    ("first_s", "count", "per_s"),
    [
        # Half of the window, from its begin and to its end.
        (100.0, 5, 2.0),
        (105.0, 5, 2.0),
        (100.0, 4, None),
        (99.5, 5, None),
        (105.5, 5, None),
    ],
)
def test_half_of_a_window_stands_for_it(
    first_s: float, count: int, per_s: float | None
) -> None:
    growth = window_growth.Growth(100.0, 110.0)
    growth.add({KEY: of_seconds(first_s, count)})
    assert growth.per_s(*KEY) == per_s


def test_times_of_i_os_are_their_seconds_over_their_number() -> None:
    disk = DiskRates(
        read_iops=40.0,
        write_iops=60.0,
        iops=100.0,
        read_bytes_per_s=1e5,
        write_bytes_per_s=3e5,
        bytes_per_s=4e5,
        queue_depth=2.0,
        reads_took=0.2,
        took=1.0,
    )
    assert disk.await_s == 0.01
    assert disk.read_await_s == 0.005
    assert disk.io_size_bytes == 4000.0
    assert WalDiskRates(50.0, 1e6, 0.1).await_s == 0.002
