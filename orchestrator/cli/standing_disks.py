"""What `tierbench disk` does with disks outside of a campaign, and how it says what they are."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from orchestrator import powers, units
from orchestrator.cli import console
from orchestrator.planning.latency_quantiles import quantile_s
from orchestrator.planning.recorded_disk import RecordedDisk
from orchestrator.tier import Gate, Tier
from orchestrator.tiers import emulated
from orchestrator.tiers.common.emulated import disk_server, standing
from orchestrator.tiers.common.gate import truth_gate
from orchestrator.units import format_bytes_per_s, format_number, format_seconds


def put_up(
    disk: standing.StandingDisk,
    tier: Tier,
    gate: bool,
    world: powers.World,
    take: Callable[..., Gate] = truth_gate.take,
) -> Gate | None:
    """Puts the disk up. The gate measures base limits, so burst is set only after it."""
    base = emulated.limits_of(tier.without_burst() if gate else tier)
    burst = {
        key: value for key, value in emulated.limits_of(tier).items() if key not in base
    }
    with standing.put_up(disk, base, world, tier.latency.model) as disks:
        if not gate:
            return None
        (volume,) = disks.volumes
        folder = f"{disk.at}/tierbench-gate"  # which is removed
        try:
            inside = replace(disks, volumes=(replace(volume, name=folder),))
            measured = take(tier, inside, world)
        finally:
            world.shell.run(("rm", "-rf", "--", folder), timeout_s=60)
        if burst:
            emulated.change(disk.container, burst, world)
    return measured


def would_become(disk: standing.StandingDisk, keep_data: bool) -> str:
    """What taking it down would do."""
    goes = disk.own_image and not keep_data
    if goes:
        data = f"would be removed: {with_size(disk)}"
    else:
        data = f"would stay in {disk.image}"
    return f"{disk.name} at {disk.at} would be taken down; its data {data}"


def with_size(disk: standing.StandingDisk) -> str:
    """Its name, and the bytes of its data where that is known."""
    try:
        return f"{disk.name} ({units.format_bytes(Path(disk.image).stat().st_blocks * 512)})"
    except OSError:
        return disk.name


def listed(
    disks: tuple[standing.KnownDisk, ...], world: powers.World
) -> list[dict[str, Any]]:
    """How each was asked for, its state, and the limits in force if it runs."""
    ask = partial(disk_server.ask, question=("limits",), world=world)
    return [
        {
            **asdict(d.disk),
            "state": d.state,
            "limits": ask(d.disk.container) if d.runs else {},
        }
        for d in disks
    ]


def table(disks: Sequence[Mapping[str, Any]]) -> RenderableType:
    columns = "name", "at", "tier", "size", "state", "limits in force"
    drawn = console.table(columns, whole=("name", "state"), rows=map(_cells, disks))
    return Group(
        drawn, *(Text(f"data of {disk['name']}: {disk['image']}") for disk in disks)
    )


def _cells(disk: Mapping[str, Any]) -> Sequence[str]:
    size = units.format_bytes(disk["size_bytes"])
    limits = _in_force(disk["limits"])
    return disk["name"], disk["at"], disk["tier"], size, disk["state"], limits


def _in_force(now: Mapping[str, float]) -> str:
    if not now:
        return ""
    iops = now["iops"]
    bytes_per_s = now["bytes_per_s"]
    read, write = (
        format_seconds(now[f"{way}_latency_us"] * 1e-6) for way in ("read", "write")
    )
    rate = "any IOPS"
    if iops:
        rate = f"{format_number(iops)} IOPS"
    throughput = "any throughput"
    if bytes_per_s:
        throughput = format_bytes_per_s(bytes_per_s)
    return f"{rate}, {throughput}, read {read}, write {write}"


def recorded_in_words(disk: RecordedDisk) -> list[str]:
    """What was found, for the console."""
    limits = disk.limits
    lines = []
    if limits:
        rates = (limits.iops_read, limits.iops_write, limits.iops_mixed)
        iops = " / ".join(format_number(round(rate)) for rate in rates)
        lines.append(f"IOPS, 4 KiB random read / write / mixed: {iops}")
        both = (limits.bytes_per_s_read, limits.bytes_per_s_write)
        rate = " / ".join(format_bytes_per_s(rate) for rate in both)
        lines.append(f"bandwidth, 256 KiB sequential read / write: {rate}")
    tables = disk.latency.read_quantiles_s, disk.latency.write_quantiles_s
    for way, table in zip(("read", "write"), tables, strict=True):
        median, p99 = (
            format_seconds(quantile_s(table, share)) for share in (0.5, 0.99)
        )
        lines.append(f"{way} latency at queue depth 1: median {median}, p99 {p99}")
    if disk.burst:
        peak, base = map(format_number, (disk.burst.iops, disk.burst.base_iops))
        lasts = format_seconds(disk.burst.duration_s)
        lines.append(f"burst: {peak} IOPS for {lasts}, then {base}")
    return lines
