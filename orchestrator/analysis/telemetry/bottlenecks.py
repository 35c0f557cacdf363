"""What limited each cell: one named bottleneck, with the values of every resource. Pure.

Rules and thresholds: docs/METHOD.md. First whether the machine or the load generator was the limit
(then the tier is not what was measured), then burst credit, the tier's caps, the node's CPU, and
the time that single I/Os take. Nothing, or two that cannot be told apart, is `unattributed`.
Memory pressure comes last: reading back what memory could not hold is pressure too, and that is the
disk's reads. So memory is the cause only if tasks wait for it far longer than the disk works;
beside a cause at the disk it is mentioned. All this is correlation: the proof is to raise the cap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from orchestrator.analysis import results
from orchestrator.analysis.conclusions import Bottleneck
from orchestrator.analysis.results import Results, RunData
from orchestrator.analysis.telemetry import resources, slow_nodes
from orchestrator.analysis.telemetry.bottleneck_words import (
    NO_FASTER_DISK,
    burst_word,
    cap_text,
    machine_text,
    memory_too,
    nearest_cap,
    rate_text,
    wait_text,
)
from orchestrator.analysis.telemetry.resources import Values
from orchestrator.facts import BottleneckCause
from orchestrator.tier import Cgroup, Tier
from orchestrator.units import format_number, format_seconds

CAP_PCT = 95.0  # median second, of the cap in force
NEAR_CAP_PCT = 80.0  # below this a cap is not what limits
OTHER_CAP_PCT = 90.0  # the other of the two caps, for one of them to be the limit
QUEUEING = 2.0  # times the idle disk's latency: I/Os queue, for more than half of their time
QUEUE_DEPTH = 2.0  # the same, if the idle latency is not known
# Times the cap: what those in flight would do without it. The gate lets a disk's latency be 15 %
# off, and the estimate with it; a cap that holds back less than this may hold back nothing.
BINDING = 1.25
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

HARNESS_LIMITS = frozenset({"client_bound", "machine_bound"})
NOT_THE_TIER = HARNESS_LIMITS | {"slow_node"}


@dataclass(frozen=True)
class Cause:
    """A verdict and the sentences that a database administrator reads."""

    verdict: BottleneckCause
    text: str


def bottlenecks(campaign: Results) -> tuple[Bottleneck, ...]:
    """One per cell with finished runs, in the plan's order."""
    cpus = results.machine_cpus(campaign)
    limits = (bottleneck(cell.finished, cpus) for cell in results.cells(campaign))
    return tuple(limit for limit in limits if limit is not None)


def bottleneck(runs: Sequence[RunData], cpus: float | None) -> Bottleneck | None:
    """What limited one cell: judged on its busiest node, by medians over repetitions."""
    if not runs:
        return None
    run, tier = runs[0].record.run, runs[0].record.profile.tier
    gathered = [resources.gather(data, cpus) for data in runs]
    names = dict.fromkeys(name for nodes in gathered for name in nodes)
    by_node = {name: _medians([n[name] for n in gathered if name in n]) for name in names}
    node = max(by_node, key=lambda name: _load(by_node[name]), default="")
    cause = judge(by_node.get(node, {}), tier, node)
    slow, why = slow_nodes.slow_node(by_node)
    if slow and cause.verdict not in HARNESS_LIMITS:
        node, cause = slow, Cause("slow_node", why)
    values = by_node.get(node, {})
    return Bottleneck(run.profile, run.workload, node, cause.verdict, cause.text, values)


def _medians(gathered: Sequence[Values]) -> dict[str, float]:
    """Each value's median over the runs that have it."""
    names = dict.fromkeys(name for values in gathered for name in values)
    return {name: median(v[name] for v in gathered if name in v) for name in names}


def _load(values: Values) -> tuple[float, float]:
    shares = ("iops_of_cap_pct", "bandwidth_of_cap_pct", "cpu_pct")
    return max(values.get(name, 0.0) for name in shares), values.get("disk_iops", 0.0)


# ------------------------------------------------------------------ the rules


def judge(values: Values, tier: Tier, node: str) -> Cause:
    """The cause that these values carry. Values that are absent support nothing."""
    if not {"disk_iops", "cpu_pct"} & set(values):
        return Cause("unattributed", "Neither disk nor CPU of the database nodes was sampled.")
    outside = next(_carried(_OUTSIDE_RULES, values, node), None)
    fall = next(_carried({"burst_exhausted": _burst_exhausted}, values, node), None)
    caps = list(_caps(values, tier, node))
    if not caps:
        inside = next(_carried(_INSIDE_RULES, values, node), None)
        return outside or fall or inside or _nothing(values)
    if first := _rival(values) or fall:
        return first
    if len(caps) > 1:
        return _both_caps(values, node)
    if outside and outside.verdict == "load_bound":
        yet = "Throughput is at what think time allows all the same, so it shows in latency."
        return Cause(caps[0].verdict, f"{caps[0].text} {yet}")
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
        f"of its cap, {node}{machine_text(values)}. A faster disk alone may not help.",
    )


def _both_caps(values: Values, node: str) -> Cause:
    return Cause(
        "unattributed",
        f"IOPS and bandwidth are both at their caps on {node} "
        f"({values['iops_of_cap_pct']:.0f} % and {values['bandwidth_of_cap_pct']:.0f} %): the "
        "disk is the limit, and only a tier that raises both would help.",
    )


_CAPS: tuple[tuple[BottleneckCause, str, str, str, str], ...] = (  # cause, cap, other, title, helps
    ("iops_cap", "iops", "bandwidth", "IOPS", "A tier with more IOPS would help."),
    (
        "bandwidth_cap",
        "bandwidth",
        "iops",
        "bandwidth",
        "A tier with more bandwidth would help; more IOPS alone would not.",
    ),
)


def _caps(values: Values, tier: Tier, node: str) -> Iterator[Cause]:
    """The caps that hold I/Os back; none beside which the other is nearly reached."""
    for cause, cap, other, title, helps in _CAPS:
        if values.get(f"{cap}_of_cap_pct", 0.0) < CAP_PCT or not _binds(cap, values, tier):
            continue
        if CAP_PCT > values.get(f"{other}_of_cap_pct", 0.0) >= OTHER_CAP_PCT:
            continue
        yield Cause(
            cause,
            f"At the {burst_word(values)}{title} cap {values[f'time_at_{cap}_cap_pct']:.0f} % of "
            f"the time on {node}{rate_text(cap, values)}{wait_text(values)}. {helps}"
            f"{memory_too(values, MEMORY_PRESSURE_PCT)}",
        )


def _binds(cap: str, values: Values, tier: Tier) -> bool:
    """Whether a cap that is reached holds I/Os back: they queue behind it, or those in flight would
    do more without it. Control groups hold them back above the device, which does not see it."""
    if isinstance(tier.disk, Cgroup):
        return True
    await_s, idle_s = values.get("disk_await_s"), values.get("idle_disk_latency_s")
    in_flight = values.get("disk_queue_depth", 0.0)
    if await_s is None or not idle_s:
        return in_flight >= QUEUE_DEPTH
    if await_s >= QUEUEING * idle_s:
        return True
    iops = values.get("disk_iops", 0.0)
    # In units of the cap, since I/Os are alike with it and without.
    times = in_flight / idle_s / iops * values[f"{cap}_of_cap_pct"] / 100 if iops else 0.0
    return times >= BINDING


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
        f"The load generator was the limit: {machine_text(values)}; {no_help}what the database "
        f"could do was not measured. {_ELSEWHERE}"
    )


def _machine_bound(values: Values, node: str) -> str:
    if values.get("host_cpu_pct", 0.0) < HOST_PCT:
        return ""
    machine = f"The machine of {node}" if "client_machine_cpu_pct" in values else "This machine"
    no_help = " A faster disk would not help here." if _disk_is_idle(values) else ""
    return f"{machine} was the limit: {machine_text(values)}.{no_help} {_ELSEWHERE}"


def _cpu_bound(values: Values, node: str) -> str:
    if values.get("cpu_pct", 0.0) < CPU_PCT or nearest_cap(values) >= NEAR_CAP_PCT:
        return ""
    no_help = f" {NO_FASTER_DISK}" if _disk_is_idle(values) else ""
    return (
        f"{node} used {values['cpu_pct']:.0f} % of its CPU{cap_text(values)}. More CPU would raise "
        f"throughput.{no_help}"
    )


def _disk_is_idle(values: Values) -> bool:
    """Whether sessions are known to wait for it so little that a faster one would give nothing."""
    waiting = _waiting_pct(values)
    return waiting is not None and waiting < IDLE_DISK_PCT


def _memory_bound(values: Values, node: str) -> str:
    pressure, busy = values.get("memory_pressure_pct", 0.0), values.get("disk_busy_pct", 100.0)
    least = max(MEMORY_PRESSURE_PCT, MEMORY_OVER_DISK * busy)
    if pressure < least or nearest_cap(values) >= NEAR_CAP_PCT:
        return ""
    return (
        f"Tasks waited for memory {pressure:.0f} % of the time on this machine, and {node}'s disk "
        f"worked for {busy:.0f} % of it{cap_text(values)}: they waited for longer than it worked. "
        "More memory would help."
    )


def _latency_bound(values: Values, node: str) -> str:
    if nearest_cap(values) >= NEAR_CAP_PCT or values.get("cpu_pct", 100.0) >= CPU_FREE_PCT:
        return ""
    await_s, idle_s = values.get("disk_await_s"), values.get("idle_disk_latency_s")
    waiting = _waiting_pct(values)
    # What a database counted is better evidence than a disk at work: then I/Os may queue a little.
    most = UNLOADED if waiting is None else QUEUEING
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
        f"{cap_text(values)}. {helps}, and so would more sessions at a time."
        f"{memory_too(values, MEMORY_PRESSURE_PCT)}"
    )


def _wal_disk_bound(values: Values, node: str) -> str:
    syncing = values.get("wal_disk_syncing_pct", 0.0)  # there only if commits wait for it
    if syncing < WAITING_PCT or nearest_cap(values) >= NEAR_CAP_PCT:
        return ""
    if values.get("cpu_pct", 100.0) >= CPU_FREE_PCT:
        return ""
    return (
        f"A log sync was under way on the WAL's own disk of {node} {syncing:.0f} % of the time, "
        f"and commits wait for it{cap_text(values)}. A faster disk for the WAL would help."
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
    shares = (
        ("CPU of the node", "cpu_pct"),
        ("IOPS cap", "iops_of_cap_pct"),
        ("bandwidth cap", "bandwidth_of_cap_pct"),
        ("CPU of the machine", "host_cpu_pct"),
        ("waiting for memory", "memory_pressure_pct"),
        ("log syncs on the WAL's own disk", "wal_disk_syncing_pct"),
    )
    known = [f"{title} {values[name]:.0f} %" for title, name in shares if name in values]
    return Cause("unattributed", f"No resource was clearly the limit ({', '.join(known)}).")


_OUTSIDE_RULES: Rules = {
    "load_bound": _load_bound,
    "client_bound": _client_bound,
    "machine_bound": _machine_bound,
}
_INSIDE_RULES: Rules = {
    "cpu_bound": _cpu_bound,
    "latency_bound": _latency_bound,
    "wal_disk_bound": _wal_disk_bound,
    "memory_bound": _memory_bound,
}
