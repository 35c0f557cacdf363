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
        local.groups(self._machine, node)
        received, sent = self._totals(f"/proc/{node.process_id}/net/dev")
        yield "network_received_bytes_total", "bytes", received
        yield "network_sent_bytes_total", "bytes", sent

    def _totals(self, file: str) -> tuple[int, int]:
        received = sent = 0
        lines = self._machine.read(file).splitlines()[2:]
        for line in lines:
            interface, _, numbers = line.partition(":")
            if interface.strip() != "lo":
                fields = numbers.split()
                received += int(fields[0])
                sent += int(fields[8])
        return received, sent
