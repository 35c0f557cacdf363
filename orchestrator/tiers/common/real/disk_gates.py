"""The truth gate of real disks: on every disk that a tier names, each once, under its name.

The tier's limits are those of the data disks. A disk that holds only WAL may be of another kind,
so it is measured and not judged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from orchestrator.kernel import mounts
from orchestrator.model import Volume
from orchestrator.parts import Disks
from orchestrator.powers import World
from orchestrator.tier import Gate, Limits, Tier
from orchestrator.tiers.common.real import real_disk, where
from orchestrator.tiers.common.real.node_places import DiskPath

GATE_BYTES = 2**30 + 2**28
QUICK_GATE_BYTES = 2**28

Take = Callable[[Tier, mounts.RealDisk, Disks, World], Gate]


def take_each(tier: Tier, world: World, thorough: bool, take: Take) -> Gate:
    """One gate with the checks of all disks of all machines, one after another; `take` measures
    one. Raises as `real_disk.found`."""
    gates: dict[DiskPath, Gate] = {}
    for share in where.shares(tier, list(tier.disk.of_nodes), world):
        with share.naming():
            gates |= _of_machine(tier, share, thorough, take)
    checks = (
        replace(check, disk=place.title, nodes=place.nodes)
        for place, gate in gates.items()
        for check in gate.checks
    )
    return Gate(tier.name, world.clock.now(), tuple(checks), _device(gates))


def _of_machine(
    tier: Tier, share: where.MachineShare, thorough: bool, take: Take
) -> dict[DiskPath, Gate]:
    needed_bytes, world = GATE_BYTES if thorough else QUICK_GATE_BYTES, share.world
    found = real_disk.found(tier, share.nodes, lambda _: needed_bytes, world.machine)
    gates: dict[DiskPath, Gate] = {}
    for place, disk in _each_once(found):
        world.progress.note(f"truth gate of {tier.name}: the disk of {place.title}")
        judged = _not_judged(tier) if place.only_wal else tier
        gates[place] = _on_disk(judged, place, disk, world, take)
    return gates


def _each_once(found: Mapping[DiskPath, mounts.RealDisk]) -> list[tuple[DiskPath, mounts.RealDisk]]:
    """One path of each device, with the uses of all its paths."""
    of_device: dict[str, tuple[DiskPath, mounts.RealDisk]] = {}
    for place, disk in found.items():
        first, kept = of_device.get(disk.device, (replace(place, uses=()), disk))
        of_device[disk.device] = (replace(first, uses=(*first.uses, *place.uses)), kept)
    return list(of_device.values())


def _not_judged(tier: Tier) -> Tier:
    unlimited = Limits(io_unit_bytes=tier.limits.io_unit_bytes)
    return replace(tier, limits=unlimited, latency=replace(tier.latency, read_s=None, write_s=None))


def _on_disk(tier: Tier, place: DiskPath, disk: mounts.RealDisk, world: World, take: Take) -> Gate:
    facts = real_disk.facts(place, disk, world.machine)
    with (
        real_disk.watched(disk, world.machine),
        real_disk.folders(disk.path, ["gate"], world) as (folder,),
    ):
        volume = Volume(str(folder), disk.node, restored=False)
        return take(tier, disk, Disks((volume,), facts), world)


def _device(gates: Mapping[DiskPath, Gate]) -> dict[str, Any]:
    """The facts of all disks, by path, and how busy a machine was at the worst."""
    return {
        **real_disk.MECHANISM,
        "disks": {place.key: dict(gate.device) for place, gate in gates.items()},
        "host_cpu_pct": max(gate.device.get("host_cpu_pct", 0.0) for gate in gates.values()),
    }
