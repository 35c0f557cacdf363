"""Real disks whose data are loaded once: what `Restorable` asks of tiers that have them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from orchestrator.model import Volume
from orchestrator.parts import Disks
from orchestrator.powers import Machine, World
from orchestrator.tier import Tier
from orchestrator.tiers.common import mounts, quiet, real_disk, snapshots
from orchestrator.units import format_bytes


def snapshots_of(tier: Tier, nodes: int, name: str, world: World) -> tuple[Path, ...]:
    """One for each directory of a node, in a folder of their own."""
    return snapshots.paths(tier, real_disk.directories(tier, nodes), name, world)


def restores(tier: Tier, sizes_bytes: Sequence[int], found: Sequence[Path], world: World) -> bool:
    """Unless the profile says what to do, every run loads where there is no room for a copy beside
    the data."""
    if tier.snapshots is not None:
        return tier.snapshots.way != "none"
    if all(world.machine.exists(str(one)) for one in found):
        return True
    most_bytes = max(sizes_bytes)
    for path, count in real_disk.places(tier, len(sizes_bytes)).items():
        free_bytes = real_disk.free_bytes(path, world.machine)
        needed_bytes = 2 * count * most_bytes
        if free_bytes < needed_bytes:
            world.progress.note(
                f"each run loads its data: {path} has {format_bytes(free_bytes)} free, and data "
                f"with a copy may need {format_bytes(needed_bytes)} (docs/TIERS.md: snapshots)"
            )
            return False
    return True


def places(tier: Tier, nodes: int, machine: Machine) -> Mapping[Path, int]:
    """Folder → how many times it holds the data of a node, snapshots among them."""
    return snapshots.places(tier, real_disk.places(tier, nodes), machine)


@contextmanager
def attached(
    tier: Tier,
    sizes_bytes: Sequence[int],
    taken: Sequence[Path] | None,
    world: World,
    kept: bool = False,
) -> Iterator[Disks]:
    """The nodes' directories, empty or restored from the snapshots `taken`; then the caches are
    empty and the disks quiet. `kept`: the directories become snapshots afterwards. Else restored
    ones stay for the next run, until something else needs their place: a load, or a gate."""
    by_command = taken is not None and snapshots.chosen(tier).way == "command"
    stays = taken is not None and not kept and snapshots.writes_differences(tier)
    where, began_s = real_disk.directories(tier, len(sizes_bytes)), world.clock.monotonic()
    restored: dict[str, Any] = {"way": "none"}
    with ExitStack() as up:
        if by_command and taken:
            restored = {"commands": up.enter_context(_by_command(tier, where, taken, world))}
        disks = up.enter_context(real_disk.attached(tier, sizes_bytes, world, by_command, stays))
        if taken is not None:
            if not by_command:
                restored = snapshots.restore(tier, list(zip(where, taken, strict=True)), world)
            took_s = round(world.clock.monotonic() - began_s, 1)
            restored |= {"way": snapshots.chosen(tier).way, "took_s": took_s}
            restored |= quiet.after_copying(_devices(disks.volumes), list(where), world)
        volumes = tuple(
            replace(volume, restored=taken is not None, kept=kept) for volume in disks.volumes
        )
        yield Disks(volumes, {**disks.facts, "restored": restored})


def _devices(volumes: Iterable[Volume]) -> list[str]:
    """As in /proc/diskstats."""
    devices = {name for volume in volumes for name in (volume.device, volume.wal_device) if name}
    return sorted(name.removeprefix("/dev/") for name in devices)


@contextmanager
def _by_command(
    tier: Tier, where: Mapping[Path, Path], taken: Sequence[Path], world: World
) -> Iterator[dict[str, Any]]:
    """Runs the profile's `restore` for each disk, on which it finds our folder empty."""
    said: dict[str, Any] = {}
    with ExitStack() as up:
        for path in dict.fromkeys(where.values()):
            real_disk.believable(tier, str(path), 0, world.machine)
            up.enter_context(real_disk.folders(path, (), world))
            said[str(path)] = _command("restore", tier, path, where, taken, world)
        yield said


def _command(
    verb: str,
    tier: Tier,
    path: Path,
    where: Mapping[Path, Path],
    taken: Sequence[Path],
    world: World,
) -> dict[str, Any]:
    names = [directory.name for directory, disk in where.items() if disk == path]
    data, snapshot = path / real_disk.FOLDER, taken[0].parent.name
    return snapshots.by_command(verb, tier, path, data, names, snapshot, world)


@contextmanager
def loading(
    tier: Tier,
    sizes_bytes: Sequence[int],
    taken: Sequence[Path],
    world: World,
    resumed: bool = False,
) -> Iterator[tuple[Volume, ...]]:
    """Loads on the disk itself, without the limits that a control group would put on it."""
    if not resumed:
        snapshots.discard(taken, world)
    where = real_disk.directories(tier, len(sizes_bytes))
    with attached(tier, sizes_bytes, taken if resumed else None, world, kept=True) as disks:
        yield disks.volumes
        if snapshots.chosen(tier).way != "command":
            snapshots.save(tier, list(zip(where, taken, strict=True)), world)
            return
        for path in dict.fromkeys(where.values()):
            _command("save", tier, path, where, taken, world)
        for file in taken:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("saved by the profile's own command\n")


def forget(found: Collection[Path], world: World) -> tuple[str, ...]:
    """Removes our folders among `found` and wherever a disk is mounted here, if they have our mark;
    one line each. A profile may lie anywhere, but its disks are mounted."""
    machine = world.machine
    folders = {*found, *(one.with_name(real_disk.FOLDER) for one in found)}
    with suppress(OSError):
        points = [Path(point.path) for point in mounts.mount_points(machine)]
        names = (real_disk.FOLDER, snapshots.FOLDER)
        folders |= {path / name for path in points for name in names}
    ours = [one for one in sorted(folders) if machine.exists(str(one / snapshots.MARK))]
    return snapshots.remove(ours, world)
