"""What a disk's provider itself reports of its limits, interval by interval. Pure.

It outranks what counts look like. Tables with INTERVALS may have columns of two kinds, one for each
of _LIMITS:

- SHARES: the share of the interval's minutes in which the limit held I/Os back, for some time in
  each. Of a minute without that, a few seconds at the limit are not ruled out: pages of one
  provider say both that any moment counts, and that it must go on.
- OVER_S: the seconds in which more was asked for than the limit. A disk that counts these tells
  what sums of minutes hide.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import pandas as pd

from orchestrator.analysis.telemetry.counters import counted_time

Shares = np.ndarray[Any, np.dtype[np.float64]]
Limited = Literal["ios", "bytes"]
Owner = Literal["disk", "machine"]


class _ReportedLimit(NamedTuple):
    """What it limits, and whose it is: the disk's, or that of the machine with all of its disks."""

    limited: Limited
    owner: Owner


_LIMITS = (
    _ReportedLimit("ios", "disk"),
    _ReportedLimit("bytes", "disk"),
    _ReportedLimit("ios", "machine"),
    _ReportedLimit("bytes", "machine"),
)
DISK_SHARES = ("over_iops_share", "over_bandwidth_share")
MACHINE_SHARES = ("machine_over_iops_share", "machine_over_bandwidth_share")
SHARES = (*DISK_SHARES, *MACHINE_SHARES)
OVER_S = (
    "iops_over_s",
    "bandwidth_over_s",
    "machine_iops_over_s",
    "machine_bandwidth_over_s",
)


@dataclass(frozen=True, eq=False)
class ReportedThrottle:
    """How far a provider reports that one limit of a disk was reached, or of its machine.

    `share`: for each interval, from 0 to 1; NaN where nothing is reported. `is_counted`: it is the
    share of the time, as the disk itself counts it; else that of minutes, each of which counts
    whole.
    """

    limited: Limited
    share: Shares
    owner: Owner = "disk"
    is_counted: bool = False

    def part(self, which: slice | np.ndarray[Any, Any]) -> Self:
        """The report on some intervals."""
        return replace(self, share=self.share[which])

    @property
    def is_of_all(self) -> bool:
        return not np.isnan(self.share).any()


def in_rows(rows: pd.DataFrame) -> Iterator[ReportedThrottle]:
    """The reports on the intervals of one disk. A limit of which nothing is reported has none, and
    of a count that is longer than its interval nothing is known."""
    length_s = rows["end_s"].to_numpy(float) - rows["begin_s"].to_numpy(float)
    for limit, column in zip(_LIMITS, OVER_S, strict=True):
        if _is_there(rows, column):
            over_s = rows[column].to_numpy(float)
            is_possible = counted_time.is_possible(over_s, length_s)
            share = np.where(is_possible, np.minimum(1.0, over_s / length_s), np.nan)
            yield ReportedThrottle(limit.limited, share, limit.owner, is_counted=True)
    for limit, column in zip(_LIMITS, SHARES, strict=True):
        if _is_there(rows, column):
            share = rows[column].to_numpy(float)
            yield ReportedThrottle(limit.limited, share, limit.owner)


def _is_there(rows: pd.DataFrame, column: str) -> bool:
    return column in rows and bool(rows[column].notna().any())
