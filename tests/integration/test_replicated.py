"""The main job on a replicated cluster: three PostgreSQL nodes, each on a disk of its own.

Goal: with replication factor 3 every workload runs to a report, commits wait for a majority, and
each node's processor and disk are seen. Method: as a user types it, at smoke scale.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.system import store
from tests.campaign_tables import sampled_in
from tests.integration.conftest import tierbench

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("nothing_left")]

NODES = {"node-1", "node-2", "node-3"}
WORKLOADS = {"point-select", "insert", "tpcc"}


@pytest.mark.slow
def test_three_nodes_of_postgresql_to_a_report(tmp_path: Path) -> None:
    code, text = tierbench(
        *["compare", "--profiles", "ultra", "--workloads", " ".join(sorted(WORKLOADS))],
        *["--scale", "smoke", "--nodes", "3", "--repeats", "1", "--db", "postgresql"],
        *["--set", "table_size=5000", "--set", "warehouses=1"],
        *["--accept-inconclusive", "--results", str(tmp_path)],
    )
    assert code == 0, text
    runs = store.load(tmp_path / "latest").runs
    assert {data.record.run.workload for data in runs} == WORKLOADS
    for data in runs:
        record, database = data.record, data.record.facts["database"]
        assert record.outcome == "done", record.failure
        assert record.gate is not None
        assert database["durable"] is True
        assert database["replicas"] == database["replicas_in_sync"] == 2
        throughput = {
            m.metric: m.value for m in record.measurements if m.scope == "all"
        }
        assert throughput["throughput_per_s"] > 0
        written = sampled_in(data)[
            sampled_in(data)["metric"] == "disk_written_bytes_total"
        ]
        grown = written.groupby("node")["value"].agg(
            lambda values: values.max() - values.min()
        )
        assert set(grown.index) == NODES
        if record.run.workload != "point-select":
            # A commit is on the disks of a majority: the standbys write what the primary does.
            assert (grown > 0).all(), grown
    assert (tmp_path / "latest" / "report.html").stat().st_size > 10_000
