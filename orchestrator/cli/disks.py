"""The commands under `tierbench disk`: a tier's disk for any program, outside of a campaign."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from orchestrator import report, units
from orchestrator.cli import outside, plans
from orchestrator.cli.clean import DryRunOption, YesOption
from orchestrator.cli.console import ConsoleProgress
from orchestrator.cli.disk_record import record_command
from orchestrator.cli.tiers import limits_in
from orchestrator.errors import (
    EXIT_INCONCLUSIVE,
    RunError,
    TierbenchError,
    UnavailableError,
    UsageError,
)
from orchestrator.parts import Disks
from orchestrator.planning import profiles, project_files
from orchestrator.powers import World
from orchestrator.tier import Emulated, Gate, Tier
from orchestrator.tiers import emulated
from orchestrator.tiers.common.emulated import disk_server, standing
from orchestrator.tiers.common.gate import truth_gate
from orchestrator.tiers.common.real import node_places

TierArgument = Annotated[
    str, typer.Argument(help="A row of the catalog (azure/P15), a profile's name or file.")
]
ChangesArgument = Annotated[
    list[str] | None,
    typer.Argument(help="Keys of a profile's tier, such as burst=full read_latency=1ms."),
]
AtOption = Annotated[Path, typer.Option(help="Where it is mounted: an empty or a new directory.")]
SizeOption = Annotated[str | None, typer.Option(help="Bytes that it holds; 20GiB unless given.")]
NameOption = Annotated[str, typer.Option(help="Its name; the last part of --at unless given.")]
DataOption = Annotated[
    Path | None, typer.Option(help="The file of its data, made if it is missing; `down` keeps it.")
]
GateOption = Annotated[bool, typer.Option("--gate", help="Measures it with fio when it is up.")]
NameArgument = Annotated[str, typer.Argument(help="The disk's name, as in `disk list`.")]
DownArgument = Annotated[str, typer.Argument(help="The disk's name, or its path.")]
AllOption = Annotated[bool, typer.Option("--all", help="All disks that are up.")]
KeepOption = Annotated[bool, typer.Option("--keep-data", help="Leaves the file of its data.")]
LimitsArgument = Annotated[list[str], typer.Argument(help="Such as iops=4000 bytes_per_s=1e8.")]

_SIZE_BYTES = 20 * 2**30


def disk_app(root: Path, cache: Path, out: Console, progress: ConsoleProgress) -> Any:
    """The commands, for the program's own folders and console."""
    app = typer.Typer(help="A tier's disk for any program.", no_args_is_help=True)
    app.command(name="up")(_up(root, cache, out, progress))
    app.command(name="down")(_down(root, cache, out, progress))
    app.command(name="record")(record_command(root, cache, out, progress))

    @app.command(name="list")
    def show() -> None:
        """Lists the disks that were put up and not taken down."""
        with outside.powers(root, cache, progress) as (world, _):
            disks = standing.found(world)
            out.print(_table(disks, world) if disks else "no disk was put up here")

    @app.command(name="set")
    def change(name: NameArgument, limits: LimitsArgument) -> None:
        """Changes limits of a disk that is up."""
        changes = limits_in(limits)
        with outside.powers(root, cache, progress) as (world, _):
            found = standing.named(name, world)
            if not found.runs:
                raise UsageError(f"the disk {name} is not running: see `tierbench disk list`")
            enforced = emulated.change(found.disk.container, changes, world)
        for limit, value in changes.items():
            out.print(f"{limit} = {enforced.get(limit, value):.15g}", highlight=False)

    return app


# ------------------------------------------------------------------ up


def _up(root: Path, cache: Path, out: Console, progress: ConsoleProgress) -> Callable[..., None]:
    def up(
        tier: TierArgument,
        at: AtOption,
        changes: ChangesArgument = None,
        size: SizeOption = None,
        name: NameOption = "",
        data: DataOption = None,
        gate: GateOption = False,
    ) -> None:
        """Puts up a disk of a tier, mounted at a path, until `disk down`. Needs root."""
        limits, bought_bytes = project_files.tier(
            root, tier, changes or (), profiles.ANY_SCALE, plans.disk_kinds()
        )
        if not isinstance(limits.disk, Emulated):
            raise UsageError(
                f"{tier} is `enforcement: {limits.disk.enforcement}`, and only an emulated disk "
                "can be put up",
                advice="give `enforcement=emulated` after its name, or take a catalog row",
            )
        size_bytes = _size(size, bought_bytes, limits)
        default_bytes = min(_SIZE_BYTES, bought_bytes or _SIZE_BYTES)
        _require_root("mount")
        with (
            outside.powers(root, cache, progress) as (world, engine),
            outside.alone(engine),  # it would disturb a campaign
        ):
            node_places.require_here("`disk up` mounts a disk", world)
            emulated.EmulatedTier().check(limits, world)
            named = name or at.name
            disk = standing.prepared(
                named, at, limits.title, size_bytes, default_bytes, data, world
            )
            world.progress.step(f"putting up {disk.name}: {limits.title}", 5)
            measured = _put_up(disk, limits, gate, world)
        progress.done()
        out.print(f"{limits.title}, {units.format_bytes(disk.size_bytes)}, is up at {disk.at}")
        out.print(f"`tierbench disk down {disk.name}` takes it down", highlight=False)
        if measured is not None:
            out.print(report.gate_table(measured))
            if not measured.passed:
                raise typer.Exit(EXIT_INCONCLUSIVE)

    return up


def _size(size: str | None, bought_bytes: int | None, tier: Tier) -> int | None:
    if size is None:
        return None
    try:
        size_bytes = units.parse_bytes(size)
    except ValueError as error:
        raise UsageError(f"--size: {error}") from error
    if bought_bytes is not None and size_bytes > bought_bytes:
        raise UsageError(
            f"--size: {tier.title} has {units.format_bytes(bought_bytes)}",
            advice="give less, or take a larger disk: its limits may be others",
        )
    return size_bytes


def _put_up(disk: standing.StandingDisk, tier: Tier, gate: bool, world: World) -> Gate | None:
    """Puts the disk up. The gate measures base limits, so burst is set only after it."""
    if not gate:
        with standing.put_up(disk, emulated.limits_of(tier), world, tier.latency.model):
            return None
    base = emulated.limits_of(tier.without_burst())
    burst = {key: value for key, value in emulated.limits_of(tier).items() if key not in base}
    with standing.put_up(disk, base, world, tier.latency.model) as disks:
        measured = _measured(disk, tier, disks, world)
        if burst:
            changes = {key.replace("-", "_"): float(value) for key, value in burst.items()}
            emulated.change(disk.container, changes, world)
    return measured


def _measured(disk: standing.StandingDisk, tier: Tier, disks: Disks, world: World) -> Gate:
    """The quick gate, in a directory that is removed."""
    (volume,) = disks.volumes
    folder = f"{disk.at}/tierbench-gate"
    try:
        inside = replace(disks, volumes=(replace(volume, name=folder),))
        return truth_gate.take(tier, inside, world)
    finally:
        world.shell.run(("rm", "-rf", "--", folder), timeout_s=60)


# ------------------------------------------------------------------ down


def _down(root: Path, cache: Path, out: Console, progress: ConsoleProgress) -> Callable[..., None]:
    def down(
        name: DownArgument = "",
        every: AllOption = False,
        keep_data: KeepOption = False,
        yes: YesOption = False,
        dry_run: DryRunOption = False,
    ) -> None:
        """Takes a disk down, with its data unless --keep-data. Needs root."""
        if bool(name) == every:
            raise UsageError("name a disk, or say --all", advice="tierbench disk list")
        if not dry_run:
            _require_root("unmount")
        with outside.powers(root, cache, progress) as (world, _):
            node_places.require_here("`disk down` unmounts a disk", world)
            disks = standing.found(world) if every else (standing.named(name, world),)
            if dry_run:
                for one in disks:
                    out.print(_becomes(one.disk, keep_data), highlight=False, soft_wrap=True)
                return
            _ask([one.disk for one in disks], keep_data, yes)
            stayed: list[TierbenchError] = []
            for one in disks:
                try:
                    kept = standing.take_down(one, world, keep_data)
                except RunError as error:
                    stayed.append(error)
                    continue
                said = f"its data stay in {kept}" if kept else "its data are removed"
                out.print(f"{one.disk.name} is down; {said}", highlight=False, soft_wrap=True)
        progress.done()
        if stayed:
            raise stayed[0]

    return down


def _ask(disks: list[standing.StandingDisk], keep_data: bool, yes: bool) -> None:
    """Asks before data are removed. UsageError if nobody can be asked."""
    lost = [_with_size(one) for one in disks if one.own_image and not keep_data]
    if lost and not yes and not sys.stdin.isatty():
        raise UsageError(
            f"the data of {', '.join(lost)} would be removed, and nobody can be asked here",
            advice="say --yes, or --keep-data",
        )
    if lost and not yes:
        text = f"The data of {', '.join(lost)} will be removed (--keep-data keeps them). Go on?"
        typer.confirm(text, abort=True)


def _becomes(disk: standing.StandingDisk, keep_data: bool) -> str:
    """What taking it down would do."""
    goes = disk.own_image and not keep_data
    data = f"would be removed: {_with_size(disk)}" if goes else f"would stay in {disk.image}"
    return f"{disk.name} at {disk.at} would be taken down; its data {data}"


def _with_size(disk: standing.StandingDisk) -> str:
    try:
        return f"{disk.name} ({units.format_bytes(Path(disk.image).stat().st_blocks * 512)})"
    except OSError:
        return disk.name


def _require_root(verb: str) -> None:
    if os.geteuid() != 0:
        raise UnavailableError(
            f"only root can {verb} a disk on this machine", advice="run the same with `sudo`"
        )


# ------------------------------------------------------------------ list


def _table(disks: tuple[standing.KnownDisk, ...], world: World) -> RenderableType:
    table = Table(box=None, pad_edge=False)
    for column in ("name", "at", "tier", "size", "state", "limits in force"):
        table.add_column(column, overflow="fold", no_wrap=column in ("name", "state"))
    for one in disks:
        disk = one.disk
        size = units.format_bytes(disk.size_bytes)
        limits = _limits_in_force(disk, world) if one.runs else ""
        table.add_row(disk.name, disk.at, disk.tier, size, one.state, limits)
    files = [Text(f"data of {one.disk.name}: {one.disk.image}") for one in disks]
    return Group(table, *files)


def _limits_in_force(disk: standing.StandingDisk, world: World) -> str:
    """As the running disk says them."""
    now = disk_server.ask(disk.container, ("limits",), world)
    iops, bytes_per_s = now["iops"], now["bytes_per_s"]
    read, write = (
        units.format_seconds(now[f"{way}_latency_us"] * 1e-6) for way in ("read", "write")
    )
    return ", ".join(
        (
            f"{units.format_number(iops)} IOPS" if iops else "any IOPS",
            units.format_bytes_per_s(bytes_per_s) if bytes_per_s else "any throughput",
            f"read {read}, write {write}",
        )
    )
