"""An existing cluster as its servers describe it: tablets and leaders, nodes, facts of a run."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

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
    leaders = Counter[str]()
    if declared.masters:
        leaders.update(pages.leaders(declared.masters))
    else:
        with connect(address(declared, declared.database), 60.0) as session:
            leaders.update(dict.fromkeys(queries.servers(session), 0))
        for _, leader in (_tablets(declared, connect) or {}).values():
            leaders[leader] += 1
    if sum(leaders.values()) < len(leaders):  # too few for each node to lead one
        return ()
    return tuple(host for host, tablets in leaders.items() if tablets == 0)


def few_tablets(
    declared: Existing, observed: Observation, connect: Connect
) -> dict[str, int]:
    """`pages.few_tablets` of our database; none if neither masters nor YSQL tell them."""
    if declared.masters:
        return pages.few_tablets(declared.masters, declared.database)
    tablets = _tablets(declared, connect)
    return pages.fewer_than_nodes(tablets or {}, observed.nodes or 0)


def _tablets(declared: Existing, connect: Connect) -> dict[str, tuple[str, str]] | None:
    """The tablets of our own database, with their leaders, as YSQL tells them."""
    with connect(address(declared, declared.database), 60.0) as session:
        return queries.tablet_leaders(session)


# ------------------------------------------------------------------ nodes and facts


def nodes(declared: Existing, observed: Observation) -> tuple[Node, ...]:
    """One node for each host. Nothing of them is on this machine: only `sources` have counters."""
    nodes: list[Node] = []
    for i, host in enumerate(observed.hosts):
        node = Node(
            name=f"node-{i + 1}",
            role="database",
            cpus=host.cpus,
            memory_bytes=host.memory_bytes,
            sources=_sources(declared, i, host),
            wal_device=host.disks.wal,
            cards=host.netclass,
        )
        nodes.append(node)
    return tuple(nodes)


def _sources(declared: Existing, number: int, host: Host) -> dict[str, str]:
    """What serves counters of host `number` (from 0): name → URL; and the device of its data."""
    lists = {
        pages.TSERVER: declared.tservers,
        pages.YSQL: declared.ysql,
        NODE_EXPORTER: declared.node_exporters,
        pages.MASTER: declared.masters,
    }
    by_name: dict[str, str] = {}
    for name, urls in lists.items():
        if number < len(urls):  # there may be fewer masters
            by_name[name] = urls[number]
    if host.disks.data:
        by_name[DISK_DEVICE] = " ".join(host.disks.data)
    if host.pressure:
        by_name[PRESSURE] = declared.node_exporters[number]
    return by_name


def facts(
    declared: Existing, observed: Observation, watched: Sequence[Node], connect: Connect
) -> DatabaseFacts:
    """RunError or OSError if a server does not answer."""
    banner = observed.hosts[0].banner
    more: dict[str, Any] = {
        "existing": True,
        "hosts": [str(server) for server in declared.servers],
        "banner": banner,
        "flavour": observed.flavour,
        "tls": declared.tls,
    }
    not_counted = _not_counted(observed, watched)
    if not_counted:
        more["disks_not_counted"] = not_counted
    # The smallest, because the data of the fullest node are compared with one node's cache.
    sizes_bytes = [node.memory_bytes for node in watched if node.memory_bytes]
    common = DatabaseFacts(
        version=observed.version,
        stand_in=server_facts.STAND_IN in banner or None,
        cache_bytes=min(sizes_bytes, default=None),
        pooler=observed.pooler,
        nodes_known=observed.nodes,
        more=more,
    )
    if observed.flavour == POSTGRESQL:
        return _postgresql(declared, common, connect)
    return _yugabytedb(declared, observed, common, watched, connect)


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
    settings = {
        **server_facts.settings("tserver", flags),
        **server_facts.settings("master", _flags_of_masters(declared)),
    }
    with connect(address(declared, declared.database), 60.0) as session:
        execution = server_facts.execution(session, flags)
    facts = replace(common, execution=execution, settings=settings or None)
    facts = _with_flags(facts, flags)
    fewest = few_tablets(declared, observed, connect)
    facts = replace(facts, few_tablets=fewest or None)
    if declared.masters:
        placement = server_facts.placement(watched)
        data_bytes = placement.pop("data_bytes")
        return replace(facts, data_bytes=data_bytes, more={**facts.more, **placement})
    tablets = _tablets(declared, connect)
    if tablets is None:
        return facts
    leaders = Counter(leader for _, leader in tablets.values())
    counted = {"tablets": len(tablets), "leaders": leaders}
    return replace(facts, more={**facts.more, **counted})


def _flags_of_masters(declared: Existing) -> dict[str, Mapping[str, str]]:
    """By their places in the list: a master need not be on a host that takes SQL."""
    flags: dict[str, Mapping[str, str]] = {}
    for i, url in enumerate(declared.masters):
        flags[str(i)] = pages.flags(url)
    return flags


def _with_flags(
    facts: DatabaseFacts, flags: Mapping[str, server_facts.Flags]
) -> DatabaseFacts:
    """`facts` with what the tablet servers' flags say; without declared pages nothing is known."""
    if not flags:
        return facts
    explanatory = server_facts.picked(flags, server_facts.names_of("explanatory"))
    facts = replace(
        facts,
        durability=server_facts.picked(flags, server_facts.names_of("durability")),
        durable=server_facts.durable(flags),
        durability_as_released=server_facts.durability_as_released(flags),
        more={**facts.more, "flags": explanatory},
    )
    if any(server_facts.pools_sessions(values) for values in flags.values()):
        pooler = f"its tablet servers run with `{server_facts.POOLER_FLAG}`"
        return replace(facts, pooler=pooler)
    return facts


def _postgresql(
    declared: Existing, common: DatabaseFacts, connect: Connect
) -> DatabaseFacts:
    """`common` with the settings of all servers, and the rest as the first has it."""
    settings: dict[str, dict[str, str]] = {}
    for server in reversed(declared.servers):  # the first last: the rest is of it
        with connect(address(declared, declared.database, server), 60.0) as session:
            settings[str(server)] = servers.settings(session)
            rows = session.rows(query(__package__, "durability"))
            size = session.rows(query(__package__, "sizes"))[0]
    durability = {str(row["name"]): str(row["setting"]) for row in rows}
    names = set().union(*settings.values())
    # Where the machine's memory is seen it is the cache: the page cache has what the server's own
    # leaves.
    cache_bytes = common.cache_bytes or int(size["buffers"])
    return replace(
        common,
        durability=durability,
        durable=_is_durable(durability),
        settings=server_facts.picked(settings, sorted(names)),
        data_bytes=int(size["bytes"]),
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
