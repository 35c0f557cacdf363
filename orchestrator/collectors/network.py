"""Bytes over each container's network interfaces, from /proc/<pid>/net/dev (loopback left out)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from orchestrator.collectors.common import local
from orchestrator.model import Node, Sample
from orchestrator.powers import Machine


class NetworkCollector:
    name = "network"

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def read(self, nodes: Sequence[Node], now_s: float) -> Iterable[Sample]:
        watched = [node for node in nodes if node.process_id is not None and node.role != "disk"]
        return local.each(watched, now_s, self._readings)

    def _readings(self, node: Node) -> Iterable[local.Reading]:
        local.groups(self._machine, node)  # OSError if the process is not the container's
        lines = self._machine.read(f"/proc/{node.process_id}/net/dev").splitlines()[2:]
        interfaces = (line.partition(":") for line in lines)
        fields = [row.split() for name, _, row in interfaces if name.strip() != "lo"]
        yield "network_received_bytes_total", "bytes", sum(int(row[0]) for row in fields)
        yield "network_sent_bytes_total", "bytes", sum(int(row[8]) for row in fields)
