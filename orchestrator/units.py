"""Quantities as people write them ("10GiB", "125MB/s", "2ms") to base units and back.

Base units everywhere inside: seconds, bytes, bytes per second, plain counts. This module is the
only parser and the only formatter of quantities."""

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime
from typing import TypeVar

from orchestrator.texts.foreign_text import short

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")
MOST = 2**63  # no disk, memory or count here reaches it
# By a larger seed threads of a load would draw alike (workloads/lib/seeds.lua).
MOST_SEED = 99_999_999

_SIZE = {"": 1, "b": 1}
for _power, _prefix in enumerate("kmgt", 1):
    _SIZE[f"{_prefix}b"] = 1000**_power
    _SIZE[f"{_prefix}ib"] = 1024**_power
_BITS = {"kbit": 10**3, "mbit": 10**6, "gbit": 10**9}
_TIME = {
    "us": 1e-6,
    "µs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "min": 60.0,
    "h": 3600.0,
    "d": 86_400.0,
}
_TIME |= {"m": 60.0, "w": 7 * 86_400.0}  # units as Prometheus and Kubernetes write them
# `Mb/s`, `Mbit/s`, `Mbps`, `Mib/s`: a small `b` is a bit.
_BIT_RATE = re.compile(r"((?:[kKmMgGtT]i?)?)(?:b|bit)(?:/s|ps)")
# `MBps`, `MiBps`: as providers write them in their tables.
_BYTE_RATE = re.compile(r"((?:[kKmMgGtT][iI]?)?B)(?:/[sS]|ps)")
# A comma only before thousands: elsewhere it may be the decimal point of another language.
_DIGITS = r"\s*((?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9][0-9_]*)(?:\.[0-9]+)?)\s*"
_NUMBER = re.compile(_DIGITS + r"([A-Za-zµ/]*)\s*$")
_DECIMAL_COMMA = re.compile(r"\s*([0-9]+),([0-9]+\s*[A-Za-zµ/]*)\s*")


class OtherFormError(ValueError):
    """Something that was given does not have the `expected` form, which has no part of it."""

    def __init__(self, expected: str, given: object) -> None:
        super().__init__(f"{expected}, got {short(given)}")
        self.expected = expected


def as_text(value: object) -> str:
    """Text, or a bare number or date, which YAML reads as such. Raises ValueError for the rest."""
    if isinstance(value, (str, int, float, date)):
        return str(value)
    raise OtherFormError("expected text", value)


def _split(text: object, example: str) -> tuple[float, str]:
    """Number and unit; the unit is empty if there is none. ValueError for what is no quantity."""
    # As text, a list or a truth value (`iops: yes` is True to YAML) begins with no digit.
    match = _NUMBER.match(str(text))
    if match is None:
        _refuse_decimal_comma(text)
        raise OtherFormError(f"expected a quantity such as {example}", text)
    digits = match[1].replace(",", "").replace("_", "")
    return float(digits), match[2]


def _refuse_decimal_comma(text: object) -> None:
    match = _DECIMAL_COMMA.fullmatch(str(text))
    if match:
        point = f"{match[1]}.{match[2]}"
        raise ValueError(f"write {short(point)} with a point")


def _possible(quantity: float, text: object) -> float:
    # Written so that NaN, which is not below anything, is refused too.
    if not quantity < MOST:
        raise ValueError(f"this is too large: {short(text)}")
    return quantity


def parse_bytes(text: object) -> int:
    """`"10GiB"`, `"250 GB"`, `4096` → bytes. Raises ValueError."""
    number, unit = _split(text, "10GiB")
    if unit.lower() not in _SIZE:
        raise ValueError(
            f"unknown size unit {unit!r}: use B, kB, MB, GB, TB, KiB, MiB, GiB or TiB"
        )
    return round(_possible(number * _SIZE[unit.lower()], text))


def parse_size(text: object) -> int:
    """A size as `parse_bytes` reads it. A bare number is refused: 250 would be 250 bytes."""
    # YAML reads `250` as a number, and `"250"` as a text.
    is_number = isinstance(text, (int, float))
    if is_number or (isinstance(text, str) and text.strip().isdigit()):
        raise ValueError("give the size with its unit, such as 250GiB")
    return parse_bytes(text)


def _bits_per_s(number: float, unit: str) -> float | None:
    """A rate in bits a second; None for one that is not in bits.

    By IEC 80000-13 `b` or `bit` is a bit and `B` a byte: `250Mb/s` is an eighth of `250MB/s`.
    """
    match = _BIT_RATE.fullmatch(unit)
    if match is None:
        return None
    return number * _SIZE[f"{match[1]}b".lower()]


def parse_bytes_per_s(text: object) -> int:
    """`"125MB/s"`, `"240MiB/s"`, `"125MBps"` → bytes per second.

    ValueError for a bare number, and for bits (`250Mb/s`), which are an eighth of what was
    probably meant."""
    number, unit = _split(text, "125MB/s")
    bits_per_s = _bits_per_s(number, unit)
    if bits_per_s is not None:
        megabytes_per_s = bits_per_s / 8 / 1e6
        raise ValueError(
            f"{short(text)} is in bits, but disks are sold in bytes. Write "
            f"{megabytes_per_s:g}MB/s, or a capital B if you meant bytes"
        )
    match = _BYTE_RATE.fullmatch(unit)
    if match is None:
        raise OtherFormError("expected a rate such as 125MB/s", text)
    return round(_possible(number * _SIZE[match[1].lower()], text))


def parse_link_rate(text: object) -> int:
    """`"100Mbit"`, `"1Gbit/s"` → bytes per second, as networks are sold: in decimal bits."""
    number, unit = _split(text, "100Mbit")
    unit = unit.lower().removesuffix("/s")
    if unit not in _BITS:
        raise OtherFormError("expected a rate of a network such as 100Mbit", text)
    return round(_possible(number * _BITS[unit] / 8, text))


def parse_seconds(text: object) -> float:
    """`"30s"`, `"2ms"`, `"5min"`, `"5m"` → seconds. A bare number is refused: which unit is it?"""
    number, unit = _split(text, "30s")
    if unit not in _TIME:
        raise OtherFormError("expected a time such as 30s, 2ms or 5min", text)
    return _possible(number * _TIME[unit], text)


_BINARY = {"TiB": 2**40, "GiB": 2**30, "MiB": 2**20, "KiB": 2**10}


def format_bytes(value: float) -> str:
    """Binary prefixes, as memory and files are counted: `1.5 GiB`."""
    for unit, unit_bytes in _BINARY.items():
        if abs(value) >= unit_bytes:
            return f"{_three(value / unit_bytes)} {unit}"
    return f"{value:.0f} B"


def format_bytes_per_s(value: float) -> str:
    """Decimal megabytes, as disk vendors count: `125 MB/s`."""
    return f"{format_number(value / 1e6)} MB/s"


def format_link_rate(bytes_per_s: float) -> str:
    """Decimal megabits, as networks are sold: `100 Mbit/s`."""
    return f"{format_number(bytes_per_s * 8 / 1e6)} Mbit/s"


def format_seconds(value: float) -> str:
    """The unit that leaves one to three digits before the point: `850 µs`, `13.5 ms`, `2 min`."""
    size = abs(value)
    if size >= 7200:
        return f"{_three(value / 3600)} h"
    if size >= 120:
        return f"{_three(value / 60)} min"
    if size >= 1:
        return f"{_three(value)} s"
    if size >= 1e-3 or size == 0:
        return f"{_three(value * 1e3)} ms"
    return f"{_three(value * 1e6)} µs"


def format_number(value: float) -> str:
    """Three significant digits below a thousand, thousands separated above."""
    # A number that rounds to a thousand is written as one.
    if abs(value) >= 999.5:
        return f"{value:,.0f}"
    return _three(value)


def _three(value: float) -> str:
    """Three digits, so that 13.9 stands beside 14.0; whole numbers stay whole."""
    if value == round(value):
        return f"{value:.0f}"
    text = f"{value:#.3g}"
    # Three digits would be written as 1.00e+03 from 999.5 on.
    if "e+" in text:
        return f"{value:.0f}"
    return text.rstrip(".")


_SHOWN = {"s": format_seconds, "bytes": format_bytes, "bytes/s": format_bytes_per_s}


def format_quantity(value: float, unit: str) -> str:
    """A value in a base unit as a person reads it; `unit` is one of the model's unit names."""
    show = _SHOWN.get(unit)
    if show:
        return show(value)
    if unit == "%":
        return f"{format_number(value)} %"
    if unit.startswith("1/"):
        return f"{format_number(value)}{unit[1:]}"
    if unit in ("", "1"):
        return format_number(value)
    return f"{format_number(value)} {unit}"


_BARS = "▁▂▃▄▅▆▇█"


def bar(share: float) -> str:
    """A bar of a sparkline, from the lowest (0) to the highest (1)."""
    return _BARS[round(share * (len(_BARS) - 1))]


def format_moment(unix_s: float) -> str:
    """`2026-11-21 01:20 UTC`."""
    return f"{datetime.fromtimestamp(unix_s, UTC):%Y-%m-%d %H:%M} UTC"


def format_change(change_pct: float) -> str:
    """A signed change: `+187 %`, `−12.3 %`, `+0.05 %`, `0 %`; above a million `> +1,000,000 %`."""
    return f"{signed_digits(change_pct)} %"


def signed_digits(change_pct: float) -> str:
    """The same without its unit, for the first end of an interval."""
    # An end of an interval of two values: no digit of it says anything.
    if change_pct > 1e6:
        return "> +1,000,000"
    size_pct = abs(change_pct)
    if size_pct < 0.005:
        return "0"
    decimals = 2
    if size_pct >= 0.095:
        decimals = 1
    if size_pct >= 100:
        decimals = 0
    return f"{change_pct:+,.{decimals}f}".replace("-", "−")


def gathered(pairs: Iterable[tuple[_Key, _Value]]) -> dict[_Key, list[_Value]]:
    """Each key with all that comes with it, in the order in which they come."""
    together: dict[_Key, list[_Value]] = {}
    for key, value in pairs:
        together.setdefault(key, []).append(value)
    return together
