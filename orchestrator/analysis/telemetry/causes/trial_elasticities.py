"""How throughput followed limits that were changed while a load ran. Pure.

`run/window/confirming.py` changes them.

The elasticity of throughput to a limit is the growth of its logarithm over that of the limit: 1
where throughput follows the limit, 0 where it does not care.

A limit is changed in pairs: high and low, one right after the other. Which comes first is drawn by
lot, and so is the place of the pair among those of other limits. What else slows the system down
falls on both sides of a pair alike, or on one of them by chance. So no rhythm of the system can
favour a limit (Fisher, The Design of Experiments, 1935), and what pairs of a limit differ by is the
noise.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, get_args

import numpy as np

from orchestrator.analysis.conclusions import Elasticity
from orchestrator.analysis.figures.transactions import FAILED
from orchestrator.analysis.results import RunData
from orchestrator.analysis.statistics import stats
from orchestrator.analysis.telemetry.use import load_and_sessions
from orchestrator.facts import TriedLimit

Array = np.ndarray[Any, np.dtype[np.float64]]

CONFIDENCE = 0.90
# Less of these is better: their elasticity is that to the inverse.
LATENCIES: tuple[TriedLimit, ...] = ("disk latency", "WAL disk's latency")
_LIMITS = frozenset(get_args(TriedLimit))
# A limit of this elasticity is to be proven with this chance, by runs of the number that is told.
_FOLLOWED = 0.9
_CHANCE_Z = 1.2816  # the normal quantile of 90 %
MOST_RUNS = 50
# A closed loop that waits for nothing but a limit follows it one to one. What follows a limit by
# far more follows something else: a stall that fell into changes of this limit.
_MOST_FOLLOWED = 1.5


@dataclass(frozen=True)
class ChangePair:
    """Two changes of a limit, one right after the other: by how much the logarithms of the limit
    (of a latency, of its inverse) and of the speed grew from one to the other."""

    limit: TriedLimit
    limit_growth: float
    speed_growth: float


@dataclass(frozen=True)
class Trials:
    """What a cell's trials gave.

    `errors`: the standard error of each elasticity, in their order; `freedom`: its degrees, those
    of all limits; `runs`: of which the trials are; `at_most`: the highest elasticity with which a
    limit that counters did not name can be the cause.
    """

    elasticities: tuple[Elasticity, ...]
    errors: tuple[float, ...]
    freedom: int
    runs: int
    at_most: float = _MOST_FOLLOWED

    def runs_to_prove(self, limit: Elasticity, bound: float) -> int:
        """Such runs in all, with which it would be proven to be above `bound` in 9 of 10 cases if
        throughput followed it; `MOST_RUNS` + 1 if more are needed."""
        error = self.errors[self.elasticities.index(limit)]
        to_be_seen = _FOLLOWED - bound
        for count in range(1, MOST_RUNS + 1):
            # The error of a mean falls with the root of how many it is of.
            error_then = error * math.sqrt(self.runs / count)
            if (self._quantile_of_runs(count) + _CHANCE_Z) * error_then <= to_be_seen:
                return count
        return MOST_RUNS + 1

    def _quantile_of_runs(self, runs: int) -> float:
        """Student's, with the freedom that so many runs give."""
        limits = len(self.elasticities)
        # Each limit's slope has taken one degree from its pairs.
        pairs_of_a_run = (self.freedom + limits) / self.runs
        freedom = max(1.0, runs * pairs_of_a_run - limits)
        return _quantile(freedom, limits)


def trials(runs: Sequence[RunData]) -> Trials | None:
    """The trials of all limits that were changed in these runs of a cell.

    None if no limit was changed, or if nothing tells how large the noise is.
    """
    pairs: list[ChangePair] = []
    runs_with_pairs = 0
    for run in runs:
        run_pairs = pairs_of(run)
        pairs += run_pairs
        if run_pairs:
            runs_with_pairs += 1
    tried = of_pairs(pairs, runs_with_pairs)
    if tried is not None and load_and_sessions.has_pace(runs[0].record.workload):
        # At a given throughput transactions queue, and a queue grows faster than what it is for.
        return replace(tried, at_most=math.inf)
    return tried


# ------------------------------------------------------------------ elasticities


@dataclass(frozen=True)
class _Fit:
    """The line of a limit's pairs by least squares, through the origin: no change of the limit,
    none of the speed.

    `weight`: the inverse of the slope's variance at noise 1. `squares`: the sum of the squares of
    what is left, which has `freedom` degrees.
    """

    limit: TriedLimit
    slope: float
    weight: float
    squares: float
    freedom: int

    @property
    def noise(self) -> float:
        if not self.freedom:
            return 0.0
        return math.sqrt(self.squares / self.freedom)

    def error(self, noise: float) -> float:
        """The standard error of the slope. `noise`: that of the pairs of all limits."""
        # A limit may be less steady under its own changes than the others are under theirs.
        return max(noise, self.noise) / math.sqrt(self.weight)

    def elasticity(self, half_width: float) -> Elasticity:
        """`half_width`: of the interval."""
        low = self.slope - half_width
        high = self.slope + half_width
        return Elasticity(self.limit, self.slope, low, high)


def of_pairs(pairs: Sequence[ChangePair], runs: int) -> Trials | None:
    """The trials of all limits that were changed in these pairs, as `trials` makes them of runs."""
    limits = dict.fromkeys(pair.limit for pair in pairs)
    fits = [_fit(limit, pairs) for limit in limits]
    freedom = sum(fit.freedom for fit in fits)
    # One pair of each limit lies on its line whatever the noise is.
    if freedom <= 0:
        return None
    noise = math.sqrt(sum(fit.squares for fit in fits) / freedom)
    quantile = _quantile(freedom, len(fits))
    elasticities: list[Elasticity] = []
    errors: list[float] = []
    for fit in fits:
        error = fit.error(noise)
        elasticities.append(fit.elasticity(quantile * error))
        errors.append(error)
    return Trials(tuple(elasticities), tuple(errors), freedom, runs)


def _quantile(freedom: float, limits: int) -> float:
    """Student's, with which the intervals of so many limits hold together with `CONFIDENCE`."""
    # The limit that looks best is named, so each has its part of the level (Bonferroni).
    beyond = (1 - CONFIDENCE) / 2 / limits
    return stats.t_quantile(1 - beyond, freedom)


def _fit(limit: TriedLimit, pairs: Sequence[ChangePair]) -> _Fit:
    limit_pairs = [pair for pair in pairs if pair.limit == limit]
    limit_growth = np.asarray([pair.limit_growth for pair in limit_pairs])
    speed_growth = np.asarray([pair.speed_growth for pair in limit_pairs])
    weight = float((limit_growth**2).sum())
    slope = float((limit_growth * speed_growth).sum()) / weight
    residuals = speed_growth - slope * limit_growth
    squares = float((residuals**2).sum())
    return _Fit(
        limit=limit,
        slope=slope,
        weight=weight,
        squares=squares,
        freedom=len(limit_pairs) - 1,
    )


# ------------------------------------------------------------------ pairs of a run


@dataclass(frozen=True)
class _Change:
    """A change of a limit to so many `times` what is declared.

    `speed`: of transactions meanwhile, 0 if none ended.
    """

    limit: TriedLimit
    times: float
    start_s: float
    end_s: float
    speed: float

    def is_paired_with(self, later: "_Change") -> bool:
        """Whether `later` is of the same limit and follows at once."""
        if later.limit != self.limit or later.times == self.times:
            return False
        # The load settles after a change for a shorter time than the change counts.
        settled_s = later.start_s - self.end_s
        return settled_s < self.end_s - self.start_s


def pairs_of(run: RunData) -> list[ChangePair]:
    """The pairs of which both changes were made in time, and under both of which transactions
    ended."""
    pairs: list[ChangePair] = []
    is_second_of_pair = False
    for change, later in pairwise(_changes(run)):
        # A change belongs to one pair only.
        if is_second_of_pair or not change.is_paired_with(later):
            is_second_of_pair = False
            continue
        is_second_of_pair = True
        if change.speed > 0 and later.speed > 0:
            pairs.append(_pair(change, later))
    return pairs


def _pair(change: _Change, later: _Change) -> ChangePair:
    limit_growth = math.log(later.times / change.times)
    # Less latency is more speed.
    if change.limit in LATENCIES:
        limit_growth = -limit_growth
    speed_growth = math.log(later.speed / change.speed)
    return ChangePair(change.limit, limit_growth, speed_growth)


def _changes(run: RunData) -> list[_Change]:
    """The changes of limits in their order, each with the speed of the load.

    The speed counts transactions that ended well. If the load has a pace, the speed is the number
    that one session would do.
    """
    noted: list[Mapping[str, Any]] = []
    for change in run.record.facts.get("confirm", ()):
        # What another version or an extension has changed is of a cause that is not known here.
        if change["limit"] in _LIMITS:
            noted.append(change)
    if not noted:
        return []
    edges_s = np.asarray([[change["start_s"], change["end_s"]] for change in noted])
    done = _done(run, edges_s)
    lasted_s = edges_s[:, 1] - edges_s[:, 0]
    # A limit shows in how long each transaction takes if throughput is given.
    if load_and_sessions.has_pace(run.record.workload):
        lasted_s = done.spent_s
    speeds = done.count / np.maximum(lasted_s, 1e-9)
    changes: list[_Change] = []
    for change, speed in zip(noted, speeds, strict=True):
        changes.append(_change(change, float(speed)))
    return changes


def _change(noted: Mapping[str, Any], speed: float) -> _Change:
    """A change as the record has it."""
    return _Change(
        limit=noted["limit"],
        times=noted["times"],
        start_s=noted["start_s"],
        end_s=noted["end_s"],
        speed=speed,
    )


@dataclass(frozen=True)
class _Done:
    """For each change, how many transactions ended well in it, and the time that they took."""

    count: Array
    spent_s: Array


def _done(run: RunData, edges_s: Array) -> _Done:
    """`edges_s`: begin and end of each change, which follow one another."""
    starts_s = edges_s[:, 0]
    ends_s = edges_s[:, 1]
    count = np.zeros(len(edges_s))
    spent_s = np.zeros(len(edges_s))
    # Table by table, since a long run has more transactions than memory holds.
    for table in run.transactions():
        good = table[table["outcome"] != FAILED]
        latency_s = good["latency_s"].to_numpy()
        ended_s = good["start_s"].to_numpy() + latency_s
        # Of each transaction, the number of the change that had last begun when it ended.
        numbers = np.searchsorted(starts_s, ended_s, side="right") - 1
        inside = (numbers >= 0) & (ended_s < ends_s[numbers])
        numbers = numbers[inside]
        count += np.bincount(numbers, minlength=len(count))
        spent_s += np.bincount(numbers, latency_s[inside], minlength=len(count))
    return _Done(count, spent_s)
