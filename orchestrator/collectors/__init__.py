"""Collectors: one file each, and one line here."""

from orchestrator.collectors.cgroup import CgroupCollector
from orchestrator.collectors.common import local
from orchestrator.collectors.disk import DiskCollector
from orchestrator.collectors.dry import DryCollector
from orchestrator.collectors.machine import MachineCollector
from orchestrator.collectors.network import NetworkCollector
from orchestrator.collectors.node_exporter import NodeExporterCollector
from orchestrator.collectors.yugabytedb import YugabyteDBCollector
from orchestrator.parts import Collector
from orchestrator.powers import Platform


def collectors(platform: Platform) -> tuple[Collector, ...]:
    where = local.on(platform)
    return (
        CgroupCollector(where),
        DiskCollector(where),
        MachineCollector(where),
        NetworkCollector(where),
        NodeExporterCollector(),
        YugabyteDBCollector(),
        DryCollector(),
    )
