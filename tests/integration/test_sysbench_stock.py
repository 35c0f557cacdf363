"""Stock sysbench: from a workload's file to a report, and its own counts held against the server's.

Goal: what sysbench's scripts ask of the database is what the figures say. Method: short windows of
the image's sysbench on a PostgreSQL without a tier; nothing here measures a disk.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.analysis.metric_values import value_of
from orchestrator.errors import LoadError
from orchestrator.extensions.sysbench_stock import scripts
from orchestrator.extensions.sysbench_stock.generator import SysbenchStock
from orchestrator.model import Cluster, Dataset, Node, Workload
from orchestrator.parts import ClientLoad
from orchestrator.planning import project_files
from orchestrator.powers import World
from orchestrator.system import store
from tests import ROOT
from tests.integration.conftest import HERE, measured, tierbench
from tests.integration.postgresql_nodes import (
    NETWORK,
    count,
    plain_volumes,
    running,
    session,
)

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("nothing_left")]

GENERATOR = SysbenchStock()
UNLIMITED = str(HERE / "profiles" / "unlimited.yaml")


def workload(name: str, **dataset: int) -> Workload:
    """A shipped workload, over quickly."""
    _, (shipped,) = project_files.read(ROOT, [], [name], "smoke")
    parameters = dataset or {"tables": 1, "table_size": 2000}
    return replace(
        shipped,
        dataset=Dataset("x", parameters),
        threads=2,
        warmup_s=0.0,
        measure_s=1.0,
    )


@pytest.mark.slow
@measured
@pytest.mark.parametrize("name", ["stock", "own-script"])
def test_a_workload_becomes_a_report(name: str, tmp_path: Path) -> None:
    code, text = tierbench(
        *[
            "run",
            "--profile",
            UNLIMITED,
            "--workload",
            str(HERE / "workloads" / f"{name}.yaml"),
        ],
        *["--scale", "smoke", "--results", str(tmp_path)],
    )
    assert code == 0, text
    (run,) = store.load(tmp_path / "latest").runs
    record = run.record
    transactions = value_of(record, "transactions")
    assert transactions and transactions > 20
    rate, average_s = (
        value_of(record, "throughput_per_s"),
        value_of(record, "latency_avg_s"),
    )
    assert rate and average_s
    assert rate * average_s == pytest.approx(2, rel=0.15)  # Little's law, two threads
    facts = record.facts["generator"]
    assert (facts["version"], facts["processes"]) == ("1.0.20", 1)
    assert not facts["single_transactions_kept"]
    statements = sum(facts["queries"].values()) / transactions
    repeated = value_of(record, "retries") or 0
    expected = {"stock": 3 + 4 + 4 + 2, "own-script": 3 + 2}[name]
    assert statements == pytest.approx(expected, abs=0.1 + 15 * repeated / transactions)
    seconds = run.intervals[run.intervals["phase"] == "measure"]
    assert len(seconds) >= 3 and seconds["latency_p99_s"].notna().all()
    assert set(run.intervals["phase"]) == {"warm-up", "measure"}
    report = (tmp_path / "latest" / "report.html").read_text()
    assert "sysbench-stock" in report and "secret" not in report


def test_every_shipped_workload_loads_and_runs(world: World, tmp_path: Path) -> None:
    with (
        plain_volumes(1, world) as volumes,
        running(volumes, world) as cluster,
        GENERATOR.client(NETWORK, world) as client,
    ):
        for name in scripts.KNOWN:
            loads_and_runs(name, cluster, client, tmp_path, world)
            with session(cluster) as connection:
                connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
            for file in tmp_path.iterdir():
                file.unlink()


def loads_and_runs(
    name: str, cluster: Cluster, client: Node, out: Path, world: World
) -> None:
    """Two nodes that take SQL, both the same server: their processes' counts add up to its own."""
    small = workload(name, threads=2) if name == "bulk_insert" else workload(name)
    twice = replace(cluster, endpoints=cluster.endpoints * 2)
    GENERATOR.load(small, cluster, client, world)
    _, measure = GENERATOR.run(ClientLoad(small, twice, client, out, world))
    rows = count(cluster, "SELECT count(*) FROM sbtest1")
    if name != "bulk_insert":  # which takes tables that are there
        with pytest.raises(LoadError, match="already exists"):
            GENERATOR.load(small, cluster, client, world)
    result = GENERATOR.read(small, out, measure.start_s, measure.end_s)
    values = {row.metric: row.value for row in result.measurements}
    assert values["transactions"] > 5, name
    assert result.facts.more["processes"] == (1 if name == "bulk_insert" else 2), name
    if name == "oltp_insert":
        assert rows == 2000 + values["transactions"]
    if name == "oltp_delete":
        assert rows == 2000 - result.facts.more["queries"]["write"]
    assert "secret" not in (out / "command.txt").read_text()
