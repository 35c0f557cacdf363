"""The protocol of a tier mechanism, which makes the disks of a tier, and what only some can do."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from orchestrator.facts import TriedLimit
from orchestrator.model import (
    Node,
    Volume,
)
from orchestrator.parts.kept_data import KeptData, NodesData
from orchestrator.powers import Machine, World
from orchestrator.tier import DiskKind, Gate, Tier
from orchestrator.tier.slow_disk import SlowDisk

# Each sets a limit to so many times the tier's.
Levers = Mapping[TriedLimit, Callable[[float], None]]


@dataclass(frozen=True)
class Disks:
    """The disks of one run: one volume per node; facts: mechanism, versions, blind spots."""

    volumes: tuple[Volume, ...]
    facts: Mapping[str, Any]

    @property
    def servers(self) -> tuple[Node, ...]:
        """What serves the disks of data and WAL, if they are ours, node by node."""
        servers: list[Node] = []
        for volume in self.volumes:
            for server in (volume.server, volume.wal_server):
                if server is not None:
                    servers.append(server)
        return tuple(servers)


@dataclass(frozen=True)
class ChangedLimits:
    """How the limits of attached disks are changed while they are used.

    `slow` and `restore` return what the disk then enforces, by the names that it has for it;
    GateError if that is something else.
    """

    # Takes them away.
    lift: Callable[[Tier, Disks, World], None]
    # Sets the tier's limits and burst credit again, and does `require_enforced`.
    enforce: Callable[[Tier, Disks, World], None]
    # Reads all limits back: GateError if a disk enforces others than the tier's.
    require_enforced: Callable[[Tier, Disks, World], None]
    # Levers for the limits of the disks of data, of those of the WAL, and of what disks share, as
    # far as the tier declares them.
    levers: Callable[[Tier, Disks, World], Levers]
    # Makes one disk of a node slow; `restore` gives it the limits of its tier again.
    slow: Callable[[Tier, Disks, SlowDisk, World], Mapping[str, float]]
    restore: Callable[[Tier, Disks, SlowDisk, World], Mapping[str, float]]


@dataclass(frozen=True)
class GatesOfMachines:
    """How disks are gated that are made where their nodes run: each such machine has a gate."""

    # (placement, tier, world, thorough): `TierMechanism.gate` of a disk on the machine that runs
    # the placement.
    take: Callable[[str, Tier, World, bool], Gate]
    # (nodes, world): the machine that runs each node, in their order.
    machines_of_nodes: Callable[[int, World], Sequence[Machine]]


class ServedDisk(Protocol):
    """A disk that a server of ours emulates, while a run is measured."""

    @property
    def name(self) -> str:
        """The server's name."""

    def begin(self) -> None:
        """Reads its counters when a load begins, in case it never says when its window does."""

    def begin_window(self) -> None:
        """Sets the burst credit with which a window begins, and reads its counters."""

    def end(self) -> None:
        """Reads its counters for the last time; nothing if it has done so."""

    def facts(self) -> dict[str, Any]:
        """Returns what both readings say of the window; empty if nothing could be read."""


@dataclass(frozen=True)
class TierAbilities:
    """What a tier mechanism can do beside making disks. None: it cannot."""

    # Loaded disks are kept, and restored for each run. Without it every run loads.
    kept_data: KeptData | None = None
    # The limits of attached disks can be lifted while nothing is measured, and changed.
    limits: ChangedLimits | None = None
    # (machine, world): a passed gate may be used again while all that this returns is unchanged;
    # the tier's limits and the machine itself are added to it. OSError or TierbenchError if the
    # disk of its files is not seen: then the gate is not kept.
    kept_gate: Callable[[Machine, World], Mapping[str, Any]] | None = None
    # Its disks are as good as the machine of their node.
    gates_of_machines: GatesOfMachines | None = None
    # The gate of a disk whose burst credit was used up by load, which is held to its base limits
    # alone.
    drained_gate: Callable[[Tier, World, bool], Gate] | None = None
    # (tier, nodes, world): its disks take space on the machines that run the nodes. Folder → how
    # many times it holds the data of one node.
    places: Callable[[Tier, int, World], Mapping[Path, int]] | None = None
    # (tier, volumes, world): servers of ours play its disks; their counters are read around the
    # window, and burst credit is set at its begin.
    served_disks: (
        Callable[[Tier, Sequence[Volume], World], Sequence[ServedDisk]] | None
    ) = None


class TierMechanism(Protocol):
    """One way to make a disk tier true. `kind`: what a reader must take its disks for; it decides
    what a profile must declare, what is doubted, and the words of the report."""

    name: str
    kind: DiskKind

    @property
    def abilities(self) -> TierAbilities:
        """What it can do beside this."""
        return TierAbilities()

    def check(self, tier: Tier, world: World) -> None:
        """UsageError or UnavailableError if this cannot work here. Starts nothing that stays."""
        return

    def attached(
        self, tier: Tier, data: NodesData, world: World
    ) -> AbstractContextManager[Disks]:
        """One volume per node, empty or restored from snapshots, which are given only to one that
        has `kept_data`; limits applied and read back."""

    def gate(self, tier: Tier, world: World, thorough: bool) -> Gate:
        """Holds the tier's declared limits against fio on a device like those of `attached`."""
        return Gate(tier.name, world.clock.now(), checks=())
