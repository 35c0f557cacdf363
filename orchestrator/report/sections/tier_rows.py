"""Rows of a chart of tiers: a dot each, with its interval, its price and its figure in words;
and the stretch of the axis that is shaded."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from orchestrator.analysis.conclusions import Offer
from orchestrator.metrics import METRICS
from orchestrator.model import Objective
from orchestrator.report import wording

# Of the drawing `tiers`: a tier's dot, by the names of its fields.
TierRow = dict[str, Any]
# Of the same: `from` and `to` of what is shaded, and its `words`. `to` is None if all beyond is.
Stretch = dict[str, Any]
# Multiple of the highest figure at which the axis ends.
_ROOM = 1.08


class RowFigure(NamedTuple):
    """A mean and the ends of its interval, in base units."""

    mean: float
    low: float
    high: float


def tier_row(offer: Offer, figure: RowFigure, factor: float, in_words: str) -> TierRow:
    """`factor`: from base units to those of the axis."""
    label = offer.tier
    price = "not known"
    if offer.monthly_cost is not None:
        price = wording.money(offer.monthly_cost, offer.currency)
        label = f"{offer.tier}, {price}"
    return labelled_row(offer.tier, label, price, figure, factor, in_words)


def labelled_row(
    tier: str,
    label: str,
    price: str,
    figure: RowFigure,
    factor: float,
    in_words: str,
) -> TierRow:
    """`factor`: as of `tier_row`."""
    row: TierRow = {"tier": tier, "label": label, "price": price, "told": in_words}
    row["value"] = figure.mean * factor
    row["low"] = figure.low * factor
    row["high"] = figure.high * factor
    return row


def axis_end(rows: Sequence[TierRow], shaded: Stretch | None) -> float:
    """The end of the axis: with room beyond all intervals, and beyond what is shaded."""
    ends: list[float] = [row["high"] for row in rows]
    if shaded is not None:
        # What is asked for must be in sight, also where no tier comes up to it.
        ends.append(shaded["from"])
        if shaded["to"] is not None:
            ends.append(shaded["to"])
    return max(ends, default=0.0) * _ROOM


def asked_for(clause: Objective, factor: float, words: str) -> Stretch:
    """The stretch in which the clause is met. `factor`: from base units to those of the axis."""
    limit = clause.limit * factor
    # Every latency below the limit is enough, down to none at all.
    if METRICS[clause.metric].less_is_better:
        return {"from": 0.0, "to": limit, "words": words}
    return {"from": limit, "to": None, "words": words}


def on_axis(shaded: Stretch, end: float) -> Stretch:
    """The stretch with an end: that of the axis, if it has none."""
    if shaded["to"] is None:
        return {**shaded, "to": end}
    return shaded
