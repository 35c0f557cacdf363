"""Looking at an existing cluster: what it is, whether it is what the profile says, what it does."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.databases.common.yugabyte import facts as said
from orchestrator.databases.common.yugabyte import pages, queries, release, versions
from orchestrator.databases.existing import machines
from orchestrator.databases.existing.declaration import Existing, address, device
from orchestrator.errors import Mistake
from orchestrator.facts import DatabaseFacts
from orchestrator.model import DISK_DEVICE, NODE_EXPORTER, ClusterSpec, Node, sources
from orchestrator.system import http_client, sql
from orchestrator.system.sql import Connect

YUGABYTEDB, POSTGRESQL = "yugabytedb", "postgresql"
_POSTGRESQL_VERSION = re.compile(r"PostgreSQL (\d+(?:\.\d+)*)")
# PostgreSQL's settings that decide what survives a power cut.
_DURABILITY = ("fsync", "full_page_writes", "synchronous_commit", "synchronous_standby_names")


@dataclass(frozen=True)
class Machine:
    """One host as its node_exporter tells it; None where none is declared."""

    cpus: float | None = None
    device: str | None = None


@dataclass(frozen=True)
class Seen:
    """What the cluster says of itself. None: it could not be asked."""

    flavour: str
    version: str  # with its build, where a server's page says it
    number: str
    banners: tuple[str, ...]
    nodes: int | None
    copies: int | None
    health: pages.Health | None
    machines: tuple[Machine, ...]


def look(declared: Existing, connect: Connect) -> Seen:
    """RunError or OSError where a declared address does not answer."""
    banners = []
    known: int | None = None
    for host in declared.hosts:
        with connect(address(declared, host, declared.maintenance_database), 30.0) as asked:
            banners.append(queries.banner(asked))
            if versions.banner_number(banners[-1]) is not None:
                known = len(queries.servers(asked))
    copies, health = None, None
    if declared.masters:
        copies = pages.replication_factor(declared.masters)
        health = pages.health(declared.masters)
    number = versions.banner_number(banners[0])
    return Seen(
        flavour=YUGABYTEDB if number else POSTGRESQL,
        version=release.told(banners[0], declared.tservers)
        if number
        else _postgresql_version(banners[0]),
        number=versions.dotted(number) if number else _postgresql_version(banners[0]),
        banners=tuple(banners),
        nodes=known,
        copies=copies,
        health=health,
        machines=tuple(_machine(declared, number) for number in range(len(declared.hosts))),
    )


def _postgresql_version(banner: str) -> str:
    found = _POSTGRESQL_VERSION.search(banner)
    return found[1] if found else banner


def _machine(declared: Existing, number: int) -> Machine:
    if not declared.node_exporters:
        return Machine()
    url = declared.node_exporters[number]
    cpus = machines.processors(http_client.get(f"{url}/metrics?collect[]=cpu"))
    found = device(declared, number)
    path = declared.data_path or _data_path(declared, number)
    if found is None and path is not None:
        body = http_client.get(f"{url}/metrics?collect[]=filesystem")
        found = machines.device_of(body, path)
    return Machine(cpus=float(cpus), device=found)


def _data_path(declared: Existing, number: int) -> str | None:
    """Where this host's tablet server keeps its data, as it says itself."""
    if not declared.tservers:
        return None
    found = pages.flags(declared.tservers[number]).get("fs_data_dirs", "")
    return found.split(",")[0] or None


# ------------------------------------------------------------------ is it what the profile says?


def mistakes(spec: ClusterSpec, seen: Seen) -> tuple[Mistake, ...]:
    return tuple(_mistakes(spec, seen))


def _mistakes(spec: ClusterSpec, seen: Seen) -> Iterator[Mistake]:
    if len(set(seen.banners)) > 1:
        yield Mistake("cluster.existing.hosts", f"they run unlike servers: {set(seen.banners)}")
    if spec.version is not None and not f"{seen.number}.".startswith(_number(spec.version)):
        yield Mistake("cluster.version", f"the cluster runs {seen.number}, not {spec.version}")
    if seen.nodes is not None and seen.nodes != spec.nodes:
        what = f"the cluster has {seen.nodes}, not {spec.nodes}"
        yield Mistake("cluster.nodes", f"{what}: name each in existing.hosts, or give `nodes`")
    if seen.copies is not None and seen.copies != spec.replication_factor:
        what = f"the cluster keeps {seen.copies} copies, not {spec.replication_factor}"
        yield Mistake("cluster.replication_factor", what)
    if seen.health is not None and not seen.health.well:
        what = (
            f"{seen.health.dead_nodes} dead node(s), {seen.health.under_replicated_tablets} "
            "tablet(s) short of copies: mend it before measuring"
        )
        yield Mistake("cluster.existing.masters", what)


def _number(version: str) -> str:
    """`2.18.1.0-b84` → `2.18.1.0.`: no banner says a build."""
    return f"{version.partition('-b')[0]}."


def notes(spec: ClusterSpec, declared: Existing, seen: Seen) -> Iterator[str]:
    """What a reader must know that is no mistake."""
    if spec.version is not None and release.differs(spec.version, seen.version):
        yield f"it runs {seen.version}; the profile says {spec.version}"
    if seen.flavour == YUGABYTEDB and seen.copies is None:
        yield "copies and tablets were not checked: declare `existing.masters`"
    if seen.flavour == YUGABYTEDB and not declared.tservers:
        yield "durability and compactions are not seen: declare `existing.tservers`"
    if not declared.node_exporters:
        yield "CPU and disk of the nodes are not seen: declare `existing.node_exporters`"
    elif any(machine.device is None for machine in seen.machines):
        yield "the disks of the nodes are not seen: declare `existing.devices`"


def nodes_without_leaders(declared: Existing) -> tuple[str, ...]:
    """Of a YugabyteDB whose masters are declared: who leads no tablet although there are some."""
    if not declared.masters:
        return ()
    listed = pages.tablet_servers(declared.masters)
    if sum(server.user_leaders for server in listed) < len(listed):
        return ()
    return tuple(server.at for server in listed if server.user_leaders == 0)


# ------------------------------------------------------------------ nodes and facts


def nodes(declared: Existing, seen: Seen) -> tuple[Node, ...]:
    """One per host. Nothing of them is on this machine, so only `sources` tell of them."""
    return tuple(
        Node(
            name=f"node-{number + 1}",
            role="database",
            cpus=machine.cpus,
            sources=dict(_sources(declared, number, machine)),
        )
        for number, machine in enumerate(seen.machines)
    )


def _sources(declared: Existing, number: int, machine: Machine) -> Iterator[tuple[str, str]]:
    for name, urls in (
        (pages.TSERVER, declared.tservers),
        (pages.YSQL, declared.ysql),
        (NODE_EXPORTER, declared.node_exporters),
    ):
        if urls:
            yield name, urls[number]
    if number < len(declared.masters):
        yield pages.MASTER, declared.masters[number]
    if machine.device:
        yield DISK_DEVICE, machine.device


def facts(
    declared: Existing, seen: Seen, watched: Sequence[Node], asked: sql.Session
) -> DatabaseFacts:
    more: dict[str, Any] = {
        "existing": True,
        "hosts": list(declared.hosts),
        "banner": seen.banners[0],
        "flavour": seen.flavour,
    }
    stand_in = said.STAND_IN in seen.banners[0] or None
    known = DatabaseFacts(version=seen.version, stand_in=stand_in)
    if seen.flavour == POSTGRESQL:
        return replace(_postgresql(known, asked), more=more)
    more["isolation"] = queries.effective_isolation(asked)
    if declared.tservers:
        servers = {name: pages.flags(url) for name, url in sources(watched, pages.TSERVER).items()}
        durability, durable = said.durability(servers), said.durable(servers)
        known = replace(known, durability=durability, durable=durable)
        more["flags"] = said.telling(servers)
    if declared.masters:
        placement = said.placement(watched)
        known = replace(known, data_bytes=placement.pop("data_bytes"))
        more |= placement
    return replace(known, more=more)


def _postgresql(known: DatabaseFacts, asked: sql.Session) -> DatabaseFacts:
    names = ", ".join(f"'{name}'" for name in _DURABILITY)
    rows = asked.rows(f"SELECT name, setting FROM pg_settings WHERE name IN ({names})")
    durability: Mapping[str, str] = {str(row["name"]): str(row["setting"]) for row in rows}
    size = asked.rows("SELECT pg_database_size(current_database()) AS bytes")[0]["bytes"]
    durable = (
        durability.get("fsync") == "on"
        and durability.get("full_page_writes") == "on"
        and durability.get("synchronous_commit") in ("on", "remote_apply", "remote_write")
    )
    return replace(known, durability=durability, durable=durable, data_bytes=int(size))
