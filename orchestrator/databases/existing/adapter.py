"""A cluster that others run: YugabyteDB or PostgreSQL, used as it is, never started, never stopped.

This is how clusters on real disks are compared: the same workloads, CPU and disk figures from
node_exporter on their machines, the storage engine's from YugabyteDB's own pages. Only one database
is made, and dropped again. What the owner has set is recorded, not changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from orchestrator.databases.common.yugabyte import cache, lsm
from orchestrator.databases.existing import declaration, probe
from orchestrator.databases.existing.declaration import Existing
from orchestrator.databases.existing.owned_database import Confirm, OwnDatabase, ask_at_terminal
from orchestrator.errors import RunError, TierbenchError, UnavailableError, UsageError
from orchestrator.facts import DatabaseFacts
from orchestrator.model import Cluster, ClusterSpec, Endpoint, Volume
from orchestrator.powers import HOST_NETWORK, Network, World
from orchestrator.system import sql
from orchestrator.system.sql import Connect

_REST_S = 3600.0


@dataclass
class _Used:
    """The handle of a cluster in use. `begun`: its counters when measuring began."""

    declared: Existing
    seen: probe.Seen
    version_asked: str | None
    begun: lsm.ByNode


class ExistingCluster:
    name = "existing"

    def __init__(self, connect: Connect = sql.session, confirm: Confirm = ask_at_terminal) -> None:
        self._connect, self._confirm = connect, confirm

    def image(self, spec: ClusterSpec, world: World) -> str:
        """None is run; data are never kept either, so this only names the cluster."""
        declared, _ = declaration.read(spec)
        return f"existing cluster at {','.join(declared.hosts)}:{declared.port}"

    def restores(self, spec: ClusterSpec) -> bool:
        return False

    # -------------------------------------------------------------- before anything is done

    def check(self, spec: ClusterSpec, world: World) -> None:
        """Also looks at the cluster: UnavailableError where it cannot be reached, UsageError where
        it is not what the profile says, or where our database's name is taken."""
        declared, mistakes = declaration.read(spec)
        if not mistakes:
            seen = self._look(declared)
            mistakes = probe.mistakes(spec, seen)
            for note in probe.notes(spec, declared, seen):
                world.progress.warn(note)
        if mistakes:
            raise UsageError(
                "the existing cluster cannot be used as the profile says",
                advice="correct the profile, or the cluster",
                mistakes=mistakes,
            )
        own = OwnDatabase(declared, self._connect, self._confirm)
        own.may_be_made()
        own.may_be_replaced()

    def _look(self, declared: Existing) -> probe.Seen:
        try:
            return probe.look(declared, self._connect)
        except (RunError, OSError) as error:
            what = error.what if isinstance(error, RunError) else str(error)
            raise UnavailableError(
                f"the existing cluster does not answer: {what}",
                advice="hosts, port, user, password, maintenance_database and the servers' pages "
                "stand in the profile under `existing`; can this machine reach them?",
            ) from error

    # -------------------------------------------------------------- in use

    @contextmanager
    def running(
        self, spec: ClusterSpec, volumes: Sequence[Volume], network: Network, world: World
    ) -> Iterator[Cluster]:
        """Makes our database, empty; drops it at the end. The cluster itself is left alone.

        The client goes on this machine's own network: what is reached from here (`localhost`, a
        container of others, a name, a tunnel) is reached from there, and nothing is translated
        on the way.
        """
        declared, _ = declaration.read(spec)
        seen = self._look(declared)
        own = OwnDatabase(declared, self._connect, self._confirm)
        own.may_be_replaced()
        own.make()
        cluster = Cluster(
            database=seen.flavour,
            version=seen.version,
            nodes=probe.nodes(declared, seen),
            endpoints=tuple(self._endpoint(declared, host) for host in declared.hosts),
            network=HOST_NETWORK,
            handle=_Used(declared, seen, spec.version, {}),
        )
        try:
            yield cluster
        finally:
            try:
                own.drop()
            except TierbenchError as error:
                world.progress.warn(f"the database {own.name} is still there: {error.what}")

    def _endpoint(self, declared: Existing, host: str) -> Endpoint:
        return Endpoint(
            host=host,
            port=declared.port,
            local_port=declared.port,
            local_host=host,
            user=declared.user,
            password=declaration.password(declared),
            database=declared.database,
        )

    def settle(self, cluster: Cluster, world: World) -> None:
        """PostgreSQL: rows frozen, as far as our own database goes. YugabyteDB: waits until it
        rests, where its pages are declared."""
        here: _Used = cluster.handle
        if here.seen.flavour == probe.POSTGRESQL:
            with self._inside(here.declared, 6 * 3600.0) as asked:
                asked.rows("VACUUM (FREEZE, ANALYZE)")
        self._rest(cluster, world)

    def warm(self, cluster: Cluster, world: World) -> None:
        here: _Used = cluster.handle
        declared = here.declared
        hosts = [
            declaration.address(declared, endpoint.host, declared.database)
            for endpoint in cluster.endpoints
        ]
        cache.fill(self._connect, hosts, world)

    def begin_measuring(self, cluster: Cluster, world: World) -> None:
        here: _Used = cluster.handle
        self._rest(cluster, world)
        idle = probe.nodes_without_leaders(here.declared)
        if idle:
            world.progress.warn(
                f"{', '.join(idle)} lead no tablet: the load is on the others alone"
            )
        here.begun = _counters(cluster)

    def facts(self, cluster: Cluster, world: World) -> DatabaseFacts:
        """RunError where the cluster no longer answers."""
        here: _Used = cluster.handle
        try:
            with self._inside(here.declared, 60.0) as asked:
                found = probe.facts(here.declared, here.seen, cluster.nodes, asked)
            since = lsm.since(here.begun, _counters(cluster))
        except (OSError, KeyError, ValueError) as error:
            raise RunError(f"the existing cluster could not be read: {error}") from error
        return replace(found, version_asked=here.version_asked, since_reset=since)

    def _rest(self, cluster: Cluster, world: World) -> None:
        if _counters(cluster):
            lsm.rest(cluster.nodes, world, deadline_s=_REST_S)

    @contextmanager
    def _inside(self, declared: Existing, timeout_s: float) -> Iterator[sql.Session]:
        inside = declaration.address(declared, declared.hosts[0], declared.database)
        with self._connect(inside, timeout_s) as asked:
            yield asked


def _counters(cluster: Cluster) -> dict[str, dict[str, float]]:
    """Empty where the profile declares no tablet servers' pages."""
    return lsm.read(cluster.nodes)
