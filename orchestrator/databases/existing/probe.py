"""An existing cluster as its servers describe it: held against the profile, as nodes, as facts."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from orchestrator.databases.existing import disks, servers
from orchestrator.databases.existing.declaration import POSTGRESQL, YUGABYTEDB, Existing, address
from orchestrator.databases.existing.disks import HostDisks, Places
from orchestrator.errors import Mistake
from orchestrator.facts import DatabaseFacts
from orchestrator.keys.messages import message
from orchestrator.model import DISK_DEVICE, NODE_EXPORTER, PRESSURE, ClusterSpec, Node, sources
from orchestrator.system import http_client
from orchestrator.system.sql import Connect, query
from orchestrator.yugabyte import pages, queries, server_facts, versions

_POSTGRESQL_VERSION = re.compile(r"PostgreSQL (\d+(?:\.\d+)*)")


@dataclass(frozen=True)
class SeenMachine:
    """One host by its node_exporter; None: unknown, because none is declared. `pressure`: whether
    it counts the time for which tasks waited."""

    cpus: float | None = None
    memory_bytes: int | None = None
    pressure: bool = False
    disks: HostDisks = field(default_factory=HostDisks)


@dataclass(frozen=True)
class Observation:
    """What the servers say; None: no server that knows it is declared. `other`: a database that is
    not measured; `flavour`: "" if unknown; `pooler`: how one shows itself; `waits_counted`: whether
    it counts the time that sessions wait for disks."""

    flavour: str
    version: str  # with its build, if a server's page has it
    number: str
    banners: tuple[str, ...]
    nodes: int | None
    copies: int | None
    health: pages.Health | None
    machines: tuple[SeenMachine, ...]
    other: str | None = None
    pooler: str | None = None
    waits_counted: bool = True

    @property
    def drops_by_force(self) -> bool:
        """Whether DROP DATABASE has FORCE: PostgreSQL since 13."""
        major = self.number.split(".")[0]
        return self.flavour == POSTGRESQL and major.isdigit() and int(major) >= 13


@dataclass(frozen=True)
class _Answers:
    """What one host says through SQL. `nodes`: how many a YugabyteDB knows."""

    banner: str
    other: str | None
    pooler: str | None
    nodes: int | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    places: Places = field(default_factory=Places)


def look(declared: Existing, connect: Connect) -> Observation:
    """RunError or OSError if a declared address does not answer."""
    hosts = [_ask(declared, number, connect) for number in range(len(declared.servers))]
    banners = tuple(host.banner for host in hosts)
    parts = versions.banner_number(banners[0])
    match = _POSTGRESQL_VERSION.search(banners[0])
    number = versions.dotted(parts) if parts else match[1] if match else banners[0]
    flavour = servers.banner_of(banners[0]) or declared.flavour or ""
    other = next((host.other for host in hosts if host.other), None)
    if other or not flavour:  # no page of it is known
        return Observation(flavour, number, number, banners, None, None, None, (), other)
    masters = declared.masters
    counted = [host.settings.get(name) == "on" for host in hosts for name in servers.TIMED]
    pooler = next((host.pooler for host in hosts if host.pooler), None)
    return Observation(
        flavour=flavour,
        version=pages.release(banners[0], declared.tservers) if parts else number,
        number=number,
        banners=banners,
        nodes=next((host.nodes for host in hosts if host.nodes), None),
        copies=pages.replication_factor(masters) if masters else None,
        health=pages.health(masters) if masters else None,
        machines=tuple(_machine(declared, k, host.places) for k, host in enumerate(hosts)),
        pooler=pooler,
        waits_counted=bool(parts) or all(counted),
    )


def _ask(declared: Existing, number: int, connect: Connect) -> _Answers:
    at = address(declared, declared.maintenance_database, declared.servers[number])
    with connect(at, 30.0) as session:
        banner = queries.banner(session)
        pooler = servers.pooler_between(session)
        answers = _Answers(banner, servers.refused(banner, session), pooler)
        if answers.other:
            return answers
        if versions.banner_number(banner) is not None:
            nodes, where = len(queries.servers(session)), disks.places(declared, number, None)
            return replace(answers, nodes=nodes, places=where)
        if servers.banner_of(banner) != POSTGRESQL:
            return answers
        settings = servers.settings(session)
        return replace(answers, settings=settings, places=disks.places(declared, number, session))


def _machine(declared: Existing, number: int, where: Places) -> SeenMachine:
    if not declared.node_exporters:
        return SeenMachine()
    url = f"{declared.node_exporters[number]}/metrics"
    with http_client.understood(url):
        body = http_client.get(f"{url}?collect[]=cpu&collect[]=meminfo")
        cpus, memory_bytes = disks.processors(body), disks.memory_bytes(body)
        if where.data or where.wal:
            body = http_client.get(f"{url}?collect[]=filesystem&collect[]=diskstats")
        own = disks.of_host(declared, number, where, body)
    return SeenMachine(cpus, memory_bytes, _counts_pressure(url), own)


def _counts_pressure(url: str) -> bool:
    """An exporter without this collector refuses a page that asks for it."""
    with suppress(OSError), http_client.understood(url):
        return disks.has_pressure(http_client.get(f"{url}?collect[]=pressure"))
    return False


# ------------------------------------------------------------------ against the profile


def mistakes(spec: ClusterSpec, observed: Observation) -> Iterator[Mistake]:
    """Everything in which the cluster is not as the profile says."""
    if observed.other is not None:
        yield Mistake("cluster.existing.hosts", message("another database", name=observed.other))
        return
    if not observed.flavour:
        text = message("unknown database", banner=observed.banners[0])
        yield Mistake("cluster.existing.hosts", text)
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
    asked, running = spec.version or "", observed.version
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
    elif not all(machine.disks.data for machine in observed.machines):
        granted = f", or let {declared.user} see `data_directory` (GRANT pg_read_all_settings)"
        grant = granted if observed.flavour == POSTGRESQL else ""
        yield f"the disks of the nodes are not seen: declare `existing.devices`{grant}"
    if any(machine.disks.on_root for machine in observed.machines):
        yield message("root disks")
    if not observed.waits_counted:
        names = " and ".join(servers.TIMED)
        yield f"how long sessions wait for the disk is not seen: {names} are off"
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
            cpus=machine.cpus,
            memory_bytes=machine.memory_bytes,
            sources=dict(_sources(declared, number, machine)),
            wal_device=machine.disks.wal,
        )
        for number, machine in enumerate(observed.machines)
    )


def _sources(declared: Existing, number: int, machine: SeenMachine) -> Iterator[tuple[str, str]]:
    for name, urls in (
        (pages.TSERVER, declared.tservers),
        (pages.YSQL, declared.ysql),
        (NODE_EXPORTER, declared.node_exporters),
    ):
        if urls:
            yield name, urls[number]
    if number < len(declared.masters):  # there may be fewer masters than hosts
        yield pages.MASTER, declared.masters[number]
    if machine.disks.data:
        yield DISK_DEVICE, " ".join(machine.disks.data)
    if machine.pressure:
        yield PRESSURE, declared.node_exporters[number]


def facts(
    declared: Existing, observed: Observation, watched: Sequence[Node], connect: Connect
) -> DatabaseFacts:
    """RunError or OSError if a server does not answer."""
    lost = {
        node.name: machine.disks.not_counted
        for node, machine in zip(watched, observed.machines, strict=True)
        if machine.disks.not_counted
    }
    more: dict[str, Any] = {
        "existing": True,
        "hosts": list(map(str, declared.servers)),
        "banner": observed.banners[0],
        "flavour": observed.flavour,
        "tls": declared.tls,
        **({"disks_not_counted": lost} if lost else {}),
    }
    known = DatabaseFacts(
        version=observed.version,
        stand_in=server_facts.STAND_IN in observed.banners[0] or None,
        cache_bytes=min((node.memory_bytes for node in watched if node.memory_bytes), default=None),
        pooler=observed.pooler,
    )
    if observed.flavour == POSTGRESQL:
        return replace(_postgresql(declared, known, connect), more=more)
    flags = {name: pages.flags(url) for name, url in sources(watched, pages.TSERVER).items()}
    masters = {str(number): pages.flags(url) for number, url in enumerate(declared.masters)}
    settings = server_facts.settings("tserver", flags) | server_facts.settings("master", masters)
    with connect(address(declared, declared.database), 60.0) as session:
        execution = server_facts.execution(session, flags)
    known = replace(known, execution=execution, settings=settings or None)
    if flags:
        durability = server_facts.picked(flags, server_facts.names_of("durability"))
        durable = server_facts.durable(flags)
        known = replace(known, durability=durability, durable=durable)
        if any(each.get(servers.POOLER_FLAG) == "true" for each in flags.values()):
            known = replace(known, pooler=f"its tablet servers run with `{servers.POOLER_FLAG}`")
        more["flags"] = server_facts.picked(flags, server_facts.names_of("explanatory"))
    if declared.masters:
        placement = server_facts.placement(watched)
        known = replace(known, data_bytes=placement.pop("data_bytes"))
        more |= placement
    return replace(known, more=more)


def _postgresql(declared: Existing, known: DatabaseFacts, connect: Connect) -> DatabaseFacts:
    settings: dict[str, dict[str, str]] = {}
    for server in reversed(declared.servers):  # the first last: the rest is of it
        with connect(address(declared, declared.database, server), 60.0) as session:
            settings[str(server)] = servers.settings(session)
            rows = session.rows(query(__package__, "durability"))
            size = session.rows(query(__package__, "sizes"))[0]
    durability: Mapping[str, str] = {str(row["name"]): str(row["setting"]) for row in rows}
    durable = (
        durability.get("fsync") == "on"
        and durability.get("full_page_writes") == "on"
        and durability.get("synchronous_commit") in ("on", "remote_apply", "remote_write")
    )
    return replace(
        known,
        durability=durability,
        durable=durable,
        settings=server_facts.picked(settings, sorted(set().union(*settings.values()))),
        data_bytes=int(size["bytes"]),
        # Beside its own cache the page cache has the rest of the machine's memory, if that is seen.
        cache_bytes=known.cache_bytes or int(size["buffers"]),
    )
