"""Checks of everything that could fail late, made before a campaign starts anything: parts, space,
memory; and clusters started once to see that they come up here."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial

from orchestrator.errors import UnavailableError
from orchestrator.load_generators.common import several
from orchestrator.model import ClusterSpec, Plan, Profile, Volume, Workload
from orchestrator.parts import Parts, TakesSpace, TierMechanism
from orchestrator.planning import disk_matrix, durations, node_disks
from orchestrator.planning.plan import as_used
from orchestrator.platforms.common.machines import of_nodes, on
from orchestrator.powers import Machine, World
from orchestrator.run import links, rebuilding
from orchestrator.units import counted, format_bytes


def check(plan: Plan, parts: Parts, world: World) -> None:
    """UsageError or UnavailableError if a part cannot do what is planned, or data have no room."""
    for _, check_it in every(plan, parts, world):
        check_it()


def every(
    plan: Plan, parts: Parts, world: World
) -> Iterator[tuple[str, Callable[[], None]]]:
    """Each check, with what it checks; called, it raises as `check` does."""
    for profile in plan.profiles:
        used = (as_used(profile, workload).tier for workload in plan.workloads)
        for name, tier in {tier.disk.enforcement: tier for tier in used}.items():
            yield (
                f"{profile.name}: tier {name}",
                partial(parts.tiers[name].check, tier, world),
            )
        checked: list[ClusterSpec] = []
        for workload in plan.measured:
            cluster = as_used(profile, workload).cluster
            if cluster not in checked:
                database = parts.databases[cluster.member]
                name = f"{profile.name}: database {database.name}"
                yield name, partial(database.check, cluster, world)
                if cluster.network_bytes_per_s:
                    yield (
                        f"{profile.name}: network",
                        partial(links.check, profile, world),
                    )
                checked.append(cluster)
            generator = parts.load_generators[workload.generator]
            name = f"{profile.name}: {workload.name} by {generator.name}"
            yield name, partial(generator.check, workload, cluster, world)
            if workload.lost_after_s is not None:
                name = f"{profile.name}: a lost node in {workload.name}"
                yield name, partial(rebuilding.check, workload, profile, parts, world)
            if cluster.clients > 1:
                name = f"{profile.name}: {workload.name} by {cluster.clients} clients"
                yield name, partial(several.check, generator, workload, cluster)
    yield "space", partial(check_space, plan, parts.tiers, world)


# What Linux tells of installed memory at least: of 32 GiB, 31.
TOLD_OF_INSTALLED = 0.94
# For the load client, the disk server and the operating system, beside the nodes.
BESIDE_NODES_BYTES = 2**30
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
        told = TOLD_OF_INSTALLED
        if self.place is not None:
            told = 1.0
        return self.needed_bytes * told <= self.free_bytes

    def __str__(self) -> str:
        needs = f"{self.profile} needs {format_bytes(self.needed_bytes)} {self.what}"
        has = format_bytes(self.free_bytes)
        if self.place is None:
            return f"{needs}; {self.machine or 'this machine'} has {has}"
        on = ""
        if self.machine:
            on = f" of {self.machine}"
        return f"{needs}; {self.place}{on} has {has} free"


def check_space(plan: Plan, tiers: Mapping[str, TierMechanism], world: World) -> None:
    """UnavailableError if the disks of one run could not even hold the data they are sized for, or
    a machine has less memory than its nodes are given. Others' clusters need neither here."""
    for need in needs(plan, tiers, world):
        if not need.is_met:
            elsewhere = ""
            if need.place:
                elsewhere = ", or put the cache elsewhere (TIERBENCH_CACHE)"
            raise UnavailableError(
                str(need), f"take a smaller --scale or fewer --nodes{elsewhere}"
            )


def needs(
    plan: Plan, tiers: Mapping[str, TierMechanism], world: World
) -> Iterator[Need]:
    """Space and memory of each profile, as far as they can be seen from here."""
    of_databases = [
        workload for workload in plan.workloads if workload.database is None
    ]
    alone = [workload for workload in plan.workloads if workload.database is not None]
    for profile in plan.profiles:
        mechanism = tiers[profile.tier.disk.enforcement]
        if not isinstance(mechanism, TakesSpace):
            continue
        for workload in of_databases[
            :1
        ]:  # all of them alike: what counts is the disks' size
            yield from _disks(profile, workload, mechanism, world)
            yield from _memory(profile, world)
        for workload in of_databases:
            if as_used(profile, workload).tier.disk.in_memory:
                yield from _in_memory(profile, workload, world)
        for workload in alone:
            yield from _disks(profile, workload, mechanism, world)


def _disks(
    profile: Profile, load: Workload, mechanism: TakesSpace, world: World
) -> Iterator[Need]:
    tier = profile.tier
    nodes = profile.cluster.nodes
    each_bytes = profile.cluster.size.disk_bytes
    what = f"for the disks of {counted(nodes, 'node')}"
    if load.database is not None:  # one disk with one file, however large the disk
        nodes = 1
        each_bytes = disk_matrix.file_bytes(load) + _FILE_SYSTEM_BYTES
        what = f"for the file of {load.name}"
    shares = [(tier, nodes, world, what)]
    is_apart = any(disks.machine for disks in tier.disk.of_nodes.values())
    if is_apart:
        shares = [  # real disks on the machines of their nodes
            (
                node_disks.alone(tier, node),
                1,
                on(node, world),
                f"for the disk of {node}",
            )
            for node in node_disks.node_names(nodes)
        ]
    for own, count, there, what in shares:
        machines = of_nodes(there.platform)
        for place, copies in mechanism.places(own, count, there).items():
            needed_bytes = math.ceil(copies / len(machines)) * each_bytes
            for machine in machines:
                with suppress(OSError):  # it cannot be seen from here
                    free_bytes = machine.free_bytes(str(place))
                    if is_apart:
                        name = machine.name
                    else:
                        name = _named(machine, machines)
                    yield Need(
                        profile.name, what, str(place), needed_bytes, free_bytes, name
                    )


def _memory(profile: Profile, world: World) -> Iterator[Need]:
    cluster = profile.cluster
    machines = of_nodes(world.platform)
    nodes = math.ceil(cluster.nodes / len(machines))
    for machine in machines:
        installed = machine.facts().memory_bytes
        if installed > 0:
            what = f"of memory for {counted(nodes, 'node')}"
            name = _named(machine, machines)
            needed_bytes = nodes * cluster.size.memory_bytes
            yield Need(profile.name, what, None, needed_bytes, installed, name)


def _in_memory(profile: Profile, workload: Workload, world: World) -> Iterator[Need]:
    """Disks in memory have as much as their data, and no more than half of their machine's."""
    nodes = profile.cluster.nodes
    size_bytes = durations.data_bytes(workload) or 0
    what = f"of memory, twice the data of {counted(nodes, 'node')} that --without disk keeps there"
    for machine in of_nodes(world.platform):
        yield Need(
            profile.name,
            what,
            None,
            2 * nodes * size_bytes,
            machine.facts().memory_bytes,
        )


def short_memory(plan: Plan, world: World) -> Iterator[str]:
    """Where nodes may take more memory than is available now, with head-room for what runs beside
    them. No reason to refuse: a node need not use all that it is given."""
    machines = of_nodes(world.platform)
    clusters = [p.cluster for p in plan.profiles if p.cluster.node is not None]
    sizes = [cluster.nodes * cluster.size.memory_bytes for cluster in clusters]
    wanted_bytes = math.ceil(max(sizes, default=0) / len(machines))
    for machine in machines if wanted_bytes else ():
        with suppress(OSError, ValueError, IndexError):
            kibibytes = (
                machine.read("/proc/meminfo").split("MemAvailable:")[1].split()[0]
            )
            if wanted_bytes + BESIDE_NODES_BYTES > (
                available_bytes := int(kibibytes) * 1024
            ):
                name = machine.name or "this machine"
                wanted = format_bytes(wanted_bytes)
                beside, available = map(
                    format_bytes, (BESIDE_NODES_BYTES, available_bytes)
                )
                text = f"the nodes on {name} may use {wanted} of memory, and what runs beside them "
                yield f"{text}{beside}; available is {available}: a node may swap, or be stopped"


def _named(machine: Machine, machines: Sequence[Machine]) -> str:
    if len(machines) > 1:
        return machine.name
    return ""


NETWORK = "tierbench-proving"


def prove_start(clusters: Iterable[ClusterSpec], parts: Parts, world: World) -> None:
    """Starts each cluster once on this machine's own disk and stops it. Raises what that raises."""
    specs = list(clusters)
    for spec in (
        spec for number, spec in enumerate(specs) if spec not in specs[:number]
    ):
        database = parts.databases[spec.member]
        world.progress.step(
            f"seeing that {database.name} starts here, {spec.nodes} node(s)"
        )
        with ExitStack() as up:
            names = [f"{NETWORK}-{number}" for number in range(1, spec.nodes + 1)]
            volumes = [Volume(name, "", restored=False) for name in names]
            for name in names:
                up.enter_context(world.platform.volume(name, "", ""))
            network = up.enter_context(world.platform.network(NETWORK, spec.nodes))
            up.enter_context(database.running(spec, volumes, network, world))
