"""Whether a series stays where it is over a window: numbers in, a judgement out. Pure.

Method and limits: docs/METHOD.md; how often it is right: docs/research/ERROR-RATES.md."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from orchestrator.analysis.statistics.stats import CONFIDENCE, t_quantile

# Seconds next to each other are not independent, as checkpoints and vacuum last for several. So
# chance is judged by the means of ten batches (Conway 1963).
BATCHES = 10
# SNIA's steady state: along the fitted line (Solid State Storage Performance Test Specification
# 2.0).
MAX_DRIFT_PCT = 10.0
# A drift of 10 % raises the second half by 5 %. A step in the middle shows here before it tilts the
# line as much.
MAX_HALVES_PCT = 5.0


@dataclass(frozen=True)
class Steadiness:
    """The movement of a series, in % of its mean. drift_pct: the fitted line's change from start to
    end; noise_pct: what that could be by chance (95 %). halves_pct: second half against first."""

    drift_pct: float
    halves_pct: float
    noise_pct: float

    @property
    def within_limits(self) -> bool:
        """Whether it hardly moved, chance or not."""
        return (
            abs(self.drift_pct) <= MAX_DRIFT_PCT
            and abs(self.halves_pct) <= MAX_HALVES_PCT
        )

    @property
    def steady(self) -> bool:
        """Whether it hardly moved, or no more than by chance."""
        return self.within_limits or abs(self.drift_pct) <= self.noise_pct


def steadiness(times_s: Sequence[float], values: Sequence[float]) -> Steadiness | None:
    """Judges a series: it is steady if it drifts by 10 % at most, or no more than by chance. None
    if there are fewer than twenty finite values, or their mean is not above zero."""
    series = _finite_in_time(times_s, values)
    if series.size < 2 * BATCHES:
        return None
    mean = float(series.mean())
    if mean <= 0:
        return None
    batches = [batch.mean() for batch in np.array_split(series, BATCHES)]
    slope = _slope(np.asarray(batches) / mean)
    half = series.size // 2
    rise = float(series[-half:].mean() - series[:half].mean())
    return Steadiness(
        drift_pct=100 * slope.value * BATCHES,
        halves_pct=100 * rise / mean,
        noise_pct=100 * slope.noise * BATCHES,
    )


@dataclass(frozen=True)
class _Slope:
    """The slope of a line through batch means, for one batch. `noise`: what it could be by chance
    (95 %)."""

    value: float
    noise: float


def _slope(relative: np.ndarray) -> _Slope:
    """`relative`: the batch means over the mean of all."""
    # The batches' places around the middle, so that the line passes through 1 there.
    places = np.arange(BATCHES) - (BATCHES - 1) / 2
    weight = float((places**2).sum())
    slope = float((places * relative).sum() / weight)
    residuals = relative - 1 - slope * places
    variance = float((residuals**2).sum()) / (BATCHES - 2)
    quantile = t_quantile(0.5 + CONFIDENCE / 2, BATCHES - 2)
    return _Slope(slope, noise=quantile * math.sqrt(variance / weight))


def _finite_in_time(times_s: Sequence[float], values: Sequence[float]) -> np.ndarray:
    """The finite values in the order of time."""
    pairs: list[tuple[float, float]] = []
    for time_s, value in zip(times_s, values, strict=True):
        if math.isfinite(value):
            pairs.append((time_s, value))
    in_time = [value for _, value in sorted(pairs)]
    return np.asarray(in_time, dtype=float)
