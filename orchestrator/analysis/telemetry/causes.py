"""The cause that a node's values carry: the rules, and their sentences. Pure.

Order and thresholds: docs/METHOD.md. Memory pressure comes last: reading back what memory could not
hold is pressure too, and that is the disk's reads. So memory is the cause only if tasks wait for it
far longer than the disk works; beside a cause at the disk it is mentioned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from orchestrator.analysis.telemetry import disk_demand
from orchestrator.analysis.telemetry.resources import Values
from orchestrator.facts import BottleneckCause
from orchestrator.tier import Tier
from orchestrator.units import format_bytes_per_s, format_number, format_seconds

CAP_PCT = 95.0  # median second, of the cap in force
NEAR_CAP_PCT = 80.0  # below this a cap is not what limits
OTHER_CAP_PCT = 90.0  # the other of the two caps, for one of them to be the limit
UNLOADED = 1.5  # times the idle disk's latency: I/Os do not queue
CPU_PCT = 85.0
CPU_FREE_PCT = 70.0
CLIENT_PCT = 80.0
HOST_PCT = 90.0
MEMORY_PRESSURE_PCT = 5.0
MEMORY_OVER_DISK = 2.0  # times as long as the disk works: then tasks wait for memory, not for it
CEILING_PCT = 95.0
WAITING_PCT = 50.0  # of sessions' time in reads and log syncs
BUSY_PCT = 70.0  # of the time an I/O is under way, if the database does not count waits
APART_PCT = 5.0  # two limits closer than this cannot be told apart
IDLE_DISK_PCT = 2.0  # of sessions' time: if they wait less for the disk, a faster one gives nothing
HARNESS_CAUSES = frozenset({"client_bound", "machine_bound"})
NOT_THE_TIER = HARNESS_CAUSES | {"slow_node"}
NO_FASTER_DISK = "A faster disk would not."


@dataclass(frozen=True)
class Cause:
    """Its name, and the sentences that a database administrator reads."""

    name: BottleneckCause
    text: str


def judge(values: Values, tier: Tier, node: str) -> Cause:
    """The cause that these values carry. Values that are absent support nothing."""
    if not {"disk_iops", "cpu_pct"} & set(values):
        return Cause("unattributed", "Neither disk nor CPU of the database nodes was sampled.")
    outside = next(_carried(_OUTSIDE_RULES, values, node), None)
    fall = next(_carried({"burst_exhausted": _burst_exhausted}, values, node), None)
    caps = list(_caps(values, tier, node))
    if not caps:
        near = nearest_cap(values) >= NEAR_CAP_PCT
        inside = None if near else next(_carried(_INSIDE_RULES, values, node), None)
        return outside or fall or inside or _nothing(values)
    if first := _rival(values) or fall:
        return first
    if len(caps) > 1:
        return Cause(
            "unattributed",
            f"IOPS and bandwidth are both at their caps on {node} "
            f"({values['iops_of_cap_pct']:.0f} % and {values['bandwidth_of_cap_pct']:.0f} %): the "
            "disk is the limit, and only a tier that raises both would help.",
        )
    if outside and outside.name == "load_bound":
        yet = "Throughput is at what think time allows all the same, so it shows in latency."
        return Cause(caps[0].name, f"{caps[0].text} {yet}")
    return caps[0]


Rules = Mapping[BottleneckCause, Callable[[Values, str], str]]  # empty text: not this cause


def _carried(rules: Rules, values: Values, node: str) -> Iterator[Cause]:
    return (Cause(cause, text) for cause, rule in rules.items() if (text := rule(values, node)))


def _rival(values: Values) -> Cause | None:
    """A disk at its cap beside a CPU as busy: which of them was the limit cannot be told."""
    cap = min(nearest_cap(values), 100.0)
    limits = {
        "host_cpu_pct": HOST_PCT,
        "client_machine_cpu_pct": HOST_PCT,
        "client_cpu_pct": CLIENT_PCT,
        "cpu_pct": CPU_PCT,
    }
    busy = max(values.get(name, 0.0) for name in limits)
    if cap - busy > APART_PCT or all(values.get(name, 0.0) < limits[name] for name in limits):
        return None
    node = f"the node's CPU {values['cpu_pct']:.0f} % busy, " if "cpu_pct" in values else ""
    return Cause(
        "unattributed",
        f"Disk and CPU were both at their limit and cannot be told apart: the disk at {cap:.0f} % "
        f"of its cap, {node}{_machine_text(values)}. A faster disk alone may not help.",
    )


_CAPS: tuple[tuple[BottleneckCause, str, str, str, str], ...] = (  # cause, cap, other, title, less
    ("iops_cap", "iops", "bandwidth", "IOPS", ""),
    ("bandwidth_cap", "bandwidth", "iops", "bandwidth", "; more IOPS alone would not"),
)


def _caps(values: Values, tier: Tier, node: str) -> Iterator[Cause]:
    """The caps that hold I/Os back; none beside which the other is nearly reached."""
    for cause, cap, other, title, less in _CAPS:
        reached = values.get(f"{cap}_of_cap_pct", 0.0) >= CAP_PCT
        if not reached or not disk_demand.binds(cap, values, tier):
            continue
        if CAP_PCT > values.get(f"{other}_of_cap_pct", 0.0) >= OTHER_CAP_PCT:
            continue
        burst = "burst's " if values.get("burst_credit_left_pct", 0.0) > 0 else ""
        yield Cause(
            cause,
            f"At the {burst}{title} cap {values[f'time_at_{cap}_cap_pct']:.0f} % of the time on "
            f"{node}{_rate_text(cap, values)}{_wait_text(values)}. A tier with more {title} would "
            f"help{less}.{_memory_too(values)}",
        )


def _burst_exhausted(values: Values, _: str) -> str:
    if "iops_after_fall" not in values:
        return ""
    return (
        f"Burst credit ran out while measuring: {format_number(values['iops_before_fall'])} IOPS "
        f"before, {format_number(values['iops_after_fall'])} after. The mean describes neither; "
        "measure with the bucket empty to see what the tier sustains."
    )


def _load_bound(values: Values, _: str) -> str:
    share = values.get("nopm_of_ceiling_pct", 0.0)
    if share < CEILING_PCT:
        return ""
    return (
        f"The terminals' think time allows no more: {share:.1f} % of the New-Orders a minute that "
        "it leaves room for. A faster disk would not raise throughput; compare latencies."
    )


_ELSEWHERE = "Run the load and the database on separate or larger machines to tell."


def _client_bound(values: Values, _: str) -> str:
    of_machine = values.get("client_machine_cpu_pct", 0.0)
    if values.get("client_cpu_pct", 0.0) < CLIENT_PCT and of_machine < HOST_PCT:
        return ""
    no_help = "a faster disk would not help, and " if _disk_is_idle(values) else ""
    return (
        f"The load generator was the limit: {_machine_text(values)}; {no_help}what the database "
        f"could do was not measured. {_ELSEWHERE}"
    )


def _machine_bound(values: Values, node: str) -> str:
    if values.get("host_cpu_pct", 0.0) < HOST_PCT:
        return ""
    machine = f"The machine of {node}" if "client_machine_cpu_pct" in values else "This machine"
    no_help = " A faster disk would not help here." if _disk_is_idle(values) else ""
    return f"{machine} was the limit: {_machine_text(values)}.{no_help} {_ELSEWHERE}"


def _cpu_bound(values: Values, node: str) -> str:
    if values.get("cpu_pct", 0.0) < CPU_PCT:
        return ""
    no_help = f" {NO_FASTER_DISK}" if _disk_is_idle(values) else ""
    return (
        f"{node} used {values['cpu_pct']:.0f} % of its CPU{_cap_text(values)}. More CPU would "
        f"raise throughput.{no_help}"
    )


def _disk_is_idle(values: Values) -> bool:
    """Whether sessions are known to wait for it so little that a faster one would give nothing."""
    waiting = _waiting_pct(values)
    return waiting is not None and waiting < IDLE_DISK_PCT


def _memory_bound(values: Values, node: str) -> str:
    pressure, busy = values.get("memory_pressure_pct", 0.0), values.get("disk_busy_pct", 100.0)
    if pressure < max(MEMORY_PRESSURE_PCT, MEMORY_OVER_DISK * busy):
        return ""
    return (
        f"Tasks waited for memory {pressure:.0f} % of the time on this machine, and {node}'s disk "
        f"worked for {busy:.0f} % of it{_cap_text(values)}: they waited for longer than it worked. "
        "More memory would help."
    )


def _latency_bound(values: Values, node: str) -> str:
    if values.get("cpu_pct", 100.0) >= CPU_FREE_PCT:
        return ""
    await_s, idle_s = values.get("disk_await_s"), values.get("idle_disk_latency_s")
    waiting = _waiting_pct(values)
    # What a database counted is better evidence than a disk at work: then I/Os may queue a little.
    most = UNLOADED if waiting is None else disk_demand.QUEUEING
    if await_s is None or (idle_s and await_s >= most * idle_s):
        return ""
    busy = values.get("disk_busy_pct", 0.0)
    if busy < BUSY_PCT if waiting is None else waiting < WAITING_PCT:
        return ""
    own, helps = "", "More IOPS or bandwidth would not help; a tier with a lower latency would"
    if idle_s and await_s > UNLOADED * idle_s:
        own = f", most of it the disk's own {format_seconds(idle_s)}"
        helps = "A tier with a lower latency would help"
    return (
        f"Sessions on {node} wait for single I/Os of {format_seconds(await_s)} each{own}"
        f"{_cap_text(values)}. {helps}, and so would more sessions at a time."
        f"{_memory_too(values)}"
    )


def _wal_disk_bound(values: Values, node: str) -> str:
    syncing = values.get("wal_disk_syncing_pct", 0.0)  # there only if commits wait for it
    caps = _shares(values, {"wal_iops_of_cap_pct": "IOPS", "wal_bandwidth_of_cap_pct": "bandwidth"})
    if values.get("cpu_pct", 100.0) >= CPU_FREE_PCT:
        return ""
    most = max(values.get("wal_iops_of_cap_pct", 0), values.get("wal_bandwidth_of_cap_pct", 0))
    if most >= CAP_PCT:
        return (
            f"The WAL's own disk of {node} was at its cap ({' and '.join(caps)} of its tier's). A "
            "larger disk for the WAL would help."
        )
    if syncing < WAITING_PCT:
        return ""
    return (
        f"A log sync was under way on the WAL's own disk of {node} {syncing:.0f} % of the time, "
        f"and commits wait for it{_cap_text(values)}. A faster disk for the WAL would help."
    )


def _waiting_pct(values: Values) -> float | None:
    """Share of its time that a session waits for the disk, by the database's count: in reads, and
    of the rest while a log sync is under way. None if it counts neither."""
    reading, syncing = values.get("sessions_reading_pct"), values.get("log_syncing_pct")
    if reading is None and syncing is None:
        return None
    reading, syncing = min(reading or 0.0, 100.0), min(syncing or 0.0, 100.0)
    return reading + (100 - reading) * syncing / 100


def _nothing(values: Values) -> Cause:
    known = _shares(
        values,
        {
            "cpu_pct": "CPU of the node",
            "iops_of_cap_pct": "IOPS cap",
            "bandwidth_of_cap_pct": "bandwidth cap",
            "host_cpu_pct": "CPU of the machine",
            "memory_pressure_pct": "waiting for memory",
            "wal_disk_syncing_pct": "log syncs on the WAL's own disk",
        },
    )
    return Cause("unattributed", f"No resource was clearly the limit ({', '.join(known)}).")


_OUTSIDE_RULES: Rules = {
    "load_bound": _load_bound,
    "client_bound": _client_bound,
    "machine_bound": _machine_bound,
}
_INSIDE_RULES: Rules = {  # only where no cap is near
    "cpu_bound": _cpu_bound,
    "latency_bound": _latency_bound,
    "wal_disk_bound": _wal_disk_bound,
    "memory_bound": _memory_bound,
}


# ------------------------------------------------------------------ values in words


def nearest_cap(values: Values) -> float:
    return max(values.get("iops_of_cap_pct", 0.0), values.get("bandwidth_of_cap_pct", 0.0))


def _rate_text(cap: str, values: Values) -> str:
    iops, bytes_per_s = values.get("disk_iops"), values.get("disk_bytes_per_s")
    if cap == "iops":
        return "" if iops is None else f" ({format_number(iops)} IOPS)"
    return "" if bytes_per_s is None else f" ({format_bytes_per_s(bytes_per_s)})"


def _wait_text(values: Values) -> str:
    await_s, idle_s = values.get("disk_await_s"), values.get("idle_disk_latency_s")
    if await_s is None or not idle_s:
        return ""
    return f", each I/O taking {format_seconds(await_s)} instead of {format_seconds(idle_s)}"


def _cap_text(values: Values) -> str:
    known = _shares(values, {"iops_of_cap_pct": "IOPS at", "bandwidth_of_cap_pct": "bandwidth at"})
    return f" with the disk's {' and '.join(known)} of their caps" if known else ""


def _shares(values: Values, titles: Mapping[str, str]) -> list[str]:
    """`title 95 %` for each of the values that is there."""
    return [f"{title} {values[name]:.0f} %" for name, title in titles.items() if name in values]


def _machine_text(values: Values) -> str:
    apart = values.get("client_machine_cpu_pct")
    if apart is not None:
        client = f"{values.get('client_cpu_pct', 0.0):.0f} % by itself"
        of_node = {name: value for name, value in values.items() if not name.startswith("client_")}
        return (
            f"{_machine_text(of_node)} where the node is, and {apart:.0f} % where the load "
            f"generator is ({client})"
        )
    titles = {
        "client_cpu_pct": "load generator",
        "disk_server_cpu_pct": "emulated disks",
        "other_cpu_pct": "not ours",
    }
    used = ", ".join(_shares(values, titles))
    busy = values.get("host_cpu_pct")
    if busy is None:
        return f"{used} of the machine's CPU"
    return f"{busy:.0f} % of the machine's CPU busy" + (f" ({used})" if used else "")


def _memory_too(values: Values) -> str:
    """A remark beside a cause at the disk: reads may come from too little memory."""
    pressure = values.get("memory_pressure_pct", 0.0)
    if pressure < MEMORY_PRESSURE_PCT:
        return ""
    return (
        f" More memory would help too: tasks waited for memory {pressure:.0f} % of the time, and "
        "what it cannot hold is read again."
    )
