"""The statistics, and nothing else: numbers in, numbers out.

Method and limits: docs/research/RULES.md.

One value per repetition is one observation: what happens within a run is not independent and is
never counted as more. NumPy and SciPy do the maths."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from orchestrator.analysis.statistics import distributions

CONFIDENCE = 0.95
# The relative standard deviation between repetitions is never taken for less. Two or three values
# can agree by luck, and would prove anything.
NOISE_FLOOR = 0.005
# A change has the noise of both sides, whose variances add up.
FLOOR_OF_CHANGES = math.sqrt(2) * NOISE_FLOOR
# The value is 1 at least, if one treatment has all the noise. It is k − 1 at most, if all k have
# the same. With 1.5 a claim at the margin is false in 1.8 to 6.6 % of pairs
# (docs/research/ERROR-RATES.md).
_FREEDOM_OF_TWO_BLOCKS = 1.5
# Observations beyond a percentile, without which it is one or two outliers.
MIN_BEYOND = 10


@dataclass(frozen=True)
class Summary:
    """The mean of repetitions with its t interval; no interval where n < 2."""

    n: int
    mean: float
    median: float
    ci_low: float | None
    ci_high: float | None


def summarise(values: Sequence[float], confidence: float = CONFIDENCE) -> Summary:
    """Mean, median and Student's t interval of the mean. ValueError without values."""
    data = np.asarray(values, dtype=float)
    if data.size == 0 or not np.isfinite(data).all():
        raise ValueError(
            f"expected at least one value, all finite, got {list(values)!r}"
        )
    mean = float(data.mean())
    median = float(np.median(data))
    if data.size < 2:
        return Summary(n=1, mean=mean, median=median, ci_low=None, ci_high=None)
    standard_error = float(data.std(ddof=1)) / math.sqrt(data.size)
    quantile = t_quantile(0.5 + confidence / 2, data.size - 1)
    half_width = quantile * standard_error
    low = mean - half_width
    high = mean + half_width
    return Summary(n=int(data.size), mean=mean, median=median, ci_low=low, ci_high=high)


def rank(count: int, percent: float) -> int:
    """Its place among `count` values in order, from 1. ValueError if 0, or outside 0 < p ≤ 100."""
    if count == 0 or not 0 < percent <= 100:
        raise ValueError(f"no {percent}th percentile of {count} values")
    # Multiplied in the order in which NumPy does, so that both round to the same place.
    return math.ceil(count * (percent / 100))


def percentile_min_count(percent: float) -> int:
    """Observations it needs, ten beyond it: 1,000 for p99. ValueError outside 0 ≤ percent < 100."""
    if not 0 <= percent < 100:
        raise ValueError(f"a percentile below 100 is expected, got {percent}")
    # The quotient is rounded: 1 − 0.9 is a little less than 0.1, and p90 would need 101 of them.
    return math.ceil(round(MIN_BEYOND / (1 - percent / 100), 6))


@dataclass(frozen=True)
class Ratio:
    """Contender over baseline, of geometric means. `error`: the standard error of its logarithm,
    with so many degrees of `freedom`. Without an interval `p_value` and `error` are None too."""

    ratio: float
    low: float | None
    high: float | None
    p_value: float | None
    error: float | None = None
    freedom: float = 1.0

    @property
    def change_pct(self) -> float:
        return (self.ratio - 1) * 100

    @property
    def interval_pct(self) -> tuple[float, float] | None:
        if self.low is None or self.high is None:
            return None
        return (self.low - 1) * 100, (self.high - 1) * 100

    def at(self, confidence: float) -> Ratio:
        """The same ratio with the interval of another confidence."""
        if self.error is None:
            return self
        return ratio_by_t(math.log(self.ratio), self.error, self.freedom, confidence)

    def chance_beyond(self, bound: float) -> float:
        """One-sided p-value of the hypothesis that it is `bound` or more; 1 without an interval."""
        if self.error is None:
            return 1.0
        # Student's test on logarithms, as the interval has it: both agree at their ends.
        t = math.log(self.ratio / bound) / self.error
        return distributions.t_below(self.freedom, t)


def ratio_of_means(
    baseline: Sequence[float],
    contender: Sequence[float],
    confidence: float = CONFIDENCE,
) -> Ratio:
    """The ratio of contender to baseline, with an interval by Student's paired test on logarithms.
    The values stand in blocks: the i-th of both sides are of the same repetition. No interval if
    there is one block. ValueError if a value is not positive and finite (such a ratio has no
    meaning), or if a side has no values or more than the other."""
    # The test is paired, as what slows a whole repetition down then cancels out (Student 1908). It
    # is one of logarithms, because noise of rates and times is proportional. The interval is then
    # the same whichever side is called the baseline (Hedges, Gurevitch and Curtis 1999).
    return _ratio_of_logs(
        changes_by_block(baseline, contender), FLOOR_OF_CHANGES, confidence
    )


def _ratio_of_logs(logs: np.ndarray, floor: float, confidence: float) -> Ratio:
    """The ratio of the mean of logarithms, by Student's test; below two values without an
    interval."""
    if logs.size < 2:
        return Ratio(math.exp(mean_of_logs(logs)), None, None, None)
    error = spread_of_logs(logs, floor) / math.sqrt(logs.size)
    return ratio_by_t(mean_of_logs(logs), error, logs.size - 1, confidence)


def ratio_beside_order(
    baseline: Sequence[float],
    contender: Sequence[float],
    first: Sequence[float],
    confidence: float = CONFIDENCE,
) -> Ratio:
    """The ratio as from `ratio_of_means`, with the order within a block as a factor.

    The first run of a block may be slower than the others, or faster, in every block alike.
    `first`: for each block 1 if the contender came first, −1 if the baseline did, else 0. It is the
    least squares of a line. ValueError as from `ratio_of_means`.
    """
    logs = changes_by_block(baseline, contender)
    order = np.asarray(first, dtype=float)
    middle = float(order.mean())
    weight = float(((order - middle) ** 2).sum())
    # An order that never changes cannot be told from the treatments.
    if weight <= 0 or logs.size <= 2:
        return _ratio_of_logs(logs, FLOOR_OF_CHANGES, confidence)
    slope = float(((order - middle) * logs).sum()) / weight
    off = logs - logs.mean() - slope * (order - middle)
    # The mean and the slope are fitted: each costs a degree of freedom.
    freedom = logs.size - 2
    spread = max(math.sqrt(float((off**2).sum()) / freedom), FLOOR_OF_CHANGES)
    error = spread * math.sqrt(1 / logs.size + middle**2 / weight)
    # The change is the line at zero, where neither came first. It is not that at the middle of the
    # orders that there were.
    change = float(logs.mean()) - slope * middle
    return ratio_by_t(change, error, freedom, confidence)


def ratio_of_two_blocks(
    baseline: Sequence[float],
    contender: Sequence[float],
    others: Sequence[Sequence[float]],
    confidence: float = CONFIDENCE,
) -> Ratio:
    """The ratio as from `ratio_of_means`, of two blocks.

    A pair has only one difference of differences there, so the spread is taken from all treatments:
    `others` are those beside the pair. ValueError as from `ratio_of_means`, and if there are not
    two blocks.
    """
    # Change of each treatment, from the first block to the second.
    changes: list[float] = []
    for values in (baseline, contender, *others):
        if len(values) != 2:
            raise ValueError("two blocks need two values of each treatment")
        first, second = logs_for_ratio(values)
        changes.append(float(second - first))
    # The mean variance of all pairs is 2 ÷ k of the sum of the variances of k treatments. Times
    # k ÷ 2 it is on average never below that of any pair, whichever treatment has the noise.
    variance = len(changes) * float(np.var(changes, ddof=1)) / 4
    error = max(math.sqrt(variance), FLOOR_OF_CHANGES / math.sqrt(2))
    change = float(changes_by_block(baseline, contender).mean())
    return ratio_by_t(change, error, _FREEDOM_OF_TWO_BLOCKS, confidence)


def ratio_by_t(change: float, error: float, freedom: float, confidence: float) -> Ratio:
    """The ratio with its interval by Student's t.

    `change`: of logarithms; `error`: its standard error.
    """
    half = t_quantile(0.5 + confidence / 2, freedom) * error
    p_value = 2 * distributions.t_below(freedom, -abs(change) / error)
    # The end is at most what a float holds: two values and the level of an early look may ask for
    # more.
    low = math.exp(change - half)
    high = math.exp(min(change + half, 700.0))
    return Ratio(
        ratio=math.exp(change),
        low=low,
        high=high,
        p_value=p_value,
        error=error,
        freedom=freedom,
    )


def ratio_of_all(baseline: Sequence[float], contender: Sequence[float]) -> Ratio:
    """The ratio of contender to baseline, of the means of all values, without an interval: for
    values that stand in no blocks, or of which one is zero. ValueError as `summarise`."""
    return Ratio(summarise(contender).mean / summarise(baseline).mean, None, None, None)


def changes_by_block(
    baseline: Sequence[float], contender: Sequence[float]
) -> np.ndarray:
    """Logarithms of contender ÷ baseline, block by block."""
    if not baseline or len(baseline) != len(contender):
        raise ValueError("a ratio needs a value on each side of every block")
    changes: np.ndarray = logs_for_ratio(contender) - logs_for_ratio(baseline)
    return changes


def logs_for_ratio(values: Sequence[float]) -> np.ndarray:
    """Their natural logarithms. ValueError if a value is not positive and finite."""
    # NaN is neither.
    if not all(0 < value < math.inf for value in values):
        raise ValueError("a ratio needs values above zero")
    logs: np.ndarray = np.log(np.asarray(values))
    return logs


def geometric_mean(values: Sequence[float], confidence: float = CONFIDENCE) -> Ratio:
    """The geometric mean as a ratio to 1, by Student's test on logarithms.

    Below two values: no interval.
    """
    return _ratio_of_logs(logs_for_ratio(values), NOISE_FLOOR, confidence)


def share_below(
    values: Sequence[float], limit: float, confidence: float = CONFIDENCE
) -> float:
    """The share of single values that is proven to lie below `limit`, by the one-sided tolerance
    bound of normal logarithms (Hahn and Meeker 1991); 0 below two values, all above zero."""
    if len(values) < 2:
        return 0.0
    logs = np.log(np.asarray(values))
    # The bound's place, in standard errors, follows noncentral t: its offset is that of the share.
    root = math.sqrt(len(values))
    room = root * (math.log(limit) - float(logs.mean())) / spread_of_logs(logs)
    deviations = distributions.t_offset(logs.size - 1, confidence, room) / root
    return distributions.normal_below(deviations)


def chance_of_share_above(values: Sequence[float], limit: float) -> float | None:
    """One-sided p-value of the hypothesis that the arithmetic mean of shares, which may be zero, is
    `limit` or more; None below two values. No less spread than `NOISE_FLOOR` × `limit` is taken."""
    if len(values) < 2:
        return None
    data = np.asarray(values, dtype=float)
    # Shares that are all zero have no spread, and would prove any limit to be kept.
    spread = max(float(data.std(ddof=1)), NOISE_FLOOR * limit)
    error = spread / math.sqrt(data.size)
    t = (float(data.mean()) - limit) / error
    return distributions.t_below(data.size - 1, t)


def mean_of_logs(logs: np.ndarray) -> float:
    """The same as numpy's `mean`, which takes twice as long for a few values."""
    return float(logs.sum()) / logs.size


def spread_of_logs(logs: np.ndarray, floor: float = NOISE_FLOOR) -> float:
    """The standard deviation, but never below the floor: a few values agree by luck."""
    # The same as numpy's `std`, which takes four times as long for a few values.
    off = logs - mean_of_logs(logs)
    variance = float((off * off).sum()) / (logs.size - 1)
    return max(math.sqrt(variance), floor)


def t_quantile(quantile: float, freedom: float) -> float:
    """Student's t quantile."""
    return distributions.t_quantile(freedom, quantile)
