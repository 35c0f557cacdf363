"""One profile × workload over all stored campaigns: its levels, and where they changed. Pure.

The mean of a campaign is one observation, since its repetitions share the machine of that day
(docs/research/RULES.md).
"""

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter

import numpy as np

from orchestrator import metrics, model
from orchestrator.analysis import metric_values, results
from orchestrator.analysis.campaigns import comparable_campaigns
from orchestrator.analysis.conclusions import VerdictWord
from orchestrator.analysis.results import Cell, Results
from orchestrator.analysis.statistics import stats
from orchestrator.extensions.over_time import across_days

# Confidence of the interval in which the next campaign of a level is expected.
CONFIDENCE_NEXT = 0.99
FEWEST_NEXT = 5  # campaigns of a level from which the next is predicted
_NOT_ITSELF = "the newest campaign is left out, so where it stands is not known"


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
    revision: str  # revision of the code, as recorded


@dataclass(frozen=True)
class Level:
    """Campaigns in a row without a proven change, `first` to `last`."""

    first: str
    last: str
    campaigns: int
    mean: float  # geometric, of their means
    change_pct: float | None  # change against the level before; None for the first
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
    direction: model.Direction
    margin_pct: float
    points: tuple[Point, ...]
    levels: tuple[Level, ...]
    left_out: tuple[LeftOut, ...]
    open: str

    @property
    def worse(self) -> bool:
        """Whether the level on which the newest campaign stands is worse than the one before."""
        return bool(self.levels) and self.levels[-1].word == "worse"


@dataclass(frozen=True)
class _Day:
    """A campaign and its figure: one value above zero for each finished run."""

    campaign: Results
    values: tuple[float, ...]


def trend(
    campaigns: Sequence[Results],
    profile: str,
    workload: str,
    across: Collection[str] = (),
) -> Trend | None:
    """The trend of the campaigns that have finished runs of this cell at the newest one's rate.

    None if there are no such campaigns, or if the newest has no rate.
    """
    cell = (profile, workload)
    in_time = _in_time(campaigns, cell)
    if not in_time:
        return None
    newest = in_time[-1]
    metric = _rate(newest, cell)
    if metric is None:
        return None
    days: list[_Day] = []
    left_out = list(_copies(campaigns, in_time))
    for campaign in in_time:
        reason = comparable_campaigns.obstacle_over_time(campaign, newest, cell, across)
        day = _Day(campaign, _values(campaign, cell, metric))
        # A campaign without a figure has no place in the trend, comparable or not.
        if not day.values:
            reason = f"a run has no {metrics.METRICS[metric].title}"
        if reason:
            left_out.append(LeftOut(campaign.name, reason))
        else:
            days.append(day)
    series = _series(days, newest)
    return Trend(
        profile=profile,
        workload=workload,
        metric=metric,
        unit=metrics.METRICS[metric].unit,
        direction=metrics.METRICS[metric].direction,
        margin_pct=newest.plan.judging.margin_pct,
        points=series.points,
        levels=series.levels,
        left_out=tuple(left_out),
        open=series.question,
    )


@dataclass(frozen=True)
class _LevelSeries:
    points: tuple[Point, ...]
    levels: tuple[Level, ...]
    question: str  # as `open` of a trend


def _series(days: Sequence[_Day], newest: Results) -> _LevelSeries:
    """What the comparable campaigns show."""
    # Noise of rates is proportional: on logarithms it is the same at every level.
    logs = [float(np.log(np.asarray(day.values)).mean()) for day in days]
    borders = (0, *across_days.change_points(logs), len(days))
    points = tuple(_points(days, borders))
    levels = tuple(_levels(points, logs, borders, newest.plan.judging.margin_pct))
    question = _NOT_ITSELF
    # A newest campaign that may not be compared, such as a rehearsal, is left out: then the last
    # day is an older one.
    if days and days[-1].campaign is newest:
        question = open_question(logs[borders[-2] :])
    return _LevelSeries(points, levels, question)


def _in_time(campaigns: Sequence[Results], cell: Cell) -> list[Results]:
    """The campaigns with finished runs of the cell, in the order in which they began."""
    # A copy began at the same moment: it is there once, under the first name.
    by_begin: dict[float, Results] = {}
    for campaign in sorted(campaigns, key=attrgetter("name")):
        began_s = results.began_s(campaign)
        if results.finished(campaign, *cell) and began_s is not None:
            by_begin.setdefault(began_s, campaign)
    return [by_begin[began_s] for began_s in sorted(by_begin)]


def _copies(
    campaigns: Sequence[Results], originals: Sequence[Results]
) -> Iterator[LeftOut]:
    """Campaigns that began at the same moment as an original. They are copies of the original."""
    names: dict[float | None, str] = {}
    for original in originals:
        names[results.began_s(original)] = original.name
    for campaign in campaigns:
        name = names.get(results.began_s(campaign), campaign.name)
        if name != campaign.name:
            reason = f"a copy of {name}: its first run began at the same moment"
            yield LeftOut(campaign.name, reason)


def _rate(newest: Results, cell: Cell) -> str | None:
    """What counts as throughput there; None if a run has none."""
    # The newest decides: others that count another thing are not comparable with it.
    for metric in metric_values.RATES:
        if _values(newest, cell, metric):
            return metric
    return None


def _points(days: Sequence[_Day], borders: Sequence[int]) -> Iterator[Point]:
    """`borders`: the places where levels begin, and the end."""
    for place, day in enumerate(days):
        mean = stats.summarise(day.values)
        yield Point(
            campaign=day.campaign.name,
            began_s=results.began_s(day.campaign) or 0.0,
            n=mean.n,
            mean=mean.mean,
            ci_low=mean.ci_low,
            ci_high=mean.ci_high,
            # The number of borders at or before this place is that of the levels begun.
            level=sum(border <= place for border in borders[:-1]),
            revision=comparable_campaigns.revision(day.campaign),
        )


def _values(campaign: Results, cell: Cell, metric: str) -> tuple[float, ...]:
    """One value above zero for each finished run; empty if a run has none."""
    return metric_values.whole(results.finished(campaign, *cell), (metric, "all"))


def _levels(
    points: Sequence[Point],
    logs: Sequence[float],
    borders: Sequence[int],
    margin_pct: float,
) -> Iterator[Level]:
    before: float | None = None
    for low, high in pairwise(borders):
        # No campaign is comparable, so that there is one level without any.
        if low == high:
            return
        level = float(np.mean(logs[low:high]))
        change_pct: float | None = None
        word: VerdictWord | None = None
        if before is not None:
            # The difference of two logarithms is the logarithm of their ratio.
            change_pct = 100 * math.expm1(level - before)
            word = _word(change_pct, margin_pct)
        yield Level(
            first=points[low].campaign,
            last=points[high - 1].campaign,
            campaigns=high - low,
            mean=math.exp(level),
            change_pct=change_pct,
            word=word,
        )
        before = level


def _word(change_pct: float, margin_pct: float) -> VerdictWord:
    """The verdict on a proven change of a rate. More is better."""
    # A proven change may still be too small to matter.
    if abs(change_pct) <= margin_pct:
        return "same"
    if change_pct > 0:
        return "better"
    return "worse"


def open_question(level: Sequence[float]) -> str:
    """Whether the newest campaign lies outside of what the others of its level let expect, by
    Student's prediction interval. A single campaign is never called a new level."""
    others = np.asarray(level[:-1])
    if others.size < FEWEST_NEXT:
        return ""
    # The next value differs from the mean by its own noise and by what the mean is off.
    error = stats.spread_of_logs(others) * math.sqrt(1 + 1 / others.size)
    half = stats.t_quantile(0.5 + CONFIDENCE_NEXT / 2, others.size - 1) * error
    off = level[-1] - float(others.mean())
    if abs(off) <= half:
        return ""
    side = "below"
    if off > 0:
        side = "above"
    off_pct = 100 * abs(math.expm1(off))
    return _off_its_level(off_pct, side)


def _off_its_level(off_pct: float, side: str) -> str:
    """`side`: "above" or "below"."""
    return (
        f"the newest campaign is {off_pct:.1f} % {side} its level, farther than 99 % of "
        "campaigns would be. Run one more to see whether the level has changed"
    )
