"""What the servers of an existing cluster say of it, and of their machines."""

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TypeVar

from orchestrator.databases.existing import exporter_host, servers
from orchestrator.databases.existing.declaration import (
    POSTGRESQL,
    YUGABYTEDB,
    Existing,
    address,
)
from orchestrator.databases.existing.exporter_host import HostDisks, Places
from orchestrator.system import http_client
from orchestrator.system.sql import Connect, Session
from orchestrator.yugabyte import pages, queries, versions

Fact = TypeVar("Fact")
_POSTGRESQL_VERSION = re.compile(r"PostgreSQL (\d+(?:\.\d+)*)")


@dataclass(frozen=True)
class Host:
    """What one host says through SQL, and its node_exporter; None: unknown."""

    banner: str
    other: str | None = None  # a database that is not measured
    pooler: str | None = None  # the sign of a pooler
    nodes: int | None = None  # the number of nodes that a YugabyteDB knows
    sessions: int | None = None  # the number of sessions that it takes
    # Whether it counts the time that sessions wait for disks.
    waits_counted: bool = False
    cpus: float | None = None
    memory_bytes: int | None = None
    pressure: bool = False  # whether it counts the time for which tasks waited
    netclass: Mapping[str, float] = field(default_factory=dict)  # its network cards
    disks: HostDisks = field(default_factory=HostDisks)


@dataclass(frozen=True)
class Observation:
    """What the servers say; None: no server that knows it is declared."""

    flavour: str  # "" if unknown
    version: str  # the version with its build, if a server's page has it
    number: str
    hosts: tuple[Host, ...]
    # Answers of the first host that gives them.
    other: str | None = None
    pooler: str | None = None
    nodes: int | None = None
    # Answers of the masters' pages.
    copies: int | None = None
    health: pages.Health | None = None

    @property
    def drops_by_force(self) -> bool:
        """Whether DROP DATABASE has FORCE: PostgreSQL since 13, and YugabyteDB since 2025.1, which
        derives from PostgreSQL 15."""
        # Sessions of a connection pooler keep the database for minutes without FORCE:
        # `ysql_conn_mgr_idle_time` is 180 s.
        if self.flavour == YUGABYTEDB:
            number = versions.banner_number(self.hosts[0].banner)
            return number is not None and number[:2] >= (2025, 1)
        major = self.number.split(".")[0]
        return self.flavour == POSTGRESQL and major.isdigit() and int(major) >= 13


def look(declared: Existing, connect: Connect) -> Observation:
    """RunError or OSError if a declared address does not answer."""
    hosts: list[Host] = []
    for place in range(len(declared.servers)):
        hosts.append(_ask(declared, place, connect))
    # The first speaks for all: `against_profile` refuses hosts that run different servers.
    banner = hosts[0].banner
    number = _number_in(banner)
    flavour = servers.banner_of(banner) or declared.flavour or ""
    observed = Observation(flavour, number, number, tuple(hosts))
    other = _first(host.other for host in hosts)
    if other or not flavour:  # no page of it is known
        return replace(observed, other=other)
    if versions.banner_number(banner):
        # A banner has no build: servers' pages have it.
        observed = replace(observed, version=pages.release(banner, declared.tservers))
    if declared.masters:
        observed = replace(
            observed,
            copies=pages.replication_factor(declared.masters),
            health=pages.health(declared.masters),
        )
    return replace(
        observed,
        pooler=_first(host.pooler for host in hosts),
        nodes=_first(host.nodes for host in hosts),
    )


def _number_in(banner: str) -> str:
    """The release that a banner names; the banner itself if none is known in it."""
    parts = versions.banner_number(banner)
    if parts:
        return versions.dotted(parts)
    match = _POSTGRESQL_VERSION.search(banner)
    if match:
        return match[1]
    return banner


def _first(values: Iterable[Fact | None]) -> Fact | None:
    """The first that a host says."""
    for value in values:
        if value:
            return value
    return None


def _ask(declared: Existing, place: int, connect: Connect) -> Host:
    """What the server at this place of the declaration says, and its machine."""
    server = address(declared, declared.maintenance_database, declared.servers[place])
    with connect(server, 30.0) as session:
        banner = queries.banner(session)
        other = servers.refused(banner, session)
        flavour = servers.banner_of(banner)
        host = Host(banner, other, servers.pooler_between(session))
        # The abilities of an unknown server are not known: it is asked nothing further.
        if other or not (flavour or declared.flavour):
            return host
        host = replace(host, sessions=servers.most_sessions(session))
        if flavour == YUGABYTEDB:
            nodes = len(queries.servers(session))
            # The history of sessions of YugabyteDB needs no setting, as PostgreSQL's counters of
            # waits do.
            host = replace(host, nodes=nodes, waits_counted=True)
        if flavour == POSTGRESQL:
            host = replace(host, waits_counted=_counts_waits(session))
            disk_places = exporter_host.places(declared, place, session)
        else:
            disk_places = exporter_host.places(declared, place, None)
    if not declared.node_exporters:
        return host
    url = f"{declared.node_exporters[place]}/metrics"
    return _with_machine(host, url, declared, place, disk_places)


def _counts_waits(session: Session) -> bool:
    settings = servers.settings(session)
    return all(settings.get(name) == "on" for name in servers.TIMED)


def _with_machine(
    host: Host, url: str, declared: Existing, place: int, disk_places: Places
) -> Host:
    """The host with what its node_exporter, which serves `url`, says of it."""
    with http_client.understood(url):
        body = http_client.get_exporter(f"{url}?collect[]=cpu&collect[]=meminfo")
        host = replace(
            host,
            cpus=exporter_host.processors(body),
            memory_bytes=exporter_host.memory_bytes(body),
        )
        if disk_places.data or disk_places.wal:
            body = http_client.get_exporter(
                f"{url}?collect[]=filesystem&collect[]=diskstats"
            )
        host = replace(
            host, disks=exporter_host.of_host(declared, place, disk_places, body)
        )
    # An exporter answers with an error if it lacks a collector that is named. These are not needed.
    with suppress(OSError), http_client.understood(url):
        body = http_client.get_exporter(f"{url}?collect[]=pressure")
        host = replace(host, pressure=exporter_host.has_pressure(body))
    with suppress(OSError), http_client.understood(url):
        body = http_client.get_exporter(f"{url}?collect[]=netclass")
        host = replace(host, netclass=exporter_host.cards(body))
    return host
