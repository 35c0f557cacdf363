"""The directories of nodes on the real disks of one machine: empty, restored, or to be loaded.

`sizes_bytes`: node → what its data may take. `taken`: the snapshots of these nodes, in the order of
`node_places.directories`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from orchestrator.errors import RunError
from orchestrator.model import Volume
from orchestrator.parts import Disks
from orchestrator.platforms.common.machines import is_here
from orchestrator.powers import Machine, World
from orchestrator.system import files
from orchestrator.system.clock import wait_until
from orchestrator.tier import Tier
from orchestrator.tiers.common.real import node_places, real_disk, removal, snapshots
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
    stays = taken is not None and not kept and not by_command
    where, began_s = node_places.directories(tier, list(sizes_bytes)), world.clock.monotonic()
    restored: dict[str, Any] = {"way": "none"}
    with ExitStack() as up:
        if by_command and taken:
            restored = {"commands": up.enter_context(_by_command(tier, where, taken, world))}
        disks = up.enter_context(real_disk.attached(tier, sizes_bytes, world, by_command, stays))
        if taken is not None:
            if not by_command:
                restored = snapshots.restore(list(zip(where, taken, strict=True)), world)
            took_s = round(world.clock.monotonic() - began_s, 1)
            restored |= {"way": snapshots.chosen(tier).way, "took_s": took_s}
            restored |= after_copying(_devices(disks.volumes), list(where), world)
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
            files.write_text(file, "saved by the profile's own command\n")


# ------------------------------------------------------------------ after copying
# Else a run would find in the page cache what was just copied, and would share the disk with what
# the kernel still writes.

DEADLINE_S = 120.0
QUIET_S = 1.0  # in which there were at most so many I/Os and sectors (a megabyte)
MOST_IOS = 20
MOST_SECTORS = 2_000
_LOOK_S = 0.2
_DROP_S = 300.0
_DROP = "sync && echo 3 > /proc/sys/vm/drop_caches"  # Documentation/admin-guide/sysctl/vm.rst
# dd's `nocache` is posix_fadvise(DONTNEED); with `count=0` it is for the whole file.
_DROP_FILES = 'find "$@" -type f -exec dd if={} iflag=nocache count=0 status=none \\;'


def after_copying(
    devices: Sequence[str], directories: Sequence[Path], world: World
) -> dict[str, Any]:
    """Drops caches, then waits until `devices` (as in /proc/diskstats) are quiet.

    Returns facts: `caches_dropped`, `quiet` (False: not within the deadline; None: their counters
    cannot be read) and `quiet_wait_s`. RunError if no cache could be dropped.
    """
    world.progress.step("dropping caches, then waiting until the disk is quiet")
    dropped = _drop(directories, world)
    began_s, quiet = world.clock.monotonic(), None
    since_s, before = began_s, _counted(devices, world.machine)
    if before is not None:

        def rests() -> bool:
            nonlocal since_s, before
            now_s, now = world.clock.monotonic(), _counted(devices, world.machine)
            if not _is_calm(before, now):
                since_s, before = now_s, now
            return now_s - since_s >= QUIET_S - _LOOK_S / 2

        world.clock.sleep(_LOOK_S)
        quiet = wait_until(rests, deadline_s=DEADLINE_S, clock=world.clock, every_s=_LOOK_S)
    if quiet is False:
        world.progress.warn(f"{' and '.join(devices)} did not rest within {DEADLINE_S:g} s")
    waited_s = round(world.clock.monotonic() - began_s, 1)
    return {"caches_dropped": dropped, "quiet": quiet, "quiet_wait_s": waited_s}


def _drop(directories: Sequence[Path], world: World) -> Literal["of the machine", "of the files"]:
    """Only root may drop all caches of the machine; else those of the files that were copied."""
    here = is_here(world)  # else the shell is another machine's
    if here and world.shell.run(("sh", "-c", _DROP), timeout_s=_DROP_S).exit_code == 0:
        return "of the machine"
    arguments = [f"{removal.HOST}{directory}" for directory in directories]
    program = ("bash", "-c", _DROP_FILES, "quiet", *arguments)
    done = removal.in_container(program, directories, world)
    if done.exit_code != 0:
        raise RunError("the page cache could not be emptied", evidence=done.out)
    return "of the files"


_Counts = tuple[int, int, int]  # of all devices: I/Os and sectors since the boot, in flight now


def _is_calm(before: _Counts | None, now: _Counts | None) -> bool:
    """Whether nothing is under way, and hardly anything was since `before`."""
    if before is None or now is None:
        return False
    (ios_before, sectors_before, _), (ios, sectors, in_flight) = before, now
    hardly_any = ios - ios_before <= MOST_IOS and sectors - sectors_before <= MOST_SECTORS
    return hardly_any and not in_flight


def _counted(devices: Sequence[str], machine: Machine) -> _Counts | None:
    """From /proc/diskstats: reads and writes, sectors of both, and requests in flight
    (Documentation/admin-guide/iostats.rst). None if a device is not there."""
    try:
        machine.refresh()  # what was read before shows no movement
        rows = [line.split() for line in machine.read("/proc/diskstats").splitlines()]
    except OSError:
        return None
    ours = [row for row in rows if len(row) >= 12 and row[2] in devices]
    if len(ours) < len(set(devices)):
        return None

    def total(*fields: int) -> int:
        return sum(int(row[field]) for row in ours for field in fields)

    return total(3, 7), total(5, 9), total(11)
