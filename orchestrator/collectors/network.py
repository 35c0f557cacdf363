"""Bytes and packets over each container's network interfaces, from /proc/<pid>/net/dev (loopback
left out), and what its TCP sent again, from net/snmp beside it (loopback too). Of what is handed on
in one piece, as between containers of a machine, the kernel counts one packet and its headers once.
"""

from collections.abc import Iterable

from orchestrator import model, powers
from orchestrator.collectors.common import local
from orchestrator.kernel import containers
from orchestrator.keys.strict_yaml import shipped


class NetworkCollector(local.OnItsMachine):
    name = "network"

    def watched(self, node: model.Node) -> bool:
        return local.in_container(node) and node.role != "disk"

    def readings(
        self, machine: powers.Machine, node: model.Node
    ) -> Iterable[local.Reading]:
        containers.groups(
            machine, node
        )  # OSError if the process is not the container's
        process = containers.process_of(machine, node)
        lines = machine.read(f"/proc/{process}/net/dev").splitlines()[2:]
        interfaces = (line.partition(":") for line in lines)
        fields = [row.split() for name, _, row in interfaces if name.strip() != "lo"]
        for name, (column, unit) in shipped(__package__, "network.yaml").items():
            yield name, unit, sum(int(row[column]) for row in fields)
        tcp = machine.read(f"/proc/{process}/net/snmp").split("\nTcp: ")
        counted = dict(
            zip(*(line.splitlines()[0].split() for line in tcp[1:3]), strict=True)
        )
        yield "tcp_sent_segments_total", "", int(counted["OutSegs"])
        yield "tcp_sent_again_segments_total", "", int(counted["RetransSegs"])
