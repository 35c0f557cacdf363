"""Two stored campaigns, the later one against the earlier: what changed from A to B. Pure.

The rule is that of a campaign's own comparisons (docs/METHOD.md): four words, an interval, chance
among all comparisons, and inconclusive where more than the time differs. But they were not measured
in turns, so drift of the machine between them is in every change, and is stated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from orchestrator.analysis import campaign_comparability, results, stats, unpaired
from orchestrator.analysis.conclusions import Delta, VerdictWord
from orchestrator.analysis.results import Key, Measured, Results
from orchestrator.analysis.stats import Ratio
from orchestrator.analysis.verdicts import COMPARED
from orchestrator.metrics import METRICS
from orchestrator.units import format_change, format_quantity, format_seconds

_DAY_S = 86_400.0


@dataclass(frozen=True)
class ProfileDelta:
    """A change of one profile × workload; `delta` has the campaigns as baseline and contender."""

    profile: str
    delta: Delta


@dataclass(frozen=True)
class Comparison:
    """Campaign `after` against `before`, by their folders' names. `only_before`, `only_after`:
    profile × workload that have finished runs in one of them alone. `doubts`: a sentence each."""

    before: str
    after: str
    margin_pct: float
    deltas: tuple[ProfileDelta, ...]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    doubts: tuple[str, ...]

    def has(self, word: VerdictWord) -> bool:
        return any(one.delta.verdict == word for one in self.deltas)


@dataclass(frozen=True)
class _Pair:
    profile: str
    workload: str
    key: Key
    before: tuple[float, ...]
    after: tuple[float, ...]
    ratio: Ratio
    obstacle: str

    @property
    def chance(self) -> float | None:
        return None if self.obstacle else self.ratio.p_value


def compare(
    before: Results, after: Results, margin_pct: float | None = None, across_machines: bool = False
) -> Comparison:
    """Every profile × workload that both have finished runs of. `margin_pct`: that of `after`, if
    not given; `across_machines`: see `campaign_comparability.obstacle`."""
    margin = after.plan.margin_pct if margin_pct is None else margin_pct
    titles = _measured(before), _measured(after)
    pairs = [
        pair
        for cell in titles[0]
        if cell in titles[1]
        for pair in _pairs(before, after, *cell, across_machines)
    ]
    # One family of comparisons, because they are read together.
    chances = {i: p for i, pair in enumerate(pairs) if (p := pair.chance) is not None}
    adjusted = dict(zip(chances, stats.adjust_for_many(list(chances.values())), strict=True))
    names = before.name, after.name
    return Comparison(
        *names,
        margin,
        tuple(
            ProfileDelta(pair.profile, _delta(pair, names, margin, adjusted.get(i, 1.0)))
            for i, pair in enumerate(pairs)
        ),
        tuple(f"{p} × {w}" for p, w in titles[0] if (p, w) not in titles[1]),
        tuple(f"{p} × {w}" for p, w in titles[1] if (p, w) not in titles[0]),
        (*_apart(before, after), *campaign_comparability.remarks(before, after)),
    )


def _measured(campaign: Results) -> tuple[tuple[str, str], ...]:
    """Profile and workload of every cell with finished runs."""
    every = results.cells(campaign)
    return tuple((cell.profile.name, cell.workload.name) for cell in every if cell.finished)


def _apart(before: Results, after: Results) -> Iterator[str]:
    begins = [began_s(campaign) for campaign in (before, after)]
    if before.name == after.name:
        yield "this is one campaign, compared with itself"
        return
    far = ""
    if begins[0] is not None and begins[1] is not None:
        apart_s = abs(begins[1] - begins[0])
        days = f"{apart_s / _DAY_S:.0f} days"
        far = f" ({days if apart_s >= 2 * _DAY_S else format_seconds(apart_s)} apart)"
    yield (
        f"they were measured at different times{far} and not in turns: drift of the machine is in "
        "every difference"
    )


def began_s(campaign: Results) -> float | None:
    """When its first run began, in Unix seconds; None if no run did."""
    starts = [phase.start_s for run in campaign.runs for phase in run.record.phases]
    return min(starts, default=None)


def _pairs(
    before: Results, after: Results, profile: str, workload: str, across: bool
) -> Iterator[_Pair]:
    runs = tuple(results.finished(campaign, profile, workload) for campaign in (before, after))
    obstacle = campaign_comparability.obstacle(before, after, (runs[0], runs[1]), across)
    left, right = ([results.sound(run.record.measurements) for run in side] for side in runs)
    for key in COMPARED:
        one, two = _values(left, key), _values(right, key)
        if not one or not two or sum(one) <= 0:
            continue  # there is no change then
        hindered, every = obstacle, len(left) + len(right)
        if len(one) + len(two) < every:
            # Dropping such runs would choose among them: the slow ones lack percentiles first.
            absent = every - len(one) - len(two)
            hindered = hindered or f"{absent} of {every} runs have no such figure"
        try:
            ratio = unpaired.ratio(one, two)
        except ValueError:
            ratio = Ratio((sum(two) / len(two)) / (sum(one) / len(one)), None, None, None)
            hindered = hindered or "a run's figure is zero, and a ratio to it has no meaning"
        yield _Pair(profile, workload, key, one, two, ratio, hindered)


def _values(runs: Sequence[Measured], key: Key) -> tuple[float, ...]:
    return tuple(run[key].value for run in runs if key in run)


def _delta(pair: _Pair, names: tuple[str, str], margin_pct: float, chance: float) -> Delta:
    word, reason = _word(pair, margin_pct, chance)
    low, high = pair.ratio.interval_pct or (None, None)
    metric = METRICS[pair.key[0]]
    return Delta(
        baseline=names[0],
        contender=names[1],
        workload=pair.workload,
        metric=metric.name,
        scope=pair.key[1],
        unit=metric.unit,
        direction=metric.direction,
        n_baseline=len(pair.before),
        n_contender=len(pair.after),
        change_pct=pair.ratio.change_pct,
        ci_low_pct=low,
        ci_high_pct=high,
        verdict=word,
        reason=reason,
    )


def _word(pair: _Pair, margin_pct: float, chance: float) -> tuple[VerdictWord, str]:
    """The word and why. `chance`: the p-value after adjusting for all comparisons."""
    if pair.obstacle:
        return "inconclusive", pair.obstacle
    if pair.ratio.interval_pct is None:
        return "inconclusive", "one repetition gives no interval: each side needs at least 2"
    low, high = pair.ratio.interval_pct
    span, margin = (
        f"{format_change(low)} to {format_change(high)}",
        format_quantity(margin_pct, "%"),
    )
    if -margin_pct <= low and high <= margin_pct:
        return "same", f"the interval {span} lies within ±{margin}"
    if low <= 0 <= high:
        both = f"the interval {span} includes no change and also more than ±{margin}"
        return "inconclusive", f"{both}: more repetitions are needed"
    if chance > 1 - stats.CONFIDENCE:
        alone = f"the interval {span} excludes no change, but among all comparisons one such"
        return "inconclusive", f"{alone} is likely by chance: more repetitions are needed"
    better = (low > 0) == (METRICS[pair.key[0]].direction == "higher")
    side = "above" if low > 0 else "below"
    return "better" if better else "worse", f"the whole interval {span} lies {side} no change"
