"""Collectors: one file each, and one line here; behind them those of extensions."""

from collections.abc import Iterator

from orchestrator.collectors.cgroup import CgroupCollector
from orchestrator.collectors.common import node_by_node
from orchestrator.collectors.disk import DiskCollector
from orchestrator.collectors.disk_account import DiskAccountCollector
from orchestrator.collectors.dry import DryCollector
from orchestrator.collectors.ebs import EbsCollector
from orchestrator.collectors.machine import MachineCollector
from orchestrator.collectors.network import NetworkCollector
from orchestrator.collectors.node_exporter import NodeExporterCollector
from orchestrator.parts import Collector
from orchestrator.powers import Platform
from orchestrator.registry.installed import family
from orchestrator.registry.references import ObjectPlace


def collectors(platform: Platform) -> tuple[Collector, ...]:
    # All are imported, not named as other members are: every campaign reads with all of them.
    where = node_by_node.on(platform)
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


def _extension_collectors(where: node_by_node.Where) -> Iterator[Collector]:
    for owned in family("collectors", dict[str, str]()).values():
        make = ObjectPlace(owned.entry, owned.origin).imported()
        yield make(where)
