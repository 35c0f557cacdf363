"""Collectors: one file each, and one line here."""

from orchestrator import parts, powers
from orchestrator.collectors import cgroup, disk, dry, machine, network, node_exporter, yugabytedb
from orchestrator.collectors.common import local


def collectors(platform: powers.Platform) -> tuple[parts.Collector, ...]:
    where = local.on(platform)
    return (
        cgroup.CgroupCollector(where),
        disk.DiskCollector(where),
        machine.MachineCollector(where),
        network.NetworkCollector(where),
        node_exporter.NodeExporterCollector(),
        yugabytedb.YugabyteDBCollector(),
        dry.DryCollector(),
    )
