"""An existing cluster as its servers describe it: held against the profile, as nodes, as facts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.databases.common.yugabyte import pages, queries, release, server_facts, versions
from orchestrator.databases.existing import flavours, machines
from orchestrator.databases.existing.declaration import (
    POSTGRESQL,
    YUGABYTEDB,
    Existing,
    address,
    device,
)
from orchestrator.errors import Mistake
from orchestrator.facts import DatabaseFacts
from orchestrator.model import DISK_DEVICE, NODE_EXPORTER, PRESSURE, ClusterSpec, Node, sources
from orchestrator.system import http_client, sql
from orchestrator.system.sql import Connect

_POSTGRESQL_VERSION = re.compile(r"PostgreSQL (\d+(?:\.\d+)*)")
# The settings of PostgreSQL that decide what survives a power cut.
_DURABILITY = ("fsync", "full_page_writes", "synchronous_commit", "synchronous_standby_names")


@dataclass(frozen=True)
class Machine:
    """One host by its node_exporter; None: unknown, because none is declared. `pressure`: whether
    it counts the time for which tasks waited."""

    cpus: float | None = None
    device: str | None = None
    memory_bytes: int | None = None
    pressure: bool = False


@dataclass(frozen=True)
class Observation:
    """What the servers say of their cluster. None: no server that knows it is declared. `other`: a
    database that is not measured; `flavour` is empty if it is not known what answers."""

    flavour: str
    version: str  # with its build, if a server's page has it
    number: str
    banners: tuple[str, ...]
    nodes: int | None
    copies: int | None
    health: pages.Health | None
    machines: tuple[Machine, ...]
    other: flavours.Other | None = None

    @property
    def drops_by_force(self) -> bool:
        """Whether DROP DATABASE has FORCE: PostgreSQL since 13."""
        major = self.number.split(".")[0]
        return self.flavour == POSTGRESQL and major.isdigit() and int(major) >= 13


def look(declared: Existing, connect: Connect) -> Observation:
    """RunError or OSError if a declared address does not answer."""
    banners = []
    nodes: int | None = None
    other: flavours.Other | None = None
    for server in declared.servers:
        with connect(address(declared, server, declared.maintenance_database), 30.0) as session:
            banners.append(queries.banner(session))
            other = other or flavours.other(banners[-1], session)
            if versions.banner_number(banners[-1]) is not None:
                nodes = len(queries.servers(session))
    parts = versions.banner_number(banners[0])
    match = _POSTGRESQL_VERSION.search(banners[0])
    number = versions.dotted(parts) if parts else match[1] if match else banners[0]
    flavour = flavours.banner_of(banners[0]) or declared.flavour or ""
    if other or not flavour:  # no page of it is known
        return Observation(flavour, number, number, tuple(banners), None, None, None, (), other)
    masters = declared.masters
    return Observation(
        flavour=flavour,
        version=release.read(banners[0], declared.tservers) if parts else number,
        number=number,
        banners=tuple(banners),
        nodes=nodes,
        copies=pages.replication_factor(masters) if masters else None,
        health=pages.health(masters) if masters else None,
        machines=tuple(_machine(declared, number) for number in range(len(declared.servers))),
    )


def _machine(declared: Existing, number: int) -> Machine:
    if not declared.node_exporters:
        return Machine()
    url = declared.node_exporters[number]
    body = http_client.get(f"{url}/metrics?collect[]=cpu&collect[]=meminfo")
    cpus, memory_bytes = machines.processors(body), machines.memory_bytes(body)
    disk, path = device(declared, number), declared.data_path
    if not path and declared.tservers:
        path = pages.flags(declared.tservers[number]).get("fs_data_dirs", "").split(",")[0]
    if disk is None and path:
        body = http_client.get(f"{url}/metrics?collect[]=filesystem")
        disk = machines.device_of(body, path)
    return Machine(float(cpus), disk, memory_bytes, _counts_pressure(url))


def _counts_pressure(url: str) -> bool:
    """Whether the exporter has this collector and the kernel its counters: one that has not
    refuses a page that asks for it."""
    try:
        return machines.has_pressure(http_client.get(f"{url}/metrics?collect[]=pressure"))
    except OSError:
        return False


# ------------------------------------------------------------------ against the profile


def mistakes(spec: ClusterSpec, observed: Observation) -> Iterator[Mistake]:
    """Everything in which the cluster is not as the profile says."""
    if observed.other is not None:
        text = f"this is {observed.other.name}, which is not measured: {observed.other.wrong}"
        yield Mistake("cluster.existing.hosts", text)
        return
    if not observed.flavour:
        yield Mistake(
            "cluster.existing.hosts",
            f"the server calls itself {observed.banners[0]!r}, neither PostgreSQL nor YugabyteDB: "
            "if its storage is that of one of them, say which with `flavour`",
        )
        return
    banners = set(observed.banners)
    if len(banners) > 1:
        yield Mistake("cluster.existing.hosts", f"they run different servers: {banners}")
    number = (spec.version or "").partition("-b")[0]  # no banner has a build
    if number and not f"{observed.number}.".startswith(f"{number}."):
        yield Mistake("cluster.version", f"the cluster runs {observed.number}, not {spec.version}")
    if observed.nodes is not None and observed.nodes != spec.nodes:
        text = f"the cluster has {observed.nodes}, not {spec.nodes}"
        yield Mistake("cluster.nodes", f"{text}: name each in existing.hosts, or give `nodes`")
    if observed.copies is not None and observed.copies != spec.replication_factor:
        text = f"the cluster keeps {observed.copies} copies, not {spec.replication_factor}"
        yield Mistake("cluster.replication_factor", text)
    if observed.health is not None and not observed.health.well:
        text = f"{observed.health}: repair the cluster before measuring"
        yield Mistake("cluster.existing.masters", text)


def notes(spec: ClusterSpec, declared: Existing, observed: Observation) -> Iterator[str]:
    """Warnings: differences from the profile that are no mistakes, and missing figures."""
    if spec.version is not None and release.differs(spec.version, observed.version):
        yield f"it runs {observed.version}; the profile says {spec.version}"
    if observed.flavour == YUGABYTEDB and observed.copies is None:
        yield "copies and tablets were not checked: declare `existing.masters`"
    if observed.flavour == YUGABYTEDB and not declared.tservers:
        yield "durability and compactions are not seen: declare `existing.tservers`"
    if declared.tls not in ("verify-full", "verify-ca"):
        yield f"`tls: {declared.tls}`: nobody checks that it is the declared cluster which answers"
    if not declared.node_exporters:
        yield "CPU and disk of the nodes are not seen: declare `existing.node_exporters`"
    elif any(machine.device is None for machine in observed.machines):
        yield "the disks of the nodes are not seen: declare `existing.devices`"


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
            cpus=machine.cpus,
            memory_bytes=machine.memory_bytes,
            sources=dict(_sources(declared, number, machine)),
        )
        for number, machine in enumerate(observed.machines)
    )


def _sources(declared: Existing, number: int, machine: Machine) -> Iterator[tuple[str, str]]:
    for name, urls in (
        (pages.TSERVER, declared.tservers),
        (pages.YSQL, declared.ysql),
        (NODE_EXPORTER, declared.node_exporters),
    ):
        if urls:
            yield name, urls[number]
    if number < len(declared.masters):  # there may be fewer masters than hosts
        yield pages.MASTER, declared.masters[number]
    if machine.device:
        yield DISK_DEVICE, machine.device
    if machine.pressure:
        yield PRESSURE, declared.node_exporters[number]


def facts(
    declared: Existing, observed: Observation, watched: Sequence[Node], session: sql.Session
) -> DatabaseFacts:
    """RunError or OSError if a server does not answer."""
    more: dict[str, Any] = {
        "existing": True,
        "hosts": list(map(str, declared.servers)),
        "banner": observed.banners[0],
        "flavour": observed.flavour,
        "tls": declared.tls,
    }
    stand_in = server_facts.STAND_IN in observed.banners[0] or None
    known = DatabaseFacts(version=observed.version, stand_in=stand_in)
    if observed.flavour == POSTGRESQL:
        return replace(_postgresql(known, session), more=more)
    servers = {name: pages.flags(url) for name, url in sources(watched, pages.TSERVER).items()}
    known = replace(known, execution=server_facts.execution(session, servers))
    if servers:
        durability = server_facts.picked(servers, server_facts.DURABILITY)
        durable = server_facts.durable(servers)
        known = replace(known, durability=durability, durable=durable)
        more["flags"] = server_facts.picked(servers, server_facts.EXPLANATORY)
    if declared.masters:
        placement = server_facts.placement(watched)
        known = replace(known, data_bytes=placement.pop("data_bytes"))
        more |= placement
    return replace(known, more=more)


def _postgresql(known: DatabaseFacts, session: sql.Session) -> DatabaseFacts:
    rows = session.rows(f"SELECT name, setting FROM pg_settings WHERE name IN {_DURABILITY}")
    durability: Mapping[str, str] = {str(row["name"]): str(row["setting"]) for row in rows}
    size = session.rows("SELECT pg_database_size(current_database()) AS bytes")[0]["bytes"]
    durable = (
        durability.get("fsync") == "on"
        and durability.get("full_page_writes") == "on"
        and durability.get("synchronous_commit") in ("on", "remote_apply", "remote_write")
    )
    return replace(known, durability=durability, durable=durable, data_bytes=int(size))
