"""Log and data files of YugabyteDB's servers: from counters as sampled to the report's table."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from orchestrator.analysis.results import Results, RunData
from orchestrator.analysis.telemetry.counters import rates
from orchestrator.analysis.telemetry.counters.window_growth import Growth
from orchestrator.analysis.telemetry.use import telemetry_metrics
from orchestrator.analysis.verdicts import judge
from orchestrator.metrics import SAMPLE_COLUMNS
from orchestrator.model import Node
from orchestrator.report.blocks import Table
from orchestrator.report.sections import resources
from orchestrator.yugabyte import counters
from tests.campaign_tables import growth_of, held, sampled_in
from tests.campaigns import build_campaign
from tests.judged import judged_index

MB = 1e6
# Growth per second of each node; the second one's log syncs slower.
_RATES = {
    "wal_syncs_total": (100.0, 300.0),
    "wal_sync_seconds_total": (0.2, 1.8),
    "wal_appends_total": (1000.0, 1000.0),
    "wal_append_seconds_total": (0.1, 0.3),
    "wal_bytes_total": (2 * MB, 2 * MB),
    "flush_written_bytes_total": (1 * MB, 1 * MB),
    "compaction_read_bytes_total": (3 * MB, 1 * MB),
    "compaction_written_bytes_total": (2 * MB, 1 * MB),
    "block_cache_hits_total": (90.0, 90.0),
    "block_cache_misses_total": (10.0, 10.0),
    "write_stall_seconds_total": (0.0, 0.5),
    "transaction_conflicts_total": (20.0, 4.0),
    "write_rejections_total": (0.0, 0.0),
    "queued_requests_total": (1000.0, 3000.0),
    "queued_seconds_total": (1.5, 6.0),
    "queue_rejections_total": (0.0, 2.0),
    "memory_rejections_total": (1.0, 4.0),
    "drive_syncs_total": (200.0, 400.0),
    "drive_sync_seconds_total": (0.6, 2.4),
    "drive_written_bytes_total": (5 * MB, 7 * MB),
    "sql_statements_total": (500.0, 500.0),
    "sql_statement_seconds_total": (1.0, 2.0),
}
EVERY_S = 5.0


def samples(start_s: float, end_s: float, nodes: int = 2) -> pd.DataFrame:
    """As the collector leaves them: a reading every five seconds."""
    rows = [
        (
            start_s + step * EVERY_S,
            f"node-{n + 1}",
            metric,
            "",
            step * EVERY_S * rates[n],
            "measure",
        )
        for metric, rates in _RATES.items()
        for n in range(nodes)
        for step in range(int((end_s - start_s) / EVERY_S) + 1)
    ]
    return pd.DataFrame(rows, columns=list(SAMPLE_COLUMNS))


NODES = (
    Node("node-1", "database"),
    Node("node-2", "database"),
    Node("client", "client"),
)


class Asked(Growth):
    """Notes which counters are asked for."""

    def __init__(self, start_s: float, end_s: float) -> None:
        super().__init__(start_s, end_s)
        self.names = set[str]()

    def per_s(self, node: str, *metrics: str) -> float | None:
        self.names.update(metrics)
        return None


def test_the_counters_are_those_that_the_collector_writes() -> None:
    assert set(_RATES) <= counters.UNITS.keys()
    asked = Asked(0.0, 1.0)
    rates.server_rates(asked, "node-1")
    assert set(_RATES) == asked.names


def test_each_node_has_its_figures_and_all_together_theirs() -> None:
    growth = growth_of(samples(0.0, 60.0), 0.0, 60.0)
    found = {
        (m.metric, m.scope): m.value for m in telemetry_metrics.telemetry(NODES, growth)
    }
    assert found["wal_syncs_per_s", "node-2"] == pytest.approx(300)
    assert found["wal_sync_avg_s", "node-1"] == pytest.approx(0.002)
    assert found["wal_sync_avg_s", "node-2"] == pytest.approx(0.006)
    assert found["wal_sync_avg_s", "all"] == pytest.approx(0.005), (
        "time of all over number of all"
    )
    assert found["wal_append_avg_s", "all"] == pytest.approx(0.0002)
    assert found["wal_bytes_per_s", "all"] == pytest.approx(4 * MB)
    assert found["compaction_read_bytes_per_s", "all"] == pytest.approx(4 * MB)
    assert found["compaction_write_bytes_per_s", "all"] == pytest.approx(3 * MB)
    assert found["block_cache_hit_pct", "all"] == pytest.approx(90)
    assert found["write_stall_pct", "all"] == pytest.approx(25), "mean of the nodes"
    assert found["request_queued_avg_s", "node-2"] == pytest.approx(0.002)
    assert found["request_queued_avg_s", "all"] == pytest.approx(0.001875)
    assert found["requests_refused_per_s", "all"] == pytest.approx(7), "of all kinds"


def test_what_one_node_did_not_say_is_no_figure_of_all() -> None:
    partial = samples(0.0, 60.0)
    partial = partial[
        (partial["node"] == "node-1") | (partial["metric"] != "wal_syncs_total")
    ]
    found = telemetry_metrics.telemetry(NODES, growth_of(partial, 0.0, 60.0))
    scopes = {m.scope for m in found if m.metric == "wal_syncs_per_s"}
    assert scopes == {"node-1"}


def sampled(campaign: Results) -> Results:
    """The campaign with YugabyteDB's counters among its samples."""

    def more(run: RunData) -> RunData:
        phase = run.record.phase("measure")
        assert phase is not None
        both = pd.concat([sampled_in(run), samples(phase.start_s, phase.end_s)])
        return replace(run, sampled=held(both))

    return replace(campaign, runs=tuple(map(more, campaign.runs)))


def two_nodes() -> Results:
    return build_campaign(
        profiles=["ultra"],
        workloads=["insert"],
        repetitions=1,
        nodes=2,
        warmup_s=5.0,
        measure_s=20.0,
    )


def test_the_report_shows_them_where_they_were_sampled() -> None:
    plain = two_nodes()
    assert resources.storage_engine(judged_index(plain)) == ()
    campaign = sampled(plain)
    (shown,) = resources.storage_engine(judged_index(campaign))
    ((table,),) = (part.blocks for part in shown.parts)
    assert isinstance(table, Table)
    row = {
        column.title: cell
        for column, cell in zip(table.columns, table.rows[1], strict=True)
    }
    assert row["WAL syncs/s"].text == "400"
    assert (row["Time of a sync"].text, row["Time of a sync"].detail) == (
        "5 ms",
        "node-2 6 ms",
    )
    assert row["Compactions wrote"].text == "3 MB/s"
    assert row["Syncs of all files/s"].text == "600"
    assert row["Time of any sync"].text == "5 ms"
    assert row["Written to drives"].text == "12 MB/s"
    assert row["Writes held back"].text == "25 %"
    assert (row["Writes refused/s"].text, row["Conflicts/s"].text) == ("0", "24")
    assert (row["Requests queued"].text, row["Requests refused/s"].text) == (
        "1.88 ms",
        "7",
    )


def test_a_cause_has_what_the_server_counted_of_requests_beside_it() -> None:
    campaign = sampled(two_nodes())
    (limit,) = judge(campaign).bottlenecks
    evidence = {"node-1": (0.0015, 0.002, 1.0), "node-2": (0.002, 0.004, 6.0)}[
        limit.node
    ]
    names = ("request_queued_avg_s", "statement_avg_s", "requests_refused_per_s")
    assert tuple(limit.evidence[name] for name in names) == pytest.approx(evidence)
    assert f"in the queue of {limit.node}'s tablet server; a statement" in limit.text
    assert limit.text.endswith(
        f"of {limit.node} refused {evidence[2]:.0f} requests a second."
    )
