"""The truth gate: fio on the mounted tier, held against what the tier declares.

A tier is believed only after it: IOPS and bytes/s within 5 %, latency at queue depth 1 within
15 %, and every byte read back as written. It measures the base limits: burst credit is left out of
it, because a gate of seconds would measure the credit and not the disk.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from orchestrator import images
from orchestrator.errors import GateError
from orchestrator.model import Gate, GateCheck, Tier, Volume
from orchestrator.protocols import ContainerSpec, Mount, World

RATE_TOLERANCE_PCT = 5.0
LATENCY_TOLERANCE_PCT = 15.0
# Enough requests in flight to reach the cap through the latency (Little), within what a loop
# device queues (128).
_IOPS_BLOCK_BYTES = 4096
_MIN_DEPTH, _MAX_DEPTH = 32, 128
_DEPTH_RESERVE = 4
_JOB_TIMEOUT_S = 300.0
_OUTPUT = "/tmp/fio.json"  # not its standard output, where warnings come first
_QUICK = {
    "DIR": "/tier",
    "SIZE": "64m",
    "RAMP": "150ms",
    "RUNTIME": "700ms",
    "VERIFY_SIZE": "16m",
    "VERIFY_JOBS": "1",
    "VERIFY_LOOPS": "1",
}


def take(tier: Tier, volume: Volume, device: Mapping[str, Any], world: World) -> Gate:
    """Runs fio on `volume`, which must be empty. GateError where fio itself cannot run."""
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
    )
    settings = {**_QUICK, "IODEPTH": str(_depth(tier))}
    checks: list[GateCheck] = []
    with world.containers.running(spec) as container:
        for job in ("prepare", "iops", "bytes", "latency", "fsync", "verify"):
            world.tell.step(f"truth gate of {tier.name}: {job}")
            done = world.containers.exec(
                container.name,
                ("fio", "--output-format=json", f"--output={_OUTPUT}", f"/fio/{job}.fio"),
                env=settings,
                timeout_s=_JOB_TIMEOUT_S,
            )
            if job == "verify":
                checks.append(_integrity(done.exit_code))
            elif done.exit_code != 0:
                raise GateError(
                    f"fio could not run {job} on {tier.name}: {done.err.strip()[-300:]}",
                    evidence=done.out[-2000:],
                )
            else:
                written = world.containers.exec(container.name, ("cat", _OUTPUT), timeout_s=30)
                checks.extend(_READERS[job](tier, json.loads(written.out)["jobs"]))
    return Gate(tier.name, world.clock.now(), tuple(checks), dict(device))


def _depth(tier: Tier) -> int:
    latency_s = max(tier.read_latency_s or 0.0, tier.write_latency_s or 0.0)
    needed = _DEPTH_RESERVE * (tier.iops or 0) * latency_s
    return int(min(_MAX_DEPTH, max(_MIN_DEPTH, needed)))


def _prepared(_tier: Tier, _jobs: Sequence[Mapping[str, Any]]) -> Iterator[GateCheck]:
    return iter(())


def _iops(tier: Tier, jobs: Sequence[Mapping[str, Any]]) -> Iterator[GateCheck]:
    for job in jobs:
        # From bytes: fio's own "iops" counts the time of the last requests but not the requests.
        rate = (job["read"]["bw_bytes"] + job["write"]["bw_bytes"]) / _IOPS_BLOCK_BYTES
        label = f"IOPS, 4 KiB random {job['jobname'].removeprefix('iops-')}"
        yield _check(label, "1/s", tier.iops, rate, RATE_TOLERANCE_PCT, more_is_faster=True)


def _bytes(tier: Tier, jobs: Sequence[Mapping[str, Any]]) -> Iterator[GateCheck]:
    for job in jobs:
        rate = job["read"]["bw_bytes"] + job["write"]["bw_bytes"]
        label = f"bandwidth, 256 KiB sequential {job['jobname'].removeprefix('bytes-')}"
        yield _check(
            label, "bytes/s", tier.bytes_per_s, rate, RATE_TOLERANCE_PCT, more_is_faster=True
        )


def _latency(tier: Tier, jobs: Sequence[Mapping[str, Any]]) -> Iterator[GateCheck]:
    for way, declared in (("read", tier.read_latency_s), ("write", tier.write_latency_s)):
        # The median: the mean also measures how long fio waited for a processor.
        median_s = jobs[0][way]["lat_ns"]["percentile"]["50.000000"] * 1e-9
        yield _check(
            f"median latency at queue depth 1, {way}",
            "s",
            declared,
            median_s,
            LATENCY_TOLERANCE_PCT,
            more_is_faster=False,
        )


def _fsync(_tier: Tier, jobs: Sequence[Mapping[str, Any]]) -> Iterator[GateCheck]:
    mean_s = jobs[0]["sync"]["lat_ns"]["mean"] * 1e-9
    yield _check("fdatasync after 8 KiB", "s", None, mean_s, 0.0, more_is_faster=False)


def _integrity(exit_code: int) -> GateCheck:
    return GateCheck(
        limit="integrity: blocks that did not read back as written",
        unit="",
        declared=0.0,
        measured=0.0 if exit_code == 0 else 1.0,
        tolerance_pct=0.0,
        verdict="ok" if exit_code == 0 else "failed",
    )


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
        return GateCheck(limit, unit, declared, measured, tolerance_pct, "faster than declared")
    return GateCheck(limit, unit, declared, measured, tolerance_pct, "slow")


_READERS = {
    "prepare": _prepared,
    "iops": _iops,
    "bytes": _bytes,
    "latency": _latency,
    "fsync": _fsync,
}
