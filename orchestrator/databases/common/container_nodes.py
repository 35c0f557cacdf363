"""Database nodes in containers: names, passwords, endpoints, commands, the check for deaths, and
whether each node's WAL is on the disk that the profile names for it."""

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace

from orchestrator import errors, powers, units
from orchestrator.errors import Mistake, NodeError, RunError, TierbenchError
from orchestrator.kernel import mounts
from orchestrator.model import (
    TLS_IF_OFFERED,
    ClusterSpec,
    Endpoint,
    Node,
    Tls,
    Volume,
)
from orchestrator.platforms.common.machines import as_node
from orchestrator.powers import UNLIMITED, Completed, Container, ContainerSpec, World
from orchestrator.system import at_once, clock, redaction

USER = DATABASE = "bench"
# What docs/research/SCALE.md has figures for; an engine's network holds as many and 140 clients
# besides.
MAX_NODES = 100
_LOOK_S = 20.0
_EMPTY_S = 900.0
_MOUNTS = ("cat", "/proc/self/mountinfo")

Log = Callable[[str, World], str]


def require_none(mistakes: Sequence[Mistake], database: str) -> None:
    """UsageError if the profile has mistakes."""
    errors.require_none(
        mistakes, f"{database} cannot run this cluster", "correct the profile"
    )


def shape_mistakes(
    spec: ClusterSpec, least_bytes: int, needed_for: str
) -> Iterator[Mistake]:
    """Mistakes in the numbers of nodes and copies, and in a node's memory: `needed_for` names what
    `least_bytes` of it are for."""
    nodes = spec.nodes
    copies = spec.replication_factor
    memory_bytes = spec.size.memory_bytes
    if not 1 <= nodes <= MAX_NODES:
        yield Mistake(
            "cluster.nodes", f"{nodes} nodes: set up here with 1 to {MAX_NODES}"
        )
    if copies > nodes:
        text = f"{copies} copies on {nodes} node(s): every copy needs a node of its own"
        yield Mistake("cluster.replication_factor", text)
    if memory_bytes < least_bytes:
        given = units.format_bytes(memory_bytes)
        least = units.format_bytes(least_bytes)
        what = f"{given} is too little for {needed_for} and a few sessions"
        yield Mistake("cluster.node.memory", f"{what}: give it at least {least}")


def of_setting(name: str, text: str) -> Mistake:
    return Mistake(f"cluster.settings.{name}", text)


def new_password() -> str:
    """A password for one start of one cluster: any local user can reach its port, and kept disks
    outlive it. It goes through environments and SQL, never through a command line."""
    password = secrets.token_hex(16)
    redaction.remember(password)
    return password


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


def described(
    number: int,
    plan: ContainerSpec,
    volume: Volume,
    container: Container,
    world: World,
    sources: Mapping[str, str] | None = None,
) -> Node:
    """Node `number`, counted from 1, as collectors and the record need it."""
    return as_node(
        container,
        f"node-{number}",
        "database",
        device=_device(plan, volume, world),
        wal_device=volume.wal_device.removeprefix("/dev/") or None,
        cpus=plan.cpus,
        memory_bytes=plan.memory_bytes,
        sources=sources or {},
    )


def all_described(
    plans: Sequence[ContainerSpec],
    volumes: Sequence[Volume],
    started: Sequence[Container],
    world: World,
) -> Iterator[Node]:
    """Nodes as `described`, in the order in which they were started."""
    for i, container in enumerate(started):
        yield described(i + 1, plans[i], volumes[i], container, world)


def _device(plan: ContainerSpec, volume: Volume, world: World) -> str | None:
    """The block device of a node's data. That of a claim is known only where it is mounted; without
    it there is no telemetry of the disk."""
    if volume.device or not volume.placement:
        return volume.device.removeprefix("/dev/") or None
    targets = [mount.target for mount in plan.mounts if mount.source == volume.name]
    with suppress(TierbenchError, OSError):
        container = world.platform.container(plan.name)
        listed = container.exec(_MOUNTS, timeout_s=_LOOK_S)
        for mount in mounts.parsed(listed.out):
            if [mount.path] == targets:
                return _below_dev(mount.source)
    return None


def _below_dev(path: str) -> str | None:
    """The name of a device directly below /dev; None for what is none."""
    name = path.removeprefix("/dev/")
    if name == path or "/" in name:
        return None
    return name


def of_node(
    spec: ClusterSpec,
    number: int,
    volume: Volume,
    network: powers.Network,
    image: str,
    command: tuple[str, ...],
    places: Sequence[str],
) -> ContainerSpec:
    """What all databases ask for alike for the container of node `number`, from 1. `places`: of its
    disk in it, and of that of its WAL, if it has one."""
    disk_mounts: list[powers.Mount] = []
    for disk, place in zip((volume.name, volume.wal), places, strict=False):
        if disk:
            disk_mounts.append(powers.Mount(disk, place))
    return ContainerSpec(
        name=f"{network.name}-node-{number}",
        image=image,
        command=command,
        role="database",
        mounts=tuple(disk_mounts),
        network=network.name,
        address=network.addresses[number - 1],
        cpus=spec.size.cpus,
        memory_bytes=spec.size.memory_bytes,
        placement=f"node-{number}",
    )


def short_limits(plan: ContainerSpec, container: Container) -> str:
    """Which limits of the container's processes are below the plan's; empty if none is known to
    be. yugabyted only warns of it, and a tablet server with many sessions fails later."""
    low: list[str] = []
    for name, least in plan.ulimits.items():
        limit = container.ulimits.get(name, UNLIMITED)
        if limit != UNLIMITED and int(limit) < least:
            low.append(f"{name} {limit} instead of {least}")
    return ", ".join(low)


def last_lines(name: str, world: World) -> str:
    """The last lines of a container's log, under its name."""
    log = world.platform.container(name).logs(tail=20)
    return f"{name}:\n{log}"


def raise_if_dead(names: Sequence[str], world: World, log: Log = last_lines) -> None:
    """NodeError, with its last lines, for the first container that no longer runs."""
    states = at_once.each(lambda name: world.platform.container(name).state(), names)
    for name, state in zip(names, states, strict=True):
        if state != "running":
            raise _dead(name, state, log(name, world))


def _dead(name: str, state: str, log: str) -> NodeError:
    if "137" in state:
        advice = (
            "exit code 137 is a kill. The kernel did it for want of memory, or "
            "YugabyteDB itself after a failed start. Its last log lines say "
            "which"
        )
    else:
        advice = (
            "its last log lines say why. If it ran out of memory, give nodes more of it"
        )
    return NodeError(f"the database node {name} is {state}", advice, evidence=log)


def stop(names: Sequence[str], timeout_s: float, world: World) -> None:
    """Stops all nodes at once, so that none goes on without the others; kills what runs longer."""

    def stop_node(name: str) -> None:
        with suppress(TierbenchError):  # the removal of the container reports it
            world.platform.container(name).stop(timeout_s)

    at_once.each(stop_node, names)


@contextmanager
def stopped(
    names: Sequence[str],
    volumes: Sequence[Volume],
    last: str,
    most_s: float,
    world: World,
) -> Iterator[None]:
    """Stops the servers behind the block: on kept disks the first before the others, and NodeError
    unless the log of each ends with `last`. Kills them on other disks, and after an error."""
    try:
        yield
    except BaseException:
        stop(names, 0, world)
        raise
    if not any(volume.kept for volume in volumes):
        stop(names, 0, world)
        return

    def stop_cleanly(name: str) -> None:
        container = world.platform.container(name)
        container.stop(most_s)
        log = last_lines(name, world)
        if last not in log:
            raise NodeError(
                f"{name} did not stop cleanly ({container.state()})",
                advice=(
                    f"its disk cannot be kept; the node had {most_s:g} s to write its "
                    "data"
                ),
                evidence=log,
            )

    stop_cleanly(names[0])
    at_once.each(stop_cleanly, names[1:])


def started_anew(
    node: Node, plan: ContainerSpec, folders: Sequence[str], world: World
) -> Node:
    """Kills a node, removes these folders of its disks, and starts it; returns it as it is now."""
    world.platform.container(plan.name).remove(0)
    empty(plan, ("rm", "-rf", *folders), world)
    up = world.platform.stand(plan)  # without a note it goes as what it has the name of
    return replace(node, container_id=up.id, process_id=up.process_id)


def empty(plan: ContainerSpec, argv: tuple[str, ...], world: World) -> None:
    """Empties a node's disks by this command. RunError if something stays."""
    done = on_its_disks(plan, "empty", argv, _EMPTY_S, world)
    if done.exit_code != 0:
        raise RunError(
            f"the disk of {plan.name} could not be emptied", evidence=done.tail()
        )


def on_its_disks(
    plan: ContainerSpec, name: str, argv: tuple[str, ...], most_s: float, world: World
) -> Completed:
    """Runs a command where a node had its disks, which does not run."""
    bare = replace(
        plan,
        name=f"{plan.name}-{name}",
        entrypoint=argv[:1],
        command=argv[1:],
        network=None,
        address=None,
        ports={},
        ulimits={},
        folders={},
    )
    return world.platform.once(bare, most_s)


@contextmanager
def deaths_told(
    nodes: Sequence[Node], world: World, log: Log = last_lines
) -> Iterator[None]:
    """NodeError, instead of an error of the block, if a node died: so the connection was lost."""
    try:
        yield
    except RunError:
        # A connection is lost before the engine notices the death.
        world.clock.sleep(0.5)
        raise_if_dead([node.container_name for node in nodes], world, log)
        raise


def await_ready(
    failed: str,
    missing: Callable[[], str],
    names: Sequence[str],
    world: World,
    *,
    deadline_s: float,
    log: Log = last_lines,
) -> None:
    """Waits until nothing is missing. NodeError if a container dies, and, with every container's
    last lines, past the deadline."""

    def lacking() -> str:
        raise_if_dead(names, world, log)
        try:
            return missing()
        except RunError as error:
            return error.what
        except (OSError, KeyError, ValueError) as error:
            return str(error) or "nothing answers"

    state = clock.wait_while(
        lacking, deadline_s=deadline_s, clock=world.clock, every_s=0.2
    )
    if state:
        logs = at_once.each(lambda name: log(name, world), names)
        raise NodeError(
            f"{failed} within {deadline_s:g} s: {state}",
            advice="look at the log below; on a slow disk or with little memory it takes longer",
            evidence="\n".join(logs),
        )


def run(
    node: Node,
    argv: Sequence[str],
    timeout_s: float,
    world: World,
    watched: Sequence[Node],
) -> Completed:
    """Runs a command in a node. RunError if it fails, NodeError if a node of `watched` dies."""
    container = world.platform.container
    watch: list[Container] = []
    for other in watched:
        watch.append(container(other.container_name))
    done = container(node.container_name).exec(argv, timeout_s=timeout_s, watch=watch)
    if done.exit_code == 0:
        return done
    words = [word for word in argv if not word.startswith("-")]
    raise RunError(
        f"{' '.join(words)} failed on {node.container_name} (exit {done.exit_code})",
        advice="look at the database's log among the raw files of the run",
        evidence=(done.out + done.err)[-2000:],
    )


def wal_devices(nodes: Sequence[Node], directory: str, world: World) -> dict[str, str]:
    """Node → device that holds its WAL, of the nodes with a disk for it. `directory`: of the WAL in
    the container, maybe a link. NodeError if it is on another device."""
    devices: dict[str, str] = {}
    for node in nodes:
        if node.wal_device is None:
            continue
        link = run(node, ("readlink", "-f", directory), _LOOK_S, world, (node,))
        listed = run(node, _MOUNTS, _LOOK_S, world, (node,))
        real = link.out.strip()
        mount = mounts.deepest(real, mounts.parsed(listed.out))
        machine = world.platform.container(node.container_name).find_machine()
        device = mount and mounts.device_name(mount, machine)
        if device != node.wal_device:
            raise _wal_elsewhere(node, f"{real} on {device or 'no disk'}")
        devices[node.name] = device
    return devices


def _wal_elsewhere(node: Node, place: str) -> NodeError:
    return NodeError(
        f"the WAL of {node.name} is at {place}, and the profile's disk for "
        f"it is {node.wal_device}",
        advice=(
            "this is a fault of tierbench: the figures would describe another disk"
        ),
    )
