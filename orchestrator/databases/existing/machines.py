"""What the node_exporter of a machine says it is: processors, and the device below a path. Pure."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families


def processors(body: str) -> int:
    """How many processors the machine has."""
    return len(
        {
            sample.labels["cpu"]
            for family in text_string_to_metric_families(body)
            for sample in family.samples
            if sample.name == "node_cpu_seconds_total"
        }
    )


def device_of(body: str, path: str) -> str | None:
    """The device whose file system holds `path`: the longest mount point above it."""
    mounts = {
        sample.labels["mountpoint"]: sample.labels["device"]
        for family in text_string_to_metric_families(body)
        for sample in family.samples
        if sample.name == "node_filesystem_size_bytes"
    }
    above = [at for at in mounts if path == at or path.startswith(f"{at.rstrip('/')}/")]
    return mounts[max(above, key=len)].removeprefix("/dev/") if above else None
