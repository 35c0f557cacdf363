"""What was predicted from a run as a document: the answer, the disks that it chose from on one
axis, all others, and how to measure them. Page, ticket and terminal draw it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from orchestrator.analysis.answers import phrases
from orchestrator.analysis.answers.disk_words import specified
from orchestrator.analysis.answers.named_disks import named_disks
from orchestrator.analysis.answers.record import Answer
from orchestrator.analysis.predictions import FigureKey, Prediction
from orchestrator.analysis.telemetry.causes.cause import cause_in_words
from orchestrator.design.slo import format_objective
from orchestrator.extensions.predict.answer import (
    MOST_CHANCE_IN_DOUBT,
    chance_in_words,
    cheapest,
    doubts_of,
    possible_tiers,
)
from orchestrator.extensions.predict.first_answer import choices, worth_the_price
from orchestrator.extensions.predict.measured_cell import (
    MeasuredCell,
    figure_in_short,
    number_in_short,
    title_of,
)
from orchestrator.extensions.predict.picture import colour_order, picture
from orchestrator.extensions.predict.section import maps_by_price
from orchestrator.metrics import PERCENTILES
from orchestrator.model import Objective
from orchestrator.report import wording
from orchestrator.report.blocks import (
    Cell,
    Document,
    Paragraph,
    Part,
    Row,
    Section,
    ShownAnswer,
    Stamp,
    Table,
    table_of,
)
from orchestrator.report.sections.ticket import short_section
from orchestrator.texts.prose import capitalized, counted, listed

_SHOWN = 6  # disks shown of those that may meet an SLO, for each currency
_DRAWN = 6  # disks drawn beside the tier that was measured
_WORDS = ("Disk", "Limited by", "Chance")
_THROUGHPUT = FigureKey("throughput_per_s")
_AVERAGE_LATENCY = FigureKey("latency_avg_s")
_P99_LATENCY = FigureKey("latency_p99_s")


@dataclass(frozen=True)
class Predicted:
    """`predictions`: all, from cheap to dear. `clauses`: of the SLO, if one was asked for.
    `is_of_named`: whether somebody named the disks. `commands`: those that measure what is named
    first. `of_classes`: all are volumes of a StorageClass."""

    cell: MeasuredCell
    answer: Answer
    predictions: Sequence[Prediction]
    is_of_named: bool
    of_classes: bool
    clauses: Sequence[Objective] = ()
    commands: Sequence[str] = ()

    @property
    def doubts(self) -> tuple[str, ...]:
        """What limits the run that all of them rest on, and some of their layouts, each once."""
        return doubts_of(self.predictions)

    @property
    def figure_keys(self) -> list[FigureKey]:
        """What the first table has: the clauses of the SLO, else what users see."""
        if self.clauses:
            return [FigureKey(clause.metric, clause.scope) for clause in self.clauses]
        return [_THROUGHPUT, _P99_LATENCY]

    @property
    def shown(self) -> Sequence[Prediction]:
        """The disks of the first screen."""
        if self.clauses:
            return cheapest(possible_tiers(self.predictions), _SHOWN)
        if self.is_of_named:
            return self.predictions
        return worth_the_price(self.cell, self.predictions)


def document(predicted: Predicted) -> Document:
    """The first screen, then every disk, prices, and what to do next."""
    answer = predicted.answer
    is_example = predicted.cell.is_rehearsed
    notice = ""
    chosen = named_disks(answer)
    if is_example:
        notice = phrases.EXAMPLE
        # A script sees no notice, and would buy by figures that a model made up.
        chosen = ()
    drawn = _drawn(predicted)
    return Document(
        title=_title(predicted),
        subtitle=_subtitle(predicted),
        status=answer.sureness.word,
        status_text="",
        stamps=tuple(_stamps(predicted)),
        answers=(_card(predicted, drawn),),
        verdicts=_table(predicted, predicted.shown, predicted.figure_keys),
        sections=tuple(_sections(predicted)),
        tiers=colour_order(predicted.cell, drawn),
        notice=notice,
        brief=answer.brief,
        named_disks=chosen,
        is_example=is_example,
    )


def _title(predicted: Predicted) -> str:
    cell = predicted.cell
    if predicted.clauses:
        clauses = [format_objective(clause) for clause in predicted.clauses]
        return f"Which disk meets {listed(clauses)} for {cell.workload}?"
    return f"What would other disks than {cell.tier} do for {cell.workload}?"


def _subtitle(predicted: Predicted) -> str:
    cell = predicted.cell
    disks = counted(len(predicted.predictions), "disk")
    if predicted.of_classes:
        disks = f"{disks} of StorageClasses"
    parts = [
        f"predicted from {cell.run}",
        cell.database,
        counted(cell.nodes, "node"),
        disks,
    ]
    return " · ".join(parts)


def _stamps(predicted: Predicted) -> Iterator[Stamp]:
    if predicted.doubts:
        text = f"What limits these predictions: {', '.join(predicted.doubts)}."
        bound = f"So no chance is given above {100 * MOST_CHANCE_IN_DOUBT:.0f} %."
        yield Stamp("Limits of the run", f"{text} {bound}", "", is_in_brief=True)


# ------------------------------------------------------------------ the card


def _drawn(predicted: Predicted) -> list[Prediction]:
    """What is on the axis: the last disks of the first screen, those that were measured too, and
    the fastest."""
    shown = predicted.shown
    kept = [*shown[-_DRAWN:]]
    for prediction in shown[:-_DRAWN]:
        if prediction.measured:
            kept.append(prediction)
    if not predicted.clauses:
        for choice in choices(predicted.cell, predicted.predictions):
            kept.append(choice.fastest)
    return [prediction for prediction in predicted.predictions if prediction in kept]


def _card(predicted: Predicted, drawn: Sequence[Prediction]) -> ShownAnswer:
    cell = predicted.cell
    lines: list[str] = []
    measured = figure_in_short(cell.speed, cell.means.get(cell.speed))
    if measured:
        lines.append(f"Measured: {cell.tier} did {measured}. All others are predicted.")
    return ShownAnswer(
        workload=cell.workload,
        tier="",
        text=" ".join(lines),
        price="",
        lines=tuple(lines),
        picture=picture(cell, drawn, predicted.clauses),
    )


# ------------------------------------------------------------------ tables


def _table(
    predicted: Predicted, predictions: Sequence[Prediction], keys: Sequence[FigureKey]
) -> Table:
    """A row for each disk, with these figures."""
    rows: list[Row] = []
    for prediction in predictions:
        rows.append(_row(predicted, prediction, keys))
    if not rows:
        return Table((), (), ("No disk has a chance of 10 % or more.",))
    return table_of(rows, _WORDS, tuple(_remarks(predicted, predictions)))


def _row(
    predicted: Predicted, prediction: Prediction, keys: Sequence[FigureKey]
) -> dict[str, Cell | str]:
    behind = ""
    if prediction.measured:
        behind = "measured too"
    elif prediction.upwards:
        behind = "faster than measured"
    disk = Cell(specified(prediction.tier), detail=behind, tier=prediction.tier)
    row: dict[str, Cell | str] = {"Disk": disk, "A month": _price(prediction)}
    for key in keys:
        row[_column_title(key)] = _figure(prediction, key)
    row["Limited by"] = cause_in_words(prediction.limit)
    if predicted.clauses:
        row["Chance"] = chance_in_words(prediction)
    return row


def _price(prediction: Prediction) -> Cell:
    if prediction.monthly_cost is None:
        return Cell("not known")
    text = wording.money(prediction.monthly_cost, prediction.currency)
    behind: list[str] = []
    if prediction.machines:
        behind.append(f"with {prediction.machines}")
    price = prediction.price
    if price is not None and price.is_unverified:
        behind.append(phrases.NOT_VERIFIED)
    return Cell(text, detail=", ".join(behind))


def _column_title(key: FigureKey) -> str:
    """`Transactions/s`, `p99 latency`, `New_order p99 latency`."""
    title = title_of(key)
    if key.scope == "all" and key.metric in PERCENTILES:
        return title
    return capitalized(title)


def _figure(prediction: Prediction, key: FigureKey) -> Cell:
    """The predicted figure with its interval; of a tier that was measured too, what it did."""
    figure = prediction.figure(key)
    if figure is None:
        return Cell("–")
    low = number_in_short(key, figure.low)
    high = number_in_short(key, figure.high)
    detail = f"{low} to {high}"
    did = prediction.measured_figure(key)
    if did is not None:
        detail = f"did {number_in_short(key, did)}"
    return Cell(number_in_short(key, figure.value), detail=detail)


def _remarks(predicted: Predicted, predictions: Sequence[Prediction]) -> Iterator[str]:
    yield "Below each figure is its 90 % interval, or what was measured."
    covered = _covered(predictions)
    if covered:
        yield covered
    left = len(predicted.predictions) - len(predictions)
    if not left:
        return
    if predicted.clauses:
        yield f"{left} more are dearer or have less than 10 % chance; `-o json` has all."
    elif not predicted.is_of_named:
        yield (
            f"Each disk here is faster than all that cost less. {left} more are in `-o json`, "
            "and on the page."
        )


def _covered(predictions: Sequence[Prediction]) -> str:
    """What the price is for: the disks and machines of so many nodes."""
    for prediction in predictions:
        price = prediction.price
        if price is None or price.nodes is None:
            continue
        words = f"A month: the {price.covers} of {counted(price.nodes, 'node')}"
        if price.measured_nodes is not None:
            words = f"{words}, {price.measured_nodes} measured"
        return f"{words}, at list price."
    return ""


# ------------------------------------------------------------------ sections


def _sections(predicted: Predicted) -> Iterator[Section]:
    yield _ticket(predicted)
    keys = predicted.figure_keys
    if not predicted.clauses:
        keys = [_THROUGHPUT, _AVERAGE_LATENCY, _P99_LATENCY]
    whole = _table(predicted, predicted.predictions, keys)
    # This table leaves nothing out.
    whole = Table(whole.columns, whole.rows, whole.remarks[:2])
    yield Section("all", "Every disk, from cheap to dear", (Part("", (whole,)),))
    maps = tuple(maps_by_price(predicted.predictions))
    if maps:
        yield Section("prices", "By price", (Part("", maps),))
    yield Section("how", "How it was predicted", (Part("", (_how(predicted),)),))


def _ticket(predicted: Predicted) -> Section:
    about = Paragraph(_subtitle(predicted), "Prediction")
    table = _table(predicted, predicted.shown, predicted.figure_keys)
    brief = predicted.answer.brief
    return short_section(brief, about, table, predicted.commands)


def _how(predicted: Predicted) -> Paragraph:
    return Paragraph(
        f"What a transaction of {predicted.cell.run} asked of disk, CPU and log was simulated on "
        "each disk's limits. Nine results in ten of such predictions were within their intervals. "
        "docs/PREDICTION.md has the rules and how far they are off."
    )
