"""The directories of nodes on the real disks of one machine: empty, restored, or to be loaded.

`sizes_bytes`: node → what its data may take. `taken`: the snapshots of these nodes, in the order of
`node_places.directories`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from orchestrator.model import Volume
from orchestrator.parts import Disks
from orchestrator.powers import World
from orchestrator.tier import Tier
from orchestrator.tiers.common.real import node_places, quiet, real_disk, snapshots
from orchestrator.units import format_bytes


def has_room(
    tier: Tier, sizes_bytes: Mapping[str, int], taken: Sequence[Path], world: World
) -> bool:
    """Whether the snapshots are there, or fit beside the data; else says so."""
    if all(world.machine.exists(str(one)) for one in taken):
        return True
    most_bytes = max(sizes_bytes.values())
    for path, count in node_places.holding(tier, list(sizes_bytes)).items():
        free_bytes = real_disk.free_bytes(path, world.machine)
        needed_bytes = 2 * count * most_bytes
        if free_bytes < needed_bytes:
            world.progress.note(
                f"each run loads its data: {path} has {format_bytes(free_bytes)} free, and data "
                f"with a copy may need {format_bytes(needed_bytes)} (docs/TIERS.md: snapshots)"
            )
            return False
    return True


@contextmanager
def attached(
    tier: Tier,
    sizes_bytes: Mapping[str, int],
    taken: Sequence[Path] | None,
    world: World,
    kept: bool = False,
) -> Iterator[Disks]:
    """The nodes' directories, empty or restored from the snapshots `taken`; then the caches are
    empty and the disks quiet. `kept`: the directories become snapshots afterwards. Else restored
    ones stay for the next run, until something else needs their place: a load, or a gate."""
    by_command = taken is not None and snapshots.chosen(tier).way == "command"
    stays = taken is not None and not kept and snapshots.writes_differences(tier)
    where, began_s = node_places.directories(tier, list(sizes_bytes)), world.clock.monotonic()
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
    data, snapshot = path / node_places.FOLDER, taken[0].parent.name
    return snapshots.by_command(verb, tier, path, data, names, snapshot, world)


@contextmanager
def loading(
    tier: Tier,
    sizes_bytes: Mapping[str, int],
    taken: Sequence[Path],
    world: World,
    resumed: bool = False,
) -> Iterator[tuple[Volume, ...]]:
    """Loads on the disk itself, without the limits that a control group would put on it."""
    if not resumed:
        snapshots.discard(taken, world)
    where = node_places.directories(tier, list(sizes_bytes))
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
