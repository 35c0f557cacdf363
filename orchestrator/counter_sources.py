"""Where counters of a node are read from: the keys of `Node.sources` that no database has."""

from collections.abc import Iterable, Mapping

NODE_EXPORTER = "node-exporter"
DISK_DEVICE = "disk-device"
PRESSURE = "node-exporter-pressure"
DISK_ACCOUNT = "disk-account"


def written(devices: Iterable[str]) -> str:
    """Devices as the one text of the source DISK_DEVICE; none has a space in its name."""
    return " ".join(devices)


def data_devices(sources: Mapping[str, str]) -> list[str]:
    """The devices that hold a node's data; empty if its sources name none."""
    return sources.get(DISK_DEVICE, "").split()
