"""A database system as an event simulation, which leaves a whole run as ours do.

It knows nothing of the package's rules: sessions pass client CPU, the network, node CPU, reads of
the disk, a hot row's lock and the next sync of the log, each a queue of its own. Its counters are
read once a second like a machine's, so that what names a cause can be held against what the cause
is: the change of throughput when one thing is made a quarter better.
"""

from __future__ import annotations

import heapq
from collections import defaultdict, deque
from collections.abc import Collection, Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random

import pandas as pd

from orchestrator.analysis.results import RunData
from orchestrator.metrics import measured
from orchestrator.model import Measurement, Run
from tests.campaign_tables import Shape, held, unit_of
from tests.campaigns import START_S, build_profile, build_run, build_workload
from tests.tiers import changed

BETTER = 1.25
WARMUP_S = 5.0

State = (
    str  # idle, running, reading, syncing, locked: what a server says of its sessions
)


@dataclass(frozen=True)
class System:
    """Times in s, of one transaction where they are not of one I/O. `rate_per_s`: open loop.
    `written_back`: so many pages, each `written_each_s`, with 32 I/Os in flight."""

    sessions: int = 16
    client_s: float = 0.0005
    client_cores: int = 8  # that its program can use
    round_trip_s: float = 0.001
    link_bytes_per_s: float = 1e9
    sent_bytes: float = 2_000.0
    cpu_s: float = 0.004
    cores: int = 8
    reads: float = 4.0
    iops: float = 20_000.0
    bytes_per_s: float = 1e9
    io_bytes: float = 8_192.0
    latency_s: float = 0.002
    commits: float = 0.0  # share of transactions that write, and wait for the log
    hot: float = 0.0  # share of those that take the hot row, until they have committed
    under_lock_s: float = 0.0  # CPU while they have it
    holding: float = 1.0  # times as long as that, and their sync, take
    written_back: float = 0.0
    written_each_s: float = 10.0
    rate_per_s: float = 0.0
    window_s: float = 30.0


# Ten times slower than a real one, so that a window is simulated in a second.
SLOW = System(
    client_s=0.001,
    round_trip_s=0.002,
    cpu_s=0.01,
    latency_s=0.02,
    iops=4_000,
    reads=4.0,
    window_s=20.0,
)


def improved(system: System) -> dict[str, System]:
    """Thing → the system in which it is a quarter better."""

    def faster(*names: str) -> System:
        return replace(
            system, **{name: getattr(system, name) / BETTER for name in names}
        )

    def more(name: str) -> System:
        return replace(system, **{name: getattr(system, name) * BETTER})

    return {
        "iops": more("iops"),
        "bandwidth": more("bytes_per_s"),
        "latency": faster("latency_s"),
        "cpu": faster("cpu_s", "under_lock_s"),
        "client": faster("client_s"),
        "network": replace(
            faster("round_trip_s"), link_bytes_per_s=system.link_bytes_per_s * BETTER
        ),
        "lock": faster("holding"),
        "sessions": replace(system, sessions=round(system.sessions * BETTER)),
    }


Work = Generator[
    float | None, None, None
]  # for how long it does nothing; None: until it is woken


class _Server:
    """So many can be served at a time, in order of arrival."""

    def __init__(self, sim: Simulation, places: int) -> None:
        self.sim, self.free, self.busy_s = sim, places, 0.0
        self.waiting: deque[Work] = deque()

    def serve(self, seconds: float) -> Work:
        if self.free:
            self.free -= 1
        else:
            self.waiting.append(self.sim.current)
            yield None
        self.busy_s += seconds
        yield seconds
        self.release()

    def release(self) -> None:
        if self.waiting:
            self.sim.wake(self.waiting.popleft())
        else:
            self.free += 1


class _Disk:
    """Lets I/Os through at its two rates, each then takes its own latency."""

    def __init__(self, sim: Simulation) -> None:
        self.sim, self.counts = sim, defaultdict[str, float](float)
        self.next_s = self.busy_until_s = 0.0
        system = sim.system
        self._apart_s = max(1 / system.iops, system.io_bytes / system.bytes_per_s)

    def io(self, way: str, latency_s: float) -> Work:
        # Compared, because `max` takes longer than all else here.
        now_s = begin_s = self.sim.now
        if self.next_s > begin_s:
            begin_s = self.next_s
        self.next_s = begin_s + self._apart_s
        took_s = begin_s + latency_s - now_s
        end_s = now_s + took_s
        idle_until_s = now_s
        if self.busy_until_s > now_s:
            idle_until_s = self.busy_until_s
        if end_s > idle_until_s:
            self.counts["busy"] += end_s - idle_until_s
        if end_s > self.busy_until_s:
            self.busy_until_s = end_s
        yield took_s
        self.counts[way] += 1
        self.counts[f"{way} s"] += took_s


class Simulation:
    """`ended`: transactions in the window; `samples`: metric of a node → its value each second."""

    def __init__(self, system: System, seed: int) -> None:
        self.system, self.random = system, Random(seed)
        self._draw = self.random.random
        self.now, self._number = 0.0, 0
        self._due: list[tuple[float, int, Work]] = []
        self.current: Work
        self.states = dict.fromkeys(_STATES, 0)
        self.client = _Server(self, system.client_cores)
        self.cpu, self.disk = _Server(self, system.cores), _Disk(self)
        self.row = _Server(self, 1)
        self.link_free_s = self.sent_bytes = self.read_s = self.sync_s = 0.0
        self._syncing, self._committing = False, list[Work]()
        self.ended, self.due, self.queue = 0, 0, 0
        self.samples: dict[tuple[str, str], list[float]] = {}
        self.reset: dict[str, float] = {}
        if system.rate_per_s:
            self.begin(self._arrivals())
        else:
            for _ in range(system.sessions):
                self.begin(self._session())
        self._pages, self._since_s = 0.0, 0.0
        if system.written_back:
            for _ in range(32):
                self.begin(self._flusher())
        self.begin(self._sampler())

    def run(self) -> Simulation:
        due = self._due
        last_s = WARMUP_S + self.system.window_s + 0.001
        # A step is short, and there are millions: a function for each would take a third more.
        while due and due[0][0] <= last_s:
            self.now, _, work = due[0]
            self.current = work
            after_s = next(work, None)
            # It is still the first: whoever was woken by it comes after it.
            if after_s is None:
                heapq.heappop(due)
            else:
                self._number += 1
                heapq.heapreplace(due, (self.now + after_s, self._number, work))
        return self

    def begin(self, work: Work) -> None:
        self.wake(work)

    def wake(self, work: Work) -> None:
        self._number += 1
        heapq.heappush(self._due, (self.now, self._number, work))

    def _drawn(self, mean_s: float, spread: float = 0.3) -> float:
        return mean_s * (1 - spread + 2 * spread * self._draw())

    def _in(self, before: State, state: State) -> State:
        self.states[before] -= 1
        self.states[state] += 1
        return state

    def _session(self) -> Work:
        self.states["idle"] += 1
        yield self._drawn(0.01, 1.0)
        while True:
            yield from self._transaction()

    def _arrivals(self) -> Work:
        while True:
            yield self.random.expovariate(self.system.rate_per_s)
            self.due += self.now > WARMUP_S
            self.begin(self._arrived())

    def _arrived(self) -> Work:
        self.states["idle"] += 1
        yield from self._transaction()
        self.states["idle"] -= 1

    def _transaction(self) -> Work:
        system, draw = self.system, self._draw
        state = "idle"
        yield from self.client.serve(self._drawn(system.client_s))
        sent_s = system.sent_bytes / system.link_bytes_per_s
        self.link_free_s = max(self.now, self.link_free_s) + sent_s
        yield self.link_free_s - self.now + self._drawn(system.round_trip_s)
        self.sent_bytes += system.sent_bytes
        reads = int(system.reads) + (draw() < system.reads % 1)
        writes = draw() < system.commits
        for step in range(reads + 1):
            state = self._in(state, "running")
            yield from self.cpu.serve(self._drawn(system.cpu_s / (reads + 1)))
            if step < reads:
                state, begun_s = self._in(state, "reading"), self.now
                yield from self.disk.io("read", self._drawn(system.latency_s, 0.5))
                self.read_s += self.now - begun_s
        hot = writes and draw() < system.hot
        if hot:
            state = self._in(state, "locked")
            yield from self._locked()
            state = self._in(state, "running")
            yield from self.cpu.serve(self._drawn(system.under_lock_s * system.holding))
        if writes:
            state = self._in(state, "syncing")
            yield from self._commit(system.holding if hot else 1.0)
        if hot:
            self.row.release()
        self._in(state, "idle")
        self.ended += self.now > WARMUP_S

    def _locked(self) -> Work:
        if self.row.free:
            self.row.free -= 1
        else:
            self.row.waiting.append(self.current)
            yield None

    def _commit(self, times: float) -> Work:
        """One sync at a time; who comes meanwhile is in the next, which its first one makes."""
        own = self.current
        self._committing.append(own)
        if self._syncing:
            yield None
            if own not in self._committing:
                return
        self._syncing = True
        together, self._committing = self._committing, []
        begun_s = self.now
        yield from self.disk.io(
            "written", times * self._drawn(self.system.latency_s, 0.5)
        )
        self.sync_s += self.now - begun_s
        for other in together:
            if other is not own:
                self.wake(other)
        self._syncing = bool(self._committing)
        if self._committing:
            self.wake(self._committing[0])

    def _flusher(self) -> Work:
        each_s = self.system.written_each_s
        while True:
            if self.now >= self._since_s + each_s:
                self._pages, self._since_s = 0.0, self.now
            if self._pages < self.system.written_back:
                self._pages += 1
                yield from self.disk.io("written", self._drawn(self.system.latency_s))
            else:
                yield max(0.001, self._since_s + each_s - self.now)

    def _sampler(self) -> Work:
        """As the collectors: counters from a start of their own, and the sessions' states."""
        while True:
            counts = self.disk.counts
            own = {
                "cpu_seconds_total": self.cpu.busy_s,
                "disk_reads_total": counts["read"],
                "disk_writes_total": counts["written"],
                "disk_read_bytes_total": counts["read"] * self.system.io_bytes,
                "disk_written_bytes_total": counts["written"] * self.system.io_bytes,
                "disk_read_seconds_total": counts["read s"],
                "disk_write_seconds_total": counts["written s"],
                "disk_queue_seconds_total": counts["read s"] + counts["written s"],
                "disk_busy_seconds_total": counts["busy"],
                "network_received_bytes_total": 0.2 * self.sent_bytes,
                "network_sent_bytes_total": self.sent_bytes,
            }
            own |= {f"sessions_{state}": float(self.states[state]) for state in _STATES}
            host = {"cpu_busy_seconds_total": self.cpu.busy_s}
            away = {"cpu_busy_seconds_total": self.client.busy_s}
            away["busiest_core_pct"] = 100 * min(1.0, self._grown_s())
            client = {"cpu_seconds_total": self.client.busy_s}
            nodes = {"node-1": own, "host": host, "client": client, "away": away}
            for node, values in nodes.items():
                for metric, value in values.items():
                    self.samples.setdefault((node, metric), []).append(value)
            if not self.reset and self.now >= WARMUP_S:
                self.reset = {"read": self.read_s, "sync": self.sync_s}
            yield 1.0

    def _grown_s(self) -> float:
        """What the client's busiest core did in a second, if its threads share cores evenly."""
        before = self.samples.get(("client", "cpu_seconds_total"), [0.0])[-1]
        return (self.client.busy_s - before) / self.system.client_cores


_STATES: tuple[State, ...] = ("idle", "running", "reading", "syncing", "locked")


def simulated(system: System, seed: int = 1) -> tuple[float, RunData]:
    """Throughput, and the run as its record and samples have it: database and client each on a
    machine of its own, the client's with 8 cores."""
    done = _done(system, seed)
    throughput_per_s = done.ended / system.window_s
    return throughput_per_s, _run(system, done, throughput_per_s)


@lru_cache(maxsize=4)
def _done(system: System, seed: int) -> Simulation:
    """Its end: the run and what is gained are of the same simulation."""
    return Simulation(system, seed).run()


def gains_pct(
    system: System, seed: int = 1, things: Collection[str] = ()
) -> dict[str, float]:
    """Thing → by how much throughput changes when that is a quarter better. `things`: only of
    these, each of which takes a simulation of its own."""
    base = _done(system, seed).ended
    gains: dict[str, float] = {}
    for name, better in improved(system).items():
        if not things or name in things:
            ended = Simulation(better, seed).run().ended
            gains[name] = 100 * (ended / base - 1)
    return gains


def _run(system: System, done: Simulation, throughput_per_s: float) -> RunData:
    profile = build_profile("ultra", nodes=1, cpus=float(system.cores))
    limits = {"iops": round(system.iops), "bytes_per_s": round(system.bytes_per_s)}
    latency = {"read_latency_s": system.latency_s, "write_latency_s": system.latency_s}
    profile = replace(profile, tier=changed(profile.tier, **limits, **latency))
    workload = build_workload("insert", warmup_s=WARMUP_S, measure_s=system.window_s)
    options = {"arrival_rate": system.rate_per_s} if system.rate_per_s else {}
    workload = replace(workload, threads=system.sessions, options=options)
    shape = Shape(max(1.0, throughput_per_s), 1.0, 1.0, 0.001, 1.0)
    run = build_run(
        Run(1, "ultra", "insert", 1),
        profile,
        workload,
        shape,
        start_s=START_S - WARMUP_S,
    )
    samples = pd.DataFrame(list(_rows(done)))
    facts = {
        **run.record.facts,
        "database_before": {"since_reset": {"blks_read_s": 0.0}},
        "database": {
            "durable": True,
            "since_reset": {
                "blks_read_s": done.read_s,
                "wal_sync_s": done.sync_s,
                "wal_nodes": 1,
            },
        },
    }
    flow: tuple[Measurement, ...] = ()
    if system.rate_per_s:
        flow = (
            measured("offered_per_s", done.due / system.window_s),
            measured("served_per_s", throughput_per_s),
        )
    nodes = []
    for node in run.record.nodes:
        if node.role == "host":
            nodes += [replace(node, cpus=2.0 * system.cores, machine="here")]
            nodes += [replace(node, name="away", cpus=8.0, machine="away")]
        else:
            nodes.append(
                replace(node, machine="here" if node.role == "database" else "away")
            )
    record = replace(
        run.record,
        nodes=tuple(nodes),
        facts=facts,
        measurements=(*run.record.measurements, *flow),
    )
    return RunData(record, run.read_intervals, held(samples))


def _rows(done: Simulation) -> Iterator[Mapping[str, object]]:
    for (node, metric), values in done.samples.items():
        for second, value in enumerate(values):
            yield {
                "time_s": START_S - WARMUP_S + second,
                "node": node,
                "metric": metric,
                "unit": unit_of(metric),
                "value": float(value),
                "phase": "warm-up" if second < WARMUP_S else "measure",
            }
