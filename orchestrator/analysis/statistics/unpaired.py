"""The ratio of two groups of values that share no block: measured at different times. Pure.

Values of one campaign's tiers stand in blocks (`stats.ratio_of_means`); those of two campaigns do
not, because no repetition of the one was made beside one of the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from orchestrator.analysis.statistics import stats
from orchestrator.analysis.statistics.stats import CONFIDENCE, Ratio


def ratio(before: Sequence[float], after: Sequence[float], confidence: float = CONFIDENCE) -> Ratio:
    """The ratio of `after` to `before`, of geometric means, with Welch's interval on logarithms.

    Assumes independent values. No interval if a side has one value. ValueError if a side is empty,
    or a value is not positive and finite.
    """
    if not before or not after:
        raise ValueError("a ratio needs a value on each side")
    left, right = stats.logs_for_ratio(before), stats.logs_for_ratio(after)
    change = float(right.mean() - left.mean())
    if min(left.size, right.size) < 2:
        return Ratio(math.exp(change), None, None, None)
    errors = [stats.spread_of_logs(side) / math.sqrt(side.size) for side in (left, right)]
    freedom = _freedom(errors, [left.size, right.size])
    return stats.ratio_by_t(change, math.hypot(*errors), freedom, confidence)


def ratio_across_days(
    before: Sequence[float],
    after: Sequence[float],
    history: Sequence[Sequence[float]],
    confidence: float = CONFIDENCE,
) -> Ratio:
    """As `ratio`, with an interval that also holds what differs between campaigns of equal truth.

    `history`: the values of other campaigns, at least two. Their means spread as those of both
    sides do, so the difference of two such means has Student's prediction interval with k - 1
    degrees of freedom (Hahn and Meeker 1991). As many values of each are used as the smaller side
    has, for the mean of more is steadier. Of that interval and Welch's the wider holds.
    ValueError as `ratio`.
    """
    alone = ratio(before, after, confidence)
    if alone.low is None:
        return alone
    count = min(len(before), len(after))
    means = np.asarray([stats.logs_for_ratio(values[:count]).mean() for values in history])
    error = math.sqrt(2) * stats.spread_of_logs(means)
    days = stats.ratio_by_t(math.log(alone.ratio), error, means.size - 1, confidence)
    wider = min(alone, days, key=lambda one: one.low or 0.0)
    return replace(wider, p_value=max(alone.p_value or 0.0, days.p_value or 0.0))


def _freedom(errors: Sequence[float], counts: Sequence[int]) -> float:
    """Degrees of freedom, more careful than Welch's own.

    Welch and Satterthwaite's are too many for two to five values a side of unlike noise: up to 6 %
    false alarms instead of 5 %, and 10 % if the counts differ too. Those of the smaller side are
    the proven lower bound (Mickey and Brown 1966); half-way to it holds the 5 % with equal counts.
    """
    least = float(min(counts) - 1)
    if counts[0] != counts[1]:
        return least
    squares = [error**2 for error in errors]
    parts = (square**2 / (count - 1) for square, count in zip(squares, counts, strict=True))
    return (sum(squares) ** 2 / sum(parts) + least) / 2
