"""A disk that is slow for a time, and how a person names one disk of a node."""

from dataclasses import dataclass
from typing import Literal

SlowHow = Literal["share", "latency", "stall"]


# Ends the name of a node where the disk of its log is meant, as in `node-3.wal`.
LOG_OF_NODE = ".wal"


def disk_of_node(node: str, *, of_log: bool) -> str:
    """The disk's name for a person, in facts and checks: `node-3`, or `node-3.wal`."""
    if of_log:
        return f"{node}{LOG_OF_NODE}"
    return node


def whose_disk(node: str, *, of_log: bool) -> str:
    """Whose disk it is, in words: `node-3`, or `node-3's WAL`."""
    if of_log:
        return f"{node}'s WAL"
    return node


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
        return disk_of_node(self.node, of_log=self.of_log)

    @property
    def whose(self) -> str:
        return whose_disk(self.node, of_log=self.of_log)
