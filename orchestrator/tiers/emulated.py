"""A block device that behaves like the tier: IOPS, bytes/s, burst credit and latency.

One container of docker/disk/ per node serves one image file as one loop device (docs/TIERS.md).
The database gets it as an ordinary Docker volume, so the host mounts nothing itself. The image is
a file: a copy of it is a copy of the loaded data set.
Needs FUSE and loop devices in the kernel, and a container that may mount.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from orchestrator import images as our_images
from orchestrator.clock import wait_until
from orchestrator.errors import GateError, RunError, UnavailableError
from orchestrator.model import Gate, Node, Tier, Volume
from orchestrator.protocols import ContainerSpec, Mount, World
from orchestrator.tiers import gate as truth

_READY_S = 30.0
_COPY_S = 3600.0
_GATE_BYTES = 2 * 2**30
_MICRO = 1e6
# A disk has its own processor: where cores are short, the one that plays the disk goes first
# (1,024 is what every other container has).
_CPU_SHARES = 16_384


class EmulatedTier:
    name = "emulated"

    def __init__(self) -> None:
        self._served: dict[str, Any] = {}

    def check(self, tier: Tier, world: World) -> None:
        our_images.need(world.root, "disk", world.containers)
        for device, module in (("/dev/fuse", "fuse"), ("/dev/loop-control", "loop")):
            if not Path(device).exists():
                raise UnavailableError(
                    f"an emulated tier needs {device}, which this kernel does not offer",
                    advice=f"`modprobe {module}`, or use a profile with `enforcement: none`",
                )

    def keeps_images(self) -> bool:
        return True

    def facts(self) -> Mapping[str, Any]:
        return dict(self._served)

    @contextmanager
    def attached(
        self, tier: Tier, sizes_bytes: Sequence[int], images: Sequence[Path] | None, world: World
    ) -> Iterator[tuple[Volume, ...]]:
        copies = [
            world.cache / "disks" / f"node-{number}.img"
            for number in range(1, len(sizes_bytes) + 1)
        ]
        with _scratch(copies):
            if images is None:
                _create(copies, sizes_bytes, world)
            else:
                for image, copy in zip(images, copies, strict=True):
                    _copy(image, copy, world)
            with self._devices("serve", copies, _limits(tier), world) as volumes:
                yield tuple(
                    Volume(one.name, one.device, images is not None, one.server) for one in volumes
                )

    @contextmanager
    def loading(
        self, sizes_bytes: Sequence[int], images: Sequence[Path], world: World
    ) -> Iterator[tuple[Volume, ...]]:
        _create(images, sizes_bytes, world)
        with self._devices("raw", images, {}, world) as volumes:
            yield volumes

    def gate(self, tier: Tier, world: World) -> Gate:
        image = world.cache / "disks" / "gate.img"
        with _scratch([image]):
            _create([image], [_GATE_BYTES], world)
            base = replace(tier, burst=None)
            with self._devices("serve", [image], _limits(base), world) as (volume,):
                return truth.take(tier, volume, dict(self._served), world)

    @contextmanager
    def _devices(
        self, verb: str, images: Sequence[Path], limits: Mapping[str, int | float], world: World
    ) -> Iterator[tuple[Volume, ...]]:
        with ExitStack() as up:
            volumes = []
            for image in images:
                node, ready = up.enter_context(_serving(verb, image, limits, world))
                self._served = ready
                name = f"tierbench-{image.stem}"
                up.enter_context(world.containers.volume(name, ready["device"], "xfs"))
                volumes.append(Volume(name, ready["device"], restored=False, server=node))
            yield tuple(volumes)


@contextmanager
def _scratch(files: Sequence[Path]) -> Iterator[None]:
    """Removes the files before (a killed run may have left them) and after."""
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True)
    try:
        yield
    finally:
        for file in files:
            file.unlink(missing_ok=True)


def _limits(tier: Tier) -> dict[str, int | float]:
    """The tier as options of `device serve`. Names are the server's own (docs/TIERS.md)."""
    limits: dict[str, int | float] = {
        "iops": tier.iops or 0,
        "bytes-per-s": tier.bytes_per_s or 0,
        "io-unit": tier.io_unit_bytes,
        "read-latency-us": round((tier.read_latency_s or 0) * _MICRO),
        "write-latency-us": round((tier.write_latency_s or 0) * _MICRO),
    }
    burst = tier.burst
    # A bucket that starts empty is kept empty: it would fill while the database starts, and a
    # short run would then measure credit that a busy disk never has.
    if burst is not None and burst.start_pct > 0:
        limits["burst-start"] = burst.start_pct
        if burst.iops:
            limits["iops-burst"] = burst.iops
            limits["iops-burst-length"] = burst.duration_s
        if burst.bytes_per_s:
            limits["bytes-burst"] = burst.bytes_per_s
            limits["bytes-burst-length"] = burst.duration_s
    return limits


def _spec(name: str, command: tuple[str, ...], folder: Path, world: World) -> ContainerSpec:
    return ContainerSpec(
        name=name,
        image=our_images.need(world.root, "disk", world.containers),
        command=command,
        role="disk",
        environment={"TIERBENCH_DISK": name},
        mounts=(Mount(str(folder.resolve()), "/images"),),
        host_devices=True,
        cpu_shares=_CPU_SHARES,
        stop_timeout_s=20,
    )


def _create(images: Sequence[Path], sizes_bytes: Sequence[int], world: World) -> None:
    for image, size in zip(images, sizes_bytes, strict=True):
        image.parent.mkdir(parents=True, exist_ok=True)
        image.unlink(missing_ok=True)
        command = ("create", "--image", f"/images/{image.name}", "--bytes", str(size))
        name = f"tierbench-create-{image.stem}"
        done = world.containers.once(_spec(name, command, image.parent, world), timeout_s=60)
        if done.exit_code != 0:
            raise RunError(f"no file system could be made in {image}: {done.out.strip()}")


def _copy(image: Path, copy: Path, world: World) -> None:
    argv = ("cp", "--sparse=auto", "--reflink=auto", str(image), str(copy))
    done = world.shell.run(argv, timeout_s=_COPY_S)
    if done.exit_code != 0:
        raise RunError(f"the data set could not be copied to {copy}: {done.err.strip()}")


@contextmanager
def _serving(
    verb: str, image: Path, limits: Mapping[str, int | float], world: World
) -> Iterator[tuple[Node, dict[str, Any]]]:
    """The container that serves `image`, and what it said when its device was ready."""
    options = [part for key, value in limits.items() for part in (f"--{key}", _plain(value))]
    command = (verb, "--image", f"/images/{image.name}", *options)
    spec = _spec(f"tierbench-disk-{image.stem}", command, image.parent, world)
    with world.containers.running(spec) as container:
        ready = _wait_ready(container.name, world)
        _read_back(limits, ready)
        yield (
            Node(
                name=f"disk-{image.stem}",
                role="disk",
                container=container.name,
                process_id=container.process_id,
            ),
            ready,
        )


def _plain(value: int | float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.6f}".rstrip("0").rstrip(".")


def _wait_ready(container: str, world: World) -> dict[str, Any]:
    said: list[dict[str, Any]] = []

    def ready() -> bool:
        for line in world.containers.logs(container).splitlines():
            if line.startswith("{"):
                said.append(json.loads(line))
                return True
        if world.containers.state(container) != "running":
            raise RunError(
                f"the emulated disk {container} could not start",
                evidence=world.containers.logs(container, tail=20),
                advice="`tierbench doctor` says what the kernel lacks",
            )
        return False

    if not wait_until(ready, deadline_s=_READY_S, clock=world.clock, every_s=0.05):
        raise RunError(f"the emulated disk {container} was not ready within {_READY_S:g} s")
    return said[0]


def _read_back(asked: Mapping[str, int | float], ready: Mapping[str, Any]) -> None:
    """GateError where the running server enforces something else than was asked."""
    running = ready.get("limits") or {}
    for key, value in asked.items():
        name = key.replace("-", "_")
        if name in running and abs(float(running[name]) - float(value)) > 1e-6 * abs(value):
            raise GateError(f"the emulated disk enforces {name}={running[name]}, asked was {value}")
