"""What a run says of other tiers (`tierbench predict`): those that were measured too, beside what
they did, and a map of all by price."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from orchestrator.analysis.predictions import FigureKey, Prediction
from orchestrator.analysis.telemetry.causes.cause import cause_in_words
from orchestrator.keys.shipped_yaml import shipped
from orchestrator.metrics import number_in_words, value_in_words
from orchestrator.report import wording
from orchestrator.report.blocks import (
    Block,
    Cell,
    Chart,
    Charts,
    Measure,
    Paragraph,
    Part,
    Row,
    Section,
    table_of,
)
from orchestrator.report.charts import charts
from orchestrator.report.report_index import ReportIndex
from orchestrator.tier import disk_names

_DRAWINGS = shipped(__package__, "drawings.yaml")
_COLOURS = ("#999999", "#332288", "#882255", "#117733", "#CC6677", "#DDCC77")
_MEASURED_TOO = "measured too"
_MEASURES = (
    Measure("throughput_per_s", "throughput", "Throughput", "transactions/s"),
    Measure("latency_avg_s", "average", "Average latency", "ms", 1e3),
    Measure("latency_p99_s", "p99", "p99 latency", "ms", 1e3),
)


def section(index: ReportIndex) -> tuple[Section, ...]:
    """Empty where nothing was predicted."""
    predictions = index.campaign.predictions
    if not predictions:
        return ()
    blocks = (_beside_measured(predictions), *maps_by_price(predictions))
    part = Part("", blocks)
    return (Section("predicted", "Predicted of other tiers", (part,)),)


# ------------------------------------------------------------------ beside what was measured


def _beside_measured(predictions: Sequence[Prediction]) -> Block:
    """A table of those that were measured too; else only what predictions rest on."""
    about = (
        f"From what {predictions[0].run} asked of its tier; intervals of 90 %. A prediction is "
        "not a measurement: it says which tiers are worth measuring (docs/PREDICTION.md)."
    )
    rows: list[Row] = []
    for prediction in predictions:
        if prediction.measured:
            rows.append(_row(prediction))
    if not rows:
        return Paragraph(about)
    return table_of(rows, ("Tier",), (about,))


def _row(prediction: Prediction) -> dict[str, Cell | str]:
    row: dict[str, Cell | str] = {
        "Tier": Cell(prediction.tier, tier=prediction.tier),
    }
    for measure in _MEASURES:
        predicted = figure_in_words(prediction, measure.metric)
        row[f"{measure.title}, predicted"] = Cell(predicted)
        measured = _measured_in_words(prediction, measure.metric)
        row[f"{measure.title}, measured"] = Cell(measured)
    return row


def figure_in_words(prediction: Prediction, metric: str) -> str:
    """`1,093 transactions/s (818 to 1,459)` of all transactions; empty if it cannot be told."""
    figure = prediction.figure(FigureKey(metric))
    if figure is None:
        return ""
    value = value_in_words(metric, figure.value)
    low = number_in_words(metric, figure.low)
    high = number_in_words(metric, figure.high)
    return f"{value} ({low} to {high})"


def _measured_in_words(prediction: Prediction, metric: str) -> str:
    value = prediction.measured_figure(FigureKey(metric))
    if value is None:
        return ""
    return value_in_words(metric, value)


# ------------------------------------------------------------------ by price


def maps_by_price(predictions: Sequence[Prediction]) -> Iterator[Charts]:
    kinds = sorted({_kind(prediction) for prediction in predictions})
    colours = dict(zip(kinds, _COLOURS, strict=False))
    maps = tuple(_maps(predictions, colours))
    if maps:
        caption = (
            "Each point is a tier of the catalog; both axes are logarithmic. "
            "If a tier was measured too, a line ends at what it did."
        )
        yield Charts(maps, (), caption, bands=colours)


def _maps(
    predictions: Sequence[Prediction], colours: Mapping[str, str]
) -> Iterator[Chart]:
    """Maps of tiers whose prices are of one list, for each measure that two or more of them
    have."""
    priced = [prediction for prediction in predictions if prediction.monthly_cost]
    if not priced:
        return
    currency = priced[0].currency
    comparable = [
        prediction for prediction in priced if prediction.currency == currency
    ]
    for measure in _MEASURES:
        points: list[dict[str, Any]] = []
        for prediction in comparable:
            figure = prediction.figure(FigureKey(measure.metric))
            if figure is not None:
                points.append(_point(prediction, measure, figure.value))
        if len(points) >= 2:
            yield _map(measure, points, currency, colours)


def _map(
    measure: Measure,
    points: Sequence[Mapping[str, Any]],
    currency: str,
    colours: Mapping[str, str],
) -> Chart:
    providers = {"domain": list(colours), "range": list(colours.values())}
    spec = charts.laid_out(
        _DRAWINGS["map"],
        heading=f"{measure.title} by price",
        value=f"{measure.title}, {measure.unit}",
        cost=f"cost of all nodes, {currency} a month",
        providers=providers,
    )
    title = f"{measure.title}, predicted, against cost a month, {currency}"
    return charts.figure(f"predicted-{measure.file}", title, spec, {"points": points})


def _point(
    prediction: Prediction, measure: Measure, predicted: float
) -> dict[str, Any]:
    """`predicted`: the measure's figure, in its metric's unit."""
    cost = prediction.monthly_cost or 0.0
    measured = prediction.measured_figure(FigureKey(measure.metric))
    if measured is not None:
        measured *= measure.factor
    point: dict[str, Any] = {"name": prediction.tier}
    point["provider"] = _kind(prediction)
    point["cost"] = cost
    point["price"] = wording.money(cost, prediction.currency)
    point["value"] = predicted * measure.factor
    point["did"] = measured
    point["told"] = figure_in_words(prediction, measure.metric)
    point["limit"] = cause_in_words(prediction.limit)
    return point


def _kind(prediction: Prediction) -> str:
    """What decides its colour: the provider, or that it was measured."""
    if prediction.measured:
        return _MEASURED_TOO
    return disk_names.read(prediction.tier).provider
