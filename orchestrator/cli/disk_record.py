"""`tierbench disk record`: a real disk measured into a file that a profile can rehearse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from orchestrator.cli import outside
from orchestrator.cli.console import ConsoleProgress
from orchestrator.errors import UsageError
from orchestrator.planning import recorded_disk
from orchestrator.planning.latency_quantiles import quantile_s
from orchestrator.planning.recorded_disk import RecordedDisk
from orchestrator.system import store
from orchestrator.tiers.common.real import recording
from orchestrator.units import format_bytes_per_s, format_number, format_seconds

PathArgument = Annotated[Path, typer.Argument(help="Where the disk is mounted.")]
BurstOption = Annotated[
    float, typer.Option(min=0, help="Hold a full load so long first, to see a burst end.")
]
RootDiskOption = Annotated[bool, typer.Option(help="Any directory, also on the system's disk.")]
QuickOption = Annotated[bool, typer.Option(help="Twenty seconds: too few requests for a tail.")]


def record_command(
    root: Path, cache: Path, out: Console, progress: ConsoleProgress
) -> Callable[..., None]:
    """The command, for the program's own folders and console."""

    def record(
        path: PathArgument,
        out_file: Annotated[Path | None, typer.Option("--out", help="The file to write.")] = None,
        burst_minutes: BurstOption = 0.0,
        quick: QuickOption = False,
        allow_root_disk: RootDiskOption = False,
    ) -> None:
        """Measures a mounted disk into a small file for a profile: about three minutes."""
        file = out_file or Path("recorded-disk.json")
        if file.exists() or not file.absolute().parent.is_dir():
            why = "exists already" if file.exists() else "is in a folder that does not exist"
            raise UsageError(f"{file} {why}", advice="name another file with --out")
        effort = recording.QUICK if quick else recording.RecordingEffort()
        effort = replace(effort, hold_s=60 * burst_minutes)
        with outside.powers(root, cache, progress) as (world, engine), outside.alone(engine):
            disk = recording.record(path.absolute(), effort, world, allow_root_disk)
        store.write_json(file, recorded_disk.written(disk))
        progress.done()
        for line in _lines(disk):
            out.print(line, highlight=False)
        written = f"written: {file} (in a profile beside it: `tier: {{recorded: {file.name}}}`)"
        out.print(written, soft_wrap=True, highlight=False)

    return record


def _lines(disk: RecordedDisk) -> list[str]:
    """What was found, for the console."""
    limits, lines = disk.limits, []
    if limits:
        rates = (limits.iops_read, limits.iops_write, limits.iops_mixed)
        iops = " / ".join(format_number(round(rate)) for rate in rates)
        lines.append(f"IOPS, 4 KiB random read / write / mixed: {iops}")
        both = (limits.bytes_per_s_read, limits.bytes_per_s_write)
        rate = " / ".join(format_bytes_per_s(rate) for rate in both)
        lines.append(f"bandwidth, 256 KiB sequential read / write: {rate}")
    for way, table in (
        ("read", disk.latency.read_quantiles_s),
        ("write", disk.latency.write_quantiles_s),
    ):
        median, p99 = (format_seconds(quantile_s(table, share)) for share in (0.5, 0.99))
        lines.append(f"{way} latency at queue depth 1: median {median}, p99 {p99}")
    if disk.burst:
        burst = disk.burst
        lines.append(
            f"burst: {format_number(burst.iops)} IOPS for {format_seconds(burst.duration_s)}, "
            f"then {format_number(burst.base_iops)}"
        )
    return lines
