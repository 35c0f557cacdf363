"""The answer of a prediction where nothing says what a disk must do: the cheapest of all disks that
are predicted to be nearly as fast as the fastest. Pure.
A prediction is no measurement, so the disk that is named is the one to measure first.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from orchestrator import units
from orchestrator.analysis.answers.disk_words import shapes_in_words, specified
from orchestrator.analysis.answers.record import Answer, Brief
from orchestrator.analysis.predictions import Prediction
from orchestrator.extensions.predict import answer
from orchestrator.extensions.predict.measured_cell import (
    MeasuredCell,
    figure_in_short,
    span_in_short,
)
from orchestrator.texts import prose


@dataclass(frozen=True)
class Choice:
    """Two disks whose prices are in one currency. Both may be the same disk.

    `fastest`: the fastest disk. `cheapest`: the cheapest disk within the margin of the fastest.
    """

    cheapest: Prediction
    fastest: Prediction


def choices(cell: MeasuredCell, predictions: Sequence[Prediction]) -> list[Choice]:
    """One for each currency. `predictions`: from cheap to dear; those that were measured too, and
    those without a price, are left out."""
    candidates: list[tuple[str, Prediction]] = []
    for prediction in predictions:
        is_priced = prediction.monthly_cost is not None
        if is_priced and not prediction.measured and _speed(cell, prediction):
            candidates.append((prediction.currency, prediction))
    by_currency: list[Choice] = []
    for priced in units.gathered(candidates).values():
        by_currency.append(_choice(cell, priced))
    return by_currency


def _choice(cell: MeasuredCell, priced: Sequence[Prediction]) -> Choice:
    fastest = priced[0]
    for prediction in priced:
        if _times_as_fast(cell, prediction, fastest) > 1:
            fastest = prediction
    # Disks go from cheap to dear: the first within the margin is the cheapest that counts as fast.
    for prediction in priced:
        if _times_as_fast(cell, prediction, fastest) >= 1 - cell.margin_pct / 100:
            return Choice(prediction, fastest)
    return Choice(fastest, fastest)


def worth_the_price(
    cell: MeasuredCell, predictions: Sequence[Prediction]
) -> list[Prediction]:
    """From cheap to dear, the disks that are faster by more than the margin than all that cost
    less; of each currency by itself. What was measured too stands first."""
    kept: list[Prediction] = []
    fastest: dict[str, Prediction] = {}
    for prediction in predictions:
        if prediction.measured:
            kept.append(prediction)
            continue
        if prediction.monthly_cost is None or not _speed(cell, prediction):
            continue
        best = fastest.get(prediction.currency)
        least = 1 + cell.margin_pct / 100
        if best is None or _times_as_fast(cell, prediction, best) > least:
            fastest[prediction.currency] = prediction
            kept.append(prediction)
    return kept


def first_answer(
    cell: MeasuredCell, predictions: Sequence[Prediction], commands: Sequence[str]
) -> Answer:
    """`commands`: those that measure what is named; all but the last write profiles."""
    chosen = [choice.cheapest for choice in choices(cell, predictions)]
    return answer.answer_of(
        workload=cell.workload,
        slo=(),
        chosen=chosen,
        commands=commands,
        brief=_brief(cell, predictions),
    )


def _brief(cell: MeasuredCell, predictions: Sequence[Prediction]) -> Brief:
    chosen = choices(cell, predictions)
    return Brief(
        _what(cell, predictions, chosen),
        " ".join(_why(cell, predictions, chosen)),
        " ".join(_how_sure(cell, predictions, chosen)),
        not_tested=_not_tested(predictions),
        next_step=(
            "Say what your load needs, to have the cheapest disks for it named: "
            f'`tierbench advise {cell.run} --slo "p99 < 20 ms"`.'
        ),
    )


def _what(
    cell: MeasuredCell, predictions: Sequence[Prediction], chosen: Sequence[Choice]
) -> str:
    if not chosen:
        count = prose.counted(len(predictions), "disk")
        return f"No disk to measure first: no price is known of {count} predicted"
    priced: list[str] = []
    for choice in chosen:
        priced.append(answer.priced_in_words(choice.cheapest))
    if _is_of_one(predictions):
        does = figure_in_short(cell.speed, _speed(cell, chosen[0].cheapest))
        return f"Predicted {does}: {priced[0]}"
    return f"Worth measuring first: {prose.listed(priced)}"


def _is_of_one(predictions: Sequence[Prediction]) -> bool:
    """Whether one disk was asked about: it is then compared with no other."""
    return len(predictions) == 1


def _why(
    cell: MeasuredCell, predictions: Sequence[Prediction], chosen: Sequence[Choice]
) -> Iterator[str]:
    tiers: list[str] = []
    for choice in chosen:
        tiers.append(choice.cheapest.tier)
    shapes = shapes_in_words(tiers)
    if shapes and len(chosen) == 1:
        yield f"It has {shapes}."
    elif shapes:
        yield f"They are {shapes}."
    for choice in chosen:
        if not _is_of_one(predictions):
            yield _against_the_fastest(cell, choice)
        gain = _against_the_measured(cell, choice.cheapest)
        if gain:
            yield gain


def _against_the_fastest(cell: MeasuredCell, choice: Choice) -> str:
    margin = units.format_quantity(cell.margin_pct, "%")
    if choice.cheapest is choice.fastest:
        return f"It is predicted to be the fastest. No cheaper disk comes within {margin} of it."
    cost = choice.cheapest.monthly_cost
    other_cost = choice.fastest.monthly_cost
    text = f"It is the cheapest disk predicted within {margin} of the fastest"
    fastest = specified(choice.fastest.tier)
    if not cost or not other_cost:
        return f"{text}, {fastest}."
    times = units.format_number(float(f"{other_cost / cost:.3g}"))
    return f"{text}, {fastest}, which costs {times} times as much."


def _against_the_measured(cell: MeasuredCell, prediction: Prediction) -> str:
    """How many times as fast it is as the tier that was measured; empty if that has no figure."""
    measured = cell.means.get(cell.speed)
    if not measured:
        return ""
    value = _speed(cell, prediction)
    times = cell.times_as_fast(value, measured)
    does = figure_in_short(cell.speed, value)
    margin = cell.margin_pct / 100
    if 1 - margin <= times <= 1 + margin:
        return f"With {does} it would be as fast as {cell.tier} ({cell.did}, measured)."
    in_words = units.format_number(float(f"{times:.2g}"))
    return (
        f"With {does} it would be {in_words} times as fast as {cell.tier} "
        f"({cell.did}, measured)."
    )


def _how_sure(
    cell: MeasuredCell, predictions: Sequence[Prediction], chosen: Sequence[Choice]
) -> Iterator[str]:
    yield "Predicted, not measured."
    if chosen:
        figure = chosen[0].cheapest.figure(cell.speed)
        if figure is not None:
            span = span_in_short(cell.speed, figure.low, figure.high)
            yield f"Nine results in ten are expected within {span}."
    for prediction in predictions:
        did = prediction.measured_figure(cell.speed)
        if did is None or not _speed(cell, prediction):
            continue
        predicted = figure_in_short(cell.speed, _speed(cell, prediction))
        measured = figure_in_short(cell.speed, did)
        yield f"For {prediction.tier} the prediction is {predicted}; {measured} was measured."
        break
    named = [choice.cheapest for choice in chosen]
    yield from answer.doubts_in_words(named or predictions)


def _not_tested(predictions: Sequence[Prediction]) -> str:
    measured: list[str] = []
    for prediction in predictions:
        if prediction.measured:
            measured.append(prediction.tier)
    if measured:
        return f"All of these disks but {prose.listed(measured)}."
    return "All of these disks."


def _speed(cell: MeasuredCell, prediction: Prediction) -> float:
    """Its value of the metric by which disks are called fast; 0 if that cannot be told."""
    figure = prediction.figure(cell.speed)
    if figure is None:
        return 0.0
    return figure.value


def _times_as_fast(
    cell: MeasuredCell, prediction: Prediction, other: Prediction
) -> float:
    return cell.times_as_fast(_speed(cell, prediction), _speed(cell, other))
