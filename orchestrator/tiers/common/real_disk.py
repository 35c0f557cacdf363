"""Directories on real disks: which disk is meant, if it can be that one, if it is still there.

Each node gets a directory of its own below `<path>/tierbench-data`, which only we use. A container
makes and removes it, so that files of the database's user can be removed too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from orchestrator.errors import RunError, TierbenchError, UnavailableError, UsageError, VoidError
from orchestrator.model import Tier, Volume
from orchestrator.parts import Disks
from orchestrator.platforms import own_images
from orchestrator.powers import ContainerSpec, Machine, Mount, World
from orchestrator.tiers.common import mounts, snapshots
from orchestrator.units import format_bytes

FOLDER = "tierbench-data"
MECHANISM = {"mechanism": "a real disk, not throttled"}
_MARK = snapshots.MARK
_REMOVAL_S = 600.0


@contextmanager
def attached(
    tier: Tier, sizes_bytes: Sequence[int], world: World, filled: bool = False
) -> Iterator[Disks]:
    """A directory for each node, on the disk at the tier's `path` or at the node's of `paths`.
    `filled`: it is there already, and somebody else's to remove."""
    sizes = dict(zip(_names(len(sizes_bytes)), sizes_bytes, strict=True))
    volumes: dict[str, Volume] = {}
    disks: dict[str, dict[str, Any]] = {}  # path → facts
    with ExitStack() as up:
        for path, nodes in _nodes_at(tier, list(sizes)).items():
            needed_bytes = sum(sizes[node] for node in nodes)
            disk = believable(replace(tier, path=path), needed_bytes, world.machine)
            disks[str(disk.path)] = facts(disk, world.machine)
            up.enter_context(watched(disk, world.machine))
            places = (
                _found(disk.path, nodes, world.machine)
                if filled
                else up.enter_context(folders(disk.path, nodes, world))
            )
            for node, place in zip(nodes, places, strict=True):
                volumes[node] = Volume(str(place), disk.node, restored=False, kept=False)
        shown = next(iter(disks.values())) if len(disks) == 1 else {"disks": disks}
        yield Disks(tuple(volumes[node] for node in sizes), {**MECHANISM, **shown})


def facts(disk: mounts.RealDisk, machine: Machine) -> dict[str, Any]:
    """What a reader must know of the disk."""
    return {**disk.facts, "free_bytes": machine.free_bytes(str(disk.path))}


@contextmanager
def watched(disk: mounts.RealDisk, machine: Machine) -> Iterator[None]:
    """VoidError if the disk is gone at the end, whatever else failed because of it."""
    cause: TierbenchError | None = None
    try:
        yield
    except (RunError, UnavailableError) as error:
        if mounts.is_there(disk, machine):
            raise
        cause = error
    if cause or not mounts.is_there(disk, machine):
        raise VoidError(
            f"the disk {disk.node} vanished from {disk.mount.path} in mid-run",
            advice="see the kernel's log (`dmesg`); what was measured on it is void",
            evidence=cause.what if cause else "",
        ) from cause


def places(tier: Tier, nodes: int) -> dict[Path, int]:
    """Folder → how many nodes have their data there."""
    nodes_at = _nodes_at(tier, _names(nodes))
    return {Path(path): len(names) for path, names in nodes_at.items() if path}


def directories(tier: Tier, nodes: int) -> dict[Path, Path]:
    """Each directory in which the nodes work, in their order → the path of its disk. UsageError if
    a node has none."""
    path_of = {
        node: Path(path or "")
        for path, names in _nodes_at(tier, _names(nodes)).items()
        for node in names
    }
    return {path_of[node] / FOLDER / node: path_of[node] for node in _names(nodes)}


def _names(nodes: int) -> list[str]:
    return [f"node-{number}" for number in range(1, nodes + 1)]


def _nodes_at(tier: Tier, nodes: Sequence[str]) -> dict[str | None, list[str]]:
    """Path → the nodes on its disk. UsageError if a node has none."""
    nodes_at: dict[str | None, list[str]] = {}
    for node in nodes:
        if tier.paths and node not in tier.paths:
            raise UsageError(
                f"{tier.name}: `paths` has no disk for {node}",
                advice=f"add it to `paths`, or take NODES={len(tier.paths)}",
            )
        nodes_at.setdefault(tier.paths.get(node, tier.path), []).append(node)
    return nodes_at


def believable(tier: Tier, needed_bytes: int, machine: Machine) -> mounts.RealDisk:
    """The disk at the tier's `path`. UsageError if it cannot be the one that is meant,
    UnavailableError if it cannot be written or lacks space."""
    if not tier.path:
        raise UsageError(f"{tier.name}: give `path`, the directory where the disk is mounted")
    path = Path(tier.path)
    disk = mounts.find(path, machine)
    if not tier.allow_root_disk:
        if disk.mount.path != machine.real_path(str(path)):
            raise UsageError(
                f"{path} is not a mount point: it is a directory of {disk.mount.path} "
                f"(on {disk.node})",
                advice="is the disk mounted? Give its mount point, or say "
                "`allow_root_disk: true` to take whatever disk is there",
            )
        if mounts.on_root_disk(disk, machine):
            raise UsageError(
                f"{path} is on {disk.whole}, the disk of the system itself",
                advice="take another disk, or say `allow_root_disk: true`: the system's own "
                "writes are then part of what is measured",
            )
    if "ro" in disk.mount.options.split(","):
        raise UnavailableError(f"{path} is mounted read-only", advice="remount it writable")
    free = machine.free_bytes(str(path))
    if free < needed_bytes:
        raise UnavailableError(
            f"{path} has {format_bytes(free)} free; {format_bytes(needed_bytes)} are needed",
            advice="take a smaller SCALE or fewer NODES, or make room",
        )
    return disk


@contextmanager
def folders(path: Path, names: Sequence[str], world: World) -> Iterator[tuple[Path, ...]]:
    """An empty directory for each name below `path`/tierbench-data; removed afterwards, and before
    (a killed run may have left it)."""
    ours, machine = path / FOLDER, world.machine
    content = machine.listing(str(ours)) if machine.exists(str(ours)) else ()
    if content and _MARK not in content:
        raise UsageError(
            f"{ours} exists and was not made by tierbench, so it is neither used nor removed",
            advice="rename it, or give another `path`",
        )
    place = f"/disk/{FOLDER}"
    try:
        _in_container(path, f"{removal(place)} && {making(place, names)}", world)
        yield tuple(ours / name for name in names)
    finally:
        if machine.is_folder(str(path)):
            _in_container(path, removal(place), world)


def _found(path: Path, names: Sequence[str], machine: Machine) -> tuple[Path, ...]:
    """The directories that something else has filled. RunError if one is missing."""
    ours = path / FOLDER
    missing = [name for name in names if not machine.is_folder(str(ours / name))]
    if missing:
        raise RunError(
            f"after the profile's `restore` {ours} has no {' and no '.join(missing)}",
            advice="the command must bring back all that is below TIERBENCH_DATA when it saves",
        )
    return tuple(ours / name for name in names)


def making(place: str, names: Sequence[str]) -> str:
    """The script that makes the directories. The mark comes first and goes last, so that what a
    killed run leaves is known as ours."""
    folders = " ".join(f'"{place}/{name}"' for name in names)
    made = f'mkdir "{place}" && touch "{place}/{_MARK}"'
    return f"{made} && mkdir {folders}" if names else made


def removal(place: str) -> str:
    others = f'find "{place}" -mindepth 1 -maxdepth 1 ! -name {_MARK} -exec rm -rf -- {{}} +'
    mark = f'rm -f -- "{place}/{_MARK}" && rmdir "{place}"'
    return f'if [ -d "{place}" ]; then {others} && {mark}; fi'


def _in_container(path: Path, script: str, world: World) -> None:
    spec = ContainerSpec(
        name=f"{world.scope}-folders",
        image=own_images.need(world.root, "disk", world.platform),
        entrypoint=("bash", "-c"),
        command=(script,),
        role="client",
        mounts=(Mount(world.machine.real_path(str(path)), "/disk"),),
    )
    done = world.platform.once(spec, timeout_s=_REMOVAL_S)
    if done.exit_code != 0:
        raise RunError(
            f"the directories of the nodes on {path} could not be made or removed",
            evidence=done.out,
        )
