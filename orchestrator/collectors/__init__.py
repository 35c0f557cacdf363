"""Collectors: one file each, and one line here. Each reads a few small files."""

from pathlib import Path

from orchestrator.collectors.cgroup import CgroupCollector
from orchestrator.collectors.disk import DiskCollector
from orchestrator.collectors.machine import MachineCollector
from orchestrator.collectors.network import NetworkCollector
from orchestrator.collectors.node_exporter import NodeExporterCollector
from orchestrator.collectors.yugabytedb import YugabyteDBCollector
from orchestrator.protocols import Collector


def collectors(root: Path = Path("/")) -> tuple[Collector, ...]:
    return (
        CgroupCollector(root),
        DiskCollector(root),
        MachineCollector(root),
        NetworkCollector(root),
        NodeExporterCollector(),
        YugabyteDBCollector(),
    )
