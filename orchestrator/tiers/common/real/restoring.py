"""Real disks whose data are loaded once: what `Restorable` asks of tiers that have them, on one
machine or on several, each with the disks of its nodes."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from orchestrator.kernel import mounts
from orchestrator.model import Volume
from orchestrator.parts import Disks
from orchestrator.planning.node_disks import node_names
from orchestrator.platforms.common.machines import HasEngines, kernels, of_nodes, on
from orchestrator.powers import World
from orchestrator.system import at_once
from orchestrator.tier import Tier
from orchestrator.tiers.common.real import node_directories, node_places, removal, snapshots
from orchestrator.tiers.common.real.node_places import MachineShare, shares


def snapshots_of(tier: Tier, nodes: int, name: str, world: World) -> tuple[Path, ...]:
    """One for each directory of a node, on its machine, in a folder of their own. On machines of
    their own its name has theirs, since what is known of a data set is in the one cache here."""
    names = node_names(nodes)
    if machines := " ".join(
        filter(None, (tier.disk.of_nodes[one].machine for one in names if tier.disk.of_nodes))
    ):
        name = f"{name}-{hashlib.sha256(machines.encode()).hexdigest()[:8]}"
    return snapshots.paths(tier, node_places.directories(tier, names), name, world)


def are_there(taken: Sequence[Path], world: World) -> bool:
    """Whether each snapshot is on the machine of its node."""
    return all(on(node_places.node_of(one), world).machine.exists(str(one)) for one in taken)


def restores(
    tier: Tier, sizes_bytes: Sequence[int], snapshots: Sequence[Path], world: World
) -> bool:
    """Unless the profile says what to do, every run loads where there is no room for a copy beside
    the data."""
    if tier.disk.snapshots is not None:
        return tier.disk.snapshots.way != "none"
    each = _each(tier, sizes_bytes, snapshots, world)
    return all(
        node_directories.has_room(tier, sizes, own or (), share.world) for share, sizes, own in each
    )


def places(tier: Tier, nodes: int, world: World) -> Mapping[Path, int]:
    """Folder → how many times it holds the data of a node, snapshots among them. All nodes are on
    one machine."""
    return snapshots.places(tier, node_places.holding(tier, node_names(nodes)), world.machine)


@contextmanager
def attached(
    tier: Tier, sizes_bytes: Sequence[int], taken: Sequence[Path] | None, world: World
) -> Iterator[Disks]:
    """The nodes' directories, empty or restored from the snapshots `taken`; then the caches are
    empty and the disks quiet."""
    each = _each(tier, sizes_bytes, taken, world)
    brackets = [
        share.entered(node_directories.attached(tier, sizes, own, share.world))
        for share, sizes, own in each
    ]
    with at_once.entered(brackets, _in_turn(each)) as disks:
        yield _together([share for share, _, _ in each], disks)


@contextmanager
def loading(
    tier: Tier,
    sizes_bytes: Sequence[int],
    snapshots: Sequence[Path],
    world: World,
    resumed: bool = False,
) -> Iterator[tuple[Volume, ...]]:
    """Loads on the disks themselves, without the limits that a control group would put on them."""
    each = _each(tier, sizes_bytes, snapshots, world)
    brackets = [
        share.entered(node_directories.loading(tier, sizes, own or (), share.world, resumed))
        for share, sizes, own in each
    ]
    with at_once.entered(brackets, _in_turn(each)) as volumes:
        yield tuple(volume for of_machine in volumes for volume in of_machine)


_Each = list[tuple[MachineShare, dict[str, int], tuple[Path, ...] | None]]


def _each(
    tier: Tier, sizes_bytes: Sequence[int], taken: Sequence[Path] | None, world: World
) -> _Each:
    """Each machine with the sizes and the snapshots of its nodes."""
    sizes = dict(zip(node_names(len(sizes_bytes)), sizes_bytes, strict=True))

    def own(share: MachineShare) -> tuple[Path, ...] | None:
        if taken is None:
            return None
        return tuple(one for one in taken if node_places.node_of(one) in share.nodes)

    return [
        (share, {node: sizes[node] for node in share.nodes}, own(share))
        for share in shares(tier, list(sizes), world)
    ]


def _in_turn(each: _Each) -> bool:
    """One kernel empties all its caches for each of its machines, and counts the I/Os of all."""
    return kernels([share.world.machine for share, _, _ in each]) < len(each)


def _together(of: Sequence[MachineShare], disks: Sequence[Disks]) -> Disks:
    """The disks of all machines as those of one: what was done on each is under its name."""
    if len(disks) == 1:
        return disks[0]
    volumes = tuple(volume for one in disks for volume in one.volumes)
    shown = {key: facts for one in disks for key, facts in one.facts["disks"].items()}
    restored = {share.machine: one.facts["restored"] for share, one in zip(of, disks, strict=True)}
    return Disks(volumes, {**disks[0].facts, "disks": shown, "restored": _slowest(restored)})


def _slowest(restored: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """How data came to the disks of several machines: the longest times, and whether all rest."""
    each = list(restored.values())
    found: dict[str, Any] = {"way": each[0]["way"]}
    for key in ("took_s", "quiet_wait_s"):
        if all(key in one for one in each):
            found[key] = max(one[key] for one in each)
    rests = [one["quiet"] for one in each if "quiet" in one]
    if rests:
        found["quiet"] = False if False in rests else None if None in rests else True
    return {**found, "machines": dict(restored)}


def forget(
    found: Collection[Path], world: World, only_list: bool = False
) -> tuple[removal.MarkedFolder, ...]:
    """Removes folders of data in `found` and wherever a disk is mounted on the machines of nodes,
    as far as their mark is ours. A profile may lie anywhere, but its disks are mounted."""
    if not isinstance(world.platform, HasEngines):
        return _forgotten(found, world, only_list)
    numbers = range(1, len(of_nodes(world.platform)) + 1)
    worlds = [on(f"node-{number}", world) for number in numbers]
    return tuple(
        replace(one, machine=there.machine.name)
        for there in worlds
        for one in _forgotten(found, there, only_list)
    )


def _forgotten(
    found: Collection[Path], world: World, only_list: bool
) -> tuple[removal.MarkedFolder, ...]:
    machine = world.machine
    roots = {one.parent for one in found}
    with suppress(OSError):
        roots |= {Path(point.path) for point in mounts.mount_points(machine)}
    folders = [root / node_places.FOLDER for root in sorted(roots)]
    for shelf in (root / snapshots.FOLDER for root in sorted(roots)):
        with suppress(OSError):
            names = machine.listing(str(shelf)) if machine.is_folder(str(shelf)) else ()
            folders += [shelf / name for name in names if name != snapshots.MARK]
    there = [one for one in folders if machine.is_folder(str(one))]
    return removal.there(there, world, only_list)
