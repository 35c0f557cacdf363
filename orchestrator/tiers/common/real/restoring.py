"""Real disks whose data are loaded once: how they are kept (`parts.KeptData`), on one
machine or on several, each with the disks of its nodes. Snapshots are in the order of
`node_places.directories`."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from orchestrator.design.node_disks import node_names
from orchestrator.model import Volume
from orchestrator.parts import Disks, NodesData
from orchestrator.platforms.common.machine_facts import kernels
from orchestrator.powers import Moment, World
from orchestrator.system import at_once, files
from orchestrator.tier import Tier
from orchestrator.tiers.common.real import (
    node_places,
    quiet_disks,
    real_disk,
    snapshots,
)
from orchestrator.tiers.common.real.node_places import MachineShare, shares
from orchestrator.units import format_bytes


def snapshots_of(
    tier: Tier, sizes_bytes: Sequence[int], name: str, world: World
) -> tuple[Path, ...]:
    """One for each directory of a node, on its machine, in a folder of their own; none if every run
    loads: as the profile says, else where there is no room for a copy beside the data."""
    names = node_names(len(sizes_bytes))
    machines = _machines_of(tier, names)
    if machines:
        # The one cache here knows a data set by its name alone.
        name = f"{name}-{hashlib.sha256(machines.encode()).hexdigest()[:8]}"
    taken = snapshots.paths(tier, node_places.directories(tier, names), name, world)
    if tier.disk.snapshots is not None:
        if tier.disk.snapshots.way == "none":
            return ()
        return taken
    for share, data in _by_machine(tier, NodesData(sizes_bytes, taken), world):
        if not _has_room(tier, share, data):
            return ()
    return taken


def _machines_of(tier: Tier, nodes: Sequence[str]) -> str:
    """The machines that the tier names for these nodes; "" if it names none."""
    if not tier.disk.of_nodes:
        return ""
    machines = [tier.disk.of_nodes[node].machine for node in nodes]
    return " ".join(machine for machine in machines if machine)


def are_there(taken: Sequence[Path], world: World) -> bool:
    """Whether each snapshot is on the machine of its node."""
    for path in taken:
        there = world.on(node_places.node_of(path))
        if not there.machine.exists(str(path)):
            return False
    return True


def places(tier: Tier, nodes: int, world: World) -> Mapping[Path, int]:
    """Folder → how often it holds a node's data, with snapshots. All nodes are on one machine."""
    return snapshots.places(
        tier, node_places.holding(tier, node_names(nodes)), world.machine
    )


@contextmanager
def attached(tier: Tier, data: NodesData, world: World) -> Iterator[Disks]:
    """The nodes' directories, empty or restored; then caches are empty and the disks quiet."""
    by_machine = _by_machine(tier, data, world)
    machines = [share for share, _ in by_machine]
    brackets = [
        share.entered(_attached(tier, share, data_there, kept=False))
        for share, data_there in by_machine
    ]
    with at_once.entered(brackets, _in_turn(machines)) as disks:
        yield _together(machines, disks)


@contextmanager
def loading(tier: Tier, data: NodesData, world: World) -> Iterator[tuple[Volume, ...]]:
    """Loads on the disks themselves."""
    by_machine = _by_machine(tier, data, world)
    machines = [share for share, _ in by_machine]
    brackets = [
        share.entered(_loading(tier, share, data_there))
        for share, data_there in by_machine
    ]
    with at_once.entered(brackets, _in_turn(machines)) as volumes_of_machines:
        volumes: list[Volume] = []
        for volumes_there in volumes_of_machines:
            volumes += volumes_there
        yield tuple(volumes)


def _by_machine(
    tier: Tier, data: NodesData, world: World
) -> list[tuple[MachineShare, NodesData]]:
    """Each machine with the data of its nodes."""
    sizes = dict(zip(node_names(len(data.sizes_bytes)), data.sizes_bytes, strict=True))
    by_machine: list[tuple[MachineShare, NodesData]] = []
    for share in shares(tier, list(sizes), world):
        taken: list[Path] = []
        for path in data.snapshots:
            if node_places.node_of(path) in share.nodes:
                taken.append(path)
        sizes_there = [sizes[node] for node in share.nodes]
        by_machine.append((share, NodesData(sizes_there, taken, data.resumed)))
    return by_machine


def _in_turn(machines: Sequence[MachineShare]) -> bool:
    """One kernel empties all its caches for each of its machines, and counts the I/Os of all."""
    return kernels([share.world.machine for share in machines]) < len(machines)


def _together(machines: Sequence[MachineShare], disks: Sequence[Disks]) -> Disks:
    """The disks of all machines as those of one: what was done on each is under its name."""
    if len(disks) == 1:
        return disks[0]
    volumes: list[Volume] = []
    shown: dict[str, Any] = {}
    restored: dict[str, Mapping[str, Any]] = {}
    for share, disks_there in zip(machines, disks, strict=True):
        volumes += disks_there.volumes
        shown |= disks_there.facts["disks"]
        restored[share.machine] = disks_there.facts["restored"]
    facts = {**disks[0].facts, "disks": shown, "restored": _slowest(restored)}
    return Disks(tuple(volumes), facts)


def _slowest(restored: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """How data came to the disks of several machines: the longest times, and whether all rest."""
    facts = list(restored.values())
    slowest: dict[str, Any] = {"way": facts[0]["way"]}
    for key in ("took_s", "quiet_wait_s"):
        times_s = [machine[key] for machine in facts if key in machine]
        if len(times_s) == len(facts):
            # The machines work at once, so the slowest is what the run waited for.
            slowest[key] = max(times_s)
    rests = [machine["quiet"] for machine in facts if "quiet" in machine]
    if rests:
        slowest["quiet"] = _all_rest(rests)
    return {**slowest, "machines": dict(restored)}


def _all_rest(rests: Sequence[bool | None]) -> bool | None:
    """Whether all rest.

    None: counters of a machine could not be read, and no other was seen at work.
    """
    if False in rests:
        return False
    if None in rests:
        return None
    return True


# ------------------------------------------------------------------ one machine


def _has_room(tier: Tier, share: MachineShare, data: NodesData) -> bool:
    """Whether the snapshots are there, or fit beside the data; else says so."""
    machine = share.world.machine
    if all(machine.exists(str(snapshot)) for snapshot in data.snapshots):
        return True
    for path, count in node_places.holding(tier, share.nodes).items():
        free_bytes = real_disk.free_bytes(path, machine)
        # The data of each node, and their copy.
        needed_bytes = 2 * count * max(data.sizes_bytes)
        if free_bytes < needed_bytes:
            free = format_bytes(free_bytes)
            share.world.progress.note(
                f"each run loads its data. {path} has {free} free, and data with a "
                f"copy may need {format_bytes(needed_bytes)} (docs/TIERS.md: "
                "snapshots)"
            )
            return False
    return True


@contextmanager
def _attached(
    tier: Tier, share: MachineShare, data: NodesData, kept: bool
) -> Iterator[Disks]:
    """`kept`: the directories become snapshots afterwards."""
    if not data.snapshots:
        attached = _empty(tier, share, data)
    elif snapshots.chosen(tier).way == "command":
        attached = _restored_by_command(tier, share, data)
    else:
        # Restored directories stay for the next run, which then writes only
        # what differs. A load or a gate that needs their place removes them.
        attached = _restored_from_copies(tier, share, data, stays=not kept)
    with attached as disks:
        volumes = tuple(
            replace(volume, restored=bool(data.snapshots), kept=kept)
            for volume in disks.volumes
        )
        yield replace(disks, volumes=volumes)


@contextmanager
def _empty(tier: Tier, share: MachineShare, data: NodesData) -> Iterator[Disks]:
    with real_disk.attached(
        tier, _sizes_bytes(share, data), share.world, filled=False, stays=False
    ) as disks:
        yield _with_restored(disks, {"way": "none"})


@contextmanager
def _restored_by_command(
    tier: Tier, share: MachineShare, data: NodesData
) -> Iterator[Disks]:
    """The profile's own command fills the directories before they are attached."""
    world = share.world
    where = node_places.directories(tier, share.nodes)
    began = world.clock.monotonic()
    with (
        _by_command(tier, where, data.snapshots, world) as answers,
        real_disk.attached(
            tier, _sizes_bytes(share, data), world, filled=True, stays=False
        ) as disks,
    ):
        yield _at_rest(disks, {"commands": answers}, began, tier, share)


@contextmanager
def _restored_from_copies(
    tier: Tier, share: MachineShare, data: NodesData, stays: bool
) -> Iterator[Disks]:
    """The directories are attached, and then filled. `stays`: as of `real_disk.attached`."""
    world = share.world
    where = node_places.directories(tier, share.nodes)
    began = world.clock.monotonic()
    with real_disk.attached(
        tier, _sizes_bytes(share, data), world, filled=False, stays=stays
    ) as disks:
        restored = snapshots.restore(
            list(zip(where, data.snapshots, strict=True)), world
        )
        yield _at_rest(disks, restored, began, tier, share)


def _sizes_bytes(share: MachineShare, data: NodesData) -> dict[str, int]:
    """Node → the space that its data need."""
    return dict(zip(share.nodes, data.sizes_bytes, strict=True))


def _at_rest(
    disks: Disks,
    restored: Mapping[str, Any],
    began: Moment,
    tier: Tier,
    share: MachineShare,
) -> Disks:
    """The restored disks when nothing is written to them any more, and how long all took."""
    took_s = share.world.clock.monotonic() - began
    quiet = quiet_disks.after_copying(
        _devices(disks.volumes),
        list(node_places.directories(tier, share.nodes)),
        share.world,
    )
    how = {"way": snapshots.chosen(tier).way, "took_s": round(took_s, 1)}
    return _with_restored(disks, {**restored, **how, **quiet})


def _with_restored(disks: Disks, restored: Mapping[str, Any]) -> Disks:
    return replace(disks, facts={**disks.facts, "restored": restored})


def _devices(volumes: Iterable[Volume]) -> list[str]:
    """The names of the devices in /proc/diskstats."""
    devices: set[str] = set()
    for volume in volumes:
        devices.add(volume.device.removeprefix("/dev/"))
        devices.add(volume.wal_device.removeprefix("/dev/"))
    devices.discard("")
    return sorted(devices)


@contextmanager
def _by_command(
    tier: Tier, where: Mapping[Path, Path], taken: Sequence[Path], world: World
) -> Iterator[dict[str, Any]]:
    """Runs the profile's `restore` for each disk, on which it finds our folder empty."""
    answers: dict[str, Any] = {}
    with ExitStack() as up:
        # Each disk has one command, in the order of the nodes: several nodes may be on one.
        for path in dict.fromkeys(where.values()):
            # The disk is checked before the command, which may mount it anew. The command must do
            # so at the disk that is meant.
            real_disk.believable(tier, str(path), 0, world.machine)
            up.enter_context(real_disk.folders(path, (), world))
            answers[str(path)] = snapshots.by_command(
                "restore", tier, path, where, taken, world
            )
        yield answers


@contextmanager
def _loading(
    tier: Tier, share: MachineShare, data: NodesData
) -> Iterator[tuple[Volume, ...]]:
    taken = data.snapshots
    world = share.world
    before = data
    if not data.resumed:
        # Data that a killed load has left take the room of the new one.
        snapshots.discard(taken, world)
        before = replace(data, snapshots=())
    where = node_places.directories(tier, share.nodes)
    with _attached(tier, share, before, kept=True) as disks:
        yield disks.volumes
        if snapshots.chosen(tier).way != "command":
            snapshots.save(tier, list(zip(where, taken, strict=True)), world)
            return
        for path in dict.fromkeys(where.values()):
            snapshots.by_command("save", tier, path, where, taken, world)
        for file in taken:
            files.make_folder(file.parent)
            # The command's snapshot is seen by nobody else: this note says that it was made.
            files.write_text(file, "saved by the profile's own command\n")
