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
from orchestrator.tier import Gate, GateCheck, Tier, Way
from orchestrator.tiers.common.emulated import host_load
from orchestrator.tiers.common.gate import drain, expected, fio_jobs
from orchestrator.tiers.common.gate.fio_jobs import FioContainer, Jobs, StartFio
from orchestrator.units import parse_seconds

# Emulated disks on a quiet machine were within 0.8 % in rates and 8 % in latency
# (docs/research/DISKS.md).
RATE_TOLERANCE_PCT = 5.0
LATENCY_TOLERANCE_PCT = 15.0
IOPS_BLOCK_BYTES = 4096
_LARGE_BYTES = 262_144  # the largest request that providers count as one I/O
_LARGE_DEPTH = 16  # 900 MB/s at 3 ms are 11 requests of 256 KiB in flight
_FEWEST_IOS = 60  # I/Os of a rate: one more or less is then within its tolerance
_FEWEST_TIMED_IOS = 24
_MIB = 2**20
_UNTHROTTLED_BYTES_PER_S = 300 * _MIB  # a guess, only to size the integrity pass
_VERIFY_BLOCK_BYTES = 130 * 1024  # mean of 4 to 256 KiB
# Share of the cap, which is then what limits: within the tolerance of a rate.
_REACHED = 0.95


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
    effort = quick
    if thorough:
        effort = THOROUGH
    checks: list[GateCheck] = []
    checked_s: dict[GateQuantity | None, float] = {}
    with start(volume, world) as fio:
        for check in _checks(tier, fio, effort, world, credit):
            checks.append(check)
            checked_s[check.quantity] = world.clock.now()
    load = host_load.since(before, host_load.read(volume, world))
    device = dict(disks.facts)
    device |= load
    # Credit is reckoned from the check that found the disk at its base (run/credit.py).
    device["checked_s"] = checked_s
    if credit:
        device["drained"] = credit.drained
    return Gate(tier.name, world.clock.now(), tuple(checks), device)


@dataclass(frozen=True)
class Taken:
    """The gate of one of several disks. `key`: by which records know the disk; `nodes`: those that
    use it."""

    key: str
    title: str
    nodes: tuple[str, ...]
    gate: Gate


def of_disks(
    tier: Tier, mechanism: Mapping[str, Any], taken: Sequence[Taken], world: World
) -> Gate:
    """The gates of several disks as one: its checks say which disk they are of, and its facts are
    those of all, with how busy a machine was at the worst."""
    checks: list[GateCheck] = []
    disks: dict[str, dict[str, Any]] = {}
    for disk in taken:
        for check in disk.gate.checks:
            checks.append(replace(check, disk=disk.title, nodes=disk.nodes))
        disks[disk.key] = dict(disk.gate.device)
    busy_pct = 0.0
    for facts in disks.values():
        busy_pct = max(busy_pct, float(facts.get("host_cpu_pct", 0.0)))
    device = {**mechanism, "disks": disks, "host_cpu_pct": busy_pct}
    return Gate(tier.name, world.clock.now(), tuple(checks), device)


@dataclass(frozen=True)
class _Measuring:
    """Runs fio's jobs on one disk. `tier`: as declared, with its burst; `base`: what is judged by,
    without burst where `credit` uses that up first."""

    tier: Tier
    base: Tier
    fio: FioContainer
    effort: Effort
    world: World
    credit: drain.Credit | None

    def job(self, name: str, least_s: float = 0.0, **more: str) -> Jobs:
        """Runs a job for as long as the effort says, and for no less than `least_s`."""
        self.world.progress.step(f"disk check of {self.base.name}: {name}")
        runtime_s = max(parse_seconds(self.effort.runtime), least_s)
        settings = {
            "SIZE": self.effort.size,
            "RAMP": fio_jobs.in_ms(self._ramp_s()),
            "RUNTIME": fio_jobs.in_ms(runtime_s),
        }
        return self.fio.run(name, {**settings, **more})

    def _ramp_s(self) -> float:
        ramp_s = parse_seconds(self.effort.ramp)
        if self.credit:
            # Credit that the disk earned since the last job is used up before the measurement
            # begins.
            return max(ramp_s, self.credit.ramp_s)
        return ramp_s

    def reads_at(self, depth: int, block_bytes: int, least_s: float) -> Jobs:
        """Random reads of this size, so many in flight."""
        reads = fio_jobs.random_reads(depth, block_bytes)
        return self.job("depth", least_s, **reads)

    def per_s(self, block_bytes: int, least_s: float) -> float:
        """How many random reads of this size the disk takes a second."""
        depth = expected.depth(self.tier)
        (cell,) = self.reads_at(depth, block_bytes, least_s)
        return fio_jobs.bytes_per_s(cell) / block_bytes

    def use_up_credit(self, *blocks_bytes: int) -> None:
        """The base limits are in force only once there is no burst credit, if there is any."""
        if self.credit:
            self.credit.use_up(blocks_bytes, self.per_s)


def _checks(
    tier: Tier,
    fio: FioContainer,
    effort: Effort,
    world: World,
    credit: drain.Credit | None,
) -> Iterator[GateCheck]:
    base = tier
    if credit:
        base = credit.base
    disk = _Measuring(tier, base, fio, effort, world, credit)
    # First: an extent that was never written reads as zeros without touching the disk.
    disk.job("prepare")
    yield from _caps_hold(disk)
    if credit:
        yield from credit.never_fell()
    yield from _single_requests(disk)
    yield from _depths(disk)
    yield from _block_sizes(disk)
    yield _integrity(disk)


def _caps_hold(disk: _Measuring) -> Iterator[GateCheck]:
    """IOPS and bytes/s, as deep as it takes to reach them through the latency."""
    base = disk.base
    deep = expected.depth(base)
    large = expected.depth(base, _LARGE_BYTES, _LARGE_DEPTH)
    # The bucket of bytes first, together with that of I/Os: small blocks alone leave it full.
    disk.use_up_credit(*drain.at_both_peaks_bytes(disk.tier), IOPS_BLOCK_BYTES)
    jobs = disk.job("iops", _window_s(base), IODEPTH=str(deep))
    yield from _rates(base, jobs, deep)
    # The bucket of bytes has filled again while small blocks were read.
    disk.use_up_credit(_LARGE_BYTES)
    jobs = disk.job("bytes", _window_s(base, _LARGE_BYTES), IODEPTH=str(large))
    yield from _rates(base, jobs, large)


def _single_requests(disk: _Measuring) -> Iterator[GateCheck]:
    """The latency of requests that nothing holds up, and of a sync."""
    base = disk.base
    pause_s = expected.pause_s(base)
    tail_s = expected.tail_window_s(base, thorough=bool(disk.effort.ladder))
    # A slow tier takes a pause after each request, so a short window would time only a few.
    timing_s = max(_FEWEST_TIMED_IOS * pause_s, tail_s)
    alone = disk.job("latency", timing_s, PAUSE_US=str(round(1e6 * pause_s)))
    yield from _latency(base, alone)
    yield from expected.tail_checks(base, alone[0])
    sync_s = disk.job("fsync")[0]["sync"]["lat_ns"]["mean"] * 1e-9
    yield GateCheck(
        "fdatasync after 8 KiB", "s", None, sync_s, None, "not declared", "fdatasync"
    )


def _depths(disk: _Measuring) -> Iterator[GateCheck]:
    window_s = _window_s(disk.base)
    # Shallow depths do not reach the base rate, so the disk has earned credit in between.
    if disk.effort.ladder:
        disk.use_up_credit(IOPS_BLOCK_BYTES)
    steps: list[tuple[int, Jobs]] = []
    for depth in disk.effort.ladder:
        steps.append((depth, disk.reads_at(depth, IOPS_BLOCK_BYTES, window_s)))
    yield from _ladder(disk.base, steps)


def _block_sizes(disk: _Measuring) -> Iterator[GateCheck]:
    deep = expected.depth(disk.base)
    for size in disk.effort.block_bytes:
        cell = disk.reads_at(deep, size, _window_s(disk.base, size))[0]
        title = f"bandwidth, {size // 1024} KiB random read"
        rate = _Rate("bandwidth_at_size", title, read_share=1.0)
        yield _rate(disk.base, rate, fio_jobs.bytes_per_s(cell), size, deep)


def _integrity(disk: _Measuring) -> GateCheck:
    verify_s = disk.effort.verify_s or None
    disk.world.progress.step(f"disk check of {disk.base.name}: integrity", verify_s)
    verified = disk.fio.verified(_verify_settings(disk.base, disk.effort))
    verdict: GateWord = "failed"
    if verified:
        verdict = "ok"
    return GateCheck(
        "integrity: blocks that did not read back as written",
        "",
        declared=0.0,
        measured=float(not verified),
        tolerance_pct=0.0,
        verdict=verdict,
        quantity="integrity",
    )


def _window_s(tier: Tier, block_bytes: int = IOPS_BLOCK_BYTES) -> float:
    """The shortest window in which a low rate can be told from one of 5 % more."""
    cap = expected.cap_per_s(tier, block_bytes)
    if cap:
        return _FEWEST_IOS / cap
    return 0.0


def _verify_settings(tier: Tier, effort: Effort) -> dict[str, str]:
    """Settings for passes of about `verify_s` in all: each writes its bytes and reads them back."""
    # Any figure that is larger than the others' result serves where there is no cap.
    iops = tier.limits.iops or _UNTHROTTLED_BYTES_PER_S
    rate = min(
        tier.limits.bytes_per_s or _UNTHROTTLED_BYTES_PER_S,
        iops * _VERIFY_BLOCK_BYTES,
        _UNTHROTTLED_BYTES_PER_S,
    )
    # Each pass moves its bytes twice: written, and read back.
    passes = round(effort.verify_s * rate / (2 * effort.verify_bytes))
    return {
        "VERIFY_SIZE": str(effort.verify_bytes),
        "VERIFY_JOBS": "1",
        "VERIFY_LOOPS": str(max(1, passes)),
    }


# ------------------------------------------------------------------ checks


@dataclass(frozen=True)
class _Rate:
    """A rate that is measured: its title, and which share of its requests are reads."""

    quantity: GateQuantity
    title: str
    read_share: float


_OF_JOB: Mapping[str, _Rate] = {
    "iops-read": _Rate("iops_read", "IOPS, 4 KiB random read", 1.0),
    "iops-write": _Rate("iops_write", "IOPS, 4 KiB random write", 0.0),
    "iops-mixed": _Rate("iops_mixed", "IOPS, 4 KiB random mixed", 0.5),
    "bytes-read": _Rate("bandwidth_read", "bandwidth, 256 KiB sequential read", 1.0),
    "bytes-write": _Rate("bandwidth_write", "bandwidth, 256 KiB sequential write", 0.0),
}


def _rates(tier: Tier, jobs: Jobs, depth: int) -> Iterator[GateCheck]:
    for job in jobs:
        rate = _OF_JOB[job["jobname"]]
        bytes_per_s = fio_jobs.bytes_per_s(job)
        if rate.quantity.startswith("bandwidth"):
            yield _rate(tier, rate, bytes_per_s, _LARGE_BYTES, depth)
            continue
        iops = bytes_per_s / IOPS_BLOCK_BYTES
        yield _rate(tier, rate, iops, IOPS_BLOCK_BYTES, depth)


def _latency(tier: Tier, jobs: Jobs) -> Iterator[GateCheck]:
    yield _median(tier, "read", "latency_read", tier.latency.read_s, jobs[0])
    yield _median(tier, "write", "latency_write", tier.latency.write_s, jobs[0])


def _median(
    tier: Tier,
    way: Way,
    quantity: GateQuantity,
    assumed_s: float | None,
    job: Mapping[str, Any],
) -> GateCheck:
    """The median latency, judged unless its provider promises none: then it is only assumed."""
    judged_s = expected.latency_s(tier, way)
    check = expected.judged(
        quantity,
        f"median latency at queue depth 1, {way}",
        "s",
        judged_s,
        fio_jobs.median_s(job, way),
        LATENCY_TOLERANCE_PCT,
    )
    if judged_s is None and assumed_s is not None:
        return replace(check, declared=assumed_s, verdict="assumed, not judged")
    return check


def _ladder(tier: Tier, steps: Sequence[tuple[int, Jobs]]) -> Iterator[GateCheck]:
    """IOPS at each depth, for information, and the depth where the cap is reached."""
    rates: dict[int, float] = {}
    for depth, jobs in steps:
        rates[depth] = fio_jobs.bytes_per_s(jobs[0]) / IOPS_BLOCK_BYTES
    for depth, rate in rates.items():
        limit = f"IOPS, 4 KiB random read at queue depth {depth}"
        yield GateCheck(limit, "1/s", None, rate, None, "not declared", "iops_at_depth")
    if rates:
        yield _knee(tier, rates)


def _knee(tier: Tier, rates: Mapping[int, float]) -> GateCheck:
    """The depth where the cap is reached. Below the cap, IOPS = depth / latency; so the cap is
    reached at cap × latency (Little's law). A failed check if no depth reaches it."""
    # A tier without a cap has its knee at the highest rate that was seen.
    cap = expected.cap_per_s(tier, IOPS_BLOCK_BYTES) or max(rates.values())
    reaching = [depth for depth, rate in rates.items() if rate >= _REACHED * cap]
    if not reaching:
        deepest = max(rates)
        limit = f"IOPS at queue depth {deepest}, where the cap should be reached"
        rate = _Rate("iops_at_depth", limit, read_share=1.0)
        return _rate(tier, rate, rates[deepest], IOPS_BLOCK_BYTES, deepest)
    latency_s = expected.latency_s(tier, "read")
    by_law = ""
    if latency_s:
        by_law = f" (cap × latency: {cap * latency_s:.1f})"
    return GateCheck(
        f"queue depth at which reads reach the cap{by_law}",
        "",
        declared=None,
        measured=float(reaching[0]),
        tolerance_pct=None,
        verdict="not declared",
        quantity="depth_at_cap",
    )


def _rate(
    tier: Tier, rate: _Rate, measured: float, block_bytes: int, depth: int
) -> GateCheck:
    """A rate held against the lowest of the tier's caps and what `depth` requests can reach."""
    cap = expected.cap_per_s(tier, block_bytes)
    reach = expected.reach_per_s(tier, depth, rate.read_share)
    # Few I/Os in flight cannot reach the cap, however fast the disk: the cap is not judged.
    if cap is not None and reach is not None and reach < _REACHED * cap:
        return _out_of_reach(tier, rate, measured, block_bytes, depth)
    limit = rate.title
    unit = "bytes/s"
    factor = block_bytes
    if not rate.quantity.startswith("bandwidth"):
        unit = "1/s"
        factor = 1
        why = expected.bound_by_bytes(tier, block_bytes)
        if why:
            limit = f"{limit} ({why})"
    declared = None
    if cap is not None:
        declared = cap * factor
    check = expected.judged(
        rate.quantity, limit, unit, declared, measured, RATE_TOLERANCE_PCT
    )
    # A real disk may have burst credit, with which it is as fast as its peak.
    peak_per_s = expected.cap_per_s(expected.at_peak(tier), block_bytes) or 0.0
    most = peak_per_s * factor * (1 + RATE_TOLERANCE_PCT / 100)
    # An emulated disk is checked without its burst, so "faster" is a fault there.
    bursts = tier.disk.is_real and tier.limits.burst is not None
    if bursts and check.verdict.startswith("faster") and measured <= most:
        return replace(check, verdict="bursting")
    return check


def _out_of_reach(
    tier: Tier, rate: _Rate, measured: float, block_bytes: int, depth: int
) -> GateCheck:
    """A rate whose cap so many requests in flight cannot reach: it is held against what they can,
    by the tolerance of the latency that this follows from."""
    unit = "1/s"
    factor = 1
    if rate.quantity.startswith("bandwidth"):
        unit = "bytes/s"
        factor = block_bytes
    cap = expected.cap_per_s(tier, block_bytes) or 0.0
    reach = expected.reach_per_s(tier, depth, rate.read_share) or 0.0
    why = expected.bound_by_depth(tier, depth, rate.read_share)
    limit = f"{rate.title} ({why})"
    check = expected.judged(
        rate.quantity, limit, unit, reach * factor, measured, LATENCY_TOLERANCE_PCT
    )
    # Slower or faster than its latency allows is a fault of the disk, whatever the cap.
    if check.verdict != "ok":
        return check
    return replace(
        check, declared=cap * factor, tolerance_pct=None, verdict="not reachable"
    )
