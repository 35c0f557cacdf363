"""Rates of a node's disks: quotients of what is known, and what counts as sampled."""

from __future__ import annotations

import pytest

from orchestrator.analysis.telemetry.counters import rates
from orchestrator.analysis.telemetry.counters.rates import DiskRates, WalDiskRates


@pytest.mark.parametrize(
    ("iops", "bytes_per_s", "took", "was_sampled"),
    [
        (None, None, None, False),
        (1.0, None, None, True),
        (None, 1.0, None, True),
        (None, None, 1.0, True),
        # A disk at rest was sampled as well.
        (0.0, 0.0, 0.0, True),
    ],
)
def test_one_counter_is_enough_to_call_a_log_s_disk_sampled(
    iops: float | None, bytes_per_s: float | None, took: float | None, was_sampled: bool
) -> None:
    assert WalDiskRates(iops, bytes_per_s, took).was_sampled is was_sampled


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
