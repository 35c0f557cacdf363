"""The control group's limits on a block device, put there by the platform: approximate.

The device is a loop device over a file of ours (as the emulated tier's, but without its server).
Every container that mounts the volume carries the limits; they are read back when it has started
(`containers`). docs/TIERS.md lists what such limits cannot do."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from orchestrator.errors import RunError, UnavailableError, UsageError
from orchestrator.keys.strict_yaml import shipped
from orchestrator.keys.tier_keys import as_held
from orchestrator.model import DeviceCap, Volume
from orchestrator.parts import Disks, NodesData
from orchestrator.platforms import own_images
from orchestrator.platforms.common.machines import of_nodes
from orchestrator.powers import Machine, World
from orchestrator.tier import DiskKind, Gate, Tier
from orchestrator.tiers.common.emulated import disk_files, disk_server
from orchestrator.tiers.common.gate import truth_gate

_LOSETUP_S = 10.0
_GROUPS = "/sys/fs/cgroup"
# The kernel hands out requests in slices of 0.1 s: a shorter window is off by up to one of them.
_QUICK = replace(truth_gate.QUICK, runtime="2500ms")


class CgroupTier(disk_server.OnFiles):
    name = "cgroup"
    kind: DiskKind = "cgroup"

    def check(self, tier: Tier, world: World) -> None:
        own_images.need(world.root, "disk", world.platform)
        if not tier.limits.iops and not tier.limits.bytes_per_s:
            raise UsageError(
                f"{tier.name}: `enforcement: cgroup` limits IOPS and bytes/s; none "
                "is declared",
                advice="give `iops` or `throughput`, or use `enforcement: none`",
            )
        needed = (("/dev/loop-control", "loop"),)
        disk_server.need_kernel(needed, of_nodes(world.platform))
        versions: dict[str, int] = {}
        for machine in world.platform.machines():
            versions[machine.name] = version(machine)
        if len(set(versions.values())) > 1:  # another machine would not limit the same
            shown = ", ".join(f"{name}: {number}" for name, number in versions.items())
            raise UnavailableError(
                f"{tier.name}: machines have control groups of different versions ({shown}), "
                "whose limits have other blind spots",
                advice="use machines that are alike, or `enforcement: emulated`",
            )

    def gate_identity(self, world: World) -> Mapping[str, Any]:
        image = own_images.tag(world.root, "disk")
        return {
            "mechanism": self.name,
            "image": image,
            "version": version(world.machine),
        }

    def attached(
        self, tier: Tier, data: NodesData, world: World
    ) -> AbstractContextManager[Disks]:
        return _on_files(tier, disk_files.of_run(data, world), world)

    def gate_on(
        self, placement: str, tier: Tier, world: World, thorough: bool = False
    ) -> Gate:
        """Judges the rates only: what a control group does not hold is just measured."""
        with _on_files(tier, disk_files.of_gate(placement, world), world) as disks:
            return truth_gate.take(
                as_held(tier), disks, world, thorough=thorough, quick=_QUICK
            )


@contextmanager
def _on_files(
    tier: Tier, files: Sequence[disk_files.DiskFile], world: World
) -> Iterator[Disks]:
    with disk_server.devices("raw", files, {}, world) as disks:
        for volume in disks.volumes:
            _bypass_cache(volume, world)
        facts = {
            **described(world.machine),
            "device": disks.facts["device"],
            "direct_io": True,
            "write_cache": "write through",
            "kernel": disks.facts["kernel"],
        }
        volumes = (
            replace(volume, caps=(cap(tier, volume.device),))
            for volume in disks.volumes
        )
        yield Disks(tuple(volumes), facts)


def described(machine: Machine) -> dict[str, Any]:
    """What a reader must know of control-group limits."""
    number = version(machine)
    blind = shipped(__package__, "cgroup.yaml")["blind_spots"]
    return {
        "mechanism": "control-group limits",
        "approximate": True,
        "cgroup_version": number,
        "blind_spots": [*blind["both"], *blind[number]],
    }


def cap(tier: Tier, device: str) -> DeviceCap:
    """The tier's base limits, in full for reads and again for writes: no cap holds their total."""
    return DeviceCap(
        device,
        tier.limits.iops,
        tier.limits.iops,
        tier.limits.bytes_per_s,
        tier.limits.bytes_per_s,
    )


def version(machine: Machine) -> int:
    """1 or 2: the hierarchy that limits block devices here. UnavailableError if none does."""
    if machine.exists(f"{_GROUPS}/blkio/blkio.throttle.read_iops_device"):
        return 1
    controllers = f"{_GROUPS}/cgroup.controllers"
    if machine.exists(controllers) and "io" in machine.read(controllers).split():
        return 2
    raise UnavailableError(
        f"no control group of {machine.name} limits block devices "
        "(`blkio.throttle` or `io.max`)",
        advice="use `enforcement: emulated`, which needs only FUSE and loop devices",
    )


def _bypass_cache(volume: Volume, world: World) -> None:
    """Direct I/O from the loop device to its file: the host's page cache is not the disk."""
    name = ""
    if volume.server and volume.server.container:
        name = volume.server.container
    server = world.platform.container(name)
    switched = server.exec(
        ("losetup", "--direct-io=on", volume.device), timeout_s=_LOSETUP_S
    )
    machine = server.find_machine()
    if switched.exit_code != 0 or not _is_direct(volume.device, machine):
        raise RunError(
            f"{volume.device} does not bypass the host's page cache: "
            f"{switched.err.strip()}",
            advice="put the cache (TIERBENCH_CACHE) on a file system with direct I/O",
        )
    switched = server.exec(("device", "through", volume.device), timeout_s=_LOSETUP_S)
    if switched.exit_code != 0:
        raise RunError(
            f"flushes of {volume.device} would count as writes: {switched.err.strip()}"
        )


def _is_direct(device: str, machine: Machine) -> bool:
    """As far as the machine says it."""
    state = f"/sys/block/{Path(device).name}/loop/dio"
    return not machine.exists(state) or machine.read(state).strip() == "1"
