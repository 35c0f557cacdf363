"""An existing cluster as its servers describe it: tablets and leaders, nodes, facts of a run."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from orchestrator import counter_sources
from orchestrator.counter_sources import DISK_DEVICE, NODE_EXPORTER, PRESSURE
from orchestrator.databases.existing import servers
from orchestrator.databases.existing.declaration import (
    POSTGRESQL,
    Existing,
    address,
)
from orchestrator.databases.existing.probe import Host, Observation
from orchestrator.facts import DatabaseFacts
from orchestrator.model import Node
from orchestrator.system.sql import Connect, query
from orchestrator.yugabyte import pages, queries, server_facts

# ------------------------------------------------------------------ tablets and leaders


def nodes_without_leaders(declared: Existing, connect: Connect) -> tuple[str, ...]:
    """The hosts that lead no tablet although there are enough; empty if that is not known. Without
    masters it is of our own database's tablets alone."""
    if declared.masters:
        led = pages.leaders(declared.masters)
    else:
        led = _tablets_led_by_host(declared, connect)
    # There are too few for each node to lead one.
    if sum(led.values()) < len(led):
        return ()
    return tuple(host for host, tablets in led.items() if tablets == 0)


def _tablets_led_by_host(declared: Existing, connect: Connect) -> dict[str, int]:
    """Host of the cluster → how many tablets of our own database it leads, as YSQL tells."""
    led = Counter[str]()
    with connect(address(declared, declared.database), 60.0) as session:
        # A host that leads none counts too.
        for host in queries.servers(session):
            led[host] = 0
    for tablet in (_tablets(declared, connect) or {}).values():
        led[tablet.leader] += 1
    return led


def few_tablets(
    declared: Existing, observed: Observation, connect: Connect
) -> dict[str, int]:
    """`pages.few_tablets` of our database; none if neither masters nor YSQL tell them."""
    if declared.masters:
        return pages.few_tablets(declared.masters, declared.database)
    tablets = _tablets(declared, connect)
    return pages.fewer_than_nodes(tablets or {}, observed.nodes or 0)


def _tablets(declared: Existing, connect: Connect) -> dict[str, pages.LedTablet] | None:
    """The tablets of our own database, with their leaders, as YSQL tells them."""
    with connect(address(declared, declared.database), 60.0) as session:
        return queries.tablet_leaders(session)


# ------------------------------------------------------------------ nodes and facts


def nodes(declared: Existing, observed: Observation) -> tuple[Node, ...]:
    """One node for each host. Nothing of them is on this machine: only `sources` have counters."""
    hosts = enumerate(observed.hosts)
    return tuple(_node(declared, place, host) for place, host in hosts)


def _node(declared: Existing, place: int, host: Host) -> Node:
    """`place`: of the host in the lists of the declaration, from 0."""
    return Node(
        name=f"node-{place + 1}",
        role="database",
        cpus=host.cpus,
        memory_bytes=host.memory_bytes,
        sources=_sources(declared, place, host),
        wal_device=host.disks.wal,
        cards=host.netclass,
    )


def _sources(declared: Existing, place: int, host: Host) -> dict[str, str]:
    """What serves the host's counters: name → URL; and the device of its data."""
    by_name = pages.urls_at(place, declared.masters, declared.tservers, declared.ysql)
    if place < len(declared.node_exporters):
        by_name[NODE_EXPORTER] = declared.node_exporters[place]
    if host.disks.data:
        by_name[DISK_DEVICE] = counter_sources.written(host.disks.data)
    if host.pressure:
        by_name[PRESSURE] = declared.node_exporters[place]
    return by_name


def facts(
    declared: Existing, observed: Observation, watched: Sequence[Node], connect: Connect
) -> DatabaseFacts:
    """RunError or OSError if a server does not answer."""
    common = _common(declared, observed, watched)
    if observed.flavour == POSTGRESQL:
        return _postgresql(declared, common, connect)
    return _yugabytedb(declared, observed, common, watched, connect)


def _common(
    declared: Existing, observed: Observation, watched: Sequence[Node]
) -> DatabaseFacts:
    """What is known of either database without asking it again."""
    banner = observed.hosts[0].banner
    is_stand_in = server_facts.STAND_IN in banner
    # The smallest, because the data of the fullest node are compared with one node's cache.
    sizes_bytes = [node.memory_bytes for node in watched if node.memory_bytes]
    smallest_bytes = min(sizes_bytes, default=None)
    hosts = [str(server) for server in declared.servers]
    more: dict[str, Any] = {
        "existing": True,
        "hosts": hosts,
        "banner": banner,
        "flavour": observed.flavour,
        "tls": declared.tls,
    }
    not_counted = _not_counted(observed, watched)
    if not_counted:
        more["disks_not_counted"] = not_counted
    return DatabaseFacts(
        version=observed.version,
        stand_in=is_stand_in or None,
        cache_bytes=smallest_bytes,
        pooler=observed.pooler,
        nodes_known=observed.nodes,
        more=more,
    )


def _not_counted(observed: Observation, watched: Sequence[Node]) -> dict[str, str]:
    """Node → what its host has of disks that do not count, of the nodes that have such."""
    by_node: dict[str, str] = {}
    for node, host in zip(watched, observed.hosts, strict=True):
        if host.disks.not_counted:
            by_node[node.name] = host.disks.not_counted
    return by_node


def _yugabytedb(
    declared: Existing,
    observed: Observation,
    common: DatabaseFacts,
    watched: Sequence[Node],
    connect: Connect,
) -> DatabaseFacts:
    """`common` with what the servers' pages say, as far as they are declared. Without masters
    tablets and their leaders are asked of YSQL, of our own database alone."""
    tservers = pages.urls(watched, pages.TSERVER)
    flags = {name: pages.flags(url) for name, url in tservers.items()}
    settings = server_facts.settings("tserver", flags)
    settings |= server_facts.settings("master", _flags_of_masters(declared))
    with connect(address(declared, declared.database), 60.0) as session:
        execution = server_facts.execution(session, flags)
    fewest = few_tablets(declared, observed, connect)
    with_settings = replace(
        common,
        execution=execution,
        settings=settings or None,
        few_tablets=fewest or None,
    )
    with_flags = _with_flags(with_settings, flags)
    if declared.masters:
        return _with_placement(with_flags, watched)
    return _with_tablets(with_flags, _tablets(declared, connect))


def _with_placement(facts: DatabaseFacts, watched: Sequence[Node]) -> DatabaseFacts:
    """`facts` with the data and where they are, as the masters list it."""
    placement = server_facts.placement(watched)
    data_bytes = placement.pop("data_bytes")
    return _with_more(replace(facts, data_bytes=data_bytes), placement)


def _with_tablets(
    facts: DatabaseFacts, tablets: Mapping[str, pages.LedTablet] | None
) -> DatabaseFacts:
    """`facts` with the tablets of our own database and who leads them, if that is known."""
    if tablets is None:
        return facts
    leaders = Counter(tablet.leader for tablet in tablets.values())
    return _with_more(facts, {"tablets": len(tablets), "leaders": leaders})


def _with_more(facts: DatabaseFacts, more: Mapping[str, Any]) -> DatabaseFacts:
    return replace(facts, more={**facts.more, **more})


def _flags_of_masters(declared: Existing) -> dict[str, Mapping[str, str]]:
    """By their places in the list: a master need not be on a host that takes SQL."""
    flags: dict[str, Mapping[str, str]] = {}
    for place, url in enumerate(declared.masters):
        flags[str(place)] = pages.flags(url)
    return flags


def _with_flags(
    facts: DatabaseFacts, flags: Mapping[str, server_facts.Flags]
) -> DatabaseFacts:
    """`facts` with what the tablet servers' flags say; without declared pages nothing is known."""
    if not flags:
        return facts
    durability = server_facts.picked(flags, server_facts.names_of("durability"))
    explanatory = server_facts.picked(flags, server_facts.names_of("explanatory"))
    with_durability = replace(
        facts,
        durability=durability,
        durable=server_facts.durable(flags),
        durability_as_released=server_facts.durability_as_released(flags),
    )
    with_all = _with_more(with_durability, {"flags": explanatory})
    if any(server_facts.pools_sessions(values) for values in flags.values()):
        pooler = f"its tablet servers run with `{server_facts.POOLER_FLAG}`"
        return replace(with_all, pooler=pooler)
    return with_all


def _postgresql(
    declared: Existing, common: DatabaseFacts, connect: Connect
) -> DatabaseFacts:
    """`common` with the settings of all servers, and the rest as the first has it."""
    settings: dict[str, dict[str, str]] = {}
    # The first server is read last, because durability and sizes are to be its.
    for server in reversed(declared.servers):
        with connect(address(declared, declared.database, server), 60.0) as session:
            settings[str(server)] = servers.settings(session)
            rows = session.rows(query(__package__, "durability"))
            sizes = session.rows(query(__package__, "sizes"))[0]
    durability = {str(row["name"]): str(row["setting"]) for row in rows}
    setting_names = set().union(*settings.values())
    # Where the machine's memory is seen it is the cache: the page cache has what the server's own
    # leaves.
    cache_bytes = common.cache_bytes or int(sizes["buffers"])
    return replace(
        common,
        durability=durability,
        durable=_is_durable(durability),
        settings=server_facts.picked(settings, sorted(setting_names)),
        data_bytes=int(sizes["bytes"]),
        cache_bytes=cache_bytes,
    )


def _is_durable(settings: Mapping[str, str]) -> bool:
    """Whether an answered commit is on the disk of the server that answered."""
    # A torn write of a page is not mended after a power cut without full pages.
    if settings.get("fsync") != "on" or settings.get("full_page_writes") != "on":
        return False
    # The commit is on the disk with `local` too, which waits for no copy.
    awaited = settings.get("synchronous_commit")
    return awaited in ("on", "local", "remote_apply", "remote_write")
