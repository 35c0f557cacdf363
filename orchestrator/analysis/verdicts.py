"""Plan and records → cells, deltas and the whole Verdict. Pure: made again at any time.

A wrong verdict is the worst fault this program can have, so when in doubt the word is
`inconclusive`. Method, references and simulated error rates: docs/METHOD.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from orchestrator.analysis import bottlenecks, comparability, decision, resources, results, stats
from orchestrator.analysis.conclusions import (
    CellSummary,
    Delta,
    ExcludedRun,
    Verdict,
    VerdictWord,
)
from orchestrator.analysis.doubts import campaign_checks, noise_checks
from orchestrator.analysis.results import Key, Measured, Results
from orchestrator.analysis.stats import Ratio
from orchestrator.metrics import METRICS, Metric
from orchestrator.model import Run
from orchestrator.units import format_change, format_quantity

SCHEMA_VERSION = 2  # decisions have criteria, SLO and prices

# What is compared between tiers. Of TPC-C's transaction types only New-Order, the one that the
# specification reports first: each further comparison is one more chance of a false alarm.
COMPARED = (
    ("throughput_per_s", "all"),
    ("nopm", "all"),
    ("latency_avg_s", "all"),
    ("latency_p99_s", "all"),
    ("latency_avg_s", "new_order"),
    ("latency_p99_s", "new_order"),
)


def judge(campaign: Results) -> Verdict:
    """The verdict on a campaign, from plan and records alone."""
    limits = bottlenecks.bottlenecks(campaign)
    changes, floor = deltas(campaign), noise_floor(campaign)
    return Verdict(
        schema_version=SCHEMA_VERSION,
        baseline=campaign.plan.baseline,
        cells=cells(campaign),
        deltas=changes,
        bottlenecks=limits,
        decisions=decision.decisions(campaign, limits),
        doubts=(*campaign_checks.find(campaign), *noise_checks.doubts(changes, floor)),
        missing=missing(campaign),
        noise_floor=floor,
        excluded=excluded(campaign),
    )


# ------------------------------------------------------------------ cells


def cells(campaign: Results) -> tuple[CellSummary, ...]:
    """Every metric of every cell over its finished runs, in the order of plan and METRICS."""
    cpus = results.machine_cpus(campaign)
    order = {name: index for index, name in enumerate(METRICS)}
    summaries: list[CellSummary] = []
    for cell in results.cells(campaign):
        runs = [  # telemetry is computed anew from the samples
            results.sound((*run.record.measurements, *resources.telemetry_of(run, cpus)))
            for run in cell.finished
        ]
        metrics = _cell(runs, cell.profile.name, cell.workload.name)
        summaries += sorted(metrics, key=lambda summary: order.get(summary.metric, len(order)))
    return tuple(summaries)


def _cell(runs: Sequence[Measured], profile: str, workload: str) -> Iterator[CellSummary]:
    for key in dict.fromkeys(key for run in runs for key in run):
        measured = [run[key] for run in runs if key in run]
        values = tuple(m.value for m in measured)
        yield CellSummary(
            profile=profile,
            workload=workload,
            metric=key[0],
            scope=key[1],
            unit=measured[0].unit,
            direction=measured[0].direction,
            values=values,
            **vars(stats.summarise(values)),
        )


def missing(campaign: Results) -> tuple[str, ...]:
    """Planned cells without any finished run that counts, each with what became of its runs."""
    return tuple(
        f"{cell.title}: {cell.without_figures} "
        f"({'; '.join(_fate(campaign, run) for run in cell.planned)})"
        for cell in results.cells(campaign)
        if cell.missing
    )


def excluded(campaign: Results) -> tuple[ExcludedRun, ...]:
    """The finished runs that enter nothing, by the validity rule."""
    return tuple(
        ExcludedRun(
            run.number,
            run.profile,
            run.workload,
            tuple(f"{doubt.kind}: {doubt.text}" for doubt in campaign.excluded[run.number]),
        )
        for run in campaign.plan.runs
        if run.number in campaign.excluded
    )


def _fate(campaign: Results, run: Run) -> str:
    if doubts := campaign.excluded.get(run.number):
        return f"run {run.number} excluded: {doubts[0].kind}: {doubts[0].text}"
    record = next((r.record for r in campaign.runs if r.record.run.number == run.number), None)
    if record is None:
        what = "published" if results.was_published(campaign.plan) else "carried out"
        return f"run {run.number} was not {what}"
    why = f": {record.failure}" if record.failure else ""
    return f"run {run.number} {record.outcome}{why}"


# ------------------------------------------------------------------ deltas


@dataclass(frozen=True)
class Pair:
    """One comparison before its verdict. `obstacle`: why it must not be drawn, or empty."""

    contender: str
    workload: str
    metric: Metric
    scope: str
    left: tuple[float, ...]
    right: tuple[float, ...]
    ratio: Ratio
    obstacle: str

    @property
    def chance(self) -> float | None:
        """Its p-value, if it can come to a verdict at all."""
        return None if self.obstacle else self.ratio.p_value


def deltas(campaign: Results) -> tuple[Delta, ...]:
    """Each contender against the baseline. Cells without figures have no delta, never a zero."""
    return _compared(campaign, [profile.name for profile in campaign.plan.tiers])


def noise_floor(campaign: Results) -> tuple[Delta, ...]:
    """The twin against the baseline, which is the same tier: a family of comparisons by itself, so
    that it changes no other verdict. Empty without a twin."""
    return _compared(campaign, [campaign.plan.twin] if campaign.plan.twin else [])


def _compared(campaign: Results, names: Sequence[str]) -> tuple[Delta, ...]:
    pairs = list(_pairs(campaign, names))
    # One family of comparisons, because they are read together.
    chances = {i: p for i, pair in enumerate(pairs) if (p := pair.chance) is not None}
    adjusted = dict(zip(chances, stats.adjust_for_many(list(chances.values())), strict=True))
    plan = campaign.plan
    return tuple(
        _delta(plan.baseline, pair, plan.margin_pct, adjusted.get(i, 1.0), len(chances))
        for i, pair in enumerate(pairs)
    )


def _pairs(campaign: Results, names: Sequence[str]) -> Iterator[Pair]:
    """Those of the profiles `names` that are not the baseline."""
    plan = campaign.plan
    for workload in plan.workloads:
        baseline = results.finished(campaign, plan.baseline, workload.name)
        left = [results.sound(run.record.measurements) for run in baseline]
        for name in names:
            contender = results.finished(campaign, name, workload.name)
            if name == plan.baseline or not baseline or not contender:
                continue
            right = [results.sound(run.record.measurements) for run in contender]
            obstacle = comparability.obstacle([*baseline, *contender])
            for key in COMPARED:
                pair = _pair(name, workload.name, key, left, right, obstacle)
                if pair is not None:
                    yield pair


def _pair(
    contender: str,
    workload: str,
    key: Key,
    left: Sequence[Measured],
    right: Sequence[Measured],
    obstacle: str,
) -> Pair | None:
    """None if a side has no such value, or the baseline's is zero: there is no change then."""
    one = tuple(run[key].value for run in left if key in run)
    two = tuple(run[key].value for run in right if key in run)
    if not one or not two or sum(one) <= 0:
        return None
    metric = METRICS[key[0]]
    absent = len(left) - len(one) + len(right) - len(two)
    if absent and not obstacle:
        # Dropping such runs would choose among them: the slow ones lack percentiles first.
        obstacle = f"{absent} of {len(left) + len(right)} runs have no such figure"
    try:
        ratio = stats.ratio_of_means(one, two)
    except ValueError:
        ratio = Ratio((sum(two) / len(two)) / (sum(one) / len(one)), None, None, None)
        obstacle = obstacle or "a run's figure is zero, and a ratio to it has no meaning"
    return Pair(contender, workload, metric, key[1], one, two, ratio, obstacle)


def _delta(baseline: str, pair: Pair, margin_pct: float, chance: float, family: int) -> Delta:
    word, reason = verdict(pair, margin_pct, chance, family)
    interval = pair.ratio.interval_pct
    return Delta(
        baseline=baseline,
        contender=pair.contender,
        workload=pair.workload,
        metric=pair.metric.name,
        scope=pair.scope,
        unit=pair.metric.unit,
        direction=pair.metric.direction,
        n_baseline=len(pair.left),
        n_contender=len(pair.right),
        change_pct=pair.ratio.change_pct,
        ci_low_pct=interval[0] if interval else None,
        ci_high_pct=interval[1] if interval else None,
        verdict=word,
        reason=reason,
    )


# ------------------------------------------------------------------ the word


def verdict(pair: Pair, margin_pct: float, chance: float, family: int) -> tuple[VerdictWord, str]:
    """The word for one comparison, and why.

    `chance`: its p-value after adjusting for the `family` of comparisons it was made in.
    """
    interval = pair.ratio.interval_pct
    if pair.obstacle:
        return "inconclusive", pair.obstacle
    if interval is None:
        return "inconclusive", _too_few(pair)
    low, high = interval
    span, margin = _span(low, high), format_quantity(margin_pct, "%")
    if -margin_pct <= low and high <= margin_pct:
        return "same", f"the interval {span} lies within ±{margin}"
    if low <= 0 <= high:
        both = f"the interval {span} includes no change and also more than ±{margin}"
        return "inconclusive", f"{both}: {_more(pair, margin_pct)}"
    if chance > 1 - stats.CONFIDENCE:
        alone = f"the interval {span} excludes no change, but among {family} comparisons one such"
        return "inconclusive", f"{alone} is likely by chance: more repetitions are needed"
    better = (low > 0) == (pair.metric.direction == "higher")
    side = "above" if low > 0 else "below"
    return "better" if better else "worse", f"the whole interval {span} lies {side} no change"


def _span(low: float, high: float) -> str:
    return f"{format_change(low)} to {format_change(high)}"


def _too_few(pair: Pair) -> str:
    if len(pair.left) == len(pair.right) == 1:
        return "one repetition gives no interval: at least 2 are needed, 5 are better"
    few = "the baseline" if len(pair.left) < 2 else pair.contender
    return f"{few} has one finished repetition, which gives no interval: at least 2 are needed"


def _more(pair: Pair, margin_pct: float) -> str:
    """Says how many repetitions would settle it at the noise seen so far.

    A change within the margin is settled when the interval fits into the margin; any change is
    settled when the interval no longer reaches no change.
    """
    change = abs(math.log(pair.ratio.ratio))
    room = max(change, math.log1p(margin_pct / 100) - change)
    wanted = stats.repetitions_to_reach(pair.left, pair.right, room)
    if wanted is None:
        return f"more than {stats.MAX_REPETITIONS} repetitions would be needed at this noise"
    more = max(1, wanted - min(len(pair.left), len(pair.right)))
    return f"needs about {more} more repetition{'s' if more > 1 else ''}"
