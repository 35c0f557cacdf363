"""How the nodes of a cluster are started: new ones one after the other, restored ones at once."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from orchestrator.databases.common import container_nodes
from orchestrator.databases.yugabytedb import flags, image, nodes, settings, tls
from orchestrator.databases.yugabytedb.readiness import Leaders, Readiness
from orchestrator.errors import NodeError
from orchestrator.model import ClusterSpec, Endpoint, Node, Tls, Volume
from orchestrator.powers import Container, ContainerSpec, Network, World
from orchestrator.system import at_once, files
from orchestrator.yugabyte import counters


@dataclass(frozen=True)
class StartedNode:
    """A node that runs, and its SQL."""

    node: Node
    endpoint: Endpoint


@dataclass
class RunningCluster:
    """The handle of a cluster that is up."""

    spec: ClusterSpec
    settings: settings.Settings
    masters: str  # their addresses, for yb-admin
    readiness: Readiness
    unread: nodes.Unread  # the facts that could not be read so far
    # The counters when measuring began.
    begun: counters.ByNode = field(default_factory=dict)
    # Limits of nodes' processes, as they are in force.
    ulimits: dict[str, Mapping[str, str]] = field(default_factory=dict)
    # The plans with which nodes were started.
    plans: list[ContainerSpec] = field(default_factory=list)
    leaders: Leaders | None = None  # the leaders when measuring began


def start(
    handle: RunningCluster,
    volumes: Sequence[Volume],
    network: Network,
    up: ExitStack,
    world: World,
) -> list[StartedNode]:
    """Starts all nodes, and keeps them up for as long as `up` is open."""
    tag = image.need(handle.settings, world.platform)
    password = container_nodes.new_password()
    certificates: Sequence[dict[str, bytes]] = [{}] * handle.spec.nodes
    secured = Tls()
    if handle.settings.tls:
        certificates = tls.make(network.addresses, world.clock.now())
        secured = _trust(certificates[0][tls.AUTHORITY], network, up, world)
    handle.plans = _plans(handle, volumes, network, tag, certificates)
    access = _Access(password, secured)
    if all(volume.restored for volume in volumes):
        return _start_together(handle, volumes, access, up, world)
    return _start_in_turn(handle, volumes, access, up, world)


@dataclass(frozen=True)
class _Access:
    """The password and the certificates of sessions from here."""

    password: str
    tls: Tls


def _start_together(
    handle: RunningCluster,
    volumes: Sequence[Volume],
    access: _Access,
    up: ExitStack,
    world: World,
) -> list[StartedNode]:
    """Starts restored nodes at once: each knows the others."""
    starting = [world.platform.running(plan) for plan in handle.plans]
    containers = up.enter_context(at_once.entered(starting))
    _expect_replay(handle, volumes[0], world)
    started: list[StartedNode] = []
    for volume, container in zip(volumes, containers, strict=True):
        number = len(started) + 1
        started.append(_started(handle, number, volume, container, access, world))
    return started


def _start_in_turn(
    handle: RunningCluster,
    volumes: Sequence[Volume],
    access: _Access,
    up: ExitStack,
    world: World,
) -> list[StartedNode]:
    """Starts new nodes one after the other: `--join` asks a node that runs already."""
    started: list[StartedNode] = []
    for volume, plan in zip(volumes, handle.plans, strict=True):
        container = up.enter_context(world.platform.running(plan))
        number = len(started) + 1
        new = _started(handle, number, volume, container, access, world)
        started.append(new)
        running = [server.node for server in started]
        handle.readiness.await_answer(new.node, new.endpoint, up=running)
    return started


def _started(
    handle: RunningCluster,
    number: int,
    volume: Volume,
    container: Container,
    access: _Access,
    world: World,
) -> StartedNode:
    """The node with that number, from 1, whose container runs."""
    plan = handle.plans[number - 1]
    _note_limits(handle, number, plan, container, world)
    urls = nodes.sources(container)
    node = container_nodes.node_record(number, plan, volume, container, world, urls)
    endpoint = container_nodes.endpoint(
        container, flags.YSQL, access.password, access.tls
    )
    return StartedNode(node, endpoint)


def _expect_replay(handle: RunningCluster, volume: Volume, world: World) -> None:
    """Restored nodes read their logs again before they answer: readiness waits for that."""
    logs_bytes = at_once.each(
        lambda plan: nodes.log_bytes(plan.name, world), handle.plans
    )
    handle.readiness = handle.readiness.after_replay(
        max(logs_bytes), volume.bytes_per_s
    )


def _plans(
    handle: RunningCluster,
    volumes: Sequence[Volume],
    network: Network,
    tag: str,
    certificates: Sequence[Mapping[str, bytes]],
) -> list[ContainerSpec]:
    plans: list[ContainerSpec] = []
    for volume, certificate_files in zip(volumes, certificates, strict=True):
        number = len(plans) + 1
        plan = nodes.container_spec(
            handle.spec,
            handle.settings,
            number,
            volume,
            network,
            tag,
            certificate_files,
        )
        plans.append(plan)
    return plans


def _trust(authority: bytes, network: Network, up: ExitStack, world: World) -> Tls:
    """Keeps the authority's certificate for sessions from here, for as long as `up` is open."""
    file = world.cache / "certificates" / network.name / tls.AUTHORITY
    up.callback(shutil.rmtree, file.parent, ignore_errors=True)
    files.make_folder(file.parent)
    with files.replacing(file, private=True, lasting=True) as opened:
        opened.write(authority)
    return Tls("verify-full", str(file.resolve()))


def _note_limits(
    handle: RunningCluster,
    number: int,
    plan: ContainerSpec,
    container: Container,
    world: World,
) -> None:
    """Keeps the limits of a node's processes for the record; warns if they are low."""
    handle.ulimits[f"node-{number}"] = container.ulimits
    short = container_nodes.short_limits(plan, container)
    # yugabyted only warns of low limits, and a server with many sessions fails later. Said once,
    # because the engine gives all nodes the same.
    if short and number == 1:
        world.progress.warn(
            f"the engine does not raise the limits of YugabyteDB's processes ({short}): "
            "many connections may fail"
        )


def start_new(
    start_all: Callable[[], list[StartedNode]],
    handle: RunningCluster,
    up: ExitStack,
    world: World,
) -> list[StartedNode]:
    """Starts new nodes; once more if only the administrator's password was not changed in time."""
    try:
        return start_all()
    except NodeError as error:
        if not nodes.PASSWORD.search(error.evidence):
            raise
    world.progress.warn(
        "yugabyted did not change the administrator's password in time. "
        "The nodes start once more, on emptied disks"
    )
    up.close()
    at_once.each(lambda plan: nodes.empty(plan, world), handle.plans)
    return start_all()
