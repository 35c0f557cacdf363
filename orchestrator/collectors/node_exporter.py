"""CPU, disk, network and memory of machines that others run, from Prometheus' node_exporter.

For nodes of an existing cluster, whose /proc cannot be read from here; under the same names as the
local collectors write, so that everything after them need not know the difference. The whole
machine counts as the node. `sources` of a node: "node-exporter" is the base URL, "disk-device" the
device (as in /proc/diskstats) that holds its data.
Names: https://github.com/prometheus/node_exporter (cpu, diskstats, meminfo, netdev).
Pressure is not asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from prometheus_client.parser import text_string_to_metric_families

from orchestrator.model import DISK_DEVICE, NODE_EXPORTER, Node, Sample
from orchestrator.system import http_client

_TIMEOUT_S = 2.0  # it blocks the other collectors
# Only these parts of the exporter are asked for: all of it is hundreds of kilobytes.
_PATH = "/metrics?collect[]=cpu&collect[]=diskstats&collect[]=meminfo&collect[]=netdev"
_NOT_BUSY = {"idle", "iowait", "steal"}

# Of one device; ours, unit.
_DISK = {
    "node_disk_reads_completed_total": ("disk_reads_total", ""),
    "node_disk_read_bytes_total": ("disk_read_bytes_total", "bytes"),
    "node_disk_read_time_seconds_total": ("disk_read_seconds_total", "s"),
    "node_disk_writes_completed_total": ("disk_writes_total", ""),
    "node_disk_written_bytes_total": ("disk_written_bytes_total", "bytes"),
    "node_disk_write_time_seconds_total": ("disk_write_seconds_total", "s"),
    "node_disk_io_now": ("disk_in_flight", ""),
    "node_disk_io_time_seconds_total": ("disk_busy_seconds_total", "s"),
    "node_disk_io_time_weighted_seconds_total": ("disk_queue_seconds_total", "s"),
    "node_disk_flush_requests_total": ("disk_flushes_total", ""),
}
_NETWORK = {
    "node_network_receive_bytes_total": "network_received_bytes_total",
    "node_network_transmit_bytes_total": "network_sent_bytes_total",
}

Get = Callable[[str, float], str]


class NodeExporterCollector:
    name = "node_exporter"

    def __init__(self, get: Get = http_client.get) -> None:
        self._get = get

    def read(self, nodes: Sequence[Node], now_s: float) -> Iterable[Sample]:
        watched = [node for node in nodes if NODE_EXPORTER in node.sources]
        if not watched:
            return
        failures: list[str] = []
        with ThreadPoolExecutor(max_workers=len(watched)) as pool:
            for node, body in zip(watched, pool.map(self._body, watched), strict=True):
                if isinstance(body, OSError):
                    failures.append(f"{node.name}: {body}")
                    continue
                device = node.sources.get(DISK_DEVICE, "")
                for metric, unit, value in readings(body, device):
                    yield Sample(now_s, node.name, metric, unit, value)
        if failures:
            raise OSError("; ".join(failures))

    def _body(self, node: Node) -> str | OSError:
        try:
            return self._get(f"{node.sources[NODE_EXPORTER]}{_PATH}", _TIMEOUT_S)
        except OSError as error:
            return error


def readings(body: str, device: str) -> Iterator[tuple[str, str, float]]:
    """Metric, unit, value. ValueError where the text is not of Prometheus' form, KeyError where it
    knows no such device (an empty `device` leaves the disk out)."""
    cpu: dict[str, float] = {}
    network: dict[str, float] = {}
    memory: dict[str, float] = {}
    disk: list[tuple[str, str, float]] = []
    for family in text_string_to_metric_families(body):
        for sample in family.samples:
            name, labels = sample.name, sample.labels
            if name == "node_cpu_seconds_total":
                kind = "steal" if labels["mode"] == "steal" else "busy"
                if kind == "steal" or labels["mode"] not in _NOT_BUSY:
                    cpu[kind] = cpu.get(kind, 0.0) + sample.value
            elif name in _DISK and labels.get("device") == device:
                disk.append((*_DISK[name], sample.value))
            elif name in _NETWORK and labels.get("device") != "lo":
                network[_NETWORK[name]] = network.get(_NETWORK[name], 0.0) + sample.value
            elif name.startswith("node_memory_"):
                memory[name] = sample.value
    if device and not disk:
        raise KeyError(f"node_exporter knows no device {device!r}")
    if "busy" in cpu:
        yield "cpu_seconds_total", "s", cpu["busy"]
        yield "cpu_steal_seconds_total", "s", cpu.get("steal", 0.0)
    yield from disk
    for name, value in network.items():
        yield name, "bytes", value
    yield from _memory(memory)


def _memory(found: dict[str, float]) -> Iterator[tuple[str, str, float]]:
    total, available = (
        found.get(f"node_memory_{name}_bytes") for name in ("MemTotal", "MemAvailable")
    )
    if total is not None and available is not None:
        yield "memory_used_bytes", "bytes", total - available
    if "node_memory_Cached_bytes" in found:
        yield "memory_cache_bytes", "bytes", found["node_memory_Cached_bytes"]
