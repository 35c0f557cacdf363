"""What a disk itself counted of its limits in each second. Pure.

An emulated disk counts for how long limits held I/Os back, and how long these took in all: their
quotient is a share of the I/Os' time. An EBS volume counts for how long demand was above a limit of
its own or of its machine, which is a share of the time: the largest of its four counts is taken.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np

from orchestrator.analysis.telemetry.counters import counter_names, counter_series
from orchestrator.analysis.telemetry.counters.counter_series import Array, Key, Steps


@dataclass(frozen=True)
class CountedSeconds:
    """The seconds of which a disk's count is known.

    end_s: Unix, of each. held_back_pct: the share of the I/Os' time, or of the time, for which
    limits held back.
    """

    end_s: Array
    held_back_pct: Array

    def within(self, window: tuple[float, float]) -> Self:
        """The seconds that end in a window."""
        start_s, end_s = window
        inside = (self.end_s > start_s) & (self.end_s <= end_s)
        return type(self)(self.end_s[inside], self.held_back_pct[inside])

    def by_end(self) -> dict[float, float]:
        """End of a second → the share."""
        shares = zip(self.end_s.tolist(), self.held_back_pct.tolist(), strict=True)
        return dict(shares)

    def at(self, end_s: Array) -> Array:
        """The shares of these seconds; NaN where it is not known."""
        by_end = self.by_end()
        shares = [by_end.get(end, np.nan) for end in end_s.tolist()]
        return np.array(shares, dtype=float)


def of_node(rates: Mapping[Key, Steps], node: str) -> CountedSeconds:
    """What the disk of a node's data counted; no seconds if it does not count."""
    emulated = _of_emulated(rates, node)
    if emulated.end_s.size:
        return emulated
    return _of_ebs(rates, node)


def _of_emulated(rates: Mapping[Key, Steps], node: str) -> CountedSeconds:
    metrics = [counter_names.HELD_BACK_SECONDS, counter_names.SERVED_SECONDS]
    counted = counter_series.side_by_side(rates, node, metrics)
    held_back = counted.per_s[counter_names.HELD_BACK_SECONDS]
    served = counted.per_s[counter_names.SERVED_SECONDS]
    # Where nothing was answered it is not known for how long the limits kept what came.
    is_known = served > 0
    # Waiting is counted when an I/O comes, time when it is answered: their quotient may be above 1.
    shares_pct = np.minimum(100.0, 100 * held_back[is_known] / served[is_known])
    return CountedSeconds(counted.end_s[is_known], shares_pct)


def _of_ebs(rates: Mapping[Key, Steps], node: str) -> CountedSeconds:
    # Where one of the four is not known it may be the one that held I/Os back.
    counted = counter_series.side_by_side(rates, node, counter_names.EXCEEDED)
    largest = np.max(list(counted.per_s.values()), axis=0)
    return CountedSeconds(counted.end_s, np.minimum(100.0, 100 * largest))
