"""What `tierbench observe` is asked: where readings are from, and what they are held against."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from typer import Option

from orchestrator import units
from orchestrator.cli.common.options import percentage, profile_named, read_by
from orchestrator.extensions.observe.judging.drawn_seconds import (
    FEWEST_PIECES,
    SHORTEST,
)
from orchestrator.extensions.observe.live import observing

# What `--help` says of each option.
_FILE = "Output of sadf, iostat, az or aws, a CSV, or a folder of them; repeatable."
_PROMETHEUS = "A Prometheus server, such as http://prom:9090."
_MATCH = 'Its series, such as \'job="node",instance=~"db.*"\'.'
_EXPORTER = "Read live from a node_exporter, such as http://db-1:9100; repeatable."
_PROFILE = "Read live from the nodes of a profile, by its exporters or our agent."
_CALIBRATE = "Live: read every second in so many pieces only, such as 168x5m."
_LAST = "How much time to read from a server, or how long to read live."
_DEVICE = (
    "The disk, such as sdc, or several: 'sdb|sdc'. With a profile: its data disks."
)
_SOURCE = (
    "The observed disk, such as azure/P30 or azure/premium-v2:size=1TiB,iops=5000."
)
_STRIPED = "The disks of a node are one stripe today: judge their sum."
_VM = "The machine for the disks, such as azure/Standard_D8s_v5."
_SIZE = "How much each disk must hold."
_REGION = "The region for prices."
_AT_CAP = "Share of the time (%) that may be at a cap."


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

    file: Annotated[list[Path] | None, Option(help=_FILE)] = None
    prometheus: Annotated[str | None, Option(help=_PROMETHEUS)] = None
    match: Annotated[str, Option(help=_MATCH)] = ""
    exporter: Annotated[list[str] | None, Option(help=_EXPORTER)] = None
    profile: Annotated[str | None, profile_named(help=_PROFILE)] = None
    calibrate: Annotated[
        str | None, Option(callback=read_by(pieces_in), help=_CALIBRATE)
    ] = None
    last: Annotated[str, Option(callback=read_by(units.parse_seconds), help=_LAST)] = (
        "7d"
    )
    device: Annotated[str, Option(callback=read_by(_device_pattern), help=_DEVICE)] = ""
    source: Annotated[str | None, Option(help=_SOURCE)] = None
    striped: Annotated[bool, Option(help=_STRIPED)] = False
    vm: Annotated[str | None, Option(help=_VM)] = None
    size: Annotated[
        str | None, Option(callback=read_by(units.parse_size), help=_SIZE)
    ] = None
    region: Annotated[str | None, Option(help=_REGION)] = None
    # Share of the time, in %.
    at_cap: Annotated[float, Option("--at-cap", callback=percentage, help=_AT_CAP)] = (
        1.0
    )

    @property
    def reads_live(self) -> bool:
        return bool(self.exporter or self.profile)
