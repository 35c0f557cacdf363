"""What an open decision takes: more repetitions, their time and cost, and what is at stake. Pure.

How many is a range, because the noise is known from a few values only: by the interval that holds
its standard deviation in 80 % of all campaigns."""

import math
from dataclasses import dataclass
from functools import partial

from orchestrator.analysis.decisions.candidates import Candidate, in_common
from orchestrator.analysis.decisions.contests import Contest
from orchestrator.analysis.decisions.objective_tests import ObjectiveTest
from orchestrator.analysis.decisions.pairs import Comparison
from orchestrator.analysis.statistics import repetitions_needed, stats
from orchestrator.texts.prose import counted


@dataclass(frozen=True)
class WhatItTakes:
    """What would prove a claim, or the contrary.

    `by_repetitions`: whether more repetitions of the same kind are expected to.
    """

    text: str
    by_repetitions: bool

    def __str__(self) -> str:
        return self.text


_MORE = WhatItTakes("more repetitions are needed", by_repetitions=True)
_LESS_NOISE = (
    "less noise decides it: `--windows many`, longer windows, no other work beside"
)


def of_comparison(unsure: Comparison, contest: Contest) -> WhatItTakes:
    """What would prove a comparison, or the contrary, at the noise seen so far."""
    pairs = in_common(unsure.candidate, unsure.other, unsure.criterion)
    count = len(pairs.candidate)
    if count < 2:
        return _MORE
    # The difference seen is taken for the true one; on logarithms, as its interval is.
    room = abs(math.log(unsure.ratio.ratio / contest.rules.bound_of(unsure.criterion)))
    return _repetitions(unsure.ratio, count, room, contest)


def of_objective(
    test: ObjectiveTest, candidate: Candidate, contest: Contest
) -> WhatItTakes:
    """What a proof of a clause of an SLO would take."""
    values = (candidate.measured or {}).get(test.objective, ())
    # Shares of failures may be zero, which has no logarithm: only that more are needed is known.
    if not test.value or min(values) == 0:
        return _MORE
    room = abs(math.log(test.value / test.objective.limit))
    return _repetitions(stats.geometric_mean(values), len(values), room, contest)


def at_stake(candidate: Candidate, contest: Contest) -> str:
    """The difference in price to what would be bought instead: the tier that is proven enough, or
    the dearest that is not excluded. Empty where prices are not known."""
    instead = _instead(candidate, contest)
    if contest.no_prices or instead is None:
        return ""
    cost = candidate.monthly_cost
    dearer = instead.monthly_cost
    if cost is None or dearer is None or dearer <= cost:
        return ""
    return f"at stake {dearer - cost:,.2f} {candidate.currency} a month"


def _instead(candidate: Candidate, contest: Contest) -> Candidate | None:
    for tier in contest.standing("enough"):
        return tier
    # Nothing is proven: at worst the dearest that is not excluded has to be bought.
    others = [tier for tier in contest.standing("open") if tier is not candidate]
    if not others:
        return None
    return others[-1]


# ------------------------------------------------------------------ how many


def _repetitions(
    ratio: stats.Ratio, done: int, room: float, contest: Contest
) -> WhatItTakes:
    """`done`: repetitions so far."""
    if done < 2:
        return _MORE
    # The spread of two values tells next to nothing of the noise.
    if done < repetitions_needed.LEAST_FOR_A_RANGE:
        third = "a third repetition tells how many more it takes"
        return WhatItTakes(third, by_repetitions=False)
    confidence_of = partial(_confidence, contest)
    needed = repetitions_needed.repetitions_range(ratio, done, room, confidence_of)
    if needed.least is None:
        return _hopeless()
    least = max(1, needed.least - done)
    if needed.most is None:
        return _perhaps_hopeless(least, contest)
    most = max(least, needed.most - done)
    many = f"{least} to {counted(most, 'more repetition')}"
    if least == most:
        many = counted(most, "more repetition")
    parts = [f"it takes {many}", contest.runs.effort.in_words(least, most)]
    text = ", ".join(part for part in parts if part)
    return WhatItTakes(text, by_repetitions=True)


def _hopeless() -> WhatItTakes:
    most = repetitions_needed.MAX_REPETITIONS
    too_many = f"more than {most} repetitions would be needed at this noise"
    return WhatItTakes(f"{too_many}; {_LESS_NOISE}", by_repetitions=False)


def _perhaps_hopeless(least: int, contest: Contest) -> WhatItTakes:
    """The range has no end, as few values may hide much noise."""
    parts = [
        f"it takes {least} or more repetitions, perhaps above {repetitions_needed.MAX_REPETITIONS}"
    ]
    time = contest.runs.effort.in_words(least, least)
    if time:
        parts.append(f"at least {time}")
    return WhatItTakes(f"{', '.join(parts)}; {_LESS_NOISE}", by_repetitions=False)


def _confidence(contest: Contest, repetitions: int) -> float:
    """The confidence of the interval whose bound a claim would need after so many repetitions."""
    # The claim would be made at a later look, which may use another share of the chance.
    share = contest.runs.effort.share(repetitions, contest.rules.share)
    return 1 - 2 * contest.proof.level * share
