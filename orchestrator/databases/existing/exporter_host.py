"""A host by its node_exporter: its size, its network, which disks hold a database's directories."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from orchestrator.databases.existing import declaration, servers
from orchestrator.system.sql import Session
from orchestrator.texts.prose import listed
from orchestrator.yugabyte import pages

# Bits of an interface's flags (netdevice(7)), and its types that are cards: Ethernet, InfiniBand.
_BUNDLE = 0x400
_IN_BUNDLE = 0x800
_CARDS = (1.0, 32.0)
_PARTITION = re.compile(r"(?:(.*\d)p|(.*\D))\d+")  # nvme0n1p1, sda1


def processors(body: str) -> float | None:
    cpus = {sample.labels["cpu"] for sample in _samples(body, "node_cpu_seconds_total")}
    return float(len(cpus)) or None


def memory_bytes(body: str) -> int | None:
    samples = _samples(body, "node_memory_MemTotal_bytes")
    if not samples:
        return None
    size_bytes = int(samples[0].value)
    if size_bytes > 0:
        return size_bytes
    return None


def has_pressure(body: str) -> bool:
    return bool(_samples(body, "node_pressure_io_waiting_seconds_total"))


def cards(body: str) -> dict[str, float]:
    """Network cards with a link → bytes/s of each, 0 if it does not say: of the collector netclass,
    as the kernel's sysfs-class-net has it."""
    by_device: dict[str, dict[str, float]] = {}
    for sample in _samples(body, "node_network_"):
        facts = by_device.setdefault(sample.labels["device"], {})
        facts[sample.name.removeprefix("node_network_")] = sample.value
    bytes_per_s: dict[str, float] = {}
    for device, facts in by_device.items():
        if facts.get("carrier") == 1 and _is_card(facts):
            bytes_per_s[device] = max(facts.get("speed_bytes", 0.0), 0.0)
    return bytes_per_s


def _is_card(facts: Mapping[str, float]) -> bool:
    """Whether it is hardware, or a bundle of it. What is made of others (a VLAN, a bridge, an end
    of a pair) is none."""
    # Each byte would count again otherwise: only the whole of a bundle counts.
    flags = int(facts.get("flags", 0))
    if facts.get("iface_id") != facts.get("iface_link") or flags & _IN_BUNDLE:
        return False
    # The address of a bridge is drawn or given, and not the hardware's.
    has_own_address = facts.get("address_assign_type") == 0
    if not flags & _BUNDLE and not has_own_address:
        return False
    return facts.get("protocol_type") in _CARDS


def device_of(body: str, path: str) -> str | None:
    """The disk in the page whose file system holds `path`; a partition counts as its whole disk.
    None if none is known, as of `/dev/root`, or of a file system on no disk."""
    name = _file_system_of(body, path)
    if name is None:
        return None
    for sample in _samples(body, "node_disk_device_mapper_info"):
        if name == f"mapper/{sample.labels['name']}":  # /dev/mapper/data → dm-0
            name = sample.labels["device"]
    reads = _samples(body, "node_disk_reads_completed_total")
    disks = {sample.labels["device"] for sample in reads}
    # Counters are compared with the disk's limits, which all its partitions share.
    candidates = [name]
    partition = _PARTITION.fullmatch(name)
    if partition:
        candidates += partition.groups()
    for disk in candidates:
        if disk in disks:
            return disk
    return None


def _file_system_of(body: str, path: str) -> str | None:
    """The device, below /dev, of the deepest mounted file system that holds `path`."""
    devices: dict[str, str] = {}
    for sample in _samples(body, "node_filesystem_size_bytes"):
        device = sample.labels["device"].removeprefix("/dev/")
        devices[sample.labels["mountpoint"]] = device
    mounts_above: list[str] = []
    for mount in devices:
        if f"{path}/".startswith(f"{mount.rstrip('/')}/"):
            mounts_above.append(mount)
    if not mounts_above:
        return None
    return devices[max(mounts_above, key=len)]


def _samples(body: str, begin: str) -> list[Sample]:
    """The samples of a page whose names begin so."""
    samples: list[Sample] = []
    for family in text_string_to_metric_families(body):
        for sample in family.samples:
            if sample.name.startswith(begin):
                samples.append(sample)
    return samples


@dataclass(frozen=True)
class Places:
    """Directories of a server, as it names them: of its data, and of its log. Empty: unknown."""

    data: tuple[str, ...] = ()
    wal: tuple[str, ...] = ()


@dataclass(frozen=True)
class HostDisks:
    """Devices of one host, as its counters are named."""

    data: tuple[str, ...] = ()
    wal: str | None = None
    not_counted: str = ""  # its other disks, in words
    # Whether they were found below `/`, where all directories of containers seem to be.
    on_root: bool = False


def places(
    declared: declaration.Existing, number: int, session: Session | None
) -> Places:
    """Where host `number` (from 0) keeps its data and its log.

    `session`: with a PostgreSQL, which may not show this to every user. OSError or RunError if a
    server does not answer.
    """
    if not declared.node_exporters:
        return Places()
    # The declared path is believed: a server in a container names a path within that.
    if declared.data_path:
        path = declared.data_path  # a PostgreSQL's log may be mounted below it
        return Places((path,), (f"{path}/pg_wal",))
    if declared.tservers:
        flags = pages.flags(declared.tservers[number])
        data = flags.get("fs_data_dirs", "")
        wal = flags.get("fs_wal_dirs", "") or data
        return Places(_words(data), _words(wal))
    if session is not None:
        data, wal = servers.places(session)
        return Places(_words(data), _words(wal))
    return Places()


def _words(text: str) -> tuple[str, ...]:
    parts = [part.strip() for part in text.split(",")]
    return tuple(part for part in parts if part)


def of_host(
    declared: declaration.Existing, number: int, where: Places, page: str
) -> HostDisks:
    """The disks of host `number` (from 0), of which one counts as the tier's and one as its log's.

    `where`: its directories. `page`: of its node_exporter, with the collectors filesystem and
    diskstats.
    """
    disk_of = {path: device_of(page, path) for path in (*where.data, *where.wal)}
    data = _disks_of(where.data, disk_of)
    logs = _disks_of(where.wal, disk_of)
    # A declared device is believed: a directory may have another name outside of a container.
    device = declaration.device(declared, number)
    counted = data
    if device:
        counted = (device,)
    log_device = declaration.wal_device(declared, number)
    if not counted:
        return HostDisks(wal=log_device)
    # A log on a disk of the data is counted with the data. As a log's disk it would be held against
    # the WAL's limits with all I/Os of the data.
    disks_of_data = {*data, *counted}
    wal = [name for name in logs if name not in disks_of_data]
    if log_device and log_device not in disks_of_data:
        wal = [log_device]
    not_counted = "; ".join(_not_counted(device, disk_of, data, wal))
    # All directories within a container seem to be below the machine's `/`.
    on_root = not device and device_of(page, "/") in data
    only_wal = None
    if len(wal) == 1:
        only_wal = wal[0]
    return HostDisks(counted, only_wal, not_counted, on_root)


def _not_counted(
    device: str | None,
    disk_of: Mapping[str, str | None],
    data: Sequence[str],
    wal: Sequence[str],
) -> Iterator[str]:
    """What else a host has. `device`: the declared one; `data`, `wal`: the disks of these."""
    if not device:
        yield from _on_no_disk(disk_of)
        if len(data) > 1:
            yield f"{listed(data)} hold its data, and no single one has the tier's limits"
    elif len(data) > 1:
        yield f"{listed(data)} hold its data, and only {device} counts"
    if len(wal) > 1:
        yield f"{listed(wal)} hold its log, and do not count"


def _disks_of(
    paths: Sequence[str], disk_of: Mapping[str, str | None]
) -> tuple[str, ...]:
    """The disks of these directories, each once; some may be on none."""
    disks: dict[str, None] = {}
    for path in paths:
        disk = disk_of[path]
        if disk:
            disks[disk] = None
    return tuple(disks)


def _on_no_disk(disk_of: Mapping[str, str | None]) -> Iterator[str]:
    for path, disk in disk_of.items():
        if disk is None:
            yield f"{path} is on no disk that its node_exporter shows, and does not count"
