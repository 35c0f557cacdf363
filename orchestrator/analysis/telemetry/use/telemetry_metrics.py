"""Use of resources over a window as metrics, of each node and of all together. Pure."""

from collections.abc import Iterator, Mapping, Sequence

from orchestrator.analysis import disks_of_nodes, results
from orchestrator.analysis.telemetry.counters import rates, window_growth
from orchestrator.analysis.telemetry.use import machine_cpu
from orchestrator.analysis.telemetry.use.all_nodes import (
    ALL,
    disks_together,
    mean_cpu_pct,
)
from orchestrator.design.nodes_by_role import nodes_of_role
from orchestrator.metrics import METRICS, measured
from orchestrator.model import Measurement, Node

_Figures = Mapping[str, float | None]  # metric → its value, None if it was not sampled


def telemetry(
    nodes: Sequence[Node], growth: window_growth.Growth, cpus: float | None = None
) -> tuple[Measurement, ...]:
    """The telemetry metrics over a window. What was not sampled is absent, never 0.

    Scope is a database node's name, or "all": the sum over their disks of IOPS, bandwidth and queue
    depth, the mean of their CPU, and the wait of all I/Os over the number of all I/Os. `cpus`:
    cores of the machine, for nodes that do not say theirs."""
    database = nodes_of_role(nodes, "database")
    busiest = machine_cpu.Machines(nodes, growth, cpus).busiest()
    machine_values = {
        "host_cpu_pct": busiest.host_cpu_pct,
        "client_cpu_pct": busiest.client_cpu_pct,
    }
    disks = _disk_figures(disks_together(database, growth))
    figures = list(_node_figures(nodes, growth, cpus))
    figures.extend(_measured({"cpu_pct": mean_cpu_pct(nodes, growth, cpus)}))
    figures.extend(_measured(disks))
    figures.extend(_wal_disks(database, growth))
    figures.extend(_servers(database, growth))
    figures.extend(_measured(machine_values))
    return tuple(figures)


def telemetry_of(
    run: results.RunData, cpus: float | None = None
) -> tuple[Measurement, ...]:
    """`telemetry` over the run's measured window."""
    if run.telemetry.growth:
        return telemetry(run.record.nodes, run.telemetry.growth, cpus)
    return ()


def _measured(figures: _Figures, scope: str = ALL) -> Iterator[Measurement]:
    for name, value in figures.items():
        if value is not None:
            yield measured(name, value, scope)


def _node_figures(
    nodes: Sequence[Node], growth: window_growth.Growth, cpus: float | None
) -> Iterator[Measurement]:
    """CPU and disk of each database node, metric by metric."""
    by_node: dict[str, _Figures] = {}
    for node in nodes_of_role(nodes, "database"):
        cores = machine_cpu.cores(nodes, node, cpus)
        by_node[node.name] = _cpu_and_disk_figures(node, growth, cores)
    for metric in METRICS:
        for name, figures in by_node.items():
            yield from _measured({metric: figures.get(metric)}, name)


def _cpu_and_disk_figures(
    node: Node, growth: window_growth.Growth, machine_cores: float | None
) -> _Figures:
    cpu = machine_cpu.cpu_of_node(node, growth, machine_cores)
    disk = rates.disk_rates(growth, node.name)
    return {"cpu_pct": cpu.cpu_pct, **_disk_figures(disk)}


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


def _wal_disks(
    database: Sequence[Node], growth: window_growth.Growth
) -> Iterator[Measurement]:
    """I/O of the disks that hold only WAL: of each node's, and of all together, each disk once.

    They are in no sum of the data disks, because the tier's limits are those of the data disks."""
    by_node: dict[str, rates.WalDiskRates] = {}
    for node in database:
        if node.wal_device:
            disk = rates.wal_disk_rates(growth, node.name)
            by_node[node.name] = disk
            yield from _measured(_wal_figures(disk), node.name)
    disks = [by_node[name] for name in _users_of_wal_disks(database)]
    if disks:
        together = rates.summed(disks, if_all_of=disks)
        yield from _measured(_wal_figures(together))


def _users_of_wal_disks(database: Sequence[Node]) -> list[str]:
    """For each disk that holds only WAL, the first node on it."""
    # A disk that is also the data disk of some node is in the sums of those already.
    data_disks = {(disks_of_nodes.place(node), node.device) for node in database}
    first_on: dict[tuple[str, str], str] = {}
    # Backwards, so that the first node on a disk stays.
    for node in reversed(database):
        if node.wal_device:
            first_on[disks_of_nodes.place(node), node.wal_device] = node.name
    return [name for disk, name in first_on.items() if disk not in data_disks]


def _wal_figures(disk: rates.WalDiskRates) -> _Figures:
    return {
        "wal_disk_iops": disk.iops,
        "wal_disk_bytes_per_s": disk.bytes_per_s,
        "wal_disk_await_s": disk.await_s,
    }


def _servers(
    database: Sequence[Node], growth: window_growth.Growth
) -> Iterator[Measurement]:
    """Figures of YugabyteDB's storage, on each node and on all together."""
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
        "drive_syncs_per_s": server.drive_syncs_per_s,
        "drive_sync_avg_s": server.drive_sync_avg_s,
        "drive_written_bytes_per_s": server.drive_written_bytes_per_s,
        "wal_sync_avg_s": server.wal_sync_avg_s,
        "wal_append_avg_s": server.wal_append_avg_s,
        "block_cache_hit_pct": server.block_cache_hit_pct,
        "write_stall_pct": server.write_stall_pct(nodes),
        "request_queued_avg_s": server.request_queued_avg_s,
    }
