"""The cause that a node's values carry: in which order the rules are asked. Pure.

First come causes outside of the system (`outside_causes`), and caps that are full (`cap_causes`).
Within the system the cause is what throughput follows most (`cause_by_sessions`). Where sessions
were not seen, thresholds decide (`inside_causes`). Order and thresholds: docs/research/RULES.md."""

from dataclasses import replace

from orchestrator.analysis.telemetry.causes import (
    cap_causes,
    cause_by_sessions,
    outside_causes,
    phrases,
    signs,
)
from orchestrator.analysis.telemetry.causes.cause import Cause, first_of
from orchestrator.analysis.telemetry.use.node_values import Evidence
from orchestrator.tier import Tier

# What this benchmark runs on was the limit: on another machine another figure would come out.
HARNESS_CAUSES = frozenset({"client_bound", "machine_bound"})
# Nor does a disk that is slower than its peers say what its tier can do.
NOT_THE_TIER = HARNESS_CAUSES | {"slow_node"}


def judge(values: Evidence, tier: Tier, node: str) -> Cause:
    """The cause that these values carry. Values that are absent support nothing."""
    if values.disk.disk_iops is None and values.cpu.cpu_pct is None:
        return Cause(
            "unattributed", "Neither disk nor CPU of the database nodes was sampled."
        )
    # A cap that binds is a limit whatever else is full. What is outside is then weighed against it.
    outside = first_of(outside_causes.RULES, values, node)
    caps = cap_causes.cap_causes(values, tier, node)
    if caps:
        return _at_caps(caps, outside, values, tier, node)
    return _at_no_cap(outside, values, tier, node)


def _at_no_cap(outside: Cause | None, values: Evidence, tier: Tier, node: str) -> Cause:
    fall = cap_causes.burst_exhausted(values)
    # A mean before and after a fall says nothing of what a load asks for.
    if fall is not None and (outside is None or outside.name == "load_bound"):
        return fall
    if outside is not None:
        return outside
    cause = cause_by_sessions.cause_within(values, tier, node)
    if cause is None:
        cause = first_of(outside_causes.LAST_RULES, values, node)
    return cause or _nothing(values)


def _at_caps(
    caps: list[Cause], outside: Cause | None, values: Evidence, tier: Tier, node: str
) -> Cause:
    if outside is not None and outside.name == "network_bound":
        return _with_network(caps[0], outside)
    # The CPU comes before the fall and the second cap: a full one makes all of them doubtful.
    rival = cap_causes.busy_cpu_beside(values)
    if rival is not None:
        return _disk_or_cpu(rival, values, tier, node)
    fall = cap_causes.burst_exhausted(values)
    if fall is not None:
        return fall
    if len(caps) > 1:
        return cap_causes.both_caps(caps, values, node)
    if outside is not None and outside.name == "load_bound":
        return _served_at_cap(caps[0])
    return caps[0]


def _with_network(cap: Cause, network: Cause) -> Cause:
    both = "Disk and network were both at their limit and cannot be told apart."
    text = f"{both} {cap.text} {network.text}"
    return Cause("unattributed", text)


def _disk_or_cpu(rival: Cause, values: Evidence, tier: Tier, node: str) -> Cause:
    """What sessions wait for tells a disk from a CPU as busy, where they were seen."""
    if values.load.sessions is None:
        return rival
    return cause_by_sessions.cause_within(values, tier, node) or rival


def _served_at_cap(cap: Cause) -> Cause:
    yet = "Throughput is what the load asks for all the same, so it shows in latency."
    return replace(cap, text=f"{cap.text} {yet}")


def _nothing(values: Evidence) -> Cause:
    syncs = "log syncs on the WAL's own disk"
    resources: list[tuple[str, float | None]] = []
    resources.append(("CPU of the node", values.cpu.cpu_pct))
    resources.append(("IOPS cap", values.caps.iops_of_cap_pct))
    resources.append(("bandwidth cap", values.caps.bandwidth_of_cap_pct))
    resources.append(("CPU of the machine", values.host.host_cpu_pct))
    resources.append(("waiting for memory", values.host.memory_pressure_pct))
    resources.append((syncs, values.load.wal_disk_syncing_pct))
    used = phrases.sampled_shares(resources)
    text = f"No resource was clearly the limit ({', '.join(used)})."
    if not signs.locks_are_counted(values):
        text += " What sessions waited for was not sampled, so it may be locks."
    return Cause("unattributed", text)
