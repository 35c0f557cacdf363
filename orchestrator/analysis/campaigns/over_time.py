"""Stored campaigns over time: what changed from A to B, and one profile × workload over all. Pure.

Two campaigns were not measured in turns, so what differs between days is in every change: how much
that is, earlier campaigns say. In a trend the mean of a campaign is one observation, since its
repetitions share the machine of that day (docs/METHOD.md)."""

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from orchestrator import metrics, model, units
from orchestrator.analysis import comparability, comparisons, results
from orchestrator.analysis.conclusions import Delta, VerdictWord
from orchestrator.analysis.results import Cell, Results, RunData
from orchestrator.analysis.statistics import across_days, stats

# Other campaigns from which the spread between days is learnt. Of three or four a rare kind of day
# is too often absent (tests/bench/bench_history.py).
FEWEST_HISTORY = 5
_DAY_S = 86_400.0


@dataclass(frozen=True)
class ProfileDelta:
    """A change of one profile × workload."""

    profile: str
    delta: Delta  # with the campaigns as baseline and contender
    history: int  # how many other campaigns say what differs between days
    # The runs differ by more than chance, but too few campaigns say whether days differ as much;
    # `delta` is inconclusive then.
    changed_since: bool = False


@dataclass(frozen=True)
class CampaignComparison:
    """Campaign `after` against `before`, by their folders' names."""

    before: str
    after: str
    margin_pct: float
    p99_margin_pct: float
    deltas: tuple[ProfileDelta, ...]
    only_before: tuple[
        str, ...
    ]  # profile × workload with finished runs in one of them alone
    only_after: tuple[str, ...]
    doubts: tuple[str, ...]  # a sentence each

    def has(self, word: VerdictWord) -> bool:
        return any(change.delta.verdict == word for change in self.deltas)


def compare(
    before: Results,
    after: Results,
    margin_pct: float | None = None,
    across: Collection[str] = (),
    p99_margin_pct: float | None = None,
    history: Iterable[Results] = (),
) -> CampaignComparison:
    """Every profile × workload that both have finished runs of. Margins: those of `after`, if not
    given; `across`: see `comparability.obstacle_over_time`; `history`: other campaigns, of which
    those count that began before the later of both and are comparable with it, or with the other
    one if these are more."""
    if margin_pct is None:
        margin_pct = after.plan.margin_pct
    if p99_margin_pct is None:
        p99_margin_pct = after.plan.p99_margin_pct
    titles = _measured(before), _measured(after)
    latest_s = max(results.began_s(campaign) or 0.0 for campaign in (before, after))
    others = [
        campaign
        for campaign in history
        if campaign.name not in (before.name, after.name)
        and (results.began_s(campaign) or math.inf) < latest_s
    ]
    pairs = [
        (cell[0], count, pair)
        for cell in titles[0]
        if cell in titles[1]
        for count, pair in _pairs(before, after, cell, across, others)
    ]
    names = [profile for profile, *_ in pairs]
    deltas: dict[int, Delta] = {}
    # A family for each: chances that prove nothing ease no others.
    for proven in (True, False):
        family = [
            i for i, pair in enumerate(pairs) if (pair[1] >= FEWEST_HISTORY) == proven
        ]
        judged = comparisons.deltas(
            before.name, [pairs[i][2] for i in family], margin_pct, p99_margin_pct
        )
        deltas |= dict(zip(family, judged, strict=True))
    doubts = (
        *_apart(before, after),
        *(_changed_disks(names, before, after) if "tiers" in across else ()),
        *comparability.remarks(before, after),
    )
    return CampaignComparison(
        before.name,
        after.name,
        margin_pct,
        p99_margin_pct,
        tuple(_with_history(*pairs[i], deltas[i]) for i in range(len(pairs))),
        tuple(f"{p} × {w}" for p, w in titles[0] if (p, w) not in titles[1]),
        tuple(f"{p} × {w}" for p, w in titles[1] if (p, w) not in titles[0]),
        tuple(dict.fromkeys(doubts)),  # of one campaign both sides say the same
    )


def _measured(campaign: Results) -> tuple[Cell, ...]:
    """Every cell with finished runs."""
    every = results.cells(campaign)
    return tuple(
        (cell.profile.name, cell.workload.name) for cell in every if cell.finished
    )


def _apart(before: Results, after: Results) -> Iterator[str]:
    if before.name == after.name:
        yield "this is one campaign, compared with itself"
        return
    begins = [s for c in (before, after) if (s := results.began_s(c)) is not None]
    apart_s = 0.0
    if len(begins) == 2:
        apart_s = abs(begins[1] - begins[0])
    days = 0
    if apart_s >= 2 * _DAY_S:
        days = round(apart_s / _DAY_S)
    apart = ""
    if days:
        apart = f" ({days} days apart)"
    elif apart_s:
        apart = f" ({units.format_seconds(apart_s)} apart)"
    yield _at_different_times(apart)


def _at_different_times(apart: str) -> str:
    return (
        f"they were measured at different times{apart} and not in turns: what differs "
        "between days is in every difference"
    )


def _changed_disks(
    names: Iterable[str], before: Results, after: Results
) -> Iterator[str]:
    used = [
        [run.record.profile for run in campaign.runs] for campaign in (before, after)
    ]
    disks = [{profile.name: profile.tier for profile in profiles} for profiles in used]
    for profile in dict.fromkeys(names):
        changes = comparability.changes_of_tier(disks[0][profile], disks[1][profile])
        yield f"the disk of {profile}: {'; '.join(changes) or 'declared alike in both'}"


def _pairs(
    before: Results,
    after: Results,
    cell: Cell,
    across: Collection[str],
    history: Sequence[Results],
) -> Iterator[tuple[int, comparisons.Pair]]:
    """Each with the number of campaigns of `history` that say what differs between days."""
    runs = [results.finished(campaign, *cell) for campaign in (before, after)]
    left, right = (
        [results.sound(run.record.measurements) for run in side] for side in runs
    )
    obstacle = comparability.obstacle_over_time(before, after, cell, across)
    past: list[Sequence[RunData]] = []
    if not obstacle:
        days_of: tuple[Results, ...] = (after,)
        if "tiers" in across:
            days_of = (after, before)
        same_tier = {*across} - {"tiers"}
        each_side = (_alike(history, like, cell, same_tier) for like in days_of)
        past = max(each_side, key=len)
    for pair in comparisons.pairs(after.name, cell[1], (left, right), obstacle):
        days = [values for other in past if (values := results.whole(other, pair.key))]
        enough: Sequence[tuple[float, ...]] = ()
        if len(days) >= FEWEST_HISTORY:
            enough = days
        ratio = pair.ratio
        with suppress(ValueError):  # a figure of zero
            ratio = across_days.ratio(pair.left, pair.right, enough)
        yield len(days), replace(pair, ratio=ratio, in_blocks=False)


def _alike(
    history: Sequence[Results], like: Results, cell: Cell, across: Collection[str]
) -> list[Sequence[RunData]]:
    """The finished runs of each campaign that measured as `like` did."""
    return [
        runs
        for campaign in history
        if (runs := results.finished(campaign, *cell))
        and not comparability.obstacle_over_time(campaign, like, cell, across)
    ]


def _with_history(
    profile: str, count: int, pair: comparisons.Pair, delta: Delta
) -> ProfileDelta:
    """Without enough history no word is proven, because days may differ by more than runs do."""
    if count >= FEWEST_HISTORY or pair.obstacle or delta.ci_low_pct is None:
        return ProfileDelta(profile, delta, count)
    reason = _too_little_history(count)
    changed = delta.verdict in ("better", "worse")
    unproven = replace(delta, verdict="inconclusive", reason=reason)
    return ProfileDelta(profile, unproven, count, changed)


def _too_little_history(count: int) -> str:
    there = "are none"
    if count:
        there = f"are only {count}"
    return (
        f"how much days differ is not known: that takes at least {FEWEST_HISTORY} other "
        f"comparable campaigns from before, and there {there}"
    )


# ------------------------------------------------------------------ a trend


CONFIDENCE_NEXT = (
    0.99  # of the interval in which the next campaign of a level is expected
)
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


def trend(
    campaigns: Sequence[Results],
    profile: str,
    workload: str,
    across: Collection[str] = (),
) -> Trend | None:
    """Of the campaigns with finished runs of that cell and the newest one's rate; None if none."""
    cell = profile, workload
    measured = [campaign for campaign in campaigns if results.finished(campaign, *cell)]
    dated = [
        (begin_s, c) for c in measured if (begin_s := results.began_s(c)) is not None
    ]
    every = [campaign for _, campaign in sorted(dated, key=lambda pair: pair[0])]
    metric = next(
        (m for m in results.RATES if every and _values(every[-1], cell, m)), None
    )
    if metric is None:
        return None
    newest = every[-1]
    plan = every[-1].plan
    kept: list[tuple[Results, tuple[float, ...]]] = []
    left_out: list[LeftOut] = []
    for campaign in every:
        values = _values(campaign, cell, metric)
        reason = comparability.obstacle_over_time(campaign, newest, cell, across)
        if not values:
            reason = f"a run has no {metrics.METRICS[metric].title}"
        if reason:
            left_out.append(LeftOut(campaign.name, reason))
        else:
            kept.append((campaign, values))
    logs = [float(np.log(np.asarray(values)).mean()) for _, values in kept]
    borders = (0, *across_days.change_points(logs), len(kept))
    points: list[Point] = []
    for place, (campaign, values) in enumerate(kept):
        level = sum(border <= place for border in borders[:-1])
        mean = stats.summarise(values)
        began_s = results.began_s(campaign) or 0.0
        figures = began_s, mean.n, mean.mean, mean.ci_low, mean.ci_high
        points.append(
            Point(campaign.name, *figures, level, comparability.revision(campaign))
        )
    return Trend(
        profile,
        workload,
        metric,
        metrics.METRICS[metric].unit,
        metrics.METRICS[metric].direction,
        plan.margin_pct,
        tuple(points),
        tuple(_levels(points, logs, borders, plan.margin_pct)),
        tuple(left_out),
        open_question(logs[borders[-2] :])
        if kept and kept[-1][0] is newest
        else _NOT_ITSELF,
    )


def _values(campaign: Results, cell: Cell, metric: str) -> tuple[float, ...]:
    """One value above zero for each finished run; empty if a run has none."""
    return results.whole(results.finished(campaign, *cell), (metric, "all"))


def _levels(
    points: Sequence[Point],
    logs: Sequence[float],
    borders: Sequence[int],
    margin_pct: float,
) -> Iterator[Level]:
    before: float | None = None
    for low, high in pairwise(borders):
        if low == high:
            return  # no campaign is comparable
        level = float(np.mean(logs[low:high]))
        change = None
        if before is not None:
            change = 100 * math.expm1(level - before)
        word: VerdictWord | None = None
        if change is not None:
            word = "worse"
            if change > 0:
                word = "better"
            word = word
            if abs(change) <= margin_pct:
                word = "same"
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
    side = "below"
    if off > 0:
        side = "above"
    off_pct = 100 * abs(math.expm1(off))
    return _off_its_level(off_pct, side)


def _off_its_level(off_pct: float, side: str) -> str:
    """`side`: "above" or "below"."""
    return (
        f"the newest campaign is {off_pct:.1f} % {side} its level, farther than 99 % of "
        "campaigns would be: one more will tell if the level has changed"
    )
