"""Rows of a chart of tiers: a dot each, with its interval, its price and its figure in words."""

from typing import Any

from orchestrator.analysis.conclusions import Offer
from orchestrator.report import wording

TierRow = dict[
    str, Any
]  # of the drawing `tiers`: a tier's dot, by the names of its fields
Stretch = dict[
    str, Any
]  # of the same: `from` and `to` of what is shaded, and its `words`


def tier_row(
    offer: Offer, figure: tuple[float, float, float], factor: float, in_words: str
) -> TierRow:
    """`figure`: the mean and the ends of its interval, in base units; `factor`: to those of the
    axis."""
    value, low, high = figure
    label = offer.tier
    price = "not known"
    if offer.monthly_cost is not None:
        price = wording.money(offer.monthly_cost, offer.currency)
        label = f"{offer.tier}, {price}"
    row: TierRow = {"tier": offer.tier, "label": label, "price": price}
    row["value"] = value * factor
    row["low"] = low * factor
    row["high"] = high * factor
    row["told"] = in_words
    return row
