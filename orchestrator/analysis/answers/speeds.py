"""Which of two tiers is faster, and how many times. Pure.

A change of a latency and one of a throughput are told alike: as how many times as fast the faster
tier is. Figures are those of the comparisons with the baseline, as they were judged.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from orchestrator import units
from orchestrator.analysis.answers.headline_figures import (
    LATENCY_NAMES,
    ComparedFigure,
    HeadlineFigures,
    compared_by,
)
from orchestrator.analysis.answers.record import SpeedComparison, SpeedWord
from orchestrator.analysis.conclusions import Delta
from orchestrator.texts import prose


def speed_comparisons(
    figures: HeadlineFigures, contenders: Sequence[str]
) -> Iterator[SpeedComparison]:
    """One for each workload and contender that were compared with the baseline."""
    for workload in figures.campaign.plan.workloads:
        compared_metrics = figures.compared_metrics(workload.name).values()
        for contender in contenders:
            deltas: list[Delta] = []
            for by in compared_metrics:
                delta = figures.delta(contender, workload.name, by)
                if delta is not None:
                    deltas.append(delta)
            if deltas:
                yield compared(deltas)


def compared(deltas: Sequence[Delta]) -> SpeedComparison:
    """How much faster a tier is, by the first figure that was judged better or worse.

    `deltas`: the changes of one workload and contender, at least one, in the order throughput,
    average latency, p99 latency.
    """
    # What says most comes first: throughput is first, the tail last.
    for delta in deltas:
        if delta.verdict in ("better", "worse"):
            return _decided(delta)
    return _undecided(deltas)


def _undecided(deltas: Sequence[Delta]) -> SpeedComparison:
    first = deltas[0]
    word: SpeedWord = "not proven"
    if all(delta.verdict == "same" for delta in deltas):
        word = "alike"
    return SpeedComparison(
        workload=first.workload,
        baseline=first.baseline,
        contender=first.contender,
        word=word,
        faster=None,
        metric=first.metric,
        scope=compared_by(first).scope,
        lacks=_lacking_proof(deltas),
    )


def _lacking_proof(deltas: Sequence[Delta]) -> str:
    """What a change lacks whose interval excludes none, as the decision may have a proof there."""
    for delta in deltas:
        is_above = (delta.ci_low_pct or 0.0) > 0
        is_below = (delta.ci_high_pct or 0.0) < 0
        if (is_above or is_below) and delta.verdict == "inconclusive":
            return delta.reason
    return ""


def _decided(delta: Delta) -> SpeedComparison:
    faster = delta.baseline
    if delta.verdict == "better":
        faster = delta.contender
    comparison = SpeedComparison(
        workload=delta.workload,
        baseline=delta.baseline,
        contender=delta.contender,
        word="serves the rate",
        faster=faster,
        metric=delta.metric,
        scope=compared_by(delta).scope,
    )
    # The served rate does not tell how many times as fast it is.
    if delta.overloaded:
        return comparison
    ends = [_times_as_fast(end_pct, delta) for end_pct in _interval(delta)]
    bounds = [times for times in ends if times is not None]
    # Only the upper end may be without a bound, as a ratio of rates is never below zero.
    highest: float | None = None
    if len(bounds) == len(ends):
        highest = max(bounds, default=None)
    return replace(
        comparison,
        word="faster",
        times=_times_as_fast(delta.change_pct, delta),
        # A ratio that was turned round has its upper end below the lower one.
        times_low=min(bounds, default=None),
        times_high=highest,
    )


def _interval(delta: Delta) -> tuple[float, ...]:
    """Both of its ends, in percent; none without an interval."""
    if delta.ci_low_pct is None or delta.ci_high_pct is None:
        return ()
    return (delta.ci_low_pct, delta.ci_high_pct)


def _times_as_fast(change_pct: float, delta: Delta) -> float | None:
    """How many times as fast the faster tier is, by a change of this metric. None if there is no
    bound."""
    ratio = 1 + change_pct / 100
    is_latency = delta.direction == "lower"
    is_better = delta.verdict == "better"
    # A throughput that grows and a latency that falls mean the same. So does the inverse of the
    # slower tier's change.
    if is_latency != is_better:
        return ratio
    # An interval's end may lie at -100 %, and JSON has no infinity.
    if ratio <= 0:
        return None
    return 1 / ratio


def in_words(comparison: SpeedComparison) -> str:
    """`ultra was 2.31 times as fast as premium (2.25 to 2.37)`; with what a proof lacks."""
    claim = claim_in_words(comparison)
    if comparison.lacks:
        return f"{claim}: {comparison.lacks}"
    return claim


def claim_in_words(comparison: SpeedComparison) -> str:
    """The comparison without what a proof lacks."""
    if comparison.word == "serves the rate":
        return f"{comparison.faster} serves the rate asked for, {comparison.slower} does not"
    if comparison.word != "faster":
        return _undecided_in_words(comparison)
    metric = LATENCY_NAMES.get(ComparedFigure(comparison.metric, comparison.scope))
    in_what = ""
    if metric:
        in_what = f" in {metric}"
    times = units.format_number(comparison.times or 0.0)
    return (
        f"{comparison.faster} was {times} times as fast as {comparison.slower}"
        f"{in_what}{_span(comparison)}"
    )


def in_short(comparisons: Sequence[SpeedComparison]) -> Iterator[str]:
    """The comparisons of one workload in short, beside a picture of all intervals.

    For example `premium-v2 was 2.74 and ultra 2.72 times as fast as premium`. Tiers that are alike
    are named together.
    """
    faster: list[SpeedComparison] = []
    alike: list[str] = []
    others: list[SpeedComparison] = []
    for comparison in comparisons:
        by = ComparedFigure(comparison.metric, comparison.scope)
        is_throughput = by not in LATENCY_NAMES
        # A factor of a rate and one of a latency must not stand in one list.
        if comparison.word == "faster" and is_throughput and comparison.times:
            faster.append(comparison)
        elif comparison.word == "alike":
            alike.append(comparison.contender)
        else:
            others.append(comparison)
    yield from _times_in_short(faster)
    if alike:
        verb = "is"
        if len(alike) > 1:
            verb = "are"
        yield f"{prose.listed(alike)} {verb} as fast as {comparisons[0].baseline}"
    for comparison in others:
        # The picture beside it has the interval.
        yield claim_in_words(replace(comparison, times_low=None))


def _times_in_short(faster: Sequence[SpeedComparison]) -> Iterator[str]:
    """A text for each tier that is the slower one."""
    for slower in dict.fromkeys(comparison.slower for comparison in faster):
        texts: list[str] = []
        for comparison in faster:
            if comparison.slower == slower:
                times = units.format_number(comparison.times or 0.0)
                verb = ""
                if not texts:
                    verb = "was "
                texts.append(f"{comparison.faster} {verb}{times}")
        yield f"{prose.listed(texts)} times as fast as {slower}"


def _span(comparison: SpeedComparison) -> str:
    """` (2.25 to 2.37)`, ` (2.25 or more)`; empty without an interval."""
    if comparison.times_low is None:
        return ""
    low = units.format_number(comparison.times_low)
    if comparison.times_high is None:
        return f" ({low} or more)"
    return f" ({low} to {units.format_number(comparison.times_high)})"


def _undecided_in_words(comparison: SpeedComparison) -> str:
    tiers = prose.listed([comparison.baseline, comparison.contender])
    if comparison.word == "alike":
        return f"{tiers} are as fast as each other"
    return f"no proven difference between {tiers}"
