"""How often each value occurred: exact percentiles of more values than memory holds. Pure.

Latencies are whole microseconds, so that even of 10⁸ there are few distinct ones: what is kept
grows with these, and no value is rounded."""

import math
from collections.abc import Iterable

import numpy as np

from orchestrator.analysis.statistics import stats

_LOOSE = 2**20  # distinct values that may wait to be put in order with the others


class Counted:
    """Values with their counts. `total`: how many."""

    def __init__(self) -> None:
        self.total = 0
        self._sums: list[float] = []
        self._pieces: list[tuple[np.ndarray, np.ndarray]] = []

    def add(self, values: np.ndarray) -> None:
        if not len(values):
            return
        self.total += len(values)
        self._sums.append(float(np.sum(values)))
        self._pieces.append(np.unique(values, return_counts=True))
        in_order, _ = self._pieces[0]
        loose = sum(len(distinct) for distinct, _ in self._pieces[1:])
        # Putting them in order costs as much as there are, so it waits until they are as many.
        if loose > max(_LOOSE, len(in_order)):
            self._ordered()

    @property
    def mean(self) -> float:
        # Added without rounding: a long run comes in many tables, whose errors would add up.
        return math.fsum(self._sums) / self.total

    @property
    def most(self) -> float:
        return max(float(values[-1]) for values, _ in self._pieces)

    def percentile(self, percent: float) -> float:
        """The exact nearest-rank percentile: the ⌈p·n/100⌉-th smallest value, one that occurred.
        ValueError without values or outside 0 < percent ≤ 100."""
        ranks = np.array([stats.rank(self.total, percent)])
        return float(self.at_ranks(ranks)[0])

    def at_ranks(self, ranks: np.ndarray) -> np.ndarray:
        """The values that stand at these places in order, counted from 1."""
        values, counts = self._ordered()
        places = np.searchsorted(np.cumsum(counts), ranks)
        at_places: np.ndarray = values[places]
        return at_places

    def _ordered(self) -> tuple[np.ndarray, np.ndarray]:
        """All distinct values in order, with their counts; kept as the one piece."""
        if len(self._pieces) > 1:
            values = np.concatenate([values for values, _ in self._pieces])
            counts = np.concatenate([counts for _, counts in self._pieces])
            order = np.argsort(values, kind="stable")
            values = values[order]
            # Nothing equals NaN, so the first value always begins a group.
            first = np.flatnonzero(np.diff(values, prepend=np.nan))
            self._pieces = [(values[first], np.add.reduceat(counts[order], first))]
        return self._pieces[0]


def together(several: Iterable[Counted]) -> Counted:
    """All values of these."""
    whole = Counted()
    for part in several:
        whole.total += part.total
        whole._sums += part._sums
        whole._pieces += part._pieces
    return whole
