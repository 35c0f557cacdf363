"""The distribution of latency over every transaction of a cell, thinned to what a chart can show.

Pure. Each point is an exact nearest-rank percentile: a latency that occurred.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from orchestrator.analysis.figures import transactions
from orchestrator.analysis.figures.counted import Counted, together
from orchestrator.analysis.results import RunData, measured_window, value_of
from orchestrator.analysis.statistics.stats import MIN_BEYOND

MAX_POINTS = 300
_STEPS_PER_NINE = 50
_NAMED_PCT = (50.0, 95.0)  # stand between steps; 90, 99, 99.9, … are steps themselves


@dataclass(frozen=True)
class Distribution:
    """Latency by percentile of `transactions` from `runs` runs together.

    nines: −log10(1 − p/100), the axis on which 90, 99 and 99.9 % stand equally far apart.
    percent: p. latency_s: of the same place. The last has ten transactions beyond it, so that the
    curve ends where single transactions would draw it.
    """

    runs: int
    transactions: int
    nines: np.ndarray
    percent: np.ndarray
    latency_s: np.ndarray


def of_runs(runs: Iterable[RunData], scopes: Iterable[str]) -> dict[str, Distribution]:
    """Scope → the distribution of the measured windows of all runs together.

    Without those of which too little was kept: a curve needs two points, hence 20 transactions.
    """
    pieces: dict[str, list[Counted]] = {scope: [] for scope in scopes}
    for run in runs:
        window, pooled = measured_window(run.record), run.record.workload.thinks
        at_a_rate = value_of(run.record, "offered_per_s") is not None
        if window is None:
            continue
        of_run = {scope: Counted() for scope in pieces}
        for table in run.transactions():
            for scope, counted in of_run.items():
                ranked = transactions.ranked_latencies(table, *window, scope, pooled, at_a_rate)
                counted.add(ranked)
        for scope, counted in of_run.items():
            if counted.total:
                pieces[scope].append(counted)
    drawn = {scope: _distribution(found) for scope, found in pieces.items()}
    return {scope: found for scope, found in drawn.items() if found is not None}


def _distribution(pieces: Sequence[Counted]) -> Distribution | None:
    every = together(pieces)
    count = every.total
    if count < 2 * MIN_BEYOND:
        return None
    nines = _places(math.log10(count / MIN_BEYOND))
    share = -np.expm1(-nines * math.log(10.0))  # 1 − 10^−nines without losing digits
    # A whole p·n must not be rounded up because of its last digit.
    rank = np.maximum(np.ceil(share * count - 1e-6).astype(int), 1)
    return Distribution(len(pieces), count, nines, 100 * share, every.at_ranks(rank))


def _places(last: float) -> np.ndarray:
    """The same places for every tier, so that values can be read across; up to `last`."""
    steps = min(math.floor(last * _STEPS_PER_NINE + 1e-9), MAX_POINTS - 1 - len(_NAMED_PCT))
    named = [-math.log10(1 - percent / 100) for percent in _NAMED_PCT]
    places = [step / _STEPS_PER_NINE for step in range(steps + 1)]
    return np.array(sorted({*places, *(one for one in named if one <= last)}))
