"""Collectors: one file each, and one line here."""

from orchestrator.collectors.cgroup import CgroupCollector
from orchestrator.collectors.disk import DiskCollector
from orchestrator.collectors.dry import DryCollector
from orchestrator.collectors.machine import MachineCollector
from orchestrator.collectors.network import NetworkCollector
from orchestrator.collectors.node_exporter import NodeExporterCollector
from orchestrator.collectors.yugabytedb import YugabyteDBCollector
from orchestrator.parts import Collector
from orchestrator.powers import Machine


def collectors(machine: Machine) -> tuple[Collector, ...]:
    return (
        CgroupCollector(machine),
        DiskCollector(machine),
        MachineCollector(machine),
        NetworkCollector(machine),
        NodeExporterCollector(),
        YugabyteDBCollector(),
        DryCollector(),
    )
