"""The do-nothing collector: made-up counters of nodes without a machine, for rehearsals."""

import math
from collections.abc import Iterable, Iterator, Sequence

from orchestrator.design.rehearsal import Model
from orchestrator.keys.schema import DRY
from orchestrator.model import Node, Sample

_AROUND_S = 120  # made-up time passes all at once, so a reading covers what a run would
_IO_BYTES = 8192
_USED = 0.7  # share of the disk's IOPS
_CPU = 0.3  # share of the node's processors


class DryCollector:
    """Counters that depend on the time alone. Two readings of the same time therefore agree."""

    name = "dry"

    def read(self, nodes: Sequence[Node], now_s: float) -> Iterable[Sample]:
        first = math.floor(now_s) - _AROUND_S
        end = math.ceil(now_s) + _AROUND_S
        for node in nodes:
            if DRY not in node.sources:
                continue
            model = Model.of_node(node)
            for second in range(first, end):
                yield from _at(node, model, float(second))


def _at(node: Node, model: Model, time_s: float) -> Iterator[Sample]:
    swing = 1 + 0.05 * math.sin(time_s / 3)  # charts over time then have a shape
    ios = _USED * model.iops * (time_s + 3 * swing) / 2
    cpu_s = _CPU * (node.cpus or 1.0) * time_s
    for direction, moved in (("read", "read"), ("write", "written")):
        yield Sample(time_s, node.name, f"disk_{direction}s_total", "", ios)
        size = ios * _IO_BYTES
        yield Sample(time_s, node.name, f"disk_{moved}_bytes_total", "bytes", size)
        took_s = ios * model.latency_s
        yield Sample(time_s, node.name, f"disk_{direction}_seconds_total", "s", took_s)
    yield Sample(time_s, node.name, "cpu_seconds_total", "s", cpu_s)
    yield Sample(time_s, "host", "cpu_busy_seconds_total", "s", 2 * cpu_s)
