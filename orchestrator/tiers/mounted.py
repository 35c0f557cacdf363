"""Real disks, mounted at the tier's `path` or each node's of `paths`: nothing is throttled,
everything is verified.

Each node works in a directory of its own (`real_disk`), on which every run loads its data anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from orchestrator.model import DiskKind, Gate, Tier, Volume
from orchestrator.parts import Disks
from orchestrator.platforms import own_images
from orchestrator.powers import Machine, World
from orchestrator.tiers.common import drain, mounts, real_disk, truth_gate

_GATE_BYTES = 2**30 + 2**28
_QUICK_GATE_BYTES = 2**28


class MountedTier:
    name = "mounted"
    kind: DiskKind = "mounted"

    def check(self, tier: Tier, world: World) -> None:
        own_images.need(world.root, "disk", world.platform)
        self._disks(tier, _QUICK_GATE_BYTES, world.machine)

    def places(self, tier: Tier, nodes: int, world: World) -> Mapping[Path, int]:
        return real_disk.places(tier, nodes)

    def attached(
        self, tier: Tier, sizes_bytes: Sequence[int], snapshots: Sequence[Path] | None, world: World
    ) -> AbstractContextManager[Disks]:
        return real_disk.attached(tier, sizes_bytes, world)

    def gate(self, tier: Tier, world: World, thorough: bool = False) -> Gate:
        return self._gate(tier, world, thorough, drained=False)

    def drained_gate(self, tier: Tier, world: World, thorough: bool = False) -> Gate:
        world.progress.note(drain.announcement(tier))
        return self._gate(tier, world, thorough, drained=True)

    def _gate(self, tier: Tier, world: World, thorough: bool, drained: bool) -> Gate:
        """Measures each disk once, however many nodes are on it."""
        needed = _GATE_BYTES if thorough else _QUICK_GATE_BYTES
        disks = self._disks(tier, needed, world.machine)
        gates = {
            name: self._gate_of(disk, tier, world, thorough, drained)
            for name, disk in {disk.device: disk for disk in disks}.items()
        }
        if len(gates) == 1:
            return next(iter(gates.values()))
        checks = [
            replace(check, limit=f"{name}: {check.limit}")
            for name, gate in gates.items()
            for check in gate.checks
        ]
        device = {
            **real_disk.MECHANISM,
            "disks": {name: gate.device for name, gate in gates.items()},
            "host_cpu_pct": max(gate.device.get("host_cpu_pct", 0.0) for gate in gates.values()),
        }
        return Gate(tier.name, world.clock.now(), tuple(checks), device)

    def _gate_of(
        self, disk: mounts.RealDisk, tier: Tier, world: World, thorough: bool, drained: bool
    ) -> Gate:
        facts = {**real_disk.MECHANISM, **real_disk.facts(disk, world.machine)}
        with (
            real_disk.watched(disk, world.machine),
            real_disk.folders(disk.path, ["gate"], world) as (place,),
        ):
            volume = Volume(str(place), disk.node, restored=False)
            served = Disks((volume,), facts)
            return truth_gate.take(tier, served, world, thorough=thorough, drained=drained)

    def _disks(self, tier: Tier, needed_bytes: int, machine: Machine) -> list[mounts.RealDisk]:
        """The disks of all nodes. Raises as `real_disk.believable` does, for each."""
        paths = dict.fromkeys(tier.paths.values()) if tier.paths else [tier.path]
        return [
            real_disk.believable(replace(tier, path=path), needed_bytes, machine) for path in paths
        ]
