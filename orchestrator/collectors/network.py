"""Bytes over each container's network interfaces, from /proc/<pid>/net/dev (loopback left out)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from orchestrator.model import Node, Sample


class NetworkCollector:
    name = "network"

    def __init__(self, root: Path) -> None:
        self._proc = root / "proc"

    def read(self, nodes: Sequence[Node], now_s: float) -> Iterable[Sample]:
        for node in nodes:
            if node.process_id is None or node.role == "disk":
                continue
            received, sent = self._totals(node.process_id)
            yield Sample(now_s, node.name, "network_received_bytes_total", "bytes", received)
            yield Sample(now_s, node.name, "network_sent_bytes_total", "bytes", sent)

    def _totals(self, process_id: int) -> tuple[int, int]:
        received = sent = 0
        lines = (self._proc / str(process_id) / "net/dev").read_text().splitlines()[2:]
        for line in lines:
            interface, _, numbers = line.partition(":")
            if interface.strip() != "lo":
                fields = numbers.split()
                received += int(fields[0])
                sent += int(fields[8])
        return received, sent
