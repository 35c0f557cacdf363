"""Two sides in one figure: the later one is better, worse, the same, or none of it is proven. Pure.

The rule for tiers of one campaign (`verdicts`) and for two campaigns (`over_time`) alike. A wrong
verdict is the worst fault this program can have, so when in doubt the word is `inconclusive`.
Method, references and simulated error rates: docs/research/RULES.md,
docs/research/ERROR-RATES.md."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.analysis.conclusions import Delta, VerdictWord
from orchestrator.analysis.figure_pairs import Pair
from orchestrator.analysis.metric_values import Key
from orchestrator.analysis.statistics import (
    many_tests,
    repetitions_needed,
    stats,
)
from orchestrator.texts.prose import counted
from orchestrator.units import format_change, format_number

# Values may agree by chance. Where half of the runs are slow, two blocks are wrong in 6 %, and
# three in 5 %.
SAME_LEAST = 3

_Question = tuple[str, Key]


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
    adjusted = many_tests.adjust_for_many(list(chances.values()))
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
        # One that equals the baseline and one at the margin may have false words of unlike kinds.
        # So kinds cannot be corrected apart. Contenders share the 5 % (Bonferroni), but for those
        # that are far from the baseline.
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
        # The product is rounded: 1 − 0.05 × a share is seldom a round number in floating point.
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
        return (
            f"the interval {_words(interval)} lies within ±{format_number(margin_pct)} %, but "
            f"fewer than {SAME_LEAST} repetitions do not prove it"
        )
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
    same = repetitions_needed.repetitions_to_reach(pair.left, pair.right, room, within)
    # It differs when the interval no longer reaches no change.
    differs = repetitions_needed.repetitions_to_reach(
        pair.left, pair.right, change, pair.confidence
    )
    ways: list[int] = []
    if same:
        ways.append(max(same, SAME_LEAST))
    if differs:
        ways.append(differs)
    if not ways:
        most = repetitions_needed.MAX_REPETITIONS
        return f"more than {most} repetitions would be needed at this noise"
    missing = max(1, min(ways) - len(pair.left))
    return f"needs about {counted(missing, 'more repetition')}"
