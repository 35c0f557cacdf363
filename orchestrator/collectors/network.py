"""Bytes over each container's network interfaces, from /proc/<pid>/net/dev (loopback left out)."""

from collections.abc import Iterable

from orchestrator.collectors.common import local
from orchestrator.kernel import containers
from orchestrator.model import Node
from orchestrator.powers import Machine


class NetworkCollector(local.OnItsMachine):
    name = "network"

    def watched(self, node: Node) -> bool:
        return local.in_container(node) and node.role != "disk"

    def readings(self, machine: Machine, node: Node) -> Iterable[local.Reading]:
        containers.groups(machine, node)  # OSError if the process is not the container's
        process = containers.process_of(machine, node)
        lines = machine.read(f"/proc/{process}/net/dev").splitlines()[2:]
        interfaces = (line.partition(":") for line in lines)
        fields = [row.split() for name, _, row in interfaces if name.strip() != "lo"]
        yield "network_received_bytes_total", "bytes", sum(int(row[0]) for row in fields)
        yield "network_sent_bytes_total", "bytes", sum(int(row[8]) for row in fields)
