"""Directories on real disks, with checks: is a disk the one that is meant, and is it still there?

Each node gets a directory of its own below `<path>/tierbench-data`, which only tierbench uses, and
one for its WAL on the disk that the profile names for WAL. A container makes and removes them,
because their files belong to the database's user. The disk check works in such a directory too.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from orchestrator import model, units
from orchestrator.errors import (
    Mistake,
    RunError,
    UnavailableError,
    UsageError,
    VoidError,
)
from orchestrator.kernel import block_devices, mounts
from orchestrator.parts import Disks
from orchestrator.powers import Machine, World
from orchestrator.system import marked_folders
from orchestrator.tier import RealDisks, Tier
from orchestrator.tiers.common.any_disk import removal
from orchestrator.tiers.common.real import snapshots
from orchestrator.tiers.common.real.node_places import (
    FOLDER,
    DiskPath,
    Use,
    mounted,
    places_of,
)

MECHANISM = {"mechanism": "a real disk, not throttled"}


def disks_at(
    tier: Tier,
    at: Sequence[DiskPath],
    needed_bytes: Callable[[DiskPath], int],
    machine: Machine,
) -> dict[DiskPath, mounts.RealDisk]:
    """The disk at each of these paths of the tier, which are all on that machine.

    `needed_bytes`: how much space a path needs. Raises what `believable` raises if one disk cannot
    be used, and one UsageError with all of them if several cannot.
    """
    disks: dict[DiskPath, mounts.RealDisk] = {}
    failures: dict[DiskPath, UsageError | UnavailableError] = {}
    for place in at:
        try:
            disks[place] = believable(tier, place.path, needed_bytes(place), machine)
        except (UsageError, UnavailableError) as error:
            failures[place] = error
    if not failures:
        return disks
    first = next(iter(failures.values()))
    # A single failure keeps its kind, which says whether the input or the machine is at fault.
    if len(failures) == 1:
        raise first
    mistakes: list[Mistake] = []
    for place, failure in failures.items():
        mistakes.append(Mistake(place.title, failure.what))
    raise UsageError(
        f"{len(failures)} disks of {tier.name} cannot be used",
        advice=first.advice,
        mistakes=tuple(mistakes),
    )


@contextmanager
def attached(
    tier: Tier,
    sizes_bytes: Mapping[str, int],
    world: World,
    filled: bool,
    stays: bool,
) -> Iterator[Disks]:
    """A directory for each node on the disk for its data, and one on the disk for its WAL.

    `sizes_bytes`: node → the space that it needs. `filled`: the profile's own command has filled
    the directories, and removes them. `stays`: they are left where they are, as `folders` says.
    """
    places = places_of(tier, list(sizes_bytes))

    # Several nodes may share a disk, which must then hold the data of all.
    def needed_bytes(place: DiskPath) -> int:
        return sum(sizes_bytes[node] for node in place.nodes)

    # All disks are checked before anything is written to one of them.
    disks = disks_at(tier, places, needed_bytes, world.machine)
    directory_of: dict[Use, _Directory] = {}
    with ExitStack() as up:
        for place, disk in disks.items():
            names = [use.folder for use in place.uses]
            directories = up.enter_context(
                _directories(disk, names, world, filled=filled, stays=stays)
            )
            for use, directory in zip(place.uses, directories, strict=True):
                directory_of[use] = _Directory(directory, disk)
        disk_facts: dict[str, dict[str, Any]] = {}
        for place, disk in disks.items():
            disk_facts[place.key] = facts(place, disk, world.machine)
        volumes = tuple(_volume(node, directory_of) for node in sizes_bytes)
        yield Disks(volumes, {**MECHANISM, "disks": disk_facts})


@contextmanager
def _directories(
    disk: mounts.RealDisk,
    names: Sequence[str],
    world: World,
    *,
    filled: bool,
    stays: bool,
) -> Iterator[tuple[Path, ...]]:
    """Directories of these names on one disk, which is watched; `attached` explains the options."""
    with watched(disk, world.machine):
        if filled:
            yield _filled(disk.path, names, world.machine)
            return
        left_on = None
        if stays:
            left_on = disk
        with folders(disk.path, names, world, left_on) as directories:
            yield directories


class _Directory(NamedTuple):
    """A directory of a node, and the disk on which it is."""

    path: Path
    disk: mounts.RealDisk


def _volume(node: str, directory_of: Mapping[Use, _Directory]) -> model.Volume:
    data = directory_of[Use(node, wal=False)]
    volume = model.Volume(str(data.path), data.disk.node, restored=False, kept=False)
    wal = directory_of.get(Use(node, wal=True))
    if wal is None:
        return volume
    return replace(volume, wal=str(wal.path), wal_device=wal.disk.node)


def facts(place: DiskPath, disk: mounts.RealDisk, machine: Machine) -> dict[str, Any]:
    """What a record says about the disk: who uses it, what it is made of, how much is free."""
    shown: dict[str, Any] = {
        "used_by": [str(use) for use in place.uses] or ["all nodes"]
    }
    if place.machine:
        shown["machine"] = place.machine
    shown |= disk.facts
    parts = block_devices.made_of(disk.facts)
    if parts:
        shown["made_of"] = parts
    shown["free_bytes"] = machine.free_bytes(str(disk.path))
    return shown


@contextmanager
def watched(disk: mounts.RealDisk, machine: Machine) -> Iterator[None]:
    """VoidError if the disk is gone at the end of the block, also if another error ended it."""
    try:
        yield
    except (RunError, UnavailableError) as error:
        # A disk that has vanished explains the other error, so it is the one that is raised.
        if mounts.is_there(disk, machine):
            raise
        raise _vanished(disk, evidence=error.what) from error
    if not mounts.is_there(disk, machine):
        raise _vanished(disk, evidence="")


def _vanished(disk: mounts.RealDisk, evidence: str) -> VoidError:
    return VoidError(
        f"the disk {disk.node} vanished from {disk.mount.path} in mid-run",
        advice="see the kernel's log (`dmesg`); what was measured on it is void",
        evidence=evidence,
    )


class Asking(NamedTuple):
    """What a person changes to take a disk that was refused.

    `root_disk`: to allow the system's. `room`: to need less space.
    """

    root_disk: str
    room: str


OF_PROFILE = Asking(
    "set `allow_root_disk: true`", "take a smaller --scale or fewer --nodes"
)


def believable(
    tier: Tier,
    at: str,
    needed_bytes: int,
    machine: Machine,
    asking: Asking = OF_PROFILE,
) -> mounts.RealDisk:
    """The disk at the path `at`, if it can be the one that the tier means. `asking`: for advice.

    UsageError if it cannot be, or if its file system or mount options are not those that the tier
    expects. UnavailableError if it is read-only or lacks space.
    """
    path = Path(at)
    disk = mounts.find(path, machine)
    expected = mounted(tier)
    if not expected.allow_root_disk:
        _require_own_disk(path, disk, machine, asking)
    _require_expected_mount(disk, expected)
    # The kernel itself remounts a file system read-only when its disk fails.
    if "ro" in disk.mount.options.split(","):
        raise UnavailableError(
            f"{path} is mounted read-only",
            advice="remount it writable",
        )
    free = free_bytes(path, machine)
    if free < needed_bytes:
        needed = units.format_bytes(needed_bytes)
        raise UnavailableError(
            f"{path} has {units.format_bytes(free)} free; {needed} are needed",
            advice=f"{asking.room}, or make room",
        )
    return disk


def _require_own_disk(
    path: Path, disk: mounts.RealDisk, machine: Machine, asking: Asking
) -> None:
    """UsageError unless a disk is mounted at just this path that is not the system's."""
    # The path is an empty folder of the system's own disk where a disk is not mounted.
    if disk.mount.path != machine.real_path(str(path)):
        raise UsageError(
            f"{path} is not a mount point: it is a directory of "
            f"{disk.mount.path} (on {disk.node})",
            advice=(
                "check that the disk is mounted, and give its mount point. Or "
                f"{asking.root_disk} to take whatever disk is there"
            ),
        )
    if mounts.on_root_disk(disk, machine):
        raise UsageError(
            f"{path} is on {disk.whole}, the disk of the system itself",
            advice=(
                f"take another disk, or {asking.root_disk}. The system's "
                "own writes are then part of what is measured"
            ),
        )


def _require_expected_mount(disk: mounts.RealDisk, expected: RealDisks) -> None:
    """UsageError unless the file system and the options are those that the profile expects."""
    kind = disk.mount.kind
    if expected.file_system not in (None, kind):
        raise UsageError(
            f"{disk.path} has {kind}, but the profile expects {expected.file_system}",
            advice="mount the file system that is meant, or correct `file_system`",
        )
    options = disk.mount.options.split(",")
    lacking = [option for option in expected.mount_options if option not in options]
    if lacking:
        raise UsageError(
            f"{disk.path} is not mounted with {', '.join(lacking)}, as the profile "
            f"expects, but with {disk.mount.options}",
            advice="remount it, or correct `mount_options`",
        )


def free_bytes(path: Path, machine: Machine) -> int:
    """Free space at `path`, with what restored directories take."""
    data = path / FOLDER
    free = machine.free_bytes(str(path))
    if not machine.exists(str(data)):
        return free
    for name in machine.listing(str(data)):
        # Restored directories are filled again or removed, so what they take will be free.
        free += snapshots.held_bytes(data / name, machine)
    return free


@contextmanager
def folders(
    path: Path,
    names: Sequence[str],
    world: World,
    left_on: mounts.RealDisk | None = None,
) -> Iterator[tuple[Path, ...]]:
    """An empty directory for each name below `path`/tierbench-data, removed after the block.

    `left_on`: the disk on which they are left for the next run. They are then removed only if the
    block raised. If exactly these directories were restored and left before, they are used as they
    are, and are not empty.
    """
    data = path / FOLDER
    machine = world.machine
    content = snapshots.content_of_ours(data, machine)
    directories = tuple(data / name for name in names)
    is_left = False
    try:
        restored = set(content) == _content_if_restored(directories)
        if left_on is None or not restored or not marked_folders.is_ours(data, world):
            # A killed run may have left directories, and those of another data set are of no use.
            removal.make_anew(data, names, world)
        yield directories
        is_left = left_on is not None and mounts.is_there(left_on, machine)
    finally:
        # Nobody knows after an error what is in them. The path of a lost disk may be gone too.
        if not is_left and machine.is_folder(str(path)):
            what = "the directories of the nodes could not be removed"
            removal.remove([data], world, what)


def _content_if_restored(directories: Sequence[Path]) -> set[str]:
    """What our folder contains if exactly these directories were restored there: names."""
    names = {snapshots.MARK}
    for directory in directories:
        names.add(directory.name)
        names.add(snapshots.note_of(directory).name)
    return names


def _filled(path: Path, names: Sequence[str], machine: Machine) -> tuple[Path, ...]:
    """The directories that the profile's `restore` has filled. RunError if one is missing."""
    data = path / FOLDER
    directories: list[Path] = []
    missing: list[str] = []
    for name in names:
        directories.append(data / name)
        if not machine.is_folder(str(data / name)):
            missing.append(name)
    if missing:
        raise RunError(
            f"after the profile's `restore` {data} has no {' and no '.join(missing)}",
            advice="the command must bring back all that is below TIERBENCH_DATA when it saves",
        )
    return tuple(directories)
