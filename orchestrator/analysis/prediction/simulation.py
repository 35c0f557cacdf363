"""A small seeded event simulation of a database on a disk; nothing is fitted. Pure.

A transaction works in slices: CPU of the client, CPU of its node, then reads, one after the other.
A read waits for the disk's buckets of IOPS and of bytes, and then takes a latency of its own. A
commit waits for the next sync of the log; then a constant delay passes. Writes of data take from
the same buckets, and no session waits for them.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict, deque
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from heapq import heappop, heappush

import numpy as np

from orchestrator.analysis.figures.transactions import DELIVERY, NEW_ORDER
from orchestrator.analysis.statistics import stats
from orchestrator.facts import BottleneckCause
from orchestrator.metrics import PERCENTILES
from orchestrator.planning.latency_quantiles import mean_s
from orchestrator.tier import Limits, Quantiles

SLICES = 4  # in which a transaction uses CPU and reads
EVENTS = 40_000  # of a simulation, about
FILLING = 0.1  # of the time, in which the system fills up
SLACK_S = 0.02  # for so long a bucket keeps what was not used (docs/DISKS.md)
FULL = 0.9  # a resource that is used more limits
ALL = "all"
_DRAWS = 2**14
_Process = Generator[float | None, None, None]


@dataclass(frozen=True)
class TransactionDemand:
    """`share`: of all transactions. `weight`: its CPU, reads and delay, of the mean of all types.
    `commits`: whether it waits for a sync of the log. `think_s`: the mean pause before it."""

    name: str
    share: float = 1.0
    weight: float = 1.0
    commits: bool = True
    think_s: float = 0.0


@dataclass(frozen=True)
class System:
    """Cluster and load, which stay the same on every tier. Demands are means of one transaction.

    sessions: of a closed loop, or terminals that think; of an open loop `rate_per_s` arrive.
    connections: in use at a time, at most. node_s, client_s: CPU time. writes: I/Os of data, which
    no session waits for. log_writes: writes one after the other in a sync of the log. copies: of
    the log, of which a majority must be synced. duration_s: of the run, for burst credit."""

    types: tuple[TransactionDemand, ...]
    sessions: int
    connections: int
    node_s: float
    client_s: float
    node_cpus: float
    client_cpus: float
    reads: float = 0.0
    read_bytes: float = 8192.0
    writes: float = 0.0
    write_bytes: float = 8192.0
    log_bytes: float = 0.0
    log_writes: float = 1.0
    delay_s: float = 0.0
    rate_per_s: float | None = None
    nodes: int = 1
    disks: int = 1
    copies: int = 1
    duration_s: float = 60.0


@dataclass(frozen=True)
class SimulatedDisk:
    """What a disk lets through, and what its latencies are drawn from."""

    limits: Limits
    read: Quantiles
    write: Quantiles

    def rates(self, rate: str) -> tuple[float, float, float]:
        """Of `iops` or `bytes_per_s`: base, peak, and what a full bucket of burst credit holds."""
        limits, burst = self.limits, self.limits.burst
        base = (limits.total_iops if rate == "iops" else limits.bytes_per_s) or math.inf
        top = (getattr(burst, rate) or 0.0) if burst and burst.start_pct else 0.0
        return (
            (base, top, (top - base) * burst.duration_s)
            if burst and top > base
            else (base, base, 0)
        )


@dataclass(frozen=True)
class Simulated:
    """What a simulation came to. latencies_s: by type, each transaction's."""

    throughput_per_s: float
    latencies_s: Mapping[str, np.ndarray]
    limit: BottleneckCause

    def value(self, metric: str, scope: str = ALL) -> float | None:
        """A figure by its name in `metrics`, defined as that of a run (`figures.transactions`)."""
        if metric == "throughput_per_s":
            return self.throughput_per_s
        percent = PERCENTILES.get(metric)
        left_out = DELIVERY if percent and NEW_ORDER in self.latencies_s else ""
        kept = [n for n in self.latencies_s if n == scope or (scope == ALL and n != left_out)]
        values = np.concatenate([np.empty(0), *(self.latencies_s[name] for name in kept)])
        if percent is None:
            return float(values.mean()) if values.size else None
        enough = values.size >= stats.percentile_min_count(percent)
        return float(np.percentile(values, percent, method="inverted_cdf")) if enough else None


class _Bucket:
    """Lets `rate` units a second through, in order of asking: I/Os, bytes, or CPU time of several
    cores (Seidmann's servers). It saves up what is not used for `depth_s`, at first `saved_s`."""

    def __init__(self, rate: float, depth_s: float = SLACK_S, saved_s: float = 0.0) -> None:
        self._rate, self._depth_s, self._due_s = rate, depth_s, -saved_s

    def admit(self, now: float, units: float) -> float:
        """When units asked for now get through (generic cell rate algorithm)."""
        due_s = max(self._due_s, now - self._depth_s)
        self._due_s = due_s + units / self._rate
        return max(now, due_s)


class _Device:
    """A disk. `lapse`: seconds of the run in one of the simulation, for its burst credit."""

    def __init__(self, disk: SimulatedDisk, rng: np.random.Generator, lapse: float) -> None:
        self._unit_bytes, burst = disk.limits.io_unit_bytes, disk.limits.burst
        self._buckets = []
        for rate in ("iops", "bytes_per_s"):
            base, top, full = disk.rates(rate)
            full_s = full / base / lapse
            saved_s = full_s * burst.start_pct / 100 if burst else 0.0
            self._buckets.append((_Bucket(top), _Bucket(base, full_s + SLACK_S, saved_s)))
        self.reads, self.writes = (
            _forever(np.interp(rng.random(_DRAWS), *np.array(table).T))
            for table in (disk.read, disk.write)
        )

    def admit(self, now: float, size: float) -> float:
        """When an I/O of this size that is asked for now gets through the buckets."""
        asked = zip(self._buckets, (max(1, math.ceil(size / self._unit_bytes)), size), strict=True)
        return max(bucket.admit(now, units) for buckets, units in asked for bucket in buckets)


def _forever(values: np.ndarray) -> Iterator[float]:
    return itertools.cycle(values.tolist())


def most_per_s(
    system: System, disk: SimulatedDisk, syncs: float = 0.0
) -> dict[BottleneckCause, float]:
    """Resource → how many transactions a second it lets through (utilisation law), with so many
    syncs of the log for each; a disk that bursts in the mean of the run."""
    supplies: dict[BottleneckCause, tuple[float, float]] = {
        "cpu_bound": (system.nodes * system.node_cpus, system.node_s),
        "client_bound": (system.client_cpus, system.client_s),
    }
    size = system.reads * system.read_bytes + system.writes * system.write_bytes + system.log_bytes
    for rate, need in ("iops", system.reads + system.writes + syncs), ("bytes_per_s", size):
        (base, top, full), burst = disk.rates(rate), disk.limits.burst
        credit = full * burst.start_pct / 100 / system.duration_s if burst else 0.0
        cap: BottleneckCause = "iops_cap" if rate == "iops" else "bandwidth_cap"
        cause = "burst_exhausted" if base < base + credit < top else cap
        supplies[cause] = system.disks * min(top, base + credit), need
    return {cause: has / need if need else math.inf for cause, (has, need) in supplies.items()}


@lru_cache(maxsize=256)  # many tiers have the same disk
def simulate(system: System, disk: SimulatedDisk, seed: int = 1, events: int = EVENTS) -> Simulated:
    """The system with its data on such disks. Equal seeds draw the same on all tiers. ValueError if
    no transaction ended."""
    return _Simulation(system, disk, np.random.default_rng(seed), events).result()


class _Simulation:
    """Each process yields when it goes on; or None, and another wakes it."""

    def __init__(
        self, system: System, disk: SimulatedDisk, rng: np.random.Generator, events: int
    ) -> None:
        self._system, self._disk = system, disk
        shares = np.array([kind.share for kind in system.types])
        self._think_s = float(shares @ [kind.think_s for kind in system.types])
        alone_s = system.node_s + system.client_s + system.reads * mean_s(disk.read)
        alone_s += system.delay_s + mean_s(disk.write) * any(kind.commits for kind in system.types)
        sessions = system.rate_per_s or system.sessions / (alone_s + self._think_s)
        per_s = min(sessions, *most_per_s(system, disk).values())
        self._end_s = events / per_s / (2 * SLICES + 3 + system.reads)
        self._end_s = max(self._end_s, 3 * self._think_s)
        lapse = system.duration_s / self._end_s
        self._disks = [_Device(disk, rng, lapse) for _ in range(system.disks)]
        self._nodes = [_Bucket(system.node_cpus, 0.0) for _ in range(system.nodes)]
        self._client = _Bucket(system.client_cpus, 0.0)
        self._kinds = _forever(rng.choice(len(shares), _DRAWS, p=shares / shares.sum()))
        means = {kind: system.reads * kind.weight / SLICES for kind in system.types}
        self._reads = {k: _forever(rng.poisson(mean, _DRAWS)) for k, mean in means.items()}
        self._pieces = _forever(rng.exponential(1 / SLICES, _DRAWS))
        self._pauses = _forever(rng.exponential(1, _DRAWS))
        self._order, self._numbers = itertools.count(), itertools.count()
        self._ahead: list[tuple[float, int, _Process]] = []
        self._queue, self._idle = deque[_Process](), system.connections
        self._waiting = defaultdict[int, list[_Process]](list)  # by node, for its log's next sync
        self._syncing = set[int]()
        self._owed, self._syncs = 0.0, 0  # writes of data that are a part of one; of the log
        self._ended: dict[str, list[float]] = defaultdict(list)
        self._now, self._running = 0.0, self._arrivals()

    def result(self) -> Simulated:
        """Runs it to its end; what ends while it fills up does not count."""
        system, begin_s, end_s = self._system, FILLING * self._end_s, self._end_s
        sessions = [self._session(place) for place in range(system.sessions)]
        for process in [self._running] if system.rate_per_s else sessions:
            self._wake(process)
        while self._ahead[0][0] < end_s:
            self._now, _, self._running = heappop(self._ahead)
            if (until_s := next(self._running, None)) is not None:
                heappush(self._ahead, (until_s, next(self._order), self._running))
            if self._now < begin_s:
                self._ended.clear()
        if not (count := sum(map(len, self._ended.values()))):
            raise ValueError("no transaction ended in the simulation")
        latencies_s = {name: np.array(values) for name, values in self._ended.items()}
        per_s = count / (end_s - begin_s)
        most = most_per_s(system, self._disk, self._syncs / end_s / per_s)
        use = {cause: per_s / bound for cause, bound in most.items()}
        asked_s = self._think_s / system.sessions or 1 / (system.rate_per_s or math.inf)
        use["load_bound"] = per_s * asked_s
        limit = max(use, key=lambda cause: use[cause])
        return Simulated(per_s, latencies_s, limit if use[limit] >= FULL else "latency_bound")

    def _wake(self, process: _Process) -> None:
        heappush(self._ahead, (self._now, next(self._order), process))

    def _session(self, place: int) -> _Process:
        yield self._think_s * place / self._system.sessions
        while True:
            kind = self._system.types[int(next(self._kinds))]
            yield self._now + kind.think_s * next(self._pauses)
            yield from self._transaction(kind)

    def _arrivals(self) -> _Process:
        while True:
            yield self._now + next(self._pauses) / (self._system.rate_per_s or 1.0)
            self._wake(self._transaction(self._system.types[int(next(self._kinds))]))

    def _transaction(self, kind: TransactionDemand) -> _Process:
        """Its latency counts from when it has a connection; in an open loop from when it is due."""
        system, begin_s = self._system, self._now
        if self._idle:
            self._idle -= 1
        else:
            self._queue.append(self._running)
            yield None
            begin_s = begin_s if system.rate_per_s else self._now
        number = next(self._numbers)
        node, disk = number % system.nodes, self._disks[number % system.nodes % system.disks]
        client_s, node_s = system.client_s * kind.weight, system.node_s * kind.weight
        for _ in range(SLICES):
            for cpu, need_s in (self._client, client_s), (self._nodes[node], node_s):
                piece_s = need_s * next(self._pieces)
                yield cpu.admit(self._now, piece_s) + piece_s
            for _ in range(int(next(self._reads[kind]))):
                yield disk.admit(self._now, system.read_bytes) + next(disk.reads)
        self._owed += system.writes
        for _ in range(int(self._owed)):
            self._disks[number % system.disks].admit(self._now, system.write_bytes)
        self._owed %= 1
        if kind.commits:
            self._waiting[node].append(self._running)
            if node not in self._syncing:
                self._wake(self._sync(node))
            yield None
        yield self._now + system.delay_s * kind.weight
        self._ended[kind.name].append(self._now - begin_s)
        if self._queue:
            self._wake(self._queue.popleft())
        else:
            self._idle += 1

    def _sync(self, node: int) -> _Process:
        """Syncs the log of a node, and its copies on the next ones, while commits wait for it."""
        system, copies = self._system, range(node, node + self._system.copies)
        on = [self._disks[copy % system.nodes % system.disks] for copy in copies]
        self._syncing.add(node)
        while together := self._waiting.pop(node, []):
            size = system.log_bytes * len(together)
            times_s = (d.admit(self._now, size) + next(d.writes) * system.log_writes for d in on)
            self._syncs += len(on)
            yield sorted(times_s)[len(on) // 2]
            for transaction in together:
                self._wake(transaction)
        self._syncing.remove(node)
