"""The truth gate: fio on the mounted tier, held against what the tier declares (docs/TIERS.md).

Each check is held against what all limits together let through (`expected`), and those are the base
limits: burst credit is left out of an emulated disk, because a gate of seconds would measure the
credit and not the disk; a real disk may be bursting, unless that is used up first (`drain`)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.facts import GateQuantity, GateWord
from orchestrator.parts import Disks
from orchestrator.powers import World
from orchestrator.tier import Cgroup, Gate, GateCheck, Tier
from orchestrator.tiers.common.emulated import host_load
from orchestrator.tiers.common.gate import drain, expected, fio_jobs
from orchestrator.tiers.common.gate.fio_jobs import FioContainer, Jobs, StartFio
from orchestrator.units import parse_seconds

RATE_TOLERANCE_PCT = 5.0
LATENCY_TOLERANCE_PCT = 15.0
IOPS_BLOCK_BYTES = 4096
_LARGE_BYTES = 262_144
_LARGE_DEPTH = 16
_FEWEST_IOS = 60  # of a rate: one more or less is then within its tolerance
_FEWEST_TIMED_IOS = 24
_MIB = 2**20
_UNTHROTTLED_BYTES_PER_S = 300 * _MIB  # a guess, only to size the integrity pass
_VERIFY_BLOCK_BYTES = 130 * 1024  # mean of 4 to 256 KiB
_REACHED = 0.95  # of the cap: the knee of the ladder


@dataclass(frozen=True)
class Effort:
    """How long the gate measures. `ramp`, `runtime` and `size` are in fio's notation; `ladder`:
    queue depths for 4 KiB random reads; `block_bytes`: block sizes to read at the cap."""

    size: str
    ramp: str
    runtime: str
    verify_bytes: int
    verify_s: float = 0.0  # 0: one pass
    ladder: tuple[int, ...] = ()
    block_bytes: tuple[int, ...] = ()


QUICK = Effort("64m", "150ms", "700ms", verify_bytes=16 * _MIB)
THOROUGH = Effort(
    "1g", "1s", "5s", verify_bytes=256 * _MIB, verify_s=60.0,
    ladder=(1, 2, 4, 8, 16, 32, 64, 128), block_bytes=(65_536, 131_072, 262_144),
)  # fmt: skip


def take(
    tier: Tier,
    disks: Disks,
    world: World,
    *,
    thorough: bool = False,
    quick: Effort = QUICK,
    drained: bool = False,
    start: StartFio = fio_jobs.fio_on,
) -> Gate:
    """Runs fio on the only one of `disks`, which must be empty. GateError if fio itself cannot run.
    `drained`: burst credit is used up first, and only the base limits count. Facts of the disk and
    how busy the machine was become the gate's `device`."""
    (volume,) = disks.volumes
    before = host_load.read(volume, world)
    credit = None
    if drained:
        credit = drain.Credit(tier, world)
    with start(volume, world) as fio:
        effort = quick
        if thorough:
            effort = THOROUGH
        checks = []
        checked_s = {}
        for check in _checks(tier, fio, effort, world, credit):
            checks.append(check)
            checked_s[check.quantity] = world.clock.now()
    load = host_load.since(before, host_load.read(volume, world))
    if isinstance(tier.disk, Cgroup):
        apart = {"total_cap": False}
    else:
        apart = {}
    more = {**apart, **load, "checked_s": checked_s}
    if credit:
        more["drained"] = credit.drained
    return Gate(tier.name, world.clock.now(), tuple(checks), {**disks.facts, **more})


Taken = tuple[str, str, tuple[str, ...], Gate]
"""By which key records know a disk, its title, the nodes that use it, and its gate."""


def of_disks(
    tier: Tier, mechanism: Mapping[str, Any], taken: Sequence[Taken], world: World
) -> Gate:
    """The gates of several disks as one: its checks say which disk they are of, and its facts are
    those of all, with how busy a machine was at the worst."""
    checks = tuple(
        replace(check, disk=title, nodes=nodes)
        for _, title, nodes, gate in taken
        for check in gate.checks
    )
    disks = {key: dict(gate.device) for key, _, _, gate in taken}
    busy_pct = max(float(device.get("host_cpu_pct", 0.0)) for device in disks.values())
    device = {**mechanism, "disks": disks, "host_cpu_pct": busy_pct}
    return Gate(tier.name, world.clock.now(), checks, device)


def _checks(
    tier: Tier,
    fio: FioContainer,
    effort: Effort,
    world: World,
    credit: drain.Credit | None,
) -> Iterator[GateCheck]:
    ramp_s = max(parse_seconds(effort.ramp), credit.ramp_s if credit else 0.0)
    settings = {
        "SIZE": effort.size,
        "RAMP": fio_jobs.in_ms(ramp_s),
        "RUNTIME": effort.runtime,
    }
    bursting = tier
    tier = tier
    if credit:
        tier = credit.base

    def job(name: str, least_s: float = 0.0, **more: str) -> Jobs:
        world.progress.step(f"truth gate of {tier.name}: {name}")
        runtime = fio_jobs.in_ms(max(parse_seconds(effort.runtime), least_s))
        return fio.run(name, {**settings, "RUNTIME": runtime, **more})

    def rate(block: int, least_s: float) -> float:
        (cell,) = job(
            "depth", least_s, **fio_jobs.random_reads(expected.depth(bursting), block)
        )
        return fio_jobs.bytes_per_s(cell) / block

    def empty(*blocks_bytes: int) -> None:
        if credit:
            credit.use_up(blocks_bytes, rate)

    job("prepare")
    deep = expected.depth(tier)
    large = expected.depth(tier, _LARGE_BYTES, _LARGE_DEPTH)
    empty(*drain.at_both_peaks_bytes(bursting), IOPS_BLOCK_BYTES)
    yield from _rates(tier, job("iops", _window_s(tier), IODEPTH=str(deep)), deep)
    empty(_LARGE_BYTES)
    window_s = _window_s(tier, _LARGE_BYTES)
    yield from _rates(tier, job("bytes", window_s, IODEPTH=str(large)), large)
    if credit:
        yield from credit.never_fell()
    pause_s = expected.pause_s(tier)
    tail_s = expected.tail_window_s(tier, thorough=bool(effort.ladder))
    timing_s = max(_FEWEST_TIMED_IOS * pause_s, tail_s)
    alone = job("latency", timing_s, PAUSE_US=str(round(1e6 * pause_s)))
    yield from _latency(tier, alone)
    yield from expected.tail_checks(tier, alone[0])
    sync_s = job("fsync")[0]["sync"]["lat_ns"]["mean"] * 1e-9
    yield GateCheck(
        "fdatasync after 8 KiB", "s", None, sync_s, None, "not declared", "fdatasync"
    )
    window_s = _window_s(tier)
    empty(*(IOPS_BLOCK_BYTES for _ in effort.ladder[:1]))
    steps = [
        (at, job("depth", window_s, **fio_jobs.random_reads(at)))
        for at in effort.ladder
    ]
    yield from _ladder(tier, steps)
    for size in effort.block_bytes:
        cell = job("depth", _window_s(tier, size), **fio_jobs.random_reads(deep, size))[
            0
        ]
        what: _What = (
            "bandwidth_at_size",
            f"bandwidth, {size // 1024} KiB random read",
            1.0,
        )
        yield _rate(tier, what, fio_jobs.bytes_per_s(cell), size, deep)
    world.progress.step(
        f"truth gate of {tier.name}: integrity", effort.verify_s or None
    )
    verified = fio.verified(_verify_settings(tier, effort))
    word: GateWord = "ok" if verified else "failed"
    limit = "integrity: blocks that did not read back as written"
    yield GateCheck(limit, "", 0.0, float(not verified), 0.0, word, "integrity")


def _window_s(tier: Tier, block_bytes: int = IOPS_BLOCK_BYTES) -> float:
    """The shortest window in which a low rate can be told from one of 5 % more."""
    cap = expected.cap_per_s(tier, block_bytes)
    if cap:
        return _FEWEST_IOS / cap
    return 0.0


def _verify_settings(tier: Tier, effort: Effort) -> dict[str, str]:
    """Settings for passes of about `verify_s` in all: each writes its bytes and reads them back."""
    rate = min(
        tier.limits.bytes_per_s or _UNTHROTTLED_BYTES_PER_S,
        (tier.limits.iops or _UNTHROTTLED_BYTES_PER_S) * _VERIFY_BLOCK_BYTES,
        _UNTHROTTLED_BYTES_PER_S,
    )
    size = effort.verify_bytes
    passes = round(effort.verify_s * rate / (2 * effort.verify_bytes))
    return {
        "VERIFY_SIZE": str(size),
        "VERIFY_JOBS": "1",
        "VERIFY_LOOPS": str(max(1, passes)),
    }


# ------------------------------------------------------------------ checks


_What = tuple[GateQuantity, str, float]  # a quantity, its title, the share of reads
_OF_JOB: Mapping[str, _What] = {
    "iops-read": ("iops_read", "IOPS, 4 KiB random read", 1.0),
    "iops-write": ("iops_write", "IOPS, 4 KiB random write", 0.0),
    "iops-mixed": ("iops_mixed", "IOPS, 4 KiB random mixed", 0.5),
    "bytes-read": ("bandwidth_read", "bandwidth, 256 KiB sequential read", 1.0),
    "bytes-write": ("bandwidth_write", "bandwidth, 256 KiB sequential write", 0.0),
}


def _rates(tier: Tier, jobs: Jobs, depth: int) -> Iterator[GateCheck]:
    for job in jobs:
        what = _OF_JOB[job["jobname"]]
        rate = fio_jobs.bytes_per_s(job)
        quantity, limit, _ = what
        if quantity.startswith("bandwidth"):
            yield _rate(tier, what, rate, _LARGE_BYTES, depth)
            continue
        iops = rate / IOPS_BLOCK_BYTES
        if quantity == "iops_mixed" and isinstance(
            tier.disk, Cgroup
        ):  # no cap holds for both
            yield GateCheck(limit, "1/s", None, iops, None, "not declared", quantity)
        else:
            yield _rate(tier, what, iops, IOPS_BLOCK_BYTES, depth)


def _latency(tier: Tier, jobs: Jobs) -> Iterator[GateCheck]:
    ways: dict[expected.Way, GateQuantity] = {
        "read": "latency_read",
        "write": "latency_write",
    }
    for way, quantity in ways.items():
        limit = f"median latency at queue depth 1, {way}"
        measured_s = fio_jobs.median_s(jobs[0], way)
        judged_s = expected.latency_s(tier, way)
        if way == "read":
            assumed_s = tier.latency.read_s
        else:
            assumed_s = tier.latency.write_s
        most_pct = LATENCY_TOLERANCE_PCT
        check = expected.judged(quantity, limit, "s", judged_s, measured_s, most_pct)
        if judged_s is None and assumed_s is not None:
            check = replace(check, declared=assumed_s, verdict="assumed, not judged")
        yield check


def _ladder(tier: Tier, steps: Sequence[tuple[int, Jobs]]) -> Iterator[GateCheck]:
    """IOPS at each depth, for information, and the depth where the cap is reached. Below the cap,
    IOPS = depth / latency; so the cap is reached at cap × latency (Little's law)."""
    rates = {
        step: fio_jobs.bytes_per_s(jobs[0]) / IOPS_BLOCK_BYTES for step, jobs in steps
    }
    for step, rate in rates.items():
        limit = f"IOPS, 4 KiB random read at queue depth {step}"
        yield GateCheck(limit, "1/s", None, rate, None, "not declared", "iops_at_depth")
    if not rates:
        return
    cap = expected.cap_per_s(tier, IOPS_BLOCK_BYTES) or max(rates.values())
    knee = next((step for step, rate in rates.items() if rate >= _REACHED * cap), None)
    if knee is None:
        deepest = max(rates)
        limit = f"IOPS at queue depth {deepest}, where the cap should be reached"
        what: _What = "iops_at_depth", limit, 1.0
        yield _rate(tier, what, rates[deepest], IOPS_BLOCK_BYTES, deepest)
        return
    latency_s = expected.latency_s(tier, "read")
    by_law = ""
    if latency_s:
        by_law = f" (cap × latency: {cap * latency_s:.1f})"
    limit = f"queue depth at which reads reach the cap{by_law}"
    yield GateCheck(limit, "", None, float(knee), None, "not declared", "depth_at_cap")


def _rate(
    tier: Tier, what: _What, measured: float, block_bytes: int, depth: int
) -> GateCheck:
    """A rate held against the lowest of the tier's caps and what `depth` requests can reach."""
    quantity, limit, read_share = what
    in_bytes = quantity.startswith("bandwidth")
    unit, each = ("bytes/s", block_bytes) if in_bytes else ("1/s", 1)
    cap = expected.cap_per_s(tier, block_bytes)
    reach = expected.reach_per_s(tier, depth, read_share)
    if cap is not None and reach is not None and reach < _REACHED * cap:
        limit = f"{limit} ({expected.bound_by_depth(tier, depth, read_share)})"
        most = reach * each
        off_pct = LATENCY_TOLERANCE_PCT
        check = expected.judged(quantity, limit, unit, most, measured, off_pct)
        if check.verdict != "ok":
            return check
        return GateCheck(
            limit, unit, cap * each, measured, None, "not reachable", quantity
        )
    if not in_bytes and (why := expected.bound_by_bytes(tier, block_bytes)):
        limit = f"{limit} ({why})"
    declared = None
    if cap is not None:
        declared = cap * each
    check = expected.judged(
        quantity, limit, unit, declared, measured, RATE_TOLERANCE_PCT
    )
    bursts = tier.disk.is_real and tier.limits.burst is not None
    most_per_s = expected.cap_per_s(expected.at_peak(tier), block_bytes) or 0.0
    most = most_per_s * each * (1 + RATE_TOLERANCE_PCT / 100)
    bursting = bursts and check.verdict.startswith("faster") and measured <= most
    if bursting:
        return replace(check, verdict="bursting")
    return check
