"""The first-run checklist on a running cluster: all its checks, and those that write or wait.

Each checks one claim on which the code for YugabyteDB relies. checklist.yaml has the claims in
words, by the names of these functions.
`read_checks` has those that only read.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from orchestrator.databases.yugabytedb import flags, nodes, read_checks
from orchestrator.databases.yugabytedb.read_checks import ClaimSeen, ReadCluster
from orchestrator.errors import RunError
from orchestrator.keys.shipped_yaml import shipped
from orchestrator.powers import UNLIMITED, World
from orchestrator.system import at_once, clock, http_client, sql
from orchestrator.yugabyte import pages

ROWS = 1000
_SPREAD_S = 120.0
# Releases have it under different flags (versions.yaml).
_AUTO_ANALYZE = ("ysql_enable_auto_analyze", "ysql_enable_auto_analyze_service")
_BATCHES = 20
_SESSIONS = 2


@dataclass(frozen=True)
class Probe(ReadCluster):
    """A running cluster that the checklist may write to and wait for."""

    world: World
    batch: Callable[[sql.Address, Sequence[str]], None] = sql.batch


Look = Callable[[Probe], ClaimSeen]


@dataclass(frozen=True)
class Fact:
    """One claim, and the `look` that checks it.

    inferred: the claim comes from documents or code; no real cluster has shown it yet.
    needed: by `DB=auto`. advice: what to do until the cause is known."""

    name: str
    claim: str
    look: Look
    inferred: bool = True
    needed: bool = True
    advice: str = ""


def described(look: Look, name: str = "") -> Fact:
    """The line of checklist.yaml with this name, else with the name of the function."""
    name = name or look.__name__.removeprefix("_").replace("_", "-")
    return Fact(name, look=look, **shipped(__package__, "checklist.yaml")[name])


def _pages(probe: Probe) -> ClaimSeen:
    sizes: dict[str, int] = {}
    for server in (pages.MASTER, pages.TSERVER, pages.YSQL):
        for node, url in pages.urls(probe.nodes, server).items():
            # Reading a page without this word resets its histograms for all its readers.
            page = http_client.get(f"{url}/metrics?reset_histograms=false")
            sizes[f"{node} {server}"] = len(page)
    return ClaimSeen(len(sizes) == 3 * len(probe.nodes), f"bytes of /metrics: {sizes}")


def _memory(probe: Probe) -> ClaimSeen:
    # Servers see the machine's memory, and not the container's limit.
    limit = probe.nodes[0].memory_bytes or 0
    shares = flags.memory(limit)
    expected = {
        "memory_limit_hard_bytes": str(shares.tserver_bytes),
        "db_block_cache_size_bytes": str(shares.block_cache_bytes),
    }
    running = pages.flags(probe.tserver())
    values = {name: running.get(name) for name in expected}
    return ClaimSeen(values == expected, f"of {limit}: {values}")


def _layout(probe: Probe) -> ClaimSeen:
    tablets = probe.value(
        # The form of the TPC-C-derived tables' keys; no word about tablets, so flags decide.
        "CREATE TABLE IF NOT EXISTS first_run (w int, i int, PRIMARY KEY ((w) HASH, i ASC))",
        "SELECT num_tablets FROM yb_table_properties('first_run'::regclass)",
    )
    return ClaimSeen(
        tablets == len(probe.nodes), f"{tablets} tablets on {len(probe.nodes)} nodes"
    )


def _copy(probe: Probe) -> ClaimSeen:
    with probe.connect(probe.addresses()[-1], 120.0) as session:
        session.rows(
            "CREATE TABLE first_copy (a int PRIMARY KEY, b text) SPLIT INTO 3 TABLETS"
        )
        lines = "".join(f"{number}\tx\n" for number in range(ROWS))
        session.copy(
            "COPY first_copy FROM STDIN WITH (ROWS_PER_TRANSACTION 200)", lines
        )
    return copied(probe)


def copied(probe: Probe) -> ClaimSeen:
    """Whether all rows of the copy are there, also after a later start."""
    rows = probe.value("SELECT count(*) AS rows FROM first_copy")
    return ClaimSeen(rows == ROWS, f"{rows} rows")


def _commands(probe: Probe) -> ClaimSeen:
    first = probe.nodes[0]
    idle = ("get_is_load_balancer_idle",)
    hosts = [endpoint.host for endpoint in probe.cluster.endpoints]
    masters = flags.master_addresses(hosts)
    answer = nodes.admin(
        first, masters, tls=False, words=idle, timeout_s=60, world=probe.world
    )
    nodes.flush_tablets(first, hosts[0], tls=False, timeout_s=120, world=probe.world)
    return ClaimSeen(re.search(r"Idle = [01]", answer) is not None, answer.strip())


def _masters(probe: Probe) -> ClaimSeen:
    first = probe.nodes[0]
    address = str(nodes.remembered(first, probe.world).get("advertise_address"))
    same = address == probe.cluster.endpoints[0].host
    listed = nodes.leaders_list(probe.nodes, probe.world)
    remembered: dict[str, tuple[str, ...]] = {}
    for node in probe.nodes:
        remembered[node.name] = nodes.remembered_masters(node, probe.world)
    complete = all(masters == listed for masters in remembered.values())
    seen = f"{remembered}; the leader lists {listed} (files are written once a minute)"
    return ClaimSeen(same and complete, seen)


def _leaders(probe: Probe) -> ClaimSeen:
    leaders: dict[str, int] = {}

    def spread() -> bool:
        leaders.update(pages.leaders(probe.masters()))
        return min(leaders.values(), default=0) > 0

    in_time = clock.wait_until(
        spread, deadline_s=_SPREAD_S, clock=probe.world.clock, every_s=1.0
    )
    return ClaimSeen(in_time, str(leaders))


def _copy_index(probe: Probe) -> ClaimSeen:
    """Checks an index as the loader makes it: it is there before the rows, and has each of them
    afterwards."""
    with probe.connect(probe.addresses()[-1], 120.0) as session:
        session.rows("CREATE TABLE first_indexed (a int, b int, PRIMARY KEY (a HASH))")
        session.rows("CREATE INDEX first_indexed_b ON first_indexed (b)")
        lines = "".join(f"{number}\t{number % 7}\n" for number in range(ROWS))
        session.copy(
            "COPY first_indexed FROM STDIN WITH (ROWS_PER_TRANSACTION 200)", lines
        )
        # A table of so few rows is otherwise read whole, and the count says nothing of the index.
        session.rows("SET enable_seqscan = off")
        counted = session.rows("SELECT count(*) AS rows FROM first_indexed WHERE b = 3")
    rows = counted[0]["rows"]
    expected = len(range(3, ROWS, 7))
    return ClaimSeen(rows == expected, f"{rows} of {expected} rows by the index")


def _analyze(probe: Probe) -> ClaimSeen:
    """Loaders analyse several tables at once, each in a session of its own."""
    names = [f"first_analyze_{number}" for number in range(_SESSIONS)]
    for name in names:
        probe.value(f"CREATE TABLE {name} AS SELECT 1 AS a", "SELECT 1")

    def analyze(number: int) -> str:
        address = probe.addresses()[number % len(probe.addresses())]
        try:
            with probe.connect(address, 120.0) as session:
                # Several at once can fail with 40001 (issues 27036, 32182), but not each time.
                for _ in range(5):
                    session.rows(f"ANALYZE {names[number]}")
        except RunError as error:
            return error.what
        return ""

    for error in at_once.each(analyze, range(_SESSIONS)):
        if error:
            return ClaimSeen(is_true=False, text=error)
    return ClaimSeen(is_true=True, text=f"{_SESSIONS} sessions, 5 times each")


def _batches(probe: Probe) -> ClaimSeen:
    """Statements that are sent together change all their rows or none, also under conflict."""
    probe.value(
        "CREATE TABLE first_batch (a int PRIMARY KEY, b int)",
        "INSERT INTO first_batch VALUES (1, 0), (2, 0) RETURNING a",
    )
    sent = at_once.each(lambda number: _send_batches(probe, number), range(_SESSIONS))
    done = sum(batches.done for batches in sent)
    first = probe.value("SELECT b FROM first_batch WHERE a = 1")
    second = probe.value("SELECT b FROM first_batch WHERE a = 2")
    refusals = [batches.refusal for batches in sent if batches.refusal]
    refusals.append("none refused")
    seen = f"{done} of {_SESSIONS * _BATCHES} done, rows changed {first} and {second} times"
    # Half a batch would leave the rows apart; one that is done though refused, a count too high.
    return ClaimSeen(first == second == done, f"{seen}; {refusals[0]}")


@dataclass(frozen=True)
class _Sent:
    """How many batches of one session were carried out, and why the last was refused, if any."""

    done: int
    refusal: str


def _send_batches(probe: Probe, number: int) -> _Sent:
    change = "UPDATE first_batch SET b = b + 1 WHERE a = "
    batch = ("BEGIN", f"{change}1", f"{change}2", "COMMIT")
    done = 0
    refusal = ""
    for _ in range(_BATCHES):
        try:
            probe.batch(probe.addresses()[number], batch)
            done += 1
        except RunError as error:
            refusal = error.what
    return _Sent(done, refusal)


def _history(probe: Probe) -> ClaimSeen:
    value = pages.flags(probe.tserver()).get("timestamp_history_retention_interval_sec")
    expected = str(flags.HISTORY_S)
    return ClaimSeen(value == expected, f"{value} s, expected {expected}")


def _auto_analyze(probe: Probe) -> ClaimSeen:
    """Masters are asked too: in 2.18 it is a flag of theirs, and any of them may come to lead."""
    values: dict[str, str | None] = {}
    for server in (pages.TSERVER, pages.MASTER):
        for node, url in pages.urls(probe.nodes, server).items():
            running = pages.flags(url)
            for flag in _AUTO_ANALYZE:
                values[f"{server} of {node}: {flag}"] = running.get(flag)
    return ClaimSeen("true" not in values.values(), str(values))


def _ulimits(probe: Probe) -> ClaimSeen:
    # Some shells do not know `-u`.
    argv = ("sh", "-c", "ulimit -n; ulimit -u 2>/dev/null || echo unknown")
    files, *processes = nodes.run(probe.nodes[0], argv, 20, probe.world).out.split()
    enough = files == UNLIMITED or int(files) >= nodes.OPEN_FILES
    return ClaimSeen(enough, f"open files {files}, processes {' '.join(processes)}")


_LOOKS: tuple[Look, ...] = (
    read_checks.banner,
    read_checks.addresses,
    _pages,
    _memory,
    _layout,
    _copy,
    _copy_index,
    _analyze,
    _batches,
    read_checks.counters,
    read_checks.statements,
    read_checks.followers,
    _commands,
    _masters,
    _leaders,
    read_checks.isolation,
    _history,
    _auto_analyze,
    _ulimits,
)
FACTS = tuple(described(look) for look in _LOOKS)
