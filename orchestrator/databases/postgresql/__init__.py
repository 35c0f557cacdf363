"""PostgreSQL from our image `postgres`: one primary, which alone takes SQL from clients, and its
streaming standbys, all of them full copies.

A commit is answered when a majority of the first n nodes (`replication_factor`), the primary among
them, has flushed it (`ANY n/2` of their standbys). No commit waits for the other nodes. Node k
never changes its role; nothing fails over, and a node that dies ends the run."""

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime

from orchestrator.databases.common import (
    cluster_checks,
    container_nodes,
    indexes,
    node_lifecycle,
    wal_places,
)
from orchestrator.databases.postgresql import containers, queries, settings
from orchestrator.errors import RunError
from orchestrator.facts import DatabaseFacts
from orchestrator.model import Cluster, ClusterSpec, Endpoint, Node, Volume
from orchestrator.parts import Database, DatabaseAbilities, SessionLimit
from orchestrator.platforms import own_images
from orchestrator.powers import Network, World
from orchestrator.system import at_once, clock, sql

_STOP_DEADLINE_S = 180.0
_WARM_S = 600.0
_QUERY_S = 60.0
_CHECKPOINT_S = 900.0
_VACUUM_S = 6 * 3600.0
_STREAMS = 3  # reads per node at once: enough to keep a disk with latency busy
_SHUT_DOWN = "database system is shut down"
# `2026-01-01 12:19:35.470 UTC [21] LOG:  checkpoint complete: wrote 4 buffers …`: the server's own
# `log_line_prefix` and our image's time zone. Not the time in the text, which is a duration.
_CHECKPOINT = re.compile(
    r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}) UTC \[\d+\] LOG:  checkpoint complete:",
    re.MULTILINE,
)
# `FATAL:  25P04: …`, of which the first word is in the server's language.
_SQLSTATE = re.compile(r"^\S+\s*:\s+([0-9A-Z]{5}): ", re.MULTILINE)
_AS_BENCH = (
    f"--username={container_nodes.USER}",
    f"--dbname={container_nodes.DATABASE}",
)
PSQL = (
    "psql",
    *_AS_BENCH,
    "--no-psqlrc",
    "--quiet",
    "--output=/dev/null",
    "--set=ON_ERROR_STOP=1",
    # Words of a server are in its language, and its SQLSTATE is the same in each.
    "--set=VERBOSITY=verbose",
)
_VACUUM = ("vacuumdb", *_AS_BENCH, "--quiet", "--freeze", "--analyze")


@dataclass(frozen=True)
class _CacheReading:
    """What one stream reads into the caches of a node."""

    node: Node
    extents: Sequence[queries.Extent]


class PostgreSQL(Database):
    name = "postgresql"

    def __init__(self, connect: sql.Connect = sql.session) -> None:
        self._connect = connect

    @property
    def abilities(self) -> DatabaseAbilities:
        return DatabaseAbilities(
            checkpoint_interval_s=settings.checkpoint_interval_s,
            session_limit=self.session_limit,
            rebuilt_nodes=self,
            counts_statements=True,
            shows_waits_of_sessions=True,
        )

    def image(self, spec: ClusterSpec, world: World) -> str:
        return own_images.tag(world.root, "postgres")

    def check(self, spec: ClusterSpec, world: World) -> None:
        """See `Database`. The server in the image, too, judges the profile's own settings."""
        cluster_checks.require_none(settings.mistakes(spec), "PostgreSQL")
        image = own_images.need(world.root, "postgres", world.platform)
        asked = settings.own(spec)
        if asked:
            refused = settings.refused_by_server(
                containers.verified(image, asked, world)
            )
            cluster_checks.require_none(refused, "PostgreSQL")
        if spec.port is not None:
            containers.raise_if_taken(spec.port)

    def session_limit(self, spec: ClusterSpec, world: World) -> SessionLimit | None:
        """How many sessions the primary takes, which alone takes SQL.

        The load's user is a superuser there.
        """
        most = settings.applied(spec)["max_connections"]
        if not most.isdecimal():
            return None
        return SessionLimit(
            int(most),
            hosts=1,
            setting="max_connections",
            advice="set `max_connections` among the settings of `cluster`, or give the workload "
            "fewer `threads`",
            is_certain=True,
            sampling=1,  # the collector `sessions`
        )

    @contextmanager
    def running(
        self,
        spec: ClusterSpec,
        volumes: Sequence[Volume],
        network: Network,
        world: World,
    ) -> Iterator[Cluster]:
        """Stops servers on kept disks cleanly at the end, the primary first, so that the disks are
        one consistent state; NodeError if that fails. Kills servers on other disks, and all servers
        after an error."""
        if spec.port is not None:
            containers.raise_if_taken(spec.port)
        password = container_nodes.new_password()
        standby_password = container_nodes.new_password()
        image = self.image(spec, world)
        plans = containers.container_specs(
            spec, volumes, network, image, standby_password
        )
        names = [plan.name for plan in plans]
        with ExitStack() as up:
            started = [up.enter_context(world.platform.running(plans[0]))]
            endpoint = container_nodes.endpoint(started[0], settings.PORT, password)
            # The primary first: it ends only when its standbys have its last checkpoint.
            with node_lifecycle.stopped(
                names, volumes, _SHUT_DOWN, _STOP_DEADLINE_S, world
            ):
                # Passwords are set before standbys start: each signs in with its password to copy
                # the primary.
                containers.set_passwords(names[0], password, standby_password, world)
                standbys = [world.platform.running(plan) for plan in plans[1:]]
                started += up.enter_context(at_once.entered(standbys))
                version = self._await_ready(
                    endpoint, names, world, containers.START_DEADLINE_S
                )
                described = container_nodes.node_records(plans, volumes, started, world)
                nodes = tuple(described)
                wal_places.wal_devices(nodes, containers.PG_WAL, world)
                # Loaders need not collect statistics: `settle` does, when it freezes all rows.
                yield Cluster(
                    database=self.name,
                    version=version,
                    nodes=nodes,
                    endpoints=(endpoint,),
                    network=network.name,
                    handle=plans,
                    analyze=False,
                )

    def _await_ready(
        self, endpoint: Endpoint, names: Sequence[str], world: World, deadline_s: float
    ) -> str:
        """Waits until the primary answers and every standby has caught up; returns its version."""
        version = ""
        standbys = len(names) - 1
        # The mark is what the primary had flushed a look before. Under load no standby has all of
        # it.
        upto = queries.NOW

        def missing() -> str:
            nonlocal version, upto
            with self._connect(sql.local(endpoint), _QUERY_S) as session:
                version = str(session.rows("SHOW server_version")[0]["server_version"])
                ready, upto = queries.caught_up(session, upto)
            if ready == standbys:
                return ""
            return f"{ready} of {standbys} standbys have caught up"

        failure = "PostgreSQL was not ready"
        node_lifecycle.await_ready(
            failure, missing, names, world, deadline_s=deadline_s
        )
        return version.split()[0]

    def start_anew(self, node: Node, cluster: Cluster, world: World) -> Node:
        (plan,) = [plan for plan in cluster.handle if plan.name == node.container]
        return node_lifecycle.started_anew(
            node, plan, (containers.DATA, f"{containers.WAL_DISK}/pg_wal"), world
        )

    def await_rebuilt(self, cluster: Cluster, world: World, deadline_s: float) -> None:
        names = [node.container_name for node in cluster.nodes]
        self._await_ready(cluster.endpoints[0], names, world, deadline_s)

    def settle(self, cluster: Cluster, world: World) -> None:
        """Freezes all rows, so that neither their first reader nor a later vacuum rewrites them.
        LoadError if an index is half-made."""
        with self._session(cluster, world) as session:
            indexes.require_complete(session)
        primary = cluster.nodes[0]
        sessions = max(2, round(primary.cpus or 2))
        # No limit on buffers: each session would wait until its own few are written.
        command = (*_VACUUM, "--buffer-usage-limit=0", f"--jobs={sessions}")
        # All nodes are watched: a commit would wait for a standby that never comes back.
        node_lifecycle.run(primary, command, _VACUUM_S, world, cluster.nodes)
        self._checkpoint(cluster, world)

    def warm(self, cluster: Cluster, world: World) -> None:
        """Reads indexes, then tables, on all nodes, up to their memory. Stops with a warning after
        ten minutes, even if the caches are not full."""
        memory_bytes = cluster.nodes[0].memory_bytes
        if memory_bytes is None:
            return
        with self._session(cluster, world) as session:
            extents = queries.cache_plan(session, memory_bytes)
        readings: list[_CacheReading] = []
        for node in cluster.nodes:
            for offset in range(_STREAMS):
                stream = extents[offset::_STREAMS]
                if stream:
                    readings.append(_CacheReading(node, stream))
        finished = at_once.each(
            lambda reading: _read_extents(reading.node, reading.extents, world),
            readings,
            len(readings),
        )
        if not all(finished):
            world.progress.warn(
                f"the cache was not full after {_WARM_S:g} s of reading"
            )

    def begin_measuring(self, cluster: Cluster, world: World) -> None:
        self._checkpoint(cluster, world)
        with self._session(cluster, world) as session:
            session.rows("SELECT pg_stat_reset(), pg_stat_reset_shared()")

    def facts(self, cluster: Cluster, world: World) -> DatabaseFacts:
        image = own_images.tag(world.root, "postgres")
        with self._session(cluster, world) as session:
            facts = queries.facts(session, cluster.nodes[0].memory_bytes, image)
        name = cluster.nodes[0].container or ""
        # The server counts checkpoints, but only its log has when each was complete.
        log = world.platform.container(name).logs()
        facts = replace(facts, checkpoints_s=checkpoints_s(log))
        on_disks = wal_places.wal_devices(cluster.nodes, containers.PG_WAL, world)
        if on_disks:
            return replace(facts, more={**facts.more, "wal_devices": on_disks})
        return facts

    def _checkpoint(self, cluster: Cluster, world: World) -> None:
        """Writes a checkpoint on the primary, then on the standbys when they have replayed it, so
        that all nodes start alike."""
        standbys = cluster.nodes[1:]
        with self._session(cluster, world, _CHECKPOINT_S) as session:
            session.rows("CHECKPOINT")
            caught_up = clock.wait_until(
                lambda: queries.caught_up(session)[0] == len(standbys),
                deadline_s=_CHECKPOINT_S,
                clock=world.clock,
            )
            if not caught_up:
                raise RunError(
                    f"the standbys did not catch up within {_CHECKPOINT_S:g} s",
                    advice="look at their logs among the raw files of the run",
                )

        def write_checkpoint(node: Node) -> None:
            command = (*PSQL, "--command", "CHECKPOINT")
            node_lifecycle.run(node, command, _CHECKPOINT_S, world, (node,))

        at_once.each(write_checkpoint, standbys)

    @contextmanager
    def _session(
        self, cluster: Cluster, world: World, timeout_s: float = _QUERY_S
    ) -> Iterator[sql.Session]:
        """A session with the primary; NodeError if it fails because a node died."""
        connecting = self._connect(sql.local(cluster.endpoints[0]), timeout_s)
        with node_lifecycle.deaths_told(cluster.nodes, world), connecting as session:
            yield session


def checkpoints_s(log: str) -> tuple[float, ...] | None:
    """When each checkpoint was complete, in Unix seconds. None if the log has none."""
    # Each run begins with one. A log without any could not be read, or its settings leave them out.
    times_s = list[float]()
    for time in _CHECKPOINT.findall(log):
        with suppress(ValueError):  # a damaged line
            times_s.append(datetime.fromisoformat(f"{time}+00:00").timestamp())
    return tuple(times_s) or None


def _sqlstate(psql_errors: str) -> str:
    """The SQLSTATE of what ended psql; empty if the server told none."""
    match = _SQLSTATE.search(psql_errors)
    if match is None:
        return ""
    return match[1]


def _read_extents(node: Node, extents: Sequence[queries.Extent], world: World) -> bool:
    """Reads extents into the caches of a node. False if the time was too short for all of them."""
    container = world.platform.container(node.container_name)
    statements = "; ".join(extent.sql() for extent in extents)
    argv = (*PSQL, "--command", statements)
    # The server's own limit comes first: it ends its work, where a kill of psql might not.
    env = {"PGOPTIONS": f"-c transaction_timeout={_WARM_S:g}s"}
    done = container.exec(argv, timeout_s=_WARM_S + 30, env=env, watch=(container,))
    if done.exit_code == 0:
        return True
    if _sqlstate(done.err) == sql.TRANSACTION_ENDED:
        return False
    raise RunError(
        f"filling the cache of {container.name} failed", evidence=done.err[-2000:]
    )
