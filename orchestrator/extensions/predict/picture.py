"""Predicted disks on one axis: each a dot with its interval, its price at the label, and shaded
what is enough: what the SLO asks for, or the margin of the fastest."""

from collections.abc import Iterator, Sequence

from orchestrator import units
from orchestrator.analysis.answers.disk_words import row_in_words
from orchestrator.analysis.predictions import FigureKey, Prediction
from orchestrator.design.slo import format_objective
from orchestrator.extensions.predict.measured_cell import (
    MeasuredCell,
    figure_in_short,
    title_of,
)
from orchestrator.metrics import METRICS
from orchestrator.model import Objective
from orchestrator.report import wording
from orchestrator.report.blocks import Chart
from orchestrator.report.charts import charts
from orchestrator.report.sections.tier_rows import (
    RowFigure,
    Stretch,
    TierRow,
    asked_for,
    axis_end,
    labelled_row,
    on_axis,
)


def picture(
    cell: MeasuredCell,
    predictions: Sequence[Prediction],
    clauses: Sequence[Objective],
) -> Chart | None:
    """`predictions`: the disks to be drawn, in their order. `clauses`: of the SLO, of which the
    first is drawn. None where fewer than two disks have the figure."""
    key = cell.speed
    if clauses:
        key = FigureKey(clauses[0].metric, clauses[0].scope)
    factor = _factor(key)
    rows = list(_rows(cell, predictions, key, factor))
    if len(rows) < 2:
        return None
    enough = _margin_of_the_fastest(cell, rows, key)
    if clauses:
        enough = _asked_for(clauses[0], factor)
    end = axis_end(rows, enough)
    axis = _axis(key)
    spec = charts.drawing(
        "tiers",
        colour_order(cell, predictions),
        value=axis,
        labels=[row["label"] for row in rows],
        reach=[0, end],
    )
    title = f"{axis}, predicted, of each disk, with its 90 % interval"
    tables = {"tiers": rows, "enough": [on_axis(enough, end)]}
    return charts.figure("predicted-tiers", title, spec, tables, enough["words"])


def colour_order(
    cell: MeasuredCell, predictions: Sequence[Prediction]
) -> tuple[str, ...]:
    """The tiers in the order of their colours, which tables beside the picture share."""
    return (cell.tier, *(prediction.tier for prediction in predictions))


def _factor(key: FigureKey) -> float:
    """Base unit → the unit that is drawn."""
    if METRICS[key.metric].unit == "s":
        return 1e3
    return 1.0


def _axis(key: FigureKey) -> str:
    """`transactions/s`, `new_order p99 latency, ms`."""
    words = title_of(key)
    if METRICS[key.metric].unit == "s":
        words = f"{words}, ms"
    return words


def _rows(
    cell: MeasuredCell, predictions: Sequence[Prediction], key: FigureKey, factor: float
) -> Iterator[TierRow]:
    """The tier that was measured first, which has no interval here, then what is predicted."""
    measured = cell.means.get(key)
    if measured is not None:
        label = f"{cell.tier}, measured"
        in_words = f"{figure_in_short(key, measured)}, measured"
        ends = RowFigure(measured, measured, measured)
        yield labelled_row(cell.tier, label, "not compared", ends, factor, in_words)
    labels: set[str] = set()
    for prediction in predictions:
        figure = prediction.figure(key)
        if figure is None:
            continue
        label = _label(prediction)
        if label in labels:
            # Several sizes of one row at one price are alike: the table has them all.
            continue
        labels.add(label)
        ends = RowFigure(figure.value, figure.low, figure.high)
        in_words = f"{figure_in_short(key, figure.value)}, predicted"
        yield labelled_row(
            prediction.tier, label, _price(prediction), ends, factor, in_words
        )


def _label(prediction: Prediction) -> str:
    """`aws/gp3, 20.48 USD`, or `azure/P15, log on azure/P4, 40.00 USD`: without parameters, for
    which a label has no room."""
    row = row_in_words(prediction.tier)
    if prediction.monthly_cost is None:
        return row
    return f"{row}, {_price(prediction)}"


def _price(prediction: Prediction) -> str:
    if prediction.monthly_cost is None:
        return "not known"
    return wording.money(prediction.monthly_cost, prediction.currency)


def _margin_of_the_fastest(
    cell: MeasuredCell, rows: Sequence[TierRow], key: FigureKey
) -> Stretch:
    values = [row["value"] for row in rows]
    share = cell.margin_pct / 100
    margin = units.format_quantity(cell.margin_pct, "%")
    words = f"Shaded: within {margin} of the fastest. Lines: nine results in ten lie within."
    if METRICS[key.metric].less_is_better:
        return {"from": min(values), "to": min(values) * (1 + share), "words": words}
    return {"from": max(values) * (1 - share), "to": max(values), "words": words}


def _asked_for(clause: Objective, factor: float) -> Stretch:
    words = (
        f"Shaded: {format_objective(clause)}. Lines: nine results in ten lie within."
    )
    return asked_for(clause, factor, words)
