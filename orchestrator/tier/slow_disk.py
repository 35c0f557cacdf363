"""A disk that is slow for a time."""

from dataclasses import dataclass
from typing import Literal

SlowHow = Literal["share", "latency", "stall"]


@dataclass(frozen=True)
class SlowDisk:
    """The disk of one node is slow for `lasts_s` of the window, as of a workload's `slow`.

    `how`: `share`: it has `amount` percent of its IOPS and bytes/s; `latency`: it takes `amount`
    times as long; `stall`: it answers nothing, and `amount` is 0. `after_s`: how long after the
    window's begin; None: as long as is left of the window behind it.
    """

    node: str
    how: SlowHow
    amount: float
    lasts_s: float
    after_s: float | None = None
