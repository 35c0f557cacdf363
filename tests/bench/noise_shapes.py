"""Ten shapes of noise between the runs of a campaign, most of which are not normal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Random = np.random.Generator
Runs = NDArray[
    np.int_
]  # tiers × repetitions: the place of each run in the campaign, from 0
Logs = (
    Any  # an array, campaigns × tiers × repetitions: to be added to logarithms of rates
)
Shape = Callable[[Runs, int, Random], Logs]


def _normal(order: Runs, campaigns: int, random: Random) -> Logs:
    """3 %."""
    return random.normal(0, 0.03, (campaigns, *order.shape))


def _quiet(order: Runs, campaigns: int, random: Random) -> Logs:
    """2 %."""
    return _normal(order, campaigns, random) / 1.5


def _t(order: Runs, campaigns: int, random: Random) -> Logs:
    """Student's with 3 degrees of freedom, standard deviation 3 %."""
    return 0.03 / np.sqrt(3) * random.standard_t(3, (campaigns, *order.shape))


def _outliers(order: Runs, campaigns: int, random: Random) -> Logs:
    """One run in ten is 10 % slower."""
    quiet = _quiet(order, campaigns, random)
    return quiet - 0.1 * (random.random(quiet.shape) < 0.1)


def _skew(order: Runs, campaigns: int, random: Random) -> Logs:
    return -random.exponential(0.05, (campaigns, *order.shape))


def _unequal(order: Runs, campaigns: int, random: Random) -> Logs:
    of_tiers = np.asarray([0.01, 0.06, 0.03])[: len(order), None]
    return random.normal(0, of_tiers, (campaigns, *order.shape))


def _drift(order: Runs, campaigns: int, random: Random) -> Logs:
    """10 % from the first run to the last, up or down."""
    sign = np.where(random.random((campaigns, 1, 1)) < 0.5, 1.0, -1.0)
    return _quiet(order, campaigns, random) + sign * 0.1 * order / order.max()


def _autocorrelated(order: Runs, campaigns: int, random: Random) -> Logs:
    """First order, 0.8 from run to run, standard deviation 3 %, and 1 % of each run alone."""
    steps = random.normal(0, 0.03, (campaigns, int(order.max()) + 1))
    for run in range(1, steps.shape[1]):
        steps[:, run] = 0.8 * steps[:, run - 1] + 0.6 * steps[:, run]
    return steps[:, order] + random.normal(0, 0.01, (campaigns, *order.shape))


def _bimodal(order: Runs, campaigns: int, random: Random) -> Logs:
    """Three runs in ten are 8 % slower; else 1 %."""
    quiet = random.normal(0, 0.01, (campaigns, *order.shape))
    return quiet - 0.08 * (random.random(quiet.shape) < 0.3)


def _step(order: Runs, campaigns: int, random: Random) -> Logs:
    """8 % slower from some run on."""
    since = random.random((campaigns, 1, 1)) * order.max()
    return _quiet(order, campaigns, random) - 0.08 * (order > since)


def _slow_first(order: Runs, campaigns: int, random: Random) -> Logs:
    """The first of the runs that follow one another with one workload is 6 % slower."""
    return _quiet(order, campaigns, random) - 0.06 * (order % len(order) == 0)


SHAPES: Mapping[str, Shape] = {
    "normal": _normal,
    "t": _t,
    "outliers": _outliers,
    "skew": _skew,
    "unequal": _unequal,
    "drift": _drift,
    "autocorrelated": _autocorrelated,
    "bimodal": _bimodal,
    "step": _step,
    "slow first run": _slow_first,
    "less noise": _quiet,
}
