"""What `tierbench observe` is asked: where readings are from, and what they are held against."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from typer import Option

from orchestrator import units
from orchestrator.analysis.observed.drawn_seconds import FEWEST_PIECES, SHORTEST
from orchestrator.cli.common.options import percentage, profile_named, read_by
from orchestrator.run import observing


def pieces_in(text: str | None) -> observing.Pieces | None:
    """`168x5m`: how many, and seconds of each. ValueError if seconds cannot be told from them."""
    if text is None:
        return None
    number, _, length = text.partition("x")
    piece_s = units.parse_seconds(length)
    # One interval more than is needed, because a reading may be lost.
    least_s = (SHORTEST + 1) * observing.COARSE_S
    if not number.isdigit() or int(number) < FEWEST_PIECES or piece_s < least_s:
        least = units.format_seconds(least_s)
        raise ValueError(
            f"expected {FEWEST_PIECES} pieces or more of {least} or more, such as 168x5m"
        )
    return int(number), piece_s


def _device_pattern(text: str) -> re.Pattern[str]:
    """Which devices are meant. ValueError if it is no regular expression."""
    try:
        return re.compile(text)
    except re.error as error:
        raise ValueError(
            f"{text!r} is not a regular expression: {error}. "
            "Write a device's name, or a pattern such as 'sd[ab]'"
        ) from error


@dataclass(frozen=True)
class Read:
    """Where readings come from, and what they are compared with."""

    file: list[Path] | None = None
    prometheus: str | None = None
    match: str = ""
    exporter: list[str] | None = None
    profile: Annotated[str | None, profile_named()] = None
    calibrate: Annotated[str | None, Option(callback=read_by(pieces_in))] = None
    last: Annotated[str, Option(callback=read_by(units.parse_seconds))] = "7d"
    device: Annotated[str, Option(callback=read_by(_device_pattern))] = ""
    source: str | None = None
    striped: bool = False
    vm: str | None = None
    size: Annotated[str | None, Option(callback=read_by(units.parse_size))] = None
    region: str | None = None
    # Share of the time, in %.
    at_cap: Annotated[float, Option("--at-cap", callback=percentage)] = 1.0

    @property
    def reads_live(self) -> bool:
        return bool(self.exporter or self.profile)
