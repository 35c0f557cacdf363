"""What limited each cell: one named bottleneck, with every resource's figures beside it. Pure.

Rules and thresholds: docs/METHOD.md. First whether the machine or the load generator was the limit
(then the tier is not what was measured), then burst credit, the tier's caps, the node's CPU, and
the time that single I/Os take. Nothing, or two that cannot be told apart, is `unattributed`.
Memory pressure comes last: reading back what memory could not hold is pressure too, and that is the
disk's reads. So memory is the cause only where tasks wait for it far longer than the disk works;
beside a cause at the disk it is said. Correlation, not proof: raising the suspected cap is the
proof.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from orchestrator.analysis import resources, results
from orchestrator.analysis.bottleneck_words import (
    Figures,
    burst_word,
    cap_text,
    machine_text,
    memory_too,
    nearest_cap,
    rate_of,
    wait_text,
)
from orchestrator.analysis.results import Results, RunData
from orchestrator.facts import BottleneckCause
from orchestrator.model import Bottleneck, Tier
from orchestrator.units import format_bytes_per_s, format_number, format_seconds

CAP_PCT = 95.0  # median second, of the cap in force
NEAR_CAP_PCT = 80.0  # below this a cap is not what limits
OTHER_CAP_PCT = 90.0  # the other of the two caps, for one of them to be the limit
QUEUEING = 2.0  # times the idle disk's latency: I/Os queue, for more than half of their time
QUEUE_DEPTH = 2.0  # the same, where the idle latency is not known
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
BUSY_PCT = 70.0  # of the time an I/O is under way, where the database does not count waits
APART_PCT = 5.0  # two limits closer than this cannot be told apart

IOPS_CAP: Final = "iops_cap"
BANDWIDTH_CAP: Final = "bandwidth_cap"
LATENCY_BOUND: Final = "latency_bound"
BURST_EXHAUSTED: Final = "burst_exhausted"
CPU_BOUND: Final = "cpu_bound"
MEMORY_BOUND: Final = "memory_bound"
CLIENT_BOUND: Final = "client_bound"
MACHINE_BOUND: Final = "machine_bound"
LOAD_BOUND: Final = "load_bound"
UNATTRIBUTED: Final = "unattributed"

HARNESS_LIMITS = frozenset({CLIENT_BOUND, MACHINE_BOUND})


@dataclass(frozen=True)
class Cause:
    """A verdict and the sentences that a database administrator reads."""

    verdict: BottleneckCause
    text: str


def bottlenecks(campaign: Results) -> tuple[Bottleneck, ...]:
    """One per cell with finished runs, in the plan's order."""
    cpus = results.machine_cpus(campaign)
    judged = (bottleneck(cell.finished, cpus) for cell in results.cells(campaign))
    return tuple(one for one in judged if one is not None)


def bottleneck(runs: Sequence[RunData], cpus: float | None) -> Bottleneck | None:
    """What limited one cell: judged on its busiest node, by medians over repetitions."""
    if not runs:
        return None
    record = runs[0].record
    gathered = [resources.gather(run, cpus) for run in runs]
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
    cap = min(nearest_cap(figures), 100.0)
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
        f"of its cap, {node}{machine_text(figures)}. A faster disk alone may not help.",
    )


def _both_caps(figures: Figures, node: str) -> Cause:
    return Cause(
        UNATTRIBUTED,
        f"IOPS and bandwidth are both at their caps on {node} "
        f"({figures['iops_of_cap_pct']:.0f} % and {figures['bandwidth_of_cap_pct']:.0f} %): the "
        "disk is the limit, and only a tier that raises both would help.",
    )


def _iops_cap(figures: Figures, tier: Tier, node: str) -> Cause | None:
    if figures.get("iops_of_cap_pct", 0.0) < CAP_PCT or not _binds("iops", figures, tier):
        return None
    if CAP_PCT > figures.get("bandwidth_of_cap_pct", 0.0) >= OTHER_CAP_PCT:
        return None
    return Cause(
        IOPS_CAP,
        f"At the {burst_word(figures)}IOPS cap "
        f"{figures['time_at_iops_cap_pct']:.0f} % of the time on {node}"
        f"{rate_of('disk_iops', figures, format_number, ' IOPS')}{wait_text(figures)}. "
        f"A tier with more IOPS would help.{memory_too(figures, MEMORY_PRESSURE_PCT)}",
    )


def _bandwidth_cap(figures: Figures, tier: Tier, node: str) -> Cause | None:
    if figures.get("bandwidth_of_cap_pct", 0.0) < CAP_PCT or not _binds("bandwidth", figures, tier):
        return None
    if CAP_PCT > figures.get("iops_of_cap_pct", 0.0) >= OTHER_CAP_PCT:
        return None
    return Cause(
        BANDWIDTH_CAP,
        f"At the {burst_word(figures)}bandwidth cap "
        f"{figures['time_at_bandwidth_cap_pct']:.0f} % of the time on {node}"
        f"{rate_of('disk_bytes_per_s', figures, format_bytes_per_s, '')}{wait_text(figures)}. "
        "A tier with more bandwidth would help; more IOPS alone would not."
        f"{memory_too(figures, MEMORY_PRESSURE_PCT)}",
    )


def _binds(cap: str, figures: Figures, tier: Tier) -> bool:
    """Whether a cap that is reached holds I/Os back: they queue behind it, or those in flight would
    do more without it. Control groups hold them back above the device, which does not see it."""
    if tier.kind == "cgroup":
        return True
    await_s, idle_s = figures.get("disk_await_s"), figures.get("idle_disk_latency_s")
    in_flight = figures.get("disk_queue_depth", 0.0)
    if await_s is None or not idle_s:
        return in_flight >= QUEUE_DEPTH
    if await_s >= QUEUEING * idle_s:
        return True
    iops = figures.get("disk_iops", 0.0)
    # In units of the cap, since I/Os are alike with it and without.
    times = in_flight / idle_s / iops * figures[f"{cap}_of_cap_pct"] / 100 if iops else 0.0
    return times >= BINDING


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
        f"The load generator was the limit: {machine_text(figures)}. A faster disk would not "
        f"help, and what the database could do was not measured. {_ELSEWHERE}",
    )


def _machine_bound(figures: Figures) -> Cause | None:
    if figures.get("host_cpu_pct", 0.0) < HOST_PCT:
        return None
    return Cause(
        MACHINE_BOUND,
        f"This machine was the limit: {machine_text(figures)}. A faster disk would not help "
        f"here, and elsewhere it might. {_ELSEWHERE}",
    )


def _cpu_bound(figures: Figures, node: str) -> Cause | None:
    if figures.get("cpu_pct", 0.0) < CPU_PCT or nearest_cap(figures) >= NEAR_CAP_PCT:
        return None
    return Cause(
        CPU_BOUND,
        f"{node} used {figures['cpu_pct']:.0f} % of its CPU{cap_text(figures)}. A faster disk "
        "would not raise throughput; more CPU would.",
    )


def _memory_bound(figures: Figures, node: str) -> Cause | None:
    pressure, busy = figures.get("memory_pressure_pct", 0.0), figures.get("disk_busy_pct", 100.0)
    if pressure < max(MEMORY_PRESSURE_PCT, MEMORY_OVER_DISK * busy):
        return None
    if nearest_cap(figures) >= NEAR_CAP_PCT:
        return None
    return Cause(
        MEMORY_BOUND,
        f"Tasks waited for memory {pressure:.0f} % of the time on this machine, and {node}'s disk "
        f"worked for {busy:.0f} % of it{cap_text(figures)}. More memory would help. A faster disk "
        "would not: they waited for longer than it worked.",
    )


def _latency_bound(figures: Figures, node: str) -> Cause | None:
    if nearest_cap(figures) >= NEAR_CAP_PCT or figures.get("cpu_pct", 100.0) >= CPU_FREE_PCT:
        return None
    await_s, idle_s = figures.get("disk_await_s"), figures.get("idle_disk_latency_s")
    if await_s is None:
        return None
    waiting = _waiting_pct(figures)
    # What a database counted is better evidence than a disk at work: then I/Os may queue a little.
    most = UNLOADED if waiting is None else QUEUEING
    if idle_s and await_s >= most * idle_s:
        return None
    if waiting is None and figures.get("disk_busy_pct", 0.0) < BUSY_PCT:
        return None
    if waiting is not None and waiting < WAITING_PCT:
        return None
    own, helps = "", "More IOPS or bandwidth would not help; a tier with a lower latency would"
    if idle_s and await_s > UNLOADED * idle_s:
        own = f", most of it the disk's own {format_seconds(idle_s)}"
        helps = "A tier with a lower latency would help"
    return Cause(
        LATENCY_BOUND,
        f"Sessions on {node} wait for single I/Os of {format_seconds(await_s)} each{own}"
        f"{cap_text(figures)}. {helps}, and so would more sessions at a time."
        f"{memory_too(figures, MEMORY_PRESSURE_PCT)}",
    )


def _waiting_pct(figures: Figures) -> float | None:
    """How much of its time a session waits for the disk, as the database counted it: in reads, and
    of the rest while a log sync is under way. None where it counts neither."""
    reading, syncing = figures.get("sessions_reading_pct"), figures.get("log_syncing_pct")
    if reading is None and syncing is None:
        return None
    reading, syncing = min(reading or 0.0, 100.0), min(syncing or 0.0, 100.0)
    return reading + (100 - reading) * syncing / 100


def _nothing(figures: Figures) -> Cause:
    shares = (
        ("CPU of the node", "cpu_pct"),
        ("IOPS cap", "iops_of_cap_pct"),
        ("bandwidth cap", "bandwidth_of_cap_pct"),
        ("CPU of the machine", "host_cpu_pct"),
        ("waiting for memory", "memory_pressure_pct"),
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
