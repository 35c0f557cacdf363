"""The nodes as containers: how each is started, stopped, watched, and what is run inside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from orchestrator.databases.common.container_nodes import DATABASE, USER, last_lines, raise_if_dead
from orchestrator.databases.postgresql import settings
from orchestrator.databases.postgresql.queries import Extent
from orchestrator.errors import NodeError, RunError, TierbenchError
from orchestrator.model import Cluster, ClusterSpec, Node, Volume
from orchestrator.powers import ContainerSpec, Mount, Network, World

START_DEADLINE_S = 300.0
STOP_DEADLINE_S = 180.0
WARM_S = 600.0
_SHUT_DOWN = "database system is shut down"


def container_specs(
    spec: ClusterSpec,
    volumes: Sequence[Volume],
    network: Network,
    image: str,
    standby_password: str,
) -> tuple[ContainerSpec, ...]:
    """The nodes of a cluster: node 1 is the primary, the others stream from it."""
    options = settings.options(settings.applied(spec))
    quorum = settings.options(
        {"synchronous_standby_names": settings.synchronous_standby_names(spec.replication_factor)}
    )
    primary = network.addresses[0]
    return tuple(
        ContainerSpec(
            name=f"{network.name}-node-{number}",
            image=image,
            command=("primary", *options, *quorum)
            if number == 1
            else ("standby", primary, settings.slot(number), *options),
            role="database",
            environment={"PGPASSWORD": standby_password} if number > 1 else {},
            mounts=(Mount(volume.name, "/data"),),
            network=network.name,
            address=network.addresses[number - 1],
            ports={settings.PORT: spec.port} if number == 1 else {},
            cpus=spec.size.cpus,
            memory_bytes=spec.size.memory_bytes,
            # Parallel workers of a query meet here; it counts against the memory limit.
            shared_memory_bytes=max(64 * 2**20, spec.size.memory_bytes // 4),
            io_caps=volume.caps,
        )
        for number, volume in enumerate(volumes, start=1)
    )


def let_in(primary: str, password: str, standby_password: str, world: World) -> None:
    """Waits until the primary can be told who may come in, and tells it. NodeError if it dies."""
    env = {"BENCH_PASSWORD": password, "STANDBY_PASSWORD": standby_password}
    try:
        done = world.platform.exec(
            primary, ("node", "passwords"), timeout_s=START_DEADLINE_S, env=env, watch=(primary,)
        )
    except RunError:
        raise_if_dead((primary,), world)
        raise
    if done.exit_code != 0:
        raise NodeError(f"{primary} could not set its passwords", evidence=done.err[-2000:])


def kill(names: Sequence[str], world: World) -> None:
    for name in names:
        with suppress(TierbenchError):  # what cannot be stopped is reported where it is removed
            world.platform.stop(name, 0)


def stop_cleanly(names: Sequence[str], world: World) -> None:
    """The primary first: it ends only when its standbys have received its last checkpoint."""
    for name in names:
        world.platform.stop(name, STOP_DEADLINE_S)
        said = last_lines(name, world)
        if _SHUT_DOWN not in said:
            raise NodeError(
                f"{name} did not stop cleanly ({world.platform.state(name)})",
                advice=f"its disk cannot be kept; it had {STOP_DEADLINE_S:g} s to write it",
                evidence=said,
            )


# ------------------------------------------------------------------ commands in containers

_AS_BENCH = (f"--username={USER}", f"--dbname={DATABASE}")
PSQL = ("psql", *_AS_BENCH, "--no-psqlrc", "--quiet", "--output=/dev/null", "--set=ON_ERROR_STOP=1")
VACUUM = ("vacuumdb", *_AS_BENCH, "--quiet", "--freeze", "--analyze")


def run(cluster: Cluster, node: Node, argv: Sequence[str], timeout_s: float, world: World) -> None:
    """RunError where the command fails; NodeError where any node dies, for a commit would wait
    for a standby that never comes back."""
    container = node.container or node.name
    watched = [each.container or each.name for each in cluster.nodes]
    done = world.platform.exec(container, argv, timeout_s=timeout_s, watch=watched)
    if done.exit_code != 0:
        raise RunError(
            f"{argv[0]} failed on {container} (exit {done.exit_code})",
            advice="look at the database's log among the raw files of the run",
            evidence=done.err[-2000:],
        )


def read(node: Node, extents: Sequence[Extent], world: World) -> bool:
    """Whether all was read within the time allowed."""
    container = node.container or node.name
    text = "; ".join(extent.sql() for extent in extents)
    done = world.platform.exec(
        container,
        (*PSQL, "--command", text),
        timeout_s=WARM_S + 30,
        env={"PGOPTIONS": f"-c transaction_timeout={WARM_S:g}s"},
        watch=(container,),
    )
    if done.exit_code != 0 and "transaction timeout" not in done.err:
        raise RunError(f"filling the cache of {container} failed", evidence=done.err[-2000:])
    return done.exit_code == 0


def verified(image: str, own: Mapping[str, str], world: World) -> str:
    """What the server in the image says against settings: one line for each that it refuses."""
    plan = ContainerSpec(
        name=f"{world.scope}-verify-settings",
        image=image,
        command=("idle",),
        role="database",
        init=True,
        stop_timeout_s=1,
    )
    pairs = [f"{name}={value}" for name, value in own.items()]
    with world.platform.running(plan) as idle:
        done = world.platform.exec(idle.name, ("node", "verify", *pairs), timeout_s=60)
    if done.exit_code != 0:
        raise RunError(f"{image} could not verify settings", evidence=done.err[-2000:])
    return done.out
