"""A host by its node_exporter: its size, its network, which disks hold a database's directories."""

import re
from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from orchestrator.databases.existing import declaration, servers
from orchestrator.system.sql import Session
from orchestrator.units import listed
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
    sizes = [
        int(sample.value) for sample in _samples(body, "node_memory_MemTotal_bytes")
    ]
    if sizes and sizes[0] > 0:
        return sizes[0]
    return None


def has_pressure(body: str) -> bool:
    return bool(_samples(body, "node_pressure_io_waiting_seconds_total"))


def cards(body: str) -> dict[str, float]:
    """Network cards with a link → bytes/s of each, 0 if it does not say: of the collector netclass,
    as the kernel's sysfs-class-net has it. What is made of others (a VLAN, a bridge, an end of a
    pair) is none, or each byte would count again; a bundle is one, and what is in it is not."""
    of_device = dict[str, dict[str, float]]()
    known = dict[str, float]()
    for sample in _samples(body, "node_network_"):
        of = of_device.setdefault(sample.labels["device"], {})
        of[sample.name.removeprefix("node_network_")] = sample.value
    for device, of in of_device.items():
        flags = int(of.get("flags", 0))
        has_link = of.get("carrier") == 1
        apart = of.get("iface_id") == of.get("iface_link") and not flags & _IN_BUNDLE
        own = (
            flags & _BUNDLE or of.get("address_assign_type") == 0
        )  # a bridge's is drawn or given
        if has_link and apart and own and of.get("protocol_type") in _CARDS:
            known[device] = max(of.get("speed_bytes", 0.0), 0.0)
    return known


def device_of(body: str, path: str) -> str | None:
    """The disk in the page whose file system holds `path`; a partition counts as its whole disk.
    None if none is known, as of `/dev/root`, or of a file system on no disk."""
    systems = [sample.labels for sample in _samples(body, "node_filesystem_size_bytes")]
    mounts = {of["mountpoint"]: of["device"].removeprefix("/dev/") for of in systems}
    above = [
        mount for mount in mounts if f"{path}/".startswith(f"{mount.rstrip('/')}/")
    ]
    if not above:
        return None
    name = mounts[max(above, key=len)]
    for sample in _samples(
        body, "node_disk_device_mapper_info"
    ):  # /dev/mapper/data → dm-0
        if name == f"mapper/{sample.labels['name']}":
            name = sample.labels["device"]
    partition = _PARTITION.fullmatch(name)
    reads = _samples(body, "node_disk_reads_completed_total")
    disks = {sample.labels["device"] for sample in reads}
    known = [name, *(partition.groups() if partition else ())]
    return next((disk for disk in known if disk in disks), None)


def _samples(body: str, begin: str) -> list[Sample]:
    families = text_string_to_metric_families(body)
    return [
        of for family in families for of in family.samples if of.name.startswith(begin)
    ]


@dataclass(frozen=True)
class Places:
    """Directories of a server, as it names them: of its data, and of its log. Empty: unknown."""

    data: tuple[str, ...] = ()
    wal: tuple[str, ...] = ()


@dataclass(frozen=True)
class HostDisks:
    """Devices of one host, as its counters are named. `not_counted`: what else it has, in words;
    `on_root`: whether they were found below `/`, where all directories of containers seem to be."""

    data: tuple[str, ...] = ()
    wal: str | None = None
    not_counted: str = ""
    on_root: bool = False


def places(
    declared: declaration.Existing, number: int, session: Session | None
) -> Places:
    """Of host `number` (from 0). `session`: with a PostgreSQL, which may not show them to every
    user. OSError or RunError if a server does not answer."""
    if not declared.node_exporters:
        return Places()
    if declared.data_path:
        path = declared.data_path  # of a PostgreSQL its log may be mounted below it
        return Places((path,), (f"{path}/pg_wal",))
    if declared.tservers:
        flags = pages.flags(declared.tservers[number])
        data, wal = (
            _words(flags.get(name, "")) for name in ("fs_data_dirs", "fs_wal_dirs")
        )
        return Places(data, wal or data)
    if session is not None:
        tables, log = servers.places(session)
        return Places(_words(tables), _words(log))
    return Places()


def _words(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def of_host(
    declared: declaration.Existing, number: int, where: Places, page: str
) -> HostDisks:
    """`page`: of node_exporter, with its collectors filesystem and diskstats. A declared device is
    believed, because a directory may have another name outside of a container."""
    disk_of = {path: device_of(page, path) for path in (*where.data, *where.wal)}
    data, logs = (
        dict.fromkeys(filter(None, map(disk_of.get, p)))
        for p in (where.data, where.wal)
    )
    own = declaration.device(declared, number)
    counted = tuple(data)
    if own:
        counted = (own,)
    if not counted:
        return HostDisks()
    wal = [name for name in logs if name not in (*data, *counted)]
    lost = [
        f"{path} is on no disk that its node_exporter shows, and does not count"
        for path, disk in disk_of.items()
        if disk is None and not own
    ]
    if len(counted) > 1:
        lost.append(
            f"{listed(counted)} hold its data: neither is held to the tier's limits"
        )
    if own and len(data) > 1:
        lost.append(f"{listed(list(data))} hold its data, and only {own} counts")
    if len(wal) > 1:
        lost.append(f"{listed(wal)} hold its log, and do not count")
    on_root = not own and device_of(page, "/") in data
    return HostDisks(
        counted, wal[0] if len(wal) == 1 else None, "; ".join(lost), on_root
    )
