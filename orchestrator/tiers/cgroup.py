"""The control group's limits on a block device, put there by Docker: approximate, and said so.

Without `path` the device is a loop device over an image of ours (as the emulated tier's, but
without its server), so data sets are restored. With `path` it is the real disk mounted there.
Every container that mounts the volume carries the limits; they are read back when it has started
(`containers`). docs/TIERS.md lists what such limits cannot do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from orchestrator import images as our_images
from orchestrator.errors import RunError, UnavailableError, UsageError
from orchestrator.model import DeviceCap, Gate, Tier, Volume
from orchestrator.protocols import World
from orchestrator.tiers import gate as truth
from orchestrator.tiers import mounted, served, strain

_GATE_BYTES = 2 * 2**30
_LOSETUP_S = 10.0
# The kernel hands out requests in slices of 0.1 s: a shorter window is off by up to one of them.
_QUICK = replace(truth.QUICK, runtime="2500ms")
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

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self._said: dict[str, Any] = {}

    def check(self, tier: Tier, world: World) -> None:
        our_images.need(world.root, "disk", world.containers)
        version(self._root)
        if not tier.iops and not tier.bytes_per_s:
            raise UsageError(
                f"{tier.name}: `enforcement: cgroup` limits IOPS and bytes/s; none is declared",
                advice="give `iops` or `throughput`, or use `enforcement: none`",
            )
        if tier.path:
            mounted.believable(tier, 0, self._root)
        else:
            served.need_kernel((("/dev/loop-control", "loop"),), self._root)

    def keeps_images(self, tier: Tier) -> bool:
        return not tier.path

    def gate_identity(self, tier: Tier, world: World) -> Mapping[str, Any] | None:
        if tier.path:
            return None
        image = our_images.tag(world.root, "disk")
        return {"mechanism": self.name, "image": image, "version": version(self._root)}

    def facts(self) -> Mapping[str, Any]:
        number = version(self._root)
        return {
            "mechanism": "control-group limits",
            "approximate": True,
            "cgroup_version": number,
            "blind_spots": [*_BLIND, _BLIND_V1 if number == 1 else _BLIND_V2],
            **self._said,
        }

    @contextmanager
    def attached(
        self, tier: Tier, sizes_bytes: Sequence[int], images: Sequence[Path] | None, world: World
    ) -> Iterator[tuple[Volume, ...]]:
        if tier.path:
            with self._on_real_disk(tier, sizes_bytes, world) as volumes:
                yield volumes
            return
        folder = world.cache / "disks"
        with (
            served.copied(folder, sizes_bytes, images, world) as copies,
            self._on_images(tier, copies, world) as volumes,
        ):
            yield tuple(replace(one, restored=images is not None) for one in volumes)

    @contextmanager
    def loading(
        self, sizes_bytes: Sequence[int], images: Sequence[Path], world: World
    ) -> Iterator[tuple[Volume, ...]]:
        served.create(images, sizes_bytes, world)
        with served.volumes("raw", images, {}, world) as (volumes, _):
            yield volumes

    def gate(self, tier: Tier, world: World, thorough: bool = False) -> Gate:
        """The rates only: what a control group does not do is measured and not judged."""
        rates = replace(tier, burst=None, read_latency_s=None, write_latency_s=None)
        # The block layer counts a request once, however large.
        rates = replace(rates, io_unit_bytes=2**30)
        with self._for_gate(tier, world) as volume:
            before = strain.read(volume, world, self._root)
            taken = truth.take(
                rates,
                volume,
                self.facts(),
                world,
                effort=truth.THOROUGH if thorough else _QUICK,
                caps_total=False,
            )
            since = strain.since(before, strain.read(volume, world, self._root))
            return replace(taken, device={**taken.device, **since})

    @contextmanager
    def _for_gate(self, tier: Tier, world: World) -> Iterator[Volume]:
        if tier.path:
            with self._on_real_disk(tier, [_GATE_BYTES], world) as (volume,):
                yield volume
            return
        image = world.cache / "disks" / "gate.img"
        with served.scratch([image]):
            served.create([image], [_GATE_BYTES], world)
            with self._on_images(tier, [image], world) as (volume,):
                yield volume

    @contextmanager
    def _on_images(
        self, tier: Tier, images: Sequence[Path], world: World
    ) -> Iterator[tuple[Volume, ...]]:
        with served.volumes("raw", images, {}, world) as (volumes, said):
            for volume in volumes:
                _bypass_cache(volume, world, self._root)
            self._said = {"device": said["device"], "direct_io": True, "kernel": said["kernel"]}
            yield tuple(replace(one, caps=(cap(tier, one.device),)) for one in volumes)

    @contextmanager
    def _on_real_disk(
        self, tier: Tier, sizes_bytes: Sequence[int], world: World
    ) -> Iterator[tuple[Volume, ...]]:
        real = mounted.MountedTier(self._root)
        with real.attached(tier, sizes_bytes, None, world) as volumes:
            facts = real.facts()
            self._said = {name: facts[name] for name in facts if name != "mechanism"}
            # A partition cannot be limited, only the disk that holds it.
            whole = f"/dev/{facts['disk']}"
            yield tuple(replace(one, caps=(cap(tier, whole),)) for one in volumes)


def cap(tier: Tier, device: str) -> DeviceCap:
    """The tier's base limits, for each way in full: the total of a mix is not held."""
    return DeviceCap(device, tier.iops, tier.iops, tier.bytes_per_s, tier.bytes_per_s)


def version(root: Path = Path("/")) -> int:
    """1 or 2: the hierarchy that limits block devices here. UnavailableError where none does."""
    groups = root / "sys/fs/cgroup"
    if (groups / "blkio/blkio.throttle.read_iops_device").exists():
        return 1
    controllers = groups / "cgroup.controllers"
    if controllers.exists() and "io" in controllers.read_text().split():
        return 2
    raise UnavailableError(
        "no control group here limits block devices (`blkio.throttle` or `io.max`)",
        advice="use `enforcement: emulated`, which needs only FUSE and loop devices",
    )


def _bypass_cache(volume: Volume, world: World, root: Path) -> None:
    """Direct I/O from the loop device to its image: the host's page cache is not the disk."""
    container = volume.server.container if volume.server else None
    done = world.containers.exec(
        container or "", ("losetup", "--direct-io=on", volume.device), timeout_s=_LOSETUP_S
    )
    state = root / "sys/block" / Path(volume.device).name / "loop/dio"
    if done.exit_code != 0 or (state.exists() and state.read_text().strip() != "1"):
        raise RunError(
            f"{volume.device} does not bypass the host's page cache: {done.err.strip()}",
            advice="put the cache (TIERBENCH_CACHE) on a file system with direct I/O",
        )
