"""Readings of YugabyteDB's servers and of node_exporter, and the figures made from them.

Goal: figures in base units, from answers in the form that the servers give
(docs/research/YUGABYTEDB.md). Method: literal answers; a web server on 127.0.0.1 if the requests
matter, too.
"""

from __future__ import annotations

import json
import math
import ssl
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from orchestrator.collectors.node_exporter import NodeExporterCollector
from orchestrator.databases.yugabytedb import tls
from orchestrator.databases.yugabytedb.collector import EVERY_S, YugabyteDBCollector
from orchestrator.errors import RunError
from orchestrator.model import Node
from orchestrator.system import http_client
from orchestrator.yugabyte import counters, pages, server_facts
from tests.evidence import entries
from tests.fakes import FakeClock, fake_world
from tests.pages import Server


def entity(kind: str, *metrics: dict[str, Any]) -> dict[str, Any]:
    return {"type": kind, "id": "16add7b1", "attributes": {}, "metrics": metrics}


def value(name: str, value: float) -> dict[str, Any]:
    return {"name": name, "value": value}


def statement(kind: str, count: int, total: int) -> dict[str, Any]:
    name = f"handler_latency_yb_ysqlserver_SQLProcessor_{kind}"
    return {"name": name, "count": count, "sum": total, "rows": count}


TSERVER = json.dumps(
    [
        entity(
            "tablet",
            value("log_bytes_logged", 1000),
            value("rocksdb_flush_write_bytes", 500),
            value("intentsdb_rocksdb_flush_write_bytes", 50),
            value("rocksdb_compact_write_bytes", 7),
            value("rocksdb_block_cache_hit", 9),
            value("rocksdb_block_cache_miss", 1),
            value("rocksdb_block_cache_hit_of_something_else", 99),
            value("rocksdb_stall_micros", 2_500_000),
            value("rocksdb_current_version_num_sst_files", 3),
        ),
        entity(
            "tablet",
            value("log_bytes_logged", 200),
            value("leader_memory_pressure_rejections", 3),
            value("operation_memory_pressure_rejections", 2),
        ),
        entity(
            "table",
            {
                "name": "log_sync_latency",
                "total_count": 21,
                "mean": 0.0,
                "total_sum": 22349,
            },
            {"name": "log_append_latency", "total_count": 4},
        ),
        entity(
            "server",
            value("log_bytes_logged", 1200),
            {
                "name": "rpc_incoming_queue_time",
                "total_count": 30648,
                "total_sum": 2007147,
            },
            value("rpcs_queue_overflow", 5),
            value("rpcs_timed_out_in_queue", 1),
            value("rpcs_in_queue_yb_tserver_TabletServerService", 8),
        ),
        {"type": "cluster", "metrics": [value("is_load_balancing_enabled", True)]},
    ]
)
YSQL = json.dumps(
    [
        entity(
            "server",
            statement("SelectStmt", 439, 2_000_000),
            statement("InsertStmt", 1, 500_000),
            statement("Transactions", 440, 2_500_000),
        )
    ]
)


def test_a_nodes_counters_are_sums_over_its_tablets_in_base_units() -> None:
    assert counters.storage(TSERVER) == {
        "wal_bytes_total": 1200.0,  # and not twice, though the server repeats it
        "flush_written_bytes_total": 550.0,  # regular and provisional records
        "compaction_written_bytes_total": 7.0,
        "block_cache_hits_total": 9.0,
        "block_cache_misses_total": 1.0,
        "write_stall_seconds_total": 2.5,
        "sst_files": 3.0,
        "wal_syncs_total": 21.0,
        "wal_sync_seconds_total": pytest.approx(0.022349),
        "wal_appends_total": 4.0,
        "wal_append_seconds_total": 0.0,
        "memory_rejections_total": 5.0,
        "queued_requests_total": 30648.0,  # which the server alone has
        "queued_seconds_total": pytest.approx(2.007147),
        "queue_rejections_total": 6.0,
    }


def drive(path: str, syncs: int, sync_us: int) -> dict[str, Any]:
    """As FsManager and drive_io_stats.cc register it: one for each root."""
    metrics = (
        value("drive_bytes_written", 1_000_000),
        value("drive_write_time", 40_000),
        value("drive_sync_count", syncs),
        value("drive_sync_time", sync_us),
        value("drive_range_sync_count", 2),
        value("drive_range_sync_time", 30_000),
        value("drive_bytes_unsynced", 77),
        value("drive_proactive_sync_count", 1),
        {"name": "drive_sync_latency", "total_count": syncs, "total_sum": sync_us},
    )
    of_drive = entity("drive", *metrics)
    return {**of_drive, "id": f"drive:{path}", "attributes": {"drive_path": path}}


def test_drives_of_a_node_are_summed_in_base_units() -> None:
    """From 2025.2.7 on each WAL or data directory has them (docs/research/YUGABYTEDB.md)."""
    drives = [drive("/mnt/d0", 100, 900_000), drive("/mnt/wal", 300, 300_000)]
    read = counters.storage(json.dumps([*json.loads(TSERVER), *drives]))
    assert {name: read[name] for name in read if name.startswith("drive_")} == {
        "drive_written_bytes_total": 2e6,
        "drive_write_seconds_total": pytest.approx(0.08),
        "drive_syncs_total": 400.0,
        "drive_sync_seconds_total": pytest.approx(1.2),
        "drive_range_syncs_total": 4.0,
        "drive_range_sync_seconds_total": pytest.approx(0.06),
    }
    assert read["wal_syncs_total"] == 21.0, "which is of the log alone"
    assert all(name in counters.UNITS for name in read)
    assert "drive_" in counters.PATH


def test_statements_are_counted_once_and_not_again_as_transactions() -> None:
    statements = counters.statements(YSQL)
    assert statements == {
        "sql_statements_total": 440.0,
        "sql_statement_seconds_total": 2.5,
    }


def test_every_counter_has_a_unit() -> None:
    names = {**counters.storage(TSERVER), **counters.statements(YSQL)}
    assert {counters.UNITS[name] for name in names} == {"", "s", "bytes"}


def test_histograms_are_read_without_resetting_them() -> None:
    assert "reset_histograms=false" in counters.PATH


@pytest.mark.parametrize("body", ["", "<html>", '{"error": "starting"}'])
def test_an_answer_that_is_no_metrics_is_a_value_error(body: str) -> None:
    with pytest.raises(ValueError):
        counters.storage(body)


def test_what_happened_since_leaves_resets_out() -> None:
    begun = {
        "node-1": {
            "wal_syncs_total": 10.0,
            "wal_sync_seconds_total": 1.0,
            "sst_files": 5.0,
        }
    }
    now = {
        "node-1": {
            "wal_syncs_total": 30.0,
            "wal_sync_seconds_total": 1.5,
            "sst_files": 9.0,
        },
        "node-2": {"wal_syncs_total": 7.0},  # was not there before
    }
    since = counters.since(begun, now)
    assert since["wal_syncs"] == 20.0
    assert counters.since(begun, begun)["wal_syncs"] == 0.0, "it rested"
    assert since["wal_sync_avg_s"] == pytest.approx(0.025)
    assert "sst_files" not in since
    restarted = counters.since(begun, {"node-1": {"wal_syncs_total": 3.0}})
    assert "wal_syncs" not in restarted and restarted["wal_sync_avg_s"] is None


# ------------------------------------------------------------------ the servers' pages


@pytest.fixture
def server() -> Iterator[Server]:
    with closing(Server()) as server:
        yield server


def test_a_master_that_does_not_lead_is_passed_over(server: Server) -> None:
    server.pages["/api/v1/health-check"] = (
        307,
        "http://10.201.77.12:7000/api/v1/health-check",
    )
    health_page = '{"dead_nodes": [], "under_replicated_tablets": ["1", "2"]}'
    with closing(Server()) as other:
        other.pages["/api/v1/health-check"] = (200, health_page)
        health = pages.health([server.url, other.url])
    assert (health.dead_nodes, health.under_replicated_tablets, health.well) == (
        0,
        2,
        False,
    )


@pytest.mark.parametrize(
    "answer", [(503, ""), (200, "<h2>no leader</h2>"), (200, '{"error":"x"}')]
)
def test_without_a_leader_all_reasons_are_said(
    server: Server, answer: tuple[int, str]
) -> None:
    server.pages["/api/v1/cluster-config"] = answer
    with pytest.raises(OSError, match="/api/v1/cluster-config"):
        pages.replication_factor([server.url])


def test_a_server_that_is_gone_is_an_os_error() -> None:
    with pytest.raises(OSError, match=r"127\.0\.0\.1:9"):
        http_client.get("http://127.0.0.1:9/metrics", timeout_s=0.5)


@pytest.mark.parametrize(
    ("config", "flag", "copies"),
    [
        # As yugabyted leaves its first node before 2024.1.
        ('{"version": 0, "cluster_uuid": "x"}', "1", 1),
        # As the chart and a manual start leave three masters.
        ('{"version": 0, "cluster_uuid": "x"}', "3", 3),
        ('{"replication_info": {"live_replicas": {"num_replicas": 0}}}', "3", 3),
        ('{"replication_info": {"live_replicas": {"num_replicas": 3}}}', "1", 3),
    ],
)
def test_a_cluster_without_a_placement_keeps_as_many_copies_as_the_masters_flag_says(
    server: Server, config: str, flag: str, copies: int
) -> None:
    flags = {"flags": [{"name": "replication_factor", "value": flag}]}
    server.pages["/api/v1/cluster-config"] = (200, config)
    server.pages["/api/v1/varz"] = (200, json.dumps(flags))
    assert pages.replication_factor([server.url]) == copies


LISTED = {
    "": {
        "10.201.77.12:9000": {
            "status": "DEAD", "num_sst_files": 0, "cloud": "a", "region": "b", "zone": "c",
        },
        "10.201.77.11:9000": {
            "status": "ALIVE", "num_sst_files": 3, "total_sst_file_size_bytes": 199735,
            "uncompressed_sst_file_size_bytes": 200238, "user_tablets_total": 3,
            "user_tablets_leaders": 1, "cloud": "a", "region": "b", "zone": "d",
        },
    }
}  # fmt: skip


def test_tablet_servers_are_read_in_the_order_of_their_addresses(
    server: Server,
) -> None:
    server.pages["/api/v1/tablet-servers"] = (200, json.dumps(LISTED))
    assert pages.tablet_servers([server.url]) == (
        pages.TabletServer("10.201.77.11", True, 1, 3, 199735, 200238, "a.b.d"),
        pages.TabletServer("10.201.77.12", False, 0, 0, 0, 0, "a.b.c"),
    )


def test_version_and_flags_are_the_servers_own_words(server: Server) -> None:
    version = {"version_number": "2.18.1.0", "build_number": "84", "git_hash": "x"}
    server.pages["/api/v1/version"] = (200, json.dumps(version))
    flag = {"name": "durable_wal_write", "value": "false", "type": "Default"}
    server.pages["/api/v1/varz"] = (200, json.dumps({"flags": [flag]}))
    assert pages.version(server.url) == "2.18.1.0-b84"
    assert pages.flags(server.url) == {"durable_wal_write": "false"}


# ------------------------------------------------------------------ durability, as read back


def test_durable_means_synced_logs_and_synced_files_on_every_node() -> None:
    synced = {"durable_wal_write": "true", "enable_data_block_fsync": "true"}
    assert server_facts.durable({"node-1": synced, "node-2": synced})
    assert not server_facts.durable(
        {"node-1": synced, "node-2": {"durable_wal_write": "false"}}
    )
    assert not server_facts.durable({"node-1": {**synced, "never_fsync": "true"}})
    assert not server_facts.durable({})


def test_nodes_that_differ_show_all_values() -> None:
    servers = {
        "node-1": {"durable_wal_write": "true"},
        "node-2": {"durable_wal_write": "false"},
    }
    assert server_facts.picked(servers, server_facts.names_of("durability")) == {
        "durable_wal_write": "true, false"
    }


# ------------------------------------------------------------------ quiet


class Working(FakeClock):
    """The clock of a server that writes a byte a second, until it has written so many."""

    def __init__(self, server: Server, most: float = math.inf) -> None:
        super().__init__()
        self._server, self._most, self._start_s = server, most, self.time_s
        self.sleep(0)

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        written = min(self.time_s - self._start_s, self._most)
        metrics = [entity("tablet", value("rocksdb_flush_write_bytes", written))]
        self._server.pages["/metrics"] = (200, json.dumps(metrics))


def test_quiet_is_a_while_without_a_flush_or_a_merge(server: Server) -> None:
    here = fake_world(clock=Working(server, most=60.0))
    start_s = here.clock.monotonic()
    counters.await_quiet([watched("node-1", yb_tserver=server.url)], here)
    # It is looked at each 3 s. Its last flush is seen 60 s after the begin, and 15 s pass then.
    assert here.clock.monotonic() - start_s == 75.0


def test_a_disk_that_never_rests_is_an_error(server: Server) -> None:
    here = fake_world(clock=Working(server))
    with pytest.raises(
        RunError, match="still flushing or merging files after 10 minutes"
    ):
        counters.await_quiet(
            [watched("a", yb_tserver=server.url)], here, deadline_s=600
        )


# ------------------------------------------------------------------ collectors


def watched(name: str, **sources: str) -> Node:
    urls = {key.replace("_", "-"): url for key, url in sources.items()}
    return Node(name, "database", sources=urls)


def test_the_collector_reads_all_three_servers_of_a_node(server: Server) -> None:
    server.pages["/metrics"] = (200, TSERVER)
    node = watched("node-1", yb_master=server.url, yb_tserver=server.url)
    collected = YugabyteDBCollector().read([node], 100.0)
    samples = {
        sample.metric: (sample.node, sample.unit, sample.value) for sample in collected
    }
    assert samples["wal_bytes_total"] == ("node-1", "bytes", 1200.0)
    assert samples["master_wal_syncs_total"] == ("node-1", "", 21.0)
    assert "master_block_cache_hits_total" not in samples
    assert all("reset_histograms=false" in path for path in server.paths)


def test_the_collector_reads_every_few_seconds_only(server: Server) -> None:
    server.pages["/metrics"] = (200, YSQL)
    node = watched("node-1", yb_ysql=server.url)
    collector = YugabyteDBCollector()
    times = [100.0, 101.0, 100.0 + EVERY_S]
    counts = [len(list(collector.read([node], time_s))) for time_s in times]
    assert counts == [2, 0, 2]


def test_a_node_that_is_gone_does_not_hide_the_others(server: Server) -> None:
    server.pages["/metrics"] = (200, YSQL)
    nodes = [
        watched("node-1", yb_ysql="http://127.0.0.1:9"),
        watched("node-2", yb_ysql=server.url),
    ]
    read = []
    with pytest.raises(OSError, match="node-1"):
        for sample in YugabyteDBCollector().read(nodes, 100.0):
            read.append(sample.node)
    assert read == ["node-2", "node-2"]


def test_nodes_without_such_servers_are_left_alone() -> None:
    node = Node(name="client", role="client")
    assert list(YugabyteDBCollector().read([node], 0.0)) == []
    assert list(NodeExporterCollector().read([node], 0.0)) == []


# ------------------------------------------------------------------ certificates


def test_certificates_of_a_cluster_are_signed_by_one_authority(tmp_path: Path) -> None:
    addresses = ["10.201.77.11", "10.201.77.12"]
    made = tls.make(addresses, now_s=1_800_000_000.0)
    assert len({files["ca.crt"] for files in made}) == 1
    authority = x509.load_pem_x509_certificate(made[0]["ca.crt"])
    for address, files in zip(addresses, made, strict=True):
        assert set(files) == {"ca.crt", f"node.{address}.crt", f"node.{address}.key"}
        node = x509.load_pem_x509_certificate(files[f"node.{address}.crt"])
        node.verify_directly_issued_by(authority)
        for name, content in files.items():
            (tmp_path / name).write_bytes(content)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        pair = tmp_path / f"node.{address}.crt", tmp_path / f"node.{address}.key"
        context.load_cert_chain(*pair)
    assert tls.make(addresses, 1_800_000_000.0)[0]["ca.crt"] != made[0]["ca.crt"], (
        "made anew"
    )


@pytest.mark.parametrize(
    ("changed", "as_released"),
    [
        ({}, True),
        ({"durable_wal_write": "true"}, True),  # stricter than released
        ({"durable_wal_write": "true", "interval_durable_wal_write_ms": "0"}, True),
        ({"interval_durable_wal_write_ms": "500"}, True),
        ({"interval_durable_wal_write_ms": "0"}, False),  # it is never synced by time
        ({"bytes_durable_wal_write_mb": "0"}, False),
        ({"bytes_durable_wal_write_mb": "some"}, False),
        ({"durable_wal_write": "true", "never_fsync": "true"}, False),
        ({"never_fsync": "true"}, False),
        ({"enable_data_block_fsync": "false"}, False),
        ({"interval_durable_wal_write_ms": "60000"}, False),
        ({"bytes_durable_wal_write_mb": "64"}, False),
    ],
)
def test_durability_as_released_is_that_of_the_pages_that_were_seen(
    changed: dict[str, str], as_released: bool
) -> None:
    seen = [
        entry["fact"] for entry in entries() if "never_fsync" in str(entry.get("fact"))
    ]
    assert len(seen) >= 3
    for page in seen:
        servers = {"node-1": page, "node-2": {**page, **changed}}
        assert server_facts.durability_as_released(servers) is as_released


def test_of_data_files_the_node_that_holds_most_counts() -> None:
    """It is compared with the cache of one node, and compressed apart from that."""
    servers = [
        pages.TabletServer("a", True, 1, 3, 100, 900, "z.r.1"),
        pages.TabletServer("b", True, 2, 5, 300, 500, "z.r.2"),
    ]
    assert server_facts._data_facts(servers) == {
        "data_bytes": max(server.sst_bytes for server in servers),
        "uncompressed_bytes": max(server.raw_bytes for server in servers),
    }
    assert server_facts._data_facts([]) == {"data_bytes": 0, "uncompressed_bytes": 0}


def test_directories_of_servers_are_no_settings_that_are_compared() -> None:
    flags = {"fs_data_dirs": "/mnt/d0", "ysql_num_tablets": "8"}
    compared = server_facts.settings("tserver", {"node-1": flags})
    assert compared == {"tserver.ysql_num_tablets": "8"}
