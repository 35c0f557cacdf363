"""The first run on a user's machine: each thing that is only inferred, looked at and said.

Some of what the adapter relies on follows from documents and source code, not from a running
server. `tierbench doctor --db yugabytedb` goes through it on three nodes of the real image and
prints, for each, whether it is so (docs/FIRST-RUN-YUGABYTEDB.md). Nothing here decides anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, Literal

from orchestrator.databases.common.yugabyte import counters, pages, versions
from orchestrator.databases.yugabytedb import flags, nodes, settings
from orchestrator.databases.yugabytedb.adapter import YugabyteDB
from orchestrator.errors import TierbenchError
from orchestrator.model import Cluster, ClusterSpec, Node, NodeSize, Volume, sources
from orchestrator.powers import Network, World
from orchestrator.system import http_client, sql
from orchestrator.system.clock import wait_until
from orchestrator.system.sql import Connect

State = Literal["confirmed", "not confirmed", "could not be looked at"]
NETWORK = "tierbench-first-run"
_GIB = 2**30
_ROWS = 1000
_SPREAD_S = 120.0
_METRICS = (
    "wal_bytes_total",
    "wal_syncs_total",
    "wal_sync_seconds_total",
    "flush_written_bytes_total",
    "compaction_written_bytes_total",
    "block_cache_hits_total",
    "block_cache_misses_total",
    "sst_files",
)


@dataclass(frozen=True)
class Probe:
    """A running cluster of the image in question, and what is needed to query it."""

    cluster: Cluster
    connect: Connect
    world: World
    asked: str  # the release with its build, as the image's tag has it

    @property
    def nodes(self) -> Sequence[Node]:
        return self.cluster.nodes

    def masters(self) -> list[str]:
        return list(sources(self.nodes, pages.MASTER).values())

    def tserver(self) -> str:
        return next(iter(sources(self.nodes, pages.TSERVER).values()))

    def ask(self, *statements: str) -> list[dict[str, Any]]:
        """Rows of the last statement, through the first node, in the generator's database."""
        with self.connect(sql.local(self.cluster.endpoints[0]), 120.0) as asked:
            return [asked.rows(statement) for statement in statements][-1]

    def addresses(self) -> str:
        hosts = [endpoint.host for endpoint in self.cluster.endpoints]
        return ",".join(f"{host}:{flags.MASTER_RPC}" for host in hosts)


@dataclass(frozen=True)
class Fact:
    """`claim` is what was inferred; `look` returns whether it is so, and what was seen."""

    name: str
    claim: str
    look: Callable[[Probe], tuple[bool, str]]


@dataclass(frozen=True)
class Finding:
    name: str
    claim: str
    state: State
    seen: str


# ------------------------------------------------------------------ looking


def _banner(probe: Probe) -> tuple[bool, str]:
    banner = str(probe.ask("SELECT version() AS version")[0]["version"])
    page = pages.version(probe.tserver())
    number = versions.banner_number(banner)
    so = page == probe.asked and number == versions.parse(page).number
    return so, f"{banner}; page: {page}; asked: {probe.asked}"


def _pages(probe: Probe) -> tuple[bool, str]:
    answers = {}
    for server in (pages.MASTER, pages.TSERVER, pages.YSQL):
        for name, url in sources(probe.nodes, server).items():
            answers[f"{name} {server}"] = len(
                http_client.get(f"{url}/metrics?reset_histograms=false")
            )
    return len(answers) == 3 * len(probe.nodes), f"bytes of /metrics: {answers}"


def _memory(probe: Probe) -> tuple[bool, str]:
    limit = probe.nodes[0].memory_bytes or 0
    shares = flags.memory(limit)
    found = pages.flags(probe.tserver())
    names = ("memory_limit_hard_bytes", "db_block_cache_size_bytes")
    seen = {name: found.get(name) for name in names}
    wanted = [str(shares.tserver_bytes), str(shares.block_cache_bytes)]
    return list(seen.values()) == wanted, f"of {limit}: {seen}"


def _layout(probe: Probe) -> tuple[bool, str]:
    rows = probe.ask(
        "CREATE TABLE IF NOT EXISTS first_run (w int, i int, PRIMARY KEY ((w) HASH, i ASC))",
        "SELECT num_tablets FROM yb_table_properties('first_run'::regclass)",
    )
    tablets = int(rows[0]["num_tablets"])
    return tablets == len(probe.nodes), f"{tablets} tablets on {len(probe.nodes)} nodes"


def _copy(probe: Probe) -> tuple[bool, str]:
    with probe.connect(sql.local(probe.cluster.endpoints[-1]), 120.0) as asked:
        asked.rows("CREATE TABLE first_copy (a int PRIMARY KEY, b text) SPLIT INTO 3 TABLETS")
        lines = "".join(f"{number}\tx\n" for number in range(_ROWS))
        asked.copy("COPY first_copy FROM STDIN WITH (ROWS_PER_TRANSACTION 200)", lines)
    rows = int(probe.ask("SELECT count(*) AS rows FROM first_copy")[0]["rows"])
    return rows == _ROWS, f"{rows} rows"


def _counters(probe: Probe) -> tuple[bool, str]:
    found = counters.storage(http_client.get(f"{probe.tserver()}{counters.PATH}"))
    missing = [name for name in _METRICS if name not in found]
    return not missing, f"missing: {', '.join(missing) or 'none'}"


def _statements(probe: Probe) -> tuple[bool, str]:
    url = next(iter(sources(probe.nodes, pages.YSQL).values()))
    found = counters.statements(http_client.get(f"{url}/metrics?reset_histograms=false"))
    return bool(found), str(found)


def _followers(probe: Probe) -> tuple[bool, str]:
    """What masters that do not lead answer; the adapter copes with any of it."""
    answers = []
    for url in probe.masters():
        try:
            http_client.get_json(f"{url}/api/v1/health-check")
            answers.append("answers")
        except OSError as error:
            answers.append(str(error).removeprefix(url))
    return "answers" in answers, "; ".join(answers)


def _commands(probe: Probe) -> tuple[bool, str]:
    first = probe.nodes[0]
    said = nodes.admin(
        first, probe.addresses(), False, ("get_is_load_balancer_idle",), 60, probe.world
    )
    nodes.flush_tablets(first, probe.cluster.endpoints[0].host, False, 120, probe.world)
    return re.search(r"Idle = [01]", said) is not None, said.strip()


def _remembered(probe: Probe) -> tuple[bool, str]:
    conf = {node.name: nodes.remembered(node, probe.world) for node in probe.nodes}
    known = {name: str(found.get("current_masters", "")) for name, found in conf.items()}
    first = probe.cluster.endpoints[0].host
    same = str(conf[probe.nodes[0].name].get("advertise_address")) == first
    whole = all(len(text.split(",")) == len(probe.nodes) for text in known.values())
    return same and whole, f"{known} (looked for once a minute)"


def _leaders(probe: Probe) -> tuple[bool, str]:
    leaders: dict[str, int] = {}

    def spread() -> bool:
        leaders.update((one.at, one.user_leaders) for one in pages.tablet_servers(probe.masters()))
        return min(leaders.values(), default=0) > 0

    so = wait_until(spread, deadline_s=_SPREAD_S, clock=probe.world.clock, every_s=1.0)
    return so, str(leaders)


def _isolation(probe: Probe) -> tuple[bool, str]:
    level = str(
        probe.ask("SELECT yb_get_effective_transaction_isolation_level() AS level")[0]["level"]
    )
    return "repeatable" in level.lower(), level


FACTS = (
    Fact("banner", "version() names the release asked for, a server's page its build", _banner),
    Fact("pages", "masters, tablet servers and YSQL answer through published ports", _pages),
    Fact("memory", "the servers take the memory they are given, not the machine's", _memory),
    Fact("layout", "a table without a word about tablets gets one for each node", _layout),
    Fact("copy", "COPY takes ROWS_PER_TRANSACTION, and tables take SPLIT INTO", _copy),
    Fact("counters", "the metrics sampled here are there under their names", _counters),
    Fact("statements", "YSQL counts statements, with a sum of microseconds", _statements),
    Fact("followers", "some master answers for the cluster, others may redirect", _followers),
    Fact("commands", "yb-admin and yb-ts-cli are in the image and take these options", _commands),
    Fact("masters", "each node's file names its address and, in time, all masters", _remembered),
    Fact("leaders", "every node leads tablets once nothing moves any more", _leaders),
    Fact("isolation", "READ COMMITTED runs as REPEATABLE READ by default", _isolation),
)  # fmt: skip
COLD_COPY = (
    "cold-copy",
    "nodes start again, all at once, from what a stopped cluster left on its disks",
)


# ------------------------------------------------------------------ going through it


def spec(version: str | None = None, own: Mapping[str, str] | None = None) -> ClusterSpec:
    """Three small nodes, on this machine's own disk."""
    node = NodeSize(cpus=2.0, memory_bytes=2 * _GIB, disk_bytes=4 * _GIB)
    return ClusterSpec("yugabytedb", 3, 3, node, version=version, settings=dict(own or {}))


def first_run(
    asked: ClusterSpec, world: World, connect: Connect = sql.session
) -> Iterator[Finding]:
    """Each finding as it is made. TierbenchError where the cluster does not come up at all.

    Another release than asked for is a finding here, not the end.
    """
    database = YugabyteDB(connect, refuse_other_release=False)
    database.check(asked, world)
    release = str(settings.read(asked)[0].version)
    with ExitStack() as up:
        names = [f"{NETWORK}-{number}" for number in range(1, asked.nodes + 1)]
        for name in names:
            up.enter_context(world.platform.volume(name, "", ""))
        network = up.enter_context(world.platform.network(NETWORK, asked.nodes))
        volumes = [Volume(name, "", restored=False) for name in names]
        with database.running(asked, volumes, network, world) as cluster:
            probe = Probe(cluster, connect, world, release)
            for fact in FACTS:
                world.progress.step(f"looking at: {fact.claim}")
                yield _finding(fact, probe)
            database.settle(cluster, world)
        world.progress.step("starting again from the same disks")
        restored = [replace(volume, restored=True) for volume in volumes]
        yield _cold_copy(database, asked, restored, network, connect, world)


def _finding(fact: Fact, probe: Probe) -> Finding:
    try:
        so, seen = fact.look(probe)
    except (TierbenchError, OSError, KeyError, IndexError, ValueError) as error:
        what = error.what if isinstance(error, TierbenchError) else f"{error}"
        return Finding(fact.name, fact.claim, "could not be looked at", what)
    return Finding(fact.name, fact.claim, "confirmed" if so else "not confirmed", seen)


def _cold_copy(
    database: YugabyteDB,
    asked: ClusterSpec,
    volumes: Sequence[Volume],
    network: Network,
    connect: Connect,
    world: World,
) -> Finding:
    name, claim = COLD_COPY
    try:
        with (
            database.running(asked, volumes, network, world) as cluster,
            connect(sql.local(cluster.endpoints[0]), 120.0) as session,
        ):
            found = session.rows("SELECT count(*) AS rows FROM first_copy")
    except TierbenchError as error:
        advice = "use `restore: load` in profiles until this is understood"
        return Finding(name, claim, "not confirmed", f"{error.what}\n{error.evidence}\n{advice}")
    rows = int(found[0]["rows"])
    return Finding(name, claim, "confirmed" if rows == _ROWS else "not confirmed", f"{rows} rows")
