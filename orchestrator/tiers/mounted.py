"""Real disks, mounted at the tier's `path` or each node's of `paths`: nothing is throttled,
everything is verified.

Each node works in a directory of its own (`real_disk`), which is restored from a snapshot for each
run if the profile does not say otherwise.
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
from orchestrator.tiers.common import mounts, real_disk, restoring, snapshots, truth_gate

_GATE_BYTES = 2**30 + 2**28
_QUICK_GATE_BYTES = 2**28


class MountedTier:
    name = "mounted"
    kind: DiskKind = "mounted"

    def check(self, tier: Tier, world: World) -> None:
        own_images.need(world.root, "disk", world.platform)
        snapshots.check(tier, self._disks(tier, _QUICK_GATE_BYTES, world.machine), world)

    def places(self, tier: Tier, nodes: int, world: World) -> Mapping[Path, int]:
        return restoring.places(tier, nodes, world.machine)

    def snapshots(self, tier: Tier, nodes: int, name: str, world: World) -> tuple[Path, ...]:
        return restoring.snapshots_of(tier, nodes, name, world)

    def restores(
        self, tier: Tier, sizes_bytes: Sequence[int], snapshots: Sequence[Path], world: World
    ) -> bool:
        return restoring.restores(tier, sizes_bytes, snapshots, world)

    def loading(
        self,
        tier: Tier,
        sizes_bytes: Sequence[int],
        snapshots: Sequence[Path],
        world: World,
        resumed: bool = False,
    ) -> AbstractContextManager[tuple[Volume, ...]]:
        return restoring.loading(tier, sizes_bytes, snapshots, world, resumed)

    def attached(
        self, tier: Tier, sizes_bytes: Sequence[int], snapshots: Sequence[Path] | None, world: World
    ) -> AbstractContextManager[Disks]:
        return restoring.attached(tier, sizes_bytes, snapshots, world)

    def gate(self, tier: Tier, world: World, thorough: bool = False) -> Gate:
        """Measures each disk once, however many nodes are on it."""
        needed = _GATE_BYTES if thorough else _QUICK_GATE_BYTES
        disks = self._disks(tier, needed, world.machine)
        gates = {
            name: self._gate_of(disk, tier, world, thorough)
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

    def _gate_of(self, disk: mounts.RealDisk, tier: Tier, world: World, thorough: bool) -> Gate:
        facts = {**real_disk.MECHANISM, **real_disk.facts(disk, world.machine)}
        with (
            real_disk.watched(disk, world.machine),
            real_disk.folders(disk.path, ["gate"], world) as (place,),
        ):
            volume = Volume(str(place), disk.node, restored=False)
            return truth_gate.take(tier, Disks((volume,), facts), world, thorough=thorough)

    def _disks(self, tier: Tier, needed_bytes: int, machine: Machine) -> list[mounts.RealDisk]:
        """The disks of all nodes. Raises as `real_disk.believable` does, for each."""
        paths = dict.fromkeys(tier.paths.values()) if tier.paths else [tier.path]
        return [
            real_disk.believable(replace(tier, path=path), needed_bytes, machine) for path in paths
        ]
