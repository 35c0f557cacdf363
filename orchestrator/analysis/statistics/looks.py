"""The levels of a campaign that is judged several times while it grows. Pure.

Who looks at the figures again after every repetition, and stops when they please, finds false
differences more often than 5 % of the time. So each look may use a share of that chance, fixed
before the first run: a function of the number of repetitions alone."""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from orchestrator.analysis.statistics import distributions
from orchestrator.model import Plan

# Spent after n of at most N repetitions is the share (n / N)² of the chance: of the power family
# (Kim and DeMets 1987) the one that keeps most for the end, where few values have grown to many,
# and still leaves the first look enough for tiers that are far apart.
_POWER = 2.0
# Shares are worked out for this chance. At higher ones they are larger, so tests at the usual 5 %
# have a reserve, which t-tests of few values use up (tests/bench/bench_until.py).
_CHANCE = 0.01
# The grid on which the density of a sum is kept. Beyond eight deviations nothing is left of it.
_STEPS_PER_DEVIATION = 100
_DEVIATIONS = 8


def shares(first: int, most: int) -> dict[int, float]:
    """Repetitions → the share of the usual chance of error that a look after so many may use. For
    looks after `first`, `first` + 1, … `most` repetitions, stopping at the first that answers: the
    chances of Lan and DeMets (1983), made for sums of normal values by the recursion of Armitage,
    McPherson and Rowe (1969), and used as levels of t-tests as Pocock (1977) does."""
    looks = range(first, most + 1)
    if len(looks) == 1:
        return {first: 1.0}
    spread = np.sqrt(most) * _DEVIATIONS
    sums = np.linspace(-spread, spread, 2 * _STEPS_PER_DEVIATION * _DEVIATIONS + 1)
    # Density of the sum where no look has answered yet. Before the first value it is zero for sure.
    going_on = np.zeros_like(sums)
    going_on[sums.size // 2] = 1 / (sums[1] - sums[0])
    share_by_look: dict[int, float] = {}
    for before, n in pairwise((0, *looks)):
        added = np.exp(-(sums**2) / (2 * (n - before)))
        going_on = np.convolve(going_on, added / added.sum(), mode="same")
        spent = _spent(n, most) - _spent(before, most)
        bound = _bound(sums, going_on, spent)
        beyond_bound = distributions.normal_below(-bound / math.sqrt(n))
        share_by_look[n] = beyond_bound / _CHANCE
        # This look answers what is beyond the bound, and there is no later one.
        going_on = np.where(sums < bound, going_on, 0.0)
    return share_by_look


def _spent(repetitions: int, most: int) -> float:
    """The chance of a false answer that may be used up after so many of `most` repetitions."""
    return float(_CHANCE * (repetitions / most) ** _POWER)


def _bound(sums: np.ndarray, density: np.ndarray, chance: float) -> float:
    """The sum that is exceeded with this chance."""
    step = sums[1] - sums[0]
    # Half of its own cell lies above a point of the grid.
    beyond = (np.cumsum(density[::-1])[::-1] - density / 2) * step
    # Interpolation needs rising places, and the chance beyond a sum falls.
    return float(np.interp(-chance, -beyond, sums))


def repetitions(plan: Plan, workload: str) -> int:
    """How many of a workload are planned."""
    return max(
        (run.repetition for run in plan.runs if run.workload == workload), default=0
    )


def share(plan: Plan, workload: str) -> float:
    """Share of the look at which a workload stands, by planned repetitions; 1 with one look."""
    if not plan.repeats.looks:
        return 1.0
    # A look that was not planned has the least share of all, which is the careful choice.
    return plan.repeats.looks.get(
        repetitions(plan, workload), min(plan.repeats.looks.values())
    )


def confidence(usual: float, share: float) -> float:
    """The confidence of intervals at a look with that `share`.

    `usual`: the confidence of a single look.
    """
    return 1 - (1 - usual) * share


def at_look(p_values: Sequence[float], share: float) -> list[float]:
    """p-values to be held against the usual levels: as much higher as the look's share is lower."""
    return [min(1.0, p / share) for p in p_values]
