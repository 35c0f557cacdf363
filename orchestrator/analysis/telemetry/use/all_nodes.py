"""Use of resources by all database nodes together, over a window. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from orchestrator.analysis import disks_of_nodes, results
from orchestrator.analysis.telemetry.counters import rates, window_growth
from orchestrator.analysis.telemetry.use import machine_cpu, node_values
from orchestrator.design.nodes_by_role import nodes_of_role
from orchestrator.model import Node, Record

ALL = "all"  # the scope of figures that are of all nodes together


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
    # Published figures have no samples, and state some of these themselves.
    if growth is None:
        return _stated_total(run.record)
    disk = disks_together(nodes_of_role(nodes, "database"), growth)
    busiest = machine_cpu.Machines(nodes, growth, cpus).busiest()
    use = Totals(
        cpu_pct=mean_cpu_pct(nodes, growth, cpus),
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
        if figure.scope == ALL:
            stated[figure.metric] = figure.value
    return Totals(
        cpu_pct=stated.get("cpu_pct"),
        disk_iops=stated.get("disk_iops"),
        disk_read_iops=stated.get("disk_read_iops"),
        host_cpu_pct=stated.get("host_cpu_pct"),
        client_cpu_pct=stated.get("client_cpu_pct"),
    )


def mean_cpu_pct(
    nodes: Sequence[Node], growth: window_growth.Growth, cpus: float | None
) -> float | None:
    """The mean CPU use of all database nodes; None unless each was sampled."""
    values: list[float | None] = []
    for node in nodes_of_role(nodes, "database"):
        cores = machine_cpu.cores(nodes, node, cpus)
        cpu = machine_cpu.cpu_of_node(node, growth, cores)
        values.append(cpu.cpu_pct)
    return rates.quotient(node_values.sum_if_all(values), len(values))


def disks_together(
    database: Sequence[Node], growth: window_growth.Growth
) -> rates.DiskRates | None:
    """Over all nodes, if each has the rate: of its whole disk, which a sum counts once."""
    if not database:
        return None
    by_node: dict[str, rates.DiskRates] = {}
    for node in database:
        by_node[node.name] = rates.disk_rates(growth, node.name)
    # Each of several nodes that share a disk counts all of it: the first stands for the others.
    firsts = [on_it[0].name for on_it in disks_of_nodes.by_disk(database).values()]
    disks = [by_node[name] for name in firsts]
    return rates.summed(disks, if_all_of=list(by_node.values()))
