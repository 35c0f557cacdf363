"""Shares of the time and caps in words, as an observation writes them. Pure."""

from collections.abc import Sequence

import pandas as pd

from orchestrator import units
from orchestrator.extensions.observe.judging.drawn_seconds import Band
from orchestrator.extensions.observe.judging.rate_caps import RateCap
from orchestrator.texts import prose

UNKNOWN = "–"


def caps_in_words(caps: Sequence[RateCap]) -> str:
    """`IOPS 5,000 and bytes/s 200,000,000`."""
    return prose.listed([f"{cap.name} {cap.base:,.0f}" for cap in caps])


def percent_in_words(share: float) -> str:
    """Two digits: bounds are no sharper."""
    if pd.isna(share):
        return UNKNOWN
    return f"{_percent_digits(share)} %"


def _percent_digits(share: float) -> str:
    rounded_pct = float(f"{100 * share:.2g}")
    return f"{rounded_pct:g}"


def band_in_words(band: Band, at_least: bool) -> str:
    """Shares: `2.1 to 3 %`, or `at least 2.1 %` where the observed disk may have held its load
    back. In the place of "at least 0 %", which would say nothing, `0 to 3 % of what was read`."""
    least = percent_in_words(band.least)
    most = percent_in_words(band.most)
    span = f"{least} to {most}"
    if not pd.isna(band.least):
        span = f"{_percent_digits(band.least)} to {most}"
    return _bounded(band.least, least, most, span, at_least)


def seconds_in_words(band_s: Band, at_least: bool) -> str:
    """Times: `30 s to 5 min`, `at least 30 s` or `0 s to 5 min of what was read`."""
    least = units.format_seconds(band_s.least)
    most = units.format_seconds(band_s.most)
    return _bounded(band_s.least, least, most, f"{least} to {most}", at_least)


def _bounded(least: float, low: str, high: str, span: str, at_least: bool) -> str:
    """`least`: the lower end. `low`, `high`, `span`: the ends and both together, in words."""
    if low == high:
        span = low
    # Only the lower end holds for a larger disk if this one held its load back.
    if not at_least or pd.isna(least):
        return span
    if least > 0:
        return f"at least {low}"
    return f"{span} of what was read"
