"""A small seeded event simulation of a database on a disk; nothing is fitted. Pure.

A transaction works in slices: CPU of the client, CPU of its node, then reads, one after the other.
A read waits for the disk's buckets of IOPS and of bytes, and then takes a latency of its own. A
commit waits for the next sync of the log. Between them a delay passes, and at the end waiting for
other transactions. Pages are written by a background writer, in rounds, and by sessions themselves
where it does not get as far; or, where nothing is known of one, in batches for which none waits.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from functools import lru_cache
from heapq import heappop, heappush
from statistics import fmean

import numpy as np

from orchestrator.facts import BottleneckCause
from orchestrator.planning.latency_quantiles import mean_s
from orchestrator.tier import Limits, Quantiles

SLICES = 4  # in which a transaction uses CPU and reads
EVENTS = 40_000  # of a simulation, about
SLACK_S = 0.02  # for so long a bucket keeps what was not used (docs/DISKS.md)
ROUND_S = 0.2  # between rounds of a database's background writer (PostgreSQL's bgwriter_delay)
QUOTA_S = 0.1  # the period in which a container may use its CPU time (cgroups)
FULL = 0.9  # a resource that is used more limits
_DRAWS = 2**14
_Process = Generator[float | None, None, None]
# (transactions, reads, writes): what each of them asks for in the mean, of data, until so many have
# been done since the load began. With them the cache warms up.
Stage = tuple[float, float, float]


@dataclass(frozen=True)
class System:
    """Cluster and load, which stay the same on every tier. Demands are means of one transaction.

    rate_per_s: of arrivals; None: each session begins the next at once. node_s, client_s, other_s:
    CPU time, the last of all else on a machine that all share, of `machine_cpus` (infinite: they do
    not). round_pages: that a node's background writer takes in a round; 0: nothing is known of one.
    batch: pages that it writes at once. ahead: I/Os behind which a session's own write of a page
    waits. commits: whether it waits for the log. sync_s: by which a sync is longer than simulated.
    delay_s: of all else. waiting: for other transactions, of what it takes without.
    copies: of the log, of which a majority must be synced."""

    sessions: int
    node_s: float
    client_s: float
    node_cpus: float
    client_cpus: float
    rate_per_s: float | None = None
    other_s: float = 0.0
    machine_cpus: float = math.inf
    stages: tuple[Stage, ...] = ((math.inf, 0.0, 0.0),)
    read_bytes: float = 8192.0
    write_bytes: float = 8192.0
    batch: float = 1.0
    ahead: float = 0.0
    round_pages: float = 0.0
    commits: bool = True
    log_bytes: float = 0.0
    sync_s: float = 0.0
    delay_s: float = 0.0
    waiting: float = 0.0
    nodes: int = 1
    disks: int = 1
    copies: int = 1
    warmup_s: float = 6.0
    measure_s: float = 54.0


@dataclass(frozen=True)
class SimulatedDisk:
    """What a disk lets through, and what its latencies are drawn from."""

    limits: Limits
    read: Quantiles
    write: Quantiles

    def rates(self) -> Iterator[tuple[BottleneckCause, float, float, float]]:
        """Of IOPS and of bytes: the cap, base and peak, and for how long base fills the credit."""
        limits = self.limits
        burst = self.limits.burst
        rates: tuple[tuple[BottleneckCause, float | None, float | None], ...] = (
            ("iops_cap", limits.total_iops, burst.iops if burst else None),
            ("bandwidth_cap", limits.bytes_per_s, burst.bytes_per_s if burst else None),
        )
        for cap, limit, peak in rates:
            base = limit or math.inf
            lasts_s = 0.0
            if burst:
                lasts_s = burst.duration_s * burst.start_pct
            credit_s = max(0.0, ((peak or 0.0) / base - 1) * lasts_s / 100)
            yield cap, base, (peak if credit_s else None) or base, credit_s


@dataclass(frozen=True)
class Simulated:
    """What a simulation came to. latencies_s: each transaction's. sync_s: the mean of the log's."""

    throughput_per_s: float
    latencies_s: np.ndarray
    limit: BottleneckCause
    sync_s: float = 0.0


class _Bucket:
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
        self._depth_s = depth_s
        self.saved_s = saved_s
        self._due_s = -saved_s
        self.used = 0.0

    def admit(self, now: float, units: float) -> float:
        """When units asked for now get through (generic cell rate algorithm)."""
        due_s = max(self._due_s, now - self._depth_s)
        self._due_s = due_s + units / self.rate
        self.used += units
        return max(now, due_s)


class _Device:
    """A disk. `lapse`: seconds of the run in one of the simulation, for its burst credit."""

    def __init__(
        self, disk: SimulatedDisk, rng: np.random.Generator, lapse: float
    ) -> None:
        self._unit_bytes = disk.limits.io_unit_bytes
        self.buckets = list[_Bucket]()
        for cap, base, peak, credit_s in disk.rates():
            saved_s = credit_s / lapse
            cause = cap
            if credit_s:
                cause = "burst_exhausted"
            within = _Bucket(cause, base, saved_s + SLACK_S, saved_s)
            self.buckets += [_Bucket(cap, peak, SLACK_S), within]
        self.reads, self.writes = (
            _forever(np.interp(rng.random(_DRAWS), *np.array(table).T))
            for table in (disk.read, disk.write)
        )

    def admit(self, now: float, size: float) -> float:
        """When an I/O of this size that is asked for now gets through the buckets."""
        ios = max(1, math.ceil(size / self._unit_bytes))
        asked = zip(self.buckets, (ios, ios, size, size), strict=True)
        return max(bucket.admit(now, units) for bucket, units in asked)


def _forever(values: np.ndarray) -> Iterator[float]:
    return itertools.cycle(values.tolist())


def _events_per_s(system: System, disk: SimulatedDisk) -> float:
    """About: by what a transaction takes alone, CPU of the nodes, and the disk's caps."""
    _, reads, writes = system.stages[-1]
    alone_s = (
        system.node_s + system.client_s + system.delay_s + reads * mean_s(disk.read)
    )
    size = reads * system.read_bytes + writes * system.write_bytes + system.log_bytes
    most = [
        system.rate_per_s
        or system.sessions / (alone_s + system.commits * mean_s(disk.write))
    ]
    most += [system.nodes * system.node_cpus / (system.node_s or 1e-9)]
    for (_, _, peak, _), need in zip(disk.rates(), (reads + writes, size), strict=True):
        most.append(system.disks * peak / (need or 1e-9))
    return min(most) * (2 * SLICES + 3 + reads)


@lru_cache(maxsize=1024)  # many tiers have the same disk
def simulate(system: System, disk: SimulatedDisk, seed: int = 1) -> Simulated:
    """The system with its data on such disks. Equal seeds draw the same on all tiers. ValueError if
    no transaction ended."""
    return _Simulation(system, disk, np.random.default_rng(seed)).result()


class _Simulation:
    """Each process yields when it goes on; or None, and another wakes it. The time of the run is
    shortened to so many events: a transaction then stands for several that warm the cache."""

    def __init__(
        self, system: System, disk: SimulatedDisk, rng: np.random.Generator
    ) -> None:
        self._system = system
        self._end_s = EVENTS / _events_per_s(system, disk)
        self._lapse = (system.warmup_s + system.measure_s) / self._end_s
        self._disks = [_Device(disk, rng, self._lapse) for _ in range(system.disks)]
        quota_s = 0.0
        if system.machine_cpus < math.inf:
            quota_s = QUOTA_S
        self._nodes = [
            _Bucket("cpu_bound", system.node_cpus, quota_s) for _ in range(system.nodes)
        ]
        self._client = _Bucket("client_bound", system.client_cpus)
        self._machine = _Bucket("machine_bound", system.machine_cpus)
        self._pieces = _forever(rng.exponential(1 / SLICES, _DRAWS))
        self._pauses = _forever(rng.exponential(1, _DRAWS))
        self._order = itertools.count()
        self._places = itertools.cycle(range(system.nodes))
        self._ahead: list[tuple[float, int, _Process]] = []
        self._waiting = defaultdict[int, list[_Process]](
            list
        )  # by node, for its log's next sync
        self._syncing = set[int]()
        self._to_read = next(self._pauses)
        self._due_s = 0.0
        self._dirty = [0.0] * system.nodes
        self._begun = 0
        self._stages = list(reversed(system.stages))
        self._ended = list[float]()
        self._synced_s = list[float]()
        self._now = 0.0

    def result(self) -> Simulated:
        """Runs it to its end; what ends while it warms up does not count."""
        system = self._system
        end_s = self._end_s
        begin_s = system.warmup_s / self._lapse
        self._running = self._session()
        for process in (
            self._running,
            *(self._session() for _ in range(system.sessions - 1)),
        ):
            self._wake(process)
        for node in range(system.nodes if system.round_pages else 0):
            self._wake(self._writer(node))
        while self._ahead[0][0] < end_s:
            self._now, _, self._running = heappop(self._ahead)
            until_s = next(self._running)
            if until_s is not None:
                heappush(self._ahead, (until_s, next(self._order), self._running))
            if self._now < begin_s:
                self._ended.clear()
        if not self._ended:
            raise ValueError("no transaction ended in the simulation")
        per_s = len(self._ended) / (end_s - begin_s)
        of_disks = (bucket for disk in self._disks for bucket in disk.buckets)
        buckets = (*self._nodes, self._client, self._machine, *of_disks)
        used = {b.cause: b.used / b.rate / (end_s + b.saved_s) for b in buckets}
        used["load_bound"] = per_s / (system.rate_per_s or math.inf)
        limit = max(used, key=lambda cause: used[cause])
        if used[limit] >= FULL:
            limit = limit
        else:
            limit = "latency_bound"
        return Simulated(
            per_s, np.array(self._ended), limit, fmean(self._synced_s or [0.0])
        )

    def _wake(self, process: _Process) -> None:
        heappush(self._ahead, (self._now, next(self._order), process))

    def _session(self) -> _Process:
        """Does one transaction after the other. Arrivals count from when they were due."""
        while True:
            began_s = self._now
            if self._system.rate_per_s:
                began_s = self._due_s
                self._due_s += next(self._pauses) / self._system.rate_per_s
                yield max(self._now, began_s)
            yield from self._transaction()
            self._ended.append(self._now - began_s)

    def _transaction(self) -> _Process:
        system = self._system
        begin_s = self._now
        node = next(self._places)
        self._begun += 1
        while self._begun * self._lapse > self._stages[-1][0]:
            self._stages.pop()
        _, reads, writes = self._stages[-1]
        disk = self._disks[node % system.disks]
        self._machine.admit(self._now, system.other_s)
        for _ in range(SLICES):
            for cpu, each_s in (
                (self._client, system.client_s),
                (self._nodes[node], system.node_s),
            ):
                need_s = each_s * next(self._pieces)
                starts_s = max(
                    at.admit(self._now, need_s) for at in (cpu, self._machine)
                )
                yield starts_s + need_s
            if system.delay_s:
                yield self._now + system.delay_s * next(self._pieces)
            self._to_read = self._to_read - reads / SLICES
            own = 0
            while self._to_read < 0:  # a Poisson process
                self._to_read = self._to_read + next(self._pauses)
                own = own + 1
            for _ in range(own):
                yield disk.admit(self._now, system.read_bytes) + next(disk.reads)
        self._dirty[node] += writes
        if system.round_pages:
            own = max(
                0, int(min(self._dirty[node] - 2 * system.round_pages, writes + 1))
            )
            self._dirty[node] -= own
            for _ in range(own):
                starts_s = disk.admit(self._now, system.write_bytes)
                yield starts_s + next(disk.writes) + system.ahead / disk.buckets[0].rate
        elif self._dirty[node] >= system.batch:
            for _ in range(int(self._dirty[node])):
                disk.admit(self._now, system.write_bytes)
            self._dirty[node] %= 1
        if system.commits:
            self._waiting[node].append(self._running)
            if node not in self._syncing:
                self._wake(self._sync(node))
            yield None
        yield self._now + system.waiting * (self._now - begin_s)

    def _writer(self, node: int) -> _Process:
        """Writes a node's pages, in rounds, and each batch when the disk has the one before."""
        system = self._system
        disk = self._disks[node % self._system.disks]
        while True:
            pages = min(self._dirty[node], system.round_pages)
            while pages >= 1:
                batch = int(min(pages, system.batch))
                pages = pages - batch
                self._dirty[node] = self._dirty[node] - batch
                starts_s = max(
                    disk.admit(self._now, system.write_bytes) for _ in range(batch)
                )
                yield starts_s + next(disk.writes)
            yield self._now + ROUND_S

    def _sync(self, node: int) -> _Process:
        """Syncs the log of a node, and its copies on the next ones, while commits wait for it."""
        system = self._system
        copies = range(node, node + self._system.copies)
        on = [self._disks[copy % system.nodes % system.disks] for copy in copies]
        self._syncing.add(node)
        while together := self._waiting.pop(node, []):
            size = system.log_bytes * len(together)
            times_s = (
                d.admit(self._now, size) + next(d.writes) + system.sync_s for d in on
            )
            synced_s = sorted(times_s)[len(on) // 2]
            self._synced_s.append(synced_s - self._now)
            yield synced_s
            for transaction in together:
                self._wake(transaction)
        self._syncing.remove(node)
        yield None
