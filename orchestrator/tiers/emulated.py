"""A block device that behaves like the tier: IOPS, bytes/s, burst credit and latency.

One container of docker/disk/ per node serves one image file as one loop device (`served`). The
image is a file: a copy of it is a copy of the loaded data set.
Needs FUSE and loop devices in the kernel, and a container that may mount.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from orchestrator import images as our_images
from orchestrator.errors import GateError, UsageError
from orchestrator.model import Gate, Tier, Volume
from orchestrator.protocols import World
from orchestrator.tiers import gate as truth
from orchestrator.tiers import served, strain

GATE_BYTES = 2 * 2**30
_MICRO = 1e6
# Limits that can be changed while the device runs, by the server's own names (docs/TIERS.md).
CHANGEABLE = (
    "iops",
    "bytes_per_s",
    "iops_burst",
    "iops_burst_length",
    "bytes_burst",
    "bytes_burst_length",
    "burst_start",
    "read_latency_us",
    "write_latency_us",
)


class EmulatedTier:
    name = "emulated"

    def __init__(self) -> None:
        self._served: dict[str, Any] = {}

    def check(self, tier: Tier, world: World) -> None:
        our_images.need(world.root, "disk", world.containers)
        served.need_kernel((("/dev/fuse", "fuse"), ("/dev/loop-control", "loop")))
        _check_limits(tier)

    def keeps_images(self, tier: Tier) -> bool:
        return True

    def gate_identity(self, tier: Tier, world: World) -> Mapping[str, Any] | None:
        return {"mechanism": self.name, "image": our_images.tag(world.root, "disk")}

    def facts(self) -> Mapping[str, Any]:
        return dict(self._served)

    @contextmanager
    def attached(
        self, tier: Tier, sizes_bytes: Sequence[int], images: Sequence[Path] | None, world: World
    ) -> Iterator[tuple[Volume, ...]]:
        folder = world.cache / "disks"
        with (
            served.copied(folder, sizes_bytes, images, world) as copies,
            self._devices("serve", copies, limits_of(tier), world) as volumes,
        ):
            yield tuple(replace(one, restored=images is not None) for one in volumes)

    @contextmanager
    def loading(
        self, sizes_bytes: Sequence[int], images: Sequence[Path], world: World
    ) -> Iterator[tuple[Volume, ...]]:
        served.create(images, sizes_bytes, world)
        with self._devices("raw", images, {}, world) as volumes:
            yield volumes

    def gate(self, tier: Tier, world: World, thorough: bool = False) -> Gate:
        image = world.cache / "disks" / "gate.img"
        with served.scratch([image]):
            served.create([image], [GATE_BYTES], world)
            base = replace(tier, burst=None)
            with self._devices("serve", [image], limits_of(base), world) as (volume,):
                before = strain.read(volume, world)
                taken = truth.take(tier, volume, self._served, world, thorough=thorough)
                since = strain.since(before, strain.read(volume, world))
                return replace(taken, device={**taken.device, **since})

    @contextmanager
    def _devices(
        self, verb: str, images: Sequence[Path], limits: served.Limits, world: World
    ) -> Iterator[tuple[Volume, ...]]:
        with served.volumes(verb, images, limits, world) as (volumes, said):
            self._served = said
            yield volumes


def limits_of(tier: Tier) -> dict[str, int | float]:
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


def _check_limits(tier: Tier) -> None:
    """UsageError for numbers that no device can have; profiles say it earlier, with the line."""
    rates = {"iops": tier.iops, "bytes_per_s": tier.bytes_per_s}
    times = {"read_latency_s": tier.read_latency_s, "write_latency_s": tier.write_latency_s}
    for name, value in {**rates, **times}.items():
        if value is None:
            continue
        if not math.isfinite(value) or value < 0 or (name in rates and value == 0):
            raise UsageError(f"{tier.name}: {name} is {value}: a limit is above zero, or absent")
    if not 4096 <= tier.io_unit_bytes <= 2**20:
        raise UsageError(f"{tier.name}: io_unit is {tier.io_unit_bytes}; 4 KiB to 1 MiB work")
    burst = tier.burst
    if burst is None:
        return
    if not 0 <= burst.start_pct <= 100:
        raise UsageError(f"{tier.name}: burst.start is {burst.start_pct} %; 0 to 100 % work")
    if burst.duration_s <= 0:
        raise UsageError(f"{tier.name}: burst.duration is {burst.duration_s} s")
    for name, peak, base in (
        ("iops", burst.iops, tier.iops),
        ("bytes_per_s", burst.bytes_per_s, tier.bytes_per_s),
    ):
        if peak is not None and (base is None or peak <= base):
            raise UsageError(f"{tier.name}: burst.{name} is {peak}, not above its base of {base}")


def change(container: str, limits: Mapping[str, float], world: World) -> Mapping[str, float]:
    """Changes limits of the running device that `container` serves; returns all it now enforces.

    Names as in CHANGEABLE, rates in 1/s and bytes/s, latencies in µs, 0 for no limit. All or
    nothing. UsageError for a name that cannot be changed or a number that is none; RunError where
    the device refuses them; GateError where it then enforces something else.
    """
    for name, value in limits.items():
        if name not in CHANGEABLE:
            raise UsageError(
                f"{name!r} is no limit that can be changed on a running disk",
                advice=f"there are {', '.join(CHANGEABLE)}",
            )
        if not math.isfinite(value) or value < 0:
            raise UsageError(f"{name}={value}: a limit is a number of 0 (none) or more")
    words = [f"{name}={served.plain(float(value))}" for name, value in limits.items()]
    if not words:
        raise UsageError("no limit was given", advice="for example `iops=4000 bytes_per_s=1e8`")
    served.ask(container, ("set", *words), world)
    running = served.ask(container, ("limits",), world)
    # How full the bucket was set is a moment, not a limit that is kept.
    kept = {name: value for name, value in limits.items() if name != "burst_start"}
    served.read_back(kept, running)
    for name in kept:
        if name not in running:
            raise GateError(f"the disk {container} does not say what {name} is now")
    return {name: float(value) for name, value in running.items()}
