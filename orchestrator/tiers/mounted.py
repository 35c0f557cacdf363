"""Real disks, mounted where the tier's `disks` say, or all nodes' at one `path`: nothing is
throttled, everything is verified.

Each node works in a directory of its own (`real_disk`), which is restored from a snapshot for each
run if the profile does not say otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from orchestrator.model import Volume
from orchestrator.parts import Disks, NodesData
from orchestrator.planning.node_disks import node_names
from orchestrator.platforms import own_images
from orchestrator.platforms.common.machines import is_here
from orchestrator.powers import World
from orchestrator.tier import DiskKind, Gate, RealDisks, Tier
from orchestrator.tiers.common.gate import drain, expected, fio_jobs, truth_gate
from orchestrator.tiers.common.real import cloud_metadata, node_places, real_disk, restoring
from orchestrator.tiers.common.real import snapshots as kept_copies
from orchestrator.tiers.common.real.real_disk import QUICK_GATE_BYTES


class MountedTier:
    name = "mounted"
    kind: DiskKind = "mounted"

    def __init__(
        self,
        ask: cloud_metadata.Ask = cloud_metadata.ask,
        take: Callable[..., Gate] = truth_gate.take,
    ) -> None:
        self._ask, self._take = ask, take

    def check(self, tier: Tier, world: World) -> None:
        """See `TierMechanism`. Warns where the cloud says that a disk is of another type."""
        own_images.need(world.root, "disk", world.platform)
        for share in node_places.shares(tier, list(tier.disk.of_nodes), world):
            with share.naming():
                machine = share.world.machine
                at = node_places.chosen(tier, share.nodes)
                disks = real_disk.found(tier, at, lambda _: QUICK_GATE_BYTES, machine)
                kept_copies.check(tier, list(disks.values()), share.world)
                answer = cloud_metadata.about(tier, disks, machine, self._asking(share.world))
            for line in answer.warnings:
                on = f" on {share.machine}" if share.machine else ""
                world.progress.warn(f"{tier.name}{on}: {line}")

    def _asking(self, world: World) -> cloud_metadata.Ask:
        """Of the disks of another machine, the service that answers here knows nothing."""
        return self._ask if is_here(world) else cloud_metadata.asked_there(world)

    # Of `Restorable`.
    places = staticmethod(restoring.places)
    snapshots = staticmethod(restoring.snapshots_of)
    loading = staticmethod(restoring.loading)

    @contextmanager
    def attached(self, tier: Tier, data: NodesData, world: World) -> Iterator[Disks]:
        with restoring.attached(tier, data, world) as disks:
            if not (isinstance(tier.disk, RealDisks) and tier.disk.cloud):
                yield disks
                return
            nodes = node_names(len(data.sizes_bytes))
            answers = [
                self._answer(tier, share) for share in node_places.shares(tier, nodes, world)
            ]
            cloud = cloud_metadata.together(answers).recorded()
            yield Disks(disks.volumes, {**disks.facts, "cloud": cloud})

    def _answer(self, tier: Tier, share: node_places.MachineShare) -> cloud_metadata.MetadataAnswer:
        machine = share.world.machine
        at = node_places.chosen(tier, share.nodes)
        found = real_disk.found(tier, at, lambda _: 0, machine)
        return cloud_metadata.about(tier, found, machine, self._asking(share.world))

    def gate(self, tier: Tier, world: World, thorough: bool = False) -> Gate:
        return self._gate(tier, world, thorough, drained=False)

    def drained_gate(self, tier: Tier, world: World, thorough: bool = False) -> Gate:
        world.progress.note(drain.announcement(tier))
        return self._gate(tier, world, thorough, drained=True)

    def _gate(self, tier: Tier, world: World, thorough: bool, drained: bool) -> Gate:
        """Measures each disk once, however many nodes are on it."""

        def take(judged: Tier, disks: Disks, there: World) -> Gate:
            gate = self._take(judged, disks, there, thorough=thorough, drained=drained)
            (volume,) = disks.volumes
            cache = host_cache(judged, volume, there) if thorough else _CACHE_NOT_TRIED
            return replace(gate, device={**gate.device, **cache})

        return real_disk.take_each(tier, world, thorough, take)


# ------------------------------------------------------------------ host cache


_CACHE_NOT_TRIED: Mapping[str, Any] = {"host_cache": "not tried"}
_BLOCK_BYTES = 262_144
_REGION = "256m"


def host_cache(
    tier: Tier, volume: Volume, world: World, start: fio_jobs.StartFio = fio_jobs.fio_on
) -> Mapping[str, Any]:
    """Whether reads come from a cache in front of the disk, such as a cloud host's: a guest does
    not see one, and direct I/O does not pass it by, but a region that was just read comes from it
    faster than the disk's own cap allows. Returns the fact `host_cache`: "shows", "does not show",
    or "not tried" without a declared cap; with the rates of both passes. GateError if fio cannot
    run."""
    cap = expected.cap_per_s(expected.at_peak(tier) or tier, _BLOCK_BYTES)
    if cap is None:
        return _CACHE_NOT_TRIED
    world.progress.step(f"truth gate of {tier.name}: the same region read twice")
    with start(volume, world) as fio:
        passes = fio.run("reread", {"SIZE": _REGION})
    first, second = (fio_jobs.bytes_per_s(one) for one in passes)
    most = cap * _BLOCK_BYTES * (1 + truth_gate.RATE_TOLERANCE_PCT / 100)
    word = "shows" if second > most else "does not show"
    return {"host_cache": word, "reread_bytes_per_s": [round(first), round(second)]}
