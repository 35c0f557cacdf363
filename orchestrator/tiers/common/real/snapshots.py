"""Snapshots of data loaded on real disks: where they lie, how they are saved and restored
(docs/TIERS.md, docs/research/DISKS.md).

Copies are made in a container, so that owners, modes and extended attributes of the database's
files stay. Directories of nodes stay from one run to the next, and only what differs from the
snapshot is written (`restore` of our image `disk`), without reflinks."""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from orchestrator.errors import UsageError
from orchestrator.kernel import mounts
from orchestrator.powers import Completed, Machine, World
from orchestrator.system import marked, marked_folders
from orchestrator.system.shell import run_of_profile, script
from orchestrator.tier import Snapshots, Tier
from orchestrator.tiers.common.any_disk import removal
from orchestrator.tiers.common.real import node_places

FOLDER = removal.SNAPSHOTS
MARK = marked.MARK
COPIES = ("copy", "elsewhere")  # ways that this program keeps a copy itself
_SAVED = ".saved"  # a file in the cache: the profile's own command has made a snapshot
_OUTPUT = 2_000  # characters of a command's output that the record keeps


def chosen(tier: Tier) -> Snapshots:
    """What the profile says; without a word of it, copies."""
    return tier.disk.snapshots or Snapshots("copy")


def paths(
    tier: Tier, folders: Mapping[Path, Path], name: str, world: World
) -> tuple[Path, ...]:
    """One for each of `folders` of nodes → path of its disk."""
    way = chosen(tier)
    if way.way == "command":
        disks = [str(path) for path in folders.values()]
        unique = marked_folders.unique_name(name, world, *disks, way.save, way.restore)
        folder = world.cache / "datasets" / unique
        return tuple(folder / f"{directory.name}{_SAVED}" for directory in folders)
    # A data set of another cache has another name: each cache knows only how its own were loaded.
    roots = {directory: Path(way.path or path) for directory, path in folders.items()}
    unique = marked_folders.unique_name(
        name, world, *(str(root) for root in roots.values())
    )
    taken: list[Path] = []
    for directory, root in roots.items():
        taken.append(root / FOLDER / unique / directory.name)
    return tuple(taken)


def places(
    tier: Tier, directories: Mapping[Path, int], machine: Machine
) -> dict[Path, int]:
    """Folder → how many directories of nodes it holds at most, with snapshots not yet there."""
    way = chosen(tier)
    counts = dict(directories)
    # Copies are made only where there is room if the profile says nothing. They need none for sure.
    if tier.disk.snapshots is None or way.way not in COPIES:
        return counts
    for path, count in directories.items():
        root = Path(way.path or path)
        if not machine.exists(str(root / FOLDER)):
            counts[root] = counts.get(root, 0) + count
    return counts


def check(tier: Tier, disks: Sequence[mounts.RealDisk], world: World) -> None:
    """UsageError or UnavailableError if snapshots cannot be kept in the way that is asked for."""
    way = chosen(tier)
    # They run on this computer, and the disk may be on another.
    if way.save or way.restore:
        node_places.require_here(
            f"{tier.name}: `snapshots` runs the profile's commands", world
        )
    if way.way in COPIES:
        for root in _roots(way, disks):
            _require_folder(tier, root, world.machine)
    if way.path:
        _require_other_disk(tier, way.path, disks, world.machine)


def _roots(way: Snapshots, disks: Sequence[mounts.RealDisk]) -> list[Path]:
    """Where copies are kept: on another disk if the profile names one, else on each disk itself."""
    if way.path:
        return [Path(way.path)]
    return [disk.path for disk in disks]


def _require_folder(tier: Tier, root: Path, machine: Machine) -> None:
    if not machine.is_folder(str(root)):
        raise UsageError(
            f"{tier.name}: `snapshots` names {root}, which is not a directory",
            advice="mount a second disk there first, or correct `path` of `snapshots`",
        )
    content_of_ours(root / FOLDER, machine)


def _require_other_disk(
    tier: Tier, path: str, disks: Sequence[mounts.RealDisk], machine: Machine
) -> None:
    points = mounts.mount_points(machine)
    other = mounts.holding(Path(path), points, machine)
    for disk in disks:
        # Copying from the measured disk itself would spend the credit that another path is to save.
        if disk.mount.device == other.device:
            raise UsageError(
                f"{tier.name}: `snapshots` names {path}, which is on {disk.node}, "
                "the disk that is measured",
                advice="name a directory on another disk, or say `snapshots: copy`",
            )


def content_of_ours(folder: Path, machine: Machine) -> Sequence[str]:
    """The names in a folder that has our mark; none if it is not there. UsageError without it."""
    if not machine.exists(str(folder)):
        return ()
    content = machine.listing(str(folder))
    if content and MARK not in content:
        raise UsageError(
            f"{folder} exists and was not made by tierbench, so it is neither "
            "used nor removed",
            advice="rename it, or give another path",
        )
    return content


Pairs = Sequence[tuple[Path, Path]]  # directory of a node, its snapshot


def save(tier: Tier, pairs: Pairs, world: World) -> None:
    """Keeps what is in the nodes' directories, whose servers were stopped cleanly. On the same disk
    the directories themselves become the snapshot. RunError if that fails."""
    how = "move"
    if chosen(tier).way == "elsewhere":
        how = "copy"
    # An earlier snapshot of that name would be mixed with the new one.
    for folder in dict.fromkeys(snapshot.parent for _, snapshot in pairs):
        removal.make_anew(folder, (), world)
    world.progress.step("keeping the data set")
    _copied(script(__package__, "save", "snapshots", how), pairs, world)


def note_of(directory: Path) -> Path:
    """The note that `restore` leaves beside a directory: without it nothing may be left there."""
    return directory.with_name(f".{directory.name}.restored")


def held_bytes(directory: Path, machine: Machine) -> int:
    """What the files of a restored directory take of the disk; 0 if that is not known."""
    with suppress(OSError, ValueError):
        return int(json.loads(machine.read(str(note_of(directory))))["bytes"])
    return 0


def restore(pairs: Pairs, world: World) -> dict[str, Any]:
    """Makes the nodes' directories equal to their snapshots, by writing only what differs. Returns
    facts: `files`, and of them `unchanged_files`, which were left alone; `compared_bytes` and
    `written_bytes`. RunError if it fails."""
    world.progress.step("restoring the data set")
    from_snapshots = [(snapshot, directory) for directory, snapshot in pairs]
    done = _copied(("restore",), from_snapshots, world)
    # Warnings of the program come before its last line, which has the facts.
    return dict(json.loads(done.out.strip().splitlines()[-1]))


def _copied(program: Sequence[str], pairs: Pairs, world: World) -> Completed:
    """Runs a program that copies from the first to the second of each pair."""
    roots: list[Path] = []
    arguments: list[str] = []
    for pair in pairs:
        for path in pair:
            roots.append(removal.root_of(path.parent))
            arguments.append(f"{removal.HOST}{path}")
    source, target = pairs[0]
    return removal.in_container(
        (*program, *arguments),
        roots,
        world,
        failure=f"data could not be copied from {source} to {target}",
        advice="check the free space; `tierbench clean` removes all snapshots",
    )


def discard(taken: Iterable[Path], world: World) -> None:
    """Removes snapshots, or what a killed program left of them, before others take their place."""
    folders: dict[Path, None] = {}
    for path in taken:
        # Snapshots of the profile's own commands are the profile's.
        if path.suffix != _SAVED:
            folders[path.parent] = None
    there: list[Path] = []
    for folder in folders:
        if world.machine.exists(str(folder)):
            there.append(folder)
    removal.remove(
        there,
        world,
        "another data set cannot take this place",
        advice="look at what is there; remove or unmount it by hand if nobody needs it",
    )


def by_command(
    verb: str,
    tier: Tier,
    at: Path,
    where: Mapping[Path, Path],
    taken: Sequence[Path],
    world: World,
) -> dict[str, Any]:
    """Runs `save` or `restore` of the profile for one disk: what it said. RunError if it fails."""
    way = chosen(tier)
    command = way.restore
    if verb == "save":
        command = way.save
    nodes = [directory.name for directory, disk in where.items() if disk == at]
    env = {
        "TIERBENCH_PATH": str(at),
        "TIERBENCH_DATA": str(at / node_places.FOLDER),
        "TIERBENCH_NODES": " ".join(nodes),
        # The data set's folder has another name for each data set and path.
        "TIERBENCH_SNAPSHOT": taken[0].parent.name,
    }
    done = run_of_profile(verb, command, str(at), env, "docs/TIERS.md", world)
    return {"took_s": done.duration_s, "output": done.tail()[-_OUTPUT:]}
