"""A machine by its node_exporter: processors, memory, the device below a path. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prometheus_client.parser import text_string_to_metric_families


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
    """The device whose file system holds `path`: that of the longest mount point above it."""
    mounts = {
        labels["mountpoint"]: labels["device"]
        for labels in _labels(body, "node_filesystem_size_bytes")
    }
    above = [mount for mount in mounts if path == mount or path.startswith(f"{mount.rstrip('/')}/")]
    return mounts[max(above, key=len)].removeprefix("/dev/") if above else None


def _labels(body: str, metric: str) -> Iterator[Mapping[str, str]]:
    for family in text_string_to_metric_families(body):
        yield from (sample.labels for sample in family.samples if sample.name == metric)
