"""Two sides in one figure: the later one is better, worse, the same, or none of it is proven. Pure.

The rule for tiers of one campaign (`verdicts`) and for two campaigns (`over_time`) alike. A wrong
verdict is the worst fault this program can have, so when in doubt the word is `inconclusive`.
Method, references and simulated error rates: docs/research/RULES.md,
docs/research/ERROR-RATES.md."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from orchestrator import metrics
from orchestrator.analysis.conclusions import Delta, VerdictWord
from orchestrator.analysis.figures import slowed
from orchestrator.analysis.overload import LatencyOutcome
from orchestrator.analysis.results import Key, Measured, RunData, sound
from orchestrator.analysis.statistics import looks, stats
from orchestrator.units import counted, format_change, format_number

# What is compared. Of TPC-C's transaction types only New-Order, the one that the specification
# reports first: each further comparison is one more chance of a false alarm.
COMPARED: tuple[Key, ...] = (
    ("throughput_per_s", "all"),
    ("nopm", "all"),
    ("payload_bytes_per_s", "all"),
    ("latency_avg_s", "all"),
    ("latency_p99_s", "all"),
    ("latency_avg_s", "new_order"),
    ("latency_p99_s", "new_order"),
    ("rebuild_s", "all"),
    ("throughput_per_s", "rebuild"),
    ("latency_p99_s", "rebuild"),
    ("slow_share_pct", "all"),
    ("recovery_s", "all"),
    ("throughput_per_s", slowed.MEANWHILE),
    ("latency_p99_s", slowed.MEANWHILE),
)

# "Same" is two one-sided tests at 5 % (Schuirmann 1987): a 90 % interval within the margin. Values
# may agree by chance: where half of the runs are slow, two blocks are wrong in 6 %, three in 5 %.
# Contenders whose words are in question share the 5 %.
SAME_CONFIDENCE = 0.90
SAME_LEAST = 3

_Question = tuple[str, Key]


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
    # Of a side, which decides instead of the figures.
    overload: LatencyOutcome | None = None
    # Whether the i-th values of both sides are of one repetition.
    in_blocks: bool = True
    # What is asked of all contenders beside one baseline, such as the workload's name; empty where
    # it is asked of this one alone.
    question: str = ""

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

    def within(self, sharing: int) -> float:
        """The confidence of the interval that shows sameness: each end is a one-sided test.

        `sharing`: so many contenders share the chance of error."""
        return looks.confidence(SAME_CONFIDENCE, self.share / sharing)

    def is_far(self, margin_pct: float) -> bool:
        """Whether its whole interval lies beyond the margin: then neither "same" nor the wrong
        direction can be said of it, and it takes no chance of error from the others."""
        interval = self.ratio.interval_pct
        # Nothing is known of it yet, so it takes part in the chance.
        if interval is None:
            return False
        low, high = interval
        return high < -margin_pct or low > margin_pct


def pairs(
    contender: str,
    workload: str,
    sides: tuple[Sequence[Measured], Sequence[Measured]],
    reason: str,
) -> Iterator[Pair]:
    """The comparisons of all figures that runs of both sides have, the baseline's first, without
    an interval; none where there is no change, as a side has no figure or the baseline zero."""
    first, second = sides
    for key in COMPARED:
        left = _values(first, key)
        right = _values(second, key)
        if not left or not right or sum(left) <= 0:
            continue
        runs = len(first) + len(second)
        metric, scope = key
        yield Pair(
            contender,
            workload,
            metrics.METRICS[metric],
            scope,
            left,
            right,
            ratio=stats.ratio_of_all(left, right),
            obstacle=reason or _obstacle(left, right, runs),
        )


def _values(side: Sequence[Measured], key: Key) -> tuple[float, ...]:
    """The values of the runs that have the figure."""
    return tuple(run[key].value for run in side if key in run)


def _obstacle(left: tuple[float, ...], right: tuple[float, ...], runs: int) -> str:
    """Why the figures themselves must not be compared; empty if nothing says so."""
    absent = runs - len(left) - len(right)
    if absent:
        # Dropping such runs would choose among them: the slow ones lack percentiles first.
        return f"{absent} of {runs} runs have no such figure"
    if min(*left, *right) <= 0:
        return "a run's figure is zero, and a ratio to it has no meaning"
    return ""


def of_runs(
    contender: str,
    workload: str,
    runs: tuple[Sequence[RunData], Sequence[RunData]],
    obstacle: str,
    share: float = 1.0,
    question: str = "",
) -> Iterator[Pair]:
    """The comparisons of finished runs, of the repetitions that both sides finished: with an
    interval if there are several. `question`: as in `Pair`; the workload unless it is given."""
    left, right = runs
    by_left = _by_repetition(left)
    by_right = _by_repetition(right)
    sides = (list(by_left.values()), list(by_right.values()))
    for pair in pairs(contender, workload, sides, obstacle):
        asked = replace(pair, share=share, question=question or workload)
        yield _in_blocks(asked, by_left, by_right)


_ByRepetition = Mapping[int, Measured]


def _by_repetition(runs: Sequence[RunData]) -> _ByRepetition:
    return {run.record.run.repetition: sound(run.record.measurements) for run in runs}


def _in_blocks(pair: Pair, left: _ByRepetition, right: _ByRepetition) -> Pair:
    """The comparison of the repetitions that both sides finished.

    Several repetitions give an interval.
    """
    key = pair.key
    common: list[int] = []
    for number, run in left.items():
        if key in run and key in right.get(number, ()):
            common.append(number)
    first = tuple(left[number][key].value for number in common)
    second = tuple(right[number][key].value for number in common)
    ratio = pair.ratio
    # A figure of zero, or no repetition that both finished.
    with suppress(ValueError):
        ratio = stats.ratio_of_means(first, second, pair.confidence)
    return replace(pair, left=first, right=second, ratio=ratio)


def deltas(
    baseline: str, pairs: Sequence[Pair], margin_pct: float, p99_margin_pct: float
) -> tuple[Delta, ...]:
    """The verdicts of one family of comparisons: those that are read together."""
    chances = _adjusted_chances(pairs)
    margins = Margins(margin_pct, p99_margin_pct)
    in_question = _in_question(pairs, margins)
    judged: list[Delta] = []
    for place, pair in enumerate(pairs):
        sharing = 1
        if pair.question:
            sharing = max(1, in_question[pair.question, pair.key])
        family = Family(len(chances), chances.get(place, 1.0), sharing)
        judged.append(_delta(baseline, pair, margins.of(pair), family))
    return tuple(judged)


def _adjusted_chances(pairs: Sequence[Pair]) -> dict[int, float]:
    """Place of each comparison that can come to a verdict → its p-value, adjusted for all."""
    chances: dict[int, float] = {}
    for place, pair in enumerate(pairs):
        # One that cannot come to a verdict is no chance of a false one.
        if pair.chance is not None:
            chances[place] = pair.chance
    adjusted = stats.adjust_for_many(list(chances.values()))
    return dict(zip(chances, adjusted, strict=True))


@dataclass(frozen=True)
class Margins:
    """How large a change does not matter, in %: of percentiles, and of all other figures."""

    usual_pct: float
    percentiles_pct: float

    def of(self, pair: Pair) -> float:
        if pair.metric.percent is None:
            return self.usual_pct
        return self.percentiles_pct


@dataclass(frozen=True)
class Family:
    """What the comparisons that are read together leave to one of them.

    `size`: how many there are; `chance`: its p-value, adjusted for all of them. `sharing`: how many
    contenders, this one among them, share the chance of a false word in its figure."""

    size: int
    chance: float
    sharing: int


def _in_question(pairs: Sequence[Pair], margins: Margins) -> Counter[_Question]:
    """Question and figure → of how many contenders a word may be false.

    A contender has a word for "the same" and one for a difference. Only one of the two can be
    false, so one contender alone needs no correction."""
    in_question: Counter[_Question] = Counter()
    for pair in pairs:
        # One that equals the baseline and one that is at the margin may each have a false word of
        # another kind, so that kinds cannot be corrected apart: contenders share the 5 %
        # (Bonferroni), but for those that are far from the baseline.
        if pair.chance is not None and not pair.is_far(margins.of(pair)):
            in_question[pair.question, pair.key] += 1
    return in_question


def _delta(baseline: str, pair: Pair, margin_pct: float, family: Family) -> Delta:
    word, reason = verdict(pair, margin_pct, family)
    low_pct: float | None = None
    high_pct: float | None = None
    overloaded: tuple[str, ...] = ()
    if pair.overload:
        overloaded = pair.overload.sides
    elif pair.ratio.interval_pct:
        low_pct, high_pct = pair.ratio.interval_pct
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
        ci_low_pct=low_pct,
        ci_high_pct=high_pct,
        verdict=word,
        reason=reason,
        overloaded=overloaded,
        # In floating point 1 − 0.05 × a share is seldom a round number.
        confidence_pct=round(100 * pair.confidence, 4),
    )


def verdict(pair: Pair, margin_pct: float, family: Family) -> tuple[VerdictWord, str]:
    """The word for one comparison, and why."""
    if pair.obstacle:
        return "inconclusive", pair.obstacle
    if pair.overload:
        return pair.overload.word, pair.overload.reason
    interval = pair.ratio.interval_pct
    if interval is None:
        return "inconclusive", _without_interval(pair)
    # "Same" first: a difference that is proven and smaller than the margin does not matter.
    within = pair.within(family.sharing)
    narrow = pair.ratio.at(within).interval_pct or interval
    enough = min(len(pair.left), len(pair.right)) >= SAME_LEAST
    if enough and _is_inside(narrow, margin_pct):
        return "same", _within_the_margin(narrow, margin_pct, 100 * within)
    low, high = interval
    if low <= 0 <= high:
        return "inconclusive", _no_direction(pair, margin_pct, family.sharing)
    # Two corrections: among all figures that are read together, and among tiers in one figure.
    error = 1 - stats.CONFIDENCE
    if family.chance > error:
        among = "all"
        if pair.in_blocks:
            among = str(family.size)
        return "inconclusive", _by_chance(interval, among)
    if (pair.chance or 0.0) > error / family.sharing:
        return "inconclusive", _by_chance_beside(interval, family.sharing)
    return _direction(pair, low > 0), _beside_no_change(interval)


def _no_direction(pair: Pair, margin_pct: float, sharing: int) -> str:
    """Why a change is not "the same" either if its direction is not known."""
    interval = pair.ratio.interval_pct or (-math.inf, math.inf)
    if not _is_inside(interval, margin_pct):
        more = _more(pair, margin_pct, sharing)
        return _change_or_none(interval, margin_pct, more)
    if min(len(pair.left), len(pair.right)) < SAME_LEAST:
        return _too_few_for_the_same(interval, margin_pct)
    wider = pair.ratio.at(pair.within(sharing)).interval_pct or interval
    more = _more(pair, margin_pct, sharing)
    return _change_or_none(wider, margin_pct, more)


def _is_inside(interval: tuple[float, float], margin_pct: float) -> bool:
    low, high = interval
    return -margin_pct <= low and high <= margin_pct


def _direction(pair: Pair, has_grown: bool) -> VerdictWord:
    if has_grown == (pair.metric.direction == "higher"):
        return "better"
    return "worse"


def _words(interval: tuple[float, float]) -> str:
    low, high = interval
    return f"{format_change(low)} to {format_change(high)}"


def _beside_no_change(interval: tuple[float, float]) -> str:
    low, _ = interval
    side = "below"
    if low > 0:
        side = "above"
    return f"the whole interval {_words(interval)} lies {side} no change"


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
        f"the interval {_words(interval)} excludes no change. Among {among} comparisons one "
        "such is likely by chance, so more repetitions are needed"
    )


def _by_chance_beside(interval: tuple[float, float], sharing: int) -> str:
    """`sharing`: contenders in question, of which one may differ by chance."""
    return (
        f"the interval {_words(interval)} excludes no change. Of {sharing} tiers near the "
        "baseline one may do so by chance, so more repetitions are needed"
    )


def _without_interval(pair: Pair) -> str:
    if not pair.in_blocks:
        return "one repetition gives no interval: each side needs at least 2"
    number = "no"
    if pair.left:
        number = "one"
    return (
        f"{number} repetition that both sides finished gives no interval: at least 2 are "
        "needed, 5 are better"
    )


def _more(pair: Pair, margin_pct: float, sharing: int) -> str:
    """Says how many repetitions would settle it at the noise seen so far, where that is known."""
    if not pair.in_blocks:
        return "more repetitions are needed, or days that differ less"
    change = abs(math.log(pair.ratio.ratio))
    # It is the same when the narrower interval fits into what is left of the margin.
    room = math.log1p(margin_pct / 100) - change
    within = pair.within(sharing)
    same = stats.repetitions_to_reach(pair.left, pair.right, room, within)
    # It differs when the interval no longer reaches no change.
    differs = stats.repetitions_to_reach(pair.left, pair.right, change, pair.confidence)
    ways: list[int] = []
    if same:
        ways.append(max(same, SAME_LEAST))
    if differs:
        ways.append(differs)
    if not ways:
        most = stats.MAX_REPETITIONS
        return f"more than {most} repetitions would be needed at this noise"
    missing = max(1, min(ways) - len(pair.left))
    return f"needs about {counted(missing, 'more repetition')}"
