"""A PostgreSQL of the distribution beside its node_exporter, as on a database administrator's
machine, to a report with the load of its disk; and a PgBouncer in front of it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from orchestrator.databases.existing import ExistingCluster
from orchestrator.errors import UnavailableError
from orchestrator.planning import project_files
from orchestrator.system import store
from tests import ROOT
from tests.documented import existing_profiles
from tests.fakes import QuietProgress, fake_world
from tests.integration import local_servers
from tests.integration.conftest import tierbench

_, POSTGRESQL = existing_profiles()
LOAD = """title: a short load that writes
generator: sysbench
script: sysbench/insert.lua
dataset: sysbench-tables
scales:
  smoke: {dataset: {tables: 2, table_size: 5000}, threads: 3, warmup: 2s, measure: 8s}
"""


@pytest.fixture(scope="module")
def machine() -> Iterator[tuple[Path, int, str]]:
    """Its folder, the port of its PostgreSQL and the URL of its node_exporter."""
    times = ("track_io_timing=on", "track_wal_io_timing=on", "log_statement=all")
    with (
        TemporaryDirectory(prefix="tierbench-test-") as name,
        local_servers.node_exporter(Path(name)) as exporter,
        local_servers.postgresql(Path(name), *times) as port,
    ):
        yield Path(name), port, exporter


def profile(folder: Path, port: int, exporter: str) -> Path:
    """The documented one, with node_exporter, of servers without TLS and passwords."""
    text = POSTGRESQL
    for old, new in (
        ("hosts: 10.0.0.21", "hosts: 127.0.0.1"),
        ("port: 5432", f"port: {port}"),
        ("    password_env: PG_PASSWORD\n", f"    node_exporters: {exporter}\n"),
        ("tls_root: /etc/ssl/certs/ca-certificates.crt", "tls: off"),
    ):
        assert old in text, f"docs/YUGABYTEDB.md no longer has {old!r}"
        text = text.replace(old, new)
    file = folder / "my-postgresql.yaml"
    file.write_text(text)
    return file


def disk_of(path: Path) -> str:
    """The device that holds `path`, as the kernel names the whole disk."""
    number = path.stat().st_dev
    here = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").resolve()
    return here.parent.name if (here / "partition").exists() else here.name


@pytest.mark.docker
@pytest.mark.usefixtures("nothing_left")
def test_the_load_of_its_disk_is_in_the_report(
    machine: tuple[Path, int, str], tmp_path: Path
) -> None:
    folder, port, exporter = machine
    load = tmp_path / "load.yaml"
    load.write_text(LOAD)
    code, said = tierbench(
        *["run", "-p", str(profile(tmp_path, port, exporter)), "-w", str(load)],
        *["--scale", "smoke", "--results", str(tmp_path / "results")],
    )
    assert code == 0, said
    results = tmp_path / "results" / "latest"
    (run,) = store.load(results).runs
    assert run.record.outcome == "done", run.record.failure
    (node,) = (node for node in run.record.nodes if node.role == "database")
    assert node.sources["disk-device"] == disk_of(folder / "data")
    verdict = json.loads((results / "verdict.json").read_text())
    means = {cell["metric"]: cell["mean"] for cell in verdict["cells"]}
    assert (
        means["disk_iops"] > 0
        and means["disk_bytes_per_s"] > 0
        and means["cpu_pct"] > 0
    )
    facts = run.record.facts["database"]
    assert facts["settings"]["track_io_timing"] == "on" and "pooler" not in facts
    assert (
        facts["since_reset"]["wal_bytes"] > 0 and facts["since_reset"]["wal_syncs"] > 0
    )
    assert facts["cache_bytes"] == node.memory_bytes
    kinds = {doubt["kind"] for doubt in verdict["doubts"]}
    assert {"data fits in the cache", "few checkpoints"} <= kinds
    assert not {"telemetry gaps", "disks not counted", "connection pooler"} & kinds


def test_its_disk_is_observed_with_the_same_profile_and_nothing_but_read(
    machine: tuple[Path, int, str], tmp_path: Path
) -> None:
    folder, port, exporter = machine
    log = folder / "postgres.log"
    before = len(log.read_text())
    code, said = tierbench(
        *[
            "observe",
            "--profile",
            str(profile(tmp_path, port, exporter)),
            "--last",
            "5s",
        ],
        *["--vm", "azure/Standard_D8s_v5", "--results", str(tmp_path / "results")],
    )
    assert code == 0, said
    (results,) = (tmp_path / "results").iterdir()
    (read,) = json.loads((results / "observed.json").read_text())["read"]
    assert read["device"] == disk_of(folder / "data")
    assert read["node"] == exporter.removeprefix("http://")
    statements = re.findall(
        r"(?:statement|execute [^:]*): +(\w+)", log.read_text()[before:]
    )
    assert statements and set(statements) == {"SELECT"}


def test_a_pgbouncer_in_front_is_refused_with_what_to_do_or_noticed(
    machine: tuple[Path, int, str], tmp_path: Path
) -> None:
    folder, port, exporter = machine
    for settings in ((), ("ignore_startup_parameters=options",)):
        with local_servers.pgbouncer(folder, port, *settings) as pooled:
            file = profile(tmp_path, pooled, exporter)
            ((declared,), _) = project_files.read(ROOT, [str(file)], [], "smoke")
            progress = QuietProgress()
            world = replace(fake_world(), progress=progress, cache=tmp_path / "cache")
            if settings:
                ExistingCluster().check(declared.cluster, world)
                assert any(
                    "a connection pooler answers" in text for text in progress.said
                )
            else:
                with pytest.raises(UnavailableError) as raised:
                    ExistingCluster().check(declared.cluster, world)
                assert (
                    "this message comes from a connection pooler (PgBouncer)"
                    in raised.value.advice
                )
