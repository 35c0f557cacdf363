"""What databases count of themselves reaches the evidence, whichever database counted it.

Goal: one name and one meaning on both sides, so that a figure is never silently absent. Method:
facts made by each database's own code, from answers in its servers' form, are put into a record.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from orchestrator import facts as counted
from orchestrator.analysis.telemetry.causes import node_cause
from orchestrator.analysis.telemetry.use import node_use
from orchestrator.analysis.telemetry.use.node_values import of_figures
from orchestrator.databases.postgresql import queries
from orchestrator.system.sql import Row
from orchestrator.yugabyte import counters
from tests.campaign_tables import OF_LOG, Shape
from tests.campaigns import build_campaign

ELAPSED_S = 70.0  # of a synthetic run: 10 s of warm-up, 60 s measured


# ------------------------------------------------------------------ what servers answer

# PostgreSQL 17, as the statement of `queries` has it answered.
POSTGRESQL: Row = {
    "reset_at": "2026-11-21 10:00:00.123+00", "xact_commit": 84_210, "xact_rollback": 12,
    "deadlocks": 0, "blks_hit": 5_400_000, "blks_read": 880_000, "blks_read_s": 2_100.0,
    "temp_bytes": 0, "checksum_failures": 0, "checkpoints_timed": 0, "checkpoints_requested": 1,
    "checkpoint_buffers_written": 24, "wal_bytes": 901_234_567, "wal_records": 4_100_200,
    "wal_fpi": 90_100, "wal_syncs": 41_000, "wal_sync_s": 7.0, "autovacuums": 0,
}  # fmt: skip


class PostgreSQLServer:
    def rows(self, statement: str) -> list[Row]:
        if "pg_stat_wal" in statement:
            return [dict(POSTGRESQL)]
        if "pg_settings" in statement:
            return [{"name": "fsync", "value": "on"}]
        return [{"version": "17.4", "data_bytes": 10, "replicas": 2}]

    def copy(self, sql: str, text: str) -> None:
        raise NotImplementedError


def postgresql() -> Mapping[str, Any]:
    return queries.facts(PostgreSQLServer(), 2**28).recorded()


def tablet_server(syncs: int, sync_s: float) -> str:
    """`/metrics` of one that leads and follows tablets of two tables: sums are per table."""
    return json.dumps(
        [
            {
                "type": "table",
                "id": f"{number:032x}",
                "attributes": {"namespace_name": "bench", "table_name": table},
                "metrics": [
                    {"name": "log_sync_latency", "total_count": syncs // 2, "min": 0, "mean": 0.0,
                     "total_sum": round(sync_s / 2 * 1e6)},
                    {"name": "log_append_latency", "total_count": syncs, "total_sum": 4_000},
                ],
            }
            for number, table in enumerate(("sbtest1", "sbtest2"))
        ]
    )  # fmt: skip


def yugabytedb(sync_s: float = 7.0, nodes: int = 3) -> Mapping[str, Any]:
    names = [f"node-{number}" for number in range(1, nodes + 1)]
    begun = {name: counters.storage(tablet_server(200, 1.0)) for name in names}
    now = {name: counters.storage(tablet_server(4_200, 1.0 + sync_s)) for name in names}
    return {"durable": True, "since_reset": counters.since(begun, now)}


def figures(facts: Mapping[str, Any]) -> dict[str, float]:
    shapes = {("premium", "point-select"): Shape(1500.0, 500.0, 3.0, 0.002, 40.0)}
    cell: dict[str, Any] = {"profiles": ["premium"], "workloads": ["point-select"]}
    run = build_campaign(shapes=shapes, repetitions=1, **cell).runs[0]
    before = {"since_reset": dict.fromkeys(facts["since_reset"], 0.0)}
    both = {"database_before": before, "database": facts}
    gathered = node_use.gather(
        replace(run, record=replace(run.record, facts=both)), 32.0
    )
    return gathered["node-1"].sampled()


# ------------------------------------------------------------------ both arrive


@pytest.mark.parametrize(
    "facts", [postgresql(), yugabytedb()], ids=["postgresql", "yugabytedb"]
)
def test_both_databases_say_how_much_of_the_time_their_log_is_syncing(
    facts: Mapping[str, Any],
) -> None:
    """A share of time: 7 s of 70 s, also where three nodes did so at the same time."""
    assert figures(facts)["log_syncing_pct"] == pytest.approx(100 * 7.0 / ELAPSED_S)


@pytest.mark.parametrize(
    "facts", [postgresql(), yugabytedb()], ids=["postgresql", "yugabytedb"]
)
def test_names_are_those_of_the_one_list(facts: Mapping[str, Any]) -> None:
    found = facts["since_reset"]
    assert set(found) >= OF_LOG
    assert found[counted.WAL_SYNC_AVG_S] == pytest.approx(
        found[counted.WAL_SYNC_S] / found[counted.WAL_SYNCS]
    )
    assert not [name for name in found if name.endswith(("_seconds", "_total"))]


def test_sessions_reading_is_known_where_the_database_counts_it_of_sessions() -> None:
    """YugabyteDB counts reads by anybody, compactions too: that is not said of sessions."""
    assert figures(postgresql())["sessions_reading_pct"] == pytest.approx(50.0)
    assert "sessions_reading_pct" not in figures(yugabytedb())


def test_many_logs_of_a_node_never_make_more_than_all_of_the_time() -> None:
    assert figures(yugabytedb(sync_s=300.0))["log_syncing_pct"] == 100.0


def test_logs_that_are_synced_behind_commits_are_no_wait() -> None:
    """YugabyteDB's default: commits are answered before the sync, so no session waits for it."""
    found = figures({**yugabytedb(sync_s=60.0), "durable": False})
    assert "log_syncing_pct" not in found
    assert found["background_log_syncing_pct"] == pytest.approx(100 * 60.0 / ELAPSED_S)
    free = {
        "disk_iops": 100.0,
        "cpu_pct": 20.0,
        "disk_await_s": 0.002,
        "disk_busy_pct": 10.0,
    }
    tier = build_campaign(repetitions=1, frames=False).plan.profiles[0].tier
    share = {"background_log_syncing_pct": 90.0}
    waits = {"log_syncing_pct": 90.0}
    assert (
        node_cause.judge(of_figures(dict(**free, **share)), tier, "node-1").name
        == "unattributed"
    )
    assert (
        node_cause.judge(of_figures(dict(**free, **waits)), tier, "node-1").name
        == "latency_bound"
    )


def test_syncs_of_a_log_on_its_own_disk_are_no_wait_for_the_data_disk() -> None:
    """The tier's limits, and its latency, are those of the data disks."""
    run = build_campaign(
        workloads=["point-select"], profiles=["ultra"], repetitions=1
    ).runs[0]
    facts = postgresql()
    before = {"since_reset": dict.fromkeys(facts["since_reset"], 0.0)}
    # The client has no disk for a log, and one node is enough.
    first, *others = run.record.nodes
    nodes = (replace(first, wal_device="sdx"), *others)
    record = replace(
        run.record, nodes=nodes, facts={"database_before": before, "database": facts}
    )
    found = node_use.gather(replace(run, record=record), 32.0)["node-1"]
    assert found.load.wal_disk_syncing_pct == pytest.approx(100 * 7.0 / ELAPSED_S)
    assert found.load.log_syncing_pct is None
