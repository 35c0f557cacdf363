"""By what share throughput would follow each thing, from what sessions were seen to do. Pure.

In a closed network of queues throughput follows a thing as the number of sessions there grows with
one session more (Denning and Buzen, 1978; Reiser and Lavenberg, 1980): time in service counts once,
time in a queue 1 / (1 − use) times, because that is how it grows with use. What counts for which
cause: docs/METHOD.md."""

from collections.abc import Mapping
from dataclasses import dataclass

from orchestrator.analysis.telemetry import disk_demand, machines
from orchestrator.analysis.telemetry.node_values import (
    CapName,
    Evidence,
    assumed,
    largest,
)
from orchestrator.facts import BottleneckCause

# Of sessions' time: if they wait less for the disk, a faster one gives nothing.
IDLE_DISK_PCT = 2.0
FREE_PCT = 70.0  # of a CPU; of a cap too, for more sessions to find room
# Of what throughput follows, or of the seconds, for a limit to have a turn.
TURN_PCT = 15.0
CORE_PCT = 95.0
ONE_CORE = (0.9, 1.15)  # cores used by what one thread holds back
LOCKED_PCT = 5.0  # of sessions' time: more sessions would wait for the same locks
RETRIED_PCT = 5.0  # of transactions
_FULL = 0.98  # the use of a resource is not known better
Shares = dict[BottleneckCause, float]


# ------------------------------------------------------------------ of the disk and of CPUs


def nearest_cap(values: Evidence) -> float:
    return largest(
        values.iops_of_cap_pct,
        values.bandwidth_of_cap_pct,
        values.shared_iops_of_cap_pct,
        values.shared_bandwidth_of_cap_pct,
    )


def at_a_cap_pct(values: Evidence) -> float:
    """Share of the seconds at the cap that binds most often."""
    return largest(values.time_at_iops_cap_pct, values.time_at_bandwidth_cap_pct)


def waiting_pct(values: Evidence) -> float | None:
    """Share of its time that a session waits for the disk, by the database's count: in reads, and
    of the rest while a log sync is under way. None if it counts neither."""
    if values.sessions_reading_pct is None and values.log_syncing_pct is None:
        return None
    reading = min(values.sessions_reading_pct or 0.0, 100.0)
    syncing = min(values.log_syncing_pct or 0.0, 100.0)
    return reading + (100 - reading) * syncing / 100


def disk_is_idle(values: Evidence) -> bool:
    """Whether sessions are known to wait for it so little that a faster one would give nothing."""
    waiting = waiting_pct(values)
    return waiting is not None and waiting < IDLE_DISK_PCT


def one_core(cores: float | None, busiest_pct: float | None) -> bool:
    """Whether one thread at a time does the work: a core is full, and no more than one is used."""
    uses_one = ONE_CORE[0] <= (cores or 0.0) <= ONE_CORE[1]
    return uses_one and (busiest_pct or 0.0) >= CORE_PCT


def one_client_core(values: Evidence) -> bool:
    """`one_core` of the load generator."""
    return one_core(values.client_cores, values.client_core_pct)


def cpus_are_free(values: Evidence) -> bool:
    """Whether no CPU is near its limit."""
    busiest = largest(values.cpu_pct, values.client_cpu_pct, values.host_cpu_pct)
    return busiest < FREE_PCT


def locks_are_waited_for(values: Evidence) -> bool:
    """Whether many sessions were seen to wait for locks, or many transactions met others."""
    locked = (values.seen_locked_pct or 0.0) >= LOCKED_PCT
    retried = (values.retried_pct or 0.0) >= RETRIED_PCT
    return locked or retried


def locks_are_counted(values: Evidence) -> bool:
    """Whether waits for locks were seen at all. Where they were not, one hot lock may hold all
    sessions, and nothing else that is sampled would show it."""
    return values.sessions is not None or values.seen_locked_pct is not None


def room(values: Evidence) -> bool:
    """Whether more sessions at a time would find room: no CPU is near its limit, and few of them
    are known to wait for locks."""
    if not cpus_are_free(values) or not locks_are_counted(values):
        return False
    return not locks_are_waited_for(values)


def own_share(values: Evidence) -> float:
    """Of the time of an I/O that of the idle disk; the rest it waits in a queue."""
    # Reads are the sessions' own; writes are the database's too, many at a time.
    await_s = values.disk_read_await_s or values.disk_await_s
    idle_s = values.idle_disk_latency_s
    if idle_s and await_s:
        return min(1.0, idle_s / await_s)
    return 1.0


def client_use(values: Evidence) -> float:
    """Of the CPU that the load generator can use: of its machine's, or of the cores that are full
    while it uses one or more."""
    core_pct = 0.0
    if (values.client_cores or 0.0) >= ONE_CORE[0]:
        core_pct = values.client_core_pct or 0.0
    return largest(values.client_cpu_pct, core_pct) / 100


# ------------------------------------------------------------------ what throughput follows


def follows(values: Evidence) -> Shares:
    """Cause → share in %, of 100 together. Empty where sessions were not seen."""
    if not values.sessions:
        return {}
    seen = _seen(values)
    client = _at_the_client(values, values.sessions, seen)
    cpu = _at_the_cpu(values, values.sessions, seen, client)
    disk = _at_the_disk(values, seen, cpu)
    on_network = seen.idle - client.computing - client.queued - cpu.called_idle
    weights: Shares = {}
    weights["client_bound"] = client.weight(client_use(values))
    weights["network_bound"] = on_network
    weights["cpu_bound"] = cpu.weight(_cpu_use(values))
    weights[disk.cap] = disk.queued * _slope(disk.use)
    weights["latency_bound"] = disk.in_service
    weights["wal_disk_bound"] = disk.syncing_apart
    weights["contention"] = _at_locks(values.sessions, seen)
    # Who holds a lock waits for CPU as all do.
    if (values.cpu_pct or 0.0) >= machines.CPU_PCT:
        weights["cpu_bound"] += weights.pop("contention")
    return _of_all(weights)


def _of_all(weights: Shares) -> Shares:
    """Each in % of all of them; 0 where there are none."""
    total = sum(weights.values()) or 1.0
    return {name: 100 * weight / total for name, weight in weights.items()}


@dataclass(frozen=True)
class _SessionsSeen:
    """Sessions in %, by what they were seen to do or to wait for."""

    idle: float
    running: float
    reading: float
    syncing: float
    locked: float


def _seen(values: Evidence) -> _SessionsSeen:
    return _SessionsSeen(
        idle=values.seen_idle_pct or 0.0,
        running=values.seen_running_pct or 0.0,
        reading=values.seen_reading_pct or 0.0,
        syncing=values.seen_syncing_pct or 0.0,
        locked=values.seen_locked_pct or 0.0,
    )


@dataclass(frozen=True)
class _AtClient:
    """Sessions in % in the load generator, and in the queue for its CPU; all of them idle."""

    computing: float
    queued: float

    def weight(self, use: float) -> float:
        """`use`: of the CPU that it can use, from 0 to 1."""
        return self.computing + self.queued * _slope(use)


def _at_the_client(values: Evidence, sessions: float, seen: _SessionsSeen) -> _AtClient:
    cores = values.client_cores or 0.0
    computing = min(seen.idle, 100 * cores / sessions)
    in_queue = _queued(computing, cores, client_use(values))
    return _AtClient(computing, min(seen.idle - computing, in_queue))


@dataclass(frozen=True)
class _AtCpu:
    """Sessions in % that compute, and that wait for CPU: among those some that call themselves
    reading or idle."""

    computing: float
    queued: float
    called_reading: float
    called_idle: float

    def weight(self, use: float) -> float:
        """`use`: of the node's CPU, from 0 to 1."""
        return self.computing + self.queued * _slope(use)


def _at_the_cpu(
    values: Evidence, sessions: float, seen: _SessionsSeen, client: _AtClient
) -> _AtCpu:
    """A session that waits for CPU still calls itself idle if it has been sent its next statement,
    and reading if its read has come back: then more of them read than the disk has I/Os."""
    cores = values.node_cores or 0.0
    on_cores = 100 * cores / sessions
    computing = min(seen.running, on_cores)
    in_queue = _queued(on_cores, cores, _cpu_use(values))
    hidden = max(0.0, in_queue - (seen.running - computing))
    called_reading = min(hidden, _reading_without_io(values, sessions, seen))
    others = called_reading + seen.idle - client.computing - client.queued
    hidden = min(hidden, others)
    queued = seen.running - computing + hidden
    return _AtCpu(
        computing=computing,
        queued=queued,
        called_reading=called_reading,
        called_idle=hidden - called_reading,
    )


def _reading_without_io(
    values: Evidence, sessions: float, seen: _SessionsSeen
) -> float:
    """Sessions in % that read, beyond the I/Os that the disk has."""
    ios = assumed(values.disk_queue_depth, if_unknown=sessions)
    return max(0.0, seen.reading - 100 * ios / sessions)


@dataclass(frozen=True)
class _AtDisk:
    """Sessions in % that wait for an I/O: for as long as the idle disk takes, and beyond that in a
    queue, at the `cap` that holds it back and by its `use`. `syncing_apart`: those that wait for a
    log on a disk of its own."""

    in_service: float
    queued: float
    cap: BottleneckCause
    use: float
    syncing_apart: float


def _at_the_disk(values: Evidence, seen: _SessionsSeen, cpu: _AtCpu) -> _AtDisk:
    waiting = seen.reading - cpu.called_reading
    syncing_apart = 0.0
    if values.wal_disk_syncing_pct is None:
        waiting += seen.syncing
    else:
        syncing_apart = seen.syncing
    in_service = own_share(values)
    cap = _fuller_cap(values)
    use = _use_by_sessions(values, seen, cap)
    return _AtDisk(
        in_service=waiting * in_service,
        queued=waiting * (1 - in_service),
        cap=_CAP_CAUSES[cap],
        use=use,
        syncing_apart=syncing_apart,
    )


_CAP_CAUSES: Mapping[CapName, BottleneckCause] = {
    "iops": "iops_cap",
    "bandwidth": "bandwidth_cap",
}


def _fuller_cap(values: Evidence) -> CapName:
    """The cap that is reached in more of the seconds, else the one that more is used of."""
    iops = (values.time_at_iops_cap_pct or 0.0, values.iops_of_cap_pct or 0.0)
    bandwidth = (
        values.time_at_bandwidth_cap_pct or 0.0,
        values.bandwidth_of_cap_pct or 0.0,
    )
    if bandwidth > iops:
        return "bandwidth"
    return "iops"


def _use_by_sessions(values: Evidence, seen: _SessionsSeen, cap: CapName) -> float:
    """Of the nearest cap what sessions use: what is written back while they read does not grow with
    their number, unless the cap is full, where it has to wait as they do."""
    use = nearest_cap(values) / 100
    moved = values.disk_iops
    read = values.disk_read_iops
    if cap == "bandwidth":
        moved = values.disk_bytes_per_s
        read = values.disk_read_bytes_per_s
    waiting = seen.reading + seen.syncing
    if use >= disk_demand.AT_CAP or not moved or not waiting:
        return use
    reads = min(1.0, assumed(read, if_unknown=moved) / moved)
    return use * (seen.reading * reads + seen.syncing) / waiting


def _at_locks(sessions: float, seen: _SessionsSeen) -> float:
    """In each other's way are as many as wait in a queue with one place: use² / (1 − use)."""
    waiting = seen.locked * sessions / 100
    root: float = (waiting**2 + 4 * waiting) ** 0.5
    return seen.locked * _slope((root - waiting) / 2)


def _cpu_use(values: Evidence) -> float:
    return (values.cpu_pct or 0.0) / 100


def _queued(served: float, cores: float, use: float) -> float:
    """What waits for CPU beside what is `served`, by the use of all its cores."""
    use = min(use, _FULL)
    places = 1.0
    if use:
        places = max(1.0, cores / use)
    queue: float = served * use**places / (1 - use) / places
    return queue


def _slope(use: float) -> float:
    """How many times what is in a queue grows with one more: 1 / (1 − use)."""
    return 1 / (1 - min(use, _FULL))
