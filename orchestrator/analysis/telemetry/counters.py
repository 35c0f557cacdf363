"""Counters as they were read → how much they grew per second, series by series. Pure.

A series is what one counter or gauge of one node showed over time. A run has some dozens, each with
a sample a second: arrays are what they are computed with, because a table of all of them takes ten
times as long. `samples.py` says where tables of samples come from.

Names of counters end in `_total`; gauges do not. Collectors write

- per container: CPU seconds, those throttled, and, where it has a CPU quota, the periods and those
  in which it was used up; bytes and packets of its network, segments of TCP and those sent again;
  gauges memory_used_bytes, memory_cache_bytes
- per device, under its database node's name: the counters `disk_…` below, disk_flushes_total, and
  the gauge disk_in_flight; the same with `wal_` before them of the disk of its WAL, if it has one
  of its own
- per node of role "host": its CPU and its pressure (pressure_{cpu,io,memory}_some_seconds_total);
  gauge busiest_core_pct
- per node of YugabyteDB, summed over its tablets: what `yugabyte/counters.py` reads."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

READS = "disk_reads_total"
WRITES = "disk_writes_total"
READ_BYTES = "disk_read_bytes_total"
WRITTEN_BYTES = "disk_written_bytes_total"
READ_SECONDS = "disk_read_seconds_total"
WRITE_SECONDS = "disk_write_seconds_total"
BUSY_SECONDS = "disk_busy_seconds_total"
QUEUE_SECONDS = "disk_queue_seconds_total"  # each I/O in flight counts
WAL_READS = "wal_disk_reads_total"
WAL_WRITES = "wal_disk_writes_total"
WAL_READ_BYTES = "wal_disk_read_bytes_total"
WAL_WRITTEN_BYTES = "wal_disk_written_bytes_total"
WAL_READ_SECONDS = "wal_disk_read_seconds_total"
WAL_WRITE_SECONDS = "wal_disk_write_seconds_total"
CPU_SECONDS = "cpu_seconds_total"
PERIODS = "cpu_periods_total"
THROTTLED_PERIODS = "cpu_throttled_periods_total"
HOST_CPU_SECONDS = "cpu_busy_seconds_total"
RECEIVED_BYTES = "network_received_bytes_total"
SENT_BYTES = "network_sent_bytes_total"
RECEIVED_PACKETS = "network_received_packets_total"
SENT_PACKETS = "network_sent_packets_total"
FLUSHED_BYTES = "flush_written_bytes_total"  # of YugabyteDB's memory tables

MIN_COVERAGE = 0.5  # share of the window that samples must cover to stand for it

Array = np.ndarray[Any, np.dtype[np.float64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]
Texts = np.ndarray[Any, np.dtype[np.object_]]
Key = tuple[str, str]  # node and metric


# ------------------------------------------------------------------ series


@dataclass(frozen=True)
class SampledSeries:
    """What was read of one counter or gauge of one node, in the order of time.

    time_s: Unix; phase: of the run, in which it was read."""

    time_s: Array
    value: Array
    phase: Texts


@dataclass(frozen=True)
class Steps:
    """How fast one counter of one node grew from each sample to the next one.

    end_s: Unix; step_s: how long the step was; per_s: growth per second in it; phase: of the
    sample at its end."""

    end_s: Array
    step_s: Array
    per_s: Array
    phase: Texts

    @property
    def begin_s(self) -> Array:
        return self.end_s - self.step_s

    def within(self, start_s: float, end_s: float) -> Array:
        """Growth per second of the steps that end in a window."""
        ends_within = (self.end_s > start_s) & (self.end_s <= end_s)
        return self.per_s[ends_within]


def by_series(samples: pd.DataFrame) -> dict[Key, SampledSeries]:
    """The series of a table of samples, in the order of nodes and metrics."""
    if samples.empty:
        return {}
    nodes = samples["node"].astype("category").cat
    metrics = samples["metric"].astype("category").cat
    width = len(metrics.categories)
    number = nodes.codes.to_numpy(dtype=int) * width + metrics.codes.to_numpy()
    order = np.lexsort((samples["time_s"].to_numpy(dtype=float), number))
    whole = SampledSeries(
        time_s=samples["time_s"].to_numpy(dtype=float)[order],
        value=samples["value"].to_numpy(dtype=float)[order],
        phase=samples["phase"].to_numpy(dtype=object)[order],
    )
    series: dict[Key, SampledSeries] = {}
    for rows in _stretches(number[order]):
        node, metric = divmod(int(number[order[rows.start]]), width)
        key = str(nodes.categories[node]), str(metrics.categories[metric])
        series[key] = SampledSeries(
            whole.time_s[rows], whole.value[rows], whole.phase[rows]
        )
    return dict(sorted(series.items()))


def _stretches(numbers: np.ndarray[Any, np.dtype[np.int_]]) -> Iterator[slice]:
    """The rows of each number, of those that stand in order."""
    begins = np.flatnonzero(np.diff(numbers, prepend=numbers[0] - 1)).tolist()
    ends = [*begins[1:], len(numbers)]
    for begin, end in zip(begins, ends, strict=True):
        yield slice(begin, end)


def rates(series: Mapping[Key, SampledSeries]) -> dict[Key, Steps]:
    """The steps of all counters.

    A gap is one long step at its mean rate. A step where the counter falls was a reset: how much it
    grew is not known, so the step is left out."""
    steps: dict[Key, Steps] = {}
    for key, readings in series.items():
        _node, metric = key
        if metric.endswith("_total"):
            steps[key] = _steps(readings)
    return steps


def _steps(readings: SampledSeries) -> Steps:
    step_s = np.diff(readings.time_s)
    growth = np.diff(readings.value)
    grew = (step_s > 0) & (growth >= 0)
    return Steps(
        end_s=readings.time_s[1:][grew],
        step_s=step_s[grew],
        per_s=growth[grew] / step_s[grew],
        phase=readings.phase[1:][grew],
    )


# ------------------------------------------------------------------ several of one node


@dataclass(frozen=True)
class SideBySide:
    """Several counters of one node in the steps in which all are known; `per_s`: by counter."""

    end_s: Array
    step_s: Array
    per_s: Mapping[str, Array]


def side_by_side(
    rates: Mapping[Key, Steps], node: str, metrics: Sequence[str]
) -> SideBySide:
    """Without a step where one of them was not sampled at all."""
    empty = np.empty(0)
    present: list[Steps] = []
    for metric in metrics:
        steps = rates.get((node, metric))
        if steps is None:
            return SideBySide(empty, empty, dict.fromkeys(metrics, empty))
        present.append(steps)
    common_s = present[0].end_s
    for steps in present[1:]:
        # Counters of one device are read at once: then there is nothing to look for.
        if not np.array_equal(steps.end_s, common_s):
            common_s = np.intersect1d(common_s, steps.end_s)
    per_s: dict[str, Array] = {}
    for metric, steps in zip(metrics, present, strict=True):
        per_s[metric] = steps.per_s[np.isin(steps.end_s, common_s)]
    first = present[0]
    step_s = first.step_s[np.isin(first.end_s, common_s)]
    return SideBySide(common_s, step_s, per_s)


# ------------------------------------------------------------------ growth over a span


def moved(rates: Mapping[Key, Steps], start_s: float, end_s: float) -> dict[Key, float]:
    """Node and counter → its growth in [start_s, end_s]; without those of which no step reaches
    into it.

    Of a step that reaches beyond, its part at the step's mean rate. So nothing between adjacent
    spans is lost or counted twice."""
    growth: dict[Key, float] = {}
    for key, steps in rates.items():
        overlap_s = np.minimum(steps.end_s, end_s) - np.maximum(steps.begin_s, start_s)
        reaches_into = overlap_s > 0
        if reaches_into.any():
            parts = steps.per_s[reaches_into] * overlap_s[reaches_into]
            growth[key] = math.fsum(parts)
    return growth


class Growth:
    """Growth per second of each node's counters between the window's first and last sample: no mean
    of rates, which uneven sampling would bend. Those sampled for less than half are left out."""

    def __init__(self, start_s: float, end_s: float) -> None:
        self._start_s = start_s
        self._end_s = end_s
        self._per_s: dict[Key, float] = {}

    def add(self, rates: Mapping[Key, Steps]) -> None:
        """Takes in all `rates` of some nodes."""
        least_s = MIN_COVERAGE * (self._end_s - self._start_s)
        for key, steps in rates.items():
            lies_within = (steps.begin_s >= self._start_s) & (
                steps.end_s <= self._end_s
            )
            step_s = steps.step_s[lies_within]
            sampled_s = math.fsum(step_s)
            if step_s.size and sampled_s >= least_s:
                growth = math.fsum(steps.per_s[lies_within] * step_s)
                self._per_s[key] = growth / sampled_s

    def per_s(self, node: str, *metrics: str) -> float | None:
        """The sum of these counters per second; None if any was not sampled."""
        total = 0.0
        for metric in metrics:
            value = self._per_s.get((node, metric))
            if value is None:
                return None
            total += value
        return total
