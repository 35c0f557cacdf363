"""How many repetitions would settle what is open, at the noise seen so far. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from orchestrator.analysis.statistics import distributions
from orchestrator.analysis.statistics.stats import (
    CONFIDENCE,
    FLOOR_OF_CHANGES,
    Ratio,
    changes_by_block,
    spread_of_logs,
    t_quantile,
)

MAX_REPETITIONS = 50
LEAST_FOR_A_RANGE = 3  # repetitions, of which the spread is known at all
# Share of campaigns in which the range of the spread has the true one.
_SPREAD_HOLDS = 0.8


def repetitions_to_reach(
    baseline: Sequence[float],
    contender: Sequence[float],
    half_width: float,
    confidence: float = CONFIDENCE,
) -> int | None:
    """Blocks with which the interval's half width, of logarithms, would be `half_width`, if the
    noise seen so far is the true noise. None above 50, or with fewer than two blocks."""
    if len(baseline) < 2 or half_width <= 0:
        return None
    spread = spread_of_logs(changes_by_block(baseline, contender), FLOOR_OF_CHANGES)

    def same(_: int) -> float:
        return confidence

    return _repetitions_at(spread, half_width, same)


@dataclass(frozen=True)
class RepetitionsRange:
    """Least and most that may be needed; None above `MAX_REPETITIONS`."""

    least: int | None
    most: int | None


def repetitions_range(
    ratio: Ratio, count: int, half_width: float, confidence_of: Callable[[int], float]
) -> RepetitionsRange:
    """Values with which the half width of an interval would be `half_width`, by the interval that
    the standard deviation has from the `count` values of a ratio. `confidence_of`: that of the
    interval after so many. ValueError with fewer than `LEAST_FOR_A_RANGE`."""
    if count < LEAST_FOR_A_RANGE or ratio.error is None:
        raise ValueError(f"{count} values tell no range")
    freedom = ratio.freedom
    spread = ratio.error * math.sqrt(count)
    # The variance of normal values over the true one is chi-square by its degrees of freedom.
    tail = (1 - _SPREAD_HOLDS) / 2
    largest = distributions.chi_square_quantile(freedom, tail)
    least = distributions.chi_square_quantile(freedom, 1 - tail)
    low = spread * math.sqrt(freedom / largest)
    high = spread * math.sqrt(freedom / least)
    return RepetitionsRange(
        least=_repetitions_at(low, half_width, confidence_of),
        most=_repetitions_at(high, half_width, confidence_of),
    )


def _repetitions_at(
    spread: float, half_width: float, confidence_of: Callable[[int], float]
) -> int | None:
    for n in range(2, MAX_REPETITIONS + 1):
        quantile = t_quantile(0.5 + confidence_of(n) / 2, n - 1)
        if quantile * spread / math.sqrt(n) <= half_width:
            return n
    return None
