"""A second disk for each node, which holds only its WAL, beside the one of its data.

It has limits, counters and a gate of its own, by the tier that the profile names as `wal`, and if
it is emulated a server. A node has both as one volume."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.model import Volume
from orchestrator.parts import Disks
from orchestrator.tier import LOG_DISK, Gate, Tier

_OVERHEADS = "overhead_us"


@dataclass(frozen=True)
class ServedTier:
    """A tier, and the containers that serve its disks, node by node."""

    tier: Tier
    containers: tuple[str, ...]


def data_of_nodes(tier: Tier, disks: Disks) -> ServedTier:
    """The disks that hold the nodes' data."""
    containers: list[str] = []
    for volume in disks.volumes:
        if volume.server is not None and volume.server.container:
            containers.append(volume.server.container)
    return ServedTier(tier, tuple(containers))


def data_and_logs(tier: Tier, disks: Disks) -> tuple[ServedTier, ...]:
    """The disks that hold the nodes' data, and those of their WAL if it has some."""
    data = data_of_nodes(tier, disks)
    if tier.wal is None:
        return (data,)
    containers: list[str] = []
    for volume in disks.volumes:
        if volume.wal_server is not None and volume.wal_server.container:
            containers.append(volume.wal_server.container)
    return (data, ServedTier(as_served(tier.wal, tier), tuple(containers)))


def as_served(wal: Tier, tier: Tier) -> Tier:
    """The tier of the logs' disks, which share with those of `tier` what their machine lets
    through."""
    return replace(wal, machine=tier.machine)


def log_of(volume: Volume) -> Volume:
    """The disk of a node's WAL, as a volume."""
    return replace(
        volume,
        name=volume.wal,
        device=volume.wal_device,
        server=volume.wal_server,
        wal="",
        wal_device="",
        wal_server=None,
    )


def on_nodes(volumes: Sequence[Volume], logs: Sequence[Volume]) -> tuple[Volume, ...]:
    """The volume of each node with the one of its WAL, in the order of the nodes."""
    both: list[Volume] = []
    for volume, log in zip(volumes, logs, strict=True):
        whole = replace(
            volume, wal=log.name, wal_device=log.device, wal_server=log.server
        )
        both.append(whole)
    return tuple(both)


def together(data: Disks, logs: Disks) -> Disks:
    """The disks of the nodes, with the facts of both; those of the WAL's are under `wal`."""
    of_logs: dict[str, Any] = dict(logs.facts)
    overheads: dict[str, Any] = {}
    overheads |= data.facts.get(_OVERHEADS, {})
    # Each disk's overhead stands under its server's name, so those of both fit in one table.
    overheads |= of_logs.pop(_OVERHEADS, {})
    facts = {**data.facts, _OVERHEADS: overheads, "wal": of_logs}
    return Disks(on_nodes(data.volumes, logs.volumes), facts)


def one_gate(data: Gate, log: Gate) -> Gate:
    """The gates of both disks as one: the checks of the log's say so."""
    checks = list(data.checks)
    for check in log.checks:
        checks.append(replace(check, disk=LOG_DISK, holds_log_alone=True))
    # A disk that was checked on a busy machine may have failed for that alone: the worse counts.
    busy_pct = max(_busy_pct(data.device), _busy_pct(log.device))
    device = {**data.device, "wal": dict(log.device), "host_cpu_pct": busy_pct}
    return replace(data, checks=tuple(checks), device=device)


def _busy_pct(device: Mapping[str, Any]) -> float:
    """How busy the machine was during the gate."""
    return float(device.get("host_cpu_pct", 0.0))
