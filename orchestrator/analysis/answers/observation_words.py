"""Disks, shares of the time and caps in words, as an observation writes them. Pure."""

import re
from collections.abc import Iterable, Sequence

import pandas as pd

from orchestrator import units
from orchestrator.analysis.observed.drawn_seconds import Band
from orchestrator.analysis.observed.rate_caps import RateCap
from orchestrator.texts import prose
from orchestrator.tier import disk_names
from orchestrator.tier.disk_names import DiskName

UNKNOWN = "–"

# An amount and its unit, as a parameter has them.
_GLUED = re.compile(r"^([0-9.]+)([A-Za-z])")


def specified(disk: str) -> str:
    """`aws/gp3 (2 × 250 GiB, 3,000 IOPS, 125 MiB/s)`. `disk`: as the catalog or
    `disk_in_words` has it. A layout with a second disk: `azure/P15, log on azure/P4`."""
    name = disk_names.read(disk)
    if name.log is not None:
        return f"{_with_shape(name)}, log on {_with_shape(name.log)}"
    return _with_shape(name)


def _with_shape(name: DiskName) -> str:
    shape = _shape(name)
    if not shape:
        return name.row
    return f"{name.row} ({shape})"


def row_in_words(disk: str) -> str:
    """`aws/gp3`, or `azure/P15, log on azure/P4`: what a headline has room for."""
    name = disk_names.read(disk)
    if name.log is not None:
        return f"{name.row}, log on {name.log.row}"
    return name.row


def shapes_in_words(disks: Sequence[str]) -> str:
    """Chosen sizes and limits of disks whose catalog rows leave them open, each once: `250 GiB,
    3,000 IOPS` of one; of several, or of a layout with a log's disk, behind their names."""
    if len(disks) == 1:
        name = disk_names.read(disks[0])
        if name.log is None:
            return _shape(name)
    texts: dict[str, None] = {}
    for disk in disks:
        if not disk_names.read(disk).leaves_nothing_open:
            texts[specified(disk)] = None
    return prose.listed([*texts])


def _shape(name: DiskName) -> str:
    """`2 × 250 GiB, 3,000 IOPS, 125 MiB/s`; empty for a row that leaves nothing open."""
    values = _parameters(name.keys)
    size = values.pop("size", "")
    count = values.pop("count", "1")
    if count != "1":
        size = f"{count} × {size}"
    texts = [size]
    for key, value in values.items():
        # A rate has its unit in its value, IOPS have it in their name.
        if key == "iops" and value.isdigit():
            value = f"{int(value):,} IOPS"
        texts.append(value)
    return ", ".join(text for text in texts if text)


def _parameters(parameters: Iterable[str]) -> dict[str, str]:
    """`size=250GiB`, `count=2` → size `250 GiB`, count `2`."""
    values: dict[str, str] = {}
    for parameter in parameters:
        key, _, value = parameter.partition("=")
        values[key] = _GLUED.sub(_apart, value)
    return values


def _apart(figure: re.Match[str]) -> str:
    """`4,000 G`, of the `4000G` with which `4000GiB` begins."""
    digits, unit = figure.groups()
    if digits.isdigit():
        digits = f"{int(digits):,}"
    return f"{digits} {unit}"


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
