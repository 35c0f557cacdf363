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

# Metric of a store → our name, unit, factor. A name that does not end in `_total` is a gauge.
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
    "log_bytes_logged": ("wal_bytes_total", "bytes", 1.0),
    "majority_sst_files_rejections": ("write_rejections_total", "", 1.0),
    "transaction_conflicts": ("transaction_conflicts_total", "", 1.0),
}
_VALUES = _PLAIN | {
    f"{store}_{name}": ours
    for store in ("rocksdb", "intentsdb_rocksdb")
    for name, ours in _TICKERS.items()
}
# Histogram in microseconds → our names for the number and the time of what it measures.
_LATENCIES = {
    "log_sync_latency": ("wal_syncs_total", "wal_sync_seconds_total"),
    "log_append_latency": ("wal_appends_total", "wal_append_seconds_total"),
    "rocksdb_sst_read_micros": ("sst_reads_total", "sst_read_seconds_total"),
}
_ENTITIES = ("tablet", "table")  # entities of type "server" repeat them
# The server matches parts of names: these match all of the above, in both stores.
_PARTS = (*_PLAIN, "log_sync_latency", "log_append_latency", "sst_read_micros", *_TICKERS)
PATH = f"/metrics?metrics={','.join(_PARTS)}&reset_histograms=false&compact=true"

UNITS = {
    **{ours: unit for ours, unit, _ in _VALUES.values()},
    **{number: "" for number, _ in _LATENCIES.values()},
    **{time: "s" for _, time in _LATENCIES.values()},
    "sql_statements_total": "",
    "sql_statement_seconds_total": "s",
}

Counters = Mapping[str, float]


def storage(body: str) -> dict[str, float]:
    """Counters of log, data files and cache from the `/metrics` of a master or tablet server.

    A metric that the release does not have is left out. ValueError if the body has another form.
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
    """Number of statements, and their seconds in the server, from YSQL's `/metrics`."""
    kinds = ("SelectStmt", "InsertStmt", "UpdateStmt", "DeleteStmt", "OtherStmts")
    timers = [
        metric
        for entity in _entities(body)
        for metric in entity.get("metrics", ())
        if str(metric.get("name", "")).endswith(tuple(f"_SQLProcessor_{kind}" for kind in kinds))
    ]
    if not timers:
        return {}
    return {
        "sql_statements_total": sum(float(timer.get("count", 0)) for timer in timers),
        "sql_statement_seconds_total": sum(float(timer.get("sum", 0)) for timer in timers) * _MICRO,
    }


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
    value = metric.get("value")
    if name in _VALUES and isinstance(value, (int, float)) and not isinstance(value, bool):
        ours, _, factor = _VALUES[name]
        yield ours, value * factor


def growth(before: Counters, after: Counters) -> dict[str, float]:
    """The growth of each counter; a counter that fell was reset, and is left out."""
    return {
        name: after[name] - before[name]
        for name in after
        if name.endswith("_total") and name in before and after[name] >= before[name]
    }
