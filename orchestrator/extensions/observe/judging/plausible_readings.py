"""Whether readings are possible: the one check through which the readings of every source pass.

An interval with more than any disk does is a gap, because a counter jumped or began anew. A disk
whose bytes and I/Os cannot belong together is refused, because its metrics were asked for wrongly:
CloudWatch's averages, for example, have bytes of one I/O beside I/Os of a minute. What is only
unlikely is told. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Self

import numpy as np
import pandas as pd

from orchestrator.analysis.telemetry.counters import counted_time
from orchestrator.errors import UsageError
from orchestrator.extensions.observe.judging.reported_throttle import OVER_S
from orchestrator.texts import prose

# No disk does more than this.
_MOST_IOPS = 1e7
_MOST_BYTES_PER_S = 1e11
# Linux splits an I/O at 4 MiB or less unless it is told otherwise (BLK_DEF_MAX_SECTORS_CAP).
_LARGE_IO_BYTES = 4 * 2**20
# There is room for a kernel that was told otherwise: only what is far beyond is impossible.
_MOST_IO_BYTES = 8 * _LARGE_IO_BYTES
# An I/O is of one sector or more; file systems write blocks of 4 KiB.
_SECTOR_BYTES = 512
_BLOCK_BYTES = 4096
# Rounded to 1/100, figures are exact enough of so many I/Os, and not of fewer.
_FEWEST_IOS = 100
# Counts of seconds that are longer than their intervals: more of them, in number and as a share of
# all, are no jumps of a counter.
_FEW_IMPOSSIBLE = 3
_IMPOSSIBLE_SHARE = 0.1
# A mean of rounded figures may be lower than the true one by this factor.
_ROUNDING = 0.9
# Which counters count the same I/Os; `writes` has reads and discards too where reads are missing.
_BYTES_OF_IOS = {"reads": "read_bytes", "writes": "written_bytes"}
_IO_COLUMNS = [*_BYTES_OF_IOS]
_BYTE_COLUMNS = [*_BYTES_OF_IOS.values()]


def possible(intervals: pd.DataFrame) -> pd.Series[bool]:
    """For each interval of a table with INTERVALS, whether a disk can have done that."""
    step_s = intervals["end_s"] - intervals["begin_s"]
    ios = intervals[_IO_COLUMNS].sum(axis=1)
    moved = intervals[_BYTE_COLUMNS].sum(axis=1)
    # An I/O may be counted in one reading, and its bytes in the next.
    fits_ios = moved <= _MOST_IO_BYTES * (ios + 1)
    is_in_reach = ios <= _MOST_IOPS * step_s
    is_in_reach &= moved <= _MOST_BYTES_PER_S * step_s
    is_finite = np.isfinite(ios) & np.isfinite(moved) & np.isfinite(step_s)
    amounts = intervals[[*_IO_COLUMNS, *_BYTE_COLUMNS]]
    is_growth = (amounts.fillna(0.0) >= 0).all(axis=1)
    is_possible: pd.Series[bool] = fits_ios & is_in_reach & is_finite & is_growth
    return is_possible


def require_belonging(node: str, device: str, intervals: pd.DataFrame) -> None:
    """UsageError if all bytes of a disk are less than its I/Os have at least."""
    if _has_discards(intervals):
        return
    # Both directions count together: some kernels count a flush of a mapped device as a write
    # without bytes.
    bytes_an_io = _bytes_an_io(intervals)
    if bytes_an_io < _ROUNDING * _SECTOR_BYTES:
        raise UsageError(
            f"{node} {device} has {bytes_an_io:.2g} bytes an I/O, less than a sector of "
            f"{_SECTOR_BYTES}",
            advice="counts and bytes do not belong together: of AWS/EBS ask CloudWatch for Sum; of "
            "AWS/RDS and Azure for Average; in a CSV sectors are 512 bytes",
        )


def require_seconds(node: str, device: str, intervals: pd.DataFrame) -> None:
    """UsageError if counts of seconds above a limit are longer than their intervals, again and
    again: then they are no seconds."""
    counts = _SecondsCounts.of(intervals)
    if counts.impossible > max(_FEW_IMPOSSIBLE, _IMPOSSIBLE_SHARE * counts.total):
        raise UsageError(
            f"{node} {device} was above a limit for longer than its interval in "
            f"{counts.impossible:,} of {counts.total:,} counts",
            advice="give seconds: those of EBS' log page are microseconds, so divide them by "
            "1,000,000",
        )


class _SecondsCounts(NamedTuple):
    """How many counts of seconds above a limit there are, and how many of them are longer than
    their intervals."""

    total: int
    impossible: int

    @classmethod
    def of(cls, intervals: pd.DataFrame) -> Self:
        step_s = intervals["end_s"] - intervals["begin_s"]
        total = 0
        impossible = 0
        for column in OVER_S:
            if column not in intervals:
                continue
            is_there = intervals[column].notna()
            is_possible = counted_time.is_possible(intervals[column], step_s)
            total += int(is_there.sum())
            impossible += int((is_there & ~is_possible).sum())
        return cls(total, impossible)


def _bytes_an_io(intervals: pd.DataFrame) -> float:
    """The mean bytes of an I/O; NaN if there are few."""
    ios = float(np.nansum(intervals[_IO_COLUMNS].to_numpy(float)))
    moved = float(np.nansum(intervals[_BYTE_COLUMNS].to_numpy(float)))
    if ios < _FEWEST_IOS:
        return float("nan")
    return moved / ios


def _has_discards(intervals: pd.DataFrame) -> bool:
    """Whether the intervals have discards, which sar counts as I/Os without bytes."""
    return bool(intervals["reads"].isna().any())


def unlikely(intervals: pd.DataFrame) -> Iterator[str]:
    """What no check refuses, and a person should look at, of the readings of one disk."""
    ios = intervals[_IO_COLUMNS].sum(axis=1)
    moved = intervals[_BYTE_COLUMNS].sum(axis=1)
    large = int((moved > _LARGE_IO_BYTES * (ios + 1)).sum())
    if large:
        readings = prose.counted(large, "reading")
        yield f"{readings} with more than 4 MiB an I/O, which Linux splits"
    counts = _SecondsCounts.of(intervals)
    if counts.impossible:
        seconds = prose.counted(counts.impossible, "count")
        yield f"{seconds} of seconds above a limit longer than its interval"
    bytes_an_io = _bytes_an_io(intervals)
    if not _has_discards(intervals) and bytes_an_io < _ROUNDING * _BLOCK_BYTES:
        yield f"{bytes_an_io:,.0f} bytes an I/O, less than a block of 4 KiB"
