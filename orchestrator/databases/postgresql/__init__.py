"""PostgreSQL from our own image: one primary and its streaming standbys, all of them full copies.

Shape: every node has all data. A commit is answered when a majority of the first n nodes
(`replication_factor`), the primary among them, has flushed it (`ANY n/2` of their standbys). No
commit waits for the other nodes. Only the primary takes SQL from clients. Node k never changes its
role; nothing fails over, and a node that dies ends the run. Needs our image `postgres`.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial

from orchestrator.databases.common import container_nodes
from orchestrator.databases.postgresql import nodes, queries, settings
from orchestrator.errors import RunError, UnavailableError
from orchestrator.facts import DatabaseFacts
from orchestrator.model import Cluster, ClusterSpec, Endpoint, Volume
from orchestrator.platforms import own_images
from orchestrator.powers import Network, World
from orchestrator.system import at_once, sql
from orchestrator.system.clock import wait_until

MAJOR_VERSION = "17"
MIN_MEMORY_BYTES = 128 * 2**20

_QUERY_S = 60.0
_CHECKPOINT_S = 900.0
_VACUUM_S = 6 * 3600.0
_STREAMS = 3  # of sequential reads per node: enough to keep a disk with latency busy


class PostgreSQL:
    name = "postgresql"

    def __init__(self, connect: sql.Connect = sql.session) -> None:
        self._connect = connect

    def image(self, spec: ClusterSpec, world: World) -> str:
        return own_images.tag(world.root, "postgres")

    def restores(self, spec: ClusterSpec) -> bool:
        return True

    # -------------------------------------------------------------- before anything starts

    def check(self, spec: ClusterSpec, world: World) -> None:
        """See `Database`. The server in the image, too, judges the profile's own settings."""
        mistakes = settings.mistakes(spec, MAJOR_VERSION, MIN_MEMORY_BYTES)
        container_nodes.require_none(mistakes, "PostgreSQL")
        image = own_images.need(world.root, "postgres", world.platform)
        own = settings.own(spec)
        if own:
            refused = settings.refused_by_server(nodes.verified(image, own, world))
            container_nodes.require_none(refused, "PostgreSQL")
        if spec.port is not None:
            _raise_if_taken(spec.port)

    # -------------------------------------------------------------- up and down

    @contextmanager
    def running(
        self, spec: ClusterSpec, volumes: Sequence[Volume], network: Network, world: World
    ) -> Iterator[Cluster]:
        """Stops servers on kept disks cleanly at the end, so that the disks are one consistent
        state; NodeError if that fails. Kills all others, and all after an error."""
        if spec.port is not None:
            _raise_if_taken(spec.port)
        password, standby_password = container_nodes.new_password(), container_nodes.new_password()
        image = self.image(spec, world)
        plans = nodes.container_specs(spec, volumes, network, image, standby_password)
        names = [plan.name for plan in plans]
        with ExitStack() as up:
            started = [up.enter_context(world.platform.running(plans[0]))]
            endpoint = container_nodes.endpoint(started[0], settings.PORT, password)
            try:
                nodes.set_passwords(names[0], password, standby_password, world)
                standbys = [world.platform.running(plan) for plan in plans[1:]]
                started += up.enter_context(at_once.entered(standbys))
                version = self._await_ready(endpoint, names, world)
                numbers = range(1, spec.nodes + 1)
                described = tuple(
                    container_nodes.described(*each, world)
                    for each in zip(numbers, plans, volumes, started, strict=True)
                )
                container_nodes.wal_devices(described, nodes.PG_WAL, world)
                yield Cluster(self.name, version, described, (endpoint,), network.name)
            except BaseException:
                container_nodes.stop(names, 0, world)
                raise
            if any(volume.kept for volume in volumes):
                nodes.stop_cleanly(names, world)
            else:
                container_nodes.stop(names, 0, world)

    def _await_ready(self, endpoint: Endpoint, names: Sequence[str], world: World) -> str:
        """Waits until the primary answers and every standby has caught up; returns its version."""
        version, standbys = "", len(names) - 1

        def missing() -> str:
            nonlocal version
            with self._connect(sql.local(endpoint), _QUERY_S) as session:
                version = str(session.rows("SHOW server_version")[0]["server_version"])
                ready = queries.replicas_caught_up(session)
            return "" if ready == standbys else f"{ready} of {standbys} standbys have caught up"

        container_nodes.await_ready(
            "PostgreSQL was not ready", missing, names, world, deadline_s=nodes.START_DEADLINE_S
        )
        return version.split()[0]

    # -------------------------------------------------------------- while it runs

    def settle(self, cluster: Cluster, world: World) -> None:
        """Freezes all rows, so that neither their first reader nor a later vacuum rewrites them."""
        primary = cluster.nodes[0]
        sessions = max(2, round(primary.cpus or 2))
        # No limit on buffers: each session would wait until its own few are written.
        command = (*nodes.VACUUM, "--buffer-usage-limit=0", f"--jobs={sessions}")
        # All nodes are watched: a commit would wait for a standby that never comes back.
        container_nodes.run(primary, command, _VACUUM_S, world, cluster.nodes)
        self._checkpoint(cluster, world)

    def warm(self, cluster: Cluster, world: World) -> None:
        """Reads indexes, then tables, on all nodes, for at most ten minutes."""
        memory_bytes = cluster.nodes[0].memory_bytes
        if memory_bytes is None:
            return
        with self._session(cluster, world) as session:
            extents = queries.cache_plan(session, memory_bytes)
        streams = [extents[offset::_STREAMS] for offset in range(_STREAMS)]
        pairs = [(node, stream) for node in cluster.nodes for stream in streams if stream]
        reading = [at_once.begun(partial(nodes.read, *pair, world)) for pair in pairs]
        finished = [read.result() for read in reading]
        if not all(finished):
            world.progress.warn(f"the cache was not full after {nodes.WARM_S:g} s of reading")

    def begin_measuring(self, cluster: Cluster, world: World) -> None:
        self._checkpoint(cluster, world)
        with self._session(cluster, world) as session:
            session.rows("SELECT pg_stat_reset(), pg_stat_reset_shared()")

    def checkpoint_interval_s(self, spec: ClusterSpec) -> float:
        return settings.checkpoint_interval_s(spec)

    def facts(self, cluster: Cluster, world: World) -> DatabaseFacts:
        image = own_images.tag(world.root, "postgres")
        with self._session(cluster, world) as session:
            facts = queries.facts(session, cluster.nodes[0].memory_bytes, image)
        log = world.platform.container(cluster.nodes[0].container or "").logs()
        facts = replace(facts, checkpoints_s=nodes.checkpoints_s(log))
        on_disks = container_nodes.wal_devices(cluster.nodes, nodes.PG_WAL, world)
        return replace(facts, more={**facts.more, "wal_devices": on_disks}) if on_disks else facts

    def _checkpoint(self, cluster: Cluster, world: World) -> None:
        """On the primary, then on standbys that have replayed it, so that all nodes start alike."""
        with self._session(cluster, world, _CHECKPOINT_S) as session:
            session.rows("CHECKPOINT")
            standbys = len(cluster.nodes) - 1
            if not wait_until(
                lambda: queries.replicas_caught_up(session) == standbys,
                deadline_s=_CHECKPOINT_S,
                clock=world.clock,
            ):
                raise RunError(
                    f"the standbys did not catch up within {_CHECKPOINT_S:g} s",
                    advice="look at their logs among the raw files of the run",
                )
        command = (*nodes.PSQL, "--command", "CHECKPOINT")
        at_once.each(
            lambda node: container_nodes.run(node, command, _CHECKPOINT_S, world, (node,)),
            cluster.nodes[1:],
        )

    @contextmanager
    def _session(
        self, cluster: Cluster, world: World, timeout_s: float = _QUERY_S
    ) -> Iterator[sql.Session]:
        """A session with the primary; NodeError if it fails because a node died."""
        try:
            with self._connect(sql.local(cluster.endpoints[0]), timeout_s) as session:
                yield session
        except RunError as error:
            container_nodes.raise_cause(error, cluster.nodes, world)


def _raise_if_taken(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise UnavailableError(
                f"port {port} on 127.0.0.1 is taken ({error.strerror})",
                advice="free it, choose another `port` in the profile, or leave it out: "
                "then any free one is used; `tierbench clean` removes what an earlier one left",
            ) from error
