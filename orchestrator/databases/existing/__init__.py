"""A cluster that others run: YugabyteDB or PostgreSQL, used as it is, never started, never stopped.

This is how clusters on real disks are compared: the same workloads, CPU and disk figures from
node_exporter on their machines, the storage engine's from YugabyteDB's own pages. Only one database
is made, and dropped again. What the owner has set is recorded, not changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from orchestrator import sql
from orchestrator.databases.existing import declared as declaration
from orchestrator.databases.existing import looking
from orchestrator.databases.existing.declared import Existing
from orchestrator.databases.existing.own import Confirm, OwnDatabase, ask_at_terminal
from orchestrator.databases.yugabytedb import cache, lsm
from orchestrator.errors import RunError, TierbenchError, UnavailableError, UsageError
from orchestrator.model import Cluster, ClusterSpec, Endpoint, Volume
from orchestrator.protocols import World
from orchestrator.sql import Connect

_REST_S = 3600.0


@dataclass
class _Used:
    """A cluster in use: what is asked of it beyond what `Cluster` tells."""

    declared: Existing
    seen: looking.Seen
    begun: lsm.ByNode


class ExistingCluster:
    name = "existing"

    def __init__(self, connect: Connect = sql.session, confirm: Confirm = ask_at_terminal) -> None:
        self._connect, self._confirm = connect, confirm
        self._used: dict[str, _Used] = {}

    def image(self, spec: ClusterSpec, world: World) -> str:
        """None is run; data are never kept either, so this only names the cluster."""
        declared, _ = declaration.read(spec)
        return f"existing cluster at {','.join(declared.hosts)}:{declared.port}"

    def keeps_images(self, spec: ClusterSpec) -> bool:
        return False

    # -------------------------------------------------------------- before anything is done

    def check(self, spec: ClusterSpec, world: World) -> None:
        """Also looks at the cluster: UnavailableError where it cannot be reached, UsageError where
        it is not what the profile says, or where our database's name is taken."""
        declared, mistakes = declaration.read(spec)
        if not mistakes:
            seen = self._look(declared)
            mistakes = looking.mistakes(spec, seen)
            for note in looking.notes(declared, seen):
                world.tell.warn(note)
        if mistakes:
            raise UsageError(
                "the existing cluster cannot be used as the profile says",
                advice="correct the profile, or the cluster",
                mistakes=mistakes,
            )
        OwnDatabase(declared, self._connect, self._confirm).may_be_replaced()

    def _look(self, declared: Existing) -> looking.Seen:
        try:
            return looking.look(declared, self._connect)
        except (RunError, OSError) as error:
            what = error.what if isinstance(error, RunError) else str(error)
            raise UnavailableError(
                f"the existing cluster does not answer: {what}",
                advice="hosts, port, user, password and the addresses of the servers' pages stand "
                "in the profile under `existing`; can this machine reach them?",
            ) from error

    # -------------------------------------------------------------- in use

    @contextmanager
    def running(
        self, spec: ClusterSpec, volumes: Sequence[Volume], network: str, prefix: str, world: World
    ) -> Iterator[Cluster]:
        """Makes our database, empty; drops it at the end. The cluster itself is left alone."""
        declared, _ = declaration.read(spec)
        seen = self._look(declared)
        own = OwnDatabase(declared, self._connect, self._confirm)
        own.may_be_replaced()
        own.make()
        cluster = Cluster(
            database=seen.flavour,
            version=seen.version,
            nodes=looking.nodes(declared, seen),
            endpoints=tuple(self._endpoint(declared, host) for host in declared.hosts),
            network=network,
        )
        self._used[network] = _Used(declared, seen, {})
        try:
            yield cluster
        finally:
            self._used.pop(network, None)
            try:
                own.drop()
            except TierbenchError as error:
                world.tell.warn(f"the database {own.name} is still there: {error.what}")

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
        here = self._used[cluster.network]
        if here.seen.flavour == looking.POSTGRESQL:
            with self._inside(here.declared, 6 * 3600.0) as asked:
                asked.rows("VACUUM (FREEZE, ANALYZE)")
        self._rest(cluster, world)

    def warm(self, cluster: Cluster, world: World) -> None:
        declared = self._used[cluster.network].declared
        hosts = [
            declaration.address(declared, endpoint.host, declared.database)
            for endpoint in cluster.endpoints
        ]
        cache.fill(self._connect, hosts, world)

    def begin_measuring(self, cluster: Cluster, world: World) -> None:
        here = self._used[cluster.network]
        self._rest(cluster, world)
        idle = looking.nodes_without_leaders(here.declared)
        if idle:
            world.tell.warn(f"{', '.join(idle)} lead no tablet: the load is on the others alone")
        here.begun = _counters(cluster)

    def facts(self, cluster: Cluster, world: World) -> Mapping[str, Any]:
        """RunError where the cluster no longer answers."""
        here = self._used[cluster.network]
        try:
            with self._inside(here.declared, 60.0) as asked:
                found = looking.facts(here.declared, here.seen, cluster.nodes, asked)
            since = lsm.since(here.begun, _counters(cluster))
        except (OSError, KeyError, ValueError) as error:
            raise RunError(f"the existing cluster could not be read: {error}") from error
        return {**found, "since_reset": since}

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
