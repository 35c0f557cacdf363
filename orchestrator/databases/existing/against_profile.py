"""An existing cluster as its servers describe it, held against what its profile says of it."""

from collections.abc import Iterator

from orchestrator.databases.existing import servers
from orchestrator.databases.existing.declaration import (
    POSTGRESQL,
    YUGABYTEDB,
    Existing,
)
from orchestrator.databases.existing.probe import Observation
from orchestrator.errors import Mistake
from orchestrator.model import ClusterSpec
from orchestrator.parts import SessionLimit
from orchestrator.texts.prose import counted
from orchestrator.yugabyte import pages, server_facts, versions


def mistakes(spec: ClusterSpec, observed: Observation) -> Iterator[Mistake]:
    """Everything in which the cluster is not as the profile says."""
    hosts = "cluster.existing.hosts"
    if observed.other is not None:
        yield Mistake(hosts, _not_measured(observed.other))
        return
    if not observed.flavour:
        yield Mistake(hosts, _without_flavour(observed.hosts[0].banner))
        return
    # Servers differ in the middle of an upgrade, or if the hosts are of two clusters.
    banners = {host.banner for host in observed.hosts}
    if len(banners) > 1:
        yield Mistake(hosts, f"they run different servers: {banners}")
    asked = versions.release_in(spec.version or "")
    number, _, _ = asked.partition("-b")  # no banner has a build
    # A profile may name the first parts alone: `16` is any 16.x, and not 160.
    if number and not f"{observed.number}.".startswith(f"{number}."):
        yield Mistake(
            "cluster.version", f"the cluster runs {observed.number}, not {spec.version}"
        )
    if observed.nodes is not None and observed.nodes != spec.nodes:
        yield Mistake(
            "cluster.nodes",
            f"the cluster has {observed.nodes}, not {spec.nodes}: "
            "name each in existing.hosts, or give `nodes`",
        )
    if observed.copies is not None and observed.copies != spec.replication_factor:
        yield Mistake(
            "cluster.replication_factor",
            f"the cluster keeps {observed.copies} copies, not {spec.replication_factor}",
        )
    if observed.health is not None and not observed.health.well:
        yield Mistake(
            "cluster.existing.masters",
            f"{observed.health}: repair the cluster before measuring",
        )


def _not_measured(database: str) -> str:
    return (
        f"this is {database}, which tierbench does not measure. It does not "
        "load or store data as PostgreSQL or YugabyteDB does. Its figures "
        "would not describe the disks of these nodes"
    )


def _without_flavour(banner: str) -> str:
    return (
        f"the server calls itself {banner!r}, neither PostgreSQL nor YugabyteDB. If it "
        "stores data as one of them does, name that database with `flavour`"
    )


def notes(
    spec: ClusterSpec, declared: Existing, observed: Observation
) -> Iterator[str]:
    """Warnings: differences from the profile that are no mistakes, and missing figures."""
    asked = versions.release_in(spec.version or "")
    running = observed.version
    if "-b" in asked and "-b" in running and asked != running:
        yield f"it runs {running}; the profile says {asked}"
    hosts = len(observed.hosts)
    if observed.nodes is not None and hosts < observed.nodes:
        yield (
            f"`existing.hosts` names {counted(hosts, 'host')} for {observed.nodes} nodes: "
            "its balancer, if any, spreads the sessions (docs/YUGABYTEDB.md)"
        )
    if observed.flavour == YUGABYTEDB and observed.copies is None:
        yield (
            "copies, and tablets before 2025.2.3, were not checked: declare "
            "`existing.masters`"
        )
    if observed.flavour == YUGABYTEDB and not declared.tservers:
        yield "durability and compactions are not seen: declare `existing.tservers`"
    if declared.tls not in ("verify-full", "verify-ca"):
        yield (
            f"`tls: {declared.tls}`: nothing verifies that the declared cluster answers"
        )
    yield from _notes_on_disks(declared, observed)
    if not all(host.waits_counted for host in observed.hosts):
        off = " and ".join(servers.TIMED)
        yield f"how long sessions wait for the disk is not seen: {off} are off"
    if observed.pooler:
        yield f"a connection pooler answers for the database: {observed.pooler}"


def _notes_on_disks(declared: Existing, observed: Observation) -> Iterator[str]:
    if not declared.node_exporters:
        yield "CPU and disk of the nodes are not seen: declare `existing.node_exporters`"
    elif not all(host.disks.data for host in observed.hosts):
        grant = ""
        if observed.flavour == POSTGRESQL:
            grant = f", or let {declared.user} see `data_directory` (GRANT pg_read_all_settings)"
        yield f"the disks of the nodes are not seen: declare `existing.devices`{grant}"
    if any(host.disks.on_root for host in observed.hosts):
        yield (
            "the servers' directories are assumed to be on the machines' root "
            "disks. If the servers run in containers, declare "
            "`existing.devices`"
        )


def session_limit(
    spec: ClusterSpec, declared: Existing, observed: Observation
) -> SessionLimit | None:
    """How many sessions the host that takes fewest takes.

    A pooler may take more. So may a balancer, if it stands before several nodes.
    """
    # Sessions are spread evenly, so the host with the lowest limit is the first to refuse.
    limits = [host.sessions for host in observed.hosts if host.sessions]
    if not limits:
        return None
    hosts = len(observed.hosts)
    sampling = 0
    if observed.flavour == POSTGRESQL:
        sampling = 1  # the collector `sessions`
    return SessionLimit(
        min(limits),
        hosts,
        setting=f"max_connections for {declared.user}",
        advice=(
            "give the workload fewer `threads`, or name more of the cluster's "
            "nodes in `existing.hosts`. The cluster's owner can raise the limit"
        ),
        is_certain=hosts >= spec.nodes and _is_without_pooler(declared, observed),
        sampling=sampling,
    )


def _is_without_pooler(declared: Existing, observed: Observation) -> bool:
    """Whether sessions surely are the server's own; of a YugabyteDB only its tablet servers' flags
    say that."""
    if observed.pooler:
        return False
    if observed.flavour != YUGABYTEDB:
        return True
    if not declared.tservers:
        return False
    for server in declared.tservers:
        flags = pages.flags(server)
        if server_facts.pools_sessions(flags):
            return False
    return True
