"""CPU, disk, network and memory of machines that others run, from Prometheus' node_exporter.

For nodes of an existing cluster, whose /proc cannot be read from here. Metrics have the names that
the local collectors use, so that no reader needs to know the difference. The whole machine counts
as the node. `sources` of a node: "node-exporter" is the base URL, "disk-device" the devices (as in
/proc/diskstats, with spaces between) that hold its data, of which the sum is taken,
"node-exporter-pressure" the URL again if it counts pressure.
Names: https://github.com/prometheus/node_exporter (cpu, diskstats, meminfo, netdev, pressure).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from prometheus_client.parser import text_string_to_metric_families

from orchestrator.collectors.common import local
from orchestrator.model import DISK_DEVICE, NODE_EXPORTER, PRESSURE, Node, Sample
from orchestrator.system import http_client

# Only these parts of the page: all of it is hundreds of kilobytes.
_PATH = "/metrics?collect[]=cpu&collect[]=diskstats&collect[]=meminfo&collect[]=netdev"
_PRESSURE_PATH = f"{_PATH}&collect[]=pressure"
_NOT_BUSY = {"idle", "iowait", "steal"}

# Metric of one device → our name, unit.
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
# "waiting" is the kernel's "some": time in which at least one task waited.
_PRESSURE = {
    f"node_pressure_{resource}_waiting_seconds_total": f"pressure_{resource}_some_seconds_total"
    for resource in ("cpu", "io", "memory")
}


class NodeExporterCollector:
    name = "node_exporter"

    def __init__(self, get: local.Get = http_client.get) -> None:
        self._get = get

    def read(self, nodes: Sequence[Node], now_s: float) -> Iterable[Sample]:
        exporters = [
            local.Page(
                node.name,
                _url(node),
                partial(readings, devices=_devices(node), wal_device=node.wal_device),
            )
            for node in nodes
            if NODE_EXPORTER in node.sources
        ]
        return local.samples(exporters, now_s, self._get)


def _devices(node: Node) -> list[str]:
    return node.sources.get(DISK_DEVICE, "").split()


def _url(node: Node) -> str:
    return node.sources[NODE_EXPORTER] + (_PRESSURE_PATH if PRESSURE in node.sources else _PATH)


def readings(
    body: str, devices: Sequence[str], wal_device: str | None = None
) -> Iterator[local.Reading]:
    """Metric, unit, value. ValueError if the text is not in Prometheus' format, KeyError if it does
    not have one of the devices (none leave the disk out)."""
    cpu: dict[str, float] = {}
    network: dict[str, float] = {}
    memory: dict[str, float] = {}
    pressure: dict[str, float] = {}
    disk: dict[str, list[local.Reading]] = {device: [] for device in (*devices, wal_device or "")}
    for family in text_string_to_metric_families(body):
        for sample in family.samples:
            name, labels = sample.name, sample.labels
            if name == "node_cpu_seconds_total":
                kind = "steal" if labels["mode"] == "steal" else "busy"
                if kind == "steal" or labels["mode"] not in _NOT_BUSY:
                    cpu[kind] = cpu.get(kind, 0.0) + sample.value
            elif name in _DISK and labels.get("device") in disk:
                disk[labels["device"]].append((*_DISK[name], sample.value))
            elif name in _NETWORK and labels.get("device") != "lo":
                network[_NETWORK[name]] = network.get(_NETWORK[name], 0.0) + sample.value
            elif name in _PRESSURE:
                pressure[_PRESSURE[name]] = sample.value
            elif name.startswith("node_memory_"):
                memory[name.removeprefix("node_memory_").removesuffix("_bytes")] = sample.value
    for device, own in disk.items():
        if device and not own:
            raise KeyError(f"node_exporter knows no device {device!r}")
    if "busy" in cpu:
        yield "cpu_seconds_total", "s", cpu["busy"]
        yield "cpu_steal_seconds_total", "s", cpu.get("steal", 0.0)
    yield from _together([disk[device] for device in devices])
    for name, unit, value in disk[wal_device or ""]:
        yield f"wal_{name}", unit, value
    for name, value in network.items():
        yield name, "bytes", value
    for name, value in pressure.items():
        yield name, "s", value
    if "MemTotal" in memory and "MemAvailable" in memory:
        yield "memory_used_bytes", "bytes", memory["MemTotal"] - memory["MemAvailable"]
    if "Cached" in memory:
        yield "memory_cache_bytes", "bytes", memory["Cached"]


def _together(disks: Sequence[Sequence[local.Reading]]) -> Iterator[local.Reading]:
    """The sum of a node's disks, and of the time in which one was busy the mean."""
    for each in zip(*disks, strict=True):
        name, unit, _ = each[0]
        total = sum(value for _, _, value in each)
        yield name, unit, total / len(each) if name == "disk_busy_seconds_total" else total
