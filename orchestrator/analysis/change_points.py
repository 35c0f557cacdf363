"""Where a series changed its level: E-divisive means. Pure; seeded, so the same series, the same
answer.

The method of Matteson and James (2014), "A Nonparametric Approach for Multiple Change Point
Analysis of Multivariate Data", as R's `ecp` carries it out and as Daly et al. (2020) use it for
performance tests: bisection at the largest energy distance, tested by permutation, until the first
split that chance explains. Hunter (Fleming et al. 2023) tests by Student's t instead, because it
has long series and wants no random draw; a series of campaigns is short, the draw is seeded, and
permutation assumes no distribution. Error rates: docs/METHOD.md, `make bench-history`.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

LEVEL = 0.05  # chance that a series without any change gets one
SMALLEST = 2  # values between changes: of a single one nobody knows whether it is the new level
FEWEST = 8  # values below which no split into two can be rarer than `LEVEL` among permutations
PERMUTATIONS = 999
SEED = 20_140  # any; fixed


def find(values: Sequence[float]) -> tuple[int, ...]:
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
        best, place = _best(distances, borders)
        if place is None or _p_value(distances, borders, best, draw) > LEVEL:
            return tuple(borders[1:-1])
        borders = sorted([*borders, place])


def _best(distances: np.ndarray, borders: Sequence[int]) -> tuple[float, int | None]:
    """The largest statistic of any split of any stretch between borders, and its place."""
    found: list[tuple[float, int]] = []
    for low, high in itertools.pairwise(borders):
        if high - low >= 2 * SMALLEST:
            statistics = _energies(distances[low:high, low:high])
            index = int(statistics.argmax())
            found.append((float(statistics[index]), low + SMALLEST + index))
    return max(found, default=(0.0, None))


def _energies(distances: np.ndarray) -> np.ndarray:
    """The scaled energy distance of both sides of each split, first at SMALLEST: with m and n
    values, mn/(m+n) · (2·mean between − mean within left − mean within right), moment 1."""
    size = len(distances)
    sums = distances.cumsum(0).cumsum(1)
    left = np.arange(SMALLEST, size - SMALLEST + 1)
    right = size - left
    within_left = sums[left - 1, left - 1]  # each pair twice
    either = sums[left - 1, -1]  # of the left with all
    within_right = sums[-1, -1] - 2 * either + within_left
    between = (either - within_left) / (left * right)
    inside = within_left / (left * (left - 1)) + within_right / (right * (right - 1))
    return np.asarray(left * right / size * (2 * between - inside))


def _p_value(
    distances: np.ndarray, borders: Sequence[int], seen: float, draw: np.random.Generator
) -> float:
    """How often the values of each stretch, in any order, split as well as they do in time."""
    as_good = 0
    for _ in range(PERMUTATIONS):
        order = np.concatenate(
            [low + draw.permutation(high - low) for low, high in itertools.pairwise(borders)]
        )
        best, _ = _best(distances[np.ix_(order, order)], borders)
        as_good += best >= seen * (1 - 1e-12)  # the same sums, maybe in another order
    return (as_good + 1) / (PERMUTATIONS + 1)
