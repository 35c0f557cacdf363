"""Bytes and packets over each container's network interfaces, from /proc/<pid>/net/dev, and what
its TCP sent again, from net/snmp beside it.

Of what is handed on in one piece, as between containers of a machine, the kernel counts one packet
and its headers once."""

from collections.abc import Iterable

from orchestrator import model, powers
from orchestrator.collectors.common import node_by_node
from orchestrator.kernel import containers
from orchestrator.keys.shipped_yaml import shipped


class NetworkCollector(node_by_node.OnItsMachine):
    name = "network"

    def watched(self, node: model.Node) -> bool:
        return node_by_node.in_container(node) and node.role != "disk"

    def readings(
        self, machine: powers.Machine, node: model.Node
    ) -> Iterable[node_by_node.Reading]:
        # OSError if the process is not the container's.
        containers.groups(machine, node)
        process = containers.process_of(machine, node)
        # The process is the key: its network's name space is the container's.
        interfaces = _interfaces(machine.read(f"/proc/{process}/net/dev"))
        for name, (column, unit) in shipped(__package__, "network.yaml").items():
            yield name, unit, sum(int(fields[column]) for fields in interfaces)
        # These have loopback too: the kernel counts TCP for the whole name space.
        tcp = _tcp(machine.read(f"/proc/{process}/net/snmp"))
        yield "tcp_sent_segments_total", "", int(tcp["OutSegs"])
        yield "tcp_sent_again_segments_total", "", int(tcp["RetransSegs"])


def _interfaces(text: str) -> list[list[str]]:
    """The fields of each but loopback, below two lines of titles."""
    interfaces = []
    for line in text.splitlines()[2:]:
        name, _, fields = line.partition(":")
        if name.strip() != "lo":
            interfaces.append(fields.split())
    return interfaces


def _tcp(text: str) -> dict[str, str]:
    """The TCP counters of two lines that begin alike: names, then values."""
    _, names, values, *_ = text.split("\nTcp: ")
    # Lines of other protocols follow behind the values.
    value_line = values.splitlines()[0]
    return dict(zip(names.split(), value_line.split(), strict=True))
