"""An existing cluster as its servers describe it: held against the profile, as nodes, as facts."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from orchestrator.databases.existing import disks, servers
from orchestrator.databases.existing.declaration import (
    POSTGRESQL,
    YUGABYTEDB,
    Existing,
    address,
)
from orchestrator.databases.existing.disks import HostDisks, Places
from orchestrator.errors import Mistake
from orchestrator.facts import DatabaseFacts
from orchestrator.model import (
    DISK_DEVICE,
    NODE_EXPORTER,
    PRESSURE,
    ClusterSpec,
    Node,
    sources,
)
from orchestrator.system import http_client
from orchestrator.system.sql import Connect, query
from orchestrator.yugabyte import pages, queries, server_facts, versions

_POSTGRESQL_VERSION = re.compile(r"PostgreSQL (\d+(?:\.\d+)*)")


@dataclass(frozen=True)
class Host:
    """What one host says through SQL, and its node_exporter; None: unknown. `other`: a database
    that is not measured; `pooler`: how one shows itself; `nodes`: how many a YugabyteDB knows;
    `waits_counted`: whether it counts the time that sessions wait for disks; `pressure`: whether
    the time for which tasks waited; `netclass`: its cards."""

    banner: str
    other: str | None = None
    pooler: str | None = None
    nodes: int | None = None
    waits_counted: bool = False
    cpus: float | None = None
    memory_bytes: int | None = None
    pressure: bool = False
    netclass: Mapping[str, float] = field(default_factory=dict)
    disks: HostDisks = field(default_factory=HostDisks)


@dataclass(frozen=True)
class Observation:
    """What the servers say; None: no server that knows it is declared. `flavour`: "" if unknown;
    `other`, `pooler`, `nodes`: of the first host that says it."""

    flavour: str
    version: str  # with its build, if a server's page has it
    number: str
    hosts: tuple[Host, ...]
    other: str | None = None
    pooler: str | None = None
    nodes: int | None = None
    copies: int | None = None
    health: pages.Health | None = None

    @property
    def drops_by_force(self) -> bool:
        """Whether DROP DATABASE has FORCE: PostgreSQL since 13, and YugabyteDB since 2025.1, which
        derives from PostgreSQL 15. Without it sessions of a connection pooler keep the database
        for minutes: `ysql_conn_mgr_idle_time` is 180 s."""
        if self.flavour == YUGABYTEDB:
            number = versions.banner_number(self.hosts[0].banner)
            return number is not None and number[:2] >= (2025, 1)
        major = self.number.split(".")[0]
        return self.flavour == POSTGRESQL and major.isdigit() and int(major) >= 13


def look(declared: Existing, connect: Connect) -> Observation:
    """RunError or OSError if a declared address does not answer."""
    hosts = tuple(
        _ask(declared, number, connect) for number in range(len(declared.servers))
    )
    banner = hosts[0].banner
    masters = declared.masters
    parts = versions.banner_number(banner)
    match = _POSTGRESQL_VERSION.search(banner)
    if parts:
        number = versions.dotted(parts)
    else:
        number = banner
        if match:
            number = match[1]
    flavour = servers.banner_of(banner) or declared.flavour or ""
    other = next((host.other for host in hosts if host.other), None)
    if other or not flavour:  # no page of it is known
        return Observation(flavour, number, number, hosts, other)
    return Observation(
        flavour=flavour,
        version=pages.release(banner, declared.tservers) if parts else number,
        number=number,
        hosts=hosts,
        pooler=next((host.pooler for host in hosts if host.pooler), None),
        nodes=next((host.nodes for host in hosts if host.nodes), None),
        copies=pages.replication_factor(masters) if masters else None,
        health=pages.health(masters) if masters else None,
    )


def _ask(declared: Existing, number: int, connect: Connect) -> Host:
    at = address(declared, declared.maintenance_database, declared.servers[number])
    with connect(at, 30.0) as session:
        banner = queries.banner(session)
        other = servers.refused(banner, session)
        flavour = servers.banner_of(banner)
        host = Host(banner, other, servers.pooler_between(session))
        if other or not (flavour or declared.flavour):
            return host
        if flavour == YUGABYTEDB:
            host = replace(
                host, nodes=len(queries.servers(session)), waits_counted=True
            )
        elif flavour == POSTGRESQL:
            settings = servers.settings(session)
            counted = all(settings.get(name) == "on" for name in servers.TIMED)
            host = replace(host, waits_counted=counted)
        where = disks.places(
            declared, number, session if flavour == POSTGRESQL else None
        )
    return replace(host, **_machine(declared, number, where))


def _machine(declared: Existing, number: int, where: Places) -> dict[str, Any]:
    """What its node_exporter says of a host; nothing if none is declared."""
    if not declared.node_exporters:
        return {}
    url = f"{declared.node_exporters[number]}/metrics"
    with http_client.understood(url), _rpc_port_told(url):
        body = http_client.get(f"{url}?collect[]=cpu&collect[]=meminfo")
        size = {
            "cpus": disks.processors(body),
            "memory_bytes": disks.memory_bytes(body),
        }
        if where.data or where.wal:
            body = http_client.get(f"{url}?collect[]=filesystem&collect[]=diskstats")
        own = disks.of_host(declared, number, where, body)
    more: dict[str, Any] = {}
    for name, read in (("pressure", disks.has_pressure), ("netclass", disks.cards)):
        with (
            suppress(OSError),
            http_client.understood(url),
        ):  # refused if it lacks this collector
            more[name] = read(http_client.get(f"{url}?collect[]={name}"))
    return {**size, **more, "disks": own}


@contextmanager
def _rpc_port_told(url: str) -> Iterator[None]:
    """An OSError of a page at the port of tablet servers says whose port it is."""
    try:
        yield
    except OSError as error:
        if http_client.port_of(url) != pages.TSERVER_RPC_PORT:
            raise
        raise OSError(
            f"{error}. Port {pages.TSERVER_RPC_PORT} is the RPC port of a YugabyteDB tablet "
            f"server: beside one, node_exporter listens at another, {pages.NODE_EXPORTER_PORT} "
            "in YugabyteDB's examples"
        ) from error


# ------------------------------------------------------------------ against the profile


def mistakes(spec: ClusterSpec, observed: Observation) -> Iterator[Mistake]:
    """Everything in which the cluster is not as the profile says."""
    if observed.other is not None:
        yield Mistake(
            "cluster.existing.hosts",
            (
                f"this is {observed.other}, which is not measured: how it loads, "
                "and where it keeps tables and log, is not as with PostgreSQL or "
                "YugabyteDB, so its figures would be of something else than these "
                "nodes' disks"
            ),
        )
        return
    if not observed.flavour:
        text = (
            f"the server calls itself {observed.hosts[0].banner!r}, neither "
            "PostgreSQL nor YugabyteDB: if its storage is that of one of them, "
            "say which with `flavour`"
        )
        yield Mistake("cluster.existing.hosts", text)
        return
    banners = {host.banner for host in observed.hosts}
    if len(banners) > 1:
        yield Mistake(
            "cluster.existing.hosts", f"they run different servers: {banners}"
        )
    number = (spec.version or "").partition("-b")[0]  # no banner has a build
    if number and not f"{observed.number}.".startswith(f"{number}."):
        yield Mistake(
            "cluster.version", f"the cluster runs {observed.number}, not {spec.version}"
        )
    if observed.nodes is not None and observed.nodes != spec.nodes:
        text = f"the cluster has {observed.nodes}, not {spec.nodes}"
        yield Mistake(
            "cluster.nodes", f"{text}: name each in existing.hosts, or give `nodes`"
        )
    if observed.copies is not None and observed.copies != spec.replication_factor:
        text = (
            f"the cluster keeps {observed.copies} copies, not {spec.replication_factor}"
        )
        yield Mistake("cluster.replication_factor", text)
    if observed.health is not None and not observed.health.well:
        text = f"{observed.health}: repair the cluster before measuring"
        yield Mistake("cluster.existing.masters", text)


def notes(
    spec: ClusterSpec, declared: Existing, observed: Observation
) -> Iterator[str]:
    """Warnings: differences from the profile that are no mistakes, and missing figures."""
    asked = spec.version or ""
    running = observed.version
    if "-b" in asked and "-b" in running and asked != running:
        yield f"it runs {running}; the profile says {asked}"
    if observed.flavour == YUGABYTEDB and observed.copies is None:
        yield "copies and tablets were not checked: declare `existing.masters`"
    if observed.flavour == YUGABYTEDB and not declared.tservers:
        yield "durability and compactions are not seen: declare `existing.tservers`"
    if declared.tls not in ("verify-full", "verify-ca"):
        yield f"`tls: {declared.tls}`: nobody checks that it is the declared cluster which answers"
    if not declared.node_exporters:
        yield "CPU and disk of the nodes are not seen: declare `existing.node_exporters`"
    elif not all(host.disks.data for host in observed.hosts):
        granted = f", or let {declared.user} see `data_directory` (GRANT pg_read_all_settings)"
        grant = ""
        if observed.flavour == POSTGRESQL:
            grant = granted
        yield f"the disks of the nodes are not seen: declare `existing.devices`{grant}"
    if any(host.disks.on_root for host in observed.hosts):
        yield (
            "the servers' directories are taken to be on the machines' root "
            "disks: if the servers run in containers, declare "
            "`existing.devices`"
        )
    if not all(host.waits_counted for host in observed.hosts):
        off = " and ".join(servers.TIMED)
        yield f"how long sessions wait for the disk is not seen: {off} are off"
    if observed.pooler:
        yield f"a connection pooler answers for the database: {observed.pooler}"


def nodes_without_leaders(declared: Existing) -> tuple[str, ...]:
    """The hosts that lead no tablet although there are enough; empty if no masters are declared."""
    if not declared.masters:
        return ()
    leaders = pages.leaders(declared.masters)
    enough = sum(leaders.values()) >= len(leaders)
    return tuple(host for host, tablets in leaders.items() if enough and tablets == 0)


# ------------------------------------------------------------------ nodes and facts


def nodes(declared: Existing, observed: Observation) -> tuple[Node, ...]:
    """One node for each host. Nothing of them is on this machine: only `sources` have counters."""
    return tuple(
        Node(
            name=f"node-{number + 1}",
            role="database",
            cpus=host.cpus,
            memory_bytes=host.memory_bytes,
            sources=dict(_sources(declared, number, host)),
            wal_device=host.disks.wal,
            cards=host.netclass,
        )
        for number, host in enumerate(observed.hosts)
    )


def _sources(declared: Existing, number: int, host: Host) -> Iterator[tuple[str, str]]:
    names = pages.TSERVER, pages.YSQL, NODE_EXPORTER, pages.MASTER
    lists = declared.tservers, declared.ysql, declared.node_exporters, declared.masters
    for name, urls in zip(names, lists, strict=True):
        yield from (
            (name, url) for url in urls[number : number + 1]
        )  # there may be fewer masters
    if host.disks.data:
        yield DISK_DEVICE, " ".join(host.disks.data)
    if host.pressure:
        yield PRESSURE, declared.node_exporters[number]


def facts(
    declared: Existing, observed: Observation, watched: Sequence[Node], connect: Connect
) -> DatabaseFacts:
    """RunError or OSError if a server does not answer."""
    pairs = zip(watched, observed.hosts, strict=True)
    lost = {node.name: text for node, host in pairs if (text := host.disks.not_counted)}
    more: dict[str, Any] = {
        "existing": True,
        "hosts": list(map(str, declared.servers)),
        "banner": observed.hosts[0].banner,
        "flavour": observed.flavour,
        "tls": declared.tls,
        **({"disks_not_counted": lost} if lost else {}),
    }
    known = DatabaseFacts(
        version=observed.version,
        stand_in=server_facts.STAND_IN in observed.hosts[0].banner or None,
        cache_bytes=min(
            (node.memory_bytes for node in watched if node.memory_bytes), default=None
        ),
        pooler=observed.pooler,
    )
    if observed.flavour == POSTGRESQL:
        return replace(_postgresql(declared, known, connect), more=more)
    flags = {
        name: pages.flags(url) for name, url in sources(watched, pages.TSERVER).items()
    }
    masters = {
        str(number): pages.flags(url) for number, url in enumerate(declared.masters)
    }
    settings = server_facts.settings("tserver", flags) | server_facts.settings(
        "master", masters
    )
    with connect(address(declared, declared.database), 60.0) as session:
        execution = server_facts.execution(session, flags)
    known = replace(known, execution=execution, settings=settings or None)
    if flags:
        durability = server_facts.picked(flags, server_facts.names_of("durability"))
        known = replace(
            known, durability=durability, durable=server_facts.durable(flags)
        )
        if any(each.get(servers.POOLER_FLAG) == "true" for each in flags.values()):
            known = replace(
                known, pooler=f"its tablet servers run with `{servers.POOLER_FLAG}`"
            )
        more["flags"] = server_facts.picked(flags, server_facts.names_of("explanatory"))
    if declared.masters:
        placement = server_facts.placement(watched)
        known = replace(
            known,
            data_bytes=placement.pop("data_bytes"),
            few_tablets=pages.few_tablets(declared.masters, declared.database) or None,
        )
        more |= placement
    return replace(known, more=more)


def _postgresql(
    declared: Existing, known: DatabaseFacts, connect: Connect
) -> DatabaseFacts:
    settings: dict[str, dict[str, str]] = {}
    for server in reversed(declared.servers):  # the first last: the rest is of it
        with connect(address(declared, declared.database, server), 60.0) as session:
            settings[str(server)] = servers.settings(session)
            rows = session.rows(query(__package__, "durability"))
            size = session.rows(query(__package__, "sizes"))[0]
    durability: Mapping[str, str] = {
        str(row["name"]): str(row["setting"]) for row in rows
    }
    is_whole = all(
        durability.get(name) == "on" for name in ("fsync", "full_page_writes")
    )
    awaited = durability.get("synchronous_commit") in (
        "on",
        "remote_apply",
        "remote_write",
    )
    return replace(
        known,
        durability=durability,
        durable=is_whole and awaited,
        settings=server_facts.picked(settings, sorted(set().union(*settings.values()))),
        data_bytes=int(size["bytes"]),
        # Beside its own cache the page cache has the rest of the machine's memory, if that is seen.
        cache_bytes=known.cache_bytes or int(size["buffers"]),
    )
