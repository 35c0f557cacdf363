"""What runs need of machines, space and memory, against what is there."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from orchestrator.design import disk_matrix, node_disks
from orchestrator.design.used_profiles import as_used
from orchestrator.errors import UnavailableError
from orchestrator.model import Plan, Profile, Workload
from orchestrator.parts import TierMechanism
from orchestrator.planning import data_sizes
from orchestrator.powers import Machine, World
from orchestrator.texts.prose import counted
from orchestrator.tier import Tier
from orchestrator.units import format_bytes

# The least share of installed memory that Linux reports: 31 of 32 GiB.
TOLD_OF_INSTALLED = 0.94
# Memory for the load client, the disk server and the operating system, beside the nodes.
BESIDE_NODES_BYTES = 2**30
# Space that an empty XFS takes of a sparse file. It took 91 MiB of one of 250 GB, mostly its log.
_FILE_SYSTEM_BYTES = 128 * 2**20


@dataclass(frozen=True)
class Need:
    """What the runs of a profile take at once on one machine, against what is there.

    `place` is a folder, or None for its memory. `machine`: its name, if there are several.
    A disk's nominal size is an upper bound: a data set uses roughly what its disk is sized
    for.
    """

    profile: str
    what: str
    place: str | None
    needed_bytes: int
    free_bytes: int
    machine: str = ""

    @property
    def is_met(self) -> bool:
        needed_bytes: float = self.needed_bytes
        if self.place is None:
            # A node given all of a machine of 32 GiB is not refused because Linux tells of 31.
            needed_bytes = self.needed_bytes * TOLD_OF_INSTALLED
        return needed_bytes <= self.free_bytes

    def __str__(self) -> str:
        needs = f"{self.profile} needs {format_bytes(self.needed_bytes)} {self.what}"
        has = format_bytes(self.free_bytes)
        if self.place is None:
            return f"{needs}; {self.machine or 'this machine'} has {has}"
        place = self.place
        if self.machine:
            place += f" of {self.machine}"
        return f"{needs}; {place} has {has} free"


def check_space(plan: Plan, tiers: Mapping[str, TierMechanism], world: World) -> None:
    """UnavailableError if the disks of one run could not even hold the data they are sized
    for, or a machine has less memory than its nodes are given. Others' clusters need neither
    here."""
    for need in needs(plan, tiers, world):
        if not need.is_met:
            raise _unmet(need)


def _unmet(need: Need) -> UnavailableError:
    elsewhere = ""
    if need.place:
        elsewhere = ", or put the cache elsewhere (TIERBENCH_CACHE)"
    advice = f"take a smaller --scale or fewer --nodes{elsewhere}"
    return UnavailableError(str(need), advice)


def needs(
    plan: Plan, tiers: Mapping[str, TierMechanism], world: World
) -> Iterator[Need]:
    """Space and memory of each profile, as far as they can be seen from here."""
    database_loads: list[Workload] = []
    disk_loads: list[Workload] = []
    for workload in plan.workloads:
        if workload.database is None:
            database_loads.append(workload)
        else:
            disk_loads.append(workload)
    for profile in plan.profiles:
        mechanism = tiers[profile.tier.disk.enforcement]
        # No space can be held against these disks: where they lie is not known here.
        if mechanism.abilities.places is None:
            continue
        # All workloads on a database are alike: what counts is the disks' size.
        if database_loads:
            yield from _disks(profile, database_loads[0], mechanism, world)
            yield from _memory(profile, world)
        # Memory is needed beside the space of disks that are files. Disks in memory take it
        # instead.
        for workload in database_loads:
            if as_used(profile, workload).tier.disk.in_memory:
                yield from _in_memory(profile, workload, world)
        for workload in disk_loads:
            yield from _disks(profile, workload, mechanism, world)


class _Share(NamedTuple):
    """Disks of so many nodes that are seen from one place."""

    tier: Tier
    nodes: int
    world: World
    what: str


def _disks(
    profile: Profile, load: Workload, mechanism: TierMechanism, world: World
) -> Iterator[Need]:
    disk_bytes = _disk_bytes(profile, load)
    disks_of_nodes = profile.tier.disk.of_nodes.values()
    # Real disks on the nodes' machines have the free space of their own machine each.
    is_apart = any(disks.machine for disks in disks_of_nodes)
    for share in _shares(profile, load, world, is_apart):
        for place, copies in _places(mechanism, share).items():
            for need in _on_machines(share, str(place), copies, disk_bytes, is_apart):
                yield replace(need, profile=profile.name)


def _disk_bytes(profile: Profile, load: Workload) -> int:
    """What the data on the disk of one node may take."""
    if load.database is None:
        return profile.cluster.size.disk_bytes
    # The need is one disk with one file, however large the disk.
    return disk_matrix.file_bytes(load) + _FILE_SYSTEM_BYTES


def _places(mechanism: TierMechanism, share: _Share) -> Mapping[Path, int]:
    """Folder → how many times it holds the data of one node."""
    places = mechanism.abilities.places
    if places is None:
        return {}
    return places(share.tier, share.nodes, share.world)


def _on_machines(
    share: _Share, place: str, copies: int, disk_bytes: int, is_apart: bool
) -> Iterator[Need]:
    """What a place takes that holds the data of so many nodes, on each machine; of no profile
    yet."""
    machines = share.world.platform.machines_of_nodes()
    # Nodes are spread over the machines, so the fullest of them has one more at most.
    needed_bytes = math.ceil(copies / len(machines)) * disk_bytes
    for machine in machines:
        name = machine.name
        if not is_apart:
            name = _name_of_several(machine, machines)
        # Space that cannot be seen from here is not held against the plan.
        with suppress(OSError):
            free_bytes = machine.free_bytes(place)
            yield Need(
                profile="",
                what=share.what,
                place=place,
                needed_bytes=needed_bytes,
                free_bytes=free_bytes,
                machine=name,
            )


def _shares(
    profile: Profile, load: Workload, world: World, is_apart: bool
) -> Iterator[_Share]:
    """`is_apart`: they are real disks on the machines of their nodes."""
    tier = profile.tier
    nodes = profile.cluster.nodes
    what = f"for the disks of {counted(nodes, 'node')}"
    if load.database is not None:
        nodes = 1
        what = f"for the file of {load.name}"
    if not is_apart:
        yield _Share(tier, nodes, world, what)
        return
    for node in node_disks.node_names(nodes):
        alone = node_disks.alone(tier, node)
        yield _Share(alone, 1, world.on(node), f"for the disk of {node}")


def _memory(profile: Profile, world: World) -> Iterator[Need]:
    cluster = profile.cluster
    machines = world.platform.machines_of_nodes()
    # Nodes are spread over the machines, so the fullest of them has one more at most.
    nodes = math.ceil(cluster.nodes / len(machines))
    for machine in machines:
        installed_bytes = machine.facts().memory_bytes
        # This machine does not say how much it has.
        if installed_bytes <= 0:
            continue
        yield Need(
            profile=profile.name,
            what=f"of memory for {counted(nodes, 'node')}",
            place=None,
            needed_bytes=nodes * cluster.size.memory_bytes,
            free_bytes=installed_bytes,
            machine=_name_of_several(machine, machines),
        )


def _in_memory(profile: Profile, workload: Workload, world: World) -> Iterator[Need]:
    """Disks in memory have as much as their data, and no more than half of their machine's."""
    nodes = profile.cluster.nodes
    # The other half is for the nodes' own memory, and for what runs beside them.
    needed_bytes = 2 * nodes * (data_sizes.data_bytes(workload) or 0)
    of_nodes = counted(nodes, "node")
    what = f"of memory, twice the data of {of_nodes} that --without disk keeps there"
    for machine in world.platform.machines_of_nodes():
        free_bytes = machine.facts().memory_bytes
        yield Need(
            profile=profile.name,
            what=what,
            place=None,
            needed_bytes=needed_bytes,
            free_bytes=free_bytes,
        )


def short_memory(plan: Plan, world: World) -> Iterator[str]:
    """A warning if nodes may take more memory than is available now, with head-room for other
    programs.

    It is no reason to refuse: a node need not use all that it is given.
    """
    machines = world.platform.machines_of_nodes()
    wanted_bytes = math.ceil(_most_memory_bytes(plan) / len(machines))
    if not wanted_bytes:
        return
    for machine in machines:
        # A machine whose /proc/meminfo is not there, or has another form, is not warned of.
        with suppress(OSError, ValueError, IndexError):
            available_bytes = _available_bytes(machine)
            if wanted_bytes + BESIDE_NODES_BYTES > available_bytes:
                yield (
                    f"the nodes on {machine.name or 'this machine'} may use "
                    f"{format_bytes(wanted_bytes)} of memory, and what runs beside them "
                    f"{format_bytes(BESIDE_NODES_BYTES)}. Only "
                    f"{format_bytes(available_bytes)} is available: a node may swap, or "
                    "be stopped"
                )


def _most_memory_bytes(plan: Plan) -> int:
    """What all nodes of the largest cluster are given; 0 if no node has a size."""
    most_bytes = 0
    for profile in plan.profiles:
        for workload in plan.workloads:
            cluster = as_used(profile, workload).cluster
            if cluster.node is not None:
                most_bytes = max(most_bytes, cluster.nodes * cluster.size.memory_bytes)
    return most_bytes


def _available_bytes(machine: Machine) -> int:
    # Available counts page cache that can be given up, which free memory leaves out.
    after = machine.read("/proc/meminfo").split("MemAvailable:")[1]
    kibibytes = after.split()[0]
    # Linux writes kB there and means KiB.
    return int(kibibytes) * 1024


def _name_of_several(machine: Machine, machines: Sequence[Machine]) -> str:
    if len(machines) > 1:
        return machine.name
    return ""
