"""PostgreSQL from our own image: one primary and its streaming standbys, all of them full copies.

Shape: `nodes` = `replication_factor` = n. A commit is answered when a majority of the n copies,
the primary among them, has flushed it (`ANY n/2` of the standbys). Only the primary takes SQL
from clients. Node k keeps its role for good; nothing fails over, a node that dies ends the run.
Needs our image `postgres`.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

from orchestrator.databases.common import container_nodes
from orchestrator.databases.postgresql import nodes, queries, settings
from orchestrator.errors import Mistake, NodeError, RunError, UnavailableError, UsageError
from orchestrator.facts import DatabaseFacts
from orchestrator.model import Cluster, ClusterSpec, Endpoint, Volume
from orchestrator.platforms import own_images
from orchestrator.powers import Network, World
from orchestrator.system import sql
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
        """Also asks the server in the image about each of the profile's own settings."""
        _raise_mistakes(settings.mistakes(spec, MAJOR_VERSION, MIN_MEMORY_BYTES))
        image = own_images.need(world.root, "postgres", world.platform)
        own = settings.own(spec)
        if own:
            _raise_mistakes(settings.refused_by_server(nodes.verified(image, own, world)))
        if spec.port is not None:
            _raise_if_taken(spec.port)

    # -------------------------------------------------------------- up and down

    @contextmanager
    def running(
        self, spec: ClusterSpec, volumes: Sequence[Volume], network: Network, world: World
    ) -> Iterator[Cluster]:
        """Servers on disks that nobody keeps are killed at the end, as are all servers on the way
        out of an error. Others are stopped cleanly, the primary first, so that their images are
        one consistent state; NodeError where that fails."""
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
                nodes.let_in(names[0], password, standby_password, world)
                started += [up.enter_context(world.platform.running(one)) for one in plans[1:]]
                version = self._await_ready(endpoint, names, world)
                described = tuple(
                    map(
                        container_nodes.described, range(1, spec.nodes + 1), plans, volumes, started
                    )
                )
                yield Cluster(self.name, version, described, (endpoint,), network.name)
            except BaseException:
                nodes.kill(names, world)
                raise
            if any(volume.kept and not volume.restored for volume in volumes):
                nodes.stop_cleanly(names, world)
            else:
                nodes.kill(names, world)

    def _await_ready(self, endpoint: Endpoint, names: Sequence[str], world: World) -> str:
        """The server's version, once it answers and every standby has caught up."""
        seen = {"version": "", "state": "the primary does not answer"}

        def ready() -> bool:
            container_nodes.raise_if_dead(names, world)
            try:
                with self._connect(sql.local(endpoint), _QUERY_S) as asked:
                    seen["version"] = str(asked.rows("SHOW server_version")[0]["server_version"])
                    caught_up = queries.replicas_caught_up(asked)
            except RunError as error:
                seen["state"] = error.what
                return False
            seen["state"] = f"{caught_up} of {len(names) - 1} standbys have caught up"
            return caught_up == len(names) - 1

        if not wait_until(ready, deadline_s=nodes.START_DEADLINE_S, clock=world.clock, every_s=0.2):
            raise NodeError(
                f"PostgreSQL was not ready within {nodes.START_DEADLINE_S:g} s: {seen['state']}",
                advice="look at the log below; a slow disk needs a longer time to recover",
                evidence="\n".join(container_nodes.last_lines(name, world) for name in names),
            )
        return seen["version"].split()[0]

    # -------------------------------------------------------------- while it runs

    def settle(self, cluster: Cluster, world: World) -> None:
        """Freezes all rows, so that neither their first reader nor a later vacuum rewrites them."""
        primary = cluster.nodes[0]
        sessions = max(2, round(primary.cpus or 2))
        # Without a limit on buffers, or each session would wait for its own few to be written.
        command = (*nodes.VACUUM, "--buffer-usage-limit=0", f"--jobs={sessions}")
        nodes.run(cluster, primary, command, _VACUUM_S, world)
        self._checkpoint(cluster, world)

    def warm(self, cluster: Cluster, world: World) -> None:
        """Reads indexes, then tables, on all nodes, up to their memory. A disk too slow for that
        within ten minutes is left with a cache half full, and a warning."""
        memory_bytes = cluster.nodes[0].memory_bytes
        if memory_bytes is None:
            return
        with self._asking(cluster, world) as asked:
            extents = queries.cache_plan(asked, memory_bytes)
        streams = [extents[offset::_STREAMS] for offset in range(_STREAMS)]
        pool = ThreadPoolExecutor(max_workers=_STREAMS * len(cluster.nodes))
        try:
            reading = [
                pool.submit(nodes.read, node, stream, world)
                for node in cluster.nodes
                for stream in streams
                if stream
            ]
            finished = [read.result() for read in reading]
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
        if not all(finished):
            world.progress.warn(f"the cache was not full after {nodes.WARM_S:g} s of reading")

    def begin_measuring(self, cluster: Cluster, world: World) -> None:
        self._checkpoint(cluster, world)
        with self._asking(cluster, world) as asked:
            queries.reset_counters(asked)

    def facts(self, cluster: Cluster, world: World) -> DatabaseFacts:
        image = own_images.tag(world.root, "postgres")
        with self._asking(cluster, world) as asked:
            return queries.facts(asked, cluster.nodes[0].memory_bytes, image)

    def _checkpoint(self, cluster: Cluster, world: World) -> None:
        """On the primary, then, when they have replayed it, on the standbys: all start equal."""
        with self._asking(cluster, world, _CHECKPOINT_S) as asked:
            asked.rows("CHECKPOINT")
            standbys = len(cluster.nodes) - 1
            if not wait_until(
                lambda: queries.replicas_caught_up(asked) == standbys,
                deadline_s=_CHECKPOINT_S,
                clock=world.clock,
            ):
                raise RunError(f"the standbys did not catch up within {_CHECKPOINT_S:g} s")
        for standby in cluster.nodes[1:]:
            command = (*nodes.PSQL, "--command", "CHECKPOINT")
            nodes.run(cluster, standby, command, _CHECKPOINT_S, world)

    @contextmanager
    def _asking(
        self, cluster: Cluster, world: World, timeout_s: float = _QUERY_S
    ) -> Iterator[sql.Session]:
        """A session with the primary; NodeError where a failure in it is really a node's death."""
        try:
            with self._connect(sql.local(cluster.endpoints[0]), timeout_s) as asked:
                yield asked
        except RunError:
            world.clock.sleep(0.5)  # a connection is lost before the engine notices the death
            container_nodes.raise_if_dead(
                [node.container or node.name for node in cluster.nodes], world
            )
            raise


def _raise_mistakes(mistakes: Sequence[Mistake]) -> None:
    if mistakes:
        raise UsageError(
            "PostgreSQL cannot run this cluster",
            advice="correct the profile",
            mistakes=tuple(mistakes),
        )


def _raise_if_taken(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise UnavailableError(
                f"port {port} on 127.0.0.1 is taken ({error.strerror})",
                advice="free it, choose another `port` in the profile, or leave it out: then any "
                "free one is used; `make clean` removes what an earlier campaign left",
            ) from error
