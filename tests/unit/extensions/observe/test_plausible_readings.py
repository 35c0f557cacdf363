"""Which readings are refused, or told as unlikely: at each border, and just beyond it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from orchestrator.errors import UsageError
from orchestrator.extensions.observe.judging import plausible_readings
from tests.simulated_demand import in_seconds, table

# A mean of rounded figures may be lower than the true one by a tenth.
LEAST_OF_A_SECTOR = 460.8
LEAST_OF_A_BLOCK = 3686.4


def readings(ios: float, io_bytes: float, seconds: int = 1) -> pd.DataFrame:
    return table(in_seconds(np.full(seconds, ios), io_bytes=io_bytes))


def over_limit(seconds: int, too_long: int) -> pd.DataFrame:
    """So many intervals of a second. In some the disk counts two and a half seconds."""
    counted_s = np.zeros(seconds)
    counted_s[:too_long] = 2.5
    return readings(10.0, 4096.0, seconds).assign(iops_over_s=counted_s)


@pytest.mark.parametrize(
    "intervals",
    [
        readings(100.0, LEAST_OF_A_SECTOR),
        # Of so few I/Os figures are not exact enough.
        readings(99.0, 64.0),
    ],
)
def test_bytes_that_may_belong_to_their_ios_are_taken(intervals: pd.DataFrame) -> None:
    plausible_readings.require_belonging("db-1", "sdc", intervals)


@pytest.mark.parametrize("io_bytes", [64.0, LEAST_OF_A_SECTOR - 0.1])
def test_fewer_bytes_than_a_sector_an_io_are_refused(io_bytes: float) -> None:
    with pytest.raises(UsageError, match="less than a sector"):
        plausible_readings.require_belonging("db-1", "sdc", readings(100.0, io_bytes))


@pytest.mark.parametrize(("seconds", "too_long"), [(10, 3), (40, 4)])
def test_a_few_counts_that_are_longer_than_their_intervals_are_jumps(
    seconds: int, too_long: int
) -> None:
    """Three are few of any number, and so is a tenth of all."""
    plausible_readings.require_seconds("db-1", "sdc", over_limit(seconds, too_long))


@pytest.mark.parametrize(("seconds", "too_long"), [(10, 4), (40, 5)])
def test_more_counts_than_jumps_explain_are_no_seconds(
    seconds: int, too_long: int
) -> None:
    with pytest.raises(UsageError, match=f"{too_long} of {seconds} counts"):
        plausible_readings.require_seconds("db-1", "sdc", over_limit(seconds, too_long))


@pytest.mark.parametrize(
    ("intervals", "words"),
    [
        # One I/O more may have been counted in the reading before.
        (readings(1.0, 8 * 2**20), []),
        (readings(1.0, 8 * 2**20 + 1), ["with more than 4 MiB an I/O"]),
        (readings(100.0, LEAST_OF_A_BLOCK), []),
        (readings(100.0, LEAST_OF_A_BLOCK - 1), ["less than a block of 4 KiB"]),
    ],
)
def test_what_is_unlikely_is_beyond_what_linux_and_rounding_do(
    intervals: pd.DataFrame, words: list[str]
) -> None:
    told = list(plausible_readings.unlikely(intervals))
    assert [word in text for word, text in zip(words, told, strict=True)] == [
        True for _ in words
    ]
