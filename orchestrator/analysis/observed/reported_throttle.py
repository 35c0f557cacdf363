"""What a disk's provider itself reports of its limits, interval by interval. Pure.

It outranks what counts look like. Tables with INTERVALS may have columns of two kinds:

- for each limit of a disk the share of the interval's minutes in which the limit held I/Os back,
  for some time in each. Of a minute without that, a few seconds at the limit are not ruled out:
  pages of one provider say both that any moment counts, and that it must go on.
- for each limit of a disk, and of its machine, the seconds in which more was asked for. A disk that
  counts these tells what sums of minutes hide.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import pandas as pd

from orchestrator.analysis.telemetry.counters import counted_time

Shares = np.ndarray[Any, np.dtype[np.float64]]
Limited = Literal["ios", "bytes"]
Owner = Literal["disk", "machine"]

COLUMNS: dict[Limited, str] = {
    "ios": "over_iops_share",
    "bytes": "over_bandwidth_share",
}


# The same of the machine that all disks of a node share.
MACHINE_COLUMNS: dict[Limited, str] = {
    "ios": "machine_over_iops_share",
    "bytes": "machine_over_bandwidth_share",
}
_MINUTES: tuple[tuple[Owner, dict[Limited, str]], ...] = (
    ("disk", COLUMNS),
    ("machine", MACHINE_COLUMNS),
)


class _CountedLimit(NamedTuple):
    owner: Owner
    limited: Limited


# Columns of the seconds that an interval was above a limit.
_SECONDS: dict[str, _CountedLimit] = {
    "iops_over_s": _CountedLimit("disk", "ios"),
    "bandwidth_over_s": _CountedLimit("disk", "bytes"),
    "machine_iops_over_s": _CountedLimit("machine", "ios"),
    "machine_bandwidth_over_s": _CountedLimit("machine", "bytes"),
}
OVER_S = tuple(_SECONDS)


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
    for column, limit in _SECONDS.items():
        if column in rows and rows[column].notna().any():
            over_s = rows[column].to_numpy(float)
            is_possible = counted_time.is_possible(over_s, length_s)
            share = np.where(is_possible, np.minimum(1.0, over_s / length_s), np.nan)
            yield ReportedThrottle(limit.limited, share, limit.owner, is_counted=True)
    for owner, columns in _MINUTES:
        for limited, column in columns.items():
            if column in rows and rows[column].notna().any():
                yield ReportedThrottle(limited, rows[column].to_numpy(float), owner)
