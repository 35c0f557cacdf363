"""The answer of a prediction: which tiers are the cheapest to meet an SLO, and worth measuring.

Pure. A prediction is no measurement, so it names no tier to buy.
"""

from collections.abc import Sequence

from orchestrator import units
from orchestrator.analysis.answers import phrases
from orchestrator.analysis.answers.record import (
    Answer,
    DiskOutlook,
    NextStep,
    PartAnswer,
    SloClause,
    Sureness,
    Untested,
)
from orchestrator.analysis.conclusions import Prediction

# Likely, even, not negligible: the cheapest tier of each chance is worth measuring.
CHANCES = (0.9, 0.5, 0.1)
NO_TIER = "no tier is predicted to meet that with a chance of 10 % or more"
_UNTESTED = Untested(
    "any measurement",
    "A prediction is no measurement: it says which tiers are worth measuring.",
    "measure those that are named",
)


def possible_tiers(predictions: Sequence[Prediction]) -> list[Prediction]:
    """Those with a price that may meet the SLO, from cheap to dear."""
    possible: list[Prediction] = []
    for prediction in predictions:
        if prediction.currency and (prediction.chance or 0.0) >= CHANCES[-1]:
            possible.append(prediction)
    return sorted(possible, key=_monthly_cost)


def worth_measuring(predictions: Sequence[Prediction]) -> list[Prediction]:
    """The cheapest that meets the SLO with each of `CHANCES`, the likeliest first; each once."""
    chosen: list[Prediction] = []
    possible = possible_tiers(predictions)
    for least in CHANCES:
        likely = [pred for pred in possible if (pred.chance or 0.0) >= least]
        if likely and likely[0] not in chosen:
            chosen.append(likely[0])
    return chosen


def prediction_answer(
    workload: str,
    slo: Sequence[str],
    predictions: Sequence[Prediction],
    commands: Sequence[str],
) -> Answer:
    """`slo`: its clauses, by which tiers were chosen. `commands`: those that measure what is worth
    it; all but the last write profiles."""
    chosen = worth_measuring(predictions)
    outlooks = tuple(_outlook(prediction) for prediction in chosen)
    names = units.listed([outlook.tier for outlook in outlooks])
    why = NO_TIER
    if outlooks:
        why = f"Worth measuring: {names}"
    part = PartAnswer(
        subject=workload,
        about="workload",
        purchase=None,
        why=(phrases.sentence(why),),
        proof="predicted",
        slo=tuple(SloClause(objective) for objective in slo),
        worth_measuring=outlooks,
    )
    return Answer(
        kind="prediction",
        parts=(part,),
        together=None,
        sureness=Sureness("predicted", _UNTESTED.text),
        untested=(_UNTESTED,),
        next_steps=tuple(_steps(names, commands)),
    )


def _steps(names: str, commands: Sequence[str]) -> list[NextStep]:
    steps = [NextStep("describe", names, command) for command in commands[:-1]]
    if commands:
        steps.append(NextStep("measure", names, commands[-1]))
    return steps


def _outlook(prediction: Prediction) -> DiskOutlook:
    return DiskOutlook(
        tier=prediction.tier,
        price=prediction.price,
        machine=prediction.machine,
        chance=prediction.chance,
    )


def _monthly_cost(prediction: Prediction) -> float:
    return prediction.monthly_cost or 0.0
