"""A database node in a container, from what it is started from to what the record has of it.

Databases ask for their containers alike (`container_of_node`). Clients reach a node by its
`endpoint`, with a password made for this start. Collectors and the record know it as a `Node`
(`node_records`).
"""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from orchestrator import powers
from orchestrator.errors import TierbenchError
from orchestrator.kernel import mounts
from orchestrator.model import (
    TLS_IF_OFFERED,
    ClusterSpec,
    Endpoint,
    Node,
    Tls,
    Volume,
)
from orchestrator.platforms.common.node_records import as_node
from orchestrator.powers import UNLIMITED, Container, ContainerSpec, World
from orchestrator.system import redaction

USER = "bench"
DATABASE = "bench"
LOOK_S = 20.0
LIST_MOUNTS = ("cat", "/proc/self/mountinfo")


def new_password() -> str:
    """A password for one start of one cluster."""
    # Any local user can reach its port, and kept disks outlive it. It goes through environments and
    # SQL. All users of a machine can read a command line.
    password = secrets.token_hex(16)
    redaction.remember(password)
    return password


def container_of_node(
    spec: ClusterSpec,
    number: int,
    volume: Volume,
    network: powers.Network,
    image: str,
    command: tuple[str, ...],
    places: Sequence[str],
) -> ContainerSpec:
    """The container of node `number`, counted from 1, with what all databases ask for alike.

    `places`: where the container mounts its disk, then the disk of its WAL, if it has one.
    """
    disk_mounts: list[powers.Mount] = []
    disks = (volume.name, volume.wal)
    # There are fewer places than disks if a database has no disk for its WAL.
    for disk, place in zip(disks, places, strict=False):
        if disk:
            disk_mounts.append(powers.Mount(disk, place))
    address = network.addresses[number - 1]
    return ContainerSpec(
        name=f"{network.name}-node-{number}",
        image=image,
        command=command,
        role="database",
        mounts=tuple(disk_mounts),
        network=network.name,
        address=address,
        cpus=spec.size.cpus,
        memory_bytes=spec.size.memory_bytes,
        placement=f"node-{number}",
    )


def short_limits(asked_for: ContainerSpec, container: Container) -> str:
    """Which limits of the container's processes are below what was asked for; "" if none is known
    to be.

    yugabyted only warns of it, and a tablet server with many sessions fails later.
    """
    low: list[str] = []
    for name, least in asked_for.ulimits.items():
        limit = container.ulimits.get(name, UNLIMITED)
        if limit != UNLIMITED and int(limit) < least:
            low.append(f"{name} {limit} instead of {least}")
    return ", ".join(low)


def endpoint(
    container: Container, port: int, password: str, tls: Tls = TLS_IF_OFFERED
) -> Endpoint:
    """The node's SQL: at the container's own address, and from here at a published port."""
    return Endpoint(
        host=container.address or container.name,
        port=port,
        local_host=container.host,
        local_port=container.ports[port],
        user=USER,
        password=password,
        database=DATABASE,
        tls=tls,
    )


def node_records(
    specs: Sequence[ContainerSpec],
    volumes: Sequence[Volume],
    started: Sequence[Container],
    world: World,
) -> Iterator[Node]:
    """Nodes as `node_record`, in the order in which they were started."""
    for number, container in enumerate(started, start=1):
        asked_for = specs[number - 1]
        volume = volumes[number - 1]
        yield node_record(number, asked_for, volume, container, world)


def node_record(
    number: int,
    asked_for: ContainerSpec,
    volume: Volume,
    container: Container,
    world: World,
    sources: Mapping[str, str] | None = None,
) -> Node:
    """Node `number`, counted from 1, as collectors and the record need it."""
    devices = _devices(asked_for, volume, world)
    return as_node(
        container,
        f"node-{number}",
        "database",
        device=devices.get(volume.name),
        wal_device=devices.get(volume.wal),
        cpus=asked_for.cpus,
        memory_bytes=asked_for.memory_bytes,
        sources=sources or {},
    )


def _devices(
    asked_for: ContainerSpec, volume: Volume, world: World
) -> dict[str, str | None]:
    """The block devices of a node's disks, by the names that its `volume` has for them: of its
    data, and of its WAL. None, or no entry, if one is not known.

    There is no telemetry of that disk then.
    """
    # The device of a claim (Kubernetes) is known only where it is mounted.
    if volume.placement and not volume.device:
        return _mounted_devices(asked_for, world)
    devices: dict[str, str | None] = {}
    if volume.wal:
        devices[volume.wal] = volume.wal_device.removeprefix("/dev/") or None
    # Last, because both may be directories of one disk: it is then that of the data.
    if volume.name:
        devices[volume.name] = volume.device.removeprefix("/dev/") or None
    return devices


def _mounted_devices(asked_for: ContainerSpec, world: World) -> dict[str, str | None]:
    """The device of each volume that the container has, where it has one below /dev."""
    device_at: dict[str, str | None] = {}
    # A run without telemetry of the disk is doubted; one that is refused says nothing at all.
    with suppress(TierbenchError, OSError):
        container = world.platform.container(asked_for.name)
        listed = container.exec(LIST_MOUNTS, timeout_s=LOOK_S)
        for mount_point in mounts.parsed(listed.out):
            device_at[mount_point.path] = _below_dev(mount_point.source)
    devices: dict[str, str | None] = {}
    for mount in asked_for.mounts:
        devices[mount.source] = device_at.get(mount.target)
    return devices


def _below_dev(path: str) -> str | None:
    """The name of a device directly below /dev; None for what is none."""
    name = path.removeprefix("/dev/")
    if name == path or "/" in name:
        return None
    return name
