"""A real disk, mounted at the tier's `path`: nothing is throttled, everything is verified.

Each node gets a directory of its own below `<path>/tierbench-data`, which only we use; it is made
before and removed after, by a container, so that files of the database's user can be removed too.
There is no image: every run loads its data on the disk itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from orchestrator import host
from orchestrator import images as our_images
from orchestrator.errors import RunError, TierbenchError, UnavailableError, UsageError
from orchestrator.model import Gate, Tier, Volume
from orchestrator.protocols import ContainerSpec, Mount, World
from orchestrator.tiers import gate as truth
from orchestrator.tiers import mounts, strain
from orchestrator.units import format_bytes

FOLDER = "tierbench-data"
_MARK = ".made-by-tierbench"
_GATE_BYTES = 2**30 + 2**28
_QUICK_GATE_BYTES = 2**28
_REMOVAL_S = 600.0


class MountedTier:
    name = "mounted"

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self._facts: dict[str, Any] = {"mechanism": "a real disk, not throttled"}

    def check(self, tier: Tier, world: World) -> None:
        our_images.need(world.root, "disk", world.containers)
        self._believable(tier, _QUICK_GATE_BYTES)

    def keeps_images(self, tier: Tier) -> bool:
        return False

    def gate_identity(self, tier: Tier, world: World) -> Mapping[str, Any] | None:
        return None  # a real disk may have changed since: its gate is always taken anew

    def facts(self) -> Mapping[str, Any]:
        return dict(self._facts)

    @contextmanager
    def attached(
        self, tier: Tier, sizes_bytes: Sequence[int], images: Sequence[Path] | None, world: World
    ) -> Iterator[tuple[Volume, ...]]:
        disk = self._believable(tier, sum(sizes_bytes))
        names = [f"node-{number}" for number in range(1, len(sizes_bytes) + 1)]
        with self._watched(disk), folders(disk.path, names, world) as made:
            yield tuple(Volume(str(one), disk.node, restored=False) for one in made)

    @contextmanager
    def loading(
        self, sizes_bytes: Sequence[int], images: Sequence[Path], world: World
    ) -> Iterator[tuple[Volume, ...]]:
        raise NotImplementedError("a real disk keeps no images; keeps_images() says so")
        yield

    def gate(self, tier: Tier, world: World, thorough: bool = False) -> Gate:
        disk = self._believable(tier, _GATE_BYTES if thorough else _QUICK_GATE_BYTES)
        with self._watched(disk), folders(disk.path, ["gate"], world) as (place,):
            volume = Volume(str(place), disk.node, restored=False)
            before = strain.read(volume, world, self._root)
            taken = truth.take(tier, volume, self._facts, world, thorough=thorough)
            since = strain.since(before, strain.read(volume, world, self._root))
            return replace(taken, device={**taken.device, **since})

    def _believable(self, tier: Tier, needed_bytes: int) -> mounts.RealDisk:
        disk = believable(tier, needed_bytes, self._root)
        free = host.free_bytes(disk.path)
        self._facts = {**self._facts, **disk.facts, "free_bytes": free}
        return disk

    @contextmanager
    def _watched(self, disk: mounts.RealDisk) -> Iterator[None]:
        """RunError where the disk is not there any more, whatever else failed because of it."""
        try:
            yield
        except (RunError, UnavailableError) as error:
            self._raise_if_gone(disk, error)
            raise
        self._raise_if_gone(disk, None)

    def _raise_if_gone(self, disk: mounts.RealDisk, cause: TierbenchError | None) -> None:
        if mounts.is_there(disk, self._root):
            return
        raise RunError(
            f"the disk {disk.node} vanished from {disk.mount.path} in mid-run",
            advice="see the kernel's log (`dmesg`); what was measured on it is void",
            evidence=cause.what if cause else "",
        ) from cause


def believable(tier: Tier, needed_bytes: int, root: Path = Path("/")) -> mounts.RealDisk:
    """The disk at the tier's `path`. UsageError where it cannot be the one that is meant,
    UnavailableError where it cannot be written or lacks space."""
    if not tier.path:
        raise UsageError(f"{tier.name}: give `path`, the directory where the disk is mounted")
    path = Path(tier.path)
    disk = mounts.find(path, root)
    if not tier.allow_root_disk:
        if disk.mount.path != str(path.resolve()):
            raise UsageError(
                f"{path} is not a mount point: it is a directory of {disk.mount.path} "
                f"(on {disk.node})",
                advice="is the disk mounted? Give its mount point, or say "
                "`allow_root_disk: true` to take whatever disk is there",
            )
        if mounts.on_root_disk(disk, root):
            raise UsageError(
                f"{path} is on {disk.whole}, the disk of the system itself",
                advice="take another disk, or say `allow_root_disk: true`: the system's own "
                "writes are then part of what is measured",
            )
    if "ro" in disk.mount.options.split(","):
        raise UnavailableError(f"{path} is mounted read-only", advice="remount it writable")
    free = host.free_bytes(path)
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
    ours = path / FOLDER
    if ours.exists() and not (ours / _MARK).exists():
        raise UsageError(
            f"{ours} is there and not of our making, so it is neither used nor removed",
            advice="rename it, or give another `path`",
        )
    remove = f'rm -rf -- "/disk/{FOLDER}"'
    made = " ".join(f'"/disk/{FOLDER}/{name}"' for name in names)
    make = f'{remove} && mkdir -p {made} && touch "/disk/{FOLDER}/{_MARK}"'
    try:
        _in_container(path, make, world)
        yield tuple(ours / name for name in names)
    finally:
        if path.is_dir():
            _in_container(path, remove, world)


def _in_container(path: Path, script: str, world: World) -> None:
    spec = ContainerSpec(
        name="tierbench-folders",
        image=our_images.need(world.root, "disk", world.containers),
        entrypoint=("bash", "-c"),
        command=(script,),
        role="client",
        mounts=(Mount(str(path.resolve()), "/disk"),),
    )
    done = world.containers.once(spec, timeout_s=_REMOVAL_S)
    if done.exit_code != 0:
        raise RunError(
            f"the directories of the nodes on {path} could not be made or removed",
            evidence=done.out,
        )
