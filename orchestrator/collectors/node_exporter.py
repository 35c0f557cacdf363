"""CPU, disk, network and memory of machines that others run, from Prometheus' node_exporter.

For nodes of an existing cluster, whose /proc cannot be read from here. Metrics have the names that
the local collectors use, so that no reader needs to know the difference. The whole machine counts
as the node; of its network the cards (none known: all but what is virtual by its name). `sources`
of a node: "node-exporter" is the base URL, "disk-device" the devices (as in /proc/diskstats, with
spaces between) that hold its data, of which the sum is taken, "node-exporter-pressure" the URL
again if it counts pressure."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial

from prometheus_client.parser import text_string_to_metric_families

from orchestrator.collectors.common import local
from orchestrator.keys.strict_yaml import shipped
from orchestrator.model import DISK_DEVICE, NODE_EXPORTER, PRESSURE, Node, Sample
from orchestrator.system import http_client

# Only these parts of the page: all of it is hundreds of kilobytes.
_PATH = "/metrics?collect[]=cpu&collect[]=diskstats&collect[]=meminfo&collect[]=netdev"
_IDLE = {"idle", "iowait", "nice"}  # low priority is counted apart
_BUSY = ("cpu_seconds_total", "s")
_STEAL = ("cpu_steal_seconds_total", "s")


class NodeExporterCollector:
    name = "node_exporter"

    def __init__(
        self, get: local.Get = http_client.get, path: str | None = None
    ) -> None:
        """`path`: of the page, where it is to have other parts."""
        self._get = get
        self._path = path

    def read(self, nodes: Sequence[Node], now_s: float) -> Iterable[Sample]:
        asked = [node for node in nodes if NODE_EXPORTER in node.sources]
        exporters = [_page(node, self._path) for node in asked]
        return local.samples(exporters, now_s, self._get)


def _page(node: Node, path: str | None) -> local.Page:
    path = path or _PATH + "&collect[]=pressure" * (PRESSURE in node.sources)
    devices = node.sources.get(DISK_DEVICE, "").split()
    parse = partial(
        readings, devices=devices, wal_device=node.wal_device, cards=node.cards
    )
    return local.Page(node.name, f"{node.sources[NODE_EXPORTER]}{path}", parse)


def readings(
    body: str,
    devices: Sequence[str],
    wal_device: str | None = None,
    cards: Collection[str] = (),
) -> Iterator[local.Reading]:
    """Metric, unit, value. ValueError if the text is not in Prometheus' format, KeyError if it does
    not have one of the devices (none leave the disk out)."""
    names = shipped(__package__, "node_exporter.yaml")

    def counts(name: str) -> bool:
        if cards:
            return name in cards
        return not re.match(names["virtual"], name)

    totals: dict[tuple[str, str], float] = {}
    memory: dict[str, float] = {}
    disk: dict[str, list[local.Reading]] = {
        device: [] for device in (*devices, wal_device or "")
    }
    for family in text_string_to_metric_families(body):
        for sample in family.samples:
            name = sample.name
            device = sample.labels.get("device")
            ours = None
            if name == "node_cpu_seconds_total" and sample.labels["mode"] not in _IDLE:
                ours = _BUSY
                if sample.labels["mode"] == "steal":
                    ours = _STEAL
            elif name in names["disk"] and device in disk:
                disk[device].append((*names["disk"][name], sample.value))
            elif name in names["totals"] and (device is None or counts(device)):
                ours = tuple(names["totals"][name])
            elif name.startswith("node_memory_"):
                memory[name.removeprefix("node_memory_").removesuffix("_bytes")] = (
                    sample.value
                )
            if ours:
                totals[ours] = totals.get(ours, 0.0) + sample.value
    for device, own in disk.items():
        if device and not own:
            raise KeyError(f"node_exporter knows no device {device!r}")
    if _BUSY in totals:
        totals.setdefault(_STEAL, 0.0)
    yield from ((*of, total) for of, total in totals.items())
    yield from _together([disk[device] for device in devices])
    yield from (
        (f"wal_{name}", unit, value) for name, unit, value in disk[wal_device or ""]
    )
    if {"MemTotal", "MemAvailable"} <= memory.keys():
        yield "memory_used_bytes", "bytes", memory["MemTotal"] - memory["MemAvailable"]
    if "Cached" in memory:
        yield "memory_cache_bytes", "bytes", memory["Cached"]


def _together(disks: Sequence[Sequence[local.Reading]]) -> Iterator[local.Reading]:
    """The sum of a node's disks, and of the time in which one was busy the mean."""
    for each in zip(*disks, strict=True):
        name, unit, _ = each[0]
        total = sum(value for _, _, value in each)
        yield (
            name,
            unit,
            total / len(each) if name == "disk_busy_seconds_total" else total,
        )
