"""Readings of the servers' own web pages.

Masters at :7000, tablet servers at :9000, YSQL at :13000, always plain HTTP, reached through ports
published on 127.0.0.1 (or at a cluster's own addresses). A failed reading is an OSError, as is a
page of another form.

A build is read from these pages alone: `version()` of every released build prints `-b0` (issues
2447 and 12323 of yugabyte/yugabyte-db)."""

import contextlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from orchestrator.model import Node
from orchestrator.system.http_client import get_json, understood
from orchestrator.yugabyte import versions

# The servers' names in a node's `sources`.
MASTER = "yb-master"
TSERVER = "yb-tserver"
YSQL = "yb-ysql"


def urls(nodes: Iterable[Node], server: str) -> dict[str, str]:
    """Node → the base URL of the pages of one of its servers, of the nodes that have one."""
    by_node = {}
    for node in nodes:
        if server in node.sources:
            by_node[node.name] = node.sources[server]
    return by_node


def urls_at(
    place: int, masters: Sequence[str], tservers: Sequence[str], ysql: Sequence[str]
) -> dict[str, str]:
    """The `sources` of a node at that place of these lists, from 0, as far as they reach."""
    url_lists = {MASTER: masters, TSERVER: tservers, YSQL: ysql}
    by_name: dict[str, str] = {}
    for name, urls in url_lists.items():
        # There may be fewer masters than nodes.
        if place < len(urls):
            by_name[name] = urls[place]
    return by_name


def ask_leader(masters: Sequence[str], path: str) -> Any:
    """The first JSON answer."""
    failures = []
    # Masters that do not lead forward, redirect or send HTML, depending on the release.
    for master in masters:
        try:
            return get_json(f"{master}{path}")
        except OSError as error:
            failures.append(str(error))
    raise OSError("; ".join(failures) or "no master is known")


@understood("/api/v1/varz")
def flags(server: str) -> dict[str, str]:
    """The flags that a server runs with."""
    return _flags_on(get_json(f"{server}/api/v1/varz"))


def _flags_on(page: Any) -> dict[str, str]:
    return {str(flag["name"]): str(flag["value"]) for flag in page["flags"]}


@understood("/api/v1/version")
def version(server: str) -> str:
    """A server's release with its build: `2.18.1.0-b84`."""
    content = get_json(f"{server}/api/v1/version")
    return f"{content['version_number']}-b{content['build_number']}"


@dataclass(frozen=True)
class TabletServer:
    """One row of the masters' list. `host` is the one that it advertises."""

    host: str
    alive: bool
    user_leaders: int
    sst_files: int
    sst_bytes: int
    raw_bytes: int
    zone: str


@understood("/api/v1/tablet-servers")
def tablet_servers(masters: Sequence[str]) -> tuple[TabletServer, ...]:
    """All tablet servers that the masters know, in the order of their addresses."""
    content = ask_leader(masters, "/api/v1/tablet-servers")
    # A group for each placement: a read replica has one of its own.
    rows: list[tuple[str, Any]] = []
    for group in content.values():
        rows += group.items()
    return tuple(_tablet_server(address, row) for address, row in sorted(rows))


def _tablet_server(address: str, row: Any) -> TabletServer:
    place = [str(row.get(key, "")) for key in ("cloud", "region", "zone")]
    return TabletServer(
        host=_host_of(address),
        alive=row.get("status") == "ALIVE",
        user_leaders=_count(row.get("user_tablets_leaders", 0)),
        sst_files=_count(row.get("num_sst_files", 0)),
        sst_bytes=_count(row.get("total_sst_file_size_bytes", 0)),
        raw_bytes=_count(row.get("uncompressed_sst_file_size_bytes", 0)),
        zone=".".join(place),
    )


def _host_of(address: str) -> str:
    """The host in `host:port`."""
    return address.rsplit(":", 1)[0]


def _count(value: Any) -> int:
    number = int(value)
    if number < 0:
        raise ValueError(f"{value} is not a count")
    return number


@dataclass(frozen=True)
class Masters:
    """The masters of a cluster as one of them lists them, `host:port` each. `leader`: the host that
    it takes for the leader; "" if none."""

    leader: str
    addresses: tuple[str, ...]


@understood("/api/v1/masters")
def masters_listed_by(master: str) -> Masters:
    """What one master says, in order. Believe the leader's own page alone."""
    leader = ""
    addresses: list[str] = []
    for row in get_json(f"{master}/api/v1/masters")["masters"]:
        if "registration" not in row:  # the server did not answer
            continue
        at = row["registration"]["private_rpc_addresses"][0]
        addresses.append(f"{at['host']}:{at['port']}")
        if row["role"] == "LEADER":
            leader = str(at["host"])
    return Masters(leader, tuple(sorted(addresses)))


def leaders(masters: Sequence[str]) -> dict[str, int]:
    """Host → the tablets of users' tables that its tablet server leads."""
    return {server.host: server.user_leaders for server in tablet_servers(masters)}


class LedTablet(NamedTuple):
    """A tablet: its table or index, and the host that leads it, "" if none does now."""

    table: str
    leader: str


@understood("/dump-entities")
def tablet_leaders(masters: Sequence[str], database: str) -> dict[str, LedTablet]:
    """The tablets of a database by their identity."""
    content = ask_leader(masters, "/dump-entities")
    tables = _tables(content, database)
    tablets: dict[str, LedTablet] = {}
    for tablet in content["tablets"]:
        if tablet["table_id"] in tables:
            table = str(tables[tablet["table_id"]])
            tablets[tablet["tablet_id"]] = LedTablet(table, _leader(tablet))
    return tablets


def _tables(content: Any, database: str) -> dict[Any, Any]:
    """Identity of a database's table or index → its name."""
    keyspaces = set()
    for keyspace in content["keyspaces"]:
        if keyspace["keyspace_name"] == database:
            keyspaces.add(keyspace["keyspace_id"])
    tables = {}
    for table in content["tables"]:
        if table["keyspace_id"] in keyspaces:
            tables[table["table_id"]] = table["table_name"]
    return tables


def _leader(tablet: Any) -> str:
    # `leader` is the identity of a server; its address stands among the replicas.
    hosts: dict[str, str] = {}
    for replica in tablet["replicas"]:
        hosts[replica["server_uuid"]] = _host_of(replica["addr"])
    return hosts.get(tablet.get("leader", ""), "")


def few_tablets(masters: Sequence[str], database: str) -> dict[str, int]:
    """The tables of a database with fewer tablets than nodes, as the masters list them."""
    nodes = len(tablet_servers(masters))
    return fewer_than_nodes(tablet_leaders(masters, database), nodes)


def fewer_than_nodes(tablets: Mapping[str, LedTablet], nodes: int) -> dict[str, int]:
    """Table or index → its tablets, of those that have fewer than there are nodes. `tablets`: as
    `tablet_leaders` has them.

    A node that leads none of a table's tablets does no work for it. A table's tablets are set when
    it is made: by `SPLIT INTO`, else by the flags `ysql_num_tablets` and
    `ysql_num_shards_per_tserver`.
    """
    counts = Counter(tablet.table for tablet in tablets.values())
    return {table: count for table, count in counts.items() if count < nodes}


def few_in_words(tables: Mapping[str, int]) -> str:
    """What `few_tablets` returned, for a warning before anything is measured."""
    fewest = min(tables, key=lambda name: tables[name])
    names = fewest
    if len(tables) > 1:
        names = f"{fewest} and {len(tables) - 1} more"
    return (
        "tables and indexes have fewer tablets than there are nodes "
        f"({names}; {fewest} has {tables[fewest]}). Some nodes do not work "
        "on them"
    )


@understood("/api/v1/cluster-config, /api/v1/varz")
def replication_factor(masters: Sequence[str]) -> int:
    """How many copies the cluster keeps of all data."""
    # A cluster has a placement, with a number of copies, only if somebody set one, as yugabyted
    # does. The chart and a manual start set none.
    content = ask_leader(masters, "/api/v1/cluster-config")
    live = content.get("replication_info", {}).get("live_replicas", {})
    placed = _count(live.get("num_replicas", 0))
    if placed > 0:
        return placed
    # Then masters keep as many as their flag says: `GetNumReplicasFromPlacementInfo` in
    # `catalog_manager.cc`.
    page = ask_leader(masters, "/api/v1/varz")
    return _count(_flags_on(page)["replication_factor"])


@dataclass(frozen=True)
class Health:
    dead_nodes: int
    under_replicated_tablets: int

    @property
    def well(self) -> bool:
        return self.dead_nodes == 0 and self.under_replicated_tablets == 0

    def __str__(self) -> str:
        short = f"{self.under_replicated_tablets} tablet(s) short of copies"
        return f"{self.dead_nodes} dead node(s), {short}"


@understood("/api/v1/health-check")
def health(masters: Sequence[str]) -> Health:
    content = ask_leader(masters, "/api/v1/health-check")
    return Health(
        dead_nodes=len(content.get("dead_nodes", ())),
        under_replicated_tablets=len(content.get("under_replicated_tablets", ())),
    )


def release(banner: str, servers: Iterable[str]) -> str:
    """`2.18.1.0-b84`, or all if servers differ; the banner's number if no page answers, or ""."""
    releases: dict[str, None] = {}
    for server in servers:
        with contextlib.suppress(OSError):
            releases[version(server)] = None
    if releases:
        return ", ".join(releases)
    number = versions.banner_number(banner)
    if number:
        return versions.dotted(number)
    return ""
