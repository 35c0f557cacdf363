"""Causes within the system: CPU, memory, the disk's latency, locks, the log's disk. Pure.

When, and in which order: docs/research/RULES.md. The rules are by thresholds, for where sessions
were not seen; where they were, `cause_by_sessions` names the cause, and its sentences are here too.
"""

from orchestrator.analysis.telemetry.causes import signs
from orchestrator.analysis.telemetry.causes.cap_causes import CAP_PCT
from orchestrator.analysis.telemetry.causes.cause import Cause, Rule
from orchestrator.analysis.telemetry.causes.outside_causes import (
    ALONE_FROM,
    WAITING_PCT,
    disk_is_awaited,
)
from orchestrator.analysis.telemetry.causes.phrases import (
    MEMORY_PRESSURE_PCT,
    UNLOADED,
    cap_use,
    lower_latency,
    memory_too,
    of_disk_itself,
    percent,
    sampled_shares,
    time,
)
from orchestrator.analysis.telemetry.use import cap_binding, machine_cpu
from orchestrator.analysis.telemetry.use.node_values import Evidence, assumed, largest

THROTTLED_PCT = 50.0  # share of the periods of its quota
# Multiple of the time that the disk works: from there on tasks wait for memory, not for it.
MEMORY_OVER_DISK = 2.0
# Share of the time of sessions at work, by the database's own samples: what most of them wait for.
LOCKED_PCT = 50.0
IN_CACHE_PCT = 10.0  # share of the time with an I/O under way


# ------------------------------------------------------------------ one thread, or all CPU


def is_single_core(values: Evidence) -> bool:
    """Whether one thread at a time does the work, and not all that the node may use is used: else
    its limit is the cause."""
    if (values.cpu.cpu_pct or 0.0) >= machine_cpu.CPU_PCT:
        return False
    if _is_alone(values):
        return True
    computing_pct = assumed(values.load.seen_running_pct, if_unknown=100.0)
    fills_a_core = signs.fills_one_core(
        values.cpu.node_cores, values.host.busiest_core_pct
    )
    return computing_pct >= WAITING_PCT and fills_a_core


def _is_alone(values: Evidence) -> bool:
    """Whether one session keeps a core busy, though the kernel moves it from core to core."""
    cores = values.cpu.node_cores or 0.0
    return values.load.sessions == 1 and ALONE_FROM <= cores <= signs.MOST_OF_ONE_CORE


def _single_core(values: Evidence, node: str) -> Cause:
    busiest = ""
    if values.host.busiest_core_pct:
        core = percent(values.host.busiest_core_pct)
        busiest = f", and the busiest core of its machine was at {core}"
    more_sessions = ""
    if _is_alone(values) and signs.has_room_for_sessions(values):
        more_sessions = ", but more sessions at a time would use them"
    cores = values.cpu.node_cores or 0.0
    text = (
        f"{node} used {cores:.2f} cores{busiest}: one thread at a time did the work. A "
        f"faster core would help; more cores would not{more_sessions}."
    )
    return Cause("single_core", text)


def _is_cpu_bound(values: Evidence) -> bool:
    cpu_pct = values.cpu.cpu_pct or 0.0
    throttled_pct = values.cpu.throttled_pct or 0.0
    return cpu_pct >= machine_cpu.CPU_PCT or throttled_pct >= THROTTLED_PCT


def cpu_bound(values: Evidence, node: str) -> Cause:
    throttled = ""
    if values.cpu.throttled_pct:
        periods = percent(values.cpu.throttled_pct)
        throttled = f", which was used up in {periods} of its periods"
    used = percent(values.cpu.cpu_pct)
    caps = cap_use(values)
    text = (
        f"{node} used {used} of its CPU{throttled}{caps}. "
        "More CPU would raise throughput."
    )
    return Cause("cpu_bound", text, is_no_disk=signs.disk_is_idle(values))


def _cpu_is_free(values: Evidence) -> bool:
    return assumed(values.cpu.cpu_pct, if_unknown=100.0) < signs.FREE_PCT


# ------------------------------------------------------------------ the disk, and the log's


def _is_latency_bound(values: Evidence) -> bool:
    if not _cpu_is_free(values) or signs.nearest_cap(values) >= CAP_PCT:
        return False
    if values.disk.disk_await_s is None or _queues(values):
        return False
    return disk_is_awaited(values)


def _queues(values: Evidence) -> bool:
    """Whether I/Os wait for others."""
    # What a database counted is better evidence than a disk at work: then they may queue a little.
    times = cap_binding.QUEUEING
    if signs.waiting_pct(values) is None:
        times = UNLOADED
    idle_s = values.disk.idle_disk_latency_s or 0.0
    return idle_s > 0 and (values.disk.disk_await_s or 0.0) >= times * idle_s


def latency_bound(values: Evidence, node: str) -> Cause:
    long = f"{time(values.disk.disk_await_s)} each{of_disk_itself(values)}"
    more_sessions = ""
    if signs.has_room_for_sessions(values):
        more_sessions = ", and so would more sessions at a time"
    waits = (
        f"Sessions on {node} wait for single I/Os that take {long}{cap_use(values)}."
    )
    advice = f"{lower_latency(values)}{more_sessions}.{memory_too(values)}"
    return Cause("latency_bound", f"{waits} {advice}")


def _wal_disk_is_at_cap(values: Evidence) -> bool:
    return _cpu_is_free(values) and (_uses_cap_of_wal(values) or _reports_wal(values))


def _uses_cap_of_wal(values: Evidence) -> bool:
    most_pct = largest(
        values.caps.wal_iops_of_cap_pct, values.caps.wal_bandwidth_of_cap_pct
    )
    return most_pct >= CAP_PCT


def _reports_wal(values: Evidence) -> bool:
    """Whether a provider reports that the WAL's disk was at a limit in the median second.

    The data's disk must have been at a limit for less time. Otherwise either of the two disks may
    have been the cause.
    """
    report = values.report
    of_wal_pct = largest(
        report.wal_iops_limit_reached_pct, report.wal_bandwidth_limit_reached_pct
    )
    of_data_pct = largest(
        report.disk_iops_limit_reached_pct, report.disk_bandwidth_limit_reached_pct
    )
    return of_wal_pct >= cap_binding.HALF_THE_TIME_PCT and of_wal_pct > of_data_pct


def _wal_disk_at_cap(values: Evidence, node: str) -> Cause:
    bigger = "A larger disk for the WAL would help."
    if not _uses_cap_of_wal(values):
        # Which limit it was stands in the remark on what is reported.
        text = f"The WAL's own disk of {node} was at a limit, as its provider reports."
        return Cause("wal_disk_bound", f"{text} {bigger}")
    used = sampled_shares(
        [
            ("IOPS", values.caps.wal_iops_of_cap_pct),
            ("bandwidth", values.caps.wal_bandwidth_of_cap_pct),
        ]
    )
    text = (
        f"The WAL's own disk of {node} was at its cap ({' and '.join(used)} of its tier's). "
        f"{bigger}"
    )
    return Cause("wal_disk_bound", text)


def _is_wal_disk_bound(values: Evidence) -> bool:
    """Syncs are counted as such only if commits wait for them."""
    syncing_pct = values.load.wal_disk_syncing_pct or 0.0
    return _cpu_is_free(values) and syncing_pct >= WAITING_PCT


def wal_disk_bound(values: Evidence, node: str) -> Cause:
    syncing = percent(values.load.wal_disk_syncing_pct)
    caps = cap_use(values)
    text = (
        f"The WAL's own disk of {node} was syncing the log {syncing} of the time{caps}. Commits "
        "wait for that. A faster disk for the WAL would help."
    )
    return Cause("wal_disk_bound", text)


def in_cache(values: Evidence) -> bool:
    """Whether the disk has next to nothing to do."""
    # Asked only where sessions were seen. Else a lock may hold them all, and the disk is idle too.
    if assumed(values.disk.disk_busy_pct, if_unknown=100.0) >= IN_CACHE_PCT:
        return False
    return signs.waiting_pct(values) is None or signs.disk_is_idle(values)


def all_in_cache(values: Evidence, node: str) -> Cause:
    more_sessions = ""
    if signs.has_room_for_sessions(values):
        more_sessions = "; more sessions at a time would raise throughput"
    busy = percent(values.disk.disk_busy_pct)
    text = (
        f"{node}'s disk was busy {busy} of the time, and nothing else was full. The data "
        f"that sessions asked for were in memory{more_sessions}. "
        "To measure the disk, take a larger data set or less memory."
    )
    return Cause("in_cache", text, is_no_disk=True)


# ------------------------------------------------------------------ memory


def _is_memory_bound(values: Evidence) -> bool:
    # Reading back what memory could not hold counts as pressure too, and that is the disk's reads.
    # So memory is the cause only if tasks wait for it far longer than the disk works.
    busy_pct = assumed(values.disk.disk_busy_pct, if_unknown=100.0)
    least_pct = max(MEMORY_PRESSURE_PCT, MEMORY_OVER_DISK * busy_pct)
    return (values.host.memory_pressure_pct or 0.0) >= least_pct


def _memory_bound(values: Evidence, node: str) -> Cause:
    waited = percent(values.host.memory_pressure_pct)
    busy = percent(values.disk.disk_busy_pct)
    caps = cap_use(values)
    text = (
        f"Tasks waited for memory {waited} of the time on this machine. {node}'s disk worked "
        f"for {busy} of it{caps}, which is less. More memory would help."
    )
    return Cause("memory_bound", text)


# ------------------------------------------------------------------ other sessions


def _is_retried(values: Evidence) -> bool:
    """Whether retries are the cause."""
    retried_pct = values.load.retried_pct or 0.0
    # What sessions wait for tells it better if they were seen.
    return values.load.sessions is None and retried_pct >= signs.RETRIED_PCT


def retried(values: Evidence, node: str) -> Cause:
    text = (
        f"No resource was full. Of the transactions on {node} {percent(values.load.retried_pct)} "
        "failed or were tried again, because others changed the same rows. Fewer transactions "
        "on the same rows would help; more sessions would not."
    )
    return Cause("contention", text)


def _is_locked(values: Evidence) -> bool:
    """Whether locks are the cause, by what the database sampled, where sessions were not seen."""
    locked_pct = values.load.seen_locked_pct or 0.0
    return values.load.sessions is None and locked_pct >= LOCKED_PCT


def _locked(values: Evidence, _node: str) -> Cause:
    waited = percent(values.load.seen_locked_pct)
    text = (
        f"No resource was full. Sessions at work waited {waited} of their time for locks of "
        "other sessions. Fewer or shorter transactions on the same rows would help. More "
        "sessions would not."
    )
    return Cause("contention", text)


def contention(values: Evidence, node: str) -> Cause:
    waited = percent(values.load.seen_locked_pct)
    held_by_syncs = _locks_held_by_syncs(values)
    text = (
        f"Sessions on {node} waited {waited} of their time for "
        "locks of other sessions. Fewer or shorter transactions on the same rows would help. "
        f"More sessions would not.{held_by_syncs}"
    )
    return Cause("contention", text)


def _locks_held_by_syncs(values: Evidence) -> str:
    """What shortens the time for which locks are held, if they are until the log is synced."""
    syncing_pct = values.load.seen_syncing_pct or 0.0
    running_pct = values.load.seen_running_pct or 0.0
    # Next to the time that sessions compute, a short sync holds no lock for much longer.
    if syncing_pct <= running_pct / 4:
        return ""
    held = " They are held until the log is synced"
    # Whether an I/O waits behind others for longer than the disk takes for it.
    if signs.idle_disk_share(values) < 1 / cap_binding.QUEUEING:
        return f"{held}, which waits behind other I/Os: a faster disk would help too."
    return f"{held}: a lower latency would help too."


def network_bound(values: Evidence, node: str) -> Cause:
    waited = percent(values.load.seen_idle_pct)
    client = percent(values.client.client_cpu_pct)
    text = (
        f"Sessions on {node} waited {waited} of their time for the load generator or the way "
        f"to it. The load generator used {client} of its CPU, so the network is the limit. A "
        "nearer or faster one would help."
    )
    return Cause("network_bound", text)


def few_sessions(values: Evidence, node: str) -> Cause:
    shares_pct: list[tuple[str, float | None]] = []
    shares_pct.append(("computing", values.load.seen_running_pct))
    shares_pct.append(("reading", values.load.seen_reading_pct))
    shares_pct.append(("waiting for the log", values.load.seen_syncing_pct))
    shares_pct.append(("waiting for the load generator", values.load.seen_idle_pct))
    spent = ", ".join(sampled_shares(shares_pct))
    used = f"{percent(values.cpu.cpu_pct)}{cap_use(values)}"
    sessions = values.load.sessions or 0.0
    text = (
        f"Nothing was full most of the time ({node}'s CPU {used}). Its {sessions:.0f} "
        f"sessions spent their time {spent}. More sessions at a time would raise throughput."
    )
    return Cause("few_sessions", text)


# The first that holds is the cause. Memory comes late: a disk that reads back what it could not
# hold shows as pressure too.
RULES = (
    Rule(is_single_core, _single_core),
    Rule(_is_cpu_bound, cpu_bound),
    Rule(_is_latency_bound, latency_bound),
    Rule(_wal_disk_is_at_cap, _wal_disk_at_cap),
    Rule(_is_wal_disk_bound, wal_disk_bound),
    Rule(_is_memory_bound, _memory_bound),
    Rule(_is_locked, _locked),
    Rule(_is_retried, retried),
)
