"""The first-run checklist: everything that is only inferred about YugabyteDB, checked and reported.

The adapter relies on facts from documents and source code that no running server has confirmed.
`tierbench doctor --db yugabytedb` checks each on three nodes of the real image and prints whether
it is so (docs/FIRST-RUN-YUGABYTEDB.md).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from typing import Any, Literal

from orchestrator.databases.common.yugabyte import counters, pages, queries, versions
from orchestrator.databases.yugabytedb import flags, nodes, settings
from orchestrator.databases.yugabytedb.adapter import YugabyteDB
from orchestrator.errors import TierbenchError
from orchestrator.model import Cluster, ClusterSpec, Node, NodeSize, Volume, sources
from orchestrator.powers import World
from orchestrator.system import http_client, sql
from orchestrator.system.clock import wait_until
from orchestrator.system.sql import Connect

State = Literal["confirmed", "not confirmed", "could not be looked at"]
NETWORK = "tierbench-first-run"
_GIB = 2**30
_ROWS = 1000
_COPIED = "SELECT count(*) AS rows FROM first_copy"
_SPREAD_S = 120.0
_METRICS = (
    "wal_bytes_total", "wal_syncs_total", "wal_sync_seconds_total", "flush_written_bytes_total",
    "compaction_written_bytes_total", "block_cache_hits_total", "block_cache_misses_total",
    "sst_files",
)  # fmt: skip


@dataclass(frozen=True)
class Probe:
    """A running cluster of the image, and what is needed to query it. `release`: the one that the
    image's tag names, with its build."""

    cluster: Cluster
    connect: Connect
    world: World
    release: str

    @property
    def nodes(self) -> Sequence[Node]:
        return self.cluster.nodes

    def masters(self) -> list[str]:
        return list(sources(self.nodes, pages.MASTER).values())

    def tserver(self) -> str:
        return next(iter(sources(self.nodes, pages.TSERVER).values()))

    def value(self, *statements: str) -> Any:
        """The first value of the last statement, asked of the first node."""
        with self.connect(sql.local(self.cluster.endpoints[0]), 120.0) as session:
            rows = [session.rows(statement) for statement in statements][-1]
        return next(iter(rows[0].values()))

    def addresses(self) -> str:
        hosts = [endpoint.host for endpoint in self.cluster.endpoints]
        return ",".join(f"{host}:{flags.MASTER_RPC}" for host in hosts)


@dataclass(frozen=True)
class Fact:
    """`claim`: what was inferred. `look` returns whether it is true, and what was seen."""

    name: str
    claim: str
    look: Callable[[Probe], tuple[bool, str]]


@dataclass(frozen=True)
class Finding:
    name: str
    claim: str
    state: State
    seen: str


# ------------------------------------------------------------------ the checks


def _banner(probe: Probe) -> tuple[bool, str]:
    banner = str(probe.value("SELECT version()"))
    page = pages.version(probe.tserver())
    same = versions.banner_number(banner) == versions.parse(page).number
    return page == probe.release and same, f"{banner}; page: {page}; asked: {probe.release}"


def _pages(probe: Probe) -> tuple[bool, str]:
    answers = {
        f"{name} {server}": len(http_client.get(f"{url}/metrics?reset_histograms=false"))
        for server in (pages.MASTER, pages.TSERVER, pages.YSQL)
        for name, url in sources(probe.nodes, server).items()
    }
    return len(answers) == 3 * len(probe.nodes), f"bytes of /metrics: {answers}"


def _memory(probe: Probe) -> tuple[bool, str]:
    limit = probe.nodes[0].memory_bytes or 0
    shares = flags.memory(limit)
    expected = {
        "memory_limit_hard_bytes": str(shares.tserver_bytes),
        "db_block_cache_size_bytes": str(shares.block_cache_bytes),
    }
    running = pages.flags(probe.tserver())
    values = {name: running.get(name) for name in expected}
    return values == expected, f"of {limit}: {values}"


def _layout(probe: Probe) -> tuple[bool, str]:
    tablets = probe.value(
        "CREATE TABLE IF NOT EXISTS first_run (w int, i int, PRIMARY KEY ((w) HASH, i ASC))",
        "SELECT num_tablets FROM yb_table_properties('first_run'::regclass)",
    )
    return tablets == len(probe.nodes), f"{tablets} tablets on {len(probe.nodes)} nodes"


def _copy(probe: Probe) -> tuple[bool, str]:
    with probe.connect(sql.local(probe.cluster.endpoints[-1]), 120.0) as session:
        session.rows("CREATE TABLE first_copy (a int PRIMARY KEY, b text) SPLIT INTO 3 TABLETS")
        lines = "".join(f"{number}\tx\n" for number in range(_ROWS))
        session.copy("COPY first_copy FROM STDIN WITH (ROWS_PER_TRANSACTION 200)", lines)
    rows = probe.value(_COPIED)
    return rows == _ROWS, f"{rows} rows"


def _counters(probe: Probe) -> tuple[bool, str]:
    sampled = counters.storage(http_client.get(f"{probe.tserver()}{counters.PATH}"))
    missing = [name for name in _METRICS if name not in sampled]
    return not missing, f"missing: {', '.join(missing) or 'none'}"


def _statements(probe: Probe) -> tuple[bool, str]:
    url = next(iter(sources(probe.nodes, pages.YSQL).values()))
    counted = counters.statements(http_client.get(f"{url}/metrics?reset_histograms=false"))
    return bool(counted), str(counted)


def _followers(probe: Probe) -> tuple[bool, str]:
    """Records how masters that do not lead answer; the adapter accepts any answer of theirs."""
    answers = []
    for url in probe.masters():
        try:
            http_client.get_json(f"{url}/api/v1/health-check")
            answers.append("answers")
        except OSError as error:
            answers.append(str(error).removeprefix(url))
    return "answers" in answers, "; ".join(answers)


def _commands(probe: Probe) -> tuple[bool, str]:
    first, idle = probe.nodes[0], ("get_is_load_balancer_idle",)
    answer = nodes.admin(first, probe.addresses(), False, idle, 60, probe.world)
    nodes.flush_tablets(first, probe.cluster.endpoints[0].host, False, 120, probe.world)
    return re.search(r"Idle = [01]", answer) is not None, answer.strip()


def _remembered(probe: Probe) -> tuple[bool, str]:
    conf = {node.name: nodes.remembered(node, probe.world) for node in probe.nodes}
    known = {name: str(content.get("current_masters", "")) for name, content in conf.items()}
    first = probe.cluster.endpoints[0].host
    same = str(conf[probe.nodes[0].name].get("advertise_address")) == first
    complete = all(len(text.split(",")) == len(probe.nodes) for text in known.values())
    return same and complete, f"{known} (written once a minute)"


def _leaders(probe: Probe) -> tuple[bool, str]:
    leaders: dict[str, int] = {}

    def spread() -> bool:
        leaders.update(pages.leaders(probe.masters()))
        return min(leaders.values(), default=0) > 0

    in_time = wait_until(spread, deadline_s=_SPREAD_S, clock=probe.world.clock, every_s=1.0)
    return in_time, str(leaders)


def _isolation(probe: Probe) -> tuple[bool, str]:
    """READ COMMITTED takes effect since 2025.2; before, it runs as REPEATABLE READ."""
    since = versions.parse(probe.release).has("read_committed")
    expected = "read committed" if since else "repeatable read"
    with probe.connect(sql.local(probe.cluster.endpoints[0]), 60.0) as session:
        level = queries.effective_isolation(session)
    return level == expected, f"{level}; expected of {probe.release}: {expected}"


FACTS = (
    Fact("banner", "version() names the release asked for, a server's page its build", _banner),
    Fact("pages", "masters, tablet servers and YSQL answer through published ports", _pages),
    Fact("memory", "the servers take the memory they are given, not the machine's", _memory),
    Fact("layout", "a table for which no tablets are declared gets one for each node", _layout),
    Fact("copy", "COPY takes ROWS_PER_TRANSACTION, and tables take SPLIT INTO", _copy),
    Fact("counters", "the metrics sampled here are there under their names", _counters),
    Fact("statements", "YSQL counts statements, with a sum of microseconds", _statements),
    Fact("followers", "one master answers for the cluster, others may redirect", _followers),
    Fact("commands", "yb-admin and yb-ts-cli are in the image and take these options", _commands),
    Fact("masters", "each node's file names its address and, in time, all masters", _remembered),
    Fact("leaders", "every node leads tablets once nothing moves any more", _leaders),
    Fact("isolation", "READ COMMITTED takes effect, but not before 2025.2", _isolation),
)  # fmt: skip
COLD_COPY = ("cold-copy", "nodes start again, all at once, from the disks of a stopped cluster")


# ------------------------------------------------------------------ the run


def spec(version: str | None = None, own: Mapping[str, str] | None = None) -> ClusterSpec:
    """Three small nodes, on this machine's own disk."""
    node = NodeSize(cpus=2.0, memory_bytes=2 * _GIB, disk_bytes=4 * _GIB)
    return ClusterSpec("yugabytedb", 3, 3, node, version=version, settings=dict(own or {}))


def first_run(
    cluster_spec: ClusterSpec, world: World, connect: Connect = sql.session
) -> Iterator[Finding]:
    """Yields each finding as it is made. TierbenchError if the cluster does not come up at all.

    A release other than the expected one is a finding here, not an error.
    """
    database = YugabyteDB(connect, refuse_other_release=False)
    database.check(cluster_spec, world)
    release = str(settings.read(cluster_spec)[0].version)
    with ExitStack() as up:
        names = [f"{NETWORK}-{number}" for number in range(1, cluster_spec.nodes + 1)]
        for name in names:
            up.enter_context(world.platform.volume(name, "", ""))
        network = up.enter_context(world.platform.network(NETWORK, cluster_spec.nodes))
        volumes = [Volume(name, "", restored=False) for name in names]
        with database.running(cluster_spec, volumes, network, world) as cluster:
            probe = Probe(cluster, connect, world, release)
            for fact in FACTS:
                world.progress.step(f"checking: {fact.claim}")
                yield _finding(fact, probe)
            database.settle(cluster, world)
        world.progress.step("starting again from the same disks")
        restored = [replace(volume, restored=True) for volume in volumes]
        yield _cold_copy(database.running(cluster_spec, restored, network, world), connect)


def _finding(fact: Fact, probe: Probe) -> Finding:
    try:
        confirmed, seen = fact.look(probe)
    except (TierbenchError, OSError, KeyError, IndexError, ValueError) as error:
        reason = error.what if isinstance(error, TierbenchError) else str(error)
        return Finding(fact.name, fact.claim, "could not be looked at", reason)
    return Finding(fact.name, fact.claim, "confirmed" if confirmed else "not confirmed", seen)


def _cold_copy(running: AbstractContextManager[Cluster], connect: Connect) -> Finding:
    name, claim = COLD_COPY
    try:
        with running as cluster, connect(sql.local(cluster.endpoints[0]), 120.0) as session:
            rows = session.rows(_COPIED)[0]["rows"]
    except TierbenchError as error:
        advice = "use `restore: load` in profiles until the cause is known"
        return Finding(name, claim, "not confirmed", f"{error.what}\n{error.evidence}\n{advice}")
    return Finding(name, claim, "confirmed" if rows == _ROWS else "not confirmed", f"{rows} rows")
