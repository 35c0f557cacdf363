"""Causes within the system that no cap explains: rules, and sentences. Pure.

Where sessions were seen, what most of them wait for decides (`shares`); else thresholds do, in the
order of `RULES`. Order and thresholds: docs/METHOD.md.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from orchestrator import facts, units
from orchestrator.analysis.telemetry import cause_words as words
from orchestrator.analysis.telemetry import disk_demand, kept, shares
from orchestrator.analysis.telemetry.resources import Values

CAP_PCT = 95.0  # median second, of the cap in force
FREE_PCT = 70.0  # of a CPU; of a cap too, for more sessions to find room
UNLOADED = 1.5  # times the idle disk's latency: I/Os do not queue
THROTTLED_PCT = 50.0  # of the periods of its quota
MEMORY_OVER_DISK = 2.0  # times as long as the disk works: then tasks wait for memory, not for it
WAITING_PCT = 50.0  # of sessions' time in reads and log syncs
BUSY_PCT = 70.0  # of the time an I/O is under way, if the database does not count waits
IDLE_DISK_PCT = 2.0  # of sessions' time: if they wait less for the disk, a faster one gives nothing
IN_CACHE_PCT = 10.0  # of the time with an I/O under way
CORE_PCT = 95.0
ONE_CORE = (0.9, 1.15)  # cores used by what one thread holds back
ALONE_FROM = 0.8  # cores used where there is one session
LOCKED_PCT = 5.0  # of sessions' time: more sessions would wait for the same locks
RETRIED_PCT = 5.0  # of transactions
NO_FASTER_DISK = "A faster disk would not."


@dataclass(frozen=True)
class Cause:
    """Its name, and the sentences that a database administrator reads. `ahead_pct`: how much more
    of throughput follows it than the next."""

    name: facts.BottleneckCause
    text: str
    ahead_pct: float | None = None


Rules = Mapping[facts.BottleneckCause, Callable[[Values, str], str]]  # empty text: not this cause


def carried(rules: Rules, values: Values, node: str) -> Iterator[Cause]:
    return (Cause(cause, text) for cause, rule in rules.items() if (text := rule(values, node)))


def waiting_pct(values: Values) -> float | None:
    """Share of its time that a session waits for the disk, by the database's count: in reads, and
    of the rest while a log sync is under way. None if it counts neither."""
    reading, syncing = values.get("sessions_reading_pct"), values.get("log_syncing_pct")
    if reading is None and syncing is None:
        return None
    reading, syncing = min(reading or 0.0, 100.0), min(syncing or 0.0, 100.0)
    return reading + (100 - reading) * syncing / 100


def disk_is_idle(values: Values) -> bool:
    """Whether sessions are known to wait for it so little that a faster one would give nothing."""
    waiting = waiting_pct(values)
    return waiting is not None and waiting < IDLE_DISK_PCT


def one_core(cores: float | None, busiest_pct: float | None) -> bool:
    """Whether one thread at a time does the work: a core is full, and no more than one is used."""
    return ONE_CORE[0] <= (cores or 0.0) <= ONE_CORE[1] and (busiest_pct or 0.0) >= CORE_PCT


def room(values: Values) -> bool:
    """Whether more sessions at a time would find room: no CPU is near its limit, and few of them
    wait for locks."""
    cpus = (values.get(name, 0.0) for name in ("cpu_pct", "client_cpu_pct", "host_cpu_pct"))
    locked = values.get("seen_locked_pct", 0.0) >= LOCKED_PCT
    return max(cpus) < FREE_PCT and not locked and values.get("retried_pct", 0.0) < RETRIED_PCT


def _cpu_bound(values: Values, node: str) -> str:
    throttled_pct = values.get("throttled_pct", 0.0)
    if values.get("cpu_pct", 0.0) < kept.CPU_PCT and throttled_pct < THROTTLED_PCT:
        return ""
    return cpu_text(values, node)


def cpu_text(values: Values, node: str) -> str:
    throttled_pct = values.get("throttled_pct", 0.0)
    quota = f", which was used up in {throttled_pct:.0f} % of its periods" if throttled_pct else ""
    no_help = f" {NO_FASTER_DISK}" if disk_is_idle(values) else ""
    caps = words.cap_text(values)
    return words.said("cpu_bound", values, node=node, quota=quota, caps=caps, no_help=no_help)


def _single_core(values: Values, node: str) -> str:
    limited = values.get("cpu_pct", 0.0) >= kept.CPU_PCT  # it may use no more
    computing = values.get("seen_running_pct", 100.0) >= WAITING_PCT
    cores, busiest_pct = values.get("node_cores", 0.0), values.get("busiest_core_pct")
    # Its thread fills none of them if the kernel moves it from core to core.
    alone = values.get("sessions") == 1 and ALONE_FROM <= cores <= ONE_CORE[1]
    if limited or not (alone or (computing and one_core(cores, busiest_pct))):
        return ""
    sessions = ", but more sessions at a time would use them" if alone and room(values) else ""
    core = f", and the busiest core of its machine was at {busiest_pct or 0:.0f} %"
    core = "" if busiest_pct is None else core
    return words.said("single_core", values, node=node, core=core, more=sessions)


def _memory_bound(values: Values, node: str) -> str:
    pressure, busy = values.get("memory_pressure_pct", 0.0), values.get("disk_busy_pct", 100.0)
    if pressure < max(words.MEMORY_PRESSURE_PCT, MEMORY_OVER_DISK * busy):
        return ""
    return words.said("memory_bound", values, node=node, busy=busy, caps=words.cap_text(values))


def _latency_bound(values: Values, node: str) -> str:
    if values.get("cpu_pct", 100.0) >= FREE_PCT or shares.nearest_cap(values) >= CAP_PCT:
        return ""
    await_s, idle_s = values.get("disk_await_s"), values.get("idle_disk_latency_s")
    waiting = waiting_pct(values)
    # What a database counted is better evidence than a disk at work: then I/Os may queue a little.
    most = UNLOADED if waiting is None else disk_demand.QUEUEING
    if await_s is None or (idle_s and await_s >= most * idle_s):
        return ""
    busy = values.get("disk_busy_pct", 0.0)
    if busy < BUSY_PCT if waiting is None else waiting < WAITING_PCT:
        return ""
    return latency_text(values, node)


def latency_text(values: Values, node: str) -> str:
    await_s, idle_s = values.get("disk_await_s", 0.0), values.get("idle_disk_latency_s")
    own, helps = "", "More IOPS or bandwidth would not help; a tier with a lower latency would"
    if idle_s and await_s > UNLOADED * idle_s:
        share = idle_s / await_s  # of what stands there; reads alone may wait less
        most = "most" if share >= 1 / disk_demand.QUEUEING else "part" if share >= 0.2 else "little"
        own = f", {most} of it the disk's own {units.format_seconds(idle_s)}"
    if own or shares.nearest_cap(values) >= FREE_PCT:
        helps = "A tier with a lower latency would help"
    parts = {
        "await_": units.format_seconds(await_s),
        "own": own,
        "caps": words.cap_text(values),
        "helps": helps,
        "more": ", and so would more sessions at a time" if room(values) else "",
        "memory": words.memory_too(values),
    }
    return words.said("latency_bound", values, node=node, **parts)


def _wal_disk_bound(values: Values, node: str) -> str:
    syncing = values.get("wal_disk_syncing_pct", 0.0)  # there only if commits wait for it
    if values.get("cpu_pct", 100.0) >= FREE_PCT:
        return ""
    most = max(values.get("wal_iops_of_cap_pct", 0), values.get("wal_bandwidth_of_cap_pct", 0))
    if most >= CAP_PCT:
        caps = " and ".join(words.shares_of(values, "of the WAL's caps"))
        return words.said("wal_disk_bound (cap)", values, node=node, caps=caps)
    return wal_disk_text(values, node) if syncing >= WAITING_PCT else ""


def wal_disk_text(values: Values, node: str) -> str:
    return words.said("wal_disk_bound", values, node=node, caps=words.cap_text(values))


def network_text(values: Values, node: str) -> str:
    client_pct = values.get("client_cpu_pct", 0.0)
    return words.said("network_bound", values, node=node, client=client_pct)


def _contention(values: Values, node: str) -> str:
    if "sessions" in values or values.get("retried_pct", 0.0) < RETRIED_PCT:
        return ""
    return words.said("contention (retried)", values, node=node)


def contention_text(values: Values, node: str) -> str:
    # They are held until the log is synced.
    at_disk = values.get("seen_syncing_pct", 0.0) > values.get("seen_running_pct", 0.0) / 4
    through = " They are held until the log is synced: a lower latency would help too."
    return words.said("contention", values, node=node, through=through if at_disk else "")


def _in_cache(values: Values, node: str) -> str:
    busy, waiting = values.get("disk_busy_pct", 100.0), waiting_pct(values)
    if busy >= IN_CACHE_PCT or (waiting is not None and waiting >= IDLE_DISK_PCT):
        return ""
    more = "; more sessions at a time would raise throughput" if room(values) else ""
    return words.said("in_cache", values, node=node, busy=busy, more=more)


def few_sessions_text(values: Values, node: str) -> str:
    spent, caps = ", ".join(words.shares_of(values, "of sessions")), words.cap_text(values)
    cpu_pct = values.get("cpu_pct", 0.0)
    return words.said("few_sessions", values, node=node, cpu=cpu_pct, caps=caps, spent=spent)


RULES: Rules = {
    "single_core": _single_core,
    "cpu_bound": _cpu_bound,
    "latency_bound": _latency_bound,
    "wal_disk_bound": _wal_disk_bound,
    "memory_bound": _memory_bound,
    "contention": _contention,
    "in_cache": _in_cache,
}
TEXTS: Rules = {  # of causes that most of the sessions' time carries
    "cpu_bound": cpu_text,
    "latency_bound": latency_text,
    "wal_disk_bound": wal_disk_text,
    "network_bound": network_text,
    "contention": contention_text,
    "few_sessions": few_sessions_text,
}
