"""YugabyteDB from its own image: nodes under `yugabyted`, every one of which takes SQL, so clients
spread their connections over all of them. Facts, traps and their sources:
docs/research/YUGABYTEDB.md."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial

from orchestrator.databases.common import (
    cluster_checks,
    indexes,
    node_lifecycle,
    wal_places,
)
from orchestrator.databases.yugabytedb import flags, image, nodes, settings
from orchestrator.databases.yugabytedb.flags_in_force import check_flags
from orchestrator.databases.yugabytedb.readiness import Readiness
from orchestrator.databases.yugabytedb.run_facts import (
    counters_of,
    facts_of,
    few_tablets_of,
)
from orchestrator.databases.yugabytedb.starting import (
    RunningCluster,
    StartedNode,
    start,
    start_new,
)
from orchestrator.errors import NodeError, RunError, UsageError
from orchestrator.facts import DatabaseFacts
from orchestrator.model import (
    Cluster,
    ClusterSpec,
    Node,
    Volume,
)
from orchestrator.parts import Database, SessionLimit
from orchestrator.platforms.common import lifecycle
from orchestrator.powers import Network, World
from orchestrator.system import sql
from orchestrator.yugabyte import counters, pages, queries, server_facts, versions

_FLUSH_S = 600.0


class YugabyteNodes(Database):
    """YugabyteDB's nodes, started, read and stopped."""

    name = "yugabytedb"

    def __init__(
        self, connect: sql.Connect = sql.session, *, refuse_other_release: bool = True
    ) -> None:
        self._connect = connect
        self._refuse_other_release = refuse_other_release

    def image(self, spec: ClusterSpec, world: World) -> str:
        return image.chosen(settings.read(spec)[0], world.platform)

    def restores(self, spec: ClusterSpec) -> bool:
        return settings.read(spec)[0].restores

    def check(self, spec: ClusterSpec, world: World) -> None:
        chosen, mistakes = settings.read(spec)
        cluster_checks.require_none(mistakes, "YugabyteDB")
        image.need(chosen, world.platform)
        # YSQL without TLS trusts everybody who reaches it, and its administrator has no password.
        open_to = world.platform.abilities.open_to
        if open_to is not None and not chosen.tls:
            at = open_to()
            if at:
                lifecycle.require_asked_for("no-password", _without_password(at))

    def session_limit(self, spec: ClusterSpec, world: World) -> SessionLimit | None:
        chosen, _ = settings.read(spec)
        most = flags.most_sessions(spec, chosen)
        if most is None:
            return None
        return SessionLimit(
            most,
            hosts=spec.nodes,
            setting=flags.SESSIONS,
            advice=f"set `tserver.{flags.SESSIONS}` among the settings of `cluster`, give the "
            "workload fewer `threads`, or take more nodes",
            # A pooler within each node may take more clients than the server has sessions.
            is_certain=not server_facts.pools_sessions(chosen.tserver_flags),
            sampling=0,
        )

    @contextmanager
    def running(
        self,
        spec: ClusterSpec,
        volumes: Sequence[Volume],
        network: Network,
        world: World,
    ) -> Iterator[Cluster]:
        """New nodes start one after the other, each joining the first; restored ones at once.
        NodeError if the cluster is not the profile's: release, copies, durability."""
        chosen, _ = settings.read(spec)
        # The number of nodes that have a voting master is that of the copies.
        masters = flags.master_addresses(network.addresses[: spec.replication_factor])
        unread = nodes.Unread(world)
        readiness = Readiness(spec, chosen, self._connect, unread, world)
        handle = RunningCluster(spec, chosen, masters, readiness, unread)
        with ExitStack() as up:
            try:
                start_all = partial(start, handle, volumes, network, up, world)
                restored = any(volume.restored for volume in volumes)
                if restored:
                    started = start_all()
                else:
                    started = start_new(start_all, handle, up, world)
                yield self._await_cluster(handle, started, network.name, world)
            except RunError as error:
                nodes.explain(error, handle.plans, world)
                raise
            finally:
                # It has no cleaner stop: servers are killed and recover from their logs.
                most_s = 0
                if any(volume.kept for volume in volumes):
                    most_s = 60
                names = [plan.name for plan in handle.plans]
                node_lifecycle.stop(names, most_s, world)

    def _await_cluster(
        self,
        handle: RunningCluster,
        started: Sequence[StartedNode],
        network: str,
        world: World,
    ) -> Cluster:
        """The cluster, once it is whole, is the profile's, and has the generator's database."""
        up = tuple(server.node for server in started)
        endpoints = tuple(server.endpoint for server in started)
        for server in started:
            handle.readiness.await_answer(server.node, server.endpoint, up)
        place = flags.place_data(handle.spec)
        if place is not None:
            # The placement comes before copies are awaited: yugabyted makes only one copy, or
            # three, by itself.
            put: Callable[[], object] = partial(nodes.run, up[0], place, 300, world)
            handle.unread.attempt("the placement of copies", put, None, up)
        handle.readiness.await_copies(up, endpoints[0])
        check_flags(up, handle.settings, handle.unread, handle.spec.replication_factor)
        wal_places.wal_devices(up, flags.WAL_DISK_DIR, world)
        with handle.readiness.administering(up[0], endpoints[0], 120.0) as session:
            banner = queries.banner(session)
            version = self._release(handle.settings.version, banner, up, world)
            queries.create_own(session, endpoints[0])
        analyze = versions.analyzed(version)
        return Cluster(
            database=self.name,
            version=version,
            nodes=up,
            endpoints=endpoints,
            network=network,
            handle=handle,
            analyze=analyze,
        )

    def _release(
        self, expected: versions.Version, banner: str, up: Sequence[Node], world: World
    ) -> str:
        """The release that runs. NodeError if SQL names another one than expected. Another build,
        or none that can be read, gives a warning here and a doubt in the report."""
        running = pages.release(banner, pages.urls(up, pages.TSERVER).values())
        # Another number alone is refused. The build is doubted: a banner's is always -b0.
        number = versions.banner_number(banner)
        if number not in (None, expected.number) and self._refuse_other_release:
            raise NodeError(
                f"the image runs YugabyteDB {running}, expected {expected}",
                advice="correct `version` in the profile, or get the image of that release",
            )
        if running != str(expected):
            which = running or "of unknown version"
            world.progress.warn(f"YugabyteDB {which} runs, expected {expected}")
        return running or "unknown"

    def settle(self, cluster: Cluster, world: World) -> None:
        """Writes memory tables out, and waits for the merging that follows. Then waits until the
        disks hold all that a copy needs to start. LoadError if an index is half-made."""
        handle: RunningCluster = cluster.handle
        with self._connect(sql.local(cluster.endpoints[0]), 60.0) as session:
            indexes.require_complete(session)
        secured = handle.settings.tls
        world.progress.step(
            "writing memory tables to disk, then waiting until nothing is merged"
        )

        def flush() -> None:
            for node, endpoint in zip(cluster.nodes, cluster.endpoints, strict=True):
                nodes.flush_tablets(node, endpoint.host, secured, _FLUSH_S, world)
            words = ("flush_sys_catalog",)
            nodes.admin(
                cluster.nodes[0], handle.masters, secured, words, _FLUSH_S, world
            )

        # Unflushed rows are in the write-ahead log all the same.
        handle.unread.attempt(
            "whether memory tables are on disk", flush, None, cluster.nodes
        )
        # A run that began while files are merged would measure that work as well.
        counters.await_quiet(cluster.nodes, world)
        # This wait is last, since the disks are copied after this, with the file that names the
        # masters.
        handle.readiness.await_remembered_masters(cluster.nodes)

    def warm(self, cluster: Cluster, world: World) -> None:
        """Reads all tables over all nodes, for at most ten minutes."""
        queries.fill_caches(self._connect, cluster.endpoints, world)

    def begin_measuring(self, cluster: Cluster, world: World) -> None:
        """Waits until leaders are spread and the disks are quiet, then reads the counters."""
        handle: RunningCluster = cluster.handle
        few_tablets = few_tablets_of(cluster.nodes, handle.unread)
        if few_tablets:
            world.progress.warn(pages.few_in_words(few_tablets))
        handle.leaders = handle.readiness.await_balance(cluster.nodes, handle.masters)
        counters.await_quiet(cluster.nodes, world, deadline_s=1800)
        handle.begun = counters_of(cluster)

    def facts(self, cluster: Cluster, world: World) -> DatabaseFacts:
        """RunError if the cluster does not answer; NodeError if that is because a node died."""
        with node_lifecycle.deaths_told(cluster.nodes, world, nodes.log):
            return facts_of(cluster, cluster.handle, self._connect, world)


def _without_password(at: str) -> UsageError:
    return UsageError(
        "YugabyteDB without TLS has an administrator without a password, "
        f"at {at}. Whoever can reach that address can run commands in its "
        "containers",
        advice='set `tls: "on"` among the settings of `cluster` in the profile',
    )
