"""Real disks, mounted at the tier's `path` or each node's of `paths`: nothing is throttled,
everything is verified.

Each node works in a directory of its own (`real_disk`), on which every run loads its data anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from orchestrator.model import DiskKind, Gate, Tier, Volume
from orchestrator.parts import Disks
from orchestrator.platforms import own_images as our_images
from orchestrator.powers import Machine, World
from orchestrator.tiers.common import host_load, mounts, real_disk
from orchestrator.tiers.common import truth_gate as truth

_GATE_BYTES = 2**30 + 2**28
_QUICK_GATE_BYTES = 2**28


class MountedTier:
    name = "mounted"
    kind: DiskKind = "mounted"

    def check(self, tier: Tier, world: World) -> None:
        our_images.need(world.root, "disk", world.platform)
        self._disks(tier, _QUICK_GATE_BYTES, world.machine)

    def places(self, tier: Tier, nodes: int, world: World) -> Mapping[Path, int]:
        return real_disk.places(tier, nodes)

    @contextmanager
    def attached(
        self, tier: Tier, sizes_bytes: Sequence[int], snapshots: Sequence[Path] | None, world: World
    ) -> Iterator[Disks]:
        with real_disk.attached(tier, sizes_bytes, world) as disks:
            yield disks

    def gate(self, tier: Tier, world: World, thorough: bool = False) -> Gate:
        """Of each disk once, however many nodes are on it."""
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
            before = host_load.read(volume, world)
            taken = truth.take(tier, volume, facts, world, thorough=thorough)
            since = host_load.since(before, host_load.read(volume, world))
            return replace(taken, device={**taken.device, **since})

    def _disks(self, tier: Tier, needed_bytes: int, machine: Machine) -> list[mounts.RealDisk]:
        """Those of all nodes, each to have so much room."""
        paths = dict.fromkeys(tier.paths.values()) if tier.paths else [tier.path]
        return [
            real_disk.believable(replace(tier, path=path), needed_bytes, machine) for path in paths
        ]
