"""What changes of a run's own limits did (`run/confirming.py`), and what that says of the cause
that its counters named. Pure.

The elasticity of throughput to a limit is the growth of its logarithm over that of the limit: 1
where throughput follows the limit, 0 where it does not care. Each limit was set to two levels, each
twice, in an order that was turned round; how much the windows of one level differ is the noise."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

import numpy as np
import pandas as pd

from orchestrator import facts, units
from orchestrator.analysis.conclusions import Bottleneck, Elasticity
from orchestrator.analysis.figures.transactions import FAILED, ended
from orchestrator.analysis.results import RunData
from orchestrator.analysis.statistics import stats
from orchestrator.analysis.telemetry import cause_words, loads

CONFIRMED = 0.5
REJECTED = 0.1
CONFIDENCE = 0.90
_LATENCY = "disk latency"  # less of it is better: its elasticity is that to its inverse
_SESSIONS = "sessions"
_CAUSES: Mapping[str, facts.BottleneckCause] = cause_words.table("tried")
_LESS = ("client CPU", _SESSIONS)  # of which there may be less, but no more
_UNKNOWN = (
    "unattributed",
    "in_cache",
)  # a limit that is confirmed is the cause instead


def proven(bottleneck: Bottleneck, runs: Sequence[RunData]) -> Bottleneck:
    """The bottleneck with what changes of its runs' limits gave, if they were changed. A cause that
    they reject is none; where none is known, the limit that they confirm is the cause."""
    tried = elasticities(runs)
    if not tried:
        return bottleneck
    cause = bottleneck.cause
    text = bottleneck.text
    limited = cause
    if cause == "burst_exhausted":
        limited = "iops_cap"
    suspects = [e for e in tried if _CAUSES[e.limit] == limited]
    suspected = max(suspects, key=lambda e: e.value, default=None)
    # More sessions help wherever a wait is no queue, as that for a disk's own latency.
    best = max(
        tried, key=lambda e: (e.limit != _SESSIONS and e.value >= CONFIRMED, e.value)
    )
    is_limit = best.value >= CONFIRMED and best.low >= REJECTED
    name = cause.replace("_", " ")
    if suspected is None or (suspected.value < REJECTED and suspected.high < CONFIRMED):
        if suspected is not None:
            text = f"Counters say {name}, but trying it out rejects that."
            cause = "unattributed"
        if (
            cause in _UNKNOWN
            and is_limit
            and (cause, best.limit) != ("in_cache", _SESSIONS)
        ):
            if suspected is None:
                told = "Its counters alone did not tell, but by"
            else:
                told = f"{text} By"
            cause = _CAUSES[best.limit]
            text = f"{told} trial the limit is {best.limit}."
    elif (
        suspected.low < REJECTED
        and is_limit
        and best.limit not in (suspected.limit, _SESSIONS)
    ):
        text = f"Counters say {name}, which trying it out does not prove."
        cause = _CAUSES[best.limit]
        text = f"{text} By trial the limit is {best.limit}."
    elif suspected.low < REJECTED:
        text = f"{text} Trying it out was too noisy to prove it."
    else:
        part = " in part"
        if suspected.value >= CONFIRMED:
            part = ""
        text = f"{text} Trying it out confirms this{part}."
    what = "throughput"
    if loads.has_pace(runs[0].record.workload):
        what = "speed of transactions"
    text = f"{text} {units.listed([_sentence(e, what) for e in tried])}."
    return replace(bottleneck, verdict=cause, text=text, elasticities=tried)


def _sentence(elasticity: Elasticity, what: str) -> str:
    less = elasticity.limit in (_LATENCY, *_LESS)
    sign = 1
    if elasticity.limit == _LATENCY:
        sign = -1
    change, grown = (
        ("−25 %", sign * math.log(0.75)) if less else ("+25 %", math.log(1.25))
    )
    pcts = (elasticity.value, elasticity.low, elasticity.high)
    percents = [100 * math.expm1(e * grown) for e in pcts]
    in_order = (percents[0], *sorted(percents[1:]))
    value, low, high = (f"{pct:+.0f}".replace("-", "−") for pct in in_order)
    return f"{elasticity.limit} {change} gave {what} {value} % ({low} to {high} %)"


def elasticities(runs: Sequence[RunData]) -> tuple[Elasticity, ...]:
    """Of each limit that was changed in these runs of a cell, with the interval that the noise of
    all windows together gives; empty where none was changed, or nothing tells the noise."""
    slopes: dict[
        str, list[tuple[float, float]]
    ] = {}  # of each run, with its variance at noise 1
    squares = 0.0
    freedom = 0
    for limit, table in (
        pair for run in runs for pair in _changes(run).groupby("limit")
    ):
        size, speed = (np.log(table[name]) for name in ("times", "speed"))
        from_mean = size - size.mean()
        spread = float((from_mean**2).sum())
        if not spread:
            continue
        slope = float((from_mean * speed).sum()) / spread
        squares += float(((speed - speed.mean() - slope * from_mean) ** 2).sum())
        freedom += len(table) - 2
        slopes.setdefault(str(limit), []).append((slope, 1 / spread))
    if freedom <= 0:
        return ()
    reach = stats.t_quantile((1 + CONFIDENCE) / 2, freedom) * math.sqrt(
        squares / freedom
    )
    every = []
    for limit, of_runs in slopes.items():
        value = fmean(slope for slope, _ in of_runs) * (-1 if limit == _LATENCY else 1)
        half = (
            reach * math.sqrt(sum(variance for _, variance in of_runs)) / len(of_runs)
        )
        every.append(Elasticity(limit, value, value - half, value + half))
    return tuple(every)


def _changes(run: RunData) -> pd.DataFrame:
    """limit, times, speed: of each change in a run the transactions a second that ended well, or
    where their number is given, how many of them one session would do."""
    changes = pd.DataFrame(run.record.facts.get("confirm", ()))
    if changes.empty:
        return pd.DataFrame(columns=["limit", "times", "speed"])
    count = np.zeros(len(changes))
    spent_s = np.zeros(len(changes))
    edges_s = changes[["start_s", "end_s"]].to_numpy()
    for table in run.transactions():
        good = table[table["outcome"] != FAILED]
        for number, span_s in enumerate(edges_s):
            inside = ended(good, *span_s)
            count[number] += len(inside)
            spent_s[number] += inside["latency_s"].sum()
    if loads.has_pace(run.record.workload):
        lasted_s = spent_s
    else:
        lasted_s = edges_s[:, 1] - edges_s[:, 0]
    return changes.assign(speed=count / np.maximum(lasted_s, 1e-9))[count > 0]
