"""The metrics, each with its unit, its good direction and the words a report uses for it.

One table, so that a metric is named the same in records, tables, charts and verdicts."""

import math
from dataclasses import dataclass

from orchestrator import units
from orchestrator.keys.shipped_yaml import shipped
from orchestrator.model import Direction, Measurement

# Types of transactions of the TPC-C-derived mix. A figure of one type has its name as scope.
NEW_ORDER = "new_order"  # the type that NOPM counts
DELIVERY = "delivery"


@dataclass(frozen=True)
class Metric:
    """A row of metrics.yaml. `percent` is 99 for the 99th percentile, None for other metrics."""

    name: str
    unit: str
    direction: Direction
    title: str
    percent: float | None = None

    @property
    def less_is_better(self) -> bool:
        return self.direction == "lower"


def _metrics() -> dict[str, Metric]:
    rows = shipped("orchestrator", "metrics.yaml")
    metrics = {}
    for name, fields in rows.items():
        metrics[name] = Metric(name, *fields)  # the fields are in the order of Metric's
    return metrics


def _percentiles() -> dict[str, float]:
    percentiles = {}
    for name, metric in METRICS.items():
        if metric.percent is not None:
            percentiles[name] = metric.percent
    return percentiles


METRICS = _metrics()
PERCENTILES = _percentiles()

# Columns of intervals.csv (a row a second) and of samples.parquet (counters as read).
INTERVAL_COLUMNS = (
    "time_s",
    "phase",
    "throughput_per_s",
    "latency_avg_s",
    "latency_p50_s",
    "latency_p95_s",
    "latency_p99_s",
    "errors",
)
SAMPLE_COLUMNS = ("time_s", "node", "metric", "unit", "value", "phase")


# What a rate counts, which its unit alone does not say.
_COUNTED = {
    "throughput_per_s": "transactions/s",
    "offered_per_s": "transactions/s",
    "served_per_s": "transactions/s",
    "nopm": "NOPM",
    "iops": "IOPS",
    "iops_ceiling": "IOPS",
    "disk_iops": "IOPS",
    "disk_read_iops": "IOPS",
    "disk_write_iops": "IOPS",
    "wal_disk_iops": "IOPS",
}


def value_in_words(metric: str, value: float) -> str:
    """`41.2 ms`, `470 transactions/s`, `25,000 NOPM`: a value of a metric of METRICS."""
    return units.format_quantity(value, _COUNTED.get(metric, METRICS[metric].unit))


def span_in_words(metric: str, low: float, high: float) -> str:
    """`850 µs to 1.2 ms`, `402 to 440 transactions/s`: what is counted stands once."""
    return f"{number_in_words(metric, low)} to {value_in_words(metric, high)}"


def number_in_words(metric: str, value: float) -> str:
    """A value where something else says what is counted: `470`; a time has its unit: `41.2 ms`."""
    if METRICS[metric].unit.startswith("1/"):
        return units.format_number(value)
    return value_in_words(metric, value)


def measured(name: str, value: float, scope: str = "all") -> Measurement:
    """A figure of a metric of METRICS.

    KeyError if there is no such metric, which is our own fault. ValueError if the value is not
    finite.
    """
    metric = METRICS[name]
    if not math.isfinite(value):
        raise ValueError(f"{name} came out as {value}")
    return Measurement(
        metric=metric.name,
        unit=metric.unit,
        direction=metric.direction,
        value=float(value),
        scope=scope,
    )
