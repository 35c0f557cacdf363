"""The commands under `tierbench disk`: a tier's disk for any program, outside of a campaign."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import RenderableType
from typer import Argument, Context, Option

from orchestrator import errors
from orchestrator.cli import CACHE
from orchestrator.cli.common import completion, forms, options
from orchestrator.cli.common.app import App
from orchestrator.cli.common.command_making import takes
from orchestrator.cli.common.limit_words import limits_in, print_limits
from orchestrator.errors import RunError, TierbenchError, UnavailableError, UsageError
from orchestrator.system import files
from orchestrator.tier import Tier
from orchestrator.units import format_bytes, parse_size

if TYPE_CHECKING:
    from orchestrator.extensions.standing_disks.standing import KnownDisk
    from orchestrator.powers import World
    from orchestrator.tiers.common.emulated.standing_notes import StandingDisk


def _disks(_: Context) -> list[str]:
    """The disks that stand."""
    # The files of their data tell which stand, because asking the engine takes seconds.
    files = (CACHE / "standing").glob("*.img")
    return sorted([file.stem for file in files])


DiskArgument = Annotated[str, Argument(autocompletion=completion.completing(_disks))]
# The size of a disk without --size. Its file is sparse, and takes what is written to it.
_SIZE_BYTES = 20 * 2**30

disk = typer.Typer(help="A tier's disk for any program.", no_args_is_help=True)


@disk.command()
@takes()
def up(
    app: App,
    tier: Annotated[str, Argument(autocompletion=completion.rows)],
    at: Annotated[Path, Option()],
    changes: Annotated[list[str] | None, Argument()] = None,
    size: Annotated[str | None, Option(callback=options.read_by(parse_size))] = None,
    name: str = "",
    data: Path | None = None,
    gate: bool = False,
) -> None:
    """Puts up a disk of a tier, mounted at a path, until `disk down`. Needs root."""
    from orchestrator.extensions.standing_disks import gated, requests
    from orchestrator.report.rendering.terminal import TableView
    from orchestrator.report.sections.gates import gate_table
    from orchestrator.tiers import emulated
    from orchestrator.tiers.common.real import node_places

    bought, bought_bytes = _emulated(app, tier, changes or ())
    size_bytes = None
    if size:
        size_bytes = _size(parse_size(size), bought.title, bought_bytes)
    # A disk that is sold smaller than the default has the size in which it is sold.
    default_bytes = min(_SIZE_BYTES, bought_bytes or _SIZE_BYTES)
    _require_root("mount", app)
    world = app.world()
    with app.alone(world.platform):  # it would disturb a campaign
        node_places.require_here("`disk up` mounts a disk", world)
        emulated.EmulatedTier().check(bought, world)
        # The disk's file is in the cache, and `clean` of this machine must know it as its own.
        app.sign_cache()
        wanted = requests.prepared(
            name or at.name, at, bought.title, size_bytes, default_bytes, data, world
        )
        app.progress.step(f"putting up {wanted.name}: {bought.title}", 5)
        measured = gated.put_up(wanted, bought, gate, world)
    app.progress.done()
    shown_size = format_bytes(wanted.size_bytes)
    app.out.print(f"{bought.title}, {shown_size}, is up at {wanted.at}")
    app.out.print(f"`tierbench disk down {wanted.name}` takes it down")
    if measured is not None:
        app.out.print(TableView(gate_table(measured)))
        # The disk stays up all the same; the exit code says that it is not what its tier declares.
        if not measured.passed:
            raise typer.Exit(errors.EXIT_INCONCLUSIVE)


def _emulated(app: App, name: str, changes: Sequence[str]) -> tuple[Tier, int | None]:
    """The tier of that name, and the bytes of its disk as it is sold. UsageError if it is no
    emulated one."""
    from orchestrator.planning import named_tiers, profiles

    # Any scale will do: only a profile's cluster depends on it, and this is a disk alone.
    tier, bought_bytes = named_tiers.tier(
        app.root, name, changes, profiles.ANY_SCALE, app.disk_kinds()
    )
    if not tier.disk.holds_limits:
        raise UsageError(
            f"{name} has `enforcement: {tier.disk.enforcement}`, but `disk up` "
            "can only make emulated disks",
            "give `enforcement=emulated` after its name, or take a catalog row",
        )
    return tier, bought_bytes


def _size(size_bytes: int, title: str, bought_bytes: int | None) -> int:
    """The size asked for. UsageError if the disk is sold smaller."""
    if bought_bytes is not None and size_bytes > bought_bytes:
        bought = format_bytes(bought_bytes)
        raise UsageError(
            f"--size: {title} has {bought}",
            "give a smaller size, or take a larger disk, which may have other limits",
        )
    return size_bytes


@disk.command()
@takes()
def down(
    app: App,
    name: DiskArgument = "",
    are_all: Annotated[bool, Option("--all")] = False,
    keep_data: bool = False,
    yes: options.YesOption = False,
    dry_run: options.OnlyShowOption = False,
) -> None:
    """Takes a disk down, with its data unless --keep-data. Needs root."""
    from orchestrator.extensions.standing_disks import standing, words
    from orchestrator.tiers.common.real import node_places

    # Neither of the two is given, or both are.
    if bool(name) == are_all:
        raise UsageError("name a disk, or say --all", advice="tierbench disk list")
    # A dry run needs no root, so that a person sees first what `sudo` would remove.
    if not dry_run:
        _require_root("unmount", app)
    world = app.world()
    node_places.require_here("`disk down` unmounts a disk", world)
    if are_all:
        disks = standing.standing_disks(world)
    else:
        disks = (standing.named(name, world),)
    if dry_run:
        for standing_disk in disks:
            line = words.would_become(standing_disk.disk, keep_data)
            app.out.print_line(line)
        return
    if not keep_data and not yes:
        _confirm_loss([standing_disk.disk for standing_disk in disks], app)
    with app.alone(world.platform):  # it would disturb a campaign
        stayed = _taken_down(disks, world, keep_data, app)
    app.progress.done()
    raise_first(stayed, app)


def raise_first(stayed: Sequence[TierbenchError], app: App) -> None:
    """Raises why the first disk stayed, if one did; the others are said before."""
    # One error ends the command, and whoever took all disks down would not know of the rest.
    for other in stayed[1:]:
        app.progress.warn(str(other))
    if stayed:
        raise stayed[0]


def _taken_down(
    disks: Sequence[KnownDisk], world: World, keep_data: bool, app: App
) -> list[TierbenchError]:
    """Takes them down, and says what became of their data; returns why some stayed."""
    from orchestrator.extensions.standing_disks import standing

    stayed: list[TierbenchError] = []
    for standing_disk in disks:
        try:
            kept = standing.take_down(standing_disk, world, keep_data)
        # One in use stays; the others are taken down all the same.
        except RunError as error:
            stayed.append(error)
            continue
        became = "its data are removed"
        if kept:
            became = f"its data stay in {kept}"
        name = standing_disk.disk.name
        app.out.print_line(f"{name} is down; {became}")
    return stayed


def _confirm_loss(disks: Sequence[StandingDisk], app: App) -> None:
    """Asks before data in images of ours are removed. UsageError if nobody can be asked."""
    from orchestrator.extensions.standing_disks import words

    # A file that the user gave with --data stays in any case.
    images = [words.with_size(disk) for disk in disks if disk.own_image]
    if not images:
        return
    lost = ", ".join(images)
    if not app.stdin.isatty():
        raise UsageError(
            f"the data of {lost} would be removed, but there is no terminal to "
            "ask first",
            "say --yes, or --keep-data",
        )
    app.confirm(f"The data of {lost} will be removed (--keep-data keeps them). Go on?")


@disk.command()
@takes()
def record(
    app: App,
    path: Path,
    out_file: Annotated[Path | None, Option("--out")] = None,
    burst_minutes: Annotated[float, Option(min=0)] = 0.0,
    quick: bool = False,
    allow_root_disk: bool = False,
) -> None:
    """Measures a mounted disk into a small file for a profile: about three minutes."""
    from orchestrator.extensions.standing_disks import recording, words

    file = out_file or Path("recorded-disk.json")
    # The file is checked before three minutes of measuring, not after them.
    _check_new(file)
    effort = recording.RecordingEffort()
    if quick:
        effort = recording.QUICK
    # There is no lasting load if no minutes are given, and no burst is looked for.
    effort = replace(effort, hold_s=60 * burst_minutes)
    world = app.world()
    # A campaign on the same machine would slow the disk, or be slowed by the load.
    recorded = recording.record(
        path.absolute(),
        effort,
        world,
        allow_root_disk,
        fio_at=partial(recording.fio_at, alone=app.alone),
    )
    files.write_json(file, recorded.model_dump())
    app.progress.done()
    for line in words.recorded_in_words(recorded):
        app.out.print(line)
    written = (
        f"written: {file} (in a profile beside it: `tier: {{recorded: {file.name}}}`)"
    )
    app.out.print_line(written)


def _check_new(file: Path) -> None:
    """UsageError if a file cannot be made there."""
    why = ""
    if file.exists():
        why = "exists already"
    elif not file.absolute().parent.is_dir():
        why = "is in a folder that does not exist"
    if why:
        raise UsageError(f"{file} {why}", "name another file with --out")


@disk.command(name="list")
@takes(shown_as=forms.OF_LISTS)
def show(app: App) -> None:
    """Lists the disks that were put up and not taken down."""
    from orchestrator.extensions.standing_disks import standing, words

    world = app.world()
    disks = words.listed(standing.standing_disks(world), world)
    shown: RenderableType = "no disk was put up here"
    if disks:
        shown = words.table(disks)
    app.out.show(disks, shown, names=[str(disk["name"]) for disk in disks])


@disk.command(name="set")
@takes()
def change(app: App, name: DiskArgument, limits: list[str]) -> None:
    """Changes limits of a disk that is up."""
    from orchestrator.extensions.standing_disks import standing
    from orchestrator.tiers.common.emulated import limit_changes

    changes = limits_in(limits)
    world = app.world()
    standing_disk = standing.named(name, world)
    if not standing_disk.runs:
        raise UsageError(f"the disk {name} is not running: see `tierbench disk list`")
    # Limits that the disk itself tells, which may be rounded.
    enforced = limit_changes.change(standing_disk.disk.container, changes, world)
    print_limits(changes, enforced, app)


def _require_root(verb: str, app: App) -> None:
    if app.user != 0:
        raise UnavailableError(
            f"only root can {verb} a disk on this machine", "run the same with `sudo`"
        )
