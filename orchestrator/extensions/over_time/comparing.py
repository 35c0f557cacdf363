"""Two stored campaigns: what changed from the one to the other. Pure.

They were not measured in turns, so what differs between days is in every change: how much that is,
earlier campaigns say."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from orchestrator import units
from orchestrator.analysis import comparisons, figure_pairs, metric_values, results
from orchestrator.analysis.campaigns import comparable_campaigns
from orchestrator.analysis.conclusions import Delta, VerdictWord
from orchestrator.analysis.results import Cell, Results, RunData
from orchestrator.analysis.telemetry.causes.bottlenecks import bottlenecks
from orchestrator.analysis.telemetry.causes.node_cause import HARNESS_CAUSES
from orchestrator.extensions.over_time import across_days
from orchestrator.texts import prose
from orchestrator.tier import Tier

# Other campaigns from which the spread between days is learnt. Of three or four a rare kind of day
# is too often absent (tests/bench/bench_history.py).
FEWEST_HISTORY = 5
_DAY_S = 86_400.0


@dataclass(frozen=True)
class ProfileDelta:
    """A change of one profile × workload."""

    profile: str
    delta: Delta  # its baseline and contender are the campaigns
    history: int  # how many other campaigns say what differs between days
    # The runs differ by more than chance, but too few campaigns say whether days differ as much;
    # `delta` is inconclusive then.
    changed_since: bool


@dataclass(frozen=True)
class CampaignComparison:
    """Campaign `after` against `before`, by their folders' names."""

    before: str
    after: str
    margin_pct: float
    p99_margin_pct: float
    deltas: tuple[ProfileDelta, ...]
    # Profile × workload with finished runs in one of them alone.
    only_before: tuple[str, ...]
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
    """Compares every profile × workload of which both campaigns have finished runs.

    Margins: the margins of `after`, if not given. `across`: see
    `comparable_campaigns.obstacle_over_time`. `history`: other campaigns. Campaigns count that
    began before the later of both and are comparable with it. If more are comparable with the
    other of the two, these count instead.
    """
    if margin_pct is None:
        margin_pct = after.plan.judging.margin_pct
    if p99_margin_pct is None:
        p99_margin_pct = after.plan.judging.p99_margin_pct
    cells_before = _measured(before)
    cells_after = _measured(after)
    earlier = _earlier(history, before, after)
    figures: list[_FigureOverDays] = []
    for cell in cells_before:
        # What only one of them has is named beside, and not compared.
        if cell in cells_after:
            figures += _figures(before, after, cell, across, earlier)
    profiles: list[str] = []
    # Else another disk is an obstacle, and is told as one.
    if "tiers" in across:
        profiles = [figure.profile for figure in figures]
    return CampaignComparison(
        before=before.name,
        after=after.name,
        margin_pct=margin_pct,
        p99_margin_pct=p99_margin_pct,
        deltas=tuple(_judged(before.name, figures, margin_pct, p99_margin_pct)),
        only_before=_alone(cells_before, cells_after),
        only_after=_alone(cells_after, cells_before),
        doubts=_doubts(before, after, profiles),
    )


def _doubts(
    before: Results, after: Results, changed_disks: Sequence[str]
) -> tuple[str, ...]:
    """A sentence each. `changed_disks`: the profiles of which the disk may be another one."""
    doubts = list(_apart(before, after))
    doubts += _changed_disks(changed_disks, before, after)
    doubts += comparable_campaigns.remarks(before, after)
    doubts += _limited_by_machine(before)
    doubts += _limited_by_machine(after)
    # Both sides say the same if a campaign is compared with itself.
    return tuple(dict.fromkeys(doubts))


def _limited_by_machine(campaign: Results) -> Iterator[str]:
    """A sentence on the cells that the machine limited, as far as records have telemetry."""
    cells: list[str] = []
    for cell in bottlenecks(campaign):
        if cell.cause in HARNESS_CAUSES:
            cells.append(f"{cell.profile} × {cell.workload}")
    if cells:
        yield (
            f"in {campaign.name} the machine was the limit, not the disk, of "
            f"{prose.listed(cells)}"
        )


def _measured(campaign: Results) -> tuple[Cell, ...]:
    """Every cell with finished runs."""
    measured = [cell for cell in results.cells(campaign) if cell.finished]
    return tuple((cell.profile.name, cell.workload.name) for cell in measured)


def _alone(cells: Sequence[Cell], others: Sequence[Cell]) -> tuple[str, ...]:
    """`ultra × insert`, of the cells that the other campaign has not measured."""
    alone = [cell for cell in cells if cell not in others]
    return tuple(f"{profile} × {workload}" for profile, workload in alone)


def _earlier(
    history: Iterable[Results], before: Results, after: Results
) -> list[Results]:
    """The other campaigns that began before the later one of both, each once."""
    # A copy of a campaign began at the same moment: it is no other day.
    begins_s = {results.began_s(before), results.began_s(after)}
    latest_s = max(results.began_s(before) or 0.0, results.began_s(after) or 0.0)
    earlier: list[Results] = []
    for campaign in history:
        began_s = results.began_s(campaign)
        # What came after both was not known when they were judged, and may be what they led to.
        if began_s is None or began_s in begins_s or began_s >= latest_s:
            continue
        begins_s.add(began_s)
        earlier.append(campaign)
    return earlier


def _apart(before: Results, after: Results) -> Iterator[str]:
    if before.name == after.name:
        yield "this is one campaign, compared with itself"
        return
    apart_s = 0.0
    began_before_s = results.began_s(before)
    began_after_s = results.began_s(after)
    if began_before_s is not None and began_after_s is not None:
        apart_s = abs(began_after_s - began_before_s)
        if not apart_s:
            yield f"{after.name} is a copy of {before.name}: both began at the same moment"
            return
    yield _at_different_times(_how_far(apart_s))


def _how_far(apart_s: float) -> str:
    if apart_s >= 2 * _DAY_S:
        return f" ({round(apart_s / _DAY_S)} days apart)"
    if apart_s:
        return f" ({units.format_seconds(apart_s)} apart)"
    return ""


def _at_different_times(apart: str) -> str:
    return (
        f"they were measured at different times{apart} and not in turns: what differs "
        "between days is in every difference"
    )


def _changed_disks(
    profiles: Iterable[str], before: Results, after: Results
) -> Iterator[str]:
    disks_before = _disks(before)
    disks_after = _disks(after)
    for name in dict.fromkeys(profiles):
        changes = comparable_campaigns.changes_of_tier(
            disks_before[name], disks_after[name]
        )
        words = "; ".join(changes) or "declared alike in both"
        yield f"the disk of {name}: {words}"


def _disks(campaign: Results) -> dict[str, Tier]:
    """Profile → its disk, as it was run."""
    profiles = [run.record.profile for run in campaign.runs]
    return {profile.name: profile.tier for profile in profiles}


# ------------------------------------------------------------------ one profile × workload


@dataclass(frozen=True)
class _FigureOverDays:
    """One comparison. `history`: how many campaigns say what differs between days."""

    profile: str
    history: int
    pair: figure_pairs.Pair

    @property
    def has_history(self) -> bool:
        return self.history >= FEWEST_HISTORY


def _figures(
    before: Results,
    after: Results,
    cell: Cell,
    across: Collection[str],
    history: Sequence[Results],
) -> Iterator[_FigureOverDays]:
    profile, workload = cell
    left = _sound(results.finished(before, *cell))
    right = _sound(results.finished(after, *cell))
    obstacle = comparable_campaigns.obstacle_over_time(before, after, cell, across)
    # What may not be compared needs no history, and to look for it takes long.
    past: list[Sequence[RunData]] = []
    if not obstacle:
        past = _past(before, after, cell, across, history)
    for pair in figure_pairs.pairs(after.name, workload, (left, right), obstacle):
        days = _values_of_days(past, pair.key)
        yield _FigureOverDays(profile, len(days), _over_days(pair, days))


def _values_of_days(
    past: Sequence[Sequence[RunData]], key: metric_values.Key
) -> list[tuple[float, ...]]:
    """A figure's values in each earlier campaign whose runs all have it."""
    days: list[tuple[float, ...]] = []
    for runs in past:
        values = metric_values.whole(runs, key)
        if values:
            days.append(values)
    return days


def _sound(runs: Sequence[RunData]) -> list[metric_values.Measured]:
    return [metric_values.sound(run.record.measurements) for run in runs]


def _over_days(
    pair: figure_pairs.Pair, days: Sequence[tuple[float, ...]]
) -> figure_pairs.Pair:
    """The comparison with an interval that includes differences between days, if enough days are
    known."""
    if len(days) < FEWEST_HISTORY:
        days = ()
    ratio = pair.ratio
    # A figure of zero has no ratio: then the pair stays without an interval.
    with suppress(ValueError):
        ratio = across_days.ratio(pair.left, pair.right, days)
    # No repetition of the one was made beside one of the other.
    return replace(pair, ratio=ratio, in_blocks=False)


def _past(
    before: Results,
    after: Results,
    cell: Cell,
    across: Collection[str],
    history: Sequence[Results],
) -> list[Sequence[RunData]]:
    """The earlier runs that say what differs between days, of one and the same disk."""
    # A change of the disk among them would be taken for a difference between days.
    same_disk = set(across) - {"tiers"}
    like_after = _alike(history, after, cell, same_disk)
    if "tiers" not in across:
        return like_after
    # Days before a change of the disk and days after it are of two disks.
    like_before = _alike(history, before, cell, same_disk)
    # The disk with more days, as they say more of what days differ by. Of as many, the newer.
    return max(like_after, like_before, key=len)


def _alike(
    history: Sequence[Results], like: Results, cell: Cell, across: Collection[str]
) -> list[Sequence[RunData]]:
    """The finished runs of each campaign that measured as `like` did."""
    alike: list[Sequence[RunData]] = []
    for campaign in history:
        runs = results.finished(campaign, *cell)
        if not runs:
            continue
        if not comparable_campaigns.obstacle_over_time(campaign, like, cell, across):
            alike.append(runs)
    return alike


def _judged(
    before: str,
    figures: Sequence[_FigureOverDays],
    margin_pct: float,
    p99_margin_pct: float,
) -> Iterator[ProfileDelta]:
    """The judged changes, in the order of `figures`."""

    def judged_together(*, has_history: bool) -> Iterator[Delta]:
        pairs: list[figure_pairs.Pair] = []
        for figure in figures:
            if figure.has_history == has_history:
                pairs.append(figure.pair)
        return iter(comparisons.deltas(before, pairs, margin_pct, p99_margin_pct))

    # Figures are corrected for their number. Those without history can prove nothing, and must not
    # make the others stricter.
    with_history = judged_together(has_history=True)
    without_history = judged_together(has_history=False)
    for figure in figures:
        if figure.has_history:
            yield _with_history(figure, next(with_history))
        else:
            yield _with_history(figure, next(without_history))


def _with_history(figure: _FigureOverDays, delta: Delta) -> ProfileDelta:
    """The change, without a verdict if there is too little history: days may differ more than runs
    do."""
    is_judged = not figure.pair.obstacle and delta.ci_low_pct is not None
    if figure.has_history or not is_judged:
        return ProfileDelta(figure.profile, delta, figure.history, changed_since=False)
    # Told all the same: runs differ by more than chance, whatever days do.
    reason = _too_little_history(figure.history)
    changed = delta.verdict in ("better", "worse")
    unproven = replace(delta, verdict="inconclusive", reason=reason)
    return ProfileDelta(figure.profile, unproven, figure.history, changed)


def _too_little_history(count: int) -> str:
    there = "are none"
    if count:
        there = f"are only {count}"
    return (
        f"how much days differ is not known: at least {FEWEST_HISTORY} other comparable "
        f"campaigns from before are needed, and there {there}"
    )
