"""From a profile of a cluster that others run to its report, as a user types it.

Goal: the documented profiles work against servers that tierbench did not start, and leave them as
they were. Method: the profiles of docs/YUGABYTEDB.md with nothing but their addresses and names
changed; the servers are testcontainers'.
"""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from orchestrator.databases.existing import ExistingCluster
from orchestrator.databases.yugabytedb import flags
from orchestrator.databases.yugabytedb.collector import YugabyteDBCollector
from orchestrator.errors import UnavailableError
from orchestrator.model import ClusterSpec, NodeSize
from orchestrator.planning import project_files
from orchestrator.powers import Network, World
from orchestrator.system import sql, store
from orchestrator.yugabyte import versions
from tests import ROOT
from tests.campaign_tables import sampled_in
from tests.documented import documented_commands
from tests.fakes import FakePlatform, fake_world
from tests.integration import servers
from tests.integration.conftest import Program, tierbench
from tests.integration.existing_profile import (
    SHORT,
    STOCK,
    YUGABYTEDB,
    arguments,
    profile,
)
from tests.integration.servers import Server

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("nothing_left")]

# Of the documented profile, what the stand-in's nodes have not: certificates, and node_exporter.
NOT_HERE = ("tls_root:", "node_exporters:")
SESSIONS = (
    "FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE datname = 'tierbench'"
)


@pytest.fixture(scope="module")
def standin(standin_image: str) -> Iterator[Server]:
    """As the chart and a manual start leave a cluster of today: no placement was ever set, and a
    table has one tablet unless it asks for more."""
    switches = {"STANDIN_PLACEMENT": "none", "STANDIN_VERSION": versions.DEFAULT}
    with servers.standin(standin_image, 3, **switches) as server:
        yield server


# ------------------------------------------------------------------ from a profile to a report


@contextmanager
def watched(server: Server) -> Iterator[set[tuple[object, ...]]]:
    """Which programs had sessions in our database, and whether they were encrypted."""
    seen: set[tuple[object, ...]] = set()
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.5):
            with suppress(psycopg.Error):
                seen.update(server.ask(f"SELECT application_name, ssl {SESSIONS}"))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()


@pytest.mark.slow
def test_a_postgresql_of_others_to_its_report(
    postgresql: Server, tmp_path: Path
) -> None:
    before = postgresql.databases()
    with watched(postgresql) as sessions:
        campaign_to_its_report(postgresql, tmp_path)
    assert sessions and all(encrypted for _, encrypted in sessions), sessions
    # This program, our own workloads, and stock sysbench without a name.
    assert {name for name, _ in sessions} == {"tierbench", "tierbench-load", ""}
    assert postgresql.databases() == before


def campaign_to_its_report(postgresql: Server, tmp_path: Path) -> None:
    code, text = tierbench(
        *[
            "compare",
            "--profiles",
            str(profile(postgresql, tmp_path)),
            "--repeats",
            "1",
        ],
        *["--workloads", f"{STOCK} tpcc", "--scale", "smoke", "--set", "warehouses=1"],
        *["--accept-inconclusive", "--results", str(tmp_path / "results")],
        PG_PASSWORD=postgresql.password,
    )
    assert code == 0, text
    folder = tmp_path / "results" / "latest"
    records = [data.record for data in store.load(folder).runs]
    assert {record.run.workload for record in records} == {"stock", "tpcc"}
    for record in records:
        assert record.outcome == "done", record.failure
        assert record.facts["database"]["version"].startswith("17.")
        assert record.facts["database"]["durable"] is True
        assert record.facts["database"]["tls"] == "verify-full"
        most = record.facts["statements"]["most"]
        assert all(of["calls"] > 0 for of in most) and any(
            of["wal_bytes"] for of in most
        )
        assert any(
            of["query"].startswith("SELECT") and "$1" in of["query"] for of in most
        )
    verdict = json.loads((folder / "verdict.json").read_text())
    rates = [cell for cell in verdict["cells"] if cell["metric"] == "throughput_per_s"]
    assert len({cell["workload"] for cell in rates}) == 2
    assert all(cell["mean"] > 0 for cell in rates)
    assert "no truth gate" in {doubt["kind"] for doubt in verdict["doubts"]}
    said = (folder / "report.md").read_text()
    assert "## Statements" in said and "Bytes of WAL per call" in said
    assert "my-postgresql: not measured; its limits are only declared" in said
    assert (
        "not enforced: the disk of a cluster that others run" in said
        and "not declared" in said
    )
    assert "others run it" in said and "Only declared: number of copies." in said
    assert "my-postgresql: not verified" not in said
    assert (folder / "report.html").stat().st_size > 10_000
    assert postgresql.password not in "".join(
        file.read_text(errors="replace") for file in folder.rglob("*") if file.is_file()
    )
    assert tierbench("analyze", str(folder))[0] == 0


@pytest.mark.slow
def test_a_cluster_of_the_stand_in_to_its_report(
    standin: Server, tmp_path: Path
) -> None:
    text = "\n".join(
        line
        for line in YUGABYTEDB.splitlines()
        if not line.strip().startswith(NOT_HERE)
    )
    text = text.replace("    user: yugabyte", "    user: yugabyte\n    tls: off")
    # Ports may stand with the hosts, and credentials in URLs.
    text = text.replace("    port: 5433\n", "").replace(
        "hosts: 10.0.0.11", "hosts: 10.0.0.11:5433"
    )
    text = text.replace("10.0.0.12 10.0.0.13\n", "10.0.0.12:5433 10.0.0.13:5433\n", 1)
    text = text.replace("ysql: http://", "ysql: http://watcher:pl4nted@", 1)
    for number, host in enumerate(standin.hosts, start=11):
        assert f"10.0.0.{number}" in text
        text = text.replace(f"10.0.0.{number}", host)
    file = tmp_path / "my-cluster.yaml"
    file.write_text(text)
    # The servers' pages are read every 5 s: the load must last until one more reading.
    longer = tmp_path / "longer.yaml"
    longer.write_text(Path(SHORT).read_text().replace("measure: 2s", "measure: 6s"))
    before = standin.databases()
    (documented,) = (
        words[1:]
        for words in documented_commands("YUGABYTEDB.md", "A cluster that others run")
        if words[1] == "run"
    )
    own = {"my-cluster.yaml": str(file), "tpcc": str(longer)}
    code, said = tierbench(
        *[own.get(word, word) for word in documented],
        *["--scale", "smoke", "--results", str(tmp_path / "results")],
        YB_PASSWORD=standin.password,
    )
    assert code == 0, said
    folder = tmp_path / "results" / "latest"
    for data in store.load(folder).runs:
        facts = data.record.facts["database"]
        assert data.record.outcome == "done", data.record.failure
        assert facts["stand_in"] is facts["existing"] is True
        assert (facts["flavour"], facts["replication_factor"]) == ("yugabytedb", 3)
        assert {"wal_sync_seconds_total", "sql_statements_total"} <= set(
            sampled_in(data)["metric"]
        )
        # Every node took a share of the connections.
        rows = sampled_in(data)[sampled_in(data)["metric"] == "sql_statements_total"]
        grown = rows.groupby("node")["value"].agg(
            lambda values: values.max() - values.min()
        )
        assert set(grown.index) == {"node-1", "node-2", "node-3"}
        assert (grown > 0).all(), grown
    texts = [file for file in folder.rglob("*") if file.is_file()]
    assert "pl4nted" not in said + "".join(
        file.read_text(errors="replace") for file in texts
    )
    report = (folder / "report.md").read_text()
    assert "my-cluster: not verified" in report and "`tls: off`" in report
    assert "my-cluster: not measured; its limits are only declared" in report
    assert "10,000" in report  # what was bought is shown
    assert (folder / "report.html").is_file() and (folder / "verdict.json").is_file()
    verdict = json.loads((folder / "verdict.json").read_text())
    few = [doubt for doubt in verdict["doubts"] if doubt["kind"] == "few tablets"]
    assert few and "1 tablet of a table on 3 nodes" in few[0]["text"]
    assert standin.databases() == before


@pytest.mark.usefixtures("impatient")
def test_a_running_cluster_of_others_is_used_and_left_as_it_was(
    standin: Server, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    def of(port: int) -> str:
        return " ".join(f"http://{host}:{port}" for host in standin.hosts)

    asked = ClusterSpec(
        "existing",
        3,
        3,
        NodeSize(1.0, 2**30, 2**30),
        existing={
            "hosts": " ".join(standin.hosts),
            "masters": of(flags.MASTER_WEB),
            "tservers": of(flags.TSERVER_WEB),
            "ysql": of(flags.YSQL_WEB),
            "tls": "off",
        },
    )
    before = standin.databases()
    database = ExistingCluster()
    database.check(asked, world)
    with database.running(
        asked, (), Network("tierbench-test-yb", ()), world
    ) as cluster:
        host = cluster.endpoints[2].host
        with sql.session(
            sql.Address(host, 5433, "yugabyte", "", "tierbench")
        ) as session:
            session.rows("CREATE TABLE stock (id int PRIMARY KEY) SPLIT INTO 3 TABLETS")
            # As stock sysbench and BenchBase make theirs.
            session.rows("CREATE TABLE sbtest1 (id int PRIMARY KEY, k int)")
            session.rows("CREATE INDEX k_1 ON sbtest1 (k)")
        database.settle(cluster, world)
        database.begin_measuring(cluster, world)
        database.warm(cluster, world)
        with sql.session(sql.Address(host, 5433, "yugabyte", "", "yugabyte")) as others:
            others.rows("SELECT 1")
        facts = database.facts(cluster, world).recorded()
        sampled = {
            sample.metric for sample in YugabyteDBCollector().read(cluster.nodes, 100.0)
        }
    assert facts["stand_in"] is facts["existing"] is True
    assert (facts["version"], facts["replication_factor"]) == (versions.DEFAULT, 3)
    assert (
        "fewer tablets than there are nodes (sbtest1 and 1 more"
        in capsys.readouterr().err
    )
    assert facts["few_tablets"] == {"sbtest1": 1, "k_1": 1}
    assert {
        "wal_bytes_total",
        "sql_statements_total",
        "master_wal_bytes_total",
    } <= sampled
    hits = facts["since_reset"]["block_cache_hits"]
    assert 0 < facts["since_reset"]["others_block_cache_hits"] < hits
    assert standin.databases() == before


@pytest.mark.slow
def test_data_are_loaded_once_where_the_owner_keeps_them(
    postgresql: Server, tmp_path: Path
) -> None:
    """Two runs: one load, kept and brought back by PostgreSQL's own programs in its container."""
    found = ["docker", "ps", "-q", "--filter", f"publish={postgresql.port}"]
    server = subprocess.run(
        found, capture_output=True, text=True, check=True
    ).stdout.strip()
    inside = f"docker exec -i -e PGUSER -e PGPASSWORD -e PGDATABASE {server}"
    kept = f'"{tmp_path}/$TIERBENCH_SNAPSHOT"'
    text = f"""maintenance_database: postgres
    save: {inside} pg_dump --host=127.0.0.1 --format=custom > {kept}
    restore: {inside} pg_restore --host=127.0.0.1 --dbname=tierbench < {kept}"""
    file = profile(postgresql, tmp_path, ("maintenance_database: postgres", text))
    before = postgresql.databases()
    code, said = tierbench(
        *[*arguments(file, tmp_path), "--repeats", "2"],
        PG_PASSWORD=postgresql.password,
        TIERBENCH_CACHE=str(tmp_path / "cache"),
    )
    assert code == 0, said
    records = [run.record for run in store.load(tmp_path / "results" / "latest").runs]
    assert [record.outcome for record in records] == ["done"] * 2
    assert all(record.facts["database"]["restore_took_s"] > 0 for record in records)
    assert said.count("kept for later runs") == 1, said
    sizes = {
        record.facts["database_before"]["data_bytes"] // 2**20 for record in records
    }
    assert len(sizes) == 1 and postgresql.databases() == before


# ------------------------------------------------------------------ a killed program


@pytest.mark.slow
def test_load_ends_with_its_program_and_its_database_can_be_cleaned_away(
    postgresql: Server, tmp_path: Path
) -> None:
    cache = {"TIERBENCH_CACHE": str(tmp_path / "cache"), "TIERBENCH_LEASE_S": "3"}
    file = profile(postgresql, tmp_path)
    before = postgresql.databases()
    program = Program.start(
        *arguments(file, tmp_path), PG_PASSWORD=postgresql.password, **cache
    )
    await_true(
        lambda: postgresql.ask(
            f"SELECT 1 {SESSIONS} AND application_name LIKE 'tierbench%'"
        )
    )
    await_true(lambda: running_clients() == 1)
    program.process.kill()
    await_true(lambda: running_clients() == 0)
    await_true(lambda: not postgresql.ask(f"SELECT 1 {SESSIONS}"))
    assert postgresql.databases() == {*before, "tierbench", "tierbench_campaign"}
    code, text = tierbench("clean", "--yes", **cache)  # it has no password
    assert code == 0 and f"port={postgresql.port} user={postgresql.user}" in text, text
    assert "DROP DATABASE" in text and postgresql.password not in text
    code, text = tierbench("clean", "--yes", PG_PASSWORD=postgresql.password, **cache)
    assert (
        code == 0
        and f"database tierbench at localhost:{postgresql.port}, of campaign" in text
    )
    assert postgresql.databases() == before


def test_two_testers_on_one_cluster_are_refused_but_a_dead_one_is_not_in_the_way(
    postgresql: Server, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each with a user, a database and a cache of its own."""
    monkeypatch.setenv("PG_PASSWORD", postgresql.password)
    before = postgresql.databases()
    file = profile(postgresql, tmp_path)
    ((first,), _) = project_files.read(ROOT, [str(file)], [], "smoke")
    own = {"user": "guest", "database": "theirs"}
    second = replace(first.cluster, existing={**first.cluster.existing, **own})
    there, elsewhere = (
        replace(world, cache=tmp_path / name) for name in ("first", "second")
    )
    elsewhere = replace(elsewhere, platform=fake_world().platform)  # another campaign
    both = ExistingCluster()
    postgresql.ask(f"CREATE ROLE guest LOGIN CREATEDB PASSWORD '{postgresql.password}'")
    try:
        with both.reserved(first.cluster, there):
            with (
                pytest.raises(
                    UnavailableError, match="is measuring the cluster at localhost"
                ),
                both.reserved(second, elsewhere),
            ):
                pass
            postgresql.ask(
                "UPDATE lease SET beat = beat - interval '3 min'", "tierbench_campaign"
            )
            with both.reserved(second, elsewhere):
                code, said = tierbench(
                    *arguments(file, tmp_path), PG_PASSWORD=postgresql.password
                )
                assert code == 69 and "campaign c1 on" in said, said
        assert postgresql.databases() == before
    finally:
        postgresql.ask("DROP ROLE guest")


@pytest.mark.slow
def test_of_two_testers_who_come_at_the_same_moment_one_is_let_in(
    postgresql: Server, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also while nothing of the lease is there yet; and the one that leaves takes nothing away from
    one that comes at that moment."""
    monkeypatch.setenv("PG_PASSWORD", postgresql.password)
    before = postgresql.databases()
    file = profile(postgresql, tmp_path)
    ((first,), _) = project_files.read(ROOT, [str(file)], [], "smoke")
    at_once = threading.Barrier(2)
    answered: list[str] = []  # of the present round

    def come(name: str) -> None:
        platform: Any = FakePlatform()
        platform.campaign = name
        own = replace(world, platform=platform, cache=tmp_path / name)
        at_once.wait(60)
        try:
            with ExistingCluster().reserved(first.cluster, own):
                answered.append("in")
                await_true(lambda: len(answered) == 2, 60)
        except UnavailableError as error:
            assert "is measuring the cluster at localhost" in error.what, error.what
            answered.append("refused")

    for _ in range(5):
        answered.clear()
        with ThreadPoolExecutor(2) as pool:
            for done in [pool.submit(come, name) for name in ("c1", "c2")]:
                done.result()
        assert sorted(answered) == ["in", "refused"]
        assert postgresql.databases() == before


def running_clients() -> int:
    command = [
        "docker",
        "ps",
        "-q",
        "--filter",
        "label=tierbench",
        "--filter",
        "name=client",
    ]
    return len(subprocess.run(command, capture_output=True, check=True).stdout.split())


def await_true(condition: Callable[[], object], deadline_s: float = 120.0) -> None:
    end = time.monotonic() + deadline_s
    while not condition():
        assert time.monotonic() < end, "not in time"
        time.sleep(0.2)
