"""What the kernel says of a block device: size, queue, identity, the disks that it is made of, and
its counters.

Properties are read from /sys/class/block of the machine that has the disk. Names of the files:
Documentation/ABI/stable/sysfs-block (size, queue/…, partition), Documentation/ABI/testing/
sysfs-block-dm (dm/name, dm/uuid), Documentation/admin-guide/md.rst (md/level, md/chunk_size,
md/raid_disks); of an NVMe controller drivers/nvme/host/sysfs.c (model, serial, firmware_rev).

Counters are read from /proc/diskstats (counters.yaml). Of a device that is made of others, such as
an array, only its own line is read: those of its members count the same I/O again."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from orchestrator.keys.strict_yaml import shipped
from orchestrator.powers import Machine

BLOCK = "/sys/class/block"
_SECTOR_BYTES = 512
DISKSTATS = "/proc/diskstats"


def _words(text: str) -> str:
    """Identities are padded with spaces."""
    return " ".join(text.split())


def _chosen(text: str) -> str:
    """Of `none [mq-deadline] kyber` the one in brackets."""
    return text.partition("[")[2].partition("]")[0] or text.strip()


_OF_DISK: tuple[tuple[str, tuple[str, ...], Callable[[str], Any]], ...] = (
    ("write_cache", ("queue/write_cache",), _words),
    ("scheduler", ("queue/scheduler",), _chosen),
    ("read_ahead_bytes", ("queue/read_ahead_kb",), lambda text: int(text) * 1024),
    ("rotational", ("queue/rotational",), lambda text: text.strip() == "1"),
    ("max_io_bytes", ("queue/max_sectors_kb",), lambda text: int(text) * 1024),
    ("vendor", ("device/vendor",), _words),
    ("model", ("device/model",), _words),
    ("serial", ("device/serial", "serial"), _words),
    ("firmware", ("device/firmware_rev", "device/rev"), _words),
)  # fact, files (the first that can be read), how it is read


def whole(device: str, machine: Machine) -> str:
    """The disk that holds a partition; any other device itself."""
    if not machine.exists(f"{BLOCK}/{device}/partition"):
        return device
    return Path(machine.real_path(f"{BLOCK}/{device}")).parent.name


def members(device: str, machine: Machine) -> tuple[str, ...]:
    """The devices that a volume or an array is made of; none for a disk."""
    with suppress(OSError):
        return machine.listing(f"{BLOCK}/{whole(device, machine)}/slaves")
    return ()


def physical(device: str, machine: Machine) -> frozenset[str]:
    """The whole disks that hold the data of a device, through volumes and arrays."""
    parts = members(device, machine)
    if not parts:
        return frozenset({whole(device, machine)})
    return frozenset().union(*(physical(part, machine) for part in parts))


def facts(device: str, machine: Machine) -> dict[str, Any]:
    """What a reader must know of a device and its `members`, as far as it can be read."""
    disk = whole(device, machine)
    here = f"{BLOCK}/{disk}"
    device_facts: dict[str, Any] = {"device": device, "disk": disk}
    with suppress(OSError, ValueError):
        device_facts["size_bytes"] = (
            int(machine.read(f"{BLOCK}/{device}/size")) * _SECTOR_BYTES
        )
    for name, files, read in _OF_DISK:
        for file in files:
            with suppress(OSError, ValueError):
                device_facts[name] = read(machine.read(f"{here}/{file}"))
                break
    with suppress(
        OSError
    ):  # the volume of LVM, whose uuids begin so, or of another mapper
        mapped_name, uuid = (
            machine.read(f"{here}/dm/{name}").strip() for name in ("name", "uuid")
        )
        kind = "LVM" if uuid.startswith("LVM-") else uuid.partition("-")[0] or "mapped"
        device_facts["volume"] = {"name": mapped_name, "kind": kind}
    with suppress(OSError):  # the array of md
        device_facts["array"] = {"level": machine.read(f"{here}/md/level").strip()}
        with suppress(ValueError):
            device_facts["array"]["chunk_bytes"] = int(
                machine.read(f"{here}/md/chunk_size")
            )
    if parts := members(device, machine):
        device_facts["members"] = {part: facts(part, machine) for part in parts}
    return device_facts


def made_of(device_facts: dict[str, Any]) -> str:
    """In words, what a device is made of, from its `facts`: "raid0 of sdc, sdd"; "" for a disk."""
    parts = device_facts.get("members") or {}
    if not parts:
        return ""
    array, volume = device_facts.get("array") or {}, device_facts.get("volume") or {}
    kind = (
        array.get("level")
        or f"{volume.get('kind', 'mapped')} volume {volume.get('name', '')}"
    )
    below = [made_of(facts) for facts in parts.values()]
    names = [
        f"{name} ({text})" if text else name
        for name, text in zip(parts, below, strict=True)
    ]
    return f"{kind.strip()} of {', '.join(names)}"


def counters_by_device(machine: Machine) -> dict[str, dict[str, float]]:
    """Every device of the machine → its counters and gauges now, by metric."""
    return {
        device: {metric: value for metric, _, value in readings(row)}
        for device, row in counter_rows(machine).items()
    }


def counter_rows(machine: Machine) -> dict[str, list[int]]:
    """Device → its fields after the name."""
    lines = (line.split() for line in machine.read(DISKSTATS).splitlines())
    return {
        row[2]: [int(number) for number in row[3:]] for row in lines if len(row) >= 14
    }


def readings(row: Sequence[int]) -> Iterator[tuple[str, str, float]]:
    """(metric, unit, value) of one device: of what its kernel counts (flushes since 5.5)."""
    for metric, (field, unit, times) in shipped(__package__, "counters.yaml").items():
        if field < len(row):
            yield metric, unit, row[field] * times
