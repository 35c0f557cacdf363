"""The truth gate: fio on the mounted tier, held against what the tier declares.

A tier is believed only after it: IOPS and bytes/s within 5 %, latency at queue depth 1 within
15 %, and every byte read back as written. It measures the base limits: burst credit is left out of
it, because a gate of seconds would measure the credit and not the disk.

Quick (before a campaign, about 10 s) or thorough (`calibrate`, minutes): longer windows, the
ladder of queue depths, block sizes between, and a minute of integrity.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from orchestrator import images
from orchestrator.errors import GateError
from orchestrator.model import Gate, GateCheck, Tier, Volume
from orchestrator.protocols import ContainerSpec, Mount, World

RATE_TOLERANCE_PCT = 5.0
LATENCY_TOLERANCE_PCT = 15.0
# Enough requests in flight to reach the cap through the latency (Little), within what a loop
# device queues (128).
IOPS_BLOCK_BYTES = 4096
_MIN_DEPTH, _MAX_DEPTH = 32, 128
_DEPTH_RESERVE = 4
_JOB_TIMEOUT_S = 600.0
_OUTPUT = "/tmp/fio.json"  # not its standard output, where warnings come first
_MIB = 2**20
_UNTHROTTLED_BYTES_PER_S = 300 * _MIB  # a guess, only to size the integrity pass
_VERIFY_BLOCK_BYTES = 130 * 1024  # mean of 4 to 256 KiB
_REACHED = 0.95  # of the cap: the knee of the ladder

Jobs = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Effort:
    """How long the gate looks. `ramp`, `runtime` and `size` as fio writes them; `ladder` and
    `block_bytes`: steps of 4 KiB random reads, and of block sizes at the cap."""

    size: str
    ramp: str
    runtime: str
    verify_bytes: int
    verify_s: float = 0.0  # 0: one pass
    ladder: tuple[int, ...] = ()
    block_bytes: tuple[int, ...] = ()


QUICK = Effort("64m", "150ms", "700ms", verify_bytes=16 * _MIB)
THOROUGH = Effort(
    "1g",
    "1s",
    "5s",
    verify_bytes=256 * _MIB,
    verify_s=60.0,
    ladder=(1, 2, 4, 8, 16, 32, 64, 128),
    block_bytes=(65_536, 131_072, 262_144),
)


def take(
    tier: Tier,
    volume: Volume,
    device: Mapping[str, Any],
    world: World,
    *,
    thorough: bool = False,
    effort: Effort | None = None,
    caps_total: bool = True,
) -> Gate:
    """Runs fio on `volume`, which must be empty. GateError where fio itself cannot run.

    `caps_total`: one cap holds for reads and writes together; False: a mix is only measured.
    """
    effort = effort or (THOROUGH if thorough else QUICK)
    if not caps_total:
        device = {**device, "total_cap": False}
    with fio_on(volume, world) as fio:
        checks = tuple(_checks(tier, fio, effort, caps_total, world))
    return Gate(tier.name, world.clock.now(), checks, dict(device))


def _checks(
    tier: Tier, fio: Fio, effort: Effort, caps_total: bool, world: World
) -> Iterator[GateCheck]:
    settings = {
        "SIZE": effort.size,
        "RAMP": effort.ramp,
        "RUNTIME": effort.runtime,
        "IODEPTH": str(depth(tier)),
    }

    def job(name: str, **more: str) -> Jobs:
        world.tell.step(f"truth gate of {tier.name}: {name}")
        return fio.run(name, {**settings, **more})

    job("prepare")
    yield from _iops(tier, job("iops"), caps_total)
    yield from _bytes(tier, job("bytes"))
    yield from _latency(tier, job("latency"))
    yield from _fsync(job("fsync"))
    yield from _ladder(tier, [(step, job("depth", **_cell(step, "4k"))) for step in effort.ladder])
    for size in effort.block_bytes:
        cell = _cell(depth(tier), f"{size // 1024}k")
        yield _block(tier, size, job("depth", **cell))
    world.tell.step(f"truth gate of {tier.name}: integrity", effort.verify_s or None)
    yield _integrity(fio.verified(_verify_settings(tier, effort)))


def _cell(iodepth: int, block: str) -> dict[str, str]:
    """Random reads as one cell of depth.fio."""
    return {
        "RW": "randread",
        "READ_PCT": "100",
        "NUMJOBS": "1",
        "BS": block,
        "IODEPTH": str(iodepth),
    }


def _verify_settings(tier: Tier, effort: Effort) -> dict[str, str]:
    """As many passes as take about `verify_s`: each writes its bytes and reads them back."""
    rate = min(
        tier.bytes_per_s or _UNTHROTTLED_BYTES_PER_S,
        (tier.iops or _UNTHROTTLED_BYTES_PER_S) * _VERIFY_BLOCK_BYTES,
        _UNTHROTTLED_BYTES_PER_S,
    )
    passes = round(effort.verify_s * rate / (2 * effort.verify_bytes))
    return {
        "VERIFY_SIZE": str(effort.verify_bytes),
        "VERIFY_JOBS": "1",
        "VERIFY_LOOPS": str(max(1, passes)),
    }


# ------------------------------------------------------------------ fio


@dataclass(frozen=True)
class Fio:
    """fio in a container that has the tier mounted; its jobs are `workloads/fio/*.fio`."""

    container: str
    world: World

    def run(self, job: str, settings: Mapping[str, str]) -> Jobs:
        """Runs a job to its end. `jobs[]` of fio's JSON; GateError where fio cannot run."""
        done = self._run(job, settings)
        if done.exit_code != 0:
            raise GateError(
                f"fio could not run {job}: {done.err.strip()[-300:]}", evidence=done.out[-2000:]
            )
        written = self.world.containers.exec(self.container, ("cat", _OUTPUT), timeout_s=30)
        return list(json.loads(written.out)["jobs"])

    def verified(self, settings: Mapping[str, str]) -> bool:
        """Whether every block read back as written."""
        return bool(self._run("verify", settings).exit_code == 0)

    def _run(self, job: str, settings: Mapping[str, str]) -> Any:
        return self.world.containers.exec(
            self.container,
            ("fio", "--output-format=json", f"--output={_OUTPUT}", f"/fio/{job}.fio"),
            env={"DIR": "/tier", **settings},
            timeout_s=_JOB_TIMEOUT_S,
        )


@contextmanager
def fio_on(volume: Volume, world: World) -> Iterator[Fio]:
    """A container with fio and the volume, held to the volume's caps as a database would be."""
    spec = ContainerSpec(
        name="tierbench-gate",
        image=images.need(world.root, "disk", world.containers),
        entrypoint=("sleep",),
        command=("infinity",),
        role="client",
        init=True,
        stop_timeout_s=1,
        mounts=(
            Mount(volume.name, "/tier"),
            Mount(str(world.root / "workloads" / "fio"), "/fio", read_only=True),
        ),
        io_caps=volume.caps,
    )
    with world.containers.running(spec) as container:
        yield Fio(container.name, world)


def depth(tier: Tier) -> int:
    """The queue depth that reaches the tier's IOPS through its latency, with reserve."""
    latency_s = max(tier.read_latency_s or 0.0, tier.write_latency_s or 0.0)
    needed = _DEPTH_RESERVE * (tier.iops or 0) * latency_s
    return int(min(_MAX_DEPTH, max(_MIN_DEPTH, needed)))


def bytes_per_s(job: Mapping[str, Any]) -> float:
    """Both ways together. From bytes: fio's own "iops" counts the time of the last requests but
    not the requests."""
    return float(job["read"]["bw_bytes"] + job["write"]["bw_bytes"])


def median_s(job: Mapping[str, Any], way: str) -> float:
    """Latency. The mean also measures how long fio waited for a processor."""
    return float(job[way]["lat_ns"]["percentile"]["50.000000"] * 1e-9)


# ------------------------------------------------------------------ checks


def _iops(tier: Tier, jobs: Jobs, caps_total: bool) -> Iterator[GateCheck]:
    for job in jobs:
        way = job["jobname"].removeprefix("iops-")
        declared = tier.iops if caps_total or way != "mixed" else None
        rate = bytes_per_s(job) / IOPS_BLOCK_BYTES
        yield _rate(f"IOPS, 4 KiB random {way}", "1/s", declared, rate)


def _bytes(tier: Tier, jobs: Jobs) -> Iterator[GateCheck]:
    for job in jobs:
        limit = f"bandwidth, 256 KiB sequential {job['jobname'].removeprefix('bytes-')}"
        declared = _reachable_bytes_per_s(tier, 262_144)
        yield _rate(limit, "bytes/s", declared, bytes_per_s(job))


def _latency(tier: Tier, jobs: Jobs) -> Iterator[GateCheck]:
    for way, declared in (("read", tier.read_latency_s), ("write", tier.write_latency_s)):
        yield _check(
            f"median latency at queue depth 1, {way}",
            "s",
            declared,
            median_s(jobs[0], way),
            LATENCY_TOLERANCE_PCT,
            more_is_faster=False,
        )


def _fsync(jobs: Jobs) -> Iterator[GateCheck]:
    mean_s = jobs[0]["sync"]["lat_ns"]["mean"] * 1e-9
    yield _check("fdatasync after 8 KiB", "s", None, mean_s, 0.0, more_is_faster=False)


def _ladder(tier: Tier, steps: Sequence[tuple[int, Jobs]]) -> Iterator[GateCheck]:
    """IOPS at each depth, for information, and the depth where the cap is reached.

    Below the cap, IOPS = depth / latency; so the cap is reached at cap × latency (Little's law).
    """
    rates = {step: bytes_per_s(jobs[0]) / IOPS_BLOCK_BYTES for step, jobs in steps}
    for step, rate in rates.items():
        yield _rate(f"IOPS, 4 KiB random read at queue depth {step}", "1/s", None, rate)
    if not rates:
        return
    cap = tier.iops or max(rates.values())
    knee = next((step for step, rate in rates.items() if rate >= _REACHED * cap), None)
    if knee is None:
        deepest = max(rates)
        limit = f"IOPS at queue depth {deepest}, where the cap should be reached"
        yield _rate(limit, "1/s", tier.iops, rates[deepest])
        return
    by_law = f" (cap × latency: {cap * tier.read_latency_s:.1f})" if tier.read_latency_s else ""
    limit = f"queue depth at which reads reach the cap{by_law}"
    yield GateCheck(limit, "", None, float(knee), None, "not declared")


def _block(tier: Tier, size: int, jobs: Jobs) -> GateCheck:
    limit = f"bandwidth, {size // 1024} KiB random read"
    return _rate(limit, "bytes/s", _reachable_bytes_per_s(tier, size), bytes_per_s(jobs[0]))


def _reachable_bytes_per_s(tier: Tier, block_bytes: int) -> float | None:
    """What both limits let through at a block size; an I/O beyond the tier's unit counts as
    several."""
    through_iops = None
    if tier.iops:
        per_io = -(-block_bytes // tier.io_unit_bytes)
        through_iops = tier.iops * block_bytes / per_io
    known = [one for one in (tier.bytes_per_s, through_iops) if one is not None]
    return min(known, default=None)


def _integrity(verified: bool) -> GateCheck:
    return GateCheck(
        limit="integrity: blocks that did not read back as written",
        unit="",
        declared=0.0,
        measured=0.0 if verified else 1.0,
        tolerance_pct=0.0,
        verdict="ok" if verified else "failed",
    )


def _rate(limit: str, unit: str, declared: float | None, measured: float) -> GateCheck:
    return _check(limit, unit, declared, measured, RATE_TOLERANCE_PCT, more_is_faster=True)


def _check(
    limit: str,
    unit: str,
    declared: float | None,
    measured: float,
    tolerance_pct: float,
    *,
    more_is_faster: bool,
) -> GateCheck:
    if declared is None:
        return GateCheck(limit, unit, None, measured, None, "not declared")
    off_pct = (measured / declared - 1) * 100
    if abs(off_pct) <= tolerance_pct:
        return GateCheck(limit, unit, declared, measured, tolerance_pct, "ok")
    faster = (off_pct > 0) == more_is_faster
    if faster:
        return GateCheck(
            limit, unit, declared, measured, tolerance_pct, "faster than declared (cache or burst)"
        )
    return GateCheck(limit, unit, declared, measured, tolerance_pct, "slow")
