"""Collectors: one file each, and one line here; behind them those of extensions."""

from collections.abc import Iterator, Sequence

from orchestrator.collectors.cgroup import CgroupCollector
from orchestrator.collectors.common import local
from orchestrator.collectors.disk import DiskCollector
from orchestrator.collectors.disk_account import DiskAccountCollector
from orchestrator.collectors.dry import DryCollector
from orchestrator.collectors.ebs import EbsCollector
from orchestrator.collectors.machine import MachineCollector
from orchestrator.collectors.network import NetworkCollector
from orchestrator.collectors.node_exporter import NodeExporterCollector
from orchestrator.model import Node
from orchestrator.parts import Collector
from orchestrator.powers import Machine, Platform
from orchestrator.registry.installed import family
from orchestrator.registry.references import ObjectPlace


def of_disks(
    machines: Sequence[Machine], exporter_path: str, get: local.Get
) -> tuple[Collector, ...]:
    """The collectors that read nothing but disks: of a node_exporter page, and of `machines`
    without one, with what EBS volumes count of their limits."""
    by_name = {machine.name: machine for machine in machines}

    def machine_of(node: Node) -> Machine:
        return by_name[node.machine]

    return (
        NodeExporterCollector(get, exporter_path),
        DiskCollector(machine_of),
        EbsCollector(machine_of),
    )


def collectors(platform: Platform) -> tuple[Collector, ...]:
    where = local.on(platform)
    return (
        CgroupCollector(where),
        DiskCollector(where),
        DiskAccountCollector(where),
        EbsCollector(where),
        MachineCollector(where),
        NetworkCollector(where),
        NodeExporterCollector(),
        DryCollector(),
        *_extension_collectors(where),
    )


def _extension_collectors(where: local.Where) -> Iterator[Collector]:
    for owned in family("collectors", dict[str, str]()).values():
        make = ObjectPlace(owned.entry, owned.origin).imported()
        yield make(where)
