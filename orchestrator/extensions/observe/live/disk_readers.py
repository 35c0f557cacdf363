"""The collectors that read disks alone, for observations of machines that run no campaign."""

from collections.abc import Sequence

from orchestrator.collectors.common import node_by_node
from orchestrator.collectors.disk import DiskCollector
from orchestrator.collectors.ebs import EbsCollector
from orchestrator.collectors.node_exporter import NodeExporterCollector
from orchestrator.model import Node
from orchestrator.parts import Collector
from orchestrator.powers import Machine


def of_disks(
    machines: Sequence[Machine], exporter_path: str, get: node_by_node.Get
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
