"""What a simulation draws by chance, in the order in which it asks. Pure.

Equal seeds draw the same latencies on all disks of one table, so these are worked out once.
"""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from orchestrator.tier import Quantiles

DRAWS = 2**14  # different values of a series, which then come again
_MOST_KEPT = 128  # series of latencies, an eighth of a megabyte for each


class Draws:
    """The draws of one simulation. Each series has no end, and begins where the one before ended in
    the seed's random numbers."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._numbers = np.random.PCG64(seed)
        self._passed = 0  # numbers that latencies have used

    def latencies(self, table: Quantiles) -> Iterator[float]:
        """Latencies in seconds, whose distribution is the table. They are asked for before all
        pauses."""
        latencies_s = _latencies(table, self._seed, self._passed)
        self._passed += DRAWS
        self._numbers.advance(DRAWS)
        return itertools.cycle(latencies_s)

    def pauses(self, mean: float) -> Iterator[float]:
        """Pauses between what happens by chance, with this mean: exponentially distributed."""
        pauses = np.random.Generator(self._numbers).exponential(mean, DRAWS)
        return itertools.cycle(_numbers_of(pauses))


@lru_cache(maxsize=_MOST_KEPT)
def _latencies(table: Quantiles, seed: int, passed: int) -> array[float]:
    """A series of latencies, drawn after so many numbers of the seed."""
    numbers = np.random.PCG64(seed).advance(passed)
    drawn = np.random.Generator(numbers).random(DRAWS)
    shares, times_s = np.array(table).T
    return _numbers_of(np.interp(drawn, shares, times_s))


def _numbers_of(drawn: np.ndarray) -> array[float]:
    """The same as Python's numbers. A simulation uses a part of them, and only these are made."""
    return array("d", drawn.tobytes())
