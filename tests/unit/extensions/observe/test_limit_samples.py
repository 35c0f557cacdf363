"""What was reported of intervals becomes counters that grow by it, and by nothing else."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from orchestrator.analysis.telemetry.counters import (
    counter_series,
    rates,
    window_growth,
)
from orchestrator.extensions.observe.campaign_disks import limit_samples

IOPS = ("node-1", "provider_disk_iops_limit_seconds_total")


def grown_pct(intervals: pd.DataFrame, begin_s: float, end_s: float) -> float | None:
    """For which share of a window the limit of IOPS was reached."""
    samples = limit_samples.of_disk(intervals, "node-1")
    rates = counter_series.rates(counter_series.by_series(samples))
    growth = window_growth.Growth(begin_s, end_s)
    growth.add(rates)
    per_s = growth.per_s(*IOPS)
    if per_s is None:
        return None
    return 100 * per_s


def minutes(**columns: list[Any]) -> pd.DataFrame:
    table = pd.DataFrame(columns)
    table["begin_s"] = 60.0 * table.pop("minute")
    return table.assign(end_s=table["begin_s"] + 60.0)


def test_minutes_at_the_limit_are_their_share_of_the_window() -> None:
    table = minutes(minute=[0, 1, 2, 3], over_iops_share=[1.0, 1.0, 0.0, 0.0])
    assert grown_pct(table, 0, 240) == pytest.approx(50.0)
    # Of a minute of which a part is in the window it is not known which part was at the limit.
    assert grown_pct(table, 30, 180) == pytest.approx(50.0)
    assert grown_pct(table, 30, 89) is None


@pytest.mark.parametrize("last", [0.0, 1.0])
def test_nothing_is_known_of_a_gap(last: float) -> None:
    """Also where nothing was reached on both of its sides."""
    table = minutes(minute=[0, 1, 7, 8], over_iops_share=[last, last, 0.0, 0.0])
    assert grown_pct(table, 0, 540) is None
    assert grown_pct(table, 0, 120) == pytest.approx(100 * last)
    lacking = minutes(minute=list(range(6)), over_iops_share=[0.0, *[None] * 4, 0.0])
    assert grown_pct(lacking, 0, 360) is None


def test_seconds_come_before_minutes_and_are_no_longer_than_those() -> None:
    """One count in four is that of another volume."""
    table = minutes(
        minute=[0, 1, 2, 3],
        over_iops_share=[0.0] * 4,
        iops_over_s=[30.0, 60.9, 9_000.0, 30.0],
    )
    assert grown_pct(table, 0, 240) == pytest.approx(100 * 120 / 180)


def test_intervals_of_which_two_are_of_one_time_count_once() -> None:
    table = minutes(minute=[1, 0, 0], over_iops_share=[0.0, 1.0, 1.0])
    assert grown_pct(table, 0, 120) == pytest.approx(50.0)


def reached(**series: pd.DataFrame) -> rates.ReachedShares:
    """What is kept of node-1 for four minutes. series: the name behind the node's → intervals."""
    growth = window_growth.Growth(0, 240)
    for name, intervals in series.items():
        samples = limit_samples.of_disk(intervals, f"node-1{name}")
        growth.add(counter_series.rates(counter_series.by_series(samples)))
    return rates.reached_shares(growth, "node-1")


HALF = minutes(minute=[0, 1, 2, 3], over_iops_share=[1.0, 1.0, 0.0, 0.0])
NEVER = minutes(minute=[0, 1, 2, 3], over_iops_share=[0.0, 0.0, 0.0, 0.0])
ONE_OF_FOUR = minutes(minute=[0], over_iops_share=[1.0])


def test_a_stripe_is_held_back_while_its_worst_disk_is() -> None:
    both = reached(**{"/lun0": HALF, "/lun1": NEVER})
    assert both.data.disk_iops_pct == pytest.approx(50.0)
    assert both.data_disks["lun1"].disk_iops_pct == 0
    # One that is known for too short a time may be the worst.
    part = reached(**{"/lun0": NEVER, "/lun1": ONE_OF_FOUR})
    assert part.data.disk_iops_pct is None


def test_what_an_earlier_program_kept_of_a_node_is_of_its_one_disk() -> None:
    kept = reached(**{"": HALF})
    assert kept.data.disk_iops_pct == pytest.approx(50.0)
    assert kept.log.disk_iops_pct is None


def test_the_disk_of_a_log_is_not_among_those_of_the_data() -> None:
    apart = reached(**{"/lun0": NEVER, ".wal/lun1": HALF})
    assert apart.data.disk_iops_pct == 0
    assert apart.log.disk_iops_pct == pytest.approx(50.0)
