"""YugabyteDB's adapter against the stand-in: up, down, up again, and everything that goes wrong.

Goal: the order of starting, what is waited for, what is read back, and the words of each failure.
The stand-in (tests/standin/) refuses what the real image refuses; nothing here measures anything.
Method: real containers on plain volumes. What only the real image tells: test_yugabytedb_real.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import psycopg
import pytest

from orchestrator import facts as counted
from orchestrator.collectors.yugabytedb import YugabyteDBCollector
from orchestrator.databases.existing.adapter import ExistingCluster
from orchestrator.databases.yugabytedb import checklist, checks, flags, readiness
from orchestrator.databases.yugabytedb.adapter import YugabyteDB
from orchestrator.errors import NodeError
from orchestrator.load_generators import load_generators
from orchestrator.load_generators.common.client import client_container, run_in_client
from orchestrator.model import (
    Cluster,
    ClusterSpec,
    Dataset,
    NodeSize,
    Plan,
    Profile,
    Run,
    Volume,
    Workload,
)
from orchestrator.parts import Parts
from orchestrator.platforms import own_images
from orchestrator.powers import Container, ContainerSpec, Network, World
from orchestrator.run import experiment, proving
from orchestrator.system import sql
from orchestrator.system.store import load
from orchestrator.tiers.unlimited import UnlimitedTier
from orchestrator.yugabyte import counters, lsm
from tests import ROOT
from tests.fakes import QuietProgress
from tests.integration import servers
from tests.tiers import a_tier

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("nothing_left", "impatient")]

NETWORK = "tierbench-test-yb"
RUNNING = YugabyteDB.running
GIB = 2**30


@pytest.fixture
def image(standin_image: str) -> str:
    return standin_image


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in is at rest sooner than a database."""
    monkeypatch.setattr(lsm, "QUIET_S", 2.5)
    monkeypatch.setattr(lsm, "POLL_S", 0.2)


class Switched:
    """Docker, with environment variables for some of the nodes: the stand-in's switches."""

    def __init__(self, real: Any, switches: Mapping[int, Mapping[str, str]]) -> None:
        self._real, self._switches = real, switches

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def running(self, spec: ContainerSpec) -> AbstractContextManager[Container]:
        number = int(spec.name.rsplit("-", 1)[1])
        environment = {**spec.environment, **self._switches.get(number, {})}
        running: AbstractContextManager[Container] = self._real.running(
            replace(spec, environment=environment)
        )
        return running


def spec(image: str, count: int = 3, copies: int | None = None, **settings: str) -> ClusterSpec:
    factor = count if copies is None else copies
    node = NodeSize(1.0, 3 * GIB // 2, 2 * GIB)
    return ClusterSpec("yugabytedb", count, factor, node, settings={"image": image, **settings})


@contextmanager
def volumes(count: int, world: World, restored: bool = False) -> Iterator[tuple[Volume, ...]]:
    with ExitStack() as up:
        names = [f"{NETWORK}-{number}" for number in range(1, count + 1)]
        for name in names:
            up.enter_context(world.platform.volume(name, "", ""))
        yield tuple(Volume(name, "", restored) for name in names)


@contextmanager
def up(
    asked: ClusterSpec,
    world: World,
    switches: Mapping[int, Mapping[str, str]] | None = None,
    database: YugabyteDB | None = None,
) -> Iterator[Cluster]:
    here = replace(world, platform=Switched(world.platform, switches or {}))
    with (
        volumes(asked.nodes, world) as disks,
        world.platform.network(NETWORK, asked.nodes) as network,
        (database or YugabyteDB()).running(asked, disks, network, here) as cluster,
    ):
        yield cluster


def ask(cluster: Cluster, number: int, statement: str, **options: Any) -> list[tuple[Any, ...]]:
    """Through node `number`, as the load generator's user."""
    at = cluster.endpoints[number - 1]
    with psycopg.connect(
        host="127.0.0.1",
        port=at.local_port,
        user=at.user,
        password=at.password,
        dbname=at.database,
        autocommit=True,
        **options,
    ) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


TABLE = """CREATE TABLE stock (w int, i int, q text, PRIMARY KEY ((w) HASH, i ASC))
SPLIT INTO 3 TABLETS"""


def test_three_nodes_take_sql_and_start_again_from_their_disks(image: str, world: World) -> None:
    """Loaded, settled, stopped; then all at once from the same disks at the same addresses."""
    asked, database = spec(image), YugabyteDB()
    with volumes(3, world) as disks, world.platform.network(NETWORK, 3) as network:
        with database.running(asked, disks, network, world) as cluster:
            ask(cluster, 1, TABLE)
            ask(cluster, 2, "INSERT INTO stock SELECT g % 9, g, 'x' FROM generate_series(1, 900) g")
            assert [ask(cluster, n, "SELECT count(*) FROM stock") for n in (1, 2, 3)] == [
                [(900,)]
            ] * 3
            database.settle(cluster, world)
            database.begin_measuring(cluster, world)
            database.warm(cluster, world)
            facts = database.facts(cluster, world).recorded()
        restored = tuple(replace(disk, restored=True) for disk in disks)
        with database.running(asked, restored, network, world) as cluster:
            assert ask(cluster, 3, "SELECT count(*) FROM stock") == [(900,)]
            again = database.facts(cluster, world).recorded()
    assert facts["stand_in"] is again["stand_in"] is True
    assert facts["version"] == "2.18.1.0-b84"
    assert (facts["replication_factor"], facts["replicas_in_sync"]) == (3, 2)
    assert list(facts["leaders"].values()) == [1, 1, 1]
    assert len(set(facts["zones"].values())) == 3
    assert facts["durable"] is False and facts["durability"]["durable_wal_write"] == "false"
    assert facts["since_reset"]["block_cache_hit_ratio"] == 0.75
    assert set(counted.LOG) <= set(facts["since_reset"])
    assert facts["since_reset"][counted.WAL_NODES] == 3
    assert facts["data_bytes"] > 0


def test_tls_is_between_nodes_and_to_clients_and_durable_is_read_back(
    image: str, world: World, tmp_path: Path
) -> None:
    here = replace(world, cache=tmp_path)
    database = YugabyteDB()
    with up(spec(image, tls="on", durability="durable"), here, database=database) as cluster:
        assert len(cluster.endpoints[0].password) >= 20
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(
                f"host=127.0.0.1 port={cluster.endpoints[0].local_port} user=bench dbname=bench",
                password="bench",
            )
        authority = tmp_path / f"certificates/{NETWORK}/{cluster.endpoints[1].host}/ca.crt"
        root = {"sslrootcert": str(authority)}
        found = ask(cluster, 2, "SELECT current_user", sslmode="verify-ca", **root)
        assert found == [("bench",)]
        with pytest.raises(psycopg.OperationalError, match="SSL off"):
            ask(cluster, 2, "SELECT 1", sslmode="disable")
        assert "SSL connection" in psql(cluster, tmp_path, world)  # and the load verifies it
        facts = database.facts(cluster, here).recorded()
    assert facts["durable"] is True
    assert facts["tls"] is True
    assert facts["flags"]["use_client_to_server_encryption"] == "true"


def psql(cluster: Cluster, out: Path, world: World) -> str:
    """What a program in the client says of its own session."""
    at, image = cluster.endpoints[2], own_images.need(ROOT, "client", world.platform)
    words = f"psql -h {at.host} -p {at.port} -U {at.user} -d {at.database} -c".split()
    with client_container(image, cluster.network, out, world, cluster.tls) as client:
        done = run_in_client(client, [*words, "\\conninfo"], cluster, world, timeout_s=60)
    assert done.exit_code == 0, done.tail()
    return done.out


@pytest.mark.parametrize(("count", "copies"), [(5, 5), (3, 1)])
def test_other_copies_than_three_are_placed_once_all_nodes_are_up(
    count: int, copies: int, image: str, world: World
) -> None:
    database = YugabyteDB()
    with up(spec(image, count, copies), world, database=database) as cluster:
        facts = database.facts(cluster, world).recorded()
    assert facts["replication_factor"] == copies
    assert len(facts["leaders"]) == count


def test_counters_move_with_what_clients_write(image: str, world: World) -> None:
    with up(spec(image, count=1), world) as cluster:
        ask(cluster, 1, TABLE)
        before = _counters(cluster)
        at = cluster.endpoints[0]
        with (
            psycopg.connect(
                f"host=127.0.0.1 port={at.local_port} user=bench dbname=bench", password=at.password
            ) as connection,
            connection.cursor() as cursor,
            cursor.copy("COPY stock FROM STDIN WITH (ROWS_PER_TRANSACTION 20000)") as copy,
        ):
            for number in range(20_000):
                copy.write(f"{number}\t{number}\t{'x' * 50}\n")
        after = _counters(cluster)
    for counter in ("wal_bytes_total", "flush_written_bytes_total", "sql_statements_total"):
        assert after[counter] > before[counter], counter


def _counters(cluster: Cluster) -> dict[str, float]:
    samples = YugabyteDBCollector().read(cluster.nodes, 100.0)
    return {sample.metric: sample.value for sample in samples}


def test_a_cluster_is_started_once_to_see_that_it_does(image: str, world: World) -> None:
    """What `DB=auto` does before a plan is written: each different cluster, and nothing is left."""
    parts = Parts({"yugabytedb": YugabyteDB()}, {}, {}, ())
    single, broken = spec(image, count=1), spec(image, count=1, no_such_flag="1")
    with mock.patch.object(YugabyteDB, "running", autospec=True, side_effect=RUNNING) as running:
        proving.start([single, single], parts, world)
        assert running.call_count == 1
        with pytest.raises(NodeError, match="is exited"):
            proving.start([single, broken], parts, world)


# ------------------------------------------------------------------ bad luck


def test_a_slow_start_is_waited_for(image: str, world: World) -> None:
    with up(spec(image), world, {2: {"STANDIN_SLOW_S": "4"}}) as cluster:
        assert len(cluster.nodes) == 3


def test_a_start_that_takes_too_long_says_what_was_missing(
    image: str, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readiness, "NODE_DEADLINE_S", 8.0)
    slow = {2: {"STANDIN_SLOW_S": "60"}}
    with pytest.raises(NodeError) as raised, up(spec(image), world, slow):
        pass
    assert raised.value.what.startswith("YugabyteDB's node-2 was not ready within 8 s")
    assert f"{NETWORK}-node-1" in raised.value.evidence


class FirstStartOnly(Switched):
    """The switches of a node are gone when it starts again."""

    def running(self, spec: ContainerSpec) -> AbstractContextManager[Container]:
        started = super().running(spec)
        self._switches = {}
        return started


def test_with_tls_a_first_start_that_ends_itself_is_made_once_more(
    image: str, world: World
) -> None:
    progress = QuietProgress()
    refusing = FirstStartOnly(world.platform, {1: {"STANDIN_REFUSE_PASSWORD": "1"}})
    here = replace(world, platform=refusing, progress=progress)
    with up(spec(image, count=1, tls="on"), here) as cluster:
        assert len(cluster.nodes) == 1
    assert any("once more, on emptied disks" in line for line in progress.said)


@pytest.mark.parametrize(
    ("settings", "switches", "part"),
    [
        ({}, {2: {"STANDIN_REFUSE_JOIN": "1"}}, "master at the join ip provided is not reachable"),
        ({"no_such_flag": "1"}, {}, "unknown command line flag 'no_such_flag'"),
    ],
)
def test_a_node_that_ends_says_why(
    image: str,
    world: World,
    settings: dict[str, Any],
    switches: dict[int, dict[str, str]],
    part: str,
) -> None:
    with (
        pytest.raises(NodeError, match="is exited") as raised,
        up(spec(image, **settings), world, switches),
    ):
        pass
    assert part in raised.value.evidence


def test_another_release_than_asked_is_refused(image: str, world: World) -> None:
    other = {number: {"STANDIN_VERSION": "2.20.10.0-b29"} for number in (1, 2, 3)}
    with pytest.raises(NodeError) as raised, up(spec(image), world, other):
        pass
    assert raised.value.what == ("the image runs YugabyteDB 2.20.10.0-b29, expected 2.18.1.0-b84")


def test_a_killed_node_is_named(image: str, world: World) -> None:
    database = YugabyteDB()
    with up(spec(image), world, database=database) as cluster:
        world.platform.container(cluster.nodes[1].container or "").stop(0)
        with pytest.raises(NodeError, match=f"{NETWORK}-node-2 is exited"):
            database.begin_measuring(cluster, world)
        with pytest.raises(NodeError, match=f"{NETWORK}-node-2 is exited"):
            database.facts(cluster, world)


def test_a_disk_loaded_at_another_address_is_not_started(image: str, world: World) -> None:
    """What would be a cluster waiting forever for peers that are elsewhere."""
    asked, database = spec(image, count=1), YugabyteDB()
    with volumes(1, world) as disks, world.platform.network(NETWORK, 1) as network:
        with database.running(asked, disks, network, world):
            pass
        restored = tuple(replace(disk, restored=True) for disk in disks)
        with (
            world.platform.network(f"{NETWORK}-other", 1) as elsewhere,
            pytest.raises(NodeError) as raised,
            database.running(asked, restored, elsewhere, world),
        ):
            pass
    assert "this disk was loaded at another address than" in raised.value.evidence


# ------------------------------------------------------------------ first run, others' clusters


def test_the_first_run_checklist_goes_through(
    image: str, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checklist, "NETWORK", NETWORK)
    found = list(checklist.first_run(checklist.spec(own={"image": image}), world))
    assert [one.name for one in found] == [fact.name for fact in checklist.lines()]
    open_lines = {one.name for one in found if one.state != "confirmed"}
    assert open_lines & checklist.needed() == set()


@pytest.mark.parametrize(
    ("running", "facts"),
    [
        ("2.20.10.0-b29", "YB-2.20.10.0-b0"),
        ("2.18.1.0-b85", "page: 2.18.1.0-b85; asked: 2.18.1.0-b84"),
    ],
)
def test_another_release_is_a_line_of_the_checklist_and_not_its_end(
    running: str, facts: str, image: str, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checklist, "NETWORK", NETWORK)
    monkeypatch.setattr(checklist, "FACTS", checks.FACTS[:2])
    other = {number: {"STANDIN_VERSION": running} for number in (1, 2, 3)}
    here = replace(world, platform=Switched(world.platform, other))
    found = list(checklist.first_run(checklist.spec(own={"image": image}), here))
    assert [one.name for one in found] == [
        "start", "banner", "pages", "settle", "cold-copy", "second-copy", "tls",
    ]  # fmt: skip
    assert found[1].state == "not confirmed" and facts in found[1].seen
    assert found[2].state == "confirmed"


def test_another_build_runs_and_is_recorded(image: str, world: World) -> None:
    """The page that says it is not one to refuse a run by."""
    database = YugabyteDB()
    asked = spec(image, count=1)
    with up(asked, world, {1: {"STANDIN_VERSION": "2.18.1.0-b85"}}, database) as cluster:
        facts = database.facts(cluster, world).recorded()
    assert (facts["version"], facts["version_asked"]) == ("2.18.1.0-b85", "2.18.1.0-b84")
    assert "-b0" in facts["banner"]


def test_the_first_run_checklist_says_what_is_not_so(
    image: str, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here: a metric that a release no longer has, and one that cannot be looked at at all."""
    monkeypatch.setattr(checklist, "NETWORK", NETWORK)
    monkeypatch.setattr(checks, "METRICS", ("wal_syncs_total", "no_such_counter"))
    monkeypatch.setattr(counters, "statements", lambda _: dict[str, Any]()["no such page"])
    found = {
        one.name: (one.state, one.seen)
        for one in checklist.first_run(checklist.spec(own={"image": image}), world)
    }
    assert found["counters"] == ("not confirmed", "missing: no_such_counter")
    assert found["statements"][0] == "could not be looked at"
    assert found["cold-copy"][0] == "confirmed"


def test_a_running_cluster_of_others_is_used_and_left_as_it_was(image: str, world: World) -> None:
    with servers.standin(image, 3) as theirs:

        def of(port: int) -> str:
            return " ".join(f"http://{host}:{port}" for host in theirs.hosts)

        asked = ClusterSpec(
            "existing",
            3,
            3,
            NodeSize(1.0, GIB, GIB),
            settings={
                "existing.hosts": " ".join(theirs.hosts),
                "existing.masters": of(flags.MASTER_WEB),
                "existing.tservers": of(flags.TSERVER_WEB),
                "existing.ysql": of(flags.YSQL_WEB),
                "existing.tls": "off",
            },
        )
        before = theirs.databases()
        database = ExistingCluster()
        database.check(asked, world)
        with database.running(asked, (), Network(NETWORK, ()), world) as cluster:
            theirs.ask("SELECT 1")
            with sql.session(
                sql.Address(cluster.endpoints[2].host, 5433, "yugabyte", "", "tierbench")
            ) as session:
                session.rows(TABLE)
            database.settle(cluster, world)
            database.begin_measuring(cluster, world)
            database.warm(cluster, world)
            facts = database.facts(cluster, world).recorded()
            names = _counters(cluster)
        left = theirs.databases()
    assert facts["stand_in"] is facts["existing"] is True
    assert (facts["version"], facts["replication_factor"]) == ("2.18.1.0-b84", 3)
    assert {"wal_bytes_total", "sql_statements_total", "master_wal_bytes_total"} <= set(names)
    assert left == before


# ------------------------------------------------------------------ the main job

TIER = a_tier("here", "This machine", "none", None, None)
SMALL = {  # counted in several slices
    "insert": Dataset("sysbench-tables", {"tables": 2, "table_size": 2000, "slice_rows": 700}),
    "tpcc": Dataset("tpcc", {"warehouses": 1, "slice_rows": 40_000}),
}


def workload(name: str) -> Workload:
    script = {"insert": "sysbench/insert.lua", "tpcc": "tpcc/tpcc.lua"}[name]
    return Workload(
        name=name,
        title=name,
        generator="sysbench",
        script=script,
        dataset=SMALL[name],
        scale="smoke",
        threads=3,
        loader_threads=2,
        warmup_s=1.0,
        measure_s=3.0,
        statements_per_transaction=10 if name == "insert" else None,
        options={"think": "none"} if name == "tpcc" else {},
    )


@pytest.mark.parametrize("name", ["insert", "tpcc"])
def test_the_main_job_runs_and_its_result_is_marked(
    name: str, image: str, world: World, tmp_path: Path
) -> None:
    """Loaded in YugabyteDB's own words, run over all nodes, sampled, recorded as a stand-in's."""
    profile = Profile("here", "Does the whole flow work?", TIER, spec(image))
    plan = Plan(
        name="stand-in",
        seed=1,
        scale="smoke",
        baseline="here",
        repetitions=1,
        margin_pct=5.0,
        profiles=(profile,),
        workloads=(workload(name),),
        runs=(Run(1, "here", name, 1),),
        estimate_s=60.0,
    )
    parts = Parts(
        {"yugabytedb": YugabyteDB()},
        load_generators(),
        {"none": UnlimitedTier()},
        (YugabyteDBCollector(),),
    )
    progress = QuietProgress()
    folder = experiment.execute(plan, parts, replace(world, progress=progress), tmp_path, {})
    record = load(folder).runs[0].record
    assert record.outcome == "done", record.failure
    assert not [line for line in progress.said if "tried again" in line], "counted right in slices"
    assert record.facts["database"]["stand_in"] is True
    throughput = {m.metric: m.value for m in record.measurements if m.scope == "all"}
    assert throughput["throughput_per_s"] > 0
    sampled = set(load(folder).runs[0].samples["metric"])
    assert {"wal_sync_seconds_total", "sql_statements_total"} <= sampled
