"""Several tests that are read together: p-values and levels that hold for all of them. Pure."""

from collections.abc import Sequence

import numpy as np

from orchestrator.analysis.statistics.stats import CONFIDENCE


def adjust_for_many(p_values: Sequence[float]) -> tuple[float, ...]:
    """p-values of one family of comparisons after Benjamini and Hochberg (1995). Calling those ≤ 5
    % differences keeps the expected share of false ones among them ≤ 5 %."""
    if not p_values:
        return ()
    # This does what scipy.stats.false_discovery_control does, which takes a second to import.
    data = np.asarray(p_values, dtype=float)
    falling = np.argsort(data)[::-1]
    adjusted = np.empty_like(data)
    shares = data.size / np.arange(data.size, 0, -1)
    adjusted[falling] = np.minimum.accumulate(data[falling] * shares).clip(0, 1)
    return tuple(adjusted.tolist())


def any_of(p_values: Sequence[float], family: int) -> float:
    """The p-value of the hypothesis that all of theirs hold, after Simes (1986): the least of
    p × family ÷ place, in rising order. `family`: how many there might be; 1 without any."""
    ranked = enumerate(sorted(p_values), start=1)
    return min((p * family / place for place, p in ranked), default=1.0)


def level_of_claims(p_values: Sequence[float], alpha: float = 1 - CONFIDENCE) -> float:
    """The level at which claims of one family hold, by Hochberg's step-up procedure (1988).

    Claims with p at most this level are made. The chance that any of these claims is false is at
    most `alpha`. If all m claims reach alpha, the level is alpha. Otherwise it is alpha ÷ 2
    if the m − 1 best claims reach alpha ÷ 2, and so on.
    """
    count = len(p_values)
    if not count:
        return alpha
    # The worst claim comes first: if even that one reaches alpha, all of them hold at alpha.
    falling = sorted(p_values, reverse=True)
    for place, p_value in enumerate(falling, start=1):
        if p_value <= alpha / place:
            return alpha / place
    return alpha / count
