"""PostgreSQL's nodes as containers: how they are started and stopped, and what is run in them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime

from orchestrator.databases.common import container_nodes
from orchestrator.databases.common.container_nodes import DATABASE, USER
from orchestrator.databases.postgresql import settings
from orchestrator.databases.postgresql.queries import Extent
from orchestrator.errors import NodeError, RunError
from orchestrator.model import ClusterSpec, Node, Volume
from orchestrator.powers import ContainerSpec, Mount, Network, World
from orchestrator.system import at_once

START_DEADLINE_S = 300.0
STOP_DEADLINE_S = 180.0
WARM_S = 600.0
WAL_DISK = "/wal"  # where the image's `node` expects the disk of the WAL, if there is one
PG_WAL = "/data/pgdata/pg_wal"
_SHUT_DOWN = "database system is shut down"
# `2026-01-01 12:19:35.470 UTC [21] LOG:  checkpoint complete: wrote 4 buffers …`: the server's own
# `log_line_prefix` and our image's time zone. Not the time in the text, which is a duration.
_CHECKPOINT = re.compile(
    r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}) UTC \[\d+\] LOG:  checkpoint complete:", re.MULTILINE
)


def container_specs(
    spec: ClusterSpec,
    volumes: Sequence[Volume],
    network: Network,
    image: str,
    standby_password: str,
) -> tuple[ContainerSpec, ...]:
    """The containers of a cluster: node 1 is the primary, the others stream from it."""
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
            mounts=(
                Mount(volume.name, "/data"),
                *([Mount(volume.wal, WAL_DISK)] if volume.wal else []),
            ),
            network=network.name,
            address=network.addresses[number - 1],
            ports={settings.PORT: spec.port} if number == 1 else {},
            cpus=spec.size.cpus,
            memory_bytes=spec.size.memory_bytes,
            # Parallel workers of a query meet here; it counts against the memory limit.
            shared_memory_bytes=max(64 * 2**20, spec.size.memory_bytes // 4),
            io_caps=volume.caps,
            placement=f"node-{number}",
        )
        for number, volume in enumerate(volumes, start=1)
    )


def set_passwords(primary: str, password: str, standby_password: str, world: World) -> None:
    """Sets the passwords of client and standbys once the primary can. NodeError if it dies."""
    env = {"BENCH_PASSWORD": password, "STANDBY_PASSWORD": standby_password}
    try:
        first = world.platform.container(primary)
        done = first.exec(
            ("node", "passwords"), timeout_s=START_DEADLINE_S, env=env, watch=(first,)
        )
    except RunError:
        container_nodes.raise_if_dead((primary,), world)
        raise
    if done.exit_code != 0:
        raise NodeError(f"{primary} could not set its passwords", evidence=done.err[-2000:])


def stop_cleanly(names: Sequence[str], world: World) -> None:
    """Stops the primary first: it ends only when its standbys have received its last checkpoint."""

    def stop(name: str) -> None:
        world.platform.container(name).stop(STOP_DEADLINE_S)
        log = container_nodes.last_lines(name, world)
        if _SHUT_DOWN not in log:
            raise NodeError(
                f"{name} did not stop cleanly ({world.platform.container(name).state()})",
                advice=f"its disk cannot be kept; it had {STOP_DEADLINE_S:g} s to write it",
                evidence=log,
            )

    stop(names[0])
    at_once.each(stop, names[1:])


def checkpoints_s(log: str) -> tuple[float, ...] | None:
    """When each checkpoint was complete, in Unix seconds. None if the log has none: each run begins
    with one, so then it cannot be read, or was told not to speak of them."""
    times_s = list[float]()
    for time in _CHECKPOINT.findall(log):
        with suppress(ValueError):  # a damaged line
            times_s.append(datetime.fromisoformat(f"{time}+00:00").timestamp())
    return tuple(times_s) or None


# ------------------------------------------------------------------ commands in containers

_AS_BENCH = (f"--username={USER}", f"--dbname={DATABASE}")
PSQL = ("psql", *_AS_BENCH, "--no-psqlrc", "--quiet", "--output=/dev/null", "--set=ON_ERROR_STOP=1")
VACUUM = ("vacuumdb", *_AS_BENCH, "--quiet", "--freeze", "--analyze")


def read(node: Node, extents: Sequence[Extent], world: World) -> bool:
    """Reads extents into the caches of a node. False if the time was too short for all of them."""
    container = world.platform.container(container_nodes.container_name(node))
    statements = "; ".join(extent.sql() for extent in extents)
    done = container.exec(
        (*PSQL, "--command", statements),
        timeout_s=WARM_S + 30,
        env={"PGOPTIONS": f"-c transaction_timeout={WARM_S:g}s"},
        watch=(container,),
    )
    if done.exit_code != 0 and "transaction timeout" not in done.err:
        raise RunError(f"filling the cache of {container.name} failed", evidence=done.err[-2000:])
    return done.exit_code == 0


def verified(image: str, own: Mapping[str, str], world: World) -> str:
    """Asks the server in the image about settings: a line of output for each that it refuses."""
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
        done = idle.exec(("node", "verify", *pairs), timeout_s=60)
    if done.exit_code != 0:
        raise RunError(f"{image} could not verify settings", evidence=done.err[-2000:])
    return done.out
