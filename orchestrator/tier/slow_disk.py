"""A disk that is slow for a time, and how a person names one disk of a node."""

from dataclasses import dataclass
from typing import Literal

SlowHow = Literal["share", "latency", "stall"]


# Ends the name of a node where the disk of its log is meant, as in `node-3.wal`.
LOG_OF_NODE = ".wal"


@dataclass(frozen=True)
class SlowDisk:
    """The disk of one node is slow for `lasts_s` of the window, as of a workload's `slow`.

    `how`: `share`: it has `amount` percent of its IOPS and bytes/s; `latency`: it takes `amount`
    times as long; `stall`: it answers nothing, and `amount` is 0. `after_s`: how long after the
    window's begin; None: as long as is left of the window behind it. `of_log`: it is the disk that
    holds only the node's WAL.
    """

    node: str
    how: SlowHow
    amount: float
    lasts_s: float
    after_s: float | None = None
    of_log: bool = False

    @property
    def disk(self) -> str:
        """The disk's name, as `node-3` or `node-3.wal`."""
        if self.of_log:
            return f"{self.node}{LOG_OF_NODE}"
        return self.node
