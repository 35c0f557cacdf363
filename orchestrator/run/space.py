"""Whether the machines have the space and the memory that a plan takes.

Nodes are spread evenly over the machines, so each must have room for its share.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from orchestrator.errors import UnavailableError
from orchestrator.model import Plan, Profile, Workload
from orchestrator.parts import TakesSpace, TierMechanism
from orchestrator.planning import disk_matrix, node_disks
from orchestrator.platforms.common.machines import of_nodes, on
from orchestrator.powers import Machine, World
from orchestrator.units import format_bytes

# What an empty XFS takes of a sparse file: 91 MiB of one of 250 GB, most of it its log.
_FILE_SYSTEM_BYTES = 128 * 2**20


@dataclass(frozen=True)
class Need:
    """What the runs of a profile take at once on one machine, against what is there: `place` is a
    folder, or None for its memory. `machine`: its name, if there are several. A disk's nominal size
    is an upper bound: a data set uses roughly what its disk is sized for."""

    profile: str
    what: str
    place: str | None
    needed_bytes: int
    free_bytes: int
    machine: str = ""

    @property
    def is_met(self) -> bool:
        return self.needed_bytes <= self.free_bytes

    def __str__(self) -> str:
        on = f" of {self.machine}" if self.machine else ""
        has = (
            f"{self.machine or 'this machine'} has"
            if self.place is None
            else f"{self.place}{on} has"
        )
        free = "" if self.place is None else " free"
        return (
            f"{self.profile} needs {format_bytes(self.needed_bytes)} {self.what}; "
            f"{has} {format_bytes(self.free_bytes)}{free}"
        )


def check_space(plan: Plan, tiers: Mapping[str, TierMechanism], world: World) -> None:
    """UnavailableError if the disks of one run could not even hold the data they are sized for, or
    a machine has less memory than its nodes are given. Others' clusters need neither here."""
    for need in needs(plan, tiers, world):
        if not need.is_met:
            elsewhere = ", or put the cache elsewhere (TIERBENCH_CACHE)" if need.place else ""
            advice = f"take a smaller SCALE or fewer NODES{elsewhere}"
            raise UnavailableError(str(need), advice=advice)


def needs(plan: Plan, tiers: Mapping[str, TierMechanism], world: World) -> Iterator[Need]:
    """Space and memory of each profile, as far as they can be seen from here."""
    for profile in plan.profiles:
        mechanism = tiers[profile.tier.disk.enforcement]
        if not isinstance(mechanism, TakesSpace):
            continue
        of_databases = [workload for workload in plan.workloads if workload.database is None]
        for workload in of_databases[:1]:  # all of them alike: what counts is the disks' size
            yield from _disks(profile, workload, mechanism, world)
            yield from _memory(profile, world)
        for workload in plan.workloads:
            if workload.database is not None:
                yield from _disks(profile, workload, mechanism, world)


def _disks(
    profile: Profile, workload: Workload, mechanism: TakesSpace, world: World
) -> Iterator[Need]:
    nodes, each_bytes = profile.cluster.nodes, profile.cluster.size.disk_bytes
    what = f"for the disks of {_counted(nodes)}"
    if workload.database is not None:  # one disk with one file, however large the disk
        nodes, each_bytes = 1, disk_matrix.file_bytes(workload) + _FILE_SYSTEM_BYTES
        what = f"for the file of {workload.name}"
    if any(one.machine for one in profile.tier.disk.of_nodes.values()):
        yield from _apart(profile, nodes, each_bytes, mechanism, world)
        return
    machines = of_nodes(world.platform)
    for place, copies in mechanism.places(profile.tier, nodes, world).items():
        needed_bytes = math.ceil(copies / len(machines)) * each_bytes
        for machine in machines:
            with suppress(OSError):  # it cannot be seen from here
                free_bytes = machine.free_bytes(str(place))
                name = _named(machine, machines)
                yield Need(profile.name, what, str(place), needed_bytes, free_bytes, name)


def _apart(
    profile: Profile, nodes: int, each_bytes: int, mechanism: TakesSpace, world: World
) -> Iterator[Need]:
    """Of real disks that are on the machines of their nodes."""
    for node in node_disks.node_names(nodes):
        alone, there = node_disks.alone(profile.tier, node), on(node, world)
        what, name = f"for the disk of {node}", there.machine.name
        for place, copies in mechanism.places(alone, 1, there).items():
            with suppress(OSError):
                free_bytes = there.machine.free_bytes(str(place))
                needed_bytes = copies * each_bytes
                yield Need(profile.name, what, str(place), needed_bytes, free_bytes, name)


def _memory(profile: Profile, world: World) -> Iterator[Need]:
    cluster, machines = profile.cluster, of_nodes(world.platform)
    nodes = math.ceil(cluster.nodes / len(machines))
    for machine in machines:
        if (installed := machine.facts().memory_bytes) > 0:
            what = f"of memory for {_counted(nodes)}"
            name, needed_bytes = _named(machine, machines), nodes * cluster.size.memory_bytes
            yield Need(profile.name, what, None, needed_bytes, installed, name)


def _named(machine: Machine, machines: Sequence[Machine]) -> str:
    return machine.name if len(machines) > 1 else ""


def _counted(nodes: int) -> str:
    return "1 node" if nodes == 1 else f"{nodes} nodes"
