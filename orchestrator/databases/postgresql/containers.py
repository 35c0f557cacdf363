"""PostgreSQL's nodes as containers: what they are started from, and what is set then."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from orchestrator.databases.common import container_nodes, node_lifecycle
from orchestrator.databases.postgresql import settings
from orchestrator.errors import NodeError, RunError, UnavailableError
from orchestrator.model import ClusterSpec, Volume
from orchestrator.powers import ContainerSpec, Network, World
from orchestrator.system import sockets

START_DEADLINE_S = 300.0
_PASSWORDS_S = START_DEADLINE_S - 10.0  # then the node itself says what was wrong
# The place where the image's `node` expects the disk of the WAL, if there is one.
WAL_DISK = "/wal"
DATA = "/data/pgdata"
PG_WAL = f"{DATA}/pg_wal"


def container_specs(
    spec: ClusterSpec,
    volumes: Sequence[Volume],
    network: Network,
    image: str,
    standby_secret: str,
) -> tuple[ContainerSpec, ...]:
    """The containers of a cluster: node 1 is the primary, the others stream from it."""
    options = settings.options(settings.applied(spec))
    names = settings.synchronous_standby_names(spec)
    quorum = settings.options({"synchronous_standby_names": names})
    address = network.addresses[0]
    # Parallel workers of a query meet here; it counts against the memory limit.
    shared_bytes = max(64 * 2**20, spec.size.memory_bytes // 4)

    def started(number: int, command: tuple[str, ...]) -> ContainerSpec:
        volume = volumes[number - 1]
        node = container_nodes.container_of_node(
            spec, number, volume, network, image, command, ["/data", WAL_DISK]
        )
        return replace(node, shared_memory_bytes=shared_bytes)

    primary = started(1, ("primary", *options, *quorum))
    plans = [replace(primary, ports={settings.PORT: spec.port})]
    for number in range(2, len(volumes) + 1):
        standby = started(number, ("standby", address, settings.slot(number), *options))
        plans.append(replace(standby, environment={"PGPASSWORD": standby_secret}))
    return tuple(plans)


def set_passwords(
    primary: str, password: str, standby_password: str, world: World
) -> None:
    """Sets the passwords of client and standbys once the primary can. NodeError if it dies."""
    env = {"BENCH_PASSWORD": password, "STANDBY_PASSWORD": standby_password}
    try:
        first = world.platform.container(primary)
        argv = ("node", "passwords", f"{_PASSWORDS_S:.0f}")
        done = first.exec(argv, timeout_s=START_DEADLINE_S, env=env, watch=(first,))
    except RunError:
        node_lifecycle.raise_if_dead((primary,), world)
        raise
    if done.exit_code != 0:
        raise NodeError(
            f"{primary} could not set its passwords", evidence=done.err[-2000:]
        )


def raise_if_taken(port: int) -> None:
    """UnavailableError if a port of this machine is in use."""
    try:
        sockets.require_free(port)
    except OSError as error:
        raise UnavailableError(
            f"port {port} on {sockets.LOOPBACK} is taken ({error.strerror})",
            advice=(
                "free it, or choose another `port` in the profile. Without `port` "
                "any free one is used. `tierbench clean` removes what an earlier "
                "campaign left"
            ),
        ) from error


def verified(image: str, asked: Mapping[str, str], world: World) -> str:
    """Asks the server in the image about settings: a line of output for each that it refuses."""
    plan = ContainerSpec(
        f"{world.scope}-verify-settings",
        image,
        ("idle",),
        "database",
        init=True,
        stop_timeout_s=1,
    )
    pairs = [f"{name}={value}" for name, value in asked.items()]
    with world.platform.running(plan) as idle:
        done = idle.exec(("node", "verify", *pairs), timeout_s=60)
    if done.exit_code != 0:
        raise RunError(f"{image} could not verify settings", evidence=done.err[-2000:])
    return done.out
