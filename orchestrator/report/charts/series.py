"""Runs over time, as tables for charts: seconds since measuring began, tier, run and value.

Points are means over bins of equal width, which the page names. With many runs a line for each
could not be told from the others. Then a tier has one line, the median of its runs, and a band with
the middle 80 % of them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from orchestrator.analysis import results
from orchestrator.analysis.telemetry.use import machine_cpu
from orchestrator.report.charts.limits_over_time import LimitsOverTime
from orchestrator.report.charts.points import (
    Array,
    Flags,
    Numbers,
    Points,
    PointsOfNodes,
    grouped,
    together,
)
from orchestrator.report.report_index import ReportIndex

# Each of many runs has fewer points: 500 runs took over 1 GB to draw.
POINTS_PER_LINE = 150
LEAST_PER_LINE = 30
# Points of all lines of a kind of chart, in all workloads. Each line has the least all the same. So
# a page of many runs is no larger than what a mail or a ticket takes.
POINTS = 4500
# A workload with more runs has one line for each tier. Nobody tells 250 lines apart, and they were
# most of the memory that a page took.
MOST_LINES = 60
_LOW, _MEDIAN, _HIGH = 0.1, 0.5, 0.9
_COLUMNS = ["seconds", "value", "tier", "run"]
_STRETCHES = ["tier", "limit", "begin", "end"]
_CPU = "cpu_pct"
MEAN = "mean of nodes"
BUSIEST = "busiest node"
Labels = Mapping[str, str]  # what the points of a line are called: tier, run, and more


@dataclass(frozen=True)
class Series:
    """The points of a chart.

    table: seconds (0 is when measuring began), value, tier, run. Some have more columns: `of`, MEAN
        or BUSIEST of the nodes; `node`, whose value it is. Where a line is the median of a tier's
        runs (`run` is then the tier), `low` and `high` are their 10th and 90th percentiles.
    bin_s: the width of each point's bin.
    """

    table: pd.DataFrame
    bin_s: int

    @property
    def highest(self) -> dict[str, float]:
        """Tier → its highest value."""
        highest = self.table.groupby("tier")["value"].max()
        return {str(tier): float(value) for tier, value in highest.items()}


class _MeasuredRun(NamedTuple):
    """A run that counts; `start_s`: when its measuring began, in Unix seconds."""

    tier: str
    data: results.RunData
    start_s: float


@dataclass(frozen=True)
class _Intervals:
    """The seconds of all runs, one behind the other.

    line: the number of the run of each; seconds: since its measuring began."""

    tables: Sequence[pd.DataFrame]
    line: Numbers
    seconds: Array
    is_counted: Flags

    def values(self, column: str) -> Array:
        """A column; NaN of runs that lack it."""
        parts: list[Array] = []
        for table in self.tables:
            if column in table:
                parts.append(table[column].to_numpy(dtype=float))
            else:
                parts.append(np.full(len(table), np.nan))
        values: Array = together(parts, float)
        return values


@dataclass(frozen=True)
class _NodeSeconds:
    """The seconds of all nodes of all runs, one behind the other: as `Telemetry.by_second` has
    them, and as `PointsOfNodes` has them."""

    tables: Sequence[pd.DataFrame]
    line: Numbers
    seconds: Array
    node: Numbers
    is_measured: Flags
    names: tuple[str, ...]

    def column(self, name: str, kind: type) -> Any:
        parts = [table[name].to_numpy(dtype=kind) for table in self.tables]
        return together(parts, kind)


@dataclass(frozen=True)
class Runs:
    """The measured runs of a workload, of all tiers, in the order in which they are drawn."""

    index: ReportIndex
    workload: str

    def of_interval(self, column: str) -> Series:
        """A column of intervals.csv for every run that left one."""
        rows = self._intervals
        points = Points(rows.line, rows.seconds, rows.values(column))
        return self._by_run(points.where(rows.is_counted), self._labels())

    def of_disk(self, metric: str) -> Series:
        """Reads and writes together, per second, of the busiest database node's disk in each."""
        return self._by_run(self._rates(metric).of_busiest(), self._labels())

    def of_cpu(self) -> Series:
        """CPU of the database nodes in each run, in % of what a node may use: their mean whenever
        all of them were read, and the node that is busiest while measured, if there are several."""
        rates = self._rates(_CPU)
        counts = self.nodes.to_numpy()
        has_several = counts[rates.points.line] > 1
        busiest = rates.where(has_several).of_busiest()
        both = rates.means(counts).beside(busiest)
        labels: list[Labels] = []
        for label in self._labels():
            labels += [{**label, "of": MEAN}, {**label, "of": BUSIEST}]
        return self._by_run(both, labels)

    def of_nodes(self, metric: str) -> Series:
        """CPU, IOPS or bandwidth of each database node, the mean of a tier's runs."""
        rates = self._rates(metric)
        tier = self._tiers_of_lines()[rates.points.line]
        lines = grouped(tier, rates.node)
        labels: list[Labels] = []
        for row in lines.first.tolist():
            name = self.index.tiers[tier[row]]
            node = rates.names[rates.node[row]]
            labels.append({"tier": name, "run": name, "node": node})
        points = Points(lines.number, rates.points.seconds, rates.points.value)
        return self._thinned(points, labels)

    def of_limits(self, bin_s: int) -> pd.DataFrame:
        """tier, limit, begin and end, in seconds since measuring began, of each stretch of time in
        which something was at its limit in most of a tier's runs, on the node that is judged."""
        rows: list[dict[str, Any]] = []
        for stretch in self._limits().stretches(bin_s):
            if stretch.limit:
                tier = self.index.tiers[stretch.tier]
                rows.append({**vars(stretch), "tier": tier})
        return pd.DataFrame(rows, columns=_STRETCHES)

    def _limits(self) -> LimitsOverTime:
        """The seconds of the judged nodes of which their limit is known."""
        rows = self._by_second
        limit = rows.column("limit", object)
        is_wanted = ~pd.isna(limit) & self._is_judged(rows)
        tier = self._tiers_of_lines()[rows.line]
        return LimitsOverTime(
            tier[is_wanted], rows.seconds[is_wanted], limit[is_wanted]
        )

    def _is_judged(self, rows: _NodeSeconds) -> Flags:
        """Whether each second is of the node that is judged."""
        judged_nodes = self._judged_nodes()
        number_of_line: list[int] = []
        for run in self._runs:
            number = -1
            node = judged_nodes.get(run.tier)
            if node in rows.names:
                number = rows.names.index(node)
            number_of_line.append(number)
        is_judged: Flags = np.array(number_of_line, dtype=int)[rows.line] == rows.node
        return is_judged

    def _tiers_of_lines(self) -> Numbers:
        """The place of each line's tier among those of the page."""
        numbers: list[int] = []
        for run in self._runs:
            numbers.append(self.index.tiers.index(run.tier))
        return np.array(numbers, dtype=int)

    def _judged_nodes(self) -> dict[str, str]:
        """Tier → the node that is judged."""
        nodes: dict[str, str] = {}
        for bottleneck in self.index.verdict.bottlenecks:
            if bottleneck.workload == self.workload:
                nodes[bottleneck.profile] = bottleneck.node
        return nodes

    @property
    def are_many(self) -> bool:
        """Whether a tier has one line for all its runs."""
        return len(self._runs) > MOST_LINES

    @cached_property
    def nodes(self) -> pd.Series:
        """Database nodes of each run, by its line."""
        counts: list[int] = []
        for run in self._runs:
            roles = [node.role for node in run.data.record.nodes]
            counts.append(roles.count("database"))
        return pd.Series(counts, dtype=int)

    @cached_property
    def _runs(self) -> list[_MeasuredRun]:
        runs: list[_MeasuredRun] = []
        for tier in self.index.tiers:
            for data in self.index.finished(tier, self.workload):
                measure = data.record.phase("measure")
                if measure is not None:
                    runs.append(_MeasuredRun(tier, data, measure.start_s))
        return runs

    @cached_property
    def _intervals(self) -> _Intervals:
        tables = [run.data.intervals for run in self._runs]
        is_counted: list[Flags] = []
        for table in tables:
            phase = table["phase"].to_numpy(dtype=object)
            is_counted.append((phase == "warm-up") | (phase == "measure"))
        return _Intervals(
            tables=tables,
            line=_lines(tables),
            seconds=self._since_measuring(tables),
            is_counted=together(is_counted, bool),
        )

    @cached_property
    def _by_second(self) -> _NodeSeconds:
        tables = [run.data.telemetry.by_second for run in self._runs]
        names = _names_of_nodes(tables)
        nodes: list[Numbers] = []
        is_measured: list[Flags] = []
        for table in tables:
            column = table["node"].cat
            places = np.searchsorted(names, column.categories.to_numpy(dtype=object))
            nodes.append(places[column.codes.to_numpy()])
            is_measured.append((table["phase"] == "measure").to_numpy(dtype=bool))
        return _NodeSeconds(
            tables=tables,
            line=_lines(tables),
            seconds=self._since_measuring(tables),
            node=together(nodes, int),
            is_measured=together(is_measured, bool),
            names=tuple(names),
        )

    def _since_measuring(self, tables: Sequence[pd.DataFrame]) -> Array:
        # Runs lie hours apart; on one axis they are compared from the same moment of each.
        parts: list[Array] = []
        for table, run in zip(tables, self._runs, strict=True):
            parts.append(table["time_s"].to_numpy(dtype=float) - run.start_s)
        seconds: Array = together(parts, float)
        return seconds

    def _labels(self) -> list[Labels]:
        """tier and run of each line."""
        labels: list[Labels] = []
        for run in self._runs:
            labels.append({"tier": run.tier, "run": run.data.record.run.slug})
        return labels

    def _rates(self, metric: str) -> PointsOfNodes:
        """What is known of a metric of the database nodes, at the begin of each step."""
        rows = self._by_second
        if metric == _CPU:
            values = rows.column("cpus", float) * self._pct_of_one_cpu(rows)
        else:
            values = rows.column(metric, float)
        points = Points(rows.line, rows.seconds, values)
        rates = PointsOfNodes(points, rows.node, rows.is_measured, rows.names)
        return rates.where(~np.isnan(values))

    def _pct_of_one_cpu(self, rows: _NodeSeconds) -> Array:
        """What one CPU is of all that the node of each second may use, in %."""
        factors: list[list[float]] = []
        for run in self._runs:
            factors.append(self._pct_of_one_cpu_in(run, rows.names))
        # A run without samples has no nodes, and then there is no array of two dimensions.
        by_line = np.array(factors).reshape(len(self._runs), len(rows.names))
        pct_of_one: Array = by_line[rows.line, rows.node]
        return pct_of_one

    def _pct_of_one_cpu_in(
        self, run: _MeasuredRun, names: Sequence[str]
    ) -> list[float]:
        """The same of each of these nodes in a run; NaN where its limit is not known."""
        machine_cpus = results.machine_cpus(self.index.campaign)
        # A node without a known limit has no factor, and its CPU is not drawn.
        limits = machine_cpu.cpu_limits(run.data.record.nodes, machine_cpus)
        factors: list[float] = []
        for name in names:
            factors.append(100 / limits.get(name, np.nan))
        return factors

    def _by_run(self, points: Points, labels: Sequence[Labels]) -> Series:
        """A line for each run, or for each tier if they are many; and for each of more labels.

        `labels`: of each line, by its number."""
        if not self.are_many:
            return self._thinned(points, labels)
        # Bins are as narrow as the few lines allow that are drawn in the end.
        tiers: set[str] = set()
        for line in np.unique(points.line).tolist():
            tiers.add(labels[line]["tier"])
        means = self._thinned(points, labels, lines=len(tiers))
        alike = list(labels[0])
        alike.remove("run")
        return Series(_medians(means.table, alike), means.bin_s)

    def _thinned(
        self, points: Points, labels: Sequence[Labels], lines: int | None = None
    ) -> Series:
        """Means over bins. A value stands for the time after it, a point for the middle of its bin.

        `lines`: how many are drawn, if not one for each line of the points."""
        in_order = points.without_gaps().line_by_line()
        if not in_order.line.size:
            return Series(pd.DataFrame(columns=_COLUMNS), 1)
        present = np.unique(in_order.line)
        most_points = POINTS // len(self.index.workloads)
        bin_s = _bin_s(in_order.seconds, lines or len(present), most_points)
        means = in_order.means_of_bins(bin_s)
        labels_of_lines = pd.DataFrame(labels, dtype="str")
        columns: dict[str, Any] = {}
        for name, texts in labels_of_lines.items():
            columns[str(name)] = texts.array.take(means.line)
        columns["seconds"] = means.seconds
        columns["value"] = means.value
        return Series(pd.DataFrame(columns), bin_s)


def _lines(tables: Sequence[pd.DataFrame]) -> Numbers:
    """The number of the table of each row of all."""
    sizes = [len(table) for table in tables]
    return np.repeat(np.arange(len(tables)), sizes)


def _medians(means: pd.DataFrame, labels: Sequence[str]) -> pd.DataFrame:
    """The medians of all runs with the same labels in the same bin: value, low and high.

    `run` is the tier.
    """
    if means.empty:
        return means
    bins = means.groupby([*labels, "seconds"], sort=False)["value"]
    quantiles = bins.quantile(np.array([_LOW, _MEDIAN, _HIGH])).unstack()
    names = {_LOW: "low", _MEDIAN: "value", _HIGH: "high"}
    table = quantiles.rename(columns=names).reset_index()
    ordered = table.sort_values("seconds", kind="stable")
    return ordered.assign(run=ordered["tier"])


def _bin_s(seconds: Array, lines: int, most_points: int) -> int:
    """The width that leaves each of the lines as many points as a chart can show."""
    points = min(POINTS_PER_LINE, max(LEAST_PER_LINE, most_points // lines))
    span_s = float(seconds.max() - seconds.min())
    return max(1, math.ceil(span_s / points))


def _names_of_nodes(tables: Sequence[pd.DataFrame]) -> list[str]:
    names: set[str] = set()
    for table in tables:
        names.update(table["node"].cat.categories)
    return sorted(names)
