"""What limited each cell: one bottleneck, on its busiest node, with the values of all resources.

The cause is that of the node's values (`node_cause`), unless the disk of one node is slower than
those of its peers. Pure."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple

import pandas as pd

from orchestrator import facts
from orchestrator.analysis import results
from orchestrator.analysis.conclusions import Bottleneck
from orchestrator.analysis.figures import statements
from orchestrator.analysis.telemetry.causes import (
    disk_account,
    node_cause,
    outside_causes,
    phrases,
    proof_by_trial,
    slow_nodes,
)
from orchestrator.analysis.telemetry.causes.cause import Cause
from orchestrator.analysis.telemetry.causes.signs import waiting_pct
from orchestrator.analysis.telemetry.use import node_use, node_values
from orchestrator.analysis.telemetry.use.node_values import Evidence, largest
from orchestrator.tier import Tier

# Share of the blocks read, or of the log, from which a statement is named.
MOST_PCT = 50.0
# Values of the whole window are of two states, and of neither.
_DISK_WAS_SLOW = Cause(
    "unattributed",
    "A disk was made slow in the window, so its values do not say what limits the tier. "
    "A run without `slow` (--slow) does.",
)


def bottlenecks(campaign: results.Results) -> tuple[Bottleneck, ...]:
    """One per cell with finished runs, in the plan's order."""
    cpus = results.machine_cpus(campaign)
    limits = []
    for cell in results.cells(campaign):
        limit = bottleneck(cell.finished, cpus)
        if limit is not None:
            limits.append(limit)
    return tuple(limits)


def bottleneck(
    runs: Sequence[results.RunData], cpus: float | None
) -> Bottleneck | None:
    """What limited one cell: judged on its busiest node, by medians over repetitions."""
    if not runs:
        return None
    named = _named(runs, _medians(runs, cpus))
    return proof_by_trial.proven(named, runs)


def _named(
    runs: Sequence[results.RunData], by_node: Mapping[str, Evidence]
) -> Bottleneck:
    record = runs[0].record
    node, cause = _judged(by_node, record.profile.tier)
    values = by_node.get(node, Evidence())
    remarks = disk_account.remark(values, cause.name)
    remarks += _statement_text(cause.name, runs)
    remarks += phrases.requests_too(values, node)
    if record.workload.slow:
        cause = _DISK_WAS_SLOW
        remarks = ""
    faster_disk = ""
    if cause.is_no_disk:
        faster_disk = phrases.NO_FASTER_DISK
    run = record.run
    return Bottleneck(
        profile=run.profile,
        workload=run.workload,
        node=node,
        verdict=cause.name,
        text=cause.text + remarks,
        evidence=_stated(values, cause),
        faster_disk=faster_disk,
    )


def _stated(values: Evidence, cause: Cause) -> dict[str, float]:
    """The values as verdict.json has them, with what says how sure the cause is."""
    stated = values.sampled()
    held = held_pct(cause.name, values)
    if held is not None:
        stated["held_pct"] = held
    if cause.ahead_pct is not None:
        stated["ahead_pct"] = cause.ahead_pct
    return stated


def _medians(
    runs: Sequence[results.RunData], cpus: float | None
) -> dict[str, Evidence]:
    """Node → each value's median over the runs that have it."""
    values_by_name: dict[str, list[Evidence]] = {}
    for run in runs:
        for node, values in node_use.gather(run, cpus).items():
            values_by_name.setdefault(node, []).append(values)
    return {
        node: node_values.of_several(values, median)
        for node, values in values_by_name.items()
    }


def _judged(by_node: Mapping[str, Evidence], tier: Tier) -> tuple[str, Cause]:
    """The node that is nearest to a limit, or slower than its peers, and its cause."""
    loads = {name: _load(values) for name, values in by_node.items()}
    node = max(loads, key=loads.__getitem__, default="")
    values = by_node.get(node, Evidence())
    cause = node_cause.judge(values, tier, node)
    slow = slow_nodes.slow_node(by_node)
    # Where the machine or its load generator is full, that is the cause, whatever its disks do.
    if slow is not None and cause.name not in node_cause.HARNESS_CAUSES:
        return slow.name, slow.cause
    if cause.name == "unattributed" and outside_causes.host_disk_bound(values):
        return node, outside_causes.slow_host_disk(values, node)
    return node, cause


class _Load(NamedTuple):
    """How near to a limit a node is; of nodes as near the one with more I/Os is busier."""

    nearest_pct: float
    iops: float


def _load(values: Evidence) -> _Load:
    nearest_pct = largest(
        values.caps.iops_of_cap_pct,
        values.caps.bandwidth_of_cap_pct,
        values.caps.machine_iops_of_cap_pct,
        values.caps.machine_bandwidth_of_cap_pct,
        values.cpu.cpu_pct,
    )
    return _Load(nearest_pct, values.disk.disk_iops or 0.0)


# ------------------------------------------------------------------ beside a cause


class _Count(NamedTuple):
    """A column of `statements.pooled`, and what it counts."""

    column: str
    title: str


_BLOCKS = _Count("blocks_read", "blocks read")
_OF_STATEMENTS: Mapping[facts.BottleneckCause, _Count] = {
    "iops_cap": _BLOCKS,
    "bandwidth_cap": _BLOCKS,
    "vm_cap": _BLOCKS,
    "latency_bound": _BLOCKS,
    "burst_exhausted": _BLOCKS,
    "wal_disk_bound": _Count("wal_bytes", "log"),
}


def _statement_text(
    cause: facts.BottleneckCause, runs: Sequence[results.RunData]
) -> str:
    """Names the statement behind most of what a cause at the disk consists of; or empty."""
    count = _OF_STATEMENTS.get(cause)
    if count is None:
        return ""
    pooled = statements.pooled(run.record for run in runs)
    return _behind_most(pooled[0][count.column], count.title)


def _behind_most(counts: pd.Series, title: str) -> str:
    """`counts`: by statement."""
    most_pct = 100 * counts.max() / max(counts.sum(), 1)
    # Written so that NaN is not most: without any statement there is no largest.
    is_most = most_pct >= MOST_PCT
    if not is_most:
        return ""
    statement = counts.idxmax()
    return f" {most_pct:.0f} % of the {title} is of `{statement}`."


def held_pct(cause: facts.BottleneckCause, values: Evidence) -> float | None:
    """For which share of the window the cause held, of seconds or of sessions' time.

    None if nothing tells.
    """
    iops = values.caps.time_at_iops_cap_pct
    bandwidth = values.caps.time_at_bandwidth_cap_pct
    cpu = values.cpu.time_at_cpu_pct
    network_rate = values.link.time_at_network_rate_pct
    times_pct: dict[facts.BottleneckCause, Sequence[float | None]] = {}
    times_pct["iops_cap"] = [iops, values.reach("iops").disk_pct]
    times_pct["bandwidth_cap"] = [bandwidth, values.reach("bandwidth").disk_pct]
    times_pct["vm_cap"] = [
        iops,
        bandwidth,
        values.caps.time_at_machine_iops_cap_pct,
        values.caps.time_at_machine_bandwidth_cap_pct,
        values.reach("iops").machine_pct,
        values.reach("bandwidth").machine_pct,
    ]
    times_pct["latency_bound"] = [waiting_pct(values)]
    times_pct["cpu_bound"] = [cpu, values.cpu.throttled_pct]
    times_pct["wal_disk_bound"] = [values.load.wal_disk_syncing_pct]
    times_pct["memory_bound"] = [values.host.memory_pressure_pct]
    times_pct["network_bound"] = [network_rate, values.load.seen_idle_pct]
    times_pct["contention"] = [values.load.seen_locked_pct]
    times_pct["few_sessions"] = [values.load.seen_running_pct]
    return node_values.highest(times_pct.get(cause, []))
