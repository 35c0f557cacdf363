"""Bytes over network interfaces, repeated segments, and the speed of a machine's link.

Of a container: all its interfaces but loopback, from /proc/<pid>/net. Of a machine: that of its
default route, because the others of a machine with containers carry the same bytes again. Its speed
in Mbit/s is in /sys/class/net/<interface>/speed, where the driver knows it; many virtual machines
have -1 or nothing there, and then there is no such sample.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from orchestrator.collectors.common import local
from orchestrator.kernel import containers
from orchestrator.model import Node
from orchestrator.powers import Machine

_FIRST = 1  # the process whose interfaces are the machine's
_BYTES_PER_MBIT = 125_000


class NetworkCollector(local.OnItsMachine):
    name = "network"

    def watched(self, node: Node) -> bool:
        return node.role == "host" or (local.in_container(node) and node.role != "disk")

    def readings(self, machine: Machine, node: Node) -> Iterable[local.Reading]:
        if node.role == "host":
            yield from _of_link(machine)
            return
        containers.groups(machine, node)  # OSError if the process is not the container's
        process = containers.process_of(machine, node)
        fields = [row for name, row in _interfaces(machine, process).items() if name != "lo"]
        yield from _bytes(fields)
        with suppress(OSError):
            yield from _segments(machine.read(f"/proc/{process}/net/snmp"))


def _of_link(machine: Machine) -> Iterator[local.Reading]:
    """Nothing if it has no default route, or the speed of that is not known."""
    with suppress(OSError):
        name = _default_interface(machine.read(f"/proc/{_FIRST}/net/route"))
        speed = int(machine.read(f"/sys/class/net/{name}/speed")) if name else 0
        if name and speed > 0:
            yield "network_speed_bytes_per_s", "bytes/s", speed * _BYTES_PER_MBIT
            yield from _bytes([_interfaces(machine, _FIRST)[name]])


def _interfaces(machine: Machine, process: int) -> Mapping[str, list[str]]:
    lines = machine.read(f"/proc/{process}/net/dev").splitlines()[2:]
    return {name.strip(): row.split() for name, _, row in (line.partition(":") for line in lines)}


def _bytes(fields: Iterable[list[str]]) -> Iterator[local.Reading]:
    rows = list(fields)
    yield "network_received_bytes_total", "bytes", sum(int(row[0]) for row in rows)
    yield "network_sent_bytes_total", "bytes", sum(int(row[8]) for row in rows)


def _segments(snmp: str) -> Iterator[local.Reading]:
    """Of TCP: a line of names, then one of their values."""
    names, values = (line.split() for line in snmp.splitlines() if line.startswith("Tcp:"))
    counted = dict(zip(names, values, strict=True))
    yield "network_segments_sent_total", "", int(counted["OutSegs"])
    yield "network_segments_repeated_total", "", int(counted["RetransSegs"])


def _default_interface(table: str) -> str | None:
    """The first that leads everywhere: to the address 0 by the mask 0."""
    rows = [line.split() for line in table.splitlines()[1:]]
    return next((row[0] for row in rows if row[1] == row[7] == "00000000"), None)
