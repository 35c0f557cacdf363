"""One profile × workload over all stored campaigns: its levels, and where they changed. Pure.

The mean of a campaign is one observation: its repetitions share the machine of that day, so they
say nothing about the spread between days. Method and error rates: docs/METHOD.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from orchestrator.analysis import results
from orchestrator.analysis.campaigns import campaign_comparability
from orchestrator.analysis.conclusions import VerdictWord
from orchestrator.analysis.results import Results, began_s
from orchestrator.analysis.statistics import change_points, stats
from orchestrator.metrics import METRICS
from orchestrator.model import Direction

CONFIDENCE_NEXT = 0.99  # of the interval in which the next campaign of a level is expected
FEWEST_NEXT = 5  # campaigns of a level from which the next is predicted
_NOT_ITSELF = "the newest campaign is left out, so where it stands is not known"
_RATES = ("nopm", "throughput_per_s")  # the first that runs have


@dataclass(frozen=True)
class Point:
    """One campaign: its mean over `n` repetitions with the 95 % interval."""

    campaign: str
    began_s: float
    n: int
    mean: float
    ci_low: float | None
    ci_high: float | None
    level: int  # counts from 1
    revision: str  # of the code, as recorded


@dataclass(frozen=True)
class Level:
    """Campaigns in a row without a proven change, `first` to `last`."""

    first: str
    last: str
    campaigns: int
    mean: float  # geometric, of their means
    change_pct: float | None  # against the level before; None for the first
    word: VerdictWord | None


@dataclass(frozen=True)
class LeftOut:
    """A campaign that is not comparable with the newest, and why."""

    campaign: str
    reason: str


@dataclass(frozen=True)
class Trend:
    """`open`: what the newest campaign leaves to be answered; empty if nothing."""

    profile: str
    workload: str
    metric: str
    unit: str
    direction: Direction
    margin_pct: float
    points: tuple[Point, ...]
    levels: tuple[Level, ...]
    left_out: tuple[LeftOut, ...]
    open: str

    @property
    def worse(self) -> bool:
        """Whether the level on which the newest campaign stands is worse than the one before."""
        return bool(self.levels) and self.levels[-1].word == "worse"


def trend(
    campaigns: Sequence[Results], profile: str, workload: str, across_machines: bool = False
) -> Trend | None:
    """The series of those with finished runs of that cell and the newest one's rate; None if no
    campaign has any."""
    dated = [(began_s(one), one) for one in campaigns if results.finished(one, profile, workload)]
    in_time = sorted(((s, one) for s, one in dated if s is not None), key=lambda pair: pair[0])
    every = [one for _, one in in_time]
    metric = next((m for m in _RATES if every and _values(every[-1], profile, workload, m)), None)
    if metric is None:
        return None
    newest, plan = every[-1], every[-1].plan
    kept: list[tuple[Results, tuple[float, ...]]] = []
    left_out: list[LeftOut] = []
    for one in every:
        values = _values(one, profile, workload, metric)
        reason = f"a run has no {METRICS[metric].title}"
        if values:
            reason = campaign_comparability.obstacle(
                one, newest, profile, workload, across_machines
            )
        if reason:
            left_out.append(LeftOut(one.name, reason))
        else:
            kept.append((one, values))
    logs = [float(np.log(np.asarray(values)).mean()) for _, values in kept]
    borders = (0, *change_points.find(logs), len(kept))
    points: list[Point] = []
    for place, (one, values) in enumerate(kept):
        level = sum(border <= place for border in borders[:-1])
        mean, revision = stats.summarise(values), campaign_comparability.revision(one)
        figures = mean.n, mean.mean, mean.ci_low, mean.ci_high
        points.append(Point(one.name, began_s(one) or 0.0, *figures, level, revision))
    return Trend(
        profile,
        workload,
        metric,
        METRICS[metric].unit,
        METRICS[metric].direction,
        plan.margin_pct,
        tuple(points),
        tuple(_levels(points, logs, borders, plan.margin_pct)),
        tuple(left_out),
        open_question(logs[borders[-2] :]) if kept and kept[-1][0] is newest else _NOT_ITSELF,
    )


def _values(campaign: Results, profile: str, workload: str, metric: str) -> tuple[float, ...]:
    """One value above zero for each finished run; empty if a run has none."""
    return results.whole(results.finished(campaign, profile, workload), (metric, "all"))


def _levels(
    points: Sequence[Point], logs: Sequence[float], borders: Sequence[int], margin_pct: float
) -> Iterator[Level]:
    before: float | None = None
    for low, high in pairwise(borders):
        if low == high:
            return  # no campaign is comparable
        level = float(np.mean(logs[low:high]))
        change = None if before is None else 100 * math.expm1(level - before)
        word: VerdictWord | None = None
        if change is not None:
            word = "better" if change > 0 else "worse"
            word = "same" if abs(change) <= margin_pct else word
        ends = points[low].campaign, points[high - 1].campaign
        yield Level(*ends, high - low, math.exp(level), change, word)
        before = level


def open_question(level: Sequence[float]) -> str:
    """Whether the newest campaign lies outside of what the others of its level let expect, by
    Student's prediction interval. A single campaign is never called a new level."""
    others = np.asarray(level[:-1])
    if others.size < FEWEST_NEXT:
        return ""
    error = stats.spread_of_logs(others) * math.sqrt(1 + 1 / others.size)
    half = stats.t_quantile(0.5 + CONFIDENCE_NEXT / 2, others.size - 1) * error
    off = level[-1] - float(others.mean())
    if abs(off) <= half:
        return ""
    return (
        f"the newest campaign is {100 * abs(math.expm1(off)):.1f} % "
        f"{'above' if off > 0 else 'below'} its level, farther than 99 % of campaigns would be: "
        "one more will tell if the level has changed"
    )
