"""By what share throughput would follow each thing, from what sessions were seen to do. Pure.

In a closed network of queues throughput follows a thing as the number of sessions there grows with
one session more (Denning and Buzen, 1978; Reiser and Lavenberg, 1980): time in service counts once,
time in a queue 1 / (1 − use) times, because that is how it grows with use."""

from collections.abc import Mapping

from orchestrator.analysis.telemetry import disk_demand, kept, resources
from orchestrator.facts import BottleneckCause

IDLE_DISK_PCT = (
    2.0  # of sessions' time: if they wait less for the disk, a faster one gives nothing
)
FREE_PCT = 70.0  # of a CPU; of a cap too, for more sessions to find room
TURN_PCT = (
    15.0  # of what throughput follows, or of the seconds, for a limit to have a turn
)
CORE_PCT = 95.0
ONE_CORE = (0.9, 1.15)  # cores used by what one thread holds back
LOCKED_PCT = 5.0  # of sessions' time: more sessions would wait for the same locks
RETRIED_PCT = 5.0  # of transactions
_CAPS = ("iops", "bandwidth", "shared_iops", "shared_bandwidth")
_FULL = 0.98  # the use of a resource is not known better
Shares = dict[BottleneckCause, float]


def nearest_cap(values: resources.Values) -> float:
    return max(values.get(f"{cap}_of_cap_pct", 0.0) for cap in _CAPS)


def at_a_cap_pct(values: resources.Values) -> float:
    """Share of the seconds at the cap that binds most often."""
    return max(values.get(f"time_at_{cap}_cap_pct", 0.0) for cap in _CAPS)


def waiting_pct(values: resources.Values) -> float | None:
    """Share of its time that a session waits for the disk, by the database's count: in reads, and
    of the rest while a log sync is under way. None if it counts neither."""
    reading = values.get("sessions_reading_pct")
    syncing = values.get("log_syncing_pct")
    if reading is None and syncing is None:
        return None
    reading = min(reading or 0.0, 100.0)
    syncing = min(syncing or 0.0, 100.0)
    return reading + (100 - reading) * syncing / 100


def disk_is_idle(values: resources.Values) -> bool:
    """Whether sessions are known to wait for it so little that a faster one would give nothing."""
    waiting = waiting_pct(values)
    return waiting is not None and waiting < IDLE_DISK_PCT


def one_core(cores: float | None, busiest_pct: float | None) -> bool:
    """Whether one thread at a time does the work: a core is full, and no more than one is used."""
    return (
        ONE_CORE[0] <= (cores or 0.0) <= ONE_CORE[1]
        and (busiest_pct or 0.0) >= CORE_PCT
    )


def one_client_core(values: resources.Values) -> bool:
    """`one_core` of the load generator."""
    return one_core(values.get("client_cores"), values.get("client_core_pct"))


def room(values: resources.Values) -> bool:
    """Whether more sessions at a time would find room: no CPU is near its limit, and few of them
    wait for locks."""
    cpus = (
        values.get(name, 0.0) for name in ("cpu_pct", "client_cpu_pct", "host_cpu_pct")
    )
    locked = values.get("seen_locked_pct", 0.0) >= LOCKED_PCT
    return (
        max(cpus) < FREE_PCT
        and not locked
        and values.get("retried_pct", 0.0) < RETRIED_PCT
    )


def own_share(values: resources.Values) -> float:
    """Of the time of an I/O that of the idle disk; the rest it waits in a queue."""
    # Reads are the sessions' own; writes are the database's too, many at a time.
    await_s = values.get("disk_read_await_s") or values.get("disk_await_s")
    idle_s = values.get("idle_disk_latency_s")
    if idle_s and await_s:
        return min(1.0, idle_s / await_s)
    return 1.0


def follows(values: resources.Values) -> Shares:
    """Cause → share in %, of 100 together. Empty where sessions were not seen."""
    sessions = values.get("sessions")
    if not sessions:
        return {}
    states = ("idle", "running", "reading", "syncing", "locked")
    seen = {state: values.get(f"seen_{state}_pct", 0.0) for state in states}
    # In the load generator, and in its queue, by its use.
    its_cores = values.get("client_cores", 0.0)
    client = min(seen["idle"], 100 * its_cores / sessions)
    waited = min(seen["idle"] - client, _queued(client, its_cores, client_use(values)))
    cores = values.get("node_cores", 0.0)
    use = values.get("cpu_pct", 0.0) / 100
    cpu = min(seen["running"], 100 * cores / sessions)
    # A session that waits for CPU still calls itself idle if it has been sent its next statement,
    # and reading if its read has come back: then more of them read than the disk has I/Os.
    unseen = max(
        0.0, _queued(100 * cores / sessions, cores, use) - (seen["running"] - cpu)
    )
    read = seen["reading"] - 100 * values.get("disk_queue_depth", sessions) / sessions
    read = min(unseen, max(0.0, read))
    unseen = min(unseen, read + seen["idle"] - client - waited)
    own_disk = "wal_disk_syncing_pct" in values
    disk = seen["reading"] - read + (0.0 if own_disk else seen["syncing"])
    own = own_share(values)
    iops, bandwidth = (
        (
            values.get(f"time_at_{cap}_cap_pct", 0.0),
            values.get(f"{cap}_of_cap_pct", 0.0),
        )
        for cap in ("iops", "bandwidth")
    )
    cap: BottleneckCause
    cap, moved = (
        ("bandwidth_cap", "bytes_per_s") if bandwidth > iops else ("iops_cap", "iops")
    )
    # In each other's way are as many as wait in a queue with one place: use² / (1 − use).
    waiting = seen["locked"] * sessions / 100
    of_lock = ((waiting**2 + 4 * waiting) ** 0.5 - waiting) / 2
    weights: Shares = {
        "client_bound": client + waited * _slope(client_use(values)),
        "network_bound": seen["idle"] - client - waited - (unseen - read),
        "cpu_bound": cpu + (seen["running"] - cpu + unseen) * _slope(use),
        cap: disk * (1 - own) * _slope(_use_by_sessions(values, seen, moved)),
        "latency_bound": disk * own,
        "wal_disk_bound": seen["syncing"] if own_disk else 0.0,
        "contention": seen["locked"] * _slope(of_lock),
    }
    if (
        values.get("cpu_pct", 0.0) >= kept.CPU_PCT
    ):  # who holds a lock waits for CPU as all do
        weights["cpu_bound"] += weights.pop("contention")
    total = sum(weights.values()) or 1.0
    return {name: 100 * weight / total for name, weight in weights.items()}


def _use_by_sessions(
    values: resources.Values, seen: Mapping[str, float], moved: str
) -> float:
    """Of the nearest cap what sessions use: what is written back while they read does not grow with
    their number, unless the cap is full, where it has to wait as they do."""
    use = nearest_cap(values) / 100
    every = values.get(f"disk_{moved}", 0.0)
    waiting = seen["reading"] + seen["syncing"]
    if use >= disk_demand.AT_CAP or not every or not waiting:
        return use
    read = min(1.0, values.get(f"disk_read_{moved}", every) / every)
    return use * (seen["reading"] * read + seen["syncing"]) / waiting


def client_use(values: resources.Values) -> float:
    """Of the CPU that the load generator can use: of its machine's, or of the cores that are full
    while it uses one or more."""
    core_pct = 0.0
    if values.get("client_cores", 0.0) >= 0.9:
        core_pct = values.get("client_core_pct", 0.0)
    return max(values.get("client_cpu_pct", 0.0), core_pct) / 100


def _queued(served: float, cores: float, use: float) -> float:
    """What waits for CPU beside what is `served`, by the use of all its cores."""
    use = min(use, _FULL)
    places = 1.0
    if use:
        places = max(1.0, cores / use)
    return float(served * use**places / (1 - use) / places)


def _slope(use: float) -> float:
    return 1 / (1 - min(use, _FULL))
