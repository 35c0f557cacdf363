"""What limited each cell: one bottleneck, on its busiest node, with the values of all resources.

The cause is that of the node's values (`node_cause`), unless the disk of one node is slower than
those of its peers. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

import pandas as pd

from orchestrator import facts
from orchestrator.analysis import results
from orchestrator.analysis.conclusions import Bottleneck
from orchestrator.analysis.figures import statements
from orchestrator.analysis.telemetry.causes import (
    node_cause,
    outside_causes,
    phrases,
    proof_by_trial,
)
from orchestrator.analysis.telemetry.causes.cause import Cause
from orchestrator.analysis.telemetry.causes.signs import nearest_cap, waiting_pct
from orchestrator.analysis.telemetry.use import evidence, node_use
from orchestrator.analysis.telemetry.use.evidence import Evidence, largest
from orchestrator.tier import Tier

NEAR_CAP_PCT = 80.0  # of a cap: from there on it may be what slows a node down
SLOWER = 3.0  # times its peers' time of an I/O
# Times the idle disk's latency, which an emulated or a checked disk has.
OVER_IDLE = 2.0
# Of the blocks read, or of the log, for a statement to be named.
MOST_PCT = 50.0
MORE = 1.25  # times its peers' IOPS: a node that does more may be slow for that


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
    remarks = _statement_text(cause.name, runs) + phrases.requests_too(values, node)
    run = record.run
    return Bottleneck(
        profile=run.profile,
        workload=run.workload,
        node=node,
        verdict=cause.name,
        text=cause.text + remarks,
        evidence=_stated(values, cause),
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
    of_runs: dict[str, list[Evidence]] = {}
    for run in runs:
        for node, values in node_use.gather(run, cpus).items():
            of_runs.setdefault(node, []).append(values)
    return {
        node: evidence.of_several(values, median) for node, values in of_runs.items()
    }


def _judged(by_node: Mapping[str, Evidence], tier: Tier) -> tuple[str, Cause]:
    """The node that is nearest to a limit, or slower than its peers, and its cause."""
    loads = {name: _load(values) for name, values in by_node.items()}
    node = max(loads, key=loads.__getitem__, default="")
    values = by_node.get(node, Evidence())
    cause = node_cause.judge(values, tier, node)
    slow = slow_node(by_node)
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
        values.iops_of_cap_pct, values.bandwidth_of_cap_pct, values.cpu_pct
    )
    return _Load(nearest_pct, values.disk_iops or 0.0)


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
    is_most = most_pct >= MOST_PCT  # not if there are none, which have no largest
    if not is_most:
        return ""
    statement = counts.idxmax()
    return f" {most_pct:.0f} % of the {title} is of `{statement}`."


def held_pct(cause: facts.BottleneckCause, values: Evidence) -> float | None:
    """For which share of the window it held, of seconds or of sessions' time; None where nothing
    says it."""
    iops = values.time_at_iops_cap_pct
    bandwidth = values.time_at_bandwidth_cap_pct
    cpu = values.time_at_cpu_pct
    network_rate = values.time_at_network_rate_pct
    times_pct: dict[facts.BottleneckCause, Sequence[float | None]] = {}
    times_pct["iops_cap"] = [iops]
    times_pct["bandwidth_cap"] = [bandwidth]
    times_pct["vm_cap"] = [iops, bandwidth]
    times_pct["latency_bound"] = [waiting_pct(values)]
    times_pct["cpu_bound"] = [cpu, values.throttled_pct]
    times_pct["wal_disk_bound"] = [values.wal_disk_syncing_pct]
    times_pct["memory_bound"] = [values.memory_pressure_pct]
    times_pct["network_bound"] = [network_rate, values.seen_idle_pct]
    times_pct["contention"] = [values.seen_locked_pct]
    times_pct["few_sessions"] = [values.seen_running_pct]
    return evidence.highest(times_pct.get(cause, []))


# ------------------------------------------------------------------ a node slower than its peers


@dataclass(frozen=True)
class SlowNode:
    name: str
    cause: Cause


def slow_node(by_node: Mapping[str, Evidence]) -> SlowNode | None:
    """The first node whose disk is slower than its peers', though it does no more."""
    for name, values in by_node.items():
        peers = [other for node, other in by_node.items() if node != name]
        usual = _usual(peers)
        if usual is not None and _is_slow(values, usual):
            return SlowNode(name, _slow_node(values, name, usual))
    return None


class _Usual(NamedTuple):
    """Medians over a node's peers: of those that know it, and of all of them."""

    await_s: float
    iops: float


def _usual(peers: Sequence[Evidence]) -> _Usual | None:
    await_s = evidence.of_several(peers, median).disk_await_s
    if await_s is None:
        return None
    return _Usual(await_s, median(peer.disk_iops or 0.0 for peer in peers))


def _is_slow(values: Evidence, usual: _Usual) -> bool:
    """Busy, and at no cap: a disk that is held back is slow by order."""
    if values.disk_await_s is None or (values.disk_iops or 0.0) > MORE * usual.iops:
        return False
    idle_s = values.idle_disk_latency_s or 0.0
    slower = values.disk_await_s >= max(SLOWER * usual.await_s, OVER_IDLE * idle_s)
    busy = (values.disk_busy_pct or 0.0) >= outside_causes.BUSY_PCT
    return slower and busy and nearest_cap(values) < NEAR_CAP_PCT


def _slow_node(values: Evidence, node: str, usual: _Usual) -> Cause:
    iops = phrases.number(values.disk_iops)
    usual_iops = phrases.number(usual.iops)
    await_text = phrases.time(values.disk_await_s)
    usual_await = phrases.time(usual.await_s)
    text = (
        f"Each I/O on {node} takes {await_text}, on the other nodes "
        f"{usual_await}, though it does no more of them ({iops} IOPS, the "
        f"others {usual_iops}). Its disk or its machine is slow, and the cluster waits for "
        "it: mend or replace it, then measure again."
    )
    return Cause("slow_node", text)
