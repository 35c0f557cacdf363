"""The protocol of a collector, which reads counters of nodes."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from orchestrator.model import (
    Node,
    Sample,
)


class Collector(Protocol):
    """Reads the counters of one subject for every node that has it. Returns counters, not rates."""

    name: str

    def read(self, nodes: Sequence[Node], now_s: float) -> Iterable[Sample]:
        """Reads all counters once. OSError if a source is gone; the sampler survives that."""
