"""What changes of a run's own limits did (`run/confirming.py`), and what that says of the cause
that its counters named. Pure.

The elasticity of throughput to a limit is the growth of its logarithm over that of the limit: 1
where throughput follows the limit, 0 where it does not care. Each limit was set to two levels, each
twice, in an order that was turned round; how much the windows of one level differ is the noise. Of
several limits that are tried the best one is looked at, so each is tested at its part of the level
(Bonferroni)."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from orchestrator import facts, units
from orchestrator.analysis.conclusions import Bottleneck, Elasticity
from orchestrator.analysis.figures.transactions import FAILED, ended
from orchestrator.analysis.results import RunData
from orchestrator.analysis.statistics import stats
from orchestrator.analysis.telemetry import loads

Array = np.ndarray[Any, np.dtype[np.float64]]

CONFIRMED = 0.5
REJECTED = 0.1
CONFIDENCE = 0.90
_LATENCY = "disk latency"  # less of it is better: its elasticity is that to its inverse
_SESSIONS = "sessions"
# A limit that is tried out → the cause that it is.
_CAUSES: Mapping[str, facts.BottleneckCause] = {
    "IOPS": "iops_cap",
    "bandwidth": "bandwidth_cap",
    _LATENCY: "latency_bound",
    "shared IOPS": "shared_cap",
    "shared bandwidth": "shared_cap",
    "node CPU": "cpu_bound",
    "client CPU": "client_bound",
    _SESSIONS: "few_sessions",
}
_LESS = ("client CPU", _SESSIONS)  # of which there may be less, but no more
# A limit that is confirmed is the cause instead.
_UNKNOWN = ("unattributed", "in_cache")


def proven(bottleneck: Bottleneck, runs: Sequence[RunData]) -> Bottleneck:
    """The bottleneck with what changes of its runs' limits gave, if they were changed. A cause that
    they reject is none; where none is known, the limit that they confirm is the cause."""
    tried = elasticities(runs)
    if not tried:
        return bottleneck
    concluded = _concluded(bottleneck, tried)
    followed = "throughput"
    if loads.has_pace(runs[0].record.workload):
        followed = "speed of transactions"
    changes = units.listed([_sentence(e, followed) for e in tried])
    text = f"{concluded.text} {changes}."
    return replace(bottleneck, verdict=concluded.cause, text=text, elasticities=tried)


# ------------------------------------------------------------------ what is concluded


class _Concluded(NamedTuple):
    cause: facts.BottleneckCause
    text: str


def _concluded(bottleneck: Bottleneck, tried: Sequence[Elasticity]) -> _Concluded:
    """The cases of docs/METHOD.md, "Proof by trial"."""
    suspected = _suspected(bottleneck.cause, tried)
    best = _best(tried)
    if suspected is None:
        return _without_a_suspect(bottleneck, best)
    counters_say = f"Counters say {bottleneck.cause.replace('_', ' ')}"
    if suspected.value < REJECTED and suspected.high < CONFIRMED:
        rejected = f"{counters_say}, but trying it out rejects that."
        if not _is_limit(best):
            return _Concluded("unattributed", rejected)
        return _by_trial(best, f"{rejected} By")
    if suspected.low >= REJECTED:
        part = " in part"
        if suspected.value >= CONFIRMED:
            part = ""
        confirmed = f"Trying it out confirms this{part}."
        return _Concluded(bottleneck.cause, f"{bottleneck.text} {confirmed}")
    if _is_limit(best) and best.limit not in (suspected.limit, _SESSIONS):
        not_proven = f"{counters_say}, which trying it out does not prove."
        return _by_trial(best, f"{not_proven} By")
    noisy = "Trying it out was too noisy to prove it."
    return _Concluded(bottleneck.cause, f"{bottleneck.text} {noisy}")


def _suspected(
    cause: facts.BottleneckCause, tried: Sequence[Elasticity]
) -> Elasticity | None:
    """Of the limits that the cause names, that which throughput follows most."""
    limited = cause
    if cause == "burst_exhausted":
        limited = "iops_cap"
    suspects = [e for e in tried if _CAUSES[e.limit] == limited]
    return max(suspects, key=_value, default=None)


def _value(elasticity: Elasticity) -> float:
    return elasticity.value


def _best(tried: Sequence[Elasticity]) -> Elasticity:
    """More sessions help wherever a wait is no queue, as that for a disk's own latency: so they
    come behind other limits that are confirmed."""
    confirmed = []
    for elasticity in tried:
        if elasticity.limit != _SESSIONS and elasticity.value >= CONFIRMED:
            confirmed.append(elasticity)
    return max(confirmed or tried, key=_value)


def _is_limit(elasticity: Elasticity) -> bool:
    return elasticity.value >= CONFIRMED and elasticity.low >= REJECTED


def _without_a_suspect(bottleneck: Bottleneck, best: Elasticity) -> _Concluded:
    """The limit that is confirmed, where counters named none; of what is in memory more sessions
    are no other cause."""
    only_sessions = bottleneck.cause == "in_cache" and best.limit == _SESSIONS
    if bottleneck.cause not in _UNKNOWN or not _is_limit(best) or only_sessions:
        return _Concluded(bottleneck.cause, bottleneck.text)
    return _by_trial(best, "Its counters alone did not tell, but by")


def _by_trial(best: Elasticity, begin: str) -> _Concluded:
    text = f"{begin} trial the limit is {best.limit}."
    return _Concluded(_CAUSES[best.limit], text)


def _sentence(elasticity: Elasticity, followed: str) -> str:
    """What the change of a limit in the direction that can be tried gave."""
    change = _decisive_change(elasticity.limit)
    value = _gain_pct(elasticity.value, change.log_growth)
    interval = _interval(elasticity, change.log_growth)
    trial = f"{elasticity.limit} {change.text}"
    return f"{trial} gave {followed} {_signed(value)} % {interval}"


def _interval(elasticity: Elasticity, growth: float) -> str:
    ends = [_gain_pct(elasticity.low, growth), _gain_pct(elasticity.high, growth)]
    low, high = sorted(ends)
    return f"({_signed(low)} to {_signed(high)} %)"


class _DecisiveChange(NamedTuple):
    """A change of a limit, in words and as the logarithm of what it is multiplied by, inverse for
    latency."""

    text: str
    log_growth: float


def _decisive_change(limit: str) -> _DecisiveChange:
    if limit == _LATENCY:
        return _DecisiveChange("−25 %", -math.log(0.75))
    if limit in _LESS:
        return _DecisiveChange("−25 %", math.log(0.75))
    return _DecisiveChange("+25 %", math.log(1.25))


def _gain_pct(elasticity: float, growth: float) -> float:
    return 100 * math.expm1(elasticity * growth)


def _signed(percent: float) -> str:
    return f"{percent:+.0f}".replace("-", "−")


# ------------------------------------------------------------------ elasticities


@dataclass(frozen=True)
class _Fit:
    """A limit in one run, by least squares. `variance`: of the slope at noise 1; `squares`: of what
    is left, which has `freedom` degrees."""

    limit: str
    slope: float
    variance: float
    squares: float
    freedom: int


def elasticities(runs: Sequence[RunData]) -> tuple[Elasticity, ...]:
    """Of each limit that was changed in these runs of a cell, with the interval that the noise of
    all windows together gives; empty where none was changed, or nothing tells the noise."""
    fits = _all_fits(runs)
    freedom = sum(fit.freedom for fit in fits)
    if freedom <= 0:
        return ()
    limits = dict.fromkeys(fit.limit for fit in fits)
    reach = _reach(fits, freedom, len(limits))
    return tuple(_elasticity(limit, fits, reach) for limit in limits)


def _all_fits(runs: Sequence[RunData]) -> list[_Fit]:
    fits: list[_Fit] = []
    for run in runs:
        fits += _fits(run)
    return fits


def _reach(fits: Sequence[_Fit], freedom: float, limits: int) -> float:
    """Of an interval to each side, for a slope of variance 1: the noise is that of all windows. The
    intervals of all limits together hold with `CONFIDENCE`."""
    noise = math.sqrt(sum(fit.squares for fit in fits) / freedom)
    beyond = (1 - CONFIDENCE) / 2 / limits
    return stats.t_quantile(1 - beyond, freedom) * noise


def _fits(run: RunData) -> Iterator[_Fit]:
    for limit, table in _changes(run).groupby("limit"):
        size = np.log(table["times"])
        fit = _fit(str(limit), size, np.log(table["speed"]))
        if fit is not None:
            yield fit


def _fit(limit: str, size: pd.Series, speed: pd.Series) -> _Fit | None:
    """Of the logarithms of a limit and of the speed; None of a limit that was left as it was."""
    from_mean = size - size.mean()
    spread = float((from_mean**2).sum())
    if not spread:
        return None
    slope = float((from_mean * speed).sum()) / spread
    rest = speed - speed.mean() - slope * from_mean
    squares = float((rest**2).sum())
    freedom = len(size) - 2
    return _Fit(limit, slope, 1 / spread, squares, freedom)


def _elasticity(limit: str, fits: Sequence[_Fit], reach: float) -> Elasticity:
    """The mean over runs; `reach`: of its interval, for a slope of variance 1."""
    of_limit = [fit for fit in fits if fit.limit == limit]
    value = fmean(fit.slope for fit in of_limit)
    if limit == _LATENCY:
        value = -value
    variance = sum(fit.variance for fit in of_limit)
    half = reach * math.sqrt(variance) / len(of_limit)
    return Elasticity(limit, value, value - half, value + half)


def _changes(run: RunData) -> pd.DataFrame:
    """limit, times, speed: of each change in a run the transactions a second that ended well, or
    where their number is given, how many of them one session would do."""
    changes = pd.DataFrame(run.record.facts.get("confirm", ()))
    if changes.empty:
        return pd.DataFrame(columns=["limit", "times", "speed"])
    edges_s = changes[["start_s", "end_s"]].to_numpy()
    done = _done(run, edges_s)
    lasted_s = edges_s[:, 1] - edges_s[:, 0]
    if loads.has_pace(run.record.workload):
        lasted_s = done.spent_s
    speed = done.count / np.maximum(lasted_s, 1e-9)
    return changes.assign(speed=speed)[done.count > 0]


@dataclass(frozen=True)
class _Done:
    """Of each change the transactions that ended well in it, and the time that they took."""

    count: Array
    spent_s: Array


def _done(run: RunData, edges_s: Array) -> _Done:
    count = len(edges_s)
    done = _Done(np.zeros(count), np.zeros(count))
    for table in run.transactions():
        good = table[table["outcome"] != FAILED]
        for number, span_s in enumerate(edges_s):
            inside = ended(good, *span_s)
            done.count[number] += len(inside)
            done.spent_s[number] += inside["latency_s"].sum()
    return done
