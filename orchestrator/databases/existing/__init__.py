"""A cluster that others run: YugabyteDB or PostgreSQL, used as it is, never started, never stopped.

This is how clusters on real disks are compared: with the same workloads, CPU and disk figures from
node_exporter on their machines, and those of the storage engine from YugabyteDB's own pages. Only
one database is made, and dropped again. The owner's settings are recorded, not changed."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from orchestrator import errors
from orchestrator.databases.common import indexes
from orchestrator.databases.existing import (
    against_profile,
    client_reach,
    cluster_facts,
    declaration,
    lease,
    probe,
    servers,
)
from orchestrator.databases.existing.owned_database import OwnDatabase, Terminal
from orchestrator.errors import (
    Mistake,
    NotAsked,
    RunError,
    TierbenchError,
    UnavailableError,
    UsageError,
)
from orchestrator.facts import DatabaseFacts
from orchestrator.keys.addresses import Server
from orchestrator.model import Cluster, ClusterSpec, Endpoint, Node, Volume
from orchestrator.parts import Confirm, DatabaseAbilities, SessionLimit
from orchestrator.powers import HOST_NETWORK, CertificateFile, Network, World
from orchestrator.system import sql
from orchestrator.system.sql import Connect
from orchestrator.yugabyte import counters, pages, queries, versions

_NO_TLS = "server does not support SSL"  # libpq's words
_QUIET_S = 3600.0
_ANSWER_S = 10.0  # the wait for a host that is only asked whether it is there
_VACUUM_S = 6 * 3600.0


@dataclass
class _UsedCluster:
    """The handle. `begun`: its counters when measuring began. `keep`: the snapshot that the owner's
    command is to make; `restored_s`: how long it took to bring one back."""

    declared: declaration.Existing
    observed: probe.Observation
    database: OwnDatabase
    version_asked: str | None
    begun: Mapping[str, Any] = field(default_factory=dict)
    keep: Path | None = None
    restored_s: float | None = None

    @property
    def is_postgresql(self) -> bool:
        return self.observed.flavour == declaration.POSTGRESQL


def _nobody(*_: object, **_options: object) -> NoReturn:
    raise NotAsked("a preview does not connect to the cluster")


class ExistingCluster:
    name = "existing"

    def __init__(
        self, connect: Connect = sql.session, confirm: Confirm | None = None
    ) -> None:
        self._connect = connect
        self._confirm = confirm or Terminal()

    @property
    def abilities(self) -> DatabaseAbilities:
        return DatabaseAbilities(
            session_limit=self.session_limit,
            reserved=self.reserved,
            certificates=self.certificates,
            hosts=self.hosts,
            find_nodes=self.find_nodes,
            unconnected=partial(ExistingCluster, _nobody),
            confirmed_by=self.confirmed_by,
        )

    def image(self, spec: ClusterSpec, world: World) -> str:
        """No image is run and no data are kept, so this only names the cluster."""
        return f"existing cluster at {declaration.read(spec)[0].where}"

    def restores(self, spec: ClusterSpec) -> bool:
        return declaration.read(spec)[0].restore is not None

    def check(self, spec: ClusterSpec, world: World) -> None:
        """See `Database`. UnavailableError if the cluster cannot be reached; UsageError if it is
        not as the profile says, or if the name of our database is taken."""
        declared = _without_mistakes(spec)
        observed = self._look(declared)
        mistakes = tuple(against_profile.mistakes(spec, observed))
        for note in against_profile.notes(spec, declared, observed):
            world.progress.warn(note)
        _require_none(mistakes)
        database = OwnDatabase(
            declared, self._connect, world, self._confirm, force=False
        )
        database.require_creatable()
        # A person is asked now, because in the middle of a campaign nobody may be there.
        database.require_replaceable(may_ask=True)
        # This check is last, since a look ahead does not go to where the load client runs.
        unlike_there = tuple(client_reach.not_from_client(declared, world))
        _require_none(unlike_there)

    def session_limit(self, spec: ClusterSpec, world: World) -> SessionLimit | None:
        declared = _without_mistakes(spec)
        observed = self._look(declared)
        try:
            return against_profile.session_limit(spec, declared, observed)
        except OSError as error:
            raise _silent(str(error)) from error

    def certificates(self, spec: ClusterSpec) -> tuple[CertificateFile, ...]:
        declared, mistakes = declaration.read(spec)
        if mistakes:  # `check` tells the mistakes
            return ()
        return declaration.certificates(declared)

    def find_nodes(self, spec: ClusterSpec) -> tuple[Node, ...]:
        """Returns the nodes of a cluster as `running` does, and makes nothing. UnavailableError if
        it does not answer."""
        declared = _without_mistakes(spec)
        return cluster_facts.nodes(declared, self._look(declared))

    def hosts(self, spec: ClusterSpec) -> dict[str, Callable[[], None]]:
        """Each declared host, with what asks it: that raises UnavailableError if it does not
        answer. Empty for a declaration with mistakes, which `check` tells."""
        declared, mistakes = declaration.read(spec)
        asked: dict[str, Callable[[], None]] = {}
        if mistakes:
            return asked
        for server in declared.servers:
            asked[str(server)] = partial(self._ask, declared, server)
        return asked

    def _ask(self, declared: declaration.Existing, server: Server) -> None:
        at = declaration.address(declared, declared.maintenance_database, server)
        try:
            with self._connect(at, _ANSWER_S) as session:
                queries.banner(session)
        except RunError as error:
            raise _silent(f"{server}: {error.what}") from error
        except OSError as error:
            raise _silent(f"{server}: {error}") from error

    def confirmed_by(self, confirm: Confirm) -> "ExistingCluster":
        """The same cluster, with somebody else to ask whether a database may be dropped."""
        return ExistingCluster(self._connect, confirm)

    def _look(self, declared: declaration.Existing) -> probe.Observation:
        try:
            return probe.look(declared, self._connect)
        except RunError as error:
            raise _silent(error.what) from error
        except OSError as error:
            raise _silent(str(error)) from error

    @contextmanager
    def reserved(self, spec: ClusterSpec, world: World) -> Iterator[None]:
        """Keeps other campaigns off the cluster. What an ended program of ours left there is
        dropped first, because a campaign that is complete makes no database anew."""
        declared, _ = declaration.read(spec)
        with lease.Lease(declared, self._connect, world).held():
            database = OwnDatabase(
                declared, self._connect, world, self._confirm, force=False
            )
            # Databases that stay are disk space of others, and no reason to measure nothing.
            try:
                database.drop_left_behind()
            except TierbenchError as error:
                world.progress.warn(
                    f"{error.what}; the campaign goes on without removing it"
                )
            yield

    @contextmanager
    def running(
        self,
        spec: ClusterSpec,
        volumes: Sequence[Volume],
        network: Network,
        world: World,
    ) -> Iterator[Cluster]:
        """Makes our database, empty or restored, and drops it at the end. The client uses its
        machine's own network: `check` refuses hosts that are others there."""
        declared, _ = declaration.read(spec)
        observed = self._look(declared)
        database = OwnDatabase(
            declared, self._connect, world, self._confirm, observed.drops_by_force
        )
        # A campaign that was suspended for long may have lost the cluster to another one.
        lease.Lease(declared, self._connect, world).require()
        database.require_replaceable(may_ask=False)
        asked = versions.release_in(spec.version or "")
        handle = _UsedCluster(declared, observed, database, asked or None)
        cluster = _as_cluster(handle)
        database.make()
        try:
            for snapshot in volumes:
                self._prepare(handle, Path(snapshot.name), snapshot.restored, world)
            yield cluster
        finally:
            _drop(database, world)

    def _prepare(
        self, handle: _UsedCluster, snapshot: Path, restored: bool, world: World
    ) -> None:
        if not restored:
            # Nothing is loaded yet: `settle` has it kept.
            handle.keep = snapshot
            return
        began_s = world.clock.monotonic()
        handle.database.run("restore", snapshot)
        _vacuum(handle)  # a dump has no statistics
        handle.restored_s = round(world.clock.monotonic() - began_s, 1)

    def settle(self, cluster: Cluster, world: World) -> None:
        """PostgreSQL: freezes the rows of our own database. YugabyteDB: waits until it is quiet, if
        its pages are declared. Then it is kept, if its owner has a command for that. LoadError if
        an index is half-made."""
        handle: _UsedCluster = cluster.handle
        with handle.database.session(60.0) as session:
            indexes.require_complete(session)
        _vacuum(handle)
        _await_quiet(cluster, world)
        if handle.keep is not None:
            handle.database.run("save", handle.keep)

    def warm(self, cluster: Cluster, world: World) -> None:
        queries.fill_caches(self._connect, cluster.endpoints, world)

    def begin_measuring(self, cluster: Cluster, world: World) -> None:
        handle: _UsedCluster = cluster.handle
        _await_quiet(cluster, world)
        if not handle.is_postgresql:
            self._warn_of_tablets(handle, world)
        handle.begun = _counted(cluster)

    def _warn_of_tablets(self, handle: _UsedCluster, world: World) -> None:
        """Warns of tables on which not every node of a YugabyteDB works."""
        declared = handle.declared
        idle = cluster_facts.nodes_without_leaders(declared, self._connect)
        if idle:
            world.progress.warn(
                f"{', '.join(idle)} lead no tablet: the other nodes take all load"
            )
        few_tablets = cluster_facts.few_tablets(
            declared, handle.observed, self._connect
        )
        if few_tablets:
            world.progress.warn(pages.few_in_words(few_tablets))

    def facts(self, cluster: Cluster, world: World) -> DatabaseFacts:
        """RunError if the cluster no longer answers, or another campaign is on it by now."""
        handle: _UsedCluster = cluster.handle
        # The lease is checked after the window: another campaign in it would have been measured as
        # ours.
        lease.Lease(handle.declared, self._connect, world).require()
        try:
            facts = cluster_facts.facts(
                handle.declared, handle.observed, cluster.nodes, self._connect
            )
            ended = _counted(cluster)
            if handle.is_postgresql:
                counted = servers.since(handle.begun, ended)
            else:
                counted = counters.since(handle.begun, ended)
        # A page that is gone, or of another form since the cluster was upgraded.
        except (OSError, KeyError, ValueError) as error:
            raise RunError(
                f"the existing cluster could not be read: {error}",
                advice="check that its servers' pages still answer this machine",
            ) from error
        more = dict(facts.more)
        if handle.restored_s is not None:
            more["restore_took_s"] = handle.restored_s
        return replace(
            facts,
            version_asked=handle.version_asked,
            since_reset=counted,
            more=more,
        )


def _as_cluster(handle: _UsedCluster) -> Cluster:
    declared = handle.declared
    flavour = handle.observed.flavour
    version = handle.observed.version
    endpoints: list[Endpoint] = []
    for server in declared.servers:
        endpoints.append(declaration.endpoint(declared, server))
    nodes = cluster_facts.nodes(declared, handle.observed)
    # Loaders need not collect statistics on PostgreSQL: `_vacuum` does.
    return Cluster(
        database=flavour,
        version=version,
        nodes=nodes,
        endpoints=tuple(endpoints),
        network=HOST_NETWORK,
        handle=handle,
        analyze=flavour == "yugabytedb" and versions.analyzed(version),
    )


def _drop(database: OwnDatabase, world: World) -> None:
    """Drops our database at the end of a run; warns of one that stays."""
    try:
        database.drop()
    except UsageError as error:
        world.progress.warn(f"the database {database.name} is left alone: {error.what}")
    except TierbenchError as error:
        world.progress.warn(
            f"the database {database.name} may still be there: {error.what}. "
            "`tierbench clean` drops it if it still belongs to this campaign"
        )


def _without_mistakes(spec: ClusterSpec) -> declaration.Existing:
    """The declaration in a profile. UsageError if it has mistakes: then nobody is asked, because
    it may name no host, or another one than is meant."""
    declared, mistakes = declaration.read(spec)
    _require_none((*mistakes, *declaration.unreadable(declared)))
    return declared


def _require_none(mistakes: Sequence[Mistake]) -> None:
    what = "the existing cluster cannot be used as the profile says"
    errors.require_none(mistakes, what, "correct the profile, or the cluster")


def _counted(cluster: Cluster) -> Mapping[str, Any]:
    """The counters of a PostgreSQL; of YugabyteDB those of each node's page."""
    handle: _UsedCluster = cluster.handle
    if not handle.is_postgresql:
        return counters.read(
            cluster.nodes, (handle.database.name, declaration.LEASE_DATABASE)
        )
    with handle.database.session(60.0) as session:
        return servers.counters(session, handle.observed.number)


def _vacuum(handle: _UsedCluster) -> None:
    if handle.is_postgresql:
        # Frozen rows are rewritten neither by their first reader nor by a later vacuum.
        with handle.database.session(_VACUUM_S) as session:
            session.rows("VACUUM (FREEZE, ANALYZE)")


def _await_quiet(cluster: Cluster, world: World) -> None:
    # No counters are read if the profile declares no tablet servers' pages.
    if counters.read(cluster.nodes):
        counters.await_quiet(cluster.nodes, world, deadline_s=_QUIET_S)


def _silent(reason: str) -> UnavailableError:
    what = f"the existing cluster does not answer: {reason}"
    return UnavailableError(what, _advice_on_silence(reason))


def _advice_on_silence(reason: str) -> str:
    """What to do where a cluster does not answer, by the words of libpq or of a pooler."""
    if servers.POOLER_REFUSED in reason:
        return (
            "this message comes from a connection pooler (PgBouncer). Name the "
            "database's own hosts and ports in `existing.hosts`. To measure "
            "through the pooler, let it have `ignore_startup_parameters = "
            "options`"
        )
    if _NO_TLS in reason:
        return (
            "it would send the password and all data unencrypted. Let the "
            "server offer TLS. If this network is safe enough, write `tls: "
            "off` under `existing` in the profile"
        )
    return (
        "check hosts, port, user, password, tls, maintenance_database and "
        "the servers' pages under `existing` in the profile. This machine "
        "must be able to reach them"
    )
