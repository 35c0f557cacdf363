"""What a run says of other tiers (`tierbench predict`): those that were measured too, beside what
they did, and a map of all by price."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from orchestrator.analysis.conclusions import Prediction
from orchestrator.metrics import METRICS
from orchestrator.report import blocks, prose, report_index, wording
from orchestrator.report.charts import charts
from orchestrator.units import format_quantity

_COLOURS = ("#999999", "#332288", "#882255", "#117733", "#CC6677", "#DDCC77")


def section(index: report_index.ReportIndex) -> tuple[blocks.Section, ...]:
    """Empty where nothing was predicted."""
    every, shown = index.campaign.predictions, prose.measures("predicted.measures")
    if not every:
        return ()
    about = prose.said("predicted.about", run=every[0].run)
    rows = [_row(prediction, shown) for prediction in every if prediction.measured]
    kinds = sorted({_kind(prediction) for prediction in every})
    colours = dict(zip(kinds, _COLOURS, strict=False))
    drawn = tuple(_maps(every, shown, colours))
    parts: list[blocks.Block] = (
        [blocks.table_of(rows, ("Tier",), (about,))]
        if rows
        else [blocks.Paragraph(about)]
    )
    if drawn:
        parts.append(
            blocks.Charts(drawn, (), prose.said("predicted.map"), bands=colours)
        )
    return (
        blocks.Section(
            "predicted", "Predicted of other tiers", (blocks.Part("", tuple(parts)),)
        ),
    )


def _row(
    prediction: Prediction, shown: Sequence[blocks.Measure]
) -> dict[str, blocks.Cell]:
    row = {"Tier": blocks.Cell(prediction.tier, tier=prediction.tier)}
    for measure in shown:
        value = prediction.measured.get(measure.metric)
        did = (
            ""
            if value is None
            else format_quantity(value, METRICS[measure.metric].unit)
        )
        row[f"{measure.title}, predicted"] = blocks.Cell(
            told(prediction, measure.metric)
        )
        row[f"{measure.title}, measured"] = blocks.Cell(did)
    return row


def told(prediction: Prediction, name: str) -> str:
    """`1,093/s (818/s to 1,459/s)`; empty if it cannot be told."""
    if (figure := prediction.figures.get(name)) is None:
        return ""
    unit, ends = METRICS[name.split()[-1]].unit, (figure.value, figure.low, figure.high)
    return "{} ({} to {})".format(*(format_quantity(end, unit) for end in ends))


def _kind(prediction: Prediction) -> str:
    """By which it has its colour: the provider, or that it was measured."""
    return "measured too" if prediction.measured else prediction.tier.partition("/")[0]


def _maps(
    every: Sequence[Prediction],
    shown: Sequence[blocks.Measure],
    colours: Mapping[str, str],
) -> Iterator[blocks.Chart]:
    """Of tiers with prices of one list."""
    scale = {"domain": list(colours), "range": list(colours.values())}
    priced = [prediction for prediction in every if prediction.monthly_cost]
    currency = priced[0].currency if priced else ""
    for measure in shown:
        rows = [
            _point(prediction, measure)
            for prediction in priced
            if prediction.currency == currency and measure.metric in prediction.figures
        ]
        if len(rows) > 1:
            spec = charts.drawing(
                "map",
                heading=f"{measure.title} by price",
                value=f"{measure.title}, {measure.unit}",
                cost=f"cost of all nodes, {currency} a month",
                providers=scale,
            )
            title = f"{measure.title}, predicted, against cost a month, {currency}"
            yield charts.figure(
                f"predicted-{measure.file}", title, spec, {"points": rows}
            )


def _point(prediction: Prediction, measure: blocks.Measure) -> dict[str, Any]:
    cost = prediction.monthly_cost or 0.0
    did = prediction.measured.get(measure.metric)
    return {
        "name": prediction.tier,
        "provider": _kind(prediction),
        "cost": cost,
        "price": wording.money(cost, prediction.currency),
        "value": prediction.figures[measure.metric].value * measure.factor,
        "did": None if did is None else did * measure.factor,
        "told": told(prediction, measure.metric),
        "limit": prediction.limit.replace("_", " "),
    }
