"""Two sides in one figure: the later one is better, worse, the same, or none of it is proven. Pure.

The rule for tiers of one campaign (`verdicts`) and for two campaigns (`over_time`) alike. A wrong
verdict is the worst fault this program can have, so when in doubt the word is `inconclusive`.
Method, references and simulated error rates: docs/METHOD.md, ERROR-RATES.md."""

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from orchestrator import metrics
from orchestrator.analysis.conclusions import Delta, VerdictWord
from orchestrator.analysis.overload import LatencyOutcome
from orchestrator.analysis.results import Key, Measured, RunData, sound
from orchestrator.analysis.statistics import looks, stats
from orchestrator.units import counted, format_change, format_number

# What is compared. Of TPC-C's transaction types only New-Order, the one that the specification
# reports first: each further comparison is one more chance of a false alarm.
COMPARED = (
    *((rate, "all") for rate in ("throughput_per_s", "nopm", "payload_bytes_per_s")),
    *(
        (of, scope)
        for scope in ("all", "new_order")
        for of in ("latency_avg_s", "latency_p99_s")
    ),
    ("rebuild_s", "all"),
    *((of, "rebuild") for of in ("throughput_per_s", "latency_p99_s")),
)

# "Same" is two one-sided tests at 5 % (Schuirmann 1987): a 90 % interval within the margin. Values
# may agree by chance: where half of the runs are slow, two blocks are wrong in 6 %, three in 5 %.
SAME_CONFIDENCE = 0.90
SAME_LEAST = 3


@dataclass(frozen=True)
class Pair:
    """One comparison before its verdict: the values of both sides, the baseline's first."""

    contender: str
    workload: str
    metric: metrics.Metric
    scope: str
    left: tuple[float, ...]
    right: tuple[float, ...]
    ratio: stats.Ratio
    obstacle: str  # why it must not be drawn, or empty
    share: float = 1.0  # of the usual levels, those of its look
    overload: LatencyOutcome | None = (
        None  # of a side, which decides instead of the figures
    )
    in_blocks: bool = (
        True  # whether the i-th values of both sides are of one repetition
    )

    @property
    def key(self) -> Key:
        return self.metric.name, self.scope

    @property
    def chance(self) -> float | None:
        """Its p-value, to be held against the usual levels, if it can come to a verdict at all."""
        if self.obstacle or self.overload or self.ratio.p_value is None:
            return None
        return looks.at_look([self.ratio.p_value], self.share)[0]

    @property
    def confidence(self) -> float:
        return looks.confidence(stats.CONFIDENCE, self.share)

    @property
    def within(self) -> float:
        """The confidence of the interval that shows sameness: each end is a one-sided test."""
        return looks.confidence(SAME_CONFIDENCE, self.share)


def pairs(
    contender: str,
    workload: str,
    sides: tuple[Sequence[Measured], Sequence[Measured]],
    reason: str,
) -> Iterator[Pair]:
    """The comparisons of all figures that runs of both sides have, the baseline's first, without
    an interval; none where there is no change, as a side has no figure or the baseline zero."""
    runs = sum(map(len, sides))
    for key in COMPARED:
        left, right = (
            tuple(run[key].value for run in side if key in run) for side in sides
        )
        if not left or not right or sum(left) <= 0:
            continue
        why = reason
        absent = runs - len(left) - len(right)
        if absent:
            # Dropping such runs would choose among them: the slow ones lack percentiles first.
            why = why or f"{absent} of {runs} runs have no such figure"
        if min(*left, *right) <= 0:
            why = why or "a run's figure is zero, and a ratio to it has no meaning"
        ratio = stats.ratio_of_all(left, right)
        yield Pair(
            contender,
            workload,
            metrics.METRICS[key[0]],
            key[1],
            left,
            right,
            ratio,
            why,
        )


def of_runs(
    contender: str,
    workload: str,
    runs: tuple[Sequence[RunData], Sequence[RunData]],
    obstacle: str,
    share: float = 1.0,
) -> Iterator[Pair]:
    """The comparisons of finished runs, of the repetitions that both sides finished: with an
    interval if there are several."""
    left, right = (
        {run.record.run.repetition: sound(run.record.measurements) for run in side}
        for side in runs
    )
    for pair in pairs(
        contender, workload, (list(left.values()), list(right.values())), obstacle
    ):
        common = [
            n
            for n, run in left.items()
            if pair.key in run and pair.key in right.get(n, ())
        ]
        first, second = (
            tuple(side[n][pair.key].value for n in common) for side in (left, right)
        )
        pair = replace(pair, left=first, right=second, share=share)
        with suppress(
            ValueError
        ):  # a figure of zero, or no repetition that both finished
            pair = replace(
                pair, ratio=stats.ratio_of_means(first, second, pair.confidence)
            )
        yield pair


def deltas(
    baseline: str, pairs: Sequence[Pair], margin_pct: float, p99_margin_pct: float
) -> tuple[Delta, ...]:
    """The verdicts of one family of comparisons: those that are read together."""
    margins = [
        margin_pct if pair.metric.percent is None else p99_margin_pct for pair in pairs
    ]
    chances = {i: p for i, pair in enumerate(pairs) if (p := pair.chance) is not None}
    adjusted = dict(
        zip(chances, stats.adjust_for_many(list(chances.values())), strict=True)
    )
    judged = ((pair, margins[i], adjusted.get(i, 1.0)) for i, pair in enumerate(pairs))
    return tuple(_delta(baseline, *each, len(chances)) for each in judged)


def _delta(
    baseline: str, pair: Pair, margin_pct: float, chance: float, family: int
) -> Delta:
    word, reason = verdict(pair, margin_pct, chance, family)
    interval = None
    if not pair.overload:
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
        overloaded=pair.overload.sides if pair.overload else (),
        confidence_pct=round(100 * pair.confidence, 4),
    )


def verdict(
    pair: Pair, margin_pct: float, chance: float, family: int
) -> tuple[VerdictWord, str]:
    """The word for one comparison, and why. `chance`: p-value adjusted for `family` comparisons."""
    interval = pair.ratio.interval_pct
    if pair.obstacle:
        return "inconclusive", pair.obstacle
    if pair.overload:
        return pair.overload.word, pair.overload.reason
    if interval is None:
        if pair.in_blocks:
            return "inconclusive", _no_interval(len(pair.left))
        return (
            "inconclusive",
            "one repetition gives no interval: each side needs at least 2",
        )
    low, high = interval
    narrow = pair.ratio.at(pair.within).interval_pct or interval
    enough = min(len(pair.left), len(pair.right)) >= SAME_LEAST
    if -margin_pct <= narrow[0] and narrow[1] <= margin_pct and enough:
        return "same", _within_the_margin(narrow, margin_pct, 100 * pair.within)
    if low <= 0 <= high and -margin_pct <= low and high <= margin_pct:
        return "inconclusive", _too_few_for_the_same(interval, margin_pct)
    if low <= 0 <= high:
        return "inconclusive", _change_or_none(
            interval, margin_pct, _more(pair, margin_pct)
        )
    if chance > 1 - stats.CONFIDENCE:
        return "inconclusive", _by_chance(
            interval, str(family) if pair.in_blocks else "all"
        )
    better = (low > 0) == (pair.metric.direction == "higher")
    side = "below"
    if low > 0:
        side = "above"
    reason = f"the whole interval {_words(interval)} lies {side} no change"
    return "better" if better else "worse", reason


def _words(interval: tuple[float, float]) -> str:
    low, high = interval
    return f"{format_change(low)} to {format_change(high)}"


def _within_the_margin(
    interval: tuple[float, float], margin_pct: float, level_pct: float
) -> str:
    return (
        f"the {format_number(level_pct)} % interval {_words(interval)} lies within "
        f"±{format_number(margin_pct)} %"
    )


def _too_few_for_the_same(interval: tuple[float, float], margin_pct: float) -> str:
    return (
        f"the interval {_words(interval)} lies within ±{format_number(margin_pct)} %, but "
        f"fewer than {SAME_LEAST} repetitions do not prove it"
    )


def _change_or_none(interval: tuple[float, float], margin_pct: float, more: str) -> str:
    """`more`: what would settle it, in words."""
    return (
        f"the interval {_words(interval)} includes no change and also more than "
        f"±{format_number(margin_pct)} %: {more}"
    )


def _by_chance(interval: tuple[float, float], among: str) -> str:
    """`among`: how many comparisons are read together, or "all"."""
    return (
        f"the interval {_words(interval)} excludes no change, but among {among} comparisons "
        "one such is likely by chance: more repetitions are needed"
    )


def _no_interval(repetitions: int) -> str:
    number = "no"
    if repetitions:
        number = "one"
    return (
        f"{number} repetition that both sides finished gives no interval: at least 2 are "
        "needed, 5 are better"
    )


def _more(pair: Pair, margin_pct: float) -> str:
    """Says how many repetitions would settle it at the noise seen so far, where that is known. A
    change within the margin is settled when its narrower interval fits into the margin; any change
    is settled when the interval no longer reaches no change."""
    if not pair.in_blocks:
        return "more repetitions are needed, or days that differ less"
    change = abs(math.log(pair.ratio.ratio))
    room = math.log1p(margin_pct / 100) - change
    same = stats.repetitions_to_reach(pair.left, pair.right, room, pair.within)
    differs = stats.repetitions_to_reach(pair.left, pair.right, change, pair.confidence)
    ways = (same and max(same, SAME_LEAST), differs)
    wanted = min((count for count in ways if count), default=None)
    if wanted is None:
        most = stats.MAX_REPETITIONS
        return f"more than {most} repetitions would be needed at this noise"
    missing = max(1, wanted - len(pair.left))
    return f"needs about {counted(missing, 'more repetition')}"
