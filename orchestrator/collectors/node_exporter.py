"""CPU, disk, network and memory of machines that others run, from Prometheus' node_exporter.

For nodes of an existing cluster, whose /proc cannot be read from here. Metrics have the names that
the local collectors use, so that no reader needs to know the difference. The whole machine counts
as the node; of its network the cards (none known: all but what is virtual by its name). `sources`
of a node: "node-exporter" is the base URL, "disk-device" the devices (as in /proc/diskstats, with
spaces between) that hold its data, of which the sum is taken, "node-exporter-pressure" the URL
again if it counts pressure."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample as Metric

from orchestrator.collectors.common import node_by_node
from orchestrator.counter_sources import NODE_EXPORTER, PRESSURE, data_devices
from orchestrator.keys.shipped_yaml import shipped
from orchestrator.model import Node, Sample
from orchestrator.system import http_client
from orchestrator.texts import prose

# These parts of the page are enough: all of it is hundreds of kilobytes.
_PATH = "/metrics?collect[]=cpu&collect[]=diskstats&collect[]=meminfo&collect[]=netdev"
_CPU = "node_cpu_seconds_total"
_MEMORY = "node_memory_"
_NAME = re.compile(r"[a-z_:][a-z0-9_:]*", re.IGNORECASE)
_IDLE = {"idle", "iowait", "nice"}  # low priority is counted apart


class _Ours(NamedTuple):
    """What a metric is called here."""

    name: str
    unit: str


_BUSY = _Ours("cpu_seconds_total", "s")
_STEAL = _Ours("cpu_steal_seconds_total", "s")


class NodeExporterCollector:
    name = "node_exporter"

    def __init__(
        self, get: node_by_node.Get = http_client.get_exporter, path: str | None = None
    ) -> None:
        """`path`: of the page, where it is to have other parts."""
        self._get = get
        self._path = path

    def read(self, nodes: Sequence[Node], now_s: float) -> Iterable[Sample]:
        exporters: list[node_by_node.Page] = []
        for node in nodes:
            if NODE_EXPORTER in node.sources:
                exporters.append(_page(node, self._path or _path(node)))
        return node_by_node.samples(exporters, now_s, self._get)


def _path(node: Node) -> str:
    if PRESSURE in node.sources:
        return f"{_PATH}&collect[]=pressure"
    return _PATH


def _page(node: Node, path: str) -> node_by_node.Page:
    devices = data_devices(node.sources)
    parse = partial(
        readings, devices=devices, wal_device=node.wal_device, cards=node.cards
    )
    return node_by_node.Page(node.name, f"{node.sources[NODE_EXPORTER]}{path}", parse)


def readings(
    body: str,
    devices: Sequence[str],
    wal_device: str | None = None,
    cards: Collection[str] = (),
) -> Iterator[node_by_node.Reading]:
    """Metric, unit, value. OSError if the text is no page of node_exporter, or if it does not have
    one of the devices (none leave the disk out)."""
    disks = [*devices]
    if wal_device:
        disks.append(wal_device)
    counted = _CountedPage(disks, cards)
    for family in text_string_to_metric_families(counted.lines_of(body)):
        for metric in family.samples:
            counted.add(metric)
    for device in disks:
        if not counted.disks[device]:
            raise counted.unknown_disk(device)
    # A page without the mode has no steal to tell: 0, as a missing counter would be unknown.
    if _BUSY in counted.totals:
        counted.totals.setdefault(_STEAL, 0.0)
    for ours, total in counted.totals.items():
        yield ours.name, ours.unit, total
    yield from _together([counted.disks[device] for device in devices])
    if wal_device:
        for name, unit, value in counted.disks[wal_device]:
            yield f"wal_{name}", unit, value
    yield from _memory(counted.memory)


class _CountedPage:
    """A page: totals of the machine, what is known of each of `disks`, and of memory."""

    def __init__(self, disks: Iterable[str], cards: Collection[str]) -> None:
        names = shipped(__package__, "node_exporter.yaml")
        self._of_disk: Mapping[str, Sequence[str]] = names["disk"]
        self._of_machine: Mapping[str, Sequence[str]] = names["totals"]
        self._virtual: str = names["virtual"]
        self._cards = cards
        self.totals: dict[_Ours, float] = {}
        self.disks: dict[str, list[node_by_node.Reading]] = {
            device: [] for device in disks
        }
        # All disks of the machine, for whom names one that it has not.
        self._devices: set[str] = set()
        self.memory: dict[str, float] = {}

    def lines_of(self, body: str) -> str:
        """The lines of the page that are counted."""
        # A full parse of a page of 10 MB took 8 s of CPU.
        names = {_CPU, *self._of_disk, *self._of_machine}
        lines: list[str] = []
        for line in body.split("\n"):
            name = _NAME.match(line)
            if name and (name[0] in names or name[0].startswith(_MEMORY)):
                lines.append(line)
        if not lines:
            raise OSError("the page has no metric of node_exporter")
        return "\n".join(lines)

    def add(self, metric: Metric) -> None:
        device = metric.labels.get("device")
        name = metric.name
        if name == _CPU and metric.labels["mode"] not in _IDLE:
            self._add_up(_counter_of_mode(metric.labels["mode"]), metric.value)
        elif name in self._of_disk and device:
            self._add_of_disk(device, metric)
        elif name in self._of_machine and self._counts(device):
            self._add_up(_Ours(*self._of_machine[name]), metric.value)
        elif name.startswith(_MEMORY):
            field = name.removeprefix(_MEMORY).removesuffix("_bytes")
            self.memory[field] = metric.value

    def unknown_disk(self, device: str) -> OSError:
        """The error for a disk that is not counted. It names those that are."""
        what = f"node_exporter counts no disk {device!r}"
        if not self._devices:
            return OSError(f"{what}, and no other")
        others = prose.listed(prose.first_few(sorted(self._devices)))
        return OSError(f"{what}, but {others}")

    def _add_of_disk(self, device: str, metric: Metric) -> None:
        self._devices.add(device)
        if device in self.disks:
            ours = _Ours(*self._of_disk[metric.name])
            self.disks[device].append((ours.name, ours.unit, metric.value))

    def _add_up(self, ours: _Ours, value: float) -> None:
        self.totals[ours] = self.totals.get(ours, 0.0) + value

    def _counts(self, device: str | None) -> bool:
        """Whether it is a card, or no device at all."""
        if device is None:
            return True
        if self._cards:
            return device in self._cards
        # Bytes that a bridge or a pair passes on are those of a card: they count once.
        return not re.match(self._virtual, device)


def _counter_of_mode(mode: str) -> _Ours:
    if mode == "steal":
        return _STEAL
    return _BUSY


def _memory(memory: Mapping[str, float]) -> Iterator[node_by_node.Reading]:
    """Readings of memory, as far as the page has them."""
    if "MemTotal" in memory and "MemAvailable" in memory:
        used_bytes = memory["MemTotal"] - memory["MemAvailable"]
        yield "memory_used_bytes", "bytes", used_bytes
    if "Cached" in memory:
        yield "memory_cache_bytes", "bytes", memory["Cached"]


def _together(
    disks: Sequence[Sequence[node_by_node.Reading]],
) -> Iterator[node_by_node.Reading]:
    """The sum of a node's disks, but of busy time the mean."""
    for alike in zip(*disks, strict=True):
        name, unit, _ = alike[0]
        total = sum(value for _, _, value in alike)
        if name == "disk_busy_seconds_total":
            # One second has two seconds of busy time if two disks are busy all the time.
            total /= len(alike)
        yield name, unit, total
