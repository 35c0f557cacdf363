"""Values, spreads, changes, prices and sentences in words, the same in every table."""

import math
import re
from collections.abc import Iterable, Sequence

from orchestrator import units
from orchestrator.analysis.answers import phrases
from orchestrator.analysis.answers.figure_words import (
    METRICS as METRICS,
    interval as interval,
    value as value,
    value_with_unit as value_with_unit,
)
from orchestrator.analysis.answers.phrases import (
    closed as closed,
    money as money,
    ranges as ranges,
    sentence as sentence,
)
from orchestrator.analysis.conclusions import CellSummary, Delta
from orchestrator.design import boxed_work
from orchestrator.model import Workload
from orchestrator.tier import Price

# Whether another tier gives as much for less, or more for as much.
FRONT = {
    True: "best at its price",
    False: "another is better value",
    None: "value for money not proven",
}
_TEXTS_SHOWN = 3


def measured_for(load: Workload) -> str:
    """How long a run of it is measured: `60 s`, or `until its work is done, at most 2 min`."""
    measure = units.format_seconds(load.measure_s)
    if boxed_work.ends_with_work(load):
        return f"until its work is done, at most {measure}"
    return measure


def declared(limit: float | None, unit: str) -> str:
    """A limit that a tier may leave open."""
    if limit is None:
        return "none declared"
    return units.format_quantity(limit, unit)


def spread(cell: CellSummary) -> str:
    """Half the width of the interval of the mean, relative to the mean: `± 1.6 %`."""
    # The spread is relative, and nothing is relative to zero.
    if cell.n < 2 or cell.ci_low is None or cell.ci_high is None or not cell.mean:
        return ""
    width = cell.ci_high - cell.ci_low
    half_pct = width / 2 / abs(cell.mean) * 100
    if not math.isfinite(half_pct):
        return ""
    # What would be rounded to 10.0 has no decimals: an interval of few runs carries two digits.
    if half_pct >= 9.95:
        return f"± {half_pct:.0f} %"
    # "± 0.0 %" would say that there is no noise at all.
    return f"± {max(half_pct, 0.1):.1f} %"


def ends(cell: CellSummary) -> tuple[float, float]:
    """The ends of the interval of the mean, as charts draw it.

    They are not below zero. If there is no interval, both are the mean.
    """
    # An interval of few runs may reach below zero, where no rate and no latency is.
    low = cell.mean
    if cell.ci_low is not None:
        low = max(cell.ci_low, 0.0)
    high = cell.mean
    if cell.ci_high is not None:
        high = cell.ci_high
    return low, high


def margins(margin_pct: float, p99_margin_pct: float) -> str:
    """`±5 % (p99: ±20 %)`."""
    usual = units.format_quantity(margin_pct, "%")
    tail = units.format_quantity(p99_margin_pct, "%")
    if usual == tail:
        return f"±{usual}"
    return f"±{usual} (p99: ±{tail})"


def confidence(levels_pct: Iterable[float]) -> str:
    """`95 %`, or `97.8 % to 99.45 %` where the intervals of a growing campaign differ."""
    different_pct = sorted(set(levels_pct))
    levels = [f"{level:.4g} %" for level in different_pct]
    if len(levels) == 1:
        return levels[0]
    return f"{levels[0]} to {levels[-1]}"


def runs_on_each_side(delta: Delta) -> str:
    """`5`, or `4 (baseline 5)` where the sides differ."""
    if delta.n_baseline == delta.n_contender:
        return str(delta.n_contender)
    return f"{delta.n_contender} (baseline {delta.n_baseline})"


def price(stated: Price | None) -> str:
    """A price of a month with where it was read, as a table of tiers states it."""
    if stated is None:
        return "not stated"
    return (
        f"{money(stated.monthly, stated.currency)} a month {phrases.where_read(stated)}"
    )


_BEFORE_UNIT = re.compile(
    r"(?<=\d) (?=[%×]|(?:µs|ms|s|min|h|B|[KMGT]iB|MB/s|IOPS|NOPM)\b)"
)


_AFTER_SIGN = re.compile(r"(?<=[<>×±]) (?=\d)")


def unbroken(text: str) -> str:
    """The text with unbreakable spaces between a number and its sign or unit."""
    # A line that ends behind a number would part it from its unit.
    joined = text.replace("n = ", "n\u00a0=\u00a0")
    joined = _AFTER_SIGN.sub("\u00a0", joined)
    return _BEFORE_UNIT.sub("\u00a0", joined)


# A number that is joined to a word or to another number is a name's or a time's: `node-5`,
# `size=250GiB`, `10.0.0.5:5433`, `2026-11-30`, `12:30`.
_NUMBER = re.compile(r"(?<![\w.,\-=:/@])\d+(?:,\d{3})*(?:\.\d+)?(?![\d.,\-:]*\d)")


def spanning(texts: Sequence[str]) -> tuple[str, ...]:
    """Texts alike but for their numbers become one: `92 % busy`, `97 % busy` → `92–97 % busy`."""
    # Texts that differ in nothing but numbers have the same form with `#` in their place.
    alike = units.gathered((_NUMBER.sub("#", text), text) for text in texts)
    return tuple(_span(group) for group in alike.values())


def _span(texts: Sequence[str]) -> str:
    """The first of the texts, with the range of all in the place of each of its numbers."""
    numbers = [_NUMBER.findall(text) for text in texts]
    between = _NUMBER.split(texts[0])
    text = between[0]
    places = zip(*numbers, strict=True)
    for at_place, following in zip(places, between[1:], strict=True):
        text += _range(at_place) + following
    return text


def _range(numbers: Sequence[str]) -> str:
    # Numbers are compared by size: as texts, 97 would be above 104.
    low = min(numbers, key=_size)
    high = max(numbers, key=_size)
    if low == high:
        return low
    return f"{low}–{high}"


def _size(number: str) -> float:
    # Numbers have commas between their thousands.
    return float(number.replace(",", ""))


def some(sentences: Sequence[str]) -> str:
    """The first few, one after the other, and how many more there are."""
    shown = " ".join(sentences[:_TEXTS_SHOWN])
    more = len(sentences) - _TEXTS_SHOWN
    if more > 0:
        return f"{shown} And {more} more like this, in verdict.json."
    return shown
