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
from orchestrator.tier import Gate, GateCheck, Tier
from orchestrator.tiers.common.emulated import host_load
from orchestrator.tiers.common.gate import drain, expected, fio_jobs, measured_checks
from orchestrator.tiers.common.gate.fio_jobs import FioContainer, Jobs, StartFio
from orchestrator.units import parse_seconds

_LARGE_DEPTH = 16  # 900 MB/s at 3 ms are 11 requests of 256 KiB in flight
_FEWEST_IOS = 60  # I/Os of a rate: one more or less is then within its tolerance
_FEWEST_TIMED_IOS = 24
_MIB = 2**20
_UNTHROTTLED_BYTES_PER_S = 300 * _MIB  # a guess, only to size the integrity pass
_VERIFY_BLOCK_BYTES = 130 * 1024  # mean of 4 to 256 KiB


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
    thorough: bool,
    quick: Effort = QUICK,
    drained: bool,
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
    """The gate of one of several disks. `key`: by which records know the disk; `nodes`: those whose
    data are on it. `holds_log_alone`: it has the WAL and no data."""

    key: str
    title: str
    nodes: tuple[str, ...]
    gate: Gate
    holds_log_alone: bool


def of_disks(
    tier: Tier, mechanism: Mapping[str, Any], taken: Sequence[Taken], world: World
) -> Gate:
    """The gates of several disks as one: its checks say which disk they are of, and its facts are
    those of all, with how busy a machine was at the worst."""
    checks: list[GateCheck] = []
    disks: dict[str, dict[str, Any]] = {}
    for disk in taken:
        for check in disk.gate.checks:
            of_disk = replace(
                check,
                disk=disk.title,
                nodes=disk.nodes,
                holds_log_alone=disk.holds_log_alone,
                disk_key=disk.key,
            )
            checks.append(of_disk)
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
    large = expected.depth(base, measured_checks.LARGE_BYTES, _LARGE_DEPTH)
    # The bucket of bytes first, together with that of I/Os: small blocks alone leave it full.
    disk.use_up_credit(
        *drain.at_both_peaks_bytes(disk.tier), measured_checks.IOPS_BLOCK_BYTES
    )
    jobs = disk.job("iops", _window_s(base), IODEPTH=str(deep))
    yield from measured_checks.rates(base, jobs, deep)
    # The bucket of bytes has filled again while small blocks were read.
    disk.use_up_credit(measured_checks.LARGE_BYTES)
    jobs = disk.job(
        "bytes", _window_s(base, measured_checks.LARGE_BYTES), IODEPTH=str(large)
    )
    yield from measured_checks.rates(base, jobs, large)


def _single_requests(disk: _Measuring) -> Iterator[GateCheck]:
    """The latency of requests that nothing holds up, and of a sync."""
    base = disk.base
    pause_s = expected.pause_s(base)
    tail_s = expected.tail_window_s(base, thorough=bool(disk.effort.ladder))
    # A slow tier takes a pause after each request, so a short window would time only a few.
    timing_s = max(_FEWEST_TIMED_IOS * pause_s, tail_s)
    alone = disk.job("latency", timing_s, PAUSE_US=str(round(1e6 * pause_s)))
    yield from measured_checks.latencies(base, alone)
    yield from expected.tail_checks(base, alone[0])
    sync_s = disk.job("fsync")[0]["sync"]["lat_ns"]["mean"] * 1e-9
    yield GateCheck(
        limit="fdatasync after 8 KiB",
        unit="s",
        declared=None,
        measured=sync_s,
        tolerance_pct=None,
        verdict="not declared",
        quantity="fdatasync",
    )


def _depths(disk: _Measuring) -> Iterator[GateCheck]:
    window_s = _window_s(disk.base)
    # Shallow depths do not reach the base rate, so the disk has earned credit in between.
    if disk.effort.ladder:
        disk.use_up_credit(measured_checks.IOPS_BLOCK_BYTES)
    steps: list[tuple[int, Jobs]] = []
    for depth in disk.effort.ladder:
        steps.append(
            (depth, disk.reads_at(depth, measured_checks.IOPS_BLOCK_BYTES, window_s))
        )
    yield from measured_checks.ladder(disk.base, steps)


def _block_sizes(disk: _Measuring) -> Iterator[GateCheck]:
    deep = expected.depth(disk.base)
    for size in disk.effort.block_bytes:
        cell = disk.reads_at(deep, size, _window_s(disk.base, size))[0]
        title = f"bandwidth, {size // 1024} KiB random read"
        rate = measured_checks.MeasuredRate("bandwidth_at_size", title, read_share=1.0)
        yield measured_checks.rate_check(
            disk.base, rate, fio_jobs.bytes_per_s(cell), size, deep
        )


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


def _window_s(tier: Tier, block_bytes: int = measured_checks.IOPS_BLOCK_BYTES) -> float:
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
