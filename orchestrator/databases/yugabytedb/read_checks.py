"""Checks of the first-run checklist that only read, and so hold for clusters of others too.

Each checks one claim on which the code for YugabyteDB relies. checklist.yaml has the claims in
words, by the names of these functions.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from orchestrator.errors import RunError
from orchestrator.model import Cluster, Node
from orchestrator.system import http_client, sql
from orchestrator.texts.prose import counted
from orchestrator.yugabyte import counters as storage_counters, pages, queries, versions

METRICS = (
    "wal_bytes_total", "wal_syncs_total", "wal_sync_seconds_total", "flush_written_bytes_total",
    "compaction_written_bytes_total", "block_cache_hits_total", "block_cache_misses_total",
    "sst_files",
)  # fmt: skip


class ClaimSeen(NamedTuple):
    """Whether a claim is true, and what was seen of it."""

    is_true: bool
    text: str


@dataclass(frozen=True)
class ReadCluster:
    """A running cluster that is only read. `release`: the expected one, with its build number."""

    cluster: Cluster
    connect: sql.Connect
    release: str

    @property
    def nodes(self) -> Sequence[Node]:
        return self.cluster.nodes

    def masters(self) -> list[str]:
        return list(pages.urls(self.nodes, pages.MASTER).values())

    def tserver(self) -> str:
        return self.first(pages.TSERVER)

    def first(self, server: str) -> str:
        """The page of the first server of this kind. RunError if none is declared."""
        for url in pages.urls(self.nodes, server).values():
            return url
        raise RunError(f"no page of a {server} is declared")

    def addresses(self) -> list[sql.Address]:
        return [sql.local(endpoint) for endpoint in self.cluster.endpoints]

    def value(self, *statements: str) -> Any:
        """The first value of the last statement, asked of the first node."""
        with self.connect(self.addresses()[0], 120.0) as session:
            rows = [session.rows(statement) for statement in statements][-1]
        return next(iter(rows[0].values()))


def banner(probe: ReadCluster) -> ClaimSeen:
    banner = str(probe.value("SELECT version()"))
    # The build comes from the page alone: `version()` of every released build says -b0.
    page = pages.version(probe.tserver())
    same = versions.banner_number(banner) == versions.parse(page).number
    seen = f"{banner}; page: {page}; asked: {probe.release}"
    return ClaimSeen(page == probe.release and same, seen)


def addresses(probe: ReadCluster) -> ClaimSeen:
    """Checks the nodes' addresses.

    A managed cluster, or one behind a balancer, has one for several nodes.
    """
    with probe.connect(probe.addresses()[0], 60.0) as session:
        nodes_known = len(queries.servers(session))
    hosts = len(probe.addresses())
    seen = f"{counted(nodes_known, 'node')}, {counted(hosts, 'host')}"
    if hosts < nodes_known:
        seen += ": the server there spreads the sessions, and single nodes are not seen"
    return ClaimSeen(hosts >= nodes_known, seen)


def counters(probe: ReadCluster, metrics: Sequence[str] = METRICS) -> ClaimSeen:
    sampled = storage_counters.storage(
        http_client.get(f"{probe.tserver()}{storage_counters.PATH}")
    )
    missing = [name for name in metrics if name not in sampled]
    return ClaimSeen(not missing, f"missing: {', '.join(missing) or 'none'}")


def statements(probe: ReadCluster) -> ClaimSeen:
    url = probe.first(pages.YSQL)
    counted_statements = storage_counters.statements(
        http_client.get(f"{url}/metrics?reset_histograms=false")
    )
    return ClaimSeen(bool(counted_statements), str(counted_statements))


def followers(probe: ReadCluster) -> ClaimSeen:
    """Records how masters that do not lead answer; the adapter accepts any answer of theirs."""
    answers = []
    for url in probe.masters():
        try:
            http_client.get_json(f"{url}/api/v1/health-check")
            answers.append("answers")
        except OSError as error:
            answers.append(str(error).removeprefix(url))
    return ClaimSeen("answers" in answers, "; ".join(answers))


def isolation(probe: ReadCluster) -> ClaimSeen:
    """READ COMMITTED takes effect since 2025.2; before, it runs as REPEATABLE READ."""
    since = versions.parse(probe.release).has("read_committed")
    expected = "repeatable read"
    if since:
        expected = "read committed"
    with probe.connect(probe.addresses()[0], 60.0) as session:
        level = queries.effective_isolation(session)
    detail = f"{level}; expected of {probe.release}: {expected}"
    return ClaimSeen(level == expected, detail)


# Checks that only read, and that hold for clusters of others too.
READS: tuple[Callable[[ReadCluster], ClaimSeen], ...] = (
    banner,
    addresses,
    counters,
    statements,
    followers,
    isolation,
)
