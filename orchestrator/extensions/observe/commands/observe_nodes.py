"""Whose disks `tierbench observe` reads while it waits: nodes, and the machines that show them."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from orchestrator import counter_sources, powers
from orchestrator.cli.common.app import PLATFORM, App
from orchestrator.cli.common.teardown import sweeping
from orchestrator.cli.measure import platform_choice
from orchestrator.counter_sources import DISK_DEVICE, NODE_EXPORTER
from orchestrator.databases.existing import declaration
from orchestrator.errors import UsageError, require_none
from orchestrator.extensions.observe.commands.observe_options import Read
from orchestrator.model import Node, Profile
from orchestrator.platforms import own_images
from orchestrator.platforms.common import agent
from orchestrator.platforms.common.local_machine import LocalMachine
from orchestrator.powers import GuardBeats


@dataclass(frozen=True)
class Watched:
    """Nodes to read, and the machines of the nodes that no exporter shows.

    `beats`: signs of life that keep other campaigns off the machines, if these take an agent.
    """

    nodes: Sequence[Node]
    machines: Sequence[powers.Machine] = ()
    beats: GuardBeats = field(default_factory=GuardBeats)


def watched(app: App, options: Read, up: ExitStack) -> Watched:
    """`up`: until it ends, what it takes on machines stays there."""
    nodes = []
    for url in options.exporter or ():
        nodes.append(Node(url, "database", sources={NODE_EXPORTER: url}))
    if options.profile is None:
        return Watched(nodes)
    profile = platform_choice.placed(app, options.profile)
    declared, mistakes = declaration.read(profile.cluster)
    database = app.parts(None).databases.get(profile.cluster.member)
    if database is not None and database.abilities.find_nodes is not None:
        require_none(mistakes, f"{profile.name} has mistakes", "correct the profile")
        # Exporters need no agent on the machines of others, and no right there.
        if declared.node_exporters:
            return Watched([*nodes, *database.abilities.find_nodes(profile.cluster)])
    on_machines = _machines(app, profile, declared, up)
    nodes += _host_nodes(on_machines.machines, declared)
    return replace(on_machines, nodes=nodes)


def _host_nodes(
    machines: Sequence[powers.Machine], declared: declaration.Existing
) -> Iterator[Node]:
    """Each machine as a node, whose disks are those that the profile names."""
    sources = {DISK_DEVICE: counter_sources.written(declared.devices)}
    for machine in machines:
        name = machine.name
        yield Node(name, "host", machine=name, sources=sources)


def _machines(
    app: App, profile: Profile, declared: declaration.Existing, up: ExitStack
) -> Watched:
    """The machines of the nodes, which are yet to be named. UsageError if they are others'
    and elsewhere."""
    if profile.cluster.existing and _platform(profile) == PLATFORM:
        # Nothing of ours that could read /proc runs on other hosts.
        if _is_here(declared):
            return Watched((), [LocalMachine()])
        raise UsageError(
            f"the disks of the hosts of {profile.name} cannot be seen",
            "declare their `node_exporters` in its `cluster.existing`",
        )
    world = _world(app, profile)
    machines = world.platform.machines_of_nodes()
    # This program reads /proc of its machine itself: no agent, and nobody to keep off.
    if all(machine.is_here for machine in machines):
        return Watched((), machines)
    _bring_agent(app, world, up)
    return Watched((), machines, world.platform.guard.beats)


def _platform(profile: Profile) -> str:
    return profile.platform or PLATFORM


def _is_here(declared: declaration.Existing) -> bool:
    """Whether all servers of a cluster that others run are on this machine."""
    servers = declared.servers
    return bool(servers) and all(server.is_loopback for server in servers)


def _world(app: App, profile: Profile) -> powers.World:
    """The profile's platform, connected to its nodes' machines and, on engines, no other."""
    placing = profile.placing
    # Nothing runs on an engine of clients, so it need not answer.
    if placing and placing.machines:
        placing = replace(placing, client_machine=placing.machines[0])
    world = app.world(_platform(profile), placing)
    # Our other images, of disks and load generators, are not needed here.
    world.platform.abilities.bring_only((agent.IMAGE,))
    return world


def _bring_agent(app: App, world: powers.World, up: ExitStack) -> None:
    """Keeps other campaigns off the machines until `up` ends. UnavailableError with how to get the
    agent's image, if it is not there."""
    up.enter_context(sweeping(world, world.platform.guard.held()))
    own_images.need(app.root, agent.IMAGE, world.platform)
