"""How `tierbench disk` says what disks are, and what would become of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from orchestrator import powers, units
from orchestrator.cli.common import console
from orchestrator.design.latency_quantiles import quantile_s
from orchestrator.extensions.standing_disks import standing
from orchestrator.planning.recorded_disk import RecordedDisk, RecordedLimits
from orchestrator.tier import Quantiles
from orchestrator.tiers.common.emulated import running_disks
from orchestrator.tiers.common.emulated.standing_notes import StandingDisk
from orchestrator.units import format_bytes_per_s, format_number, format_seconds


def would_become(disk: StandingDisk, keep_data: bool) -> str:
    """What taking it down would do."""
    data = f"would stay in {disk.image}"
    if disk.own_image and not keep_data:
        data = f"would be removed: {with_size(disk)}"
    return f"{disk.name} at {disk.at} would be taken down; its data {data}"


def with_size(disk: StandingDisk) -> str:
    """Its name, and the bytes of its data where that is known."""
    # Bytes that the file takes, not its length: it is sparse. The unit of st_blocks is 512 bytes on
    # every file system of Linux (stat(2)).
    try:
        blocks = Path(disk.image).stat().st_blocks
    except OSError:
        return disk.name
    size = units.format_bytes(blocks * 512)
    return f"{disk.name} ({size})"


def listed(
    disks: tuple[standing.KnownDisk, ...], world: powers.World
) -> list[dict[str, Any]]:
    """How each was asked for, its state, and the limits in force if it runs."""
    facts = []
    for disk in disks:
        limits: Mapping[str, float] = {}
        if disk.runs:
            limits = running_disks.ask(disk.disk.container, ("limits",), world)
        facts.append({**asdict(disk.disk), "state": disk.state, "limits": limits})
    return facts


def table(disks: Sequence[Mapping[str, Any]]) -> RenderableType:
    columns = ("name", "at", "tier", "size", "state", "limits in force")
    rows: list[Sequence[str]] = []
    places: list[Text] = []
    for disk in disks:
        rows.append(_cells(disk))
        places.append(Text(f"data of {disk['name']}: {disk['image']}"))
    drawn = console.table(columns, whole=("name", "state"), rows=rows)
    return Group(drawn, *places)


def _cells(disk: Mapping[str, Any]) -> Sequence[str]:
    size = units.format_bytes(disk["size_bytes"])
    limits = _in_force(disk["limits"])
    return [disk["name"], disk["at"], disk["tier"], size, disk["state"], limits]


def _in_force(now: Mapping[str, float]) -> str:
    if not now:
        return ""
    # The disk server has 0 for no limit.
    rate = "any IOPS"
    if now["iops"]:
        rate = f"{format_number(now['iops'])} IOPS"
    throughput = "any throughput"
    if now["bytes_per_s"]:
        throughput = format_bytes_per_s(now["bytes_per_s"])
    read = format_seconds(now["read_latency_us"] * 1e-6)
    write = format_seconds(now["write_latency_us"] * 1e-6)
    return f"{rate}, {throughput}, read {read}, write {write}"


def recorded_in_words(disk: RecordedDisk) -> list[str]:
    """What was found, for the console."""
    lines: list[str] = []
    if disk.limits:
        lines += _rates(disk.limits)
    lines.append(_latency("read", disk.latency.read_quantiles_s))
    lines.append(_latency("write", disk.latency.write_quantiles_s))
    if disk.burst:
        peak = format_number(disk.burst.iops)
        base = format_number(disk.burst.base_iops)
        lasts = format_seconds(disk.burst.duration_s)
        lines.append(f"burst: {peak} IOPS for {lasts}, then {base}")
    return lines


def _rates(limits: RecordedLimits) -> Iterator[str]:
    rates = (limits.iops_read, limits.iops_write, limits.iops_mixed)
    iops = " / ".join([format_number(round(rate)) for rate in rates])
    yield f"IOPS, 4 KiB random read / write / mixed: {iops}"
    read = format_bytes_per_s(limits.bytes_per_s_read)
    write = format_bytes_per_s(limits.bytes_per_s_write)
    yield f"bandwidth, 256 KiB sequential read / write: {read} / {write}"


def _latency(way: str, quantiles_s: Quantiles) -> str:
    median = format_seconds(quantile_s(quantiles_s, 0.5))
    p99 = format_seconds(quantile_s(quantiles_s, 0.99))
    # The latency is that of one request at a time: others would add the wait for them.
    return f"{way} latency at queue depth 1: median {median}, p99 {p99}"
