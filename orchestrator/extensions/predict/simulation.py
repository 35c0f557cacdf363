"""A small seeded event simulation of a database on a disk; nothing is fitted. Pure.

A transaction works in slices: CPU of the client, CPU of its node, then reads, one after the other.
Between them a delay passes, and at the end waiting for other transactions. Why it is so:
docs/research/PREDICTION.md, "What is computed".
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Generator, Sequence
from dataclasses import replace
from heapq import heappop, heappush, heapreplace
from statistics import fmean

import numpy as np

from orchestrator.extensions.predict.courses import AskedOfDisks, Course, held_back
from orchestrator.extensions.predict.disks import (
    Device,
    DiskCaps,
    RateBucket,
    SimulatedDisk,
)
from orchestrator.extensions.predict.draws import Draws
from orchestrator.extensions.predict.simulated_system import (
    SLICES,
    Stage,
    System,
    waits_behind,
)
from orchestrator.facts import BottleneckCause

# Time between rounds of a database's background writer (PostgreSQL's bgwriter_delay).
ROUND_S = 0.2
QUOTA_S = 0.1  # the period in which a container may use its CPU time (cgroups)
_Process = Generator[float | None, None, None]
# Time when a process goes on, its number in the order of asking, and itself. It is no record,
# because one is made for every event.
_Due = tuple[float, int, _Process]


class Simulation:
    """Each process yields when it goes on; or None, and another wakes it. The time of the run is
    shortened to so many events: a transaction then stands for several that warm the cache."""

    def __init__(
        self,
        system: System,
        disk: SimulatedDisk,
        seed: int,
        end_s: float,
    ) -> None:
        self._system = system
        self._disk = disk
        self._end_s = end_s
        self._lapse = (system.warmup_s + system.measure_s) / self._end_s
        # What is asked for. Draws stay in this order, so that a seed means the same.
        draws = Draws(seed)
        machines = _machines(system, disk, self._lapse)
        self._disks = _devices(disk, machines, draws, self._lapse)
        self._logs = self._disks
        if disk.log is not None:
            self._logs = _devices(disk.log, machines, draws, self._lapse)
        self._pieces = draws.pauses(1 / SLICES)
        self._pauses = draws.pauses(1.0)
        self._nodes = _cores(system)
        self._client = RateBucket("client_bound", system.client_cpus)
        self._machine = RateBucket("machine_bound", system.machine_cpus)
        # Time, and who goes on when. The order tells apart who is due at the same moment. Else the
        # processes themselves would be compared, which cannot be.
        self._now = 0.0
        self._order = itertools.count()
        self._ahead: list[_Due] = []
        self._running: _Process
        # Transactions: where they are done, and what they ask for.
        self._places = itertools.cycle(range(system.nodes))
        self._stages = list(reversed(system.stages))
        self._begun = 0
        self._due_s = 0.0  # time of the next arrival
        self._to_read = next(self._pauses)
        # Lists by node: pages to be written, commits for its log's next sync, whether a sync goes
        # on.
        self._dirty = [0.0] * system.nodes
        self._waiting = defaultdict[int, list[_Process]](list)
        self._syncing = set[int]()
        # Results of the simulation.
        self._ended = list[float]()
        self._synced_s = list[float]()
        self._read_s = list[float]()
        self._behind = waits_behind(system, disk)

    def course(self) -> Course:
        """Runs it to its end; what ends while it warms up does not count."""
        warm_s = self._system.warmup_s / self._lapse
        self._begin()
        self._go_on_until(warm_s)
        self._ended.clear()
        self._go_on_until(self._end_s)
        if not self._ended:
            raise ValueError("no transaction ended in the simulation")
        asked = self._asked()
        return Course(
            throughput_per_s=len(self._ended) / (self._end_s - warm_s),
            latencies_s=np.array(self._ended),
            sync_s=fmean(self._synced_s or [0.0]),
            read_s=fmean(self._read_s or [0.0]),
            end_s=self._end_s,
            lapse=self._lapse,
            cores_used=self._cores_used(),
            rate_per_s=self._system.rate_per_s or math.inf,
            asked=asked,
            held_back=held_back(self._disk, self._lapse, asked),
        )

    def _asked(self) -> AskedOfDisks:
        data = [device.asked() for device in self._disks]
        if self._logs is self._disks:
            return AskedOfDisks(data, [])
        return AskedOfDisks(data, [device.asked() for device in self._logs])

    def _begin(self) -> None:
        for _ in range(self._system.sessions):
            self._wake(self._session())
        if self._system.round_pages:
            for node in range(self._system.nodes):
                self._wake(self._writer(node))

    def _go_on_until(self, end_s: float) -> None:
        """Lets each process run that is due before then, in their order."""
        # All of a simulation's time is spent here, so nothing is looked up twice.
        ahead = self._ahead
        order = self._order
        while ahead[0][0] < end_s:
            self._now, _, process = ahead[0]
            self._running = process
            until_s = next(process)
            # It is still the first: whoever was woken by it comes after it.
            if until_s is None:
                heappop(ahead)
            else:
                heapreplace(ahead, (until_s, next(order), process))

    def _cores_used(self) -> dict[BottleneckCause, float]:
        used: dict[BottleneckCause, float] = {}
        for bucket in [*self._nodes, self._client, self._machine]:
            used[bucket.cause] = bucket.used_share(self._end_s)
        return used

    def _wake(self, process: _Process) -> None:
        heappush(self._ahead, (self._now, next(self._order), process))

    def _session(self) -> _Process:
        """Does one transaction after the other. Arrivals count from when they were due."""
        rate_per_s = self._system.rate_per_s
        while True:
            began_s = self._now
            if rate_per_s:
                began_s = self._due_s
                self._due_s += next(self._pauses) / rate_per_s
                yield max(self._now, began_s)
            yield from self._transaction()
            self._ended.append(self._now - began_s)

    def _transaction(self) -> _Process:
        system = self._system
        begin_s = self._now
        node = next(self._places)
        stage = self._next_stage()
        self._machine.admit(self._now, system.other_s)
        yield from self._slices(node, stage.reads / SLICES)
        self._dirty[node] += stage.writes
        if system.round_pages:
            yield from self._write_own_pages(node, stage.writes)
        elif self._dirty[node] >= system.batch:
            # Nothing is known of this database's writer: it writes in batches for which none waits.
            self._write_batch(node)
        if system.commits:
            self._await_sync(node)
            yield None
        # Locks are held for as long as a transaction takes: waiting grows and shrinks with it.
        yield self._now + system.waiting * (self._now - begin_s)

    def _next_stage(self) -> Stage:
        """What the transaction asks for that begins now."""
        # A transaction of a shortened run stands for `lapse` of them, so the cache warms up as far.
        self._begun += 1
        while self._begun * self._lapse > self._stages[-1].until:
            self._stages.pop()
        return self._stages[-1]

    def _slices(self, node: int, reads: float) -> _Process:
        """Parts of a transaction: CPU of the client and of its node, the delay, and reads."""
        system = self._system
        disk = self._disks[node % system.disks]
        cores = self._nodes[node]
        for _ in range(SLICES):
            yield self._used_s(self._client, system.client_s * next(self._pieces))
            yield self._used_s(cores, system.node_s * next(self._pieces))
            if system.delay_s:
                yield self._now + system.delay_s * next(self._pieces)
            # Each read waits for the one before, for the disk's buckets, and then for its own
            # latency.
            for _ in range(self._reads_due(reads)):
                through_s = disk.admit(self._now, system.read_bytes)
                until_s = through_s + next(disk.reads) + self._behind.read_s
                self._read_s.append(until_s - self._now)
                yield until_s

    def _used_s(self, cores: RateBucket, need_s: float) -> float:
        """When CPU time asked for now has been used, on cores of a machine that others share."""
        begins_s = cores.admit(self._now, need_s)
        # A machine without end holds nobody back.
        if self._system.machine_cpus < math.inf:
            machine_s = self._machine.admit(self._now, need_s)
            if machine_s > begins_s:
                begins_s = machine_s
        return begins_s + need_s

    def _reads_due(self, reads: float) -> int:
        """A number with this mean: those of a Poisson process, whose pauses are drawn."""
        self._to_read -= reads
        due = 0
        while self._to_read < 0:
            self._to_read += next(self._pauses)
            due += 1
        return due

    def _write_own_pages(self, node: int, writes: float) -> _Process:
        """A session writes what the background writer does not get to, each page after the
        other."""
        system = self._system
        disk = self._disks[node % system.disks]
        # The writer has two rounds for what is there. A session writes little more than it has
        # changed itself.
        left = self._dirty[node] - 2 * system.round_pages
        pages = max(0, int(min(left, writes + 1)))
        self._dirty[node] -= pages
        for _ in range(pages):
            starts_s = disk.admit(self._now, system.write_bytes)
            yield starts_s + next(disk.writes) + self._behind.write_s

    def _write_batch(self, node: int) -> None:
        """All whole pages at once, for which nothing waits."""
        disk = self._disks[node % self._system.disks]
        for _ in range(int(self._dirty[node])):
            disk.admit(self._now, self._system.write_bytes)
        self._dirty[node] %= 1

    def _await_sync(self, node: int) -> None:
        """Lets the running transaction wait for the log's next sync, which begins if none is."""
        self._waiting[node].append(self._running)
        if node not in self._syncing:
            self._wake(self._sync(node))

    def _writer(self, node: int) -> _Process:
        """Writes a node's pages, in rounds, and each batch when the disk has the one before."""
        system = self._system
        disk = self._disks[node % system.disks]
        while True:
            pages = min(self._dirty[node], system.round_pages)
            while pages >= 1:
                batch = int(min(pages, system.batch))
                pages -= batch
                self._dirty[node] -= batch
                starts_s = self._now
                for _ in range(batch):
                    admitted_s = disk.admit(self._now, system.write_bytes)
                    starts_s = max(starts_s, admitted_s)
                yield starts_s + next(disk.writes)
            yield self._now + ROUND_S

    def _sync(self, node: int) -> _Process:
        """Syncs the log of a node, and its copies on the next ones, while commits wait for it."""
        system = self._system
        copies = range(node, node + system.copies)
        disks = [self._logs[copy % system.nodes % system.disks] for copy in copies]
        self._syncing.add(node)
        while node in self._waiting:
            # One sync takes all commits that came before it began.
            together = self._waiting.pop(node)
            synced_s = self._synced_on(disks, system.log_bytes * len(together))
            self._synced_s.append(synced_s - self._now)
            yield synced_s
            for transaction in together:
                self._wake(transaction)
        self._syncing.remove(node)
        yield None

    def _synced_on(self, disks: Sequence[Device], size: float) -> float:
        """When a majority of the disks have synced what is asked for now."""
        times_s = []
        for disk in disks:
            written_s = disk.admit(self._now, size) + next(disk.writes)
            times_s.append(written_s + self._system.sync_s)
        return sorted(times_s)[len(disks) // 2]  # the second of three copies


def _machines(
    system: System, disk: SimulatedDisk, lapse: float
) -> Sequence[DiskCaps | None]:
    """What the machine of each node lets through to its disks together."""
    if disk.together is None:
        return [None] * system.disks
    all_disks = replace(disk, limits=disk.together)
    return [DiskCaps(all_disks, lapse) for _ in range(system.disks)]


def _devices(
    disk: SimulatedDisk,
    machines: Sequence[DiskCaps | None],
    draws: Draws,
    lapse: float,
) -> list[Device]:
    """One such disk on each of these machines."""
    return [Device(disk, draws, DiskCaps(disk, lapse), machine) for machine in machines]


def _cores(system: System) -> list[RateBucket]:
    """The cores of each node."""
    # A container may use its quota at any time in a period if all share one machine.
    quota_s = 0.0
    if system.machine_cpus < math.inf:
        quota_s = QUOTA_S
    return [
        RateBucket("cpu_bound", system.node_cpus, quota_s) for _ in range(system.nodes)
    ]
