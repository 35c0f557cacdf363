"""What limited each cell: one named bottleneck, with every resource's figures beside it. Pure.

Rules and thresholds: docs/METHOD.md. First whether the machine or the load generator was the limit
(then the tier is not what was measured), then burst credit, the tier's caps, the node's CPU, and
the time that single I/Os take. Nothing, or two that cannot be told apart, is `unattributed`.
Memory pressure comes last: reading back what memory could not hold is pressure too, so it does not
exonerate the disk. Correlation, not proof: raising the suspected cap is the proof.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from orchestrator import evidence, frames
from orchestrator.frames import Campaign, RunData
from orchestrator.model import Bottleneck, Tier
from orchestrator.units import format_bytes_per_s, format_number, format_seconds

CAP_PCT = 95.0  # median second, of the cap in force
NEAR_CAP_PCT = 80.0  # below this a cap is not what limits
OTHER_CAP_PCT = 90.0  # the other of the two caps, for one of them to be the limit
QUEUEING = 2.0  # times the idle disk's latency: I/Os queue behind the cap
QUEUE_DEPTH = 2.0  # the same, where the idle latency is not known
UNLOADED = 1.5  # times the idle disk's latency: I/Os do not queue
CPU_PCT = 85.0
CPU_FREE_PCT = 70.0
CLIENT_PCT = 80.0
HOST_PCT = 90.0
MEMORY_PRESSURE_PCT = 5.0
CEILING_PCT = 95.0
WAITING_PCT = 50.0  # of sessions' time in reads, or of all time in log syncs
BUSY_PCT = 70.0  # of the time an I/O is under way, where the database does not count waits
APART_PCT = 5.0  # two limits closer than this cannot be told apart

IOPS_CAP = "iops_cap"
BANDWIDTH_CAP = "bandwidth_cap"
LATENCY_BOUND = "latency_bound"
BURST_EXHAUSTED = "burst_exhausted"
CPU_BOUND = "cpu_bound"
MEMORY_BOUND = "memory_bound"
CLIENT_BOUND = "client_bound"
MACHINE_BOUND = "machine_bound"
LOAD_BOUND = "load_bound"
UNATTRIBUTED = "unattributed"

DISK_LIMITS = frozenset({IOPS_CAP, BANDWIDTH_CAP, LATENCY_BOUND, BURST_EXHAUSTED})
HARNESS_LIMITS = frozenset({CLIENT_BOUND, MACHINE_BOUND})

Figures = Mapping[str, float]


@dataclass(frozen=True)
class Cause:
    """A verdict and the sentences that a database administrator reads."""

    verdict: str
    text: str


def bottlenecks(campaign: Campaign) -> tuple[Bottleneck, ...]:
    """One per cell with finished runs, in the plan's order."""
    plan = campaign.plan
    cpus = frames.machine_cpus(campaign)
    found = (
        bottleneck(frames.finished(campaign, profile.name, workload.name), cpus)
        for workload in plan.workloads
        for profile in plan.profiles
    )
    return tuple(one for one in found if one is not None)


def bottleneck(runs: Sequence[RunData], cpus: float | None) -> Bottleneck | None:
    """What limited one cell: judged on its busiest node, by medians over repetitions."""
    if not runs:
        return None
    record = runs[0].record
    gathered = [evidence.gather(run, cpus) for run in runs]
    names = dict.fromkeys(name for nodes in gathered for name in nodes)
    by_node = {name: _medians([n[name] for n in gathered if name in n]) for name in names}
    node = max(by_node, key=lambda name: _load(by_node[name]), default="")
    figures = by_node.get(node, {})
    cause = judge(figures, record.profile.tier, node)
    return Bottleneck(
        profile=record.run.profile,
        workload=record.run.workload,
        node=node,
        verdict=cause.verdict,
        text=cause.text,
        evidence=figures,
    )


def _medians(gathered: Sequence[Figures]) -> dict[str, float]:
    """Each figure's median over the runs that have it."""
    names = dict.fromkeys(name for figures in gathered for name in figures)
    return {name: median(f[name] for f in gathered if name in f) for name in names}


def _load(figures: Figures) -> tuple[float, float]:
    shares = ("iops_of_cap_pct", "bandwidth_of_cap_pct", "cpu_pct")
    return max(figures.get(name, 0.0) for name in shares), figures.get("disk_iops", 0.0)


# ------------------------------------------------------------------ the rules


def judge(figures: Figures, tier: Tier, node: str) -> Cause:
    """The cause that these figures carry. Figures that are absent support nothing."""
    if not {"disk_iops", "cpu_pct"} & set(figures):
        return Cause(UNATTRIBUTED, "Neither disk nor CPU of the database nodes was sampled.")
    outside = next((cause for rule in _OUTSIDE_RULES if (cause := rule(figures))), None)
    caps = [cause for rule in _CAP_RULES if (cause := rule(figures, tier, node))]
    if not caps:
        inside = (rule(figures, node) for rule in _INSIDE_RULES)
        found = outside or _burst_exhausted(figures) or next((c for c in inside if c), None)
        return found or _nothing(figures)
    if rival := _rival(figures):
        return rival
    if fall := _burst_exhausted(figures):
        return fall
    if len(caps) > 1:
        return _both_caps(figures, node)
    if outside and outside.verdict == LOAD_BOUND:
        yet = "Throughput is at what think time allows all the same, so it shows in latency."
        return Cause(caps[0].verdict, f"{caps[0].text} {yet}")
    return caps[0]


def _rival(figures: Figures) -> Cause | None:
    """A disk at its cap beside a CPU as busy: which of them was the limit cannot be told."""
    cap = min(_nearest_cap(figures), 100.0)
    limits = {"host_cpu_pct": HOST_PCT, "client_cpu_pct": CLIENT_PCT, "cpu_pct": CPU_PCT}
    busy = max(figures.get(name, 0.0) for name, least in limits.items())
    if not any(figures.get(name, 0.0) >= least for name, least in limits.items()):
        return None
    if cap - busy > APART_PCT:
        return None
    node = f"the node's CPU {figures['cpu_pct']:.0f} % busy, " if "cpu_pct" in figures else ""
    return Cause(
        UNATTRIBUTED,
        f"Disk and CPU were both at their limit and cannot be told apart: the disk at {cap:.0f} % "
        f"of its cap, {node}{_machine_text(figures)}. A faster disk alone may not help.",
    )


def _both_caps(figures: Figures, node: str) -> Cause:
    return Cause(
        UNATTRIBUTED,
        f"IOPS and bandwidth are both at their caps on {node} "
        f"({figures['iops_of_cap_pct']:.0f} % and {figures['bandwidth_of_cap_pct']:.0f} %): the "
        "disk is the limit, and only a tier that raises both would help.",
    )


def _iops_cap(figures: Figures, tier: Tier, node: str) -> Cause | None:
    if figures.get("iops_of_cap_pct", 0.0) < CAP_PCT or not _queues(figures, tier):
        return None
    if CAP_PCT > figures.get("bandwidth_of_cap_pct", 0.0) >= OTHER_CAP_PCT:
        return None
    return Cause(
        IOPS_CAP,
        f"At the {_burst_word(figures)}IOPS cap "
        f"{figures['time_at_iops_cap_pct']:.0f} % of the time on {node}"
        f"{_rate_of('disk_iops', figures, format_number, ' IOPS')}{_wait_text(figures)}. "
        "A tier with more IOPS would help.",
    )


def _bandwidth_cap(figures: Figures, tier: Tier, node: str) -> Cause | None:
    if figures.get("bandwidth_of_cap_pct", 0.0) < CAP_PCT or not _queues(figures, tier):
        return None
    if CAP_PCT > figures.get("iops_of_cap_pct", 0.0) >= OTHER_CAP_PCT:
        return None
    return Cause(
        BANDWIDTH_CAP,
        f"At the {_burst_word(figures)}bandwidth cap "
        f"{figures['time_at_bandwidth_cap_pct']:.0f} % of the time on {node}"
        f"{_rate_of('disk_bytes_per_s', figures, format_bytes_per_s, '')}{_wait_text(figures)}. "
        "A tier with more bandwidth would help; more IOPS alone would not.",
    )


def _queues(figures: Figures, tier: Tier) -> bool:
    """Whether I/Os wait behind the cap. Control groups hold them back above the device, where its
    own latency does not show it."""
    if tier.enforcement == "cgroup":
        return True
    await_s, idle_s = figures.get("disk_await_s"), figures.get("idle_disk_latency_s")
    if await_s is None or not idle_s:
        return figures.get("disk_queue_depth", 0.0) >= QUEUE_DEPTH
    return await_s >= QUEUEING * idle_s


def _burst_exhausted(figures: Figures) -> Cause | None:
    if "iops_after_fall" not in figures:
        return None
    return Cause(
        BURST_EXHAUSTED,
        f"Burst credit ran out while measuring: {format_number(figures['iops_before_fall'])} IOPS "
        f"before, {format_number(figures['iops_after_fall'])} after. The mean describes neither; "
        "measure with the bucket empty to see what the tier sustains.",
    )


def _load_bound(figures: Figures) -> Cause | None:
    share = figures.get("nopm_of_ceiling_pct", 0.0)
    if share < CEILING_PCT:
        return None
    return Cause(
        LOAD_BOUND,
        f"The terminals' think time allows no more: {share:.1f} % of 12.86 New-Orders a minute "
        "and warehouse. A faster disk would not raise throughput; compare latencies.",
    )


_ELSEWHERE = "Run the load and the database on separate or larger machines to tell."


def _client_bound(figures: Figures) -> Cause | None:
    if figures.get("client_cpu_pct", 0.0) < CLIENT_PCT:
        return None
    return Cause(
        CLIENT_BOUND,
        f"The load generator was the limit: {_machine_text(figures)}. A faster disk would not "
        f"help, and what the database could do was not measured. {_ELSEWHERE}",
    )


def _machine_bound(figures: Figures) -> Cause | None:
    if figures.get("host_cpu_pct", 0.0) < HOST_PCT:
        return None
    return Cause(
        MACHINE_BOUND,
        f"This machine was the limit: {_machine_text(figures)}. A faster disk would not help "
        f"here, and elsewhere it might. {_ELSEWHERE}",
    )


def _cpu_bound(figures: Figures, node: str) -> Cause | None:
    if figures.get("cpu_pct", 0.0) < CPU_PCT or _nearest_cap(figures) >= NEAR_CAP_PCT:
        return None
    return Cause(
        CPU_BOUND,
        f"{node} used {figures['cpu_pct']:.0f} % of its CPU{_cap_text(figures)}. A faster disk "
        "would not help; more CPU would.",
    )


def _memory_bound(figures: Figures, node: str) -> Cause | None:
    pressure = figures.get("memory_pressure_pct", 0.0)
    if pressure < MEMORY_PRESSURE_PCT or _nearest_cap(figures) >= NEAR_CAP_PCT:
        return None
    return Cause(
        MEMORY_BOUND,
        f"Tasks waited for memory {pressure:.0f} % of the time on this machine"
        f"{_cap_text(figures)}. More memory would help; so might a faster disk, because what "
        "memory cannot hold is read again.",
    )


def _latency_bound(figures: Figures, node: str) -> Cause | None:
    if _nearest_cap(figures) >= NEAR_CAP_PCT or figures.get("cpu_pct", 100.0) >= CPU_FREE_PCT:
        return None
    await_s, idle_s = figures.get("disk_await_s"), figures.get("idle_disk_latency_s")
    if await_s is None or (idle_s and await_s > UNLOADED * idle_s) or not _waits(figures):
        return None
    return Cause(
        LATENCY_BOUND,
        f"Sessions on {node} wait for single I/Os of {format_seconds(await_s)} each"
        f"{_cap_text(figures)}. More IOPS or bandwidth would not help; a tier with a lower "
        "latency would, and so would more sessions at a time.",
    )


def _waits(figures: Figures) -> bool:
    """By what the database counted; else by how much of the time an I/O was under way."""
    counted = [figures.get(name) for name in ("sessions_reading_pct", "log_syncing_pct")]
    known = [share for share in counted if share is not None]
    if known:
        return max(known) >= WAITING_PCT
    return figures.get("disk_busy_pct", 0.0) >= BUSY_PCT


def _nothing(figures: Figures) -> Cause:
    shares = (
        ("CPU of the node", "cpu_pct"),
        ("IOPS cap", "iops_of_cap_pct"),
        ("bandwidth cap", "bandwidth_of_cap_pct"),
        ("CPU of the machine", "host_cpu_pct"),
    )
    known = [f"{title} {figures[name]:.0f} %" for title, name in shares if name in figures]
    return Cause(UNATTRIBUTED, f"No resource was clearly the limit ({', '.join(known)}).")


_CAP_RULES: tuple[Callable[[Figures, Tier, str], Cause | None], ...] = (_iops_cap, _bandwidth_cap)
_OUTSIDE_RULES: tuple[Callable[[Figures], Cause | None], ...] = (
    _load_bound,
    _client_bound,
    _machine_bound,
)
_INSIDE_RULES: tuple[Callable[[Figures, str], Cause | None], ...] = (
    _cpu_bound,
    _latency_bound,
    _memory_bound,
)


# ------------------------------------------------------------------ words


def _nearest_cap(figures: Figures) -> float:
    return max(figures.get("iops_of_cap_pct", 0.0), figures.get("bandwidth_of_cap_pct", 0.0))


def _rate_of(name: str, figures: Figures, words: Callable[[float], str], unit: str) -> str:
    return f" ({words(figures[name])}{unit})" if name in figures else ""


def _burst_word(figures: Figures) -> str:
    return "burst's " if figures.get("burst_credit_left_pct", 0.0) > 0 else ""


def _wait_text(figures: Figures) -> str:
    await_s, idle_s = figures.get("disk_await_s"), figures.get("idle_disk_latency_s")
    if await_s is None or not idle_s:
        return ""
    return f", each I/O taking {format_seconds(await_s)} instead of {format_seconds(idle_s)}"


def _cap_text(figures: Figures) -> str:
    parts = (("IOPS", "iops_of_cap_pct"), ("bandwidth", "bandwidth_of_cap_pct"))
    known = [f"{name} at {figures[key]:.0f} %" for name, key in parts if key in figures]
    return f" with the disk's {' and '.join(known)} of their caps" if known else ""


def _machine_text(figures: Figures) -> str:
    parts = (
        ("load generator", "client_cpu_pct"),
        ("emulated disks", "disk_server_cpu_pct"),
        ("not ours", "other_cpu_pct"),
    )
    used = [f"{name} {figures[key]:.0f} %" for name, key in parts if key in figures]
    whole = figures.get("host_cpu_pct")
    if whole is None:
        return f"{', '.join(used)} of the machine's CPU"
    return f"{whole:.0f} % of the machine's CPU busy" + (f" ({', '.join(used)})" if used else "")
