"""A machine by its node_exporter: processors, memory, the device below a path. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from prometheus_client.parser import text_string_to_metric_families

_PARTITION = re.compile(r"(?:(.*\d)p|(.*\D))\d+")  # nvme0n1p1, sda1


def processors(body: str) -> int:
    return len({labels["cpu"] for labels in _labels(body, "node_cpu_seconds_total")})


def memory_bytes(body: str) -> int | None:
    for family in text_string_to_metric_families(body):
        if family.name == "node_memory_MemTotal_bytes":
            return int(family.samples[0].value)
    return None


def has_pressure(body: str) -> bool:
    return any(True for _ in _labels(body, "node_pressure_io_waiting_seconds_total"))


def device_of(body: str, path: str) -> str | None:
    """The disk whose counters are in the page and whose file system holds `path`: that of the
    longest mount point above it. A partition counts as its whole disk. None if none is known: some
    kernels call the root's `/dev/root`, and a file system may be on no disk."""
    mounts = {
        labels["mountpoint"]: labels["device"].removeprefix("/dev/")
        for labels in _labels(body, "node_filesystem_size_bytes")
    }
    above = [mount for mount in mounts if f"{path}/".startswith(f"{mount.rstrip('/')}/")]
    if not above:
        return None
    name = mounts[max(above, key=len)]
    mapped = _labels(body, "node_disk_device_mapper_info")  # /dev/mapper/data → dm-0
    name = {f"mapper/{one['name']}": one["device"] for one in mapped}.get(name, name)
    partition = _PARTITION.fullmatch(name)
    disks = {labels["device"] for labels in _labels(body, "node_disk_reads_completed_total")}
    known = [name, *(partition.groups() if partition else ())]
    return next((disk for disk in known if disk in disks), None)


def _labels(body: str, metric: str) -> Iterator[Mapping[str, str]]:
    for family in text_string_to_metric_families(body):
        yield from (sample.labels for sample in family.samples if sample.name == metric)
