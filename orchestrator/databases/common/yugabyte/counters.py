"""The servers' metrics (`/metrics`, JSON) → our counters, in base units. Pure.

Names and units: docs/YUGABYTEDB.md. RocksDB's tickers are per tablet, the log's latencies per
table; a node's figure is the sum. `rocksdb_*` is the regular store, `intentsdb_rocksdb_*` the one
of provisional records: both write to the disk, so both count. Percentiles are not read: readers
reset them, and releases drop them; totals and counts are cumulative.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

_MICRO = 1e-6
_STORES = ("rocksdb_", "intentsdb_rocksdb_")

# Metric of a store → ours, unit, factor. Not ending in `_total`: a gauge.
_TICKERS = {
    "flush_write_bytes": ("flush_written_bytes_total", "bytes", 1.0),
    "compact_write_bytes": ("compaction_written_bytes_total", "bytes", 1.0),
    "compact_read_bytes": ("compaction_read_bytes_total", "bytes", 1.0),
    "block_cache_hit": ("block_cache_hits_total", "", 1.0),
    "block_cache_miss": ("block_cache_misses_total", "", 1.0),
    "stall_micros": ("write_stall_seconds_total", "s", _MICRO),
    "current_version_num_sst_files": ("sst_files", "", 1.0),
    "current_version_sst_files_size": ("sst_bytes", "bytes", 1.0),
}
_PLAIN = {
    "log_bytes_logged": ("wal_bytes_total", "bytes"),
    "majority_sst_files_rejections": ("write_rejections_total", ""),
    "transaction_conflicts": ("transaction_conflicts_total", ""),
}
# Histogram → ours: number and time of what it measures (its unit is the microsecond).
_LATENCIES = {
    "log_sync_latency": ("wal_syncs_total", "wal_sync_seconds_total"),
    "log_append_latency": ("wal_appends_total", "wal_append_seconds_total"),
    "rocksdb_sst_read_micros": ("sst_reads_total", "sst_read_seconds_total"),
}
_ENTITIES = ("tablet", "table")  # the server's own level repeats what these say
# The server matches parts of names, so the shortest parts that catch all of the above.
ASKED = ("log_bytes_logged", "log_sync_latency", "log_append_latency", "sst_read_micros",
         "majority_sst_files_rejections", "transaction_conflicts", *_TICKERS)  # fmt: skip
PATH = f"/metrics?metrics={','.join(ASKED)}&reset_histograms=false&compact=true"

UNITS = {
    **{ours: unit for ours, unit, _ in _TICKERS.values()},
    **dict(_PLAIN.values()),
    **{number: "" for number, _ in _LATENCIES.values()},
    **{time: "s" for _, time in _LATENCIES.values()},
    "sql_statements_total": "",
    "sql_statement_seconds_total": "s",
}

Counters = Mapping[str, float]


def storage(body: str) -> dict[str, float]:
    """What a master or tablet server's `/metrics` says of log, data files and cache.

    Only what was there: a release without a metric gives no such counter. ValueError where the
    body is not of the form.
    """
    totals: dict[str, float] = {}
    for entity in _entities(body):
        if entity.get("type") not in _ENTITIES:
            continue
        for metric in entity.get("metrics", ()):
            for name, value in _readings(metric):
                totals[name] = totals.get(name, 0.0) + value
    return totals


def statements(body: str) -> dict[str, float]:
    """What YSQL's `/metrics` says of statements: number, and seconds in the server."""
    kinds = ("SelectStmt", "InsertStmt", "UpdateStmt", "DeleteStmt", "OtherStmts")
    totals: dict[str, float] = {}
    for entity in _entities(body):
        for metric in entity.get("metrics", ()):
            name = str(metric.get("name", ""))
            if "_SQLProcessor_" in name and name.rpartition("_")[2] in kinds:
                for ours, key, factor in (
                    ("sql_statements_total", "count", 1.0),
                    ("sql_statement_seconds_total", "sum", _MICRO),
                ):
                    totals[ours] = totals.get(ours, 0.0) + float(metric.get(key, 0)) * factor
    return totals


def _entities(body: str) -> list[dict[str, Any]]:
    content = json.loads(body)
    if not isinstance(content, list):
        raise ValueError("the metrics are not a list of entities")
    return [entity for entity in content if isinstance(entity, dict)]


def _readings(metric: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    name = str(metric.get("name", ""))
    if name in _LATENCIES and "total_count" in metric:
        number, time = _LATENCIES[name]
        yield number, float(metric["total_count"])
        yield time, float(metric.get("total_sum", 0)) * _MICRO
        return
    value = metric.get("value")
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return
    if name in _PLAIN:
        yield _PLAIN[name][0], float(value)
        return
    for store in _STORES:
        ticker = _TICKERS.get(name.removeprefix(store)) if name.startswith(store) else None
        if ticker is not None:
            yield ticker[0], float(value) * ticker[2]


def growth(before: Counters, after: Counters) -> dict[str, float]:
    """By how much each counter grew; one that fell was reset, and is left out."""
    return {
        name: after[name] - before[name]
        for name in after
        if name.endswith("_total") and name in before and after[name] >= before[name]
    }
