"""Latencies as quantiles: (probability, latency in s), from 0 to 1, straight between the points.

Such a table is what a disk is recorded as (`recorded_disk`), what the emulated disk draws
from, and what its gate is held to.
"""

import itertools
import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from operator import itemgetter
from typing import TypeVar

from orchestrator.tier import Quantiles, Tier

Value = TypeVar("Value", int, float)

MOST_POINTS = 1024  # the most that the emulated disk takes
MOST_LATENCY_S = 60.0
# Every percent, and the tail more closely: requests wait for the slowest of several.
_PROBABILITIES = (
    *(percent / 100 for percent in range(100)),
    *(0.992, 0.994, 0.995, 0.996, 0.998, 0.999, 0.9995, 0.9999),
)
# A percentile is known if so many lie beyond it, as everywhere here (docs/METHOD.md).
_BEYOND = 10


def mistakes(table: Quantiles) -> Iterator[str]:
    """What is wrong with a table; nothing if it can be drawn from."""
    probabilities = [probability for probability, _ in table]
    latencies_s = [latency_s for _, latency_s in table]
    # The checks below need a first and a last point.
    if not 2 <= len(table) <= MOST_POINTS:
        yield f"has {len(table)} points; 2 to {MOST_POINTS} work"
        return
    if (probabilities[0], probabilities[-1]) != (0, 1):
        yield "begins with probability 0 and ends with 1"
    if any(low >= high for low, high in itertools.pairwise(probabilities)):
        yield "has a probability twice, or not in rising order"
    if not all(0 < latency_s <= MOST_LATENCY_S for latency_s in latencies_s):
        yield f"has a latency that is not above 0 and at most {MOST_LATENCY_S:g} s"
    if any(low > high for low, high in itertools.pairwise(latencies_s)):
        yield "has a latency below that of a lower probability"


def quantile_s(table: Quantiles, probability: float) -> float:
    """The latency that requests do not exceed with this probability."""
    beyond = bisect_right(table, probability, key=itemgetter(0))
    # Nothing lies beyond probability 1, and the last stretch ends there.
    above = min(beyond, len(table) - 1)
    left, low_s = table[above - 1]
    right, high_s = table[above]
    return low_s + (probability - left) / (right - left) * (high_s - low_s)


def mean_s(table: Quantiles) -> float:
    """The mean: the area below the inverse distribution, by trapezoids."""
    areas: list[float] = []
    for (left, low_s), (right, high_s) in itertools.pairwise(table):
        areas.append((right - left) * (low_s + high_s) / 2)
    # Exact: a thousand small areas would lose digits one by one.
    return math.fsum(areas)


def nearest_rank(histogram: Mapping[Value, int], share: float) -> Value:
    """The smallest value, or class, that at least this share of all counted does not exceed."""
    values = sorted(histogram)
    # Ranks rise with the values, so the first that reaches the share is found by halves.
    ranks = list(itertools.accumulate(histogram[value] for value in values))
    return values[bisect_left(ranks, math.ceil(share * ranks[-1]))]


def of_histogram(counts: Mapping[float, int]) -> Quantiles:
    """A histogram (latency in s → requests) as a table, by nearest rank.

    The tail ends where fewer than ten requests lie beyond; the last point is the longest.
    ValueError if it is empty.
    """
    total = sum(counts.values())
    if not total:
        raise ValueError("no request was timed")
    table: list[tuple[float, float]] = []
    for probability in _PROBABILITIES:
        beyond = total - math.ceil(probability * total)
        if probability < 0.5 or beyond >= _BEYOND:
            table.append((probability, nearest_rank(counts, probability)))
    table.append((1.0, max(counts)))
    return tuple(table)


def is_constant(tier: Tier) -> bool:
    """Whether a disk has no tail of latencies, as no real one is, so that no p99 is comparable."""
    if not tier.disk.holds_limits:
        return False
    has_constant_log = tier.wal is not None and tier.wal.latency.model is None
    return tier.latency.model is None or has_constant_log


def described(tier: Tier) -> str:
    """What the latencies of an emulated disk are, for reports; "" for any other disk."""
    if not tier.disk.holds_limits:
        return ""
    model = tier.latency.model
    if model is None:
        return "constant (p99 is not comparable)"
    return f"modelled from {model.source}, as of {model.as_of}"
