"""What a cluster says of itself when a run is over, for the run's record."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from orchestrator.databases.common import container_nodes, wal_places
from orchestrator.databases.yugabytedb import flags, image, nodes
from orchestrator.databases.yugabytedb.flags_in_force import check_flags
from orchestrator.databases.yugabytedb.starting import RunningCluster
from orchestrator.facts import DatabaseFacts
from orchestrator.model import Cluster, Node
from orchestrator.powers import World
from orchestrator.system import sql
from orchestrator.yugabyte import counters, pages, queries, server_facts


def facts_of(
    cluster: Cluster, handle: RunningCluster, connect: sql.Connect, world: World
) -> DatabaseFacts:
    """RunError if the cluster does not answer."""
    up = cluster.nodes
    servers = check_flags(
        up, handle.settings, handle.unread, handle.spec.replication_factor
    )
    wal_devices = wal_places.wal_devices(up, flags.WAL_DISK_DIR, world)
    with connect(sql.local(cluster.endpoints[0]), 60.0) as session:
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
    # The unread are taken last: everything that was read before may have left a note there.
    return replace(facts, not_read=handle.unread.text())


def _with_durability(
    facts: DatabaseFacts, asked: str, servers: Mapping[str, server_facts.Flags]
) -> DatabaseFacts:
    """`facts` with what the servers' flags say of durability; `asked`: what the profile says."""
    durability = server_facts.picked(servers, server_facts.names_of("durability"))
    facts = replace(facts, durability={"asked": asked, **durability})
    # Durability is unknown where flags could not be read: None, and not False.
    if "durable_wal_write" not in durability:
        return facts
    return replace(
        facts,
        durable=server_facts.durable(servers),
        durability_as_released=server_facts.durability_as_released(servers),
    )


def _with_tablets(
    facts: DatabaseFacts, cluster: Cluster, handle: RunningCluster
) -> DatabaseFacts:
    """`facts` with copies, tablets, leaders, and what was counted since measuring began."""
    up = cluster.nodes
    placement = handle.unread.attempt(
        "copies, tablets and data files",
        lambda: server_facts.placement(up),
        dict[str, Any](),
        up,
    )
    few_tablets = few_tablets_of(up, handle.unread)
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


def counters_of(cluster: Cluster) -> counters.ByNode:
    """The storage engine's counters; none if they cannot be read."""
    unread: nodes.Unread = cluster.handle.unread
    up = cluster.nodes
    return unread.attempt(
        "the storage engine's counters", lambda: counters.read(up), {}, up
    )


def few_tablets_of(up: Sequence[Node], unread: nodes.Unread) -> dict[str, int]:
    """Table → its tablets, of those that have fewer than there are nodes."""
    masters = list(pages.urls(up, pages.MASTER).values())
    return unread.attempt(
        "the tablets of each table",
        lambda: pages.few_tablets(masters, container_nodes.DATABASE),
        {},
        up,
    )


def _since_begun(cluster: Cluster, handle: RunningCluster) -> dict[str, float | None]:
    """What was counted since measuring began."""
    ended = counters_of(cluster)
    if not ended:
        return {}
    return counters.since(handle.begun, ended)
