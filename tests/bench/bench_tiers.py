"""How true the emulated disks are: measured / declared, by fio, on this machine now.

    make bench NAME=tiers [ARGS="--repeats 10 --rows 6"]

Goal: the figures of docs/research/DISKS.md, made again anywhere. Method: one emulated disk, its
limits changed live; every figure in rounds, so that each repeat of a row lies minutes from the
next and all rows see the same machine. Host CPU stands beside each figure: above 90 % the machine
is measured and not the disk. Default: about 13 minutes. Exit 1 where a median misses its target.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.cli.common.app import App
from orchestrator.cli.common.console import LastingConsole
from orchestrator.cli.common.progress import ConsoleProgress
from orchestrator.parts import NodesData
from orchestrator.planning import project_files
from orchestrator.platforms.common.local_machine import LocalMachine
from orchestrator.powers import World
from orchestrator.system.clock import SystemClock
from orchestrator.tier import Tier
from orchestrator.tier_catalog import choose
from orchestrator.tiers import emulated
from orchestrator.tiers.common.emulated import (
    host_load,
    limit_changes,
    running_disks,
    server_limits,
)
from orchestrator.tiers.common.gate import (
    expected,
    fio_jobs,
    measured_checks,
    truth_gate,
)
from tests import ROOT
from tests.tiers import a_tier

LATENCIES_S = (0.0003, 0.0005, 0.001, 0.002, 0.005, 0.010)
BURST = {"iops": 500.0, "iops_burst": 3500.0, "iops_burst_length": 3.0}
CPU_IOPS = (1_100, 5_000, 10_000)
INTEGRITY = a_tier("integrity", "", "emulated", 5_000, 200_000_000)
RATE, LATENCY, LENGTH = 2.0, 8.0, 3.0  # percent; what the disk is built to reach
DISK_BYTES = 2 * 2**30
ALL = ("rows", "mix", "latency", "burst", "cpu", "integrity")
NO_LIMITS = {name: 0.0 for name in server_limits.CHANGEABLE if name != "burst_start"}


@dataclass
class Figure:
    """All repeats of one figure. `declared` None: reported, held against nothing."""

    name: str
    declared: float | None
    unit: str
    target_pct: float | None = None
    values: list[float] = field(default_factory=list)
    host_cpu_pct: list[float] = field(default_factory=list)

    def ratios(self) -> list[float]:
        return [value / (self.declared or 1.0) for value in self.values]

    def holds(self) -> bool:
        off_pct = abs(statistics.median(self.ratios()) - 1) * 100
        return self.target_pct is None or off_pct <= self.target_pct

    def line(self) -> str:
        ratios, cpu = self.ratios(), statistics.median(self.host_cpu_pct)
        shown = f"{min(ratios):7.4f} … {max(ratios):7.4f}  n={len(ratios):<2} CPU {cpu:3.0f} %"
        middle = statistics.median(ratios)
        if self.declared is None:
            return f"{self.name:44} {middle:7.4f} {self.unit:6} {shown}"
        target = f"±{self.target_pct:g} %" if self.target_pct else ""
        word = "" if self.target_pct is None else ("ok" if self.holds() else "OUTSIDE")
        return f"{self.name:44} {middle:7.4f}        {shown}  {target} {word}"


@dataclass(frozen=True)
class Bench:
    """One running emulated disk with fio on it."""

    world: World
    disk: str
    fio: fio_jobs.FioContainer

    def limits(self, **wanted: float) -> None:
        limit_changes.change(self.disk, {**NO_LIMITS, **wanted}, self.world)

    def job(
        self, runtime_s: float, name: str = "depth", **settings: object
    ) -> Mapping[str, Any]:
        """One cell of depth.fio, or a job of its own: `jobs[0]` of fio's JSON."""
        base = {
            "SIZE": "512m",
            "RAMP": "250ms",
            "READ_PCT": "100",
            "NUMJOBS": "1",
            "PAUSE_US": "0",
        }
        base |= {
            "RW": "randread",
            "BS": "4k",
            "RUNTIME": f"{round(runtime_s * 1000)}ms",
        }
        (found,) = self.fio.run(
            name, {**base, **{k: str(v) for k, v in settings.items()}}
        )
        return found

    def stats(self) -> dict[str, Any]:
        return running_disks.ask(self.disk, ("stats",), self.world)

    def record(self, figure: Figure, measure: Callable[[], float]) -> None:
        """One repeat, with the CPU of the whole machine meanwhile."""
        before = host_load.cpu_ticks(self.world.machine)
        figure.values.append(measure())
        after = host_load.cpu_ticks(self.world.machine)
        passed = max(1.0, after[1] - before[1])
        figure.host_cpu_pct.append(100 * (after[0] - before[0]) / passed)


@contextmanager
def bench(world: World) -> Iterator[Bench]:
    tier = a_tier("bench", "bench", "emulated", None, None)
    with emulated.EmulatedTier().attached(
        tier, NodesData([DISK_BYTES]), world
    ) as disks:
        (volume,) = disks.volumes
        assert volume.server is not None and volume.server.container is not None
        with fio_jobs.fio_on(volume, world) as fio:
            fio.run("prepare", {"SIZE": "512m"})
            yield Bench(world, volume.server.container, fio)


# ------------------------------------------------------------------ what is measured

Step = tuple[Figure, Callable[[], float]]


def rows(disk: Bench, count: int) -> Iterator[Step]:
    """IOPS and bytes/s of catalogue rows, spread evenly over all up to 20,000 IOPS."""
    for tier in catalogue_tiers(count):
        limits = server_limits.limits_of(tier)
        wanted = {key.replace("-", "_"): float(value) for key, value in limits.items()}
        del wanted["io_unit"]
        iops, rate = float(tier.limits.iops or 0), float(tier.limits.bytes_per_s or 0)

        def measure_iops(tier: Tier = tier, wanted: dict[str, float] = wanted) -> float:
            disk.limits(**wanted)
            seconds = min(3.0, max(0.8, 1_000 / (tier.limits.iops or 1)))
            done = disk.job(seconds, IODEPTH=expected.depth(tier))
            return fio_jobs.bytes_per_s(done) / measured_checks.IOPS_BLOCK_BYTES

        def measure_rate(wanted: dict[str, float] = wanted) -> float:
            disk.limits(**wanted)
            return fio_jobs.bytes_per_s(disk.job(1.0, RW="read", BS="256k", IODEPTH=32))

        yield Figure(f"{tier.title}: {iops:,.0f} IOPS", iops, "1/s", RATE), measure_iops
        reachable = min(rate, iops * 262_144)
        name = f"{tier.title}: {rate / 1e6:,.0f} MB/s"
        yield Figure(name, reachable, "bytes/s", RATE), measure_rate


def catalogue_tiers(count: int) -> list[Tier]:
    """Fixed sizes of the catalogue that differ in their limits, `count` of them."""
    rows = project_files.catalog(ROOT)
    found: dict[tuple[int, int], Tier] = {}
    for name in rows.names:
        _, kind, size = rows.find(name)
        if size and kind.emulate:
            tier = choose(rows, name, name, name).tier
            if (
                tier.limits.iops
                and tier.limits.bytes_per_s
                and tier.limits.iops <= 20_000
            ):
                found.setdefault((tier.limits.iops, tier.limits.bytes_per_s), tier)
    tiers = [found[key] for key in sorted(found)]
    if count >= len(tiers) or count < 2:
        return tiers[: max(1, count)]
    return [tiers[round(k * (len(tiers) - 1) / (count - 1))] for k in range(count)]


def mix(disk: Bench) -> Iterator[Step]:
    """Reads and writes, half each, against the cap of both together."""
    for iops in (1_100, 5_000):

        def measure(iops: int = iops) -> float:
            disk.limits(iops=iops, read_latency_us=1000, write_latency_us=1000)
            done = disk.job(1.0, RW="randrw", READ_PCT=50, IODEPTH=32)
            return fio_jobs.bytes_per_s(done) / measured_checks.IOPS_BLOCK_BYTES

        yield (
            Figure(f"50/50 mix against {iops:,} IOPS in total", iops, "1/s", RATE),
            measure,
        )


def latency(disk: Bench) -> Iterator[Step]:
    """Median of single requests, by the gate's own job. An asynchronous engine adds its own way,
    which is shown once and not judged."""

    def wanted(seconds: float) -> None:
        disk.limits(read_latency_us=seconds * 1e6, write_latency_us=seconds * 1e6)

    for seconds, way in itertools.product(LATENCIES_S, ("read", "write")):

        def measure(seconds: float = seconds, way: str = way) -> float:
            wanted(seconds)
            return fio_jobs.median_s(disk.job(0.8, "latency"), way)

        name = f"{way} latency, depth 1: {seconds * 1e3:g} ms"
        yield Figure(name, seconds, "s", LATENCY), measure

    def through_libaio() -> float:
        wanted(LATENCIES_S[0])
        return fio_jobs.median_s(disk.job(0.8, IODEPTH=1), "read")

    name = f"the same through libaio: {LATENCIES_S[0] * 1e3:g} ms"
    yield Figure(name, LATENCIES_S[0], "s"), through_libaio


def burst(disk: Bench) -> Iterator[Step]:
    length_s = BURST["iops_burst_length"]

    def measure() -> float:
        disk.limits(**BURST, burst_start=100)
        return burst_length_s(timeline(disk, length_s + 2.5))

    yield (
        Figure(
            f"burst of 3,500 over 500 IOPS for {length_s:g} s", length_s, "s", LENGTH
        ),
        measure,
    )


def timeline(disk: Bench, seconds: float) -> list[tuple[float, float]]:
    """(time, requests so far) of a full load, from the disk's own counters."""
    load = threading.Thread(
        target=lambda: disk.job(seconds, IODEPTH=64, RAMP="0"), name="load", daemon=True
    )
    argv = (
        "bash",
        "-c",
        f"for i in {{1..{round(seconds / 0.04)}}}; do device stats; sleep 0.04; done",
    )
    load.start()
    done = disk.world.platform.container(disk.disk).exec(argv, timeout_s=60)
    load.join()
    read = [json.loads(line) for line in done.out.splitlines()]
    return [(one["time_s"], one["read"]["ops"]) for one in read]


def burst_length_s(points: list[tuple[float, float]]) -> float:
    """Where the line through the burst meets the line through what follows it."""
    begun = next(
        k for k in range(1, len(points)) if points[k][1] - points[k - 1][1] > 20
    )
    start_s, first = points[begun - 1]
    (a, b), (c, d) = (
        statistics.linear_regression(
            *zip(*_between(points, start_s + since, start_s + until), strict=True)
        )
        for since, until in ((0.5, 2.4), (3.6, 5.0))
    )
    ended_s, began_s = (d - b) / (a - c), (first - b) / a
    return float(ended_s - began_s)


def _between(
    points: list[tuple[float, float]], since_s: float, until_s: float
) -> list[tuple[float, float]]:
    return [point for point in points if since_s < point[0] < until_s]


def cpu(disk: Bench) -> Iterator[Step]:
    """Cores that the server needs, from its CPU time per request."""
    for iops in CPU_IOPS:

        def measure(iops: int = iops) -> float:
            disk.limits(iops=iops, read_latency_us=1000, write_latency_us=1000)
            before = disk.stats()
            disk.job(1.0, IODEPTH=64)
            after = disk.stats()
            ops = after["read"]["ops"] - before["read"]["ops"]
            return float(iops * (after["cpu_s"] - before["cpu_s"]) / ops)

        yield Figure(f"CPU of the server at {iops:,} IOPS", None, "cores"), measure


def integrity(disk: Bench) -> Iterator[Step]:
    def measure() -> float:
        disk.limits(
            iops=float(INTEGRITY.limits.iops or 0),
            bytes_per_s=float(INTEGRITY.limits.bytes_per_s or 0),
        )
        settings = truth_gate._verify_settings(INTEGRITY, truth_gate.THOROUGH)
        return float(disk.fio.verified(settings))

    yield Figure("integrity: 60 s at depth 64, 4K to 256K", 1.0, "", 0.0), measure


# ------------------------------------------------------------------ running


def run(world: World, repeats: int, count: int, only: tuple[str, ...]) -> list[Figure]:
    with bench(world) as disk:
        parts: dict[str, list[Step]] = {
            "rows": list(rows(disk, count)),
            "mix": list(mix(disk)),
            "latency": list(latency(disk)),
            "burst": list(burst(disk)),
            "cpu": list(cpu(disk)),
            "integrity": list(integrity(disk)),
        }
        chosen = [step for part in only for step in parts[part]]
        for repeat in range(1, repeats + 1):
            for figure, measure in chosen:
                if figure.target_pct == 0.0 and repeat > 1:  # a minute; once is enough
                    continue
                world.progress.step(f"round {repeat} of {repeats}: {figure.name}")
                disk.record(figure, measure)
        return [figure for figure, _ in chosen]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=10, help="of every figure")
    parser.add_argument("--rows", type=int, default=6, help="of the catalogue")
    parser.add_argument(
        "--only", default=" ".join(ALL), help=f"some of: {' '.join(ALL)}"
    )
    parser.add_argument("--json", type=Path, help="also write all values here")
    asked = parser.parse_args()
    only = tuple(asked.only.split())
    if unknown := set(only) - set(ALL):
        parser.error(f"--only: {', '.join(unknown)}; there is {', '.join(ALL)}")
    progress = ConsoleProgress(LastingConsole(stderr=True), SystemClock())
    started = time.monotonic()
    cache = ROOT / ".cache" / "bench"
    app = App(cache=cache, progress=progress)
    world = app.world()
    with app.alone(world.platform):
        figures = run(world, asked.repeats, asked.rows, only)
    progress.done()
    print(f"{'figure':44} median         least     most")
    for figure in figures:
        print(figure.line())
    machine = LocalMachine().facts()
    print(
        f"\nratios are measured / declared; {machine.cpus} × {machine.cpu_model}, "
        f"kernel {machine.kernel}, {time.monotonic() - started:.0f} s"
    )
    if asked.json:
        asked.json.write_text(
            json.dumps([asdict(figure) for figure in figures], indent=1)
        )
    return 0 if all(figure.holds() for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
