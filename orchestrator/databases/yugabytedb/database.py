"""YugabyteDB from its own image: nodes under `yugabyted`, every one of which takes SQL, so clients
spread their connections over all of them. Facts, traps and their sources:
docs/research/YUGABYTEDB.md."""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from orchestrator.databases.common import (
    cluster_checks,
    container_nodes,
    indexes,
    node_lifecycle,
    wal_places,
)
from orchestrator.databases.yugabytedb import flags, image, nodes, settings, tls
from orchestrator.databases.yugabytedb.flags_in_force import check_flags
from orchestrator.databases.yugabytedb.readiness import Leaders, Readiness
from orchestrator.errors import NodeError, RunError, UsageError
from orchestrator.facts import DatabaseFacts
from orchestrator.model import (
    Cluster,
    ClusterSpec,
    Endpoint,
    Node,
    Tls,
    Volume,
    sources,
)
from orchestrator.parts import Database, SessionLimit
from orchestrator.platforms.common import lifecycle
from orchestrator.powers import Container, ContainerSpec, Network, World
from orchestrator.system import at_once, files, sql
from orchestrator.yugabyte import counters, pages, queries, server_facts, versions

_FLUSH_S = 600.0


@dataclass(frozen=True)
class _StartedNode:
    """A node that runs, and its SQL."""

    node: Node
    endpoint: Endpoint


@dataclass
class _Running:
    """The handle. `begun`, `leaders`: counters and tablets when measuring began. `ulimits`: of
    nodes' processes, as they are in force. `plans`: its containers, as they were started.
    `unread`: what could not be read so far."""

    spec: ClusterSpec
    settings: settings.Settings
    masters: str
    readiness: Readiness
    unread: nodes.Unread
    begun: counters.ByNode = field(default_factory=dict)
    ulimits: dict[str, Mapping[str, str]] = field(default_factory=dict)
    plans: list[ContainerSpec] = field(default_factory=list)
    leaders: Leaders | None = None


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
        # Without TLS YSQL trusts everybody who reaches it, and its administrator has no password.
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
        # Only as many nodes as copies have a voting master.
        masters = flags.master_addresses(network.addresses[: spec.replication_factor])
        unread = nodes.Unread(world)
        readiness = Readiness(spec, chosen, self._connect, unread, world)
        handle = _Running(spec, chosen, masters, readiness, unread)
        with ExitStack() as up:
            try:
                start = partial(_start, handle, volumes, network, up, world)
                restored = any(volume.restored for volume in volumes)
                if restored:
                    started = start()
                else:
                    started = _new(start, handle, up, world)
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
        handle: _Running,
        started: Sequence[_StartedNode],
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
            # Before copies are awaited: by itself yugabyted makes only one copy, or three.
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
        return Cluster(self.name, version, up, endpoints, network, handle, analyze)

    def _release(
        self, expected: versions.Version, banner: str, up: Sequence[Node], world: World
    ) -> str:
        """The release that runs. NodeError if SQL names another one than expected. Another build,
        or none that can be read, gives a warning here and a doubt in the report."""
        running = pages.release(banner, sources(up, pages.TSERVER).values())
        # Only another number is refused. The build is doubted: a banner's is always -b0.
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
        """Writes memory tables out, waits for the merging that this sets off, and until the disks
        hold all that a copy of them needs to start. LoadError if an index is half-made."""
        handle: _Running = cluster.handle
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

        # What is not flushed is in the write-ahead log all the same.
        handle.unread.attempt(
            "whether memory tables are on disk", flush, None, cluster.nodes
        )
        # A run that began while files are merged would measure that work as well.
        counters.await_quiet(cluster.nodes, world)
        # Last, since the disks are copied after this, with the file that names the masters.
        handle.readiness.await_remembered_masters(cluster.nodes)

    def warm(self, cluster: Cluster, world: World) -> None:
        """Reads all tables over all nodes, for at most ten minutes."""
        endpoints = [sql.local(endpoint) for endpoint in cluster.endpoints]
        queries.fill_caches(self._connect, endpoints, world)

    def begin_measuring(self, cluster: Cluster, world: World) -> None:
        """Waits until leaders are spread and the disks are quiet, then reads the counters."""
        handle: _Running = cluster.handle
        few_tablets = _few_tablets(cluster.nodes, handle.unread)
        if few_tablets:
            world.progress.warn(pages.few_in_words(few_tablets))
        handle.leaders = handle.readiness.await_balance(cluster.nodes, handle.masters)
        counters.await_quiet(cluster.nodes, world, deadline_s=1800)
        handle.begun = _counters(cluster)

    def facts(self, cluster: Cluster, world: World) -> DatabaseFacts:
        """RunError if the cluster does not answer; NodeError if that is because a node died."""
        with node_lifecycle.deaths_told(cluster.nodes, world, nodes.log):
            return self._facts(cluster, cluster.handle, world)

    def _facts(self, cluster: Cluster, handle: _Running, world: World) -> DatabaseFacts:
        up = cluster.nodes
        servers = check_flags(
            up, handle.settings, handle.unread, handle.spec.replication_factor
        )
        wal_devices = wal_places.wal_devices(up, flags.WAL_DISK_DIR, world)
        with self._connect(sql.local(cluster.endpoints[0]), 60.0) as session:
            banner = queries.banner(session)
            execution = server_facts.execution(session, servers)
        facts = DatabaseFacts(
            version=cluster.version,
            version_asked=str(handle.settings.version),
            image=image.chosen(handle.settings, world.platform),
            stand_in=server_facts.STAND_IN in banner or None,
            execution=execution,
            cache_bytes=up[0].memory_bytes,
        )
        facts = _with_durability(facts, handle.settings.durability, servers)
        more: dict[str, Any] = {
            "banner": banner,
            "tls": handle.settings.tls,
            "ulimits": handle.ulimits,
        }
        if wal_devices:
            more["wal_devices"] = wal_devices
        explanatory = server_facts.names_of("explanatory")
        more["flags"] = server_facts.picked(servers, explanatory)
        facts = _with_tablets(replace(facts, more=more), cluster, handle)
        # Last: everything that was read before may have left a note there.
        return replace(facts, not_read=handle.unread.text())


def _with_durability(
    facts: DatabaseFacts, asked: str, servers: Mapping[str, server_facts.Flags]
) -> DatabaseFacts:
    """`facts` with what the servers' flags say of durability; `asked`: what the profile says."""
    durability = server_facts.picked(servers, server_facts.names_of("durability"))
    facts = replace(facts, durability={"asked": asked, **durability})
    # Where flags could not be read durability is unknown: None, and not False.
    if "durable_wal_write" not in durability:
        return facts
    return replace(
        facts,
        durable=server_facts.durable(servers),
        durability_as_released=server_facts.durability_as_released(servers),
    )


def _with_tablets(
    facts: DatabaseFacts, cluster: Cluster, handle: _Running
) -> DatabaseFacts:
    """`facts` with copies, tablets, leaders, and what was counted since measuring began."""
    up = cluster.nodes
    placement = handle.unread.attempt(
        "copies, tablets and data files",
        lambda: server_facts.placement(up),
        dict[str, Any](),
        up,
    )
    few_tablets = _few_tablets(up, handle.unread)
    counted = _since_begun(cluster, handle)
    leaders_moved = None
    if handle.leaders:
        leaders_moved = handle.readiness.leaders_moved(handle.leaders, up)
    return replace(
        facts,
        data_bytes=placement.pop("data_bytes", None),
        since_reset=counted,
        leaders_moved=leaders_moved,
        few_tablets=few_tablets or None,
        more={**facts.more, **placement},
    )


def _counters(cluster: Cluster) -> counters.ByNode:
    """The storage engine's counters; none if they cannot be read."""
    unread: nodes.Unread = cluster.handle.unread
    up = cluster.nodes
    return unread.attempt(
        "the storage engine's counters", lambda: counters.read(up), {}, up
    )


def _few_tablets(up: Sequence[Node], unread: nodes.Unread) -> dict[str, int]:
    """Table → its tablets, of those that have fewer than there are nodes."""
    masters = list(sources(up, pages.MASTER).values())
    return unread.attempt(
        "the tablets of each table",
        lambda: pages.few_tablets(masters, container_nodes.DATABASE),
        {},
        up,
    )


def _since_begun(cluster: Cluster, handle: _Running) -> dict[str, float | None]:
    """What was counted since measuring began."""
    ended = _counters(cluster)
    if not ended:
        return {}
    return counters.since(handle.begun, ended)


def _without_password(at: str) -> UsageError:
    return UsageError(
        "YugabyteDB without TLS has an administrator without a password, "
        f"at {at}. Whoever can reach that address can run commands in its "
        "containers",
        advice='set `tls: "on"` among the settings of `cluster` in the profile',
    )


def _start(
    handle: _Running,
    volumes: Sequence[Volume],
    network: Network,
    up: ExitStack,
    world: World,
) -> list[_StartedNode]:
    tag = image.need(handle.settings, world.platform)
    password = container_nodes.new_password()
    certificates: Sequence[dict[str, bytes]] = [{}] * handle.spec.nodes
    secured = Tls()
    if handle.settings.tls:
        certificates = tls.make(network.addresses, world.clock.now())
        secured = _trust(certificates[0][tls.AUTHORITY], network, up, world)
    handle.plans = _plans(handle, volumes, network, tag, certificates)
    starting = [world.platform.running(plan) for plan in handle.plans]
    containers: list[Container] = []
    restored = all(volume.restored for volume in volumes)
    if restored:
        containers = up.enter_context(at_once.entered(starting))
        _expect_replay(handle, volumes[0], world)
    started: list[_StartedNode] = []
    for i, volume in enumerate(volumes):
        if not restored:
            # One after the other: `--join` asks a node that runs already.
            containers.append(up.enter_context(starting[i]))
        node = _node(handle, i, volume, containers[i], world)
        endpoint = container_nodes.endpoint(
            containers[i], flags.YSQL, password, secured
        )
        started.append(_StartedNode(node, endpoint))
        if not volume.restored:
            running = [server.node for server in started]
            handle.readiness.await_answer(node, endpoint, up=running)
    return started


def _node(
    handle: _Running, i: int, volume: Volume, container: Container, world: World
) -> Node:
    """The record of the node that was started by plan `i`, from 0."""
    plan = handle.plans[i]
    _note_limits(handle, i + 1, plan, container, world)
    urls = nodes.sources(container)
    return container_nodes.node_record(i + 1, plan, volume, container, world, urls)


def _expect_replay(handle: _Running, volume: Volume, world: World) -> None:
    """Restored nodes read their logs again before they answer: readiness waits for that."""
    logs_bytes = at_once.each(
        lambda plan: nodes.log_bytes(plan.name, world), handle.plans
    )
    handle.readiness = handle.readiness.after_replay(
        max(logs_bytes), volume.bytes_per_s
    )


def _plans(
    handle: _Running,
    volumes: Sequence[Volume],
    network: Network,
    tag: str,
    certificates: Sequence[Mapping[str, bytes]],
) -> list[ContainerSpec]:
    plans: list[ContainerSpec] = []
    for volume, certificate_files in zip(volumes, certificates, strict=True):
        number = len(plans) + 1
        plan = nodes.container_spec(
            handle.spec,
            handle.settings,
            number,
            volume,
            network,
            tag,
            certificate_files,
        )
        plans.append(plan)
    return plans


def _trust(authority: bytes, network: Network, up: ExitStack, world: World) -> Tls:
    """Keeps the authority's certificate for sessions from here, for as long as `up` is open."""
    file = world.cache / "certificates" / network.name / tls.AUTHORITY
    up.callback(shutil.rmtree, file.parent, ignore_errors=True)
    files.make_folder(file.parent)
    with files.replacing(file) as opened:
        opened.write(authority)
    return Tls("verify-full", str(file.resolve()))


def _note_limits(
    handle: _Running,
    number: int,
    plan: ContainerSpec,
    container: Container,
    world: World,
) -> None:
    """Keeps the limits of a node's processes for the record; warns if they are low."""
    handle.ulimits[f"node-{number}"] = container.ulimits
    short = container_nodes.short_limits(plan, container)
    # yugabyted only warns of low limits, and a server with many sessions fails later. Said once,
    # because the engine gives all nodes the same.
    if short and number == 1:
        world.progress.warn(
            f"the engine does not raise the limits of YugabyteDB's processes ({short}): "
            "many connections may fail"
        )


def _new(
    start: Callable[[], list[_StartedNode]],
    handle: _Running,
    up: ExitStack,
    world: World,
) -> list[_StartedNode]:
    """Starts new nodes; once more if only the administrator's password was not changed in time."""
    try:
        return start()
    except NodeError as error:
        if not nodes.PASSWORD.search(error.evidence):
            raise
    world.progress.warn(
        "yugabyted did not change the administrator's password in time. "
        "The nodes start once more, on emptied disks"
    )
    up.close()
    at_once.each(lambda plan: nodes.empty(plan, world), handle.plans)
    return start()
