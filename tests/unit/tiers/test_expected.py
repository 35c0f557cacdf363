"""What a tier lets through, at both sides of where another limit binds."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.tier import Burst, LatencyModel, Tier
from orchestrator.tiers.common.gate import expected
from tests.tiers import a_tier, changed

KIB = 2**10


def tier(**more: Any) -> Tier:
    """500 IOPS, 60 MB/s; a read takes 2 ms, a write 4 ms."""
    made = a_tier("x", "X", "emulated", 500, 60_000_000, 0.002, 0.004)
    return changed(made, **more)


@pytest.mark.parametrize(
    ("made", "block_bytes", "cap_per_s"),
    [
        (tier(), 4 * KIB, 500.0),
        # An I/O is counted in units of 256 KiB.
        (tier(bytes_per_s=None), 256 * KIB, 500.0),
        (tier(bytes_per_s=None), 257 * KIB, 250.0),
        (tier(bytes_per_s=None), 512 * KIB, 250.0),
        (tier(), 240_000, 250.0),
        (tier(iops=None), 240_000, 250.0),
        (tier(iops=None, bytes_per_s=None), 4 * KIB, None),
    ],
)
def test_the_lowest_cap_counts(
    made: Tier, block_bytes: int, cap_per_s: float | None
) -> None:
    assert expected.cap_per_s(made, block_bytes) == cap_per_s


@pytest.mark.parametrize(
    ("made", "read_share", "per_s"),
    [
        (tier(), 1.0, 4000.0),
        (tier(), 0.0, 2000.0),
        # Three reads for each write: 2.5 ms on average.
        (tier(), 0.75, 3200.0),
        (tier(write_latency_s=None), 1.0, 4000.0),
        (tier(write_latency_s=None), 0.75, None),
        (tier(read_latency_s=0.0), 1.0, None),
    ],
)
def test_what_eight_in_flight_reach(
    made: Tier, read_share: float, per_s: float | None
) -> None:
    assert expected.reach_per_s(made, 8, read_share) == per_s


def test_a_latency_that_nobody_promises_is_not_judged() -> None:
    made = tier(like="mounted", latency_assumed=("read",))
    assert expected.latency_s(made, "read") is None
    assert expected.latency_s(made, "write") == 0.004
    # An emulated disk is made with it, whoever assumed it.
    assert expected.latency_s(tier(latency_assumed=("read",)), "read") == 0.002


@pytest.mark.parametrize(
    ("made", "depth"),
    [
        # Four times cap × the longer latency: 4 × 500 × 4 ms.
        (tier(), 32),
        (tier(iops=4000, bytes_per_s=None), 64),
        (tier(iops=8000, bytes_per_s=None), 128),
        (tier(iops=80_000, bytes_per_s=None), 128),
        (tier(iops=4000, bytes_per_s=None, write_latency_s=None), 32),
        (tier(iops=None, bytes_per_s=None), 32),
    ],
)
def test_the_depth_that_reaches_the_cap(made: Tier, depth: int) -> None:
    assert expected.depth(made) == depth
    assert expected.depth(made, least=40) == max(40, depth)


@pytest.mark.parametrize(
    ("made", "pause_s"),
    [
        (tier(iops=None, bytes_per_s=None), 0.0),
        # Half of 500 a second are 4 ms apart: 2 ms of a read are less.
        (tier(), 0.004),
        # Half of 1,000 are 2 ms apart, which each request takes by itself.
        (tier(iops=1000), 0.0),
        (tier(iops=999), pytest.approx(2 / 999)),
        (tier(iops=1000, write_latency_s=None), 0.002),
    ],
)
def test_the_pause_in_which_no_cap_holds_a_request(made: Tier, pause_s: float) -> None:
    assert expected.pause_s(made) == pause_s


@pytest.mark.parametrize(
    ("iops", "window_s"),
    [
        # 2,200 requests of 1 ms, as is assumed of a disk without a cap.
        (None, 2.2),
        # With pauses of 2 / 917 s they take 7 s.
        (917, 2200 * (2 / 917 + 0.001)),
        (916, 0.0),
    ],
)
def test_the_tail_of_a_real_disk_is_timed_if_seven_seconds_are_enough(
    iops: int | None, window_s: float
) -> None:
    made = tier(like="mounted", iops=iops, bytes_per_s=None)
    for thorough in (False, True):
        assert expected.tail_window_s(made, thorough) == pytest.approx(window_s)


def of_constant_times(latency_s: float) -> Tier:
    """A tier without caps whose latencies are drawn, all from one value."""
    table = ((0.0, latency_s), (1.0, latency_s))
    model = LatencyModel(table, table, "this test", "2026-01-01")
    return tier(iops=None, bytes_per_s=None, latency_model=model)


@pytest.mark.parametrize(
    ("latency_s", "window_s"),
    # 1.2 times what 10,000 reads and 10,000 writes take, and five minutes at most.
    [(0.001, 24.0), (0.01, 240.0), (0.0125, 300.0), (0.02, 300.0)],
)
def test_the_tail_of_an_emulated_disk_is_timed_for_ten_thousand_of_each_way(
    latency_s: float, window_s: float
) -> None:
    made = of_constant_times(latency_s)
    assert expected.tail_window_s(made, thorough=True) == pytest.approx(window_s)
    assert expected.tail_window_s(made, thorough=False) == 0.0


@pytest.mark.parametrize(
    ("p99_ns", "requests", "verdict"),
    [
        (1.199e6, 10_000, "ok"),
        (1.201e6, 10_000, "slow"),
        (1.199e6, 9_999, "too few requests"),
    ],
)
def test_a_tail_is_held_within_a_fifth_if_ten_thousand_requests_were_timed(
    p99_ns: float, requests: int, verdict: str
) -> None:
    timed = {"lat_ns": {"percentile": {"99.000000": p99_ns}, "N": requests}}
    job = {"read": timed, "write": timed}
    checks = list(expected.tail_checks(of_constant_times(0.001), job))
    assert [check.verdict for check in checks] == [verdict] * 2


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (tier(iops=500, bytes_per_s=400 * 4096), "1.64 MB/s bind"),
        # Within 1 % both bind alike.
        (tier(iops=500, bytes_per_s=495 * 4096), ""),
        (tier(iops=500, bytes_per_s=494 * 4096), "2.02 MB/s bind"),
        (tier(iops=None), ""),
        (tier(bytes_per_s=None), ""),
    ],
)
def test_which_cap_binds_is_told_where_it_is_bytes(made: Tier, words: str) -> None:
    assert expected.bound_by_bytes(made, 4096) == words
    assert expected.bound_by_depth(made, 8, 1.0) == "8 in flight at 2 ms"


def test_a_burst_raises_what_it_has_and_no_more() -> None:
    peak = expected.at_peak(tier(burst=Burst(3000, None, 60.0))).limits
    assert (peak.iops, peak.bytes_per_s) == (3000, 60_000_000)
    peak = expected.at_peak(tier(burst=Burst(None, 90_000_000, 60.0))).limits
    assert (peak.iops, peak.bytes_per_s) == (500, 90_000_000)
    assert expected.at_peak(tier()) == tier()
