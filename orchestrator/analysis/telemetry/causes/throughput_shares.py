"""By what share throughput would follow each resource, from what sessions were seen to do. Pure.

The model is a closed network of queues. There throughput follows a resource by as much as one
session more would add to the sessions at it (Denning and Buzen, 1978; Reiser and Lavenberg, 1980).
What counts for which cause: docs/research/RULES.md."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from orchestrator.analysis.telemetry.causes.signs import (
    client_use,
    idle_disk_share,
    nearest_cap,
)
from orchestrator.analysis.telemetry.use import (
    cap_binding,
    disk_seconds,
    machine_cpu,
)
from orchestrator.analysis.telemetry.use.node_values import (
    CapName,
    Evidence,
    assumed,
    largest,
)
from orchestrator.facts import BottleneckCause

# The use of a resource is not known better, and 1 / (1 − use) has no end.
_FULL = 0.98
Shares = dict[BottleneckCause, float]


def follows(values: Evidence) -> Shares:
    """Cause → share in %, of 100 together. Empty where sessions were not seen."""
    if not values.load.sessions:
        return {}
    seen = _seen(values)
    client = _at_the_client(values, values.load.sessions, seen)
    cpu = _at_the_cpu(values, values.load.sessions, seen, client)
    disk = _at_the_disk(values, seen, cpu)
    # Idle sessions wait for their next statement. Those who wait for neither the load generator nor
    # the node's CPU are on the way between.
    on_network = seen.idle - client.computing - client.queued - cpu.called_idle
    weights: Shares = {}
    weights["client_bound"] = client.weight(client_use(values))
    weights["network_bound"] = on_network
    weights["cpu_bound"] = cpu.weight(_cpu_use(values))
    # An I/O that takes longer than on the idle disk waits in a queue. The rest is its latency,
    # which does not grow with use, and counts once.
    weights[disk.cap] = disk.queued * _slope(disk.use)
    weights["latency_bound"] = disk.in_service
    weights["wal_disk_bound"] = disk.syncing_apart
    weights["contention"] = _at_locks(values.load.sessions, seen)
    # Who holds a lock waits for CPU as all do.
    if (values.cpu.cpu_pct or 0.0) >= machine_cpu.CPU_PCT:
        weights["cpu_bound"] += weights.pop("contention")
    return _shares_of_all(weights)


def _shares_of_all(weights: Shares) -> Shares:
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
        idle=values.load.seen_idle_pct or 0.0,
        running=values.load.seen_running_pct or 0.0,
        reading=values.load.seen_reading_pct or 0.0,
        syncing=values.load.seen_syncing_pct or 0.0,
        locked=values.load.seen_locked_pct or 0.0,
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
    cores = values.client.client_cores or 0.0
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
    """The sessions at the node's CPU, whatever they call themselves."""
    cores = values.cpu.node_cores or 0.0
    on_cores = 100 * cores / sessions
    computing = min(seen.running, on_cores)
    in_queue = _queued(on_cores, cores, _cpu_use(values))
    # A session that was sent a statement calls itself idle until it has a CPU. One whose read has
    # come back calls itself reading. Then more of them read than the disk has I/Os.
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
    ios = assumed(values.disk.disk_queue_depth, if_unknown=sessions)
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
    if values.load.wal_disk_syncing_pct is None:
        waiting += seen.syncing
    else:
        syncing_apart = seen.syncing
    in_service = idle_disk_share(values)
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
    """The cap that is reached in more of the seconds, else the one that more is used of.

    It is the disk's, or that of its machine on the disks of data and log, declared or reported.
    """
    if _fullness(values, "bandwidth") > _fullness(values, "iops"):
        return "bandwidth"
    return "iops"


class _Fullness(NamedTuple):
    """How full a cap is, in %: of the seconds, and of it in the median second."""

    time_pct: float
    used_pct: float


def _fullness(values: Evidence, cap: CapName) -> _Fullness:
    of_disk = _Fullness(
        values.caps.time_at_cap_pct(cap) or 0.0, values.caps.of_cap_pct(cap) or 0.0
    )
    of_machine = _Fullness(
        values.caps.time_at_machine_pct(cap) or 0.0,
        values.caps.of_machine_pct(cap) or 0.0,
    )
    if cap_binding.is_held_back_as_reported(cap, values):
        # The limit is reached, at whatever share of the declared cap it lies.
        reach = values.reach(cap)
        reported_pct = largest(reach.disk_pct, reach.machine_pct)
        return max(of_disk, of_machine, _Fullness(reported_pct, 100.0))
    return max(of_disk, of_machine)


def _use_by_sessions(values: Evidence, seen: _SessionsSeen, cap: CapName) -> float:
    """The share of the nearest cap that sessions use."""
    if cap_binding.is_held_back_as_reported(cap, values):
        return 1.0
    use = nearest_cap(values) / 100
    moved = values.disk.disk_iops
    read = values.disk.disk_read_iops
    if cap == "bandwidth":
        moved = values.disk.disk_bytes_per_s
        read = values.disk.disk_read_bytes_per_s
    waiting = seen.reading + seen.syncing
    # What is written back waits as sessions do at a full cap, and so grows with their number.
    if use >= disk_seconds.AT_CAP or not moved or not waiting:
        return use
    # It does not below the cap: only the part counts that sessions wait for themselves.
    reads = min(1.0, assumed(read, if_unknown=moved) / moved)
    return use * (seen.reading * reads + seen.syncing) / waiting


def _at_locks(sessions: float, seen: _SessionsSeen) -> float:
    """The share of locks: as many sessions wait for each other as in a queue with one place."""
    waiting = seen.locked * sessions / 100
    # There use² / (1 − use) of them wait; the use is what solves that.
    root: float = (waiting**2 + 4 * waiting) ** 0.5
    return seen.locked * _slope((root - waiting) / 2)


def _cpu_use(values: Evidence) -> float:
    return (values.cpu.cpu_pct or 0.0) / 100


def _queued(served: float, cores: float, use: float) -> float:
    """What waits for CPU beside what is `served`, by the use of all its cores."""
    use = min(use, _FULL)
    # One of several cores is often free: a queue of many places is shorter by use^places.
    places = 1.0
    if use:
        places = max(1.0, cores / use)
    queue: float = served * use**places / (1 - use) / places
    return queue


def _slope(use: float) -> float:
    """How many times as much time in a queue counts as time in service, because it grows with
    use: 1 / (1 − use)."""
    return 1 / (1 - min(use, _FULL))
