"""Where a series changed its level: E-divisive means. Pure; seeded, so the same series, the same
answer.

The method of Matteson and James (2014), "A Nonparametric Approach for Multiple Change Point
Analysis of Multivariate Data", as R's `ecp` carries it out and as Daly et al. (2020) use it for
performance tests: bisection at the largest energy distance, tested by permutation, until the first
split that chance explains. Hunter (Fleming et al. 2023) tests by Student's t instead, because it
has long series and wants no random draw; a series of campaigns is short, the draw is seeded, and
permutation assumes no distribution. Error rates: docs/ERROR-RATES.md, `make bench NAME=history`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

LEVEL = 0.05  # chance that a series without any change gets one
SMALLEST = 2  # values between changes: of a single one nobody knows whether it is the new level
FEWEST = 8  # values below which no split into two can be rarer than `LEVEL` among permutations
PERMUTATIONS = 999
SEED = 2014  # any; fixed
_NUMBERS_AT_ONCE = 50_000


def find(values: Sequence[float] | np.ndarray) -> tuple[int, ...]:
    """Places at which a new level begins, in order; empty if none is proven or `values` are fewer
    than FEWEST. Values must be finite."""
    data = np.asarray(values, dtype=float)
    if not np.isfinite(data).all():
        raise ValueError("a series of finite values is expected")
    if data.size < FEWEST:
        return ()
    distances = np.abs(data[:, None] - data[None, :])
    draw = np.random.default_rng(SEED)
    borders = [0, int(data.size)]
    while True:
        best, place = _best_split(distances, borders)
        if place is None or not _is_rare(distances, borders, best, draw):
            return tuple(borders[1:-1])
        borders = sorted([*borders, place])


def _stretches(borders: Sequence[int]) -> list[slice]:
    """Those long enough to be split."""
    return [slice(low, high) for low, high in pairwise(borders) if high - low >= 2 * SMALLEST]


def _best_split(distances: np.ndarray, borders: Sequence[int]) -> tuple[float, int | None]:
    """The largest energy of any split of any stretch, and its place."""
    found: list[tuple[float, int]] = []
    for one in _stretches(borders):
        energies = _energies(distances[one, one])
        index = int(energies.argmax())
        found.append((float(energies[index]), one.start + SMALLEST + index))
    return max(found, default=(0.0, None))


def _energies(distances: np.ndarray) -> np.ndarray:
    """The scaled energy distance of both sides of each split, the first at SMALLEST: with m and n
    values, mn/(m+n) · (2·mean between − mean within left − mean within right), moment 1.

    `distances`: the last two axes are those of a series; others are several series.
    """
    size = distances.shape[-1]
    sums = distances.cumsum(-2).cumsum(-1)
    left = np.arange(SMALLEST, size - SMALLEST + 1)
    right = size - left
    within_left = sums[..., left - 1, left - 1]  # each pair twice
    of_left = sums[..., left - 1, -1]  # with all
    within_right = sums[..., -1, -1, None] - 2 * of_left + within_left
    between = (of_left - within_left) / (left * right)
    inside = within_left / (left * (left - 1)) + within_right / (right * (right - 1))
    return np.asarray(left * right / size * (2 * between - inside))


def _is_rare(
    distances: np.ndarray, borders: Sequence[int], seen: float, draw: np.random.Generator
) -> bool:
    """Whether the values of each stretch, in any order, split as well as they do in time at most
    LEVEL of the time: (as good + 1) / (PERMUTATIONS + 1)."""
    allowed = LEVEL * (PERMUTATIONS + 1) - 1
    at_once = max(1, _NUMBERS_AT_ONCE // distances.size)
    done = as_good = 0
    while done < PERMUTATIONS and as_good <= allowed:
        count = min(at_once, PERMUTATIONS - done)
        best = np.zeros(count)
        for one in _stretches(borders):
            places = np.tile(np.arange(one.start, one.stop), (count, 1))
            order = draw.permuted(places, axis=1)
            shuffled = distances[order[:, :, None], order[:, None, :]]
            best = np.maximum(best, _energies(shuffled).max(axis=-1))
        as_good += int((best >= seen * (1 - 1e-12)).sum())  # the same sums, in another order
        done += count
    return as_good <= allowed
