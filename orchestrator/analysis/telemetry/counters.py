"""The samples of a run: counters as they were read → how much they grew per second. Pure.

A hundred nodes leave nine million samples an hour, more than memory should hold. So they stay where
they are kept: `Samples` reads them, and `kept.py` says what stays in memory of them.

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

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import union_categoricals

from orchestrator.metrics import SAMPLE_COLUMNS

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


_RATE_COLUMNS = ["time_s", "step_s", "node", "metric", "value", "phase"]


def rates(samples: pd.DataFrame) -> pd.DataFrame:
    """Counters per second: time_s (end of the step), step_s, node, metric, value, phase.

    One row per two successive samples, so a gap is one long step at its mean rate. A step where the
    counter falls was a reset: how much it grew is not known, so the step is left out."""
    counters = samples[samples["metric"].isin(_counter_names(samples))]
    ordered = counters.sort_values(["node", "metric", "time_s"], ignore_index=True)
    series = ordered.groupby(["node", "metric"], sort=False, observed=True)
    steps = series[["time_s", "value"]].diff()
    grew = (steps["time_s"] > 0) & (steps["value"] >= 0)
    table = _per_second(ordered[grew], steps[grew])
    return table[_RATE_COLUMNS].reset_index(drop=True)


def _per_second(ends: pd.DataFrame, steps: pd.DataFrame) -> pd.DataFrame:
    """Of the samples at the ends of steps, and what time and value grew by in these."""
    step_s = steps["time_s"]
    per_s = steps["value"] / step_s
    places = ends[["time_s", "node", "metric", "phase"]]
    return places.assign(step_s=step_s, value=per_s)


def _counter_names(samples: pd.DataFrame) -> list[str]:
    metrics = samples["metric"].unique()
    return [name for name in metrics if str(name).endswith("_total")]


def wide(rates: pd.DataFrame, node: str, metrics: Sequence[str]) -> pd.DataFrame:
    """Of one node: time_s, step_s, a column for each counter, where all are known."""
    of_node = rates[rates["metric"].isin(list(metrics)) & (rates["node"] == node)]
    names = of_node["metric"].to_numpy(dtype=object)
    series: list[pd.DataFrame] = []
    for metric in metrics:
        series.append(of_node[names == metric])
    if _are_of_the_same_seconds(series):
        return _side_by_side(series, metrics)
    columns: dict[str, pd.Series] = {}
    for metric, rows in zip(metrics, series, strict=True):
        by_time = rows.set_index("time_s")
        columns.setdefault("step_s", by_time["step_s"])
        columns[metric] = by_time["value"]
    return pd.DataFrame(columns).dropna().reset_index()


def _are_of_the_same_seconds(series: Sequence[pd.DataFrame]) -> bool:
    """As those of one device are, which are read at once: then nothing need be joined by time,
    which takes most of the time that a node's disk does."""
    first_s = series[0]["time_s"].to_numpy()
    are_same = True
    for rows in series[1:]:
        are_same &= np.array_equal(rows["time_s"].to_numpy(), first_s)
    return are_same


def _side_by_side(
    series: Sequence[pd.DataFrame], metrics: Sequence[str]
) -> pd.DataFrame:
    columns: dict[str, Any] = {}
    for name in ("time_s", "step_s"):
        columns[name] = series[0][name].to_numpy()
    for metric, rows in zip(metrics, series, strict=True):
        columns[metric] = rows["value"].to_numpy()
    return pd.DataFrame(columns)


def moved(
    rates: pd.DataFrame, start_s: float, end_s: float
) -> dict[tuple[str, str], float]:
    """Node and counter → its growth in [start_s, end_s].

    Of a step that reaches beyond, its part at the step's mean rate. So nothing between adjacent
    spans is lost or counted twice."""
    parts = _parts_within(rates, start_s, end_s)
    growth: dict[tuple[str, str], float] = {}
    for series, (value,) in _sums_by_series(parts, ["moved"]).items():
        growth[series] = value
    return growth


def _sums_by_series(
    steps: pd.DataFrame, columns: list[str]
) -> dict[tuple[str, str], list[float]]:
    """Node and counter → the sums of these columns.

    Grouped by one number: two columns of names take thrice as long, whatever there is to add."""
    nodes = steps["node"].astype("category").cat
    metrics = steps["metric"].astype("category").cat
    # One more than there are, so that without any it can be divided by.
    width = len(metrics.categories) + 1
    numbers = nodes.codes.to_numpy(dtype=int) * width + metrics.codes.to_numpy()
    sums = steps[columns].groupby(numbers).sum()
    by_series: dict[tuple[str, str], list[float]] = {}
    for number, values in zip(sums.index, sums.to_numpy().tolist(), strict=True):
        node, metric = divmod(number, width)
        names = str(nodes.categories[node]), str(metrics.categories[metric])
        by_series[names] = values
    return by_series


def _parts_within(rates: pd.DataFrame, start_s: float, end_s: float) -> pd.DataFrame:
    """Of the steps that reach into a span: `moved`, by how much each grew within it."""
    begins_before = rates["time_s"] - rates["step_s"] < end_s
    # Few, where there are many spans.
    steps = rates[begins_before & (rates["time_s"] > start_s)]
    begin_s = (steps["time_s"] - steps["step_s"]).clip(lower=start_s)
    overlap_s = steps["time_s"].clip(upper=end_s) - begin_s
    return steps.assign(moved=steps["value"] * overlap_s)[overlap_s > 0]


class Growth:
    """Growth per second of each node's counters between the window's first and last sample: no mean
    of rates, which uneven sampling would bend. Those sampled for less than half are left out."""

    def __init__(self, start_s: float, end_s: float) -> None:
        self._start_s = start_s
        self._end_s = end_s
        self._per_s: dict[tuple[str, str], float] = {}

    def add(self, rates: pd.DataFrame) -> None:
        """Takes in all `rates` of some nodes."""
        least_s = MIN_COVERAGE * (self._end_s - self._start_s)
        sums = _sums_by_series(self._within(rates), ["growth", "step_s"])
        for series, (growth, sampled_s) in sums.items():
            if sampled_s >= least_s:
                self._per_s[series] = growth / sampled_s

    def _within(self, rates: pd.DataFrame) -> pd.DataFrame:
        """The steps that lie in the window; growth: by how much each grew."""
        begins_within = rates["time_s"] - rates["step_s"] >= self._start_s
        steps = rates[begins_within & (rates["time_s"] <= self._end_s)]
        return steps.assign(growth=steps["value"] * steps["step_s"])

    def per_s(self, node: str, *metrics: str) -> float | None:
        """The sum of these counters per second; None if any was not sampled."""
        total = 0.0
        for metric in metrics:
            value = self._per_s.get((node, metric))
            if value is None:
                return None
            total += value
        return total


class Samples:
    """Tables with time_s (Unix), node, metric, unit, value, phase: counters as read, no rates.

    `parts` reads them from the first on at each call; the text columns may be categories, which are
    then in alphabetical order in what is returned."""

    # Rows, or one node more: with what is computed from them some 600 MB.
    at_once = 2**21

    def __init__(self, parts: Callable[[], Iterable[pd.DataFrame]]) -> None:
        self.parts = parts

    def by_nodes(self) -> Iterator[pd.DataFrame]:
        """All of them, in tables that have all of some nodes each; none if there are none.

        They are read once, unless they are more than `at_once`."""
        rows = Counter[str]()
        held = list[pd.DataFrame]()
        for part in self.parts():
            for node, count in part["node"].value_counts().items():
                rows[str(node)] += int(count)
            if rows.total() <= self.at_once:
                held.append(part)
            else:
                held = []
        if not rows:
            return
        if held:
            yield joined(held)
        else:
            yield from self._by_groups(rows)

    def _by_groups(self, rows: Counter[str]) -> Iterator[pd.DataFrame]:
        """So many nodes at a time as have `at_once` rows, all parts read for each."""
        of_nodes = pd.Series(dict(sorted(rows.items())), dtype="int64")
        for _, group in of_nodes.groupby(of_nodes.cumsum() // self.at_once):
            yield joined(_of_nodes(part, group.index) for part in self.parts())


def _of_nodes(samples: pd.DataFrame, names: pd.Index) -> pd.DataFrame:
    return samples[samples["node"].isin(names)]


def joined(parts: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """One table of several with the same columns; without any an empty one of samples."""
    tables = list(parts)
    if not tables:
        return pd.DataFrame(columns=list(SAMPLE_COLUMNS))
    texts = _categories(tables[0])
    numbers = [table.drop(columns=texts) for table in tables]
    whole = pd.concat(numbers, ignore_index=True)
    for name in texts:
        columns = [table[name] for table in tables]
        whole[name] = union_categoricals(columns, sort_categories=True)
    return whole[list(tables[0].columns)]


def _categories(table: pd.DataFrame) -> list[str]:
    kinds = table.dtypes
    return [str(name) for name in kinds[kinds == "category"].index]
