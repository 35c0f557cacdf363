"""Use of each resource while a run was measured: values, no judgement. Pure.

Rates are from the first to the last sample of the window."""

import math
from collections.abc import Iterator, Mapping, Sequence

from orchestrator.analysis import results
from orchestrator.analysis.telemetry.counters import counter_names, rates, window_growth
from orchestrator.analysis.telemetry.use import evidence, load_and_sessions, machine_cpu
from orchestrator.analysis.telemetry.use.all_nodes import ALL
from orchestrator.analysis.telemetry.use.evidence import Evidence
from orchestrator.analysis.telemetry.use.idle_disk import idle_latency_s
from orchestrator.model import Node, Record
from orchestrator.tier import Limits, Tier

# Stands for the nodes of a record that states the mean of their CPU and nothing of each.
_EACH_NODE = "each node"


def gather(run: results.RunData, cpus: float | None) -> dict[str, Evidence]:
    """Database node → what was seen of it and its machine; without samples as the record states it,
    if it does. `cpus`: of the machine, for nodes that do not say theirs."""
    telemetry = run.telemetry
    if telemetry.growth is None:
        return _stated(run.record)
    load = load_and_sessions.of_load(run.record, telemetry.sessions)
    gathered: dict[str, Evidence] = {}
    for node in results.database_nodes(run.record.nodes):
        parts = list(_of_window(run, node, telemetry.growth, cpus))
        parts.append(load)
        parts.append(_of_server(node, telemetry.growth))
        parts.append(telemetry.of_seconds.get(node.name, Evidence()))
        gathered[node.name] = evidence.merged(parts)
    return _with_shared(run.record.profile.tier, gathered)


def _with_shared(tier: Tier, gathered: Mapping[str, Evidence]) -> dict[str, Evidence]:
    """Each node's, and of each what all nodes share."""
    shared = _of_shared(tier, list(gathered.values()))
    merged: dict[str, Evidence] = {}
    for name, values in gathered.items():
        merged[name] = evidence.merged([values, shared])
    return merged


def _of_window(
    run: results.RunData, node: Node, growth: window_growth.Growth, cpus: float | None
) -> Iterator[Evidence]:
    """Its disk, its CPU, its network and its machine."""
    nodes = run.record.nodes
    disk = rates.disk_rates(growth, node.name)
    yield _of_disk(node, disk, growth)
    if disk.iops is not None:
        yield Evidence(idle_disk_latency_s=_idle_latency_of(run.record, node, disk))
    yield machine_cpu.cpu_of_node(node, growth, machine_cpu.cores(nodes, node, cpus))
    yield _of_container(node, growth)
    yield run.telemetry.against_caps.get(node.name, Evidence())
    of_seconds = run.telemetry.of_seconds
    yield machine_cpu.Machines(nodes, growth, cpus, of_seconds).around(node)


def _of_disk(
    node: Node, disk: rates.DiskRates, growth: window_growth.Growth
) -> Evidence:
    """The whole disk, even if several nodes are on it."""
    busy_s = growth.per_s(node.name, counter_names.BUSY_SECONDS)
    return Evidence(
        disk_iops=disk.iops,
        disk_read_iops=disk.read_iops,
        disk_bytes_per_s=disk.bytes_per_s,
        disk_read_bytes_per_s=disk.read_bytes_per_s,
        disk_await_s=disk.await_s,
        disk_read_await_s=disk.read_await_s,
        io_size_bytes=disk.io_size_bytes,
        disk_queue_depth=disk.queue_depth,
        disk_busy_pct=rates.share_pct(busy_s, 1),
    )


def _idle_latency_of(record: Record, node: Node, disk: rates.DiskRates) -> float | None:
    reads = disk.read_iops or 0.0
    writes = disk.write_iops or 0.0
    tier = record.profile.tier
    # A tier that declares no latency at all has 0, which is none.
    return idle_latency_s(tier, record.gate, reads, writes, node.name) or None


def _of_container(node: Node, growth: window_growth.Growth) -> Evidence:
    container = rates.container_rates(growth, node.name)
    return Evidence(
        throttled_pct=container.throttled_pct,
        network_sent_bytes_per_s=container.sent_bytes_per_s,
        network_received_bytes_per_s=container.received_bytes_per_s,
        network_packets_per_s=container.packets_per_s,
        sent_again_pct=container.sent_again_pct,
    )


def _of_server(node: Node, growth: window_growth.Growth) -> Evidence:
    server = rates.server_rates(growth, node.name)
    return Evidence(
        request_queued_avg_s=server.request_queued_avg_s,
        statement_avg_s=server.statement_avg_s,
        requests_refused_per_s=server.requests_refused_per_s,
        write_rejections_per_s=server.write_rejections_per_s,
    )


def _of_shared(tier: Tier, of_nodes: Sequence[Evidence]) -> Evidence:
    """What all disks did together, of the limits that they share: means, as no second is needed
    where nothing may be above them."""
    shared = tier.shared or Limits()
    iops = evidence.sum_if_all([values.disk_iops for values in of_nodes])
    bytes_per_s = evidence.sum_if_all([values.disk_bytes_per_s for values in of_nodes])
    bandwidth_pct = rates.share_pct(bytes_per_s, shared.bytes_per_s)
    return Evidence(
        shared_iops_of_cap_pct=rates.share_pct(iops, shared.iops),
        shared_bandwidth_of_cap_pct=bandwidth_pct,
    )


def _stated(record: Record) -> dict[str, Evidence]:
    """What the figures of a record say of its nodes' resources, where nothing was sampled. CPU of
    all nodes is their mean and stands for each; what their disks did together does not."""
    by_scope = _stated_figures(record)
    cpu = Evidence(cpu_pct=by_scope.pop(ALL, {}).get("cpu_pct"))
    if cpu.cpu_pct is not None:
        by_scope = {_EACH_NODE: {}, **by_scope}
    load = load_and_sessions.of_load(record, {})
    stated: dict[str, Evidence] = {}
    for node, figures in by_scope.items():
        of_node = _of_figures(record.profile.tier, figures)
        stated[node] = evidence.merged([cpu, *of_node, load])
    return stated


def _of_figures(tier: Tier, figures: Mapping[str, float]) -> Sequence[Evidence]:
    values = Evidence(**figures)
    return [values, _mean_of_caps(tier, values)]


def _stated_figures(record: Record) -> dict[str, dict[str, float]]:
    """Scope → metric → figure, of those that say something of a node."""
    by_scope: dict[str, dict[str, float]] = {}
    for figure in record.measurements:
        if figure.metric in evidence.NAMES and math.isfinite(figure.value):
            by_scope.setdefault(figure.scope, {})[figure.metric] = figure.value
    return by_scope


def _mean_of_caps(tier: Tier, values: Evidence) -> Evidence:
    """Means in the place of medians of seconds, which nobody can know of them."""
    limits = tier.limits
    iops_pct = rates.share_pct(values.disk_iops, limits.iops)
    bandwidth_pct = rates.share_pct(values.disk_bytes_per_s, limits.bytes_per_s)
    return Evidence(iops_of_cap_pct=iops_pct, bandwidth_of_cap_pct=bandwidth_pct)
