"""How many repetitions would settle what is open, at the noise seen so far. Pure."""

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
LEAST_FOR_A_RANGE = 3  # fewer repetitions do not tell how far their values spread
_SPREAD_CONFIDENCE = 0.8  # of the range in which the true spread is expected


def repetitions_to_reach(
    baseline: Sequence[float],
    contender: Sequence[float],
    half_width: float,
    confidence: float = CONFIDENCE,
) -> int | None:
    """How many repetitions make the interval of a change as narrow as `half_width`.

    `half_width`: half of the interval's length, as a logarithm of the ratio. The noise seen so far
    is taken for the true noise. None if more than `MAX_REPETITIONS` are needed, or if fewer than
    two were made.
    """
    if len(baseline) < 2 or half_width <= 0:
        return None
    changes = changes_by_block(baseline, contender)
    spread = spread_of_logs(changes, FLOOR_OF_CHANGES)

    def constant_confidence(_repetitions: int) -> float:
        return confidence

    return _repetitions_at(spread, half_width, constant_confidence)


@dataclass(frozen=True)
class RepetitionsRange:
    """Least and most that may be needed; None above `MAX_REPETITIONS`."""

    least: int | None
    most: int | None


def repetitions_range(
    ratio: Ratio, count: int, half_width: float, confidence_of: Callable[[int], float]
) -> RepetitionsRange:
    """The repetitions that are needed at the least and at the most that the true noise may be.

    `ratio`: what was measured in `count` repetitions. `confidence_of`: repetitions → confidence of
    the interval after so many. ValueError with fewer than `LEAST_FOR_A_RANGE`.
    """
    if count < LEAST_FOR_A_RANGE or ratio.error is None:
        raise ValueError(f"{count} values tell no range")
    freedom = ratio.freedom
    spread = ratio.error * math.sqrt(count)
    # The variance of normal values over the true one is chi-square by its degrees of freedom.
    tail = (1 - _SPREAD_CONFIDENCE) / 2
    largest_chi_square = distributions.chi_square_quantile(freedom, tail)
    least_chi_square = distributions.chi_square_quantile(freedom, 1 - tail)
    least_spread = spread * math.sqrt(freedom / largest_chi_square)
    largest_spread = spread * math.sqrt(freedom / least_chi_square)
    return RepetitionsRange(
        least=_repetitions_at(least_spread, half_width, confidence_of),
        most=_repetitions_at(largest_spread, half_width, confidence_of),
    )


def _repetitions_at(
    spread: float, half_width: float, confidence_of: Callable[[int], float]
) -> int | None:
    for repetitions in range(2, MAX_REPETITIONS + 1):
        probability = 0.5 + confidence_of(repetitions) / 2
        quantile = t_quantile(probability, repetitions - 1)
        if quantile * spread / math.sqrt(repetitions) <= half_width:
            return repetitions
    return None
