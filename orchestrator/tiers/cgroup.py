"""The control group's limits on a block device, put there by the platform: approximate.

Without `disks` or `path` the device is a loop device over a file of ours (as the emulated tier's,
but without its server), so data sets are restored. With them it is the real disk mounted there; the
limits are then put on the disk of the WAL too.
Every container that mounts the volume carries the limits; they are read back when it has started
(`containers`). docs/TIERS.md lists what such limits cannot do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from orchestrator.errors import RunError, UnavailableError, UsageError
from orchestrator.kernel import block_devices, mounts
from orchestrator.keys.tier_keys import as_held
from orchestrator.model import DeviceCap, Volume
from orchestrator.parts import Disks
from orchestrator.platforms import own_images
from orchestrator.platforms.common.machines import of_nodes
from orchestrator.powers import Machine, World
from orchestrator.tier import DiskKind, Gate, Tier
from orchestrator.tiers.common.emulated import disk_files, disk_server
from orchestrator.tiers.common.gate import truth_gate
from orchestrator.tiers.common.real import node_places, real_disk, restoring, snapshots

_LOSETUP_S = 10.0
_GROUPS = "/sys/fs/cgroup"
# The kernel hands out requests in slices of 0.1 s: a shorter window is off by up to one of them.
_QUICK = replace(truth_gate.QUICK, runtime="2500ms")
_BLIND = (
    "reads and writes are capped apart: a mix may reach twice the declared total",
    "no latency is added: a request takes as long as this machine's own disk",
    "no burst credit: the base limits hold from the start",
    "a request counts once whatever its size, up to what the block layer splits",
)
_BLIND_V1 = "version 1: buffered writes are not throttled, only direct I/O and reads are"
_BLIND_V2 = "version 2: buffered writes are throttled on ext4, XFS, Btrfs and F2FS alone"


class CgroupTier:
    name = "cgroup"
    kind: DiskKind = "cgroup"

    def check(self, tier: Tier, world: World) -> None:
        own_images.need(world.root, "disk", world.platform)
        if not tier.limits.iops and not tier.limits.bytes_per_s:
            raise UsageError(
                f"{tier.name}: `enforcement: cgroup` limits IOPS and bytes/s; none is declared",
                advice="give `iops` or `throughput`, or use `enforcement: none`",
            )
        if tier.disk.is_real:
            node_places.require_one_machine(tier, world)
            disks = real_disk.found(tier, list(tier.disk.of_nodes), lambda _: 0, world.machine)
            snapshots.check(tier, list(disks.values()), world)
        else:
            disk_server.need_kernel((("/dev/loop-control", "loop"),), of_nodes(world.platform))
        _require_alike(tier, world)

    def snapshots(self, tier: Tier, nodes: int, name: str, world: World) -> tuple[Path, ...]:
        if tier.disk.is_real:
            return restoring.snapshots_of(tier, nodes, name, world)
        return disk_files.snapshots(nodes, name, world)

    def restores(
        self, tier: Tier, sizes_bytes: Sequence[int], snapshots: Sequence[Path], world: World
    ) -> bool:
        return not tier.disk.is_real or restoring.restores(tier, sizes_bytes, snapshots, world)

    def loading(
        self,
        tier: Tier,
        sizes_bytes: Sequence[int],
        snapshots: Sequence[Path],
        world: World,
        resumed: bool = False,
    ) -> AbstractContextManager[tuple[Volume, ...]]:
        if tier.disk.is_real:
            return restoring.loading(tier, sizes_bytes, snapshots, world, resumed)
        return disk_server.loading(sizes_bytes, snapshots, world, resumed)

    def places(self, tier: Tier, nodes: int, world: World) -> Mapping[Path, int]:
        if tier.disk.is_real:
            return restoring.places(tier, nodes, world)
        return disk_files.places(nodes, world)

    def gate_identity(self, tier: Tier, world: World) -> Mapping[str, Any] | None:
        if tier.disk.is_real:
            return None
        image = own_images.tag(world.root, "disk")
        return {"mechanism": self.name, "image": image, "version": version(world.machine)}

    @contextmanager
    def attached(
        self, tier: Tier, sizes_bytes: Sequence[int], snapshots: Sequence[Path] | None, world: World
    ) -> Iterator[Disks]:
        if tier.disk.is_real:
            with restoring.attached(tier, sizes_bytes, snapshots, world) as disks:
                yield _on_whole_disks(tier, disks, world.machine)
            return
        files = disk_files.of_run(sizes_bytes, snapshots, world)
        with _on_files(tier, files, world, restored=snapshots is not None) as disks:
            yield disks

    def gate(self, tier: Tier, world: World, thorough: bool = False) -> Gate:
        return self.gate_on("node-1", tier, world, thorough)

    def gate_on(self, placement: str, tier: Tier, world: World, thorough: bool = False) -> Gate:
        """Judges the rates only: what a control group does not hold is just measured."""

        def take(judged: Tier, disks: Disks) -> Gate:
            return truth_gate.take(
                as_held(judged), disks, world, thorough=thorough, quick=_QUICK, caps_total=False
            )

        def on_disk(judged: Tier, _: mounts.RealDisk, disks: Disks, _there: World) -> Gate:
            return take(judged, _on_whole_disks(tier, disks, world.machine))

        if tier.disk.is_real:
            return real_disk.take_each(tier, world, thorough, on_disk)
        with _on_files(tier, disk_files.of_gate(placement, world), world) as disks:
            return take(tier, disks)


@contextmanager
def _on_files(
    tier: Tier, files: Sequence[disk_files.DiskFile], world: World, restored: bool = False
) -> Iterator[Disks]:
    with disk_server.devices("raw", files, {}, world, restored=restored) as disks:
        for volume in disks.volumes:
            _bypass_cache(volume, world)
        facts = {
            **described(world.machine),
            "device": disks.facts["device"],
            "direct_io": True,
            "write_cache": "write through",
            "kernel": disks.facts["kernel"],
        }
        yield Disks(tuple(_capped(tier, volume, volume.device) for volume in disks.volumes), facts)


def _on_whole_disks(tier: Tier, disks: Disks, machine: Machine) -> Disks:
    """With limits on each volume: a partition cannot be limited, only the disk that holds it."""

    def capped(volume: Volume) -> Volume:
        devices = [device for device in (volume.device, volume.wal_device) if device]
        wholes = (block_devices.whole(name.removeprefix("/dev/"), machine) for name in devices)
        return _capped(tier, volume, *dict.fromkeys(f"/dev/{name}" for name in wholes))

    volumes = tuple(map(capped, disks.volumes))
    return Disks(volumes, {**disks.facts, **described(machine)})


def described(machine: Machine) -> dict[str, Any]:
    """What a reader must know of control-group limits."""
    number = version(machine)
    return {
        "mechanism": "control-group limits",
        "approximate": True,
        "cgroup_version": number,
        "blind_spots": [*_BLIND, _BLIND_V1 if number == 1 else _BLIND_V2],
    }


def _capped(tier: Tier, volume: Volume, *devices: str) -> Volume:
    return replace(volume, caps=tuple(cap(tier, device) for device in devices))


def cap(tier: Tier, device: str) -> DeviceCap:
    """The tier's base limits, in full for reads and again for writes: no cap holds their total."""
    return DeviceCap(
        device, tier.limits.iops, tier.limits.iops, tier.limits.bytes_per_s, tier.limits.bytes_per_s
    )


def version(machine: Machine) -> int:
    """1 or 2: the hierarchy that limits block devices here. UnavailableError if none does."""
    if machine.exists(f"{_GROUPS}/blkio/blkio.throttle.read_iops_device"):
        return 1
    controllers = f"{_GROUPS}/cgroup.controllers"
    if machine.exists(controllers) and "io" in machine.read(controllers).split():
        return 2
    raise UnavailableError(
        f"no control group of {machine.name} limits block devices (`blkio.throttle` or `io.max`)",
        advice="use `enforcement: emulated`, which needs only FUSE and loop devices",
    )


def _require_alike(tier: Tier, world: World) -> None:
    """UnavailableError if a machine cannot limit disks, or another would not limit the same."""
    versions = {machine.name: version(machine) for machine in world.platform.machines()}
    if len(set(versions.values())) > 1:
        told = ", ".join(f"{name}: {number}" for name, number in versions.items())
        raise UnavailableError(
            f"{tier.name}: machines have control groups of different versions ({told}), whose "
            "limits have other blind spots",
            advice="use machines that are alike, or `enforcement: emulated`",
        )


def _bypass_cache(volume: Volume, world: World) -> None:
    """Direct I/O from the loop device to its file: the host's page cache is not the disk."""
    server = world.platform.container((volume.server.container if volume.server else None) or "")
    switched = server.exec(("losetup", "--direct-io=on", volume.device), timeout_s=_LOSETUP_S)
    state = f"/sys/block/{Path(volume.device).name}/loop/dio"
    machine = server.find_machine()
    if switched.exit_code != 0 or (machine.exists(state) and machine.read(state).strip() != "1"):
        raise RunError(
            f"{volume.device} does not bypass the host's page cache: {switched.err.strip()}",
            advice="put the cache (TIERBENCH_CACHE) on a file system with direct I/O",
        )
    switched = server.exec(("device", "through", volume.device), timeout_s=_LOSETUP_S)
    if switched.exit_code != 0:
        raise RunError(f"flushes of {volume.device} would count as writes: {switched.err.strip()}")
