"""I/O of the disks that hold only WAL, over a window. Pure.

They stand beside the figures of the data disks and are in none of their sums: the tier's limits are
those of the data disks. What the log's disk limits is seen from its syncs (`wal_disk_bound`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from orchestrator.analysis import results
from orchestrator.analysis.telemetry import counters
from orchestrator.analysis.telemetry.counters import Growth
from orchestrator.metrics import measured
from orchestrator.model import Measurement, Node

_COUNTED = {
    "wal_disk_iops": (counters.WAL_READS, counters.WAL_WRITES),
    "wal_disk_bytes_per_s": (counters.WAL_READ_BYTES, counters.WAL_WRITTEN_BYTES),
}
_WAITED = (counters.WAL_READ_SECONDS, counters.WAL_WRITE_SECONDS)


def telemetry(nodes: Sequence[Node], growth: Growth) -> Iterator[Measurement]:
    """The figures of each node's disk, and of all disks together: each once, and without those that
    are the data disk of some node, because its figures have them already."""
    grown = {
        node.name: dict(_grown(node, growth))
        for node in nodes
        if node.role == "database" and node.wal_device
    }
    for name, values in grown.items():
        for metric, value in _figures(values).items():
            yield measured(metric, value, name)
    data = {(results.place(node), node.device) for node in nodes if node.role == "database"}
    once: dict[tuple[str, str], Mapping[str, float]] = {}
    for node in nodes:
        if node.name in grown and node.wal_device:
            disk = (results.place(node), node.wal_device)
            if disk not in data:
                once.setdefault(disk, grown[node.name])
    if not once or not all(grown.values()):
        return
    keys = set.intersection(*(set(values) for values in once.values()))
    together = {key: sum(values[key] for values in once.values()) for key in keys}
    for metric, value in _figures(together).items():
        yield measured(metric, value)


def _grown(node: Node, growth: Growth) -> Iterator[tuple[str, float]]:
    for name, metrics in {**_COUNTED, "waited": _WAITED}.items():
        value = growth.per_s(node.name, *metrics)
        if value is not None:
            yield name, value


def _figures(values: Mapping[str, float]) -> dict[str, float]:
    figures = {name: values[name] for name in _COUNTED if name in values}
    if values.get("wal_disk_iops") and "waited" in values:
        figures["wal_disk_await_s"] = values["waited"] / values["wal_disk_iops"]
    return figures
