"""What was seen of each database node while a run was measured: the one maker of `Evidence`. Pure.

Each module of this room knows a part, and gives it as a record of its own. Here the parts come
together, value by value. Nothing is judged. Rates are from the first to the last sample of the
window."""

import math
from collections.abc import Iterable
from dataclasses import replace

from orchestrator.analysis import results
from orchestrator.analysis.telemetry.counters import counter_names, rates
from orchestrator.analysis.telemetry.counters.window_growth import Growth
from orchestrator.analysis.telemetry.use import (
    load_and_sessions,
    machine_cpu,
    node_values,
)
from orchestrator.analysis.telemetry.use.all_nodes import ALL
from orchestrator.analysis.telemetry.use.idle_disk import idle_latency_s
from orchestrator.analysis.telemetry.use.node_values import (
    CapUse,
    DiskUse,
    Evidence,
    ProviderReport,
    RequestUse,
    SharedUse,
    TrafficCount,
    VolumeCount,
)
from orchestrator.analysis.telemetry.use.run_telemetry import NodeSeconds
from orchestrator.design.nodes_by_role import nodes_of_role
from orchestrator.model import Node, Record
from orchestrator.tier import Limits, Tier

# Stands for the nodes of a record that states the mean of their CPU and nothing of each.
_EACH_NODE = "each node"


def gather(run: results.RunData, cpus: float | None) -> dict[str, Evidence]:
    """Database node → what was seen of it and its machine.

    Without samples it is what the record states, if it does. `cpus`: cores of the machine, for
    nodes that do not say theirs. It is kept with the run: its cause is judged with those of its
    tier, and once more alone."""
    if cpus not in run.seen_of_nodes:
        run.seen_of_nodes[cpus] = _gathered(run, cpus)
    return run.seen_of_nodes[cpus]


def _gathered(run: results.RunData, cpus: float | None) -> dict[str, Evidence]:
    growth = run.telemetry.growth
    # Published figures have no samples, and state some values themselves.
    if growth is None:
        return _stated(run.record)
    by_node: dict[str, Evidence] = {}
    for node in nodes_of_role(run.record.nodes, "database"):
        by_node[node.name] = _seen_of(run, node, growth, cpus)
    load = load_and_sessions.of_load(run.record, run.telemetry.sessions)
    shared = _use_of_shared(run.record.profile.tier, by_node.values())
    for name, seen in by_node.items():
        by_node[name] = replace(seen, load=load, shared=shared)
    return by_node


# ------------------------------------------------------------------ the parts of a node


def _seen_of(
    run: results.RunData, node: Node, growth: Growth, cpus: float | None
) -> Evidence:
    """What is of one node alone: neither its load nor what it shares with others."""
    nodes = run.record.nodes
    telemetry = run.telemetry
    machine_cores = machine_cpu.cores(nodes, node, cpus)
    machines = machine_cpu.Machines(nodes, growth, cpus, telemetry.busiest_cores_pct)
    around = machines.around(node)
    seconds = telemetry.of_seconds.get(node.name, NodeSeconds())
    container = rates.container_rates(growth, node.name)
    return Evidence(
        caps=telemetry.against_caps.get(node.name, CapUse()),
        disk=_disk_use(run.record, node, growth),
        volume=_volume_count(rates.exceeded_shares(growth, node.name)),
        report=_provider_report(rates.reached_shares(growth, node.name)),
        cpu=replace(
            machine_cpu.cpu_of_node(node, growth, machine_cores),
            time_at_cpu_pct=seconds.time_at_cpu_pct,
            throttled_pct=container.throttled_pct,
        ),
        link=seconds.link,
        traffic=TrafficCount(
            network_sent_bytes_per_s=container.sent_bytes_per_s,
            network_received_bytes_per_s=container.received_bytes_per_s,
            network_packets_per_s=container.packets_per_s,
            sent_again_pct=container.sent_again_pct,
        ),
        host=around.host,
        client=around.client,
        requests=_requests(rates.server_rates(growth, node.name)),
    )


def _disk_use(record: Record, node: Node, growth: Growth) -> DiskUse:
    disk = rates.disk_rates(growth, node.name)
    busy_s = growth.per_s(node.name, counter_names.BUSY_SECONDS)
    return DiskUse(
        disk_iops=disk.iops,
        disk_read_iops=disk.read_iops,
        disk_bytes_per_s=disk.bytes_per_s,
        disk_read_bytes_per_s=disk.read_bytes_per_s,
        disk_await_s=disk.await_s,
        disk_read_await_s=disk.read_await_s,
        io_size_bytes=disk.io_size_bytes,
        idle_disk_latency_s=_idle_latency_of(record, node, disk),
        disk_queue_depth=disk.queue_depth,
        disk_busy_pct=rates.share_pct(busy_s, 1),
    )


def _idle_latency_of(record: Record, node: Node, disk: rates.DiskRates) -> float | None:
    if disk.iops is None:
        return None
    reads = disk.read_iops or 0.0
    writes = disk.write_iops or 0.0
    tier = record.profile.tier
    # A tier that declares no latency at all has 0, which is none.
    return idle_latency_s(tier, record.gate, reads, writes, node.name) or None


def _volume_count(exceeded: rates.LimitShares) -> VolumeCount:
    return VolumeCount(
        volume_iops_exceeded_pct=exceeded.disk_iops_pct,
        volume_bandwidth_exceeded_pct=exceeded.disk_bandwidth_pct,
        instance_iops_exceeded_pct=exceeded.machine_iops_pct,
        instance_bandwidth_exceeded_pct=exceeded.machine_bandwidth_pct,
    )


def _provider_report(reached: rates.ReachedShares) -> ProviderReport:
    data = reached.data
    log = reached.log
    machine = reached.machine
    return ProviderReport(
        disk_iops_limit_reached_pct=data.disk_iops_pct,
        disk_bandwidth_limit_reached_pct=data.disk_bandwidth_pct,
        wal_iops_limit_reached_pct=log.disk_iops_pct,
        wal_bandwidth_limit_reached_pct=log.disk_bandwidth_pct,
        machine_iops_limit_reached_pct=machine.machine_iops_pct,
        machine_bandwidth_limit_reached_pct=machine.machine_bandwidth_pct,
    )


def _requests(server: rates.ServerRates) -> RequestUse:
    return RequestUse(
        request_queued_avg_s=server.request_queued_avg_s,
        statement_avg_s=server.statement_avg_s,
        requests_refused_per_s=server.requests_refused_per_s,
        write_rejections_per_s=server.write_rejections_per_s,
    )


# ------------------------------------------------------------------ what nodes share


def _use_of_shared(tier: Tier, nodes: Iterable[Evidence]) -> SharedUse:
    """What all disks did together, of the limits that they share.

    Means: no second is needed where nothing may be above the limits."""
    limits = tier.shared or Limits()
    disks = [node.disk for node in nodes]
    iops = node_values.sum_if_all([disk.disk_iops for disk in disks])
    bytes_per_s = node_values.sum_if_all([disk.disk_bytes_per_s for disk in disks])
    return SharedUse(
        shared_iops_of_cap_pct=rates.share_pct(iops, limits.iops),
        shared_bandwidth_of_cap_pct=rates.share_pct(bytes_per_s, limits.bytes_per_s),
    )


# ------------------------------------------------------------------ without samples


def _stated(record: Record) -> dict[str, Evidence]:
    """What the figures of a record say of its nodes' resources, where nothing was sampled."""
    by_scope = _stated_figures(record)
    # CPU of all nodes is their mean and stands for each. What their disks did together is a sum,
    # and does not.
    mean_cpu_pct = by_scope.pop(ALL, {}).get("cpu_pct")
    if mean_cpu_pct is not None:
        by_scope = {_EACH_NODE: {}, **by_scope}
    load = load_and_sessions.of_load(record, {})
    stated: dict[str, Evidence] = {}
    for node, figures in by_scope.items():
        values = dict(figures)
        if mean_cpu_pct is not None:
            values.setdefault("cpu_pct", mean_cpu_pct)
        # What the record says of its load counts more than a figure of that name.
        values |= Evidence(load=load).sampled()
        stated[node] = _with_means_of_caps(
            record.profile.tier, node_values.of_figures(values)
        )
    return stated


def _stated_figures(record: Record) -> dict[str, dict[str, float]]:
    """Scope → metric → figure, of those that say something of a node."""
    by_scope: dict[str, dict[str, float]] = {}
    for figure in record.measurements:
        if figure.metric in node_values.NAMES and math.isfinite(figure.value):
            by_scope.setdefault(figure.scope, {})[figure.metric] = figure.value
    return by_scope


def _with_means_of_caps(tier: Tier, values: Evidence) -> Evidence:
    """Means in the place of medians of seconds, which nobody can know of them."""
    limits = tier.limits
    caps = values.caps
    iops_pct = rates.share_pct(values.disk.disk_iops, limits.iops)
    if iops_pct is not None:
        caps = replace(caps, iops_of_cap_pct=iops_pct)
    bandwidth_pct = rates.share_pct(values.disk.disk_bytes_per_s, limits.bytes_per_s)
    if bandwidth_pct is not None:
        caps = replace(caps, bandwidth_of_cap_pct=bandwidth_pct)
    return replace(values, caps=caps)
