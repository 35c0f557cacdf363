"""How true a recorded disk is rehearsed: rehearsed / recorded, by fio, on this machine now.

    python -m tests.bench.bench_recorded [--repeats 4] [--seconds 20]

Goal: IOPS within 5 %, the median of single requests within 10 %, their p99 within 20 %. Method: an
emulated disk with a tail stands for a rented one and is recorded once; each repeat plays the file
on a device of its own, and fio measures that. Also the CPU of the server while it draws, and how
often slow epochs come. Exit 1 where a median of the repeats misses.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from orchestrator import units
from orchestrator.cli.common.app import App
from orchestrator.cli.common.console import LastingConsole
from orchestrator.cli.common.progress import ConsoleProgress
from orchestrator.design.latency_quantiles import quantile_s
from orchestrator.extensions.standing_disks import recording
from orchestrator.model import Volume
from orchestrator.parts import NodesData
from orchestrator.planning import recorded_disk
from orchestrator.platforms import own_images
from orchestrator.powers import ContainerSpec, Mount, World
from orchestrator.system.clock import SystemClock
from orchestrator.tier import LatencyModel, SlowEpochs, Tier
from orchestrator.tiers.common.emulated import host_load, running_disks
from orchestrator.tiers.common.gate import fio_jobs
from orchestrator.tiers.emulated import EmulatedTier
from tests import ROOT
from tests.tiers import a_tier, changed

READS = (
    (0.0, 4e-4),
    (0.5, 6e-4),
    (0.9, 9e-4),
    (0.97, 15e-4),
    (0.99, 3e-3),
    (1.0, 8e-3),
)
WRITES = (
    (0.0, 6e-4),
    (0.5, 9e-4),
    (0.9, 13e-4),
    (0.97, 2e-3),
    (0.99, 4e-3),
    (1.0, 9e-3),
)
MODEL = LatencyModel(READS, WRITES, "this bench", "2026-01-01")
RENTED = a_tier(
    *("rented", "", "emulated", 5000, 200_000_000, 6e-4, 9e-4), latency_model=MODEL
)
DISK_BYTES = 2**30
FILE_BYTES = 2**28
SHORT_EPOCHS = SlowEpochs(factor=4.0, slow_dwell_s=0.5, good_dwell_s=1.5)
IOPS, MEDIAN, P99 = 5.0, 10.0, 20.0  # percent


@dataclass
class Ratio:
    """All repeats of one figure, each divided by what was recorded."""

    name: str
    target_pct: float
    values: list[float] = field(default_factory=list)

    def holds(self) -> bool:
        return abs(statistics.median(self.values) - 1) * 100 <= self.target_pct

    def line(self) -> str:
        shown = (
            f"{min(self.values):7.4f} … {max(self.values):7.4f}  ±{self.target_pct:g} %"
        )
        word = "ok" if self.holds() else "OUTSIDE"
        return f"{self.name:28} {statistics.median(self.values):7.4f}  {shown} {word}"


def record_rented(seconds: float, world: World) -> recorded_disk.RecordedDisk:
    """The disk with a tail, kept mounted by a container and recorded like a real one."""
    effort = recording.RecordingEffort(FILE_BYTES, rate_s=3.0, latency_s=seconds)
    with EmulatedTier().attached(RENTED, NodesData([DISK_BYTES]), world) as disks:
        (volume,) = disks.volumes
        keeper = ContainerSpec(
            name=f"{world.scope}-keeper",
            image=own_images.need(world.root, "disk", world.platform),
            entrypoint=("sleep",),
            command=("infinity",),
            role="client",
            init=True,
            stop_timeout_s=1,
            mounts=(Mount(volume.name, "/tier"),),
        )
        with world.platform.running(keeper):
            argv = ["docker", "volume", "inspect", "-f", "{{.Mountpoint}}", volume.name]
            place = subprocess.run(
                argv, capture_output=True, text=True, check=True
            ).stdout.strip()
            return recording.record(Path(place), effort, world, allow_root_disk=False)


def rehearsed(disk: recorded_disk.RecordedDisk) -> Tier:
    assert disk.limits is not None
    iops, throughput = recorded_disk.own_limits(disk.limits).values()
    rate = units.parse_bytes_per_s(throughput)
    return recorded_disk.applied(
        a_tier("rehearsed", "", "emulated", int(iops), rate), disk
    )


def measure(
    disk: recorded_disk.RecordedDisk, volume: Volume, seconds: float, world: World
) -> tuple[dict[str, float], float]:
    """Ratio of each figure on a device that plays the file; cores of the server at its cap."""
    limits, found = disk.limits, dict[str, float]()
    assert limits is not None and volume.server is not None and volume.server.container
    settings = {
        "SIZE": str(FILE_BYTES),
        "RAMP": "500ms",
        "IODEPTH": "128",
        "PAUSE_US": "0",
    }
    with fio_jobs.fio_on(volume, world) as fio:
        fio.run("prepare", settings)
        before = running_disks.ask(volume.server.container, ("stats",), world)
        began = time.monotonic()
        jobs = fio.run("iops", {**settings, "RUNTIME": "3s"})
        took_s = time.monotonic() - began
        after = running_disks.ask(volume.server.container, ("stats",), world)
        rates = (limits.iops_read, limits.iops_write, limits.iops_mixed)
        for job, was in zip(jobs, rates, strict=True):
            found[f"IOPS, {job['jobname']}"] = fio_jobs.bytes_per_s(job) / 4096 / was
        (alone,) = fio.run(
            "latency", {**settings, "RUNTIME": f"{round(seconds * 1000)}ms"}
        )
    for way, table in (
        ("read", disk.latency.read_quantiles_s),
        ("write", disk.latency.write_quantiles_s),
    ):
        percentiles: Any = alone[way]["lat_ns"]["percentile"]
        found[f"median, {way}"] = (
            percentiles["50.000000"] * 1e-9 / quantile_s(table, 0.5)
        )
        found[f"p99, {way}"] = percentiles["99.000000"] * 1e-9 / quantile_s(table, 0.99)
    return found, (after["cpu_s"] - before["cpu_s"]) / took_s


def slow_share(world: World) -> float:
    """The share of 20 s that a disk with short epochs was slow, by its own account."""
    tier = changed(RENTED, latency_model=replace(MODEL, slow_epochs=SHORT_EPOCHS))
    with EmulatedTier().attached(tier, NodesData([DISK_BYTES]), world) as disks:
        server = disks.volumes[0].server
        assert server is not None and server.container
        world.clock.sleep(20)
        stats = running_disks.ask(server.container, ("stats",), world)
        return float(stats["slow_s"] / stats["drawing_s"])


def run(
    repeats: int, seconds: float, world: World
) -> tuple[list[Ratio], list[float], float]:
    disk = record_rented(seconds, world)
    ratios: dict[str, Ratio] = {}
    cores: list[float] = []
    for repeat in range(repeats):
        own = replace(world, seed=repeat)
        before = host_load.cpu_ticks(world.machine)
        with EmulatedTier().attached(
            rehearsed(disk), NodesData([DISK_BYTES]), own
        ) as disks:
            found, used = measure(disk, disks.volumes[0], seconds, own)
        cores.append(used)
        after = host_load.cpu_ticks(world.machine)
        busy_pct = 100 * (after[0] - before[0]) / max(1.0, after[1] - before[1])
        world.progress.note(
            f"repeat {repeat + 1}: this machine was {busy_pct:.0f} % busy"
        )
        for name, value in found.items():
            target = {"IOPS": IOPS, "medi": MEDIAN, "p99,": P99}[name[:4]]
            ratios.setdefault(name, Ratio(name, target)).values.append(value)
    return list(ratios.values()), cores, slow_share(world)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--repeats", type=int, default=4, help="devices that play the file"
    )
    parser.add_argument(
        "--seconds", type=float, default=20.0, help="of single requests"
    )
    asked = parser.parse_args()
    progress = ConsoleProgress(LastingConsole(stderr=True), SystemClock())
    cache = ROOT / ".cache" / "bench"
    app = App(cache=cache, progress=progress)
    world = app.world()
    with app.alone(world.platform):
        ratios, cores, share = run(asked.repeats, asked.seconds, world)
    progress.done()
    print(f"{'rehearsed / recorded':28} median   least     most")
    for ratio in ratios:
        print(ratio.line())
    print(
        f"CPU of the server, drawing at the cap of 5,000 IOPS: {json.dumps(cores)} cores"
    )
    expected = SHORT_EPOCHS.slow_dwell_s / (
        SHORT_EPOCHS.slow_dwell_s + SHORT_EPOCHS.good_dwell_s
    )
    print(
        f"share of time in slow epochs: {share:.3f} of 20 s, {expected:.3f} in the long run"
    )
    return 0 if all(ratio.holds() for ratio in ratios) else 1


if __name__ == "__main__":
    sys.exit(main())
