"""What was seen of each database node while a run was measured: the one maker of `Evidence`. Pure.

Each module of this room knows a part, and gives it as a record of its own. Here the parts come
together, value by value. Nothing is judged. Rates are from the first to the last sample of the
window."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from orchestrator.analysis import disks_of_nodes, results
from orchestrator.analysis.telemetry.counters import counter_names, rates, window_growth
from orchestrator.analysis.telemetry.use import (
    load_and_sessions,
    machine_cpu,
    node_values,
)
from orchestrator.analysis.telemetry.use.all_nodes import ALL
from orchestrator.analysis.telemetry.use.idle_disk import idle_latency_s
from orchestrator.analysis.telemetry.use.machine_cpu import CpuUse, SurroundingUse
from orchestrator.analysis.telemetry.use.node_values import (
    CapUse,
    ClientUse,
    DiskUse,
    Evidence,
    HostUse,
    LoadUse,
    NodeCpuUse,
    ProviderReport,
    RequestUse,
    SharedUse,
    TrafficCount,
    VolumeCount,
)
from orchestrator.analysis.telemetry.use.run_telemetry import NodeSeconds
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
    by_node: dict[str, _NodeUse] = {}
    for node in disks_of_nodes.database_nodes(run.record.nodes):
        by_node[node.name] = _use_of(run, node, growth, cpus)
    load = load_and_sessions.of_load(run.record, run.telemetry.sessions)
    shared = _use_of_shared(run.record.profile.tier, by_node.values())
    return {name: use.evidence(load, shared) for name, use in by_node.items()}


# ------------------------------------------------------------------ the parts


@dataclass(frozen=True)
class _NodeUse:
    """A node's parts. `disk`: the whole disk, even if several nodes are on it."""

    disk: rates.DiskRates
    exceeded: rates.LimitShares
    reached: rates.ReachedShares
    disk_busy_pct: float | None
    idle_disk_latency_s: float | None
    caps: CapUse
    cpu: CpuUse
    container: rates.ContainerRates
    server: rates.ServerRates
    seconds: NodeSeconds
    around: SurroundingUse

    def evidence(self, load: LoadUse, shared: SharedUse) -> Evidence:
        """`load`: of all nodes; `shared`: of all disks."""
        return Evidence(
            caps=self.caps,
            disk=self._disk_use(),
            volume=self._volume_count(),
            report=self._provider_report(),
            cpu=NodeCpuUse(
                cpu_pct=self.cpu.cpu_pct,
                time_at_cpu_pct=self.seconds.time_at_cpu_pct,
                throttled_pct=self.container.throttled_pct,
                node_cores=self.cpu.node_cores,
            ),
            link=self.seconds.link,
            traffic=self._traffic(),
            host=self._host_use(),
            client=self._client_use(),
            load=load,
            requests=self._requests(),
            shared=shared,
        )

    def _disk_use(self) -> DiskUse:
        disk = self.disk
        return DiskUse(
            disk_iops=disk.iops,
            disk_read_iops=disk.read_iops,
            disk_bytes_per_s=disk.bytes_per_s,
            disk_read_bytes_per_s=disk.read_bytes_per_s,
            disk_await_s=disk.await_s,
            disk_read_await_s=disk.read_await_s,
            io_size_bytes=disk.io_size_bytes,
            idle_disk_latency_s=self.idle_disk_latency_s,
            disk_queue_depth=disk.queue_depth,
            disk_busy_pct=self.disk_busy_pct,
        )

    def _volume_count(self) -> VolumeCount:
        exceeded = self.exceeded
        return VolumeCount(
            volume_iops_exceeded_pct=exceeded.disk_iops_pct,
            volume_bandwidth_exceeded_pct=exceeded.disk_bandwidth_pct,
            instance_iops_exceeded_pct=exceeded.machine_iops_pct,
            instance_bandwidth_exceeded_pct=exceeded.machine_bandwidth_pct,
        )

    def _provider_report(self) -> ProviderReport:
        data = self.reached.data
        log = self.reached.log
        machine = self.reached.machine
        return ProviderReport(
            disk_iops_limit_reached_pct=data.disk_iops_pct,
            disk_bandwidth_limit_reached_pct=data.disk_bandwidth_pct,
            wal_iops_limit_reached_pct=log.disk_iops_pct,
            wal_bandwidth_limit_reached_pct=log.disk_bandwidth_pct,
            machine_iops_limit_reached_pct=machine.machine_iops_pct,
            machine_bandwidth_limit_reached_pct=machine.machine_bandwidth_pct,
        )

    def _traffic(self) -> TrafficCount:
        container = self.container
        return TrafficCount(
            network_sent_bytes_per_s=container.sent_bytes_per_s,
            network_received_bytes_per_s=container.received_bytes_per_s,
            network_packets_per_s=container.packets_per_s,
            sent_again_pct=container.sent_again_pct,
        )

    def _host_use(self) -> HostUse:
        machine = self.around.machine
        return HostUse(
            busiest_core_pct=self.around.busiest_core_pct,
            memory_pressure_pct=machine.memory_pressure_pct,
            disk_server_cpu_pct=machine.disk_server_cpu_pct,
            host_cpu_pct=machine.host_cpu_pct,
            low_priority_pct=machine.low_priority_pct,
            steal_pct=machine.steal_pct,
            other_cpu_pct=machine.other_cpu_pct,
        )

    def _client_use(self) -> ClientUse:
        around = self.around
        return ClientUse(
            client_cpu_pct=around.client_cpu_pct,
            client_cores=around.client_cores,
            client_core_pct=around.client_core_pct,
            client_machine_cpu_pct=around.client_machine_cpu_pct,
        )

    def _requests(self) -> RequestUse:
        server = self.server
        return RequestUse(
            request_queued_avg_s=server.request_queued_avg_s,
            statement_avg_s=server.statement_avg_s,
            requests_refused_per_s=server.requests_refused_per_s,
            write_rejections_per_s=server.write_rejections_per_s,
        )


def _use_of(
    run: results.RunData, node: Node, growth: window_growth.Growth, cpus: float | None
) -> _NodeUse:
    nodes = run.record.nodes
    telemetry = run.telemetry
    disk = rates.disk_rates(growth, node.name)
    busy_s = growth.per_s(node.name, counter_names.BUSY_SECONDS)
    machine_cores = machine_cpu.cores(nodes, node, cpus)
    machines = machine_cpu.Machines(nodes, growth, cpus, telemetry.busiest_cores_pct)
    return _NodeUse(
        disk=disk,
        exceeded=rates.exceeded_shares(growth, node.name),
        reached=rates.reached_shares(growth, node.name),
        disk_busy_pct=rates.share_pct(busy_s, 1),
        idle_disk_latency_s=_idle_latency_of(run.record, node, disk),
        caps=telemetry.against_caps.get(node.name, CapUse()),
        cpu=machine_cpu.cpu_of_node(node, growth, machine_cores),
        container=rates.container_rates(growth, node.name),
        server=rates.server_rates(growth, node.name),
        seconds=telemetry.of_seconds.get(node.name, NodeSeconds()),
        around=machines.around(node),
    )


def _idle_latency_of(record: Record, node: Node, disk: rates.DiskRates) -> float | None:
    if disk.iops is None:
        return None
    reads = disk.read_iops or 0.0
    writes = disk.write_iops or 0.0
    tier = record.profile.tier
    # A tier that declares no latency at all has 0, which is none.
    return idle_latency_s(tier, record.gate, reads, writes, node.name) or None


def _use_of_shared(tier: Tier, uses: Iterable[_NodeUse]) -> SharedUse:
    """What all disks did together, of the limits that they share.

    Means: no second is needed where nothing may be above the limits."""
    limits = tier.shared or Limits()
    disks = [use.disk for use in uses]
    iops = node_values.sum_if_all([disk.iops for disk in disks])
    bytes_per_s = node_values.sum_if_all([disk.bytes_per_s for disk in disks])
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
