"""A real disk measured into the small file that can be rehearsed anywhere (`recorded_disk`).

fio works in a folder of its own on the mounted disk, as for the truth gate of a mounted tier, but
there is nothing to hold it against: how many requests and bytes a second the disk lets through,
how long a single request takes, and whether its rate falls under a lasting load."""

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from orchestrator import __version__, model, powers
from orchestrator.design import latency_quantiles
from orchestrator.errors import GateError
from orchestrator.planning import recorded_disk
from orchestrator.planning.recorded_disk import (
    RecordedBurst,
    RecordedDisk,
    RecordedLimits,
)
from orchestrator.system.clock import stamp
from orchestrator.tier import Limits, Quantiles, RealDisks, Tier
from orchestrator.tiers.common.gate import fio_jobs, measured_checks
from orchestrator.tiers.common.gate.fio_jobs import (
    FioContainer,
    Jobs,
    in_ms,
    random_reads,
)
from orchestrator.tiers.common.real import node_places, real_disk

# The depth that a loop device queues: no emulated disk sees more in flight.
_DEPTH = 128
_LARGE_DEPTH = 32
_RAMP = "500ms"
_PROBE_S = 1.0  # how long a lone request is timed, to choose the pause between them
# Share of the disk's rate, as in the truth gate: a lone request never waits for a cap.
_UNHURRIED = 0.5
_ASKING = real_disk.Asking("say --allow-root-disk", "say --quick for a smaller file")
# Of the lasting load: how long a step is, and how many of the first show the peak.
_STEP_S = 5.0
_FIRST_STEPS = 3
_FALLEN = 0.9  # a rate below this share of the first ones: the burst is over
_ROOM = 1.25  # factor of fio's file: the file system needs some


@dataclass(frozen=True)
class RecordingEffort:
    """How much is measured: the size of fio's file, the time for each rate, for single requests
    (reads and writes in turn), and for a lasting load that may end a burst."""

    file_bytes: int = 2**30
    rate_s: float = 10.0
    latency_s: float = 90.0
    hold_s: float = 0.0


QUICK = RecordingEffort(2**28, rate_s=1.0, latency_s=10.0)


@contextmanager
def fio_at(
    path: Path,
    file_bytes: int,
    world: powers.World,
    allow_root_disk: bool,
    alone: Callable[[powers.Platform], AbstractContextManager[object]] = nullcontext,
) -> Iterator[tuple[FioContainer, dict[str, Any]]]:
    """fio in a folder of its own on the disk mounted at `path`, removed again, and what the disk
    is. Raises as `real_disk.believable` and `alone` do.

    alone: excludes other campaigns on the platform.
    """
    where = str(path)
    disk_at = RealDisks(path=where, allow_root_disk=allow_root_disk)
    # Nothing is declared of it, so there is nothing to hold it against.
    tier = Tier("recorded", where, Limits(), disk_at)
    node_places.require_one_machine(tier, world)
    machine = world.machine
    # A path without a disk is told at once, and not when another campaign has ended.
    needed_bytes = round(_ROOM * file_bytes)
    disk = real_disk.believable(tier, where, needed_bytes, machine, _ASKING)
    with alone(world.platform):
        folders = real_disk.folders(disk.path, ["record"], world)
        with real_disk.watched(disk, machine), folders as (folder,):
            volume = model.Volume(str(folder), disk.node, restored=False)
            with fio_jobs.fio_on(volume, world) as fio:
                yield fio, real_disk.facts(node_places.DiskPath(where), disk, machine)


def record(
    path: Path,
    effort: RecordingEffort,
    world: powers.World,
    allow_root_disk: bool,
    fio_at: Callable[..., AbstractContextManager[tuple[Any, dict[str, Any]]]] = fio_at,
) -> RecordedDisk:
    """Measures the disk mounted at `path`. Raises as `fio_at` does; GateError if fio cannot run or
    times no request."""
    began = world.clock.monotonic()
    began_at = stamp(world.clock.now())
    with fio_at(path, effort.file_bytes, world, allow_root_disk) as (fio, facts):
        version = fio.container.exec(("fio", "--version"), timeout_s=30).out
        world.progress.step("writing the file to work on")
        fio.run("prepare", {"SIZE": str(effort.file_bytes)})
        burst = _burst(fio, effort, world)  # first, while there is credit
        limits = _limits(fio, effort, world)
        reads, writes = _latencies(fio, effort, limits, world)
    took_s = round(world.clock.monotonic() - began, 1)
    measured: dict[str, Any] = {
        "began": began_at,
        "took_s": took_s,
        "fio": version.strip(),
        "tierbench": __version__,
        "kernel": world.machine.facts().kernel,
        "reads_timed": reads.requests,
        "writes_timed": writes.requests,
    }
    disk = str(facts.get("model") or facts["device"])
    latency = recorded_disk.RecordedLatency(
        read_quantiles_s=reads.quantiles_s, write_quantiles_s=writes.quantiles_s
    )
    return RecordedDisk(
        schema_version=1,
        source=f"`tierbench disk record` of {disk} at {path}",
        as_of=_day_of(began_at),
        limits=limits,
        latency=latency,
        burst=burst,
        measured=measured,
        device=facts,
    )


def _day_of(moment: str) -> str:
    """`2026-11-30` of a stamp, which begins with the eight digits of its day."""
    return f"{moment[:4]}-{moment[4:6]}-{moment[6:8]}"


def _limits(
    fio: FioContainer, effort: RecordingEffort, world: powers.World
) -> RecordedLimits:
    settings = {
        "SIZE": str(effort.file_bytes),
        "RAMP": _RAMP,
        "RUNTIME": in_ms(effort.rate_s),
    }
    # The job reads, writes and does both, one after the other.
    world.progress.step("how many requests a second", 3 * effort.rate_s)
    small = fio.run("iops", {**settings, "IODEPTH": str(_DEPTH)})
    read, write, mixed = (_iops(job) for job in small)
    world.progress.step("how many bytes a second", 2 * effort.rate_s)
    large = fio.run("bytes", {**settings, "IODEPTH": str(_LARGE_DEPTH)})
    read_bytes, write_bytes = (round(fio_jobs.bytes_per_s(job)) for job in large)
    return RecordedLimits(
        iops_read=round(read, 1),
        iops_write=round(write, 1),
        iops_mixed=round(mixed, 1),
        bytes_per_s_read=read_bytes,
        bytes_per_s_write=write_bytes,
    )


def _iops(job: Mapping[str, Any]) -> float:
    """The IOPS of a job whose requests are small ones."""
    return fio_jobs.bytes_per_s(job) / measured_checks.IOPS_BLOCK_BYTES


@dataclass(frozen=True)
class _Timed:
    """How long single requests of one direction took, and how many were timed."""

    quantiles_s: Quantiles
    requests: int


def _latencies(
    fio: FioContainer,
    effort: RecordingEffort,
    limits: RecordedLimits,
    world: powers.World,
) -> tuple[_Timed, _Timed]:
    """The latencies of single reads, and of single writes."""

    def timed(seconds: float, pause_s: float) -> Jobs:
        settings = {
            "SIZE": str(effort.file_bytes),
            "RAMP": _RAMP,
            "RUNTIME": in_ms(seconds),
            "PAUSE_US": str(round(1e6 * pause_s)),
        }
        return fio.run("latency", settings)

    world.progress.step("how long a single request takes", effort.latency_s)
    # A slow disk limits a lone request by its latency: a pause would only cost requests.
    alone_per_s = _iops(timed(_PROBE_S, 0.0)[0])
    # The job has reads and writes in turn, so the lowest of the rates holds it up first.
    lowest_iops = min(limits.iops_read, limits.iops_write, limits.iops_mixed)
    unhurried_per_s = _UNHURRIED * lowest_iops
    pause_s = 0.0
    if alone_per_s > unhurried_per_s:
        pause_s = 1 / unhurried_per_s
    job = timed(effort.latency_s, pause_s)[0]
    return _timed(job, "read"), _timed(job, "write")


def _timed(job: Mapping[str, Any], way: str) -> _Timed:
    """What fio's histogram says of a direction. GateError if it is empty."""
    latencies = job[way]["lat_ns"]
    counts: dict[float, int] = {}
    for ns, count in latencies.get("bins", {}).items():
        # fio names its bins by nanoseconds.
        counts[int(ns) / 1e9] = int(count)
    try:
        quantiles_s = latency_quantiles.of_histogram(counts)
    except ValueError as error:  # too slow a disk for so short a time
        raise GateError(
            f"fio timed no {way}: {error}", advice="measure for longer"
        ) from error
    return _Timed(quantiles_s, latencies["N"])


class StepRate(NamedTuple):
    """The rate of a step of a lasting load. `at_s`: since the load began."""

    at_s: float
    iops: float


def _burst(
    fio: FioContainer, effort: RecordingEffort, world: powers.World
) -> RecordedBurst | None:
    """What a load that lasts `hold_s` shows of a burst; None if its rate did not fall."""
    settings = {**random_reads(_DEPTH), "RAMP": "0", "SIZE": str(effort.file_bytes)}
    begin_s = world.clock.monotonic()
    rates: list[StepRate] = []
    while True:
        at_s = world.clock.monotonic() - begin_s
        if at_s >= effort.hold_s:
            return burst_in(rates)
        left_s = effort.hold_s - at_s
        world.progress.step("does its rate fall under a lasting load", left_s)
        jobs = fio.run("depth", {**settings, "RUNTIME": in_ms(_STEP_S)})
        rates.append(StepRate(at_s, _iops(jobs[0])))


def burst_in(rates: Sequence[StepRate]) -> RecordedBurst | None:
    """The burst that a lasting load has shown: where the rate falls and stays low."""
    if len(rates) <= _FIRST_STEPS:
        return None
    # A median, because a single disturbed step would raise or hide the peak.
    peak = statistics.median(step.iops for step in rates[:_FIRST_STEPS])
    low = len(rates)
    # The search begins at the end: a rate that fell and rose again was no burst that ended.
    # It ends at the first steps, of which one is no slower than their median.
    while rates[low - 1].iops < _FALLEN * peak:
        low -= 1
    if low == len(rates):
        return None
    base = statistics.median(step.iops for step in rates[low:])
    return RecordedBurst(
        iops=round(peak, 1), base_iops=round(base, 1), duration_s=rates[low].at_s
    )
