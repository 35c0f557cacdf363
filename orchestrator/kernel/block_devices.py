"""What the kernel says of a block device: size, queue, identity, the disks that it is made of, and
its counters.

Properties are read from /sys/class/block of the machine that has the disk. Names of the files:
Documentation/ABI/stable/sysfs-block (size, queue/…, partition), Documentation/ABI/testing/
sysfs-block-dm (dm/name, dm/uuid), Documentation/admin-guide/md.rst (md/level, md/chunk_size,
md/raid_disks); of an NVMe controller drivers/nvme/host/sysfs.c (model, serial, firmware_rev).

Counters are read from /proc/diskstats (counters.yaml)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.keys.shipped_yaml import shipped
from orchestrator.powers import Machine

BLOCK = "/sys/class/block"
_SECTOR_BYTES = 512  # the kernel's unit, whatever the disk's own sectors are
DISKSTATS = "/proc/diskstats"


def _words(text: str) -> str:
    """Identities are padded with spaces."""
    return " ".join(text.split())


def _chosen(text: str) -> str:
    """The scheduler in use: in `none [mq-deadline] kyber` the one in brackets."""
    return text.partition("[")[2].partition("]")[0] or text.strip()


def _kibibytes(text: str) -> int:
    return int(text) * 1024


def _is_set(text: str) -> bool:
    return text.strip() == "1"


@dataclass(frozen=True)
class _DiskFact:
    """A fact of a disk: the first of its files that can be read, and how it is read."""

    name: str
    files: tuple[str, ...]
    parse: Callable[[str], Any]


_DISK_FACTS = (
    _DiskFact("write_cache", ("queue/write_cache",), _words),
    _DiskFact("scheduler", ("queue/scheduler",), _chosen),
    _DiskFact("read_ahead_bytes", ("queue/read_ahead_kb",), _kibibytes),
    _DiskFact("rotational", ("queue/rotational",), _is_set),
    _DiskFact("max_io_bytes", ("queue/max_sectors_kb",), _kibibytes),
    _DiskFact("vendor", ("device/vendor",), _words),
    _DiskFact("model", ("device/model",), _words),
    _DiskFact("serial", ("device/serial", "serial"), _words),
    _DiskFact("firmware", ("device/firmware_rev", "device/rev"), _words),
)


def whole(device: str, machine: Machine) -> str:
    """The disk that holds a partition; any other device itself."""
    if not machine.exists(f"{BLOCK}/{device}/partition"):
        return device
    # The link of a partition leads to a folder within that of its disk.
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
    disks: set[str] = set()
    for part in parts:
        disks |= physical(part, machine)
    return frozenset(disks)


def facts(device: str, machine: Machine) -> dict[str, Any]:
    """What a reader must know of a device and its `members`, as far as it can be read."""
    disk = whole(device, machine)
    device_facts: dict[str, Any] = {"device": device, "disk": disk}
    with suppress(OSError, ValueError):
        sectors = int(machine.read(f"{BLOCK}/{device}/size"))
        device_facts["size_bytes"] = sectors * _SECTOR_BYTES
    for fact in _DISK_FACTS:
        for file in fact.files:
            with suppress(OSError, ValueError):
                text = machine.read(f"{BLOCK}/{disk}/{file}")
                device_facts[fact.name] = fact.parse(text)
                break
    with suppress(OSError):
        device_facts["volume"] = _mapped_volume(disk, machine)
    with suppress(OSError):
        device_facts["array"] = _array(disk, machine)
    parts = members(device, machine)
    if parts:
        device_facts["members"] = {part: facts(part, machine) for part in parts}
    return device_facts


def _mapped_volume(disk: str, machine: Machine) -> dict[str, str]:
    """The volume of LVM, whose uuids begin so, or of another mapper. OSError if it is
    none."""
    name = machine.read(f"{BLOCK}/{disk}/dm/name").strip()
    # The uuid begins with the mapper's name: `LVM-…`, `CRYPT-…`.
    mapper = machine.read(f"{BLOCK}/{disk}/dm/uuid").strip().partition("-")[0]
    return {"name": name, "kind": mapper or "mapped"}


def _array(disk: str, machine: Machine) -> dict[str, Any]:
    """The array of md. OSError if it is none."""
    array: dict[str, Any] = {"level": machine.read(f"{BLOCK}/{disk}/md/level").strip()}
    # Arrays of some levels have no chunks.
    with suppress(OSError, ValueError):
        array["chunk_bytes"] = int(machine.read(f"{BLOCK}/{disk}/md/chunk_size"))
    return array


def made_of(device_facts: Mapping[str, Any]) -> str:
    """What a device is made of, from its `facts`: "raid0 of sdc, sdd"; "" for a disk."""
    parts = device_facts.get("members") or {}
    if not parts:
        return ""
    names: list[str] = []
    for name, part in parts.items():
        names.append(_named_part(name, part))
    return f"{_kind(device_facts)} of {', '.join(names)}"


def _named_part(name: str, part_facts: Mapping[str, Any]) -> str:
    below = made_of(part_facts)
    if below:
        return f"{name} ({below})"
    return name


def _kind(device_facts: Mapping[str, Any]) -> str:
    array = device_facts.get("array") or {}
    if array.get("level"):
        return str(array["level"])
    volume = device_facts.get("volume") or {}
    return f"{volume.get('kind', 'mapped')} volume {volume.get('name', '')}".strip()


def counters_by_device(machine: Machine) -> dict[str, dict[str, float]]:
    """Every device of the machine → its counters and gauges now, by metric."""
    counters: dict[str, dict[str, float]] = {}
    for device, row in counter_rows(machine).items():
        counters[device] = {metric: value for metric, _, value in readings(row)}
    return counters


def counter_rows(machine: Machine) -> dict[str, list[int]]:
    """Device → its fields after the name."""
    rows: dict[str, list[int]] = {}
    for line in machine.read(DISKSTATS).splitlines():
        words = line.split()
        # Kernels before 4.18 have eleven counters behind the name; later ones only add to these.
        if len(words) >= 14:
            # An array has a line of its own, and its members count the same I/O again.
            rows[words[2]] = [int(number) for number in words[3:]]
    return rows


def readings(row: Sequence[int]) -> Iterator[tuple[str, str, float]]:
    """(metric, unit, value) of one device, of what its kernel counts."""
    # Older kernels count less: flushes since 5.5.
    for metric, (field, unit, times) in shipped(__package__, "counters.yaml").items():
        if field < len(row):
            yield metric, unit, row[field] * times
