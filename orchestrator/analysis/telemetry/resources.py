"""Use of each resource while a run was measured: values, no judgement. Pure.

Rates are from the first to the last sample of the window."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from orchestrator.analysis import results
from orchestrator.analysis.telemetry import (
    counters,
    loads,
    machines,
    node_values,
    rates,
)
from orchestrator.analysis.telemetry.node_values import Evidence
from orchestrator.facts import GateQuantity
from orchestrator.metrics import METRICS, measured
from orchestrator.model import Measurement, Node, Record
from orchestrator.tier import Gate, Limits, Tier, Way

# The scope of figures that are of all nodes together.
_ALL = "all"
# Stands for the nodes of a record that states the mean of their CPU and nothing of each.
_EACH_NODE = "each node"


def gather(run: results.RunData, cpus: float | None) -> dict[str, Evidence]:
    """Database node → what was seen of it and its machine; without samples as the record states it,
    if it does. `cpus`: of the machine, for nodes that do not say theirs."""
    telemetry = run.telemetry
    if telemetry.growth is None:
        return _stated(run.record)
    load = loads.of_load(run.record, telemetry.sessions)
    gathered: dict[str, Evidence] = {}
    for node in _database(run.record.nodes):
        parts = list(_of_window(run, node, telemetry.growth, cpus))
        parts.append(load)
        parts.append(_of_server(node, telemetry.growth))
        parts.append(telemetry.of_seconds.get(node.name, Evidence()))
        gathered[node.name] = node_values.merged(parts)
    return _with_shared(run.record.profile.tier, gathered)


def _with_shared(tier: Tier, gathered: Mapping[str, Evidence]) -> dict[str, Evidence]:
    """Each node's, and of each what all nodes share."""
    shared = _of_shared(tier, list(gathered.values()))
    merged: dict[str, Evidence] = {}
    for name, values in gathered.items():
        merged[name] = node_values.merged([values, shared])
    return merged


def _database(nodes: Sequence[Node]) -> list[Node]:
    return [node for node in nodes if node.role == "database"]


def _of_window(
    run: results.RunData, node: Node, growth: counters.Growth, cpus: float | None
) -> Iterator[Evidence]:
    """Its disk, its CPU, its network and its machine."""
    nodes = run.record.nodes
    disk = rates.disk_rates(growth, node.name)
    yield _of_disk(node, disk, growth)
    if disk.iops is not None:
        yield Evidence(idle_disk_latency_s=_idle_latency_of(run.record, node, disk))
    yield _of_cpu(node, growth, machines.cores(nodes, node, cpus))
    yield _of_container(node, growth)
    yield run.telemetry.against_caps.get(node.name, Evidence())
    of_seconds = run.telemetry.of_seconds
    yield machines.Machines(nodes, growth, cpus, of_seconds).around(node)


def _of_disk(node: Node, disk: rates.DiskRates, growth: counters.Growth) -> Evidence:
    """The whole disk, even if several nodes are on it."""
    busy_s = growth.per_s(node.name, counters.BUSY_SECONDS)
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


def _of_cpu(
    node: Node, growth: counters.Growth, machine_cores: float | None
) -> Evidence:
    used = growth.per_s(node.name, counters.CPU_SECONDS)
    limit = node.cpus or machine_cores
    if used is None or not limit:
        return Evidence()
    return Evidence(cpu_pct=100 * used / limit, node_cores=used)


def _of_container(node: Node, growth: counters.Growth) -> Evidence:
    container = rates.container_rates(growth, node.name)
    return Evidence(
        throttled_pct=container.throttled_pct,
        network_sent_bytes_per_s=container.sent_bytes_per_s,
        network_received_bytes_per_s=container.received_bytes_per_s,
        network_packets_per_s=container.packets_per_s,
        sent_again_pct=container.sent_again_pct,
    )


def _of_server(node: Node, growth: counters.Growth) -> Evidence:
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
    iops = _sum([values.disk_iops for values in of_nodes])
    bytes_per_s = _sum([values.disk_bytes_per_s for values in of_nodes])
    bandwidth_pct = rates.share_pct(bytes_per_s, shared.bytes_per_s)
    return Evidence(
        shared_iops_of_cap_pct=rates.share_pct(iops, shared.iops),
        shared_bandwidth_of_cap_pct=bandwidth_pct,
    )


def _sum(values: Sequence[float | None]) -> float | None:
    """None unless there are some, and all of them are known."""
    sampled = [value for value in values if value is not None]
    if not sampled or len(sampled) < len(values):
        return None
    return sum(sampled)


def _stated(record: Record) -> dict[str, Evidence]:
    """What the figures of a record say of its nodes' resources, where nothing was sampled. CPU of
    all nodes is their mean and stands for each; what their disks did together does not."""
    by_scope = _stated_figures(record)
    cpu = Evidence(cpu_pct=by_scope.pop(_ALL, {}).get("cpu_pct"))
    if cpu.cpu_pct is not None:
        by_scope = {_EACH_NODE: {}, **by_scope}
    load = loads.of_load(record, {})
    stated: dict[str, Evidence] = {}
    for node, figures in by_scope.items():
        of_node = _of_figures(record.profile.tier, figures)
        stated[node] = node_values.merged([cpu, *of_node, load])
    return stated


def _of_figures(tier: Tier, figures: Mapping[str, float]) -> Sequence[Evidence]:
    values = Evidence(**figures)
    return [values, _mean_of_caps(tier, values)]


def _stated_figures(record: Record) -> dict[str, dict[str, float]]:
    """Scope → metric → figure, of those that say something of a node."""
    by_scope: dict[str, dict[str, float]] = {}
    for figure in record.measurements:
        if figure.metric in node_values.NAMES and math.isfinite(figure.value):
            by_scope.setdefault(figure.scope, {})[figure.metric] = figure.value
    return by_scope


def _mean_of_caps(tier: Tier, values: Evidence) -> Evidence:
    """Means in the place of medians of seconds, which nobody can know of them."""
    limits = tier.limits
    iops_pct = rates.share_pct(values.disk_iops, limits.iops)
    bandwidth_pct = rates.share_pct(values.disk_bytes_per_s, limits.bytes_per_s)
    return Evidence(iops_of_cap_pct=iops_pct, bandwidth_of_cap_pct=bandwidth_pct)


# ------------------------------------------------------------------ as metrics

_Figures = Mapping[str, float | None]  # metric → its value, None if it was not sampled


def telemetry(
    nodes: Sequence[Node], growth: counters.Growth, cpus: float | None = None
) -> tuple[Measurement, ...]:
    """The telemetry metrics over a window. What was not sampled is absent, never 0.

    Scope is a database node's name, or "all": the sum over their disks of IOPS, bandwidth and queue
    depth, the mean of their CPU, and the wait of all I/Os over the number of all I/Os. `cpus`:
    cores of the machine, for nodes that do not say theirs."""
    database = _database(nodes)
    busiest = machines.Machines(nodes, growth, cpus).busiest()
    of_machine = {
        "host_cpu_pct": busiest.host_cpu_pct,
        "client_cpu_pct": busiest.client_cpu_pct,
    }
    disks = _disk_figures(_disks_together(database, growth))
    figures = list(_of_each(nodes, growth, cpus))
    figures.extend(_measured({"cpu_pct": _mean_cpu_pct(nodes, growth, cpus)}))
    figures.extend(_measured(disks))
    figures.extend(_wal_disks(database, growth))
    figures.extend(_servers(database, growth))
    figures.extend(_measured(of_machine))
    return tuple(figures)


def _measured(figures: _Figures, scope: str = _ALL) -> Iterator[Measurement]:
    for name, value in figures.items():
        if value is not None:
            yield measured(name, value, scope)


def _of_each(
    nodes: Sequence[Node], growth: counters.Growth, cpus: float | None
) -> Iterator[Measurement]:
    """CPU and disk of each database node, metric by metric."""
    of_nodes: dict[str, _Figures] = {}
    for node in _database(nodes):
        cpu = _of_cpu(node, growth, machines.cores(nodes, node, cpus))
        disk = _disk_figures(rates.disk_rates(growth, node.name))
        of_nodes[node.name] = {"cpu_pct": cpu.cpu_pct, **disk}
    for metric in METRICS:
        for name, figures in of_nodes.items():
            yield from _measured({metric: figures.get(metric)}, name)


def _disk_figures(disk: rates.DiskRates | None) -> _Figures:
    if disk is None:
        return {}
    return {
        "disk_read_iops": disk.read_iops,
        "disk_write_iops": disk.write_iops,
        "disk_iops": disk.iops,
        "disk_read_bytes_per_s": disk.read_bytes_per_s,
        "disk_write_bytes_per_s": disk.write_bytes_per_s,
        "disk_bytes_per_s": disk.bytes_per_s,
        "disk_queue_depth": disk.queue_depth,
        "disk_await_s": disk.await_s,
    }


def _mean_cpu_pct(
    nodes: Sequence[Node], growth: counters.Growth, cpus: float | None
) -> float | None:
    """Of all database nodes; None unless each was sampled."""
    values = []
    for node in _database(nodes):
        cpu = _of_cpu(node, growth, machines.cores(nodes, node, cpus))
        values.append(cpu.cpu_pct)
    return rates.quotient(_sum(values), len(values))


def _disks_together(
    database: Sequence[Node], growth: counters.Growth
) -> rates.DiskRates | None:
    """Over all nodes, if each has the rate: of its whole disk, which a sum counts once."""
    if not database:
        return None
    of_nodes = {node.name: rates.disk_rates(growth, node.name) for node in database}
    firsts = [on_it[0].name for on_it in results.by_disk(database).values()]
    disks = [of_nodes[name] for name in firsts]
    return rates.summed(disks, if_all_of=list(of_nodes.values()))


def _wal_disks(
    database: Sequence[Node], growth: counters.Growth
) -> Iterator[Measurement]:
    """I/O of the disks that hold only WAL: of each node's, and of all together, each disk once.

    They are in no sum of the data disks, because the tier's limits are those of the data disks; one
    that is also the data disk of some node is not in theirs."""
    with_one = [node for node in database if node.wal_device]
    of_nodes: dict[str, rates.WalDiskRates] = {}
    for node in with_one:
        of_nodes[node.name] = rates.wal_disk_rates(growth, node.name)
        yield from _measured(_wal_figures(of_nodes[node.name]), node.name)
    if not all(disk.was_sampled for disk in of_nodes.values()):
        return
    disks = [of_nodes[name] for name in _users_of_wal_disks(database)]
    if disks:
        together = rates.summed(disks, if_all_of=disks)
        yield from _measured(_wal_figures(together))


def _users_of_wal_disks(database: Sequence[Node]) -> list[str]:
    """Of each disk that holds only WAL the first node on it."""
    data = {(results.place(node), node.device) for node in database}
    first_on: dict[tuple[str, str], str] = {}
    for node in reversed(database):
        if node.wal_device:
            first_on[results.place(node), node.wal_device] = node.name
    return [name for disk, name in first_on.items() if disk not in data]


def _wal_figures(disk: rates.WalDiskRates) -> _Figures:
    return {
        "wal_disk_iops": disk.iops,
        "wal_disk_bytes_per_s": disk.bytes_per_s,
        "wal_disk_await_s": disk.await_s,
    }


def _servers(
    database: Sequence[Node], growth: counters.Growth
) -> Iterator[Measurement]:
    """Of YugabyteDB's storage on each node, and on all together."""
    servers = []
    for node in database:
        server = rates.server_rates(growth, node.name)
        servers.append(server)
        yield from _measured(_server_figures(server, nodes=1), node.name)
    if servers:
        together = rates.summed(servers, if_all_of=servers)
        yield from _measured(_server_figures(together, nodes=len(servers)))


def _server_figures(server: rates.ServerRates, nodes: int) -> _Figures:
    return {
        "wal_syncs_per_s": server.wal_syncs_per_s,
        "wal_bytes_per_s": server.wal_bytes_per_s,
        "flush_bytes_per_s": server.flush_bytes_per_s,
        "compaction_read_bytes_per_s": server.compaction_read_bytes_per_s,
        "compaction_write_bytes_per_s": server.compaction_write_bytes_per_s,
        "transaction_conflicts_per_s": server.transaction_conflicts_per_s,
        "write_rejections_per_s": server.write_rejections_per_s,
        "requests_refused_per_s": server.requests_refused_per_s,
        "wal_sync_avg_s": server.wal_sync_avg_s,
        "wal_append_avg_s": server.wal_append_avg_s,
        "block_cache_hit_pct": server.block_cache_hit_pct,
        "write_stall_pct": server.write_stall_pct(nodes),
        "request_queued_avg_s": server.request_queued_avg_s,
    }


def telemetry_of(
    run: results.RunData, cpus: float | None = None
) -> tuple[Measurement, ...]:
    """`telemetry` over the run's measured window."""
    if run.telemetry.growth:
        return telemetry(run.record.nodes, run.telemetry.growth, cpus)
    return ()


# ------------------------------------------------------------------ all nodes together


@dataclass(frozen=True)
class Totals:
    """All database nodes together, and the busiest machine; None: it was not sampled."""

    cpu_pct: float | None = None
    disk_iops: float | None = None
    disk_read_iops: float | None = None
    disk_write_iops: float | None = None
    host_cpu_pct: float | None = None
    other_cpu_pct: float | None = None
    client_cpu_pct: float | None = None


def total(run: results.RunData, cpus: float | None) -> Totals:
    """Over the window; without samples as the record itself states them."""
    nodes = run.record.nodes
    growth = run.telemetry.growth
    if growth is None:
        return _stated_total(run.record)
    disk = _disks_together(_database(nodes), growth)
    busiest = machines.Machines(nodes, growth, cpus).busiest()
    use = Totals(
        cpu_pct=_mean_cpu_pct(nodes, growth, cpus),
        host_cpu_pct=busiest.host_cpu_pct,
        other_cpu_pct=busiest.other_cpu_pct,
        client_cpu_pct=busiest.client_cpu_pct,
    )
    if disk is None:
        return use
    return replace(
        use,
        disk_iops=disk.iops,
        disk_read_iops=disk.read_iops,
        disk_write_iops=disk.write_iops,
    )


def _stated_total(record: Record) -> Totals:
    stated: dict[str, float] = {}
    for figure in record.measurements:
        if figure.scope == _ALL:
            stated[figure.metric] = figure.value
    return Totals(
        cpu_pct=stated.get("cpu_pct"),
        disk_iops=stated.get("disk_iops"),
        disk_read_iops=stated.get("disk_read_iops"),
        host_cpu_pct=stated.get("host_cpu_pct"),
        client_cpu_pct=stated.get("client_cpu_pct"),
    )


# ------------------------------------------------------------------ the idle disk


def idle_latency_s(
    tier: Tier, gate: Gate | None, reads: float, writes: float, node: str = ""
) -> float | None:
    """Time of an I/O of this mix on the idle disk: declared, else as the gate measured it, on the
    disk of `node` if each has its own. What is only assumed of a real disk comes last."""
    read_s = _idle_s(tier, "read", _gate_latency_s(gate, "latency_read", node))
    write_s = _idle_s(tier, "write", _gate_latency_s(gate, "latency_write", node))
    if reads + writes <= 0:
        return None
    if reads > 0 and read_s is None:
        return None
    if writes > 0 and write_s is None:
        return None
    took_s = reads * (read_s or 0.0) + writes * (write_s or 0.0)
    return took_s / (reads + writes)


def _idle_s(tier: Tier, way: Way, measured_s: float | None) -> float | None:
    declared_s = tier.latency.seconds(way)
    is_assumed = tier.disk.is_real and way in tier.latency.assumed
    if declared_s and not is_assumed:
        return declared_s
    return measured_s or declared_s


def _gate_latency_s(
    gate: Gate | None, quantity: GateQuantity, node: str
) -> float | None:
    """As the gate measured it on the disk of `node`, else on the first one."""
    if gate is None:
        return None
    checks = []
    for check in gate.checks:
        if check.quantity == quantity and check.measured > 0:
            checks.append(check)
    of_node = [check for check in checks if node in check.nodes]
    for check in of_node or checks:
        return check.measured
    return None
