"""What was at its limit over time, second by second and in stretches. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from orchestrator.report.charts.points import Array, Groups, Numbers, grouped


@dataclass
class Stretch:
    """A time in which a tier has one limit, from its begin to its end.

    tier: its place among those of the page; limit: "" for none."""

    tier: int
    limit: str
    begin: float
    end: float


@dataclass(frozen=True)
class LimitsOverTime:
    """What was at its limit in each second. tier: the place of its tier among those of the page."""

    tier: Numbers
    seconds: Array
    limit: Any

    def stretches(self, bin_s: int) -> list[Stretch]:
        """What was at its limit in most seconds of each bin; alike neighbours are one stretch."""
        stretches: list[Stretch] = []
        for part in self._bins(bin_s):
            _add(stretches, part)
        return stretches

    def _bins(self, bin_s: int) -> Iterator[Stretch]:
        # Rounded down, not towards zero: seconds of the warm-up are negative.
        begin = np.floor(self.seconds / bin_s) * bin_s
        bins = grouped(self.tier, begin)
        most = _most_frequent(self.limit, bins)
        for row, limit in zip(bins.first.tolist(), most, strict=True):
            begin_s = float(begin[row])
            yield Stretch(int(self.tier[row]), limit, begin_s, begin_s + bin_s)


def _most_frequent(names: Any, groups: Groups) -> list[str]:
    """For each group, the name that it has most often; of several the first in the alphabet."""
    if not len(names):
        return []
    kinds, numbers = np.unique(names.astype(str), return_inverse=True)
    size = len(groups.first) * len(kinds)
    times = np.bincount(groups.number * len(kinds) + numbers, minlength=size)
    most = times.reshape(-1, len(kinds)).argmax(axis=1)
    texts: list[str] = kinds[most].tolist()
    return texts


def _add(stretches: list[Stretch], part: Stretch) -> None:
    """Makes the last stretch longer by a part, or begins another one with it."""
    if stretches:
        last = stretches[-1]
        if (last.tier, last.limit) == (part.tier, part.limit):
            last.begin = min(last.begin, part.begin)
            last.end = max(last.end, part.end)
            return
    stretches.append(part)
