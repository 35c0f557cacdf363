"""Collectors: one file each, and one line here."""

from orchestrator.collectors import cgroup, disk, dry, machine, network, node_exporter, yugabytedb
from orchestrator.collectors.common import local
from orchestrator.parts import Collector
from orchestrator.powers import Platform


def collectors(platform: Platform) -> tuple[Collector, ...]:
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
