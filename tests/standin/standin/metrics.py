"""Metrics that move with what the node did, in the shapes of the servers' pages.

A write is logged at once, flushed in pieces and merged a little later, so that "until it is quiet"
has something to wait for. Three tables of a tablet each, besides the sums.
"""

from __future__ import annotations

import threading
import time
from typing import Any

from standin.texts import series

IDS = {"master": "yb.master", "tserver": "yb.tabletserver"}
TABLES = ("sbtest1", "sbtest2", "transactions")
PIECE_BYTES = 256 * 1024
MERGE_S = 2.0
SYNC_US = 900
QUEUED_US = 65  # of a request, as in what was seen of 2.23.1
HISTOGRAM_PARTS = ("min", "mean", "percentile_75", "percentile_95", "percentile_99",
                   "percentile_99_9", "percentile_99_99", "max")  # fmt: skip


class Activity:
    """What clients did on this node. Guarded: many threads tell, one page asks. `databases`: the
    same of each by itself."""

    def __init__(self) -> None:
        self.databases: dict[str, Activity] = {}
        self._lock = threading.Lock()
        self.statements = 0
        self.bytes_in = 0
        self.flushed = 0
        self.flushed_at = 0.0
        self.since_reset = 0

    def progress(self, statements: int, bytes_in: int, database: str = "") -> None:
        if database:
            self.databases.setdefault(database, Activity()).progress(
                statements, bytes_in
            )
        with self._lock:
            self.statements += statements
            self.since_reset += statements
            self.bytes_in += bytes_in
            if self.bytes_in - self.flushed >= PIECE_BYTES:
                self._flush()

    def flush(self) -> None:
        for own in list(self.databases.values()):
            own.flush()
        with self._lock:
            self._flush()

    def _flush(self) -> None:
        if self.bytes_in > self.flushed:
            self.flushed, self.flushed_at = self.bytes_in, time.monotonic()

    def numbers(self) -> dict[str, int]:
        with self._lock:
            share = min(1.0, (time.monotonic() - self.flushed_at) / MERGE_S)
            return {
                "statements": self.statements,
                "bytes": self.bytes_in,
                "flushed": self.flushed,
                "merged": int(1.5 * self.flushed * share),
                "files": 1 + self.flushed // (4 * PIECE_BYTES),
            }

    def take_percentile(self, reset: bool) -> int:
        """What percentiles of the time since the last reading show; 0 where nothing happened."""
        with self._lock:
            shown = SYNC_US if self.since_reset else 0
            if reset:
                self.since_reset = 0
            return shown


def entities(
    server: str, version: str, activity: Activity, reset: bool
) -> list[dict[str, Any]]:
    """`/metrics` of a master or tablet server, unfiltered.

    From 2.20 on: the store of provisional records counts too, and latencies have no percentiles.
    """
    recent = series(version) >= (2, 20)
    shown = activity.take_percentile(reset)
    found: list[dict[str, Any]] = [
        {"type": "server", "id": IDS[server], "attributes": {},
         "metrics": _server(activity.numbers(), None if recent else shown)}
    ]  # fmt: skip
    databases = dict(activity.databases) or {"bench": activity}
    for place, (database, own) in enumerate(databases.items()):
        now = own.numbers()
        for number, table in enumerate(TABLES):
            key = f"{len(TABLES) * place + number:032x}"
            about = {"namespace_name": database, "table_name": table, "table_id": key}
            found.append(
                {"type": "tablet", "id": key, "attributes": about,
                 "metrics": _tablet(now, number, recent)}
            )  # fmt: skip
            found.append(
                {"type": "table", "id": key, "attributes": about,
                 "metrics": _table(now, number, None if recent else shown)}
            )  # fmt: skip
    found.append(
        {"type": "cluster", "id": "yb.cluster", "attributes": {},
         "metrics": [{"name": "is_load_balancing_enabled", "value": True}]}
    )  # fmt: skip
    return found


def _part(total: int, number: int) -> int:
    """A table's share, so that the shares of all add up."""
    return total // len(TABLES) + (total % len(TABLES) if number == 0 else 0)


def _server(now: dict[str, int], shown: int | None) -> list[dict[str, Any]]:
    return [
        _latency("rpc_incoming_queue_time", now["statements"], QUEUED_US, shown),
        {"name": "rpcs_queue_overflow", "value": 0},
        {"name": "rpcs_timed_out_in_queue", "value": 0},
        {"name": "rpcs_timed_out_early_in_queue", "value": 0},
        {"name": "block_cache_usage", "value": 1_000_000},
        {"name": "cpu_utime", "value": now["statements"]},
        # Repeated at this level by some releases: a reader must not count it twice.
        {"name": "log_bytes_logged", "value": now["bytes"]},
    ]


def _tablet(now: dict[str, int], number: int, recent: bool) -> list[dict[str, Any]]:
    values = {
        "log_bytes_logged": now["bytes"],
        "rocksdb_flush_write_bytes": now["flushed"],
        "rocksdb_compact_write_bytes": now["merged"],
        "rocksdb_compact_read_bytes": now["merged"],
        "rocksdb_block_cache_hit": now["statements"] * 3,
        "rocksdb_block_cache_miss": now["statements"],
        "rocksdb_stall_micros": 0,
        "rocksdb_current_version_num_sst_files": now["files"],
        "rocksdb_current_version_sst_files_size": now["flushed"],
        "majority_sst_files_rejections": 0,
        "leader_memory_pressure_rejections": 0,
        "follower_memory_pressure_rejections": 0,
        "operation_memory_pressure_rejections": 0,
        "transaction_conflicts": now["statements"] // 1000,
        "rocksdb_sequence_number": 1_125_899_906_842_624,
    }
    if recent:
        values["intentsdb_rocksdb_flush_write_bytes"] = now["flushed"] // 2
        values["intentsdb_rocksdb_compact_write_bytes"] = 0
    return [
        {"name": name, "value": _part(value, number)} for name, value in values.items()
    ]


def _table(now: dict[str, int], number: int, shown: int | None) -> list[dict[str, Any]]:
    syncs = _part(now["statements"] // 10, number)
    return [
        _latency(name, syncs, micros, shown)
        for name, micros in (("log_sync_latency", SYNC_US), ("log_append_latency", 40))
    ]


def _latency(name: str, count: int, micros: int, shown: int | None) -> dict[str, Any]:
    parts = {} if shown is None else dict.fromkeys(HISTOGRAM_PARTS, shown)
    return {"name": name, "total_count": count, **parts, "total_sum": count * micros}


def filtered(found: list[dict[str, Any]], parts: list[str]) -> list[dict[str, Any]]:
    """Only metrics whose name has one of the parts, as `?metrics=a,b` asks."""
    if not parts:
        return found
    return [
        {
            **entity,
            "metrics": [
                m for m in entity["metrics"] if any(p in m["name"] for p in parts)
            ],
        }
        for entity in found
    ]


def statements(activity: Activity) -> list[dict[str, Any]]:
    """`/metrics` of YSQL."""
    done = activity.numbers()["statements"]
    prefix = "handler_latency_yb_ysqlserver_SQLProcessor"
    return [
        {"type": "server", "id": "yb.ysqlserver", "metrics": [
            {"name": f"{prefix}_SelectStmt", "count": done, "sum": done * 300, "rows": done},
            {"name": f"{prefix}_InsertStmt", "count": 0, "sum": 0, "rows": 0},
            {"name": f"{prefix}_Transactions", "count": done, "sum": done * 300, "rows": done},
        ]}
    ]  # fmt: skip
