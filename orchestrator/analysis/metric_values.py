"""Which figures a run has, and which of them may be compared. Pure."""

import math
from collections.abc import (
    Collection,
    Iterable,
    Mapping,
    Sequence,
)
from statistics import fmean

from orchestrator import metrics, model
from orchestrator.analysis.results import RunData
from orchestrator.analysis.statistics import stats
from orchestrator.metrics import DELIVERY, NEW_ORDER
from orchestrator.model import (
    Measurement,
    Record,
)

Key = tuple[str, str]  # metric, scope
Measured = Mapping[Key, Measurement]
# Metrics that count as throughput; for bulk work the bytes of its rows.
RATES = ("nopm", "payload_bytes_per_s", "throughput_per_s")


def value_of(record: Record, metric: str, scope: str = "all") -> float | None:
    """A run's value of a metric, or None if it has none (NaN and infinity count as none)."""
    for measurement in record.measurements:
        if measurement.metric == metric and measurement.scope == scope:
            if math.isfinite(measurement.value):
                return measurement.value
            return None
    return None


def mean_of(runs: Iterable[RunData], metric: str) -> float | None:
    """The mean of the runs that have the figure; None if none has it, for that is no zero."""
    figures: list[float] = []
    for run in runs:
        value = value_of(run.record, metric)
        if value is not None:
            figures.append(value)
    if not figures:
        return None
    return fmean(figures)


def rate_of(runs: Sequence[RunData]) -> str:
    """The first of `RATES` that runs have."""
    for rate in RATES:
        if any(value_of(run.record, rate) for run in runs):
            return rate
    return RATES[-1]


def failed_pct(record: Record) -> float | None:
    """Failed transactions in % of those tried; None where failures were not counted."""
    failed = value_of(record, "failures")
    done = value_of(record, "transactions")
    if failed is None or done is None:
        return None
    if failed:
        return 100 * failed / (done + failed)
    return 0.0


def sound(measurements: Sequence[Measurement]) -> dict[Key, Measurement]:
    """A run's measurements by metric and scope.

    Values that are not finite are left out. Percentiles with fewer than ten transactions beyond
    them are left out too.
    """
    finite: dict[Key, Measurement] = {}
    for measurement in measurements:
        if math.isfinite(measurement.value):
            finite[measurement.metric, measurement.scope] = measurement
    # A percentile of too few transactions is one or two outliers, and no figure to judge by.
    return {
        key: measurement
        for key, measurement in finite.items()
        if not _has_too_few(key, finite)
    }


def _has_too_few(key: Key, measured: Measured) -> bool:
    """Whether it is a percentile of too few transactions, where these were counted."""
    metric, scope = key
    transactions = measured.get(("transactions", scope))
    if metric not in metrics.PERCENTILES or transactions is None:
        return False
    needed = stats.percentile_min_count(metrics.PERCENTILES[metric])
    return transactions.value < needed


def whole(runs: Sequence[RunData], key: Key) -> tuple[float, ...]:
    """A metric's sound values above zero (failed shares: or zero), one per run or none at all."""
    values: list[float] = []
    for run in runs:
        value = _sound_value(run.record, key)
        # A choice would be made if the runs that lack it were left out: slow ones lack it first.
        if value is None:
            return ()
        values.append(value)
    return tuple(values)


def _sound_value(record: Record, key: Key) -> float | None:
    metric, _ = key
    if metric == "failed_pct":
        return failed_pct(record)
    measurement = sound(record.measurements).get(key)
    if measurement is not None and measurement.value > 0:
        return measurement.value
    return None


def in_common(*sides: Sequence[RunData]) -> tuple[list[RunData], ...]:
    """The runs of each side in the repetitions that all sides have, in the order of repetitions."""
    repetitions = [{run.record.run.repetition for run in runs} for runs in sides]
    common = set.intersection(*repetitions)
    return tuple(_runs_of_repetitions(runs, common) for runs in sides)


def _runs_of_repetitions(
    runs: Sequence[RunData], numbers: Collection[int]
) -> list[RunData]:
    return [run for run in runs if run.record.run.repetition in numbers]


def objective_values(
    runs: Sequence[RunData], objective: model.Objective
) -> tuple[float, ...]:
    """The values of a clause of an SLO. `whole` says which runs have one.

    The average of all types together leaves out TPC-C's Delivery, as percentiles do.
    """
    key = objective.metric, objective.scope
    values = whole(runs, key)
    # The average leaves Delivery out as percentiles do: it is 4 % of the mix with tenfold work.
    if key != ("latency_avg_s", "all"):
        return values
    pairs = zip(runs, values, strict=False)
    return tuple(_without_delivery(run.record, value) for run, value in pairs)


def _without_delivery(record: Record, average_s: float) -> float:
    """The average latency without Delivery, made of each type's average and number."""
    if value_of(record, "transactions", NEW_ORDER) is None:
        return average_s
    transactions = value_of(record, "transactions")
    deliveries = value_of(record, "transactions", DELIVERY)
    delivery_s = value_of(record, "latency_avg_s", DELIVERY)
    if not transactions or not deliveries or delivery_s is None:
        return average_s
    others = transactions - deliveries
    if others <= 0:
        return average_s
    return (average_s * transactions - delivery_s * deliveries) / others
