"""What a disk's provider itself reports of its limits, interval by interval. Pure.

It outranks what counts look like. Tables with INTERVALS may have a column for each limit of a disk:
the share of the interval's minutes in which the limit held I/Os back, for some time in each. Of a
minute without that, a few seconds at the limit are not ruled out: pages of one provider say both
that any moment counts, and that it must go on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
import pandas as pd

Shares = np.ndarray[Any, np.dtype[np.float64]]
Limited = Literal["ios", "bytes"]

COLUMNS: dict[Limited, str] = {
    "ios": "over_iops_share",
    "bytes": "over_bandwidth_share",
}


@dataclass(frozen=True, eq=False)
class ReportedThrottle:
    """How far a provider reports that one limit of a disk was reached.

    `share`: for each interval, from 0 to 1; NaN where nothing is reported.
    """

    limited: Limited
    share: Shares

    def part(self, which: slice | np.ndarray[Any, Any]) -> Self:
        """The report on some intervals."""
        return replace(self, share=self.share[which])

    @property
    def is_of_all(self) -> bool:
        return not np.isnan(self.share).any()


def in_rows(rows: pd.DataFrame) -> Iterator[ReportedThrottle]:
    """The reports on the intervals of one disk. A limit of which nothing is reported has none."""
    for limited, column in COLUMNS.items():
        if column in rows and rows[column].notna().any():
            yield ReportedThrottle(limited, rows[column].to_numpy(float))
