"""Values of different days: the ratio of two groups that share no block, and where a series changed
its level. Pure; what is drawn is seeded, so the same series, the same answer.

Values of one campaign's tiers stand in blocks (`stats.ratio_of_means`); those of two campaigns do
not, because no repetition of the one was made beside one of the other.

Levels: E-divisive means (Matteson and James 2014), as R's `ecp` carries it out: bisection at the
largest energy distance, tested by permutation, until the first split that chance explains."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from orchestrator.analysis.statistics import stats

LEVEL = 0.05  # chance that a series without any change gets one
# Values between changes: of a single one nobody knows whether it is the new level.
SMALLEST = 2
# Values below which no split into two can be rarer than `LEVEL` among permutations.
FEWEST = 8
PERMUTATIONS = 999
# Any number will do, but always the same one: the same series has the same answer.
SEED = 2014
# Permutations are worked out in batches of so many distances, so that memory does not grow.
_NUMBERS_AT_ONCE = 50_000


def ratio(
    before: Sequence[float],
    after: Sequence[float],
    history: Sequence[Sequence[float]] = (),
) -> stats.Ratio:
    """The ratio of `after` to `before`, of geometric means, with Welch's interval on logarithms.
    Assumes independent values. No interval if a side has one value. ValueError if a side is empty,
    or a value is not positive and finite.

    `history`: the values of other campaigns, at least two, for an interval that also holds what
    differs between campaigns of equal truth."""
    if not before or not after:
        raise ValueError("a ratio needs a value on each side")
    left = stats.logs_for_ratio(before)
    right = stats.logs_for_ratio(after)
    change = stats.mean_of_logs(right) - stats.mean_of_logs(left)
    count = min(left.size, right.size)
    if count < 2:
        return stats.Ratio(math.exp(change), None, None, None)
    alone = _by_welch(change, left, right)
    if not history:
        return alone
    # Each has as many values as the smaller side: the mean of more would be steadier.
    days = _by_days(change, [values[:count] for values in history])
    # Noise within both campaigns is seen in one, that between days in the other: the wider holds.
    wider = min(alone, days, key=_low)
    return replace(wider, p_value=max(alone.p_value or 0.0, days.p_value or 0.0))


def _by_welch(change: float, left: np.ndarray, right: np.ndarray) -> stats.Ratio:
    """The ratio with an interval by the noise within both sides alone."""
    errors = [_error_of_mean(left), _error_of_mean(right)]
    freedom = _freedom(errors, [left.size, right.size])
    return stats.ratio_by_t(change, math.hypot(*errors), freedom, stats.CONFIDENCE)


def _by_days(change: float, history: Sequence[Sequence[float]]) -> stats.Ratio:
    """The ratio with Student's prediction interval of k − 1 degrees of freedom, by how the means of
    other campaigns spread (Hahn and Meeker 1991)."""
    means = [stats.mean_of_logs(stats.logs_for_ratio(values)) for values in history]
    # Both means differ between days as these do, so their difference varies √2 times as much.
    error = math.sqrt(2) * stats.spread_of_logs(np.asarray(means))
    return stats.ratio_by_t(change, error, len(means) - 1, stats.CONFIDENCE)


def _error_of_mean(logs: np.ndarray) -> float:
    return stats.spread_of_logs(logs) / math.sqrt(logs.size)


def _low(ratio: stats.Ratio) -> float:
    return ratio.low or 0.0


def _freedom(errors: Sequence[float], counts: Sequence[int]) -> float:
    """Degrees of freedom, more careful than Welch's own."""
    # The proven lower bound: those of the smaller side (Mickey and Brown 1966).
    least = float(min(counts) - 1)
    # Welch and Satterthwaite's are too many for two to five values a side of unlike noise. With
    # unlike counts up to 10 % false alarms instead of 5 %, with equal ones 6 %.
    if counts[0] != counts[1]:
        return least
    squares = [error**2 for error in errors]
    parts: list[float] = []
    for square, count in zip(squares, counts, strict=True):
        parts.append(square**2 / (count - 1))
    by_welch = sum(squares) ** 2 / sum(parts)
    # The point half-way to the lower bound holds the 5 % if counts are equal.
    return (by_welch + least) / 2


def change_points(values: Sequence[float] | np.ndarray) -> tuple[int, ...]:
    """Places where a new level is proven to begin, of finite values; none of fewer than FEWEST."""
    data = np.asarray(values, dtype=float)
    if not np.isfinite(data).all():
        raise ValueError("a series of finite values is expected")
    if data.size < FEWEST:
        return ()
    distances = np.abs(data[:, None] - data[None, :])
    draw = np.random.default_rng(SEED)
    borders = [0, int(data.size)]
    # One cut after the other, until chance explains the best that is left.
    while True:
        best, place = _best_split(distances, borders)
        if place is None or not _is_rare(distances, borders, best, draw):
            return tuple(borders[1:-1])
        borders = sorted([*borders, place])


def _stretches(borders: Sequence[int]) -> list[slice]:
    """The stretches that are long enough to be split."""
    return [
        slice(low, high)
        for low, high in pairwise(borders)
        if high - low >= 2 * SMALLEST
    ]


def _best_split(
    distances: np.ndarray, borders: Sequence[int]
) -> tuple[float, int | None]:
    """The largest energy of any split of any stretch, and its place."""
    splits: list[tuple[float, int]] = []
    for stretch in _stretches(borders):
        energies = _energies(distances[stretch, stretch])
        index = int(energies.argmax())
        splits.append((float(energies[index]), stretch.start + SMALLEST + index))
    return max(splits, default=(0.0, None))


def _energies(distances: np.ndarray) -> np.ndarray:
    """The scaled energy distance of both sides of each split, the first at SMALLEST: with m and n
    values, mn/(m+n) · (2·mean between − mean within left − mean within right), moment 1.
    `distances`: the last two axes are those of a series; others are several series."""
    size = distances.shape[-1]
    sums = distances.cumsum(-2).cumsum(-1)
    left = np.arange(SMALLEST, size - SMALLEST + 1)
    right = size - left
    # Sums over a square of the table have each pair twice.
    sum_left = sums[..., left - 1, left - 1]
    sum_left_with_all = sums[..., left - 1, -1]
    sum_right = sums[..., -1, -1, None] - 2 * sum_left_with_all + sum_left
    between = (sum_left_with_all - sum_left) / (left * right)
    within_left = sum_left / (left * (left - 1))
    within_right = sum_right / (right * (right - 1))
    energies = 2 * between - within_left - within_right
    return np.asarray(left * right / size * energies)


def _is_rare(
    distances: np.ndarray,
    borders: Sequence[int],
    seen: float,
    draw: np.random.Generator,
) -> bool:
    """Whether the values of each stretch, in any order, split as well as they do in time at most
    LEVEL of the time."""
    # The chance is (as good + 1) / (PERMUTATIONS + 1): the order in time is one of them.
    allowed = LEVEL * (PERMUTATIONS + 1) - 1
    at_once = max(1, _NUMBERS_AT_ONCE // distances.size)
    done = 0
    as_good = 0
    # Once too many are as good, the rest cannot make the split rare again.
    while done < PERMUTATIONS and as_good <= allowed:
        count = min(at_once, PERMUTATIONS - done)
        best = _best_of_shuffled(distances, borders, count, draw)
        # The same sums, in another order, differ in their last digits.
        as_good += int((best >= seen * (1 - 1e-12)).sum())
        done += count
    return as_good <= allowed


def _best_of_shuffled(
    distances: np.ndarray, borders: Sequence[int], count: int, draw: np.random.Generator
) -> np.ndarray:
    """The largest energy of any split, of `count` orders drawn by lot within the stretches."""
    best = np.zeros(count)
    for stretch in _stretches(borders):
        places = np.tile(np.arange(stretch.start, stretch.stop), (count, 1))
        order = draw.permuted(places, axis=1)
        shuffled = distances[order[:, :, None], order[:, None, :]]
        best = np.maximum(best, _energies(shuffled).max(axis=-1))
    return best
