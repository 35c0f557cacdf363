"""From a profile of a cluster that others run to its report, as a user types it.

Goal: the documented profiles work against servers that tierbench did not start, and leave them as
they were. Method: the profiles of docs/YUGABYTEDB.md with nothing but their addresses and names
changed; the servers are testcontainers'.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.platforms import own_images
from orchestrator.platforms.docker.engine import DockerPlatform
from orchestrator.system import store
from tests import ROOT
from tests.documented import existing_profiles
from tests.integration import servers
from tests.integration.conftest import tierbench
from tests.integration.servers import Server

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("nothing_left")]

YUGABYTEDB, POSTGRESQL = existing_profiles()
SHORT = str(ROOT / "tests/integration/workloads/short.yaml")
# Of the documented profile, what the stand-in's nodes have not: certificates, and node_exporter.
NOT_HERE = ("tls_root:", "node_exporters:")


@pytest.fixture(scope="module")
def postgresql(engine: DockerPlatform) -> Iterator[Server]:
    with servers.postgresql(own_images.need(ROOT, "postgres", engine)) as server:
        yield server


@pytest.fixture(scope="module")
def standin(standin_image: str) -> Iterator[Server]:
    with servers.standin(standin_image, 3) as server:
        yield server


def profile(server: Server, folder: Path, *changes: tuple[str, str]) -> Path:
    """The documented profile of a PostgreSQL with this server's address and user."""
    text = POSTGRESQL
    for old, new in (
        ("hosts: 10.0.0.21", f"hosts: {server.hosts[0]}"),
        ("port: 5432", f"port: {server.port}"),
        ("user: bench", f"user: {server.user}"),
        *changes,
    ):
        assert old in text, f"docs/YUGABYTEDB.md no longer has {old!r}"
        text = text.replace(old, new)
    file = folder / "my-postgresql.yaml"
    file.write_text(text)
    return file


# ------------------------------------------------------------------ from a profile to a report


def test_a_postgresql_of_others_to_its_report(postgresql: Server, tmp_path: Path) -> None:
    before = postgresql.databases()
    code, text = tierbench(
        *["compare", "--profiles", str(profile(postgresql, tmp_path)), "--repeats", "1"],
        *["--workloads", f"{SHORT} insert tpcc", "--scale", "smoke"],
        *["--accept-inconclusive", "--results", str(tmp_path / "results")],
        PG_PASSWORD=postgresql.password,
    )
    assert code == 0, text
    folder = tmp_path / "results" / "latest"
    records = [data.record for data in store.load(folder).runs]
    assert {record.run.workload for record in records} == {"short", "insert", "tpcc"}
    for record in records:
        assert record.outcome == "done", record.failure
        assert record.facts["database"]["version"].startswith("17.")
        assert record.facts["database"]["durable"] is True
    verdict = json.loads((folder / "verdict.json").read_text())
    rates = [cell for cell in verdict["cells"] if cell["metric"] == "throughput_per_s"]
    assert len({cell["workload"] for cell in rates}) == 3
    assert all(cell["mean"] > 0 for cell in rates)
    assert "no truth gate" in {doubt["kind"] for doubt in verdict["doubts"]}
    said = (folder / "report.md").read_text()
    assert "my-postgresql: not measured; its limits are only declared" in said
    assert "not held to it: another's disk" in said and "not declared" in said
    assert (folder / "report.html").stat().st_size > 10_000
    assert postgresql.password not in "".join(
        file.read_text(errors="replace") for file in folder.rglob("*") if file.is_file()
    )
    assert postgresql.databases() == before
    assert tierbench("analyze", str(folder))[0] == 0


def test_a_cluster_of_the_stand_in_to_its_report(standin: Server, tmp_path: Path) -> None:
    text = "\n".join(
        line for line in YUGABYTEDB.splitlines() if not line.strip().startswith(NOT_HERE)
    )
    for number, host in enumerate(standin.hosts, start=11):
        assert f"10.0.0.{number}" in text
        text = text.replace(f"10.0.0.{number}", host)
    file = tmp_path / "my-cluster.yaml"
    file.write_text(text)
    before = standin.databases()
    code, said = tierbench(
        *["compare", "--profiles", str(file), "--workloads", SHORT, "--scale", "smoke"],
        *["--repeats", "1", "--accept-inconclusive", "--results", str(tmp_path / "results")],
        YB_PASSWORD=standin.password,
    )
    assert code == 0, said
    folder = tmp_path / "results" / "latest"
    for data in store.load(folder).runs:
        facts = data.record.facts["database"]
        assert data.record.outcome == "done", data.record.failure
        assert facts["stand_in"] is facts["existing"] is True
        assert (facts["flavour"], facts["replication_factor"]) == ("yugabytedb", 3)
        assert {"wal_sync_seconds_total", "sql_statements_total"} <= set(data.samples["metric"])
        # Every node took a share of the connections.
        rows = data.samples[data.samples["metric"] == "sql_statements_total"]
        grown = rows.groupby("node")["value"].agg(lambda values: values.max() - values.min())
        assert set(grown.index) == {"node-1", "node-2", "node-3"}
        assert (grown > 0).all(), grown
    report = (folder / "report.md").read_text()
    assert "my-cluster: not measured; its limits are only declared" in report
    assert "10,000" in report  # what was bought is shown
    assert (folder / "report.html").is_file() and (folder / "verdict.json").is_file()
    assert standin.databases() == before


# ------------------------------------------------------------------ wrong input


@pytest.mark.parametrize(
    ("changes", "password", "code", "said"),
    [
        ((), "wrong", 69, "password authentication failed"),
        ((), None, 69, "PG_PASSWORD is not set"),
        ((("maintenance_database: postgres ", "maintenance_database: nowhere "),), "", 69,
         'database "nowhere" does not exist'),
        ((("hosts: ", "hosts: no-such-host.invalid #"),), "", 69, "does not answer"),
        ((("    port:", "    port: 1 #"),), "", 69, "does not answer"),
        ((("  replication_factor: 1", "  replication_factor: 1\n  version: '16'"),), "", 64,
         "not 16"),
    ],
)  # fmt: skip
def test_wrong_input_is_refused_before_anything_starts(
    changes: tuple[tuple[str, str], ...],
    password: str | None,
    code: int,
    said: str,
    postgresql: Server,
    tmp_path: Path,
) -> None:
    file = profile(postgresql, tmp_path, *changes)
    right = {} if password is None else {"PG_PASSWORD": password or postgresql.password}
    found, text = tierbench(*arguments(file, tmp_path), **right)
    assert (found, said in text) == (code, True), text
    assert not (tmp_path / "results").exists()
    assert "tierbench" not in postgresql.databases()


def test_a_database_that_is_not_ours_is_not_touched(postgresql: Server, tmp_path: Path) -> None:
    file = profile(postgresql, tmp_path)
    postgresql.ask("CREATE DATABASE tierbench")
    try:
        postgresql.ask("CREATE TABLE payroll AS SELECT 1 AS id", "tierbench")
        code, text = tierbench(*arguments(file, tmp_path), PG_PASSWORD=postgresql.password)
        assert code == 64, text
        assert "has a database tierbench that tierbench did not make" in text
        assert postgresql.ask("SELECT count(*) FROM payroll", "tierbench") == [(1,)]
    finally:
        postgresql.ask("DROP DATABASE tierbench")


def test_a_user_who_may_not_make_a_database_is_told_so(postgresql: Server, tmp_path: Path) -> None:
    postgresql.ask("CREATE ROLE guest LOGIN PASSWORD 'guest'")
    try:
        file = profile(postgresql, tmp_path, (f"user: {postgresql.user}", "user: guest"))
        code, text = tierbench(*arguments(file, tmp_path), PG_PASSWORD="guest")
        assert code == 64, text
        assert "guest may not create a database" in text
        assert not (tmp_path / "results").exists()
    finally:
        postgresql.ask("DROP ROLE guest")


def arguments(file: Path, folder: Path) -> list[str]:
    results = str(folder / "results")
    return ["run", "-p", str(file), "-w", SHORT, "--scale", "smoke", "--results", results]
