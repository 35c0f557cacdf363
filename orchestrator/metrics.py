"""The metrics, each with its unit, its good direction and the words a report uses for it.

One table, so that a metric is named the same in records, tables, charts and verdicts.
"""

import math
from dataclasses import dataclass

from orchestrator.model import Direction, Measurement


@dataclass(frozen=True)
class Metric:
    """`percent`: 99 for the 99th percentile; None for other metrics."""

    name: str
    unit: str
    direction: Direction
    title: str
    percent: float | None = None


_ALL = (
    Metric("throughput_per_s", "1/s", "higher", "Throughput, transactions/s"),
    Metric("offered_per_s", "1/s", "none", "Transactions/s that fell due (open loop)"),
    Metric("served_per_s", "1/s", "none", "Transactions/s that ended, failed ones too (open loop)"),
    Metric("nopm", "1/min", "higher", "New-Orders per minute (NOPM)"),
    Metric("latency_avg_s", "s", "lower", "Average latency"),
    Metric("latency_p50_s", "s", "lower", "Median latency", percent=50.0),
    Metric("latency_p90_s", "s", "lower", "90th percentile latency", percent=90.0),
    Metric("latency_p95_s", "s", "lower", "95th percentile latency", percent=95.0),
    Metric("latency_p99_s", "s", "lower", "99th percentile latency", percent=99.0),
    Metric("latency_p999_s", "s", "lower", "99.9th percentile latency", percent=99.9),
    Metric("latency_max_s", "s", "lower", "Maximum latency"),
    Metric("statement_latency_avg_s", "s", "lower", "Latency per statement"),
    Metric("connection_wait_avg_s", "s", "lower", "Average wait for a connection"),
    Metric("connection_wait_p99_s", "s", "lower", "99th percentile wait for a connection"),
    Metric("payload_bytes_per_s", "bytes/s", "higher", "Payload"),
    Metric("transactions", "", "none", "Transactions measured"),
    Metric("rollbacks", "", "none", "Intended rollbacks"),
    Metric("failures", "", "none", "Failed transactions"),
    Metric("failed_pct", "%", "lower", "Failed transactions, % of those tried"),
    Metric("retries", "", "none", "Retries"),
    # of the raw disk matrix: per cell, then of all cells together
    Metric("iops", "1/s", "higher", "IOPS"),
    Metric("bytes_per_s", "bytes/s", "higher", "Bandwidth"),
    Metric("iops_ceiling", "1/s", "higher", "IOPS ceiling"),
    Metric("bytes_per_s_ceiling", "bytes/s", "higher", "Bandwidth ceiling"),
    Metric("native_io_bytes", "bytes", "none", "Native I/O size"),
    Metric("latency_per_depth_s", "s", "lower", "Latency per I/O in flight, disk saturated"),
    # from telemetry, over the measured window
    Metric("cpu_pct", "%", "none", "CPU of a database node, % of its limit"),
    Metric("client_cpu_pct", "%", "none", "CPU of the client, % of the machine"),
    Metric("host_cpu_pct", "%", "none", "CPU of the whole machine"),
    Metric("disk_read_iops", "1/s", "none", "Disk reads per second"),
    Metric("disk_write_iops", "1/s", "none", "Disk writes per second"),
    Metric("disk_iops", "1/s", "none", "Disk IOPS"),
    Metric("disk_read_bytes_per_s", "bytes/s", "none", "Disk read bandwidth"),
    Metric("disk_write_bytes_per_s", "bytes/s", "none", "Disk write bandwidth"),
    Metric("disk_bytes_per_s", "bytes/s", "none", "Disk bandwidth"),
    Metric("disk_await_s", "s", "none", "Disk latency per I/O"),
    Metric("disk_queue_depth", "", "none", "Disk queue depth"),
    Metric("wal_disk_iops", "1/s", "none", "IOPS of the WAL's own disk"),
    Metric("wal_disk_bytes_per_s", "bytes/s", "none", "Bandwidth of the WAL's own disk"),
    Metric("wal_disk_await_s", "s", "none", "Latency per I/O of the WAL's own disk"),
    # whether what was counted in several places adds up
    Metric("node_payload_bytes_per_s", "bytes/s", "none", "Payload of a node"),
    Metric("read_per_payload", "", "none", "Bytes read from the disks, of a byte of payload"),
    Metric("written_per_payload", "", "none", "Bytes written to the disks, of a byte of payload"),
    Metric("cpu_s_per_gb", "s/GB", "none", "CPU of the nodes for a GB of payload"),
    Metric("debt_s", "s", "none", "Time from the window's end until the disks were quiet"),
    Metric("debt_bytes", "bytes", "none", "Bytes written to the disks meanwhile"),
    Metric("log_sent_pct", "%", "none", "Bytes between nodes, of the log's further copies"),
    Metric("in_flight_pct", "%", "none", "Throughput x latency, of the threads"),
    Metric("wal_syncs_per_s", "1/s", "none", "Syncs of the WAL per second"),
    Metric("wal_sync_avg_s", "s", "none", "Time of a sync of the WAL"),
    Metric("wal_append_avg_s", "s", "none", "Time of an append to the WAL"),
    Metric("wal_bytes_per_s", "bytes/s", "none", "Bytes written to the WAL"),
    Metric("flush_bytes_per_s", "bytes/s", "none", "Bytes flushed from memory to data files"),
    Metric("compaction_read_bytes_per_s", "bytes/s", "none", "Bytes read by compactions"),
    Metric("compaction_write_bytes_per_s", "bytes/s", "none", "Bytes written by compactions"),
    Metric("block_cache_hit_pct", "%", "none", "Blocks found in the block cache"),
    Metric("write_stall_pct", "%", "none", "Time of held-back writes, summed over tablets"),
)

METRICS = {metric.name: metric for metric in _ALL}
PERCENTILES = {metric.name: metric.percent for metric in _ALL if metric.percent is not None}

# Columns of intervals.csv (a row a second) and of samples.parquet (counters as read).
_LATENCIES = ("latency_avg_s", "latency_p50_s", "latency_p95_s", "latency_p99_s")
INTERVAL_COLUMNS = ("time_s", "phase", "throughput_per_s", *_LATENCIES, "errors")
SAMPLE_COLUMNS = ("time_s", "node", "metric", "unit", "value", "phase")


def measured(name: str, value: float, scope: str = "all") -> Measurement:
    """A Measurement of a known metric; KeyError for an unknown one, which is our own fault.
    ValueError for what is no number."""
    metric = METRICS[name]
    if not math.isfinite(value):
        raise ValueError(f"{name} came out as {value}")
    return Measurement(metric.name, metric.unit, metric.direction, float(value), scope)
