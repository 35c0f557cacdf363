"""An existing cluster as its servers describe it: held against the profile, as nodes, as facts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.databases.common.yugabyte import pages, queries, release, server_facts, versions
from orchestrator.databases.existing import machines
from orchestrator.databases.existing.declaration import Existing, address, device
from orchestrator.errors import Mistake
from orchestrator.facts import DatabaseFacts
from orchestrator.model import DISK_DEVICE, NODE_EXPORTER, ClusterSpec, Node, sources
from orchestrator.system import http_client, sql
from orchestrator.system.sql import Connect

YUGABYTEDB, POSTGRESQL = "yugabytedb", "postgresql"
_POSTGRESQL_VERSION = re.compile(r"PostgreSQL (\d+(?:\.\d+)*)")
# The settings of PostgreSQL that decide what survives a power cut.
_DURABILITY = ("fsync", "full_page_writes", "synchronous_commit", "synchronous_standby_names")


@dataclass(frozen=True)
class Machine:
    """One host by its node_exporter; None: unknown, because none is declared."""

    cpus: float | None = None
    device: str | None = None


@dataclass(frozen=True)
class Observation:
    """What the servers say of their cluster. None: no server that knows it is declared."""

    flavour: str
    version: str  # with its build, if a server's page has it
    number: str
    banners: tuple[str, ...]
    nodes: int | None
    copies: int | None
    health: pages.Health | None
    machines: tuple[Machine, ...]


def look(declared: Existing, connect: Connect) -> Observation:
    """RunError or OSError if a declared address does not answer."""
    banners = []
    nodes: int | None = None
    for host in declared.hosts:
        with connect(address(declared, host, declared.maintenance_database), 30.0) as session:
            banners.append(queries.banner(session))
            if versions.banner_number(banners[-1]) is not None:
                nodes = len(queries.servers(session))
    masters = declared.masters
    parts = versions.banner_number(banners[0])
    match = _POSTGRESQL_VERSION.search(banners[0])
    number = versions.dotted(parts) if parts else match[1] if match else banners[0]
    return Observation(
        flavour=YUGABYTEDB if parts else POSTGRESQL,
        version=release.read(banners[0], declared.tservers) if parts else number,
        number=number,
        banners=tuple(banners),
        nodes=nodes,
        copies=pages.replication_factor(masters) if masters else None,
        health=pages.health(masters) if masters else None,
        machines=tuple(_machine(declared, host) for host in range(len(declared.hosts))),
    )


def _machine(declared: Existing, number: int) -> Machine:
    if not declared.node_exporters:
        return Machine()
    url = declared.node_exporters[number]
    cpus = machines.processors(http_client.get(f"{url}/metrics?collect[]=cpu"))
    disk, path = device(declared, number), declared.data_path
    if not path and declared.tservers:
        path = pages.flags(declared.tservers[number]).get("fs_data_dirs", "").split(",")[0]
    if disk is None and path:
        body = http_client.get(f"{url}/metrics?collect[]=filesystem")
        disk = machines.device_of(body, path)
    return Machine(cpus=float(cpus), device=disk)


# ------------------------------------------------------------------ against the profile


def mistakes(spec: ClusterSpec, observed: Observation) -> Iterator[Mistake]:
    """Everything in which the cluster is not as the profile says."""
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


def facts(
    declared: Existing, observed: Observation, watched: Sequence[Node], session: sql.Session
) -> DatabaseFacts:
    """RunError or OSError if a server does not answer."""
    more: dict[str, Any] = {
        "existing": True,
        "hosts": list(declared.hosts),
        "banner": observed.banners[0],
        "flavour": observed.flavour,
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
