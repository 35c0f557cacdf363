"""Real disks, mounted where the tier's `disks` say, or all nodes' at one `path`: nothing is
throttled, everything is verified.

Each node works in a directory of its own (`real_disk`), which is restored from a snapshot for each
run if the profile does not say otherwise."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from orchestrator import model, parts
from orchestrator.design.node_disks import node_names
from orchestrator.kernel.mounts import RealDisk
from orchestrator.platforms import own_images
from orchestrator.powers import World
from orchestrator.tier import DiskKind, Gate, Limits, Tier
from orchestrator.tiers.common.any_disk import removal
from orchestrator.tiers.common.gate import (
    drain,
    expected,
    fio_jobs,
    measured_checks,
    truth_gate,
)
from orchestrator.tiers.common.real import (
    cloud_metadata,
    node_places,
    real_disk,
    restoring,
    snapshots as kept_copies,
)

# fio's file of 1 GiB (64 MiB in a quick gate), and what the pass of integrity writes beside it.
GATE_BYTES = 2**30 + 2**28
QUICK_GATE_BYTES = 2**28

_AtPaths = Mapping[node_places.DiskPath, RealDisk]  # the disk at each path of a tier


class MountedTier:
    name = "mounted"
    kind: DiskKind = "mounted"

    def __init__(
        self,
        ask: cloud_metadata.Ask = cloud_metadata.ask,
        take: Callable[..., Gate] = truth_gate.take,
    ) -> None:
        self._ask = ask
        self._take = take

    @property
    def abilities(self) -> parts.TierAbilities:
        return parts.TierAbilities(
            kept_data=parts.KeptData(
                restoring.snapshots_of,
                restoring.loading,
                are_there=restoring.are_there,
                forget=removal.forget,
            ),
            drained_gate=self.drained_gate,
            places=restoring.places,
        )

    def check(self, tier: Tier, world: World) -> None:
        """See `TierMechanism`. Warns where the cloud says that a disk is of another type."""
        own_images.need(world.root, "disk", world.platform)
        for share in node_places.shares(tier, list(tier.disk.of_nodes), world):
            with share.naming():
                # Space for the quick disk check; a thorough one asks for more (`gate`).
                disks = _disks(tier, share, QUICK_GATE_BYTES)
                kept_copies.check(tier, list(disks.values()), share.world)
                answer = self._about(tier, share.world, disks)
            on_machine = ""
            if share.machine:
                on_machine = f" on {share.machine}"
            for line in answer.warnings:
                world.progress.warn(f"{tier.name}{on_machine}: {line}")

    def _about(
        self, tier: Tier, world: World, disks: _AtPaths
    ) -> cloud_metadata.MetadataAnswer:
        """What the cloud says about the disks."""
        # A metadata service knows only the machine that asks it.
        asking = self._ask
        if not world.is_here:
            asking = cloud_metadata.asked_there(world)
        return cloud_metadata.about(tier, disks, world.machine, asking)

    @contextmanager
    def attached(
        self, tier: Tier, data: parts.NodesData, world: World
    ) -> Iterator[parts.Disks]:
        with restoring.attached(tier, data, world) as disks:
            if not tier.disk.cloud:
                yield disks
                return
            nodes = node_names(len(data.sizes_bytes))
            answers: list[cloud_metadata.MetadataAnswer] = []
            for share in node_places.shares(tier, nodes, world):
                # Space was asked for before; now the nodes' data take it.
                disks_there = _disks(tier, share, 0)
                answers.append(self._about(tier, share.world, disks_there))
            cloud = cloud_metadata.recorded(answers)
            yield parts.Disks(disks.volumes, {**disks.facts, "cloud": cloud})

    def drained_gate(self, tier: Tier, world: World, thorough: bool) -> Gate:
        world.progress.note(drain.announcement(tier))
        return self._checked(tier, world, thorough, drained=True)

    def gate(self, tier: Tier, world: World, thorough: bool) -> Gate:
        return self._checked(tier, world, thorough, drained=False)

    def _checked(self, tier: Tier, world: World, thorough: bool, drained: bool) -> Gate:
        """Checks every disk that a tier names, once each and one after another, under its name."""
        needed_bytes = QUICK_GATE_BYTES
        if thorough:
            needed_bytes = GATE_BYTES
        taken: list[truth_gate.Taken] = []
        for share in node_places.shares(tier, list(tier.disk.of_nodes), world):
            with share.naming():
                # The checks run one after another: disks of one machine share its bandwidth and its
                # processors.
                for place, disk in _each_once(_disks(tier, share, needed_bytes)):
                    world.progress.note(
                        f"disk check of {tier.name}: the disk of {place.title}"
                    )
                    shown = real_disk.facts(place, disk, share.world.machine)
                    gate = self._gate_of(
                        _judged_by(tier, place),
                        disk,
                        shown,
                        share.world,
                        thorough,
                        drained,
                    )
                    taken.append(
                        truth_gate.Taken(
                            key=place.key,
                            title=place.title,
                            nodes=place.nodes,
                            gate=gate,
                            holds_log_alone=place.only_wal,
                        )
                    )
        return truth_gate.of_disks(tier, real_disk.MECHANISM, taken, world)

    def _gate_of(
        self,
        tier: Tier,
        disk: RealDisk,
        shown: Mapping[str, Any],
        world: World,
        thorough: bool,
        drained: bool,
    ) -> Gate:
        folders = real_disk.folders(disk.path, ["gate"], world)
        with real_disk.watched(disk, world.machine), folders as (folder,):
            volume = model.Volume(str(folder), disk.node, restored=False)
            disks = parts.Disks((volume,), shown)
            gate = self._take(tier, disks, world, thorough=thorough, drained=drained)
            cache = _CACHE_NOT_TRIED
            if thorough:
                cache = host_cache(tier, volume, world)
        return replace(gate, device={**gate.device, **cache})


def _disks(tier: Tier, share: node_places.MachineShare, needed_bytes: int) -> _AtPaths:
    at = node_places.chosen(tier, share.nodes)
    return real_disk.disks_at(tier, at, lambda _: needed_bytes, share.world.machine)


def _each_once(disks: _AtPaths) -> list[tuple[node_places.DiskPath, RealDisk]]:
    """One path of each device, with the uses of all its paths."""
    by_device: dict[str, tuple[node_places.DiskPath, RealDisk]] = {}
    for place, disk in disks.items():
        # Two paths of one disk, such as data and WAL on it, are measured once.
        if disk.device in by_device:
            first_place, first_disk = by_device[disk.device]
            uses = (*first_place.uses, *place.uses)
            by_device[disk.device] = (replace(first_place, uses=uses), first_disk)
        else:
            by_device[disk.device] = (place, disk)
    return list(by_device.values())


def _judged_by(tier: Tier, place: node_places.DiskPath) -> Tier:
    """The tier by which a disk is judged."""
    if not place.only_wal:
        return tier
    # A tier without a `wal` says nothing of the WAL's disk, which may be of any kind.
    return tier.wal or _not_judged(tier)


def _not_judged(tier: Tier) -> Tier:
    unlimited = Limits(io_unit_bytes=tier.limits.io_unit_bytes)
    unjudged = replace(tier.latency, read_s=None, write_s=None)
    return replace(tier, limits=unlimited, latency=unjudged)


_CACHE_NOT_TRIED: Mapping[str, Any] = {"host_cache": "not tried"}
_BLOCK_BYTES = 262_144
_REGION = "256m"  # small enough for any host's cache to hold it


def host_cache(
    tier: Tier,
    volume: model.Volume,
    world: World,
    start: fio_jobs.StartFio = fio_jobs.fio_on,
) -> Mapping[str, Any]:
    """Whether reads come from a cache in front of the disk, such as a cloud host's. Returns the
    fact `host_cache`: "shows", "does not show", or "not tried" without a declared cap; and both
    rates. GateError if fio cannot run."""
    # A disk with burst credit may be as fast as its peak, and that is no cache.
    cap_per_s = expected.cap_per_s(expected.at_peak(tier), _BLOCK_BYTES)
    if cap_per_s is None:
        return _CACHE_NOT_TRIED
    world.progress.step(f"disk check of {tier.name}: the same region read twice")
    # A guest does not see such a cache, and direct I/O does not pass it by. But a
    # region that was just read comes from it faster than the disk's own cap allows.
    with start(volume, world) as fio:
        first_pass, second_pass = fio.run("reread", {"SIZE": _REGION})
    first = fio_jobs.bytes_per_s(first_pass)
    second = fio_jobs.bytes_per_s(second_pass)
    tolerance = 1 + measured_checks.RATE_TOLERANCE_PCT / 100
    word = "does not show"
    if second > cap_per_s * _BLOCK_BYTES * tolerance:
        word = "shows"
    return {"host_cache": word, "reread_bytes_per_s": [round(first), round(second)]}
