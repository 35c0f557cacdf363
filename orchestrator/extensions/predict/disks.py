"""A disk that is simulated: what it lets through, and how long an I/O takes. Pure.

A limit is a bucket, and each limit that bursts is two, of its peak and of its base.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from orchestrator.design import node_disks
from orchestrator.errors import UsageError
from orchestrator.extensions.predict.draws import Draws
from orchestrator.facts import BottleneckCause
from orchestrator.tier import Gate, Limits, Quantiles, Tier

SLACK_S = 0.02  # a bucket keeps for so long what was not used (docs/research/DISKS.md)
# A normal distribution's 99th percentile is so many standard deviations above the median.
_P99_SDS = 2.326
_TABLE_STEPS = 200
# Sums of many times that are nearer than this may differ by rounding alone.
_ROUNDING_S = 1e-6


class CapRate(NamedTuple):
    """What a cap lets through each second: `base`, and `peak` while there is credit.

    credit_s: for how long base fills the credit, if it is full at the begin; 0: there is none.
    """

    cap: BottleneckCause
    base: float
    peak: float
    credit_s: float


@dataclass(frozen=True)
class SimulatedDisk:
    """What a node's disk lets through, and what its latencies are drawn from.

    log: the node's second disk, which holds only its log; None: the log is on this one.
    together: what the machine lets through to both; None: no more than the two have.
    """

    limits: Limits
    read: Quantiles
    write: Quantiles
    log: SimulatedDisk | None = None
    together: Limits | None = None

    @property
    def with_log(self) -> SimulatedDisk:
        """The disk for which commits wait."""
        return self.log or self

    def rates(self) -> Iterator[CapRate]:
        """The rates of IOPS and of bytes, in this order."""
        limits = self.limits
        peak_iops = None
        peak_bytes_per_s = None
        if limits.burst:
            peak_iops = limits.burst.iops
            peak_bytes_per_s = limits.burst.bytes_per_s
        yield self._rate("iops_cap", limits.total_iops, peak_iops)
        yield self._rate("bandwidth_cap", limits.bytes_per_s, peak_bytes_per_s)

    def _rate(
        self, cap: BottleneckCause, limit: float | None, peak: float | None
    ) -> CapRate:
        base = limit or math.inf
        burst = self.limits.burst
        without_credit = CapRate(cap, base, base, 0.0)
        if not burst or not peak:
            return without_credit
        # What exceeds the base uses up credit at the peak, for as long as the burst lasts.
        beyond = peak / base - 1
        lasts_s = burst.duration_s * burst.start_pct
        credit_s = max(0.0, beyond * lasts_s / 100)
        if not credit_s:
            return without_credit
        return CapRate(cap, base, peak, credit_s)


class BucketKind(NamedTuple):
    """What tells one bucket of a disk from another. unit_bytes: of an I/O; 0: it counts bytes."""

    rate: float
    depth_s: float
    saved_s: float
    unit_bytes: int


@dataclass(frozen=True)
class AskedIos:
    """The I/Os for which a disk was asked, in order: when, and how many bytes each has."""

    times_s: np.ndarray
    sizes: np.ndarray


class RateBucket:
    """Lets `rate` units a second through, in order of asking: I/Os, bytes, or CPU time of several
    cores (Seidmann's servers). It saves up what is not used for `depth_s`, at first `saved_s`.
    `used`: all units that were asked for."""

    def __init__(
        self,
        cause: BottleneckCause,
        rate: float,
        depth_s: float = 0.0,
        saved_s: float = 0.0,
    ) -> None:
        self.cause = cause
        self.rate = rate
        self.depth_s = depth_s
        self.saved_s = saved_s
        self._due_s = -saved_s
        self.used = 0.0

    def admit(self, now: float, units: float) -> float:
        """When units asked for now get through (generic cell rate algorithm)."""
        # Compared, because `max` takes half of the time of a simulation.
        due_s = now - self.depth_s
        if self._due_s > due_s:
            due_s = self._due_s
        self._due_s = due_s + units / self.rate
        self.used += units
        if due_s > now:
            return due_s
        return now

    def never_waits(self, times_s: np.ndarray, units: np.ndarray) -> bool:
        """Whether all of these units get through when they ask, as `admit` would tell one by one.

        False too where only rounding tells."""
        # The recurrence of `admit` for all at once. Due is the latest of all idle moments, and what
        # has passed since.
        passed_s = np.cumsum(units) / self.rate
        before_s = passed_s - units / self.rate
        idle_s = np.maximum.accumulate(times_s - self.depth_s - before_s)
        due_s = np.maximum(idle_s, -self.saved_s)[:-1] + before_s[1:]
        return bool(np.all(due_s <= times_s[1:] - _ROUNDING_S))

    def used_share(self, end_s: float) -> float:
        """The used share of what it let through until then, with what it had saved up before."""
        return self.used / self.rate / (end_s + self.saved_s)


class DiskCaps:
    """What a disk lets through. `lapse`: seconds of the run in one of the simulation, for its burst
    credit."""

    def __init__(self, disk: SimulatedDisk, lapse: float) -> None:
        self._unit_bytes = disk.limits.io_unit_bytes
        by_ios, by_bytes = disk.rates()
        self._of_ios = _peak_and_base(by_ios, lapse)
        self._of_bytes = _peak_and_base(by_bytes, lapse)

    def admit(self, now: float, size: float) -> float:
        """When an I/O of this size that is asked for now gets through the buckets."""
        ios = 1
        # Providers count an I/O above their unit as several.
        if size > self._unit_bytes:
            ios = math.ceil(size / self._unit_bytes)
        admitted_s = now
        for bucket in self._of_ios:
            through_s = bucket.admit(now, ios)
            if through_s > admitted_s:
                admitted_s = through_s
        for bucket in self._of_bytes:
            through_s = bucket.admit(now, size)
            if through_s > admitted_s:
                admitted_s = through_s
        return admitted_s

    def that_hold_back(self, asked: AskedIos) -> list[BucketKind]:
        """The buckets for which some of these I/Os wait. Disks of which these are the same let all
        of the I/Os through at the same times."""
        kinds = []
        ios = self._ios(asked)
        for bucket in self._of_ios:
            if not bucket.never_waits(asked.times_s, ios):
                kinds.append(_kind(bucket, self._unit_bytes))
        for bucket in self._of_bytes:
            if not bucket.never_waits(asked.times_s, asked.sizes):
                kinds.append(_kind(bucket, 0))
        return kinds

    def used_shares(
        self, asked: AskedIos, end_s: float
    ) -> dict[BottleneckCause, float]:
        """For each cap, the share that these I/Os used of what it let through until then."""
        shares: dict[BottleneckCause, float] = {}
        ios = float(self._ios(asked).sum())
        # One after the other, because `sum` of numpy rounds otherwise.
        size = float(np.add.accumulate(np.append(0.0, asked.sizes))[-1])
        for bucket in self._of_ios:
            bucket.used = ios
            shares[bucket.cause] = bucket.used_share(end_s)
        for bucket in self._of_bytes:
            bucket.used = size
            shares[bucket.cause] = bucket.used_share(end_s)
        return shares

    def _ios(self, asked: AskedIos) -> np.ndarray:
        """The I/Os as they are counted: each of them may count as several."""
        return np.maximum(1.0, np.ceil(asked.sizes / self._unit_bytes))


class Device:
    """A disk that is simulated, which keeps what it was asked for."""

    def __init__(
        self,
        disk: SimulatedDisk,
        draws: Draws,
        caps: DiskCaps,
        machine: DiskCaps | None = None,
    ) -> None:
        self.caps = caps
        self._machine = machine
        self.reads = draws.latencies(disk.read)
        self.writes = draws.latencies(disk.write)
        self._times_s = list[float]()
        self._sizes = list[float]()

    def admit(self, now: float, size: float) -> float:
        """When an I/O of this size that is asked for now gets through."""
        self._times_s.append(now)
        self._sizes.append(size)
        through_s = self.caps.admit(now, size)
        if self._machine is None:
            return through_s
        return max(through_s, self._machine.admit(now, size))

    def asked(self) -> AskedIos:
        """What was asked until now."""
        return AskedIos(np.array(self._times_s), np.array(self._sizes))


def _kind(bucket: RateBucket, unit_bytes: int) -> BucketKind:
    return BucketKind(bucket.rate, bucket.depth_s, bucket.saved_s, unit_bytes)


def _peak_and_base(rate: CapRate, lapse: float) -> list[RateBucket]:
    """The buckets of peak and base. Without credit both let the same through, so they are one."""
    peak = RateBucket(rate.cap, rate.peak, SLACK_S)
    if not rate.credit_s:
        return [peak]
    # A simulation is shorter than the run, and its credit is as much shorter.
    saved_s = rate.credit_s / lapse
    base = RateBucket("burst_exhausted", rate.base, saved_s + SLACK_S, saved_s)
    return [peak, base]


# ------------------------------------------------------------------ the disk of a tier


def disk_of(
    tier: Tier, gate: Gate | None = None, machine: Limits | None = None
) -> SimulatedDisk:
    """A tier's disk, and that of its log: latencies as modelled, else as its gate measured them,
    else as declared. UsageError if nothing says how long an I/O takes.

    machine: what it lets through to all disks of a node, if it is another one than the tier's.
    """
    if machine is None and tier.machine is not None:
        machine = tier.machine.limits
    disk = _alone(tier, _measured(gate, of_log=False))
    if tier.wal is not None:
        log = _alone(tier.wal, _measured(gate, of_log=True))
    elif node_disks.has_logs(tier):
        # A real disk for the log without a tier of its own is another one of this tier.
        log = disk
    else:
        return disk
    return replace(disk, log=log, together=_binding(machine, disk, log))


def _alone(tier: Tier, measured: Mapping[str, float]) -> SimulatedDisk:
    drawn = tier.latency.model
    if drawn:
        return SimulatedDisk(tier.limits, drawn.read, drawn.write)
    return SimulatedDisk(
        tier.limits,
        read=_latencies(tier, measured, "read", tier.latency.read_s),
        write=_latencies(tier, measured, "write", tier.latency.write_s),
    )


def _binding(
    machine: Limits | None, disk: SimulatedDisk, log: SimulatedDisk
) -> Limits | None:
    """The machine's limits, if both disks together could reach them."""
    if machine is None:
        return None
    # While there is credit both disks may be at their peaks, above what their bases add up to.
    data_ios, data_bytes = disk.rates()
    log_ios, log_bytes = log.rates()
    ios_fit = data_ios.peak + log_ios.peak <= (machine.total_iops or math.inf)
    bytes_fit = data_bytes.peak + log_bytes.peak <= (machine.bytes_per_s or math.inf)
    if ios_fit and bytes_fit:
        return None
    return machine


def _measured(gate: Gate | None, of_log: bool) -> dict[str, float]:
    """What the gate measured of the disk of the data, or of that of the log, by quantity."""
    measured: dict[str, float] = {}
    if gate:
        for check in gate.checks:
            if check.is_of_log == of_log:
                measured[str(check.quantity)] = check.measured
    return measured


def _latencies(
    tier: Tier, measured: Mapping[str, float], way: str, declared_s: float | None
) -> Quantiles:
    median_s = measured.get(f"latency_{way}") or declared_s
    if not median_s:
        raise _no_latency(tier.title or tier.name, way)
    p99_s = measured.get(f"latency_p99_{way}") or median_s
    return log_normal(median_s, p99_s)


@lru_cache(maxsize=256)  # many sizes of one type declare the same latencies
def log_normal(p50_s: float, p99_s: float) -> Quantiles:
    """The distribution with this median and p99, as a table; equal ones are a constant."""
    # Two figures are all that a gate or a declaration says of a distribution.
    # A standard deviation of nothing is none that NormalDist takes.
    ratio = max(p99_s / p50_s, 1.0001)
    normal = NormalDist(math.log(p50_s), math.log(ratio) / _P99_SDS)
    inner = []
    for step in range(1, _TABLE_STEPS):
        share = step / _TABLE_STEPS
        inner.append((share, math.exp(normal.inv_cdf(share))))
    _, least_s = inner[0]
    _, most_s = inner[-1]
    return ((0.0, least_s), *inner, (1.0, most_s))


def _no_latency(tier: str, way: str) -> UsageError:
    return UsageError(
        f"the time that a {way} of {tier} takes is not known",
        advice=f"give its {way}_latency, or measure it with a disk check",
    )
