"""The answer of a prediction: which tiers are the cheapest to meet an SLO, and worth measuring.

Pure. A prediction is no measurement, so it names no tier to buy.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from orchestrator import units
from orchestrator.analysis.answers import phrases
from orchestrator.analysis.answers.disk_words import row_in_words, shapes_in_words
from orchestrator.analysis.answers.record import (
    Answer,
    Brief,
    DiskOutlook,
    NextStep,
    PartAnswer,
    SloClause,
    Sureness,
    Untested,
)
from orchestrator.analysis.conclusions import Verdict
from orchestrator.analysis.doubts import by_effect
from orchestrator.analysis.predictions import Prediction
from orchestrator.analysis.results import Results, finished
from orchestrator.extensions.predict.nearest import Nearest, nearest
from orchestrator.metrics import value_in_words
from orchestrator.model import Run
from orchestrator.texts import prose
from orchestrator.tier import disk_names

# Likely, even, not negligible: the cheapest tier of each chance is worth measuring.
CHANCES = (0.9, 0.5, 0.1)
_AS_LIKELY_AS_NOT = 0.5
# Nine intervals of the model in ten hold, of runs that nothing limits
# (docs/research/PREDICTION.md): where something does, no more is said.
MOST_CHANCE_IN_DOUBT = 0.9
FEWEST_REPETITIONS = 3  # fewer hardly show the noise between runs
# Both from runs of one disk alone (docs/research/LAYOUTS.md): all figures were within intervals.
LOGS_DID_BETTER = "In trials a log's disk did up to 18 % better than predicted."
_NO_CHANCE = "Every disk has less than a 10 % chance to meet it."
_UNTESTED = Untested(
    "any measurement",
    "A prediction is not a measurement: it says which tiers are worth measuring.",
    "measure those that are named",
)


def doubts_of_cell(campaign: Results, verdict: Verdict, run: Run) -> tuple[str, ...]:
    """What limits predictions from the runs of a cell: few of them, a small scale, and the doubts
    about them that limit a campaign's answer too."""
    numbers: set[int | None] = {None}
    for ended in finished(campaign, run.profile, run.workload):
        numbers.add(ended.record.run.number)
    texts: list[str] = []
    repetitions = len(numbers) - 1
    if repetitions < FEWEST_REPETITIONS:
        texts.append(f"n = {repetitions}")
    if campaign.small_scale:
        texts.append(f"scale {campaign.small_scale}")
    cell_doubts = [doubt for doubt in verdict.doubts if doubt.run in numbers]
    return (*texts, *by_effect.limiting(cell_doubts))


def in_doubt(prediction: Prediction, doubts: tuple[str, ...]) -> Prediction:
    """The prediction with what limits the run that it rests on.

    Its chance is lowered to what that limit allows.
    """
    if not doubts:
        return prediction
    # Intervals were tried on runs that nothing limits: of others no more can be promised.
    chance = prediction.chance
    if chance is not None:
        chance = min(chance, MOST_CHANCE_IN_DOUBT)
    return replace(prediction, chance=chance, doubts=doubts)


def by_price(predictions: Sequence[Prediction]) -> list[Prediction]:
    """Tiers that were measured first, then the others from cheap to dear, each currency by itself.

    Tiers without a price are last.
    """
    return sorted(predictions, key=_place_by_price)


def _place_by_price(prediction: Prediction) -> tuple[bool, bool, str, float]:
    cost = prediction.monthly_cost
    currency = prediction.currency
    return (not prediction.measured, cost is None, currency, cost or 0.0)


def possible_tiers(predictions: Sequence[Prediction]) -> list[Prediction]:
    """The tiers with a price that may meet the SLO, from cheap to dear."""
    possible: list[Prediction] = []
    for prediction in predictions:
        if prediction.currency and (prediction.chance or 0.0) >= CHANCES[-1]:
            possible.append(prediction)
    return by_price(possible)


def worth_measuring(predictions: Sequence[Prediction]) -> list[Prediction]:
    """The cheapest that meets the SLO with each of `CHANCES`, the likeliest first; each once.

    Of each currency by itself, because amounts in two of them have no order.
    """
    by_currency = units.gathered(
        (prediction.currency, prediction) for prediction in possible_tiers(predictions)
    )
    chosen: list[Prediction] = []
    for possible in by_currency.values():
        chosen += _cheapest_of_each_chance(possible)
    return chosen


def _cheapest_of_each_chance(possible: Sequence[Prediction]) -> list[Prediction]:
    """`possible`: from cheap to dear, in one currency."""
    chosen: list[Prediction] = []
    for least in CHANCES:
        likely = [pred for pred in possible if (pred.chance or 0.0) >= least]
        if likely and likely[0] not in chosen:
            chosen.append(likely[0])
    return chosen


def cheapest(possible: Sequence[Prediction], most: int) -> list[Prediction]:
    """The `most` cheapest of each currency. `possible` is ordered from cheap to dear."""
    by_currency = units.gathered(
        (prediction.currency, prediction) for prediction in possible
    )
    shown: list[Prediction] = []
    for priced in by_currency.values():
        shown += priced[:most]
    return shown


def prediction_answer(
    workload: str,
    slo: Sequence[str],
    predictions: Sequence[Prediction],
    commands: Sequence[str],
    own_machine: str | None = None,
) -> Answer:
    """`slo`: its clauses, by which tiers were chosen. `commands`: those that measure what is worth
    it; all but the last write profiles. `own_machine`: the run's; any other one is named."""
    chosen = worth_measuring(predictions)
    # Where a tier is worth measuring, nobody asks for the one that comes nearest.
    near: Nearest | None = None
    why = _met_by_none(slo)
    if chosen:
        names = prose.listed([prediction.tier for prediction in chosen])
        why = f"Worth measuring: {names}"
    else:
        near = nearest(predictions)
    if near is not None:
        why = f"{why}; {near}"
    brief = _brief(near, chosen, slo, predictions, own_machine)
    return answer_of(workload, slo, chosen, commands, brief, phrases.sentence(why))


def answer_of(
    workload: str,
    slo: Sequence[str],
    chosen: Sequence[Prediction],
    commands: Sequence[str],
    brief: Brief,
    why: str = "",
) -> Answer:
    """The record of a prediction that names `chosen` to be measured. `why`: if not the brief's."""
    names = prose.listed([prediction.tier for prediction in chosen])
    part = PartAnswer(
        subject=workload,
        about="workload",
        purchase=None,
        why=(why or brief.why,),
        proof="predicted",
        slo=tuple(SloClause(objective) for objective in slo),
        worth_measuring=tuple(_outlook(prediction) for prediction in chosen),
    )
    return Answer(
        kind="prediction",
        parts=(part,),
        together=None,
        sureness=Sureness("predicted", _UNTESTED.text),
        untested=(_UNTESTED,),
        next_steps=tuple(_steps(names, commands)),
        brief=brief,
    )


def _brief(
    near: Nearest | None,
    chosen: Sequence[Prediction],
    slo: Sequence[str],
    predictions: Sequence[Prediction],
    own_machine: str | None,
) -> Brief:
    """`near`: the tier that comes nearest, if no disk is worth measuring."""
    what = _met_by_none(slo)
    why = ""
    if near is not None:
        why = str(near)
    next_step = "Measure a faster disk, or relax the SLO."
    if chosen:
        what = f"worth measuring: {_priced_together(chosen, own_machine)}"
        why = f"The cheapest that {_how_likely(chosen)} meet {prose.listed(list(slo))}"
        if len(chosen) == 1:
            why = f"{why}, with {prose.listed(_figures_in_words(chosen[0]))} predicted"
        tiers: list[str] = []
        for prediction in chosen:
            tiers.append(prediction.tier)
        shapes = shapes_in_words(tiers)
        if shapes:
            why = f"{why}: {shapes}"
        next_step = "Measure them in a campaign: this command with `-o md` prints how."
    how_sure = "Predicted, not measured."
    if not chosen:
        how_sure = f"{how_sure} {_NO_CHANCE}"
    chances: list[str] = []
    # None is chosen whose chance is not known.
    for prediction in chosen:
        chances.append(chance_in_words(prediction))
    if chances:
        # Disks have long names, which stand in the first line.
        which = ""
        if len(chances) > 1:
            which = ", in the order above"
        how_sure = f"{how_sure} Chance to meet the SLO{which}: {prose.listed(chances)}."
    how_sure = " ".join([how_sure, *doubts_in_words(chosen or predictions)])
    return Brief(
        prose.capitalized(what),
        phrases.closed(why),
        how_sure=how_sure,
        not_tested="All of these disks.",
        next_step=next_step,
    )


def _how_likely(chosen: Sequence[Prediction]) -> str:
    """`is predicted to`; `may` where one of them is more likely not to."""
    for prediction in chosen:
        if (prediction.chance or 0.0) < _AS_LIKELY_AS_NOT:
            return "may"
    if len(chosen) == 1:
        return "is predicted to"
    return "are predicted to"


def _met_by_none(slo: Sequence[str]) -> str:
    return f"no disk is predicted to meet {prose.listed(list(slo))}"


def _figures_in_words(prediction: Prediction) -> list[str]:
    """`457 transactions/s`, `18 ms`: what is predicted of each clause of the SLO."""
    texts: list[str] = []
    for key, figure in prediction.by_key.items():
        texts.append(value_in_words(key.metric, figure.value))
    return texts


def doubts_in_words(predictions: Sequence[Prediction]) -> Iterator[str]:
    """What limits the run that all of them rest on, if something does, and how far predictions of
    a log's disk were off, if one has such a disk."""
    doubts = doubts_of(predictions)
    if doubts:
        yield f"What limits these predictions: {', '.join(doubts)}."
    for prediction in predictions:
        if disk_names.read(prediction.tier).log is not None:
            yield LOGS_DID_BETTER
            return


def doubts_of(predictions: Sequence[Prediction]) -> tuple[str, ...]:
    """What limits all of these predictions, each reason once."""
    texts: dict[str, None] = {}
    for prediction in predictions:
        texts.update(dict.fromkeys(prediction.doubts))
    return tuple(texts)


def chance_in_words(prediction: Prediction) -> str:
    """`83 %`, or `at most 90 %` where doubts bound it; a dash if nothing was asked."""
    if prediction.chance is None:
        return "–"
    words = f"{100 * prediction.chance:.0f} %"
    if prediction.doubts and prediction.chance >= MOST_CHANCE_IN_DOUBT:
        return f"at most {words}"
    return words


def _priced_together(predictions: Sequence[Prediction], own_machine: str | None) -> str:
    """Disks with their prices. What prices are for stands once, if it is the same for all."""
    priced = [_priced(prediction, own_machine) for prediction in predictions]
    coverages = [_coverage(prediction) for prediction in predictions]
    if len(set(coverages)) == 1:
        return f"{'; or '.join(priced)}{coverages[0]}"
    texts: list[str] = []
    for words, coverage in zip(priced, coverages, strict=True):
        texts.append(f"{words}{coverage}")
    return "; ".join(texts)


def priced_in_words(prediction: Prediction) -> str:
    """`azure/P30 for 405.51 USD a month (disks and machines of your 3 nodes)`."""
    return f"{_priced(prediction, None)}{_coverage(prediction)}"


def _priced(prediction: Prediction, own_machine: str | None) -> str:
    """`azure/P30 for 405.51 USD a month`, or `azure/P30 with Standard_D16s_v5 for …` where the
    machine is not the run's. None: machines are not told."""
    disk = row_in_words(prediction.tier)
    is_own = own_machine in (prediction.machine, *prediction.other_machines)
    if prediction.machines and own_machine is not None and not is_own:
        disk = f"{disk} with {prediction.machines}"
    if prediction.price is None:
        return disk
    return f"{disk} for {phrases.monthly(prediction.price)}"


def _coverage(prediction: Prediction) -> str:
    """` (disks and machines of your 3 nodes)`; empty where the price is of one disk, or none is."""
    price = prediction.price
    if price is None or price.nodes is None:
        return ""
    return f" ({price.covers} of your {prose.counted(price.nodes, 'node')})"


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
