"""Runs over time, as tables for charts: seconds since measuring began, tier, run and value.

Points are means over bins of equal width, which the page names. With many runs a line for each
could not be told from the others. Then a tier has one line, the median of its runs, and a band with
the middle 80 % of them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd

from orchestrator.analysis import results
from orchestrator.analysis.telemetry.use import machine_cpu
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
_COUNTED = ("warm-up", "measure")
_SECONDS = [
    "time_s",
    "node",
    "phase",
    "cpus",
    "disk_iops",
    "disk_bytes_per_s",
    "held_back_pct",
    "limit",
]
_LABELS = ["line", "tier", "run", "seconds"]
_RATES = [*_LABELS, "node", "phase"]
_JOINED = ["time_s", "phase", "node", "line", "tier", "run", "seconds"]
MEAN = "mean of nodes"
BUSIEST = "busiest node"


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
class Runs:
    """The measured runs of a workload, of all tiers, in the order in which they are drawn."""

    index: ReportIndex
    workload: str

    def of_interval(self, column: str) -> Series:
        """A column of intervals.csv for every run that left one."""
        table = self._intervals.reindex(columns=[*_LABELS, "phase", column])
        counted = table[table["phase"].isin(_COUNTED)]
        return self._by_run(counted.rename(columns={column: "value"}))

    def of_disk(self, metric: str) -> Series:
        """Reads and writes together, per second, of the busiest database node's disk in each."""
        return self._by_run(_busiest_nodes(self._rates(metric)))

    def of_cpu(self) -> Series:
        """CPU of the database nodes in each run, in % of what a node may use: their mean whenever
        all of them were read, and the node that is busiest while measured, if there are several."""
        rates = self._rates("cpu_pct")
        means = self._means_of_nodes(rates).assign(of=MEAN)
        several = rates[rates["line"].map(self.nodes) > 1]
        busiest = _busiest_nodes(several).assign(of=BUSIEST)
        # Two lines for each run, which must not have one number.
        lines_of_means = means.assign(line=2 * means["line"])
        lines_of_busiest = busiest.assign(line=2 * busiest["line"] + 1)
        both = pd.concat([lines_of_means, lines_of_busiest], ignore_index=True)
        return self._by_run(both, ["of"])

    def _means_of_nodes(self, rates: pd.DataFrame) -> pd.DataFrame:
        """The means of each run's nodes, without times at which one of the nodes was not read."""
        moments = rates.groupby(
            ["line", "tier", "run", "seconds"], sort=False, observed=True
        )
        means = moments["value"].agg(["mean", "count"]).reset_index()
        means = means.rename(columns={"mean": "value"})
        return means[means["count"] == means["line"].map(self.nodes)]

    def of_nodes(self, metric: str) -> Series:
        """CPU, IOPS or bandwidth of each database node, the mean of a tier's runs."""
        rates = self._rates(metric)
        lines = rates.groupby(["tier", "node"], sort=False, observed=True).ngroup()
        tier_rates = rates.assign(line=lines, run=rates["tier"])
        return self._thinned(tier_rates, ["tier", "run", "node"])

    def of_limits(self, bin_s: int) -> pd.DataFrame:
        """tier, limit, begin and end, in seconds since measuring began, of each stretch of time in
        which something was at its limit in most of a tier's runs, on the node that is judged."""
        table = self._limited()
        # Rounded down, not towards zero: seconds of the warm-up are negative.
        number = np.floor(table["seconds"] / bin_s)
        bins = table.assign(begin=number * bin_s)
        limits = bins.groupby(["tier", "begin"], sort=False)["limit"]
        most = limits.agg(_most_frequent).reset_index()
        stretches = _stretches(most, bin_s)
        return stretches[stretches["limit"] != ""]

    def _limited(self) -> pd.DataFrame:
        """The seconds of the judged nodes of which their limit is known."""
        table = self._by_second.reindex(columns=[*_RATES, "limit"])
        table = table.dropna(subset=["limit"])
        judged_node = table["tier"].map(self._judged_nodes())
        return table[table["node"].astype(str) == judged_node]

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
    def _intervals(self) -> pd.DataFrame:
        return self._joined([run.data.intervals for run in self._runs])

    @cached_property
    def _by_second(self) -> pd.DataFrame:
        """CPU in % of each node's limit, where that is known."""
        machine_cpus = results.machine_cpus(self.index.campaign)
        return self._joined([_seconds(run.data, machine_cpus) for run in self._runs])

    def _joined(self, tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
        """The tables as one, with line (a run's number), tier, run, and seconds since its measuring
        began."""
        if not tables:
            return pd.DataFrame(columns=_JOINED)
        by_line = pd.concat(dict(enumerate(tables)))
        line = by_line.index.get_level_values(0)
        table = by_line.reset_index(drop=True)
        labels = self._labels().loc[line].reset_index(drop=True)
        # Runs lie hours apart; on one axis they are compared from the same moment of each.
        return table.assign(
            line=line,
            tier=labels["tier"],
            run=labels["run"],
            seconds=table["time_s"] - labels["start_s"],
        )

    def _labels(self) -> pd.DataFrame:
        """tier, run and start_s of each line."""
        rows: list[tuple[str, str, float]] = []
        for run in self._runs:
            rows.append((run.tier, run.data.record.run.slug, run.start_s))
        return pd.DataFrame(rows, columns=["tier", "run", "start_s"])

    def _rates(self, metric: str) -> pd.DataFrame:
        """line, tier, run, seconds (begin of a step), node, phase and value of database nodes."""
        table = self._by_second.reindex(columns=[*_RATES, metric])
        return table.rename(columns={metric: "value"}).dropna(subset=["value"])

    def _by_run(self, points: pd.DataFrame, more: Sequence[str] = ()) -> Series:
        """A line for each run, or for each tier if they are many; and for each of `more` labels."""
        if not self.are_many:
            return self._thinned(points, ["tier", "run", *more])
        # Bins are as narrow as the few lines allow that are drawn in the end.
        tiers = points["tier"].nunique()
        means = self._thinned(points, ["tier", "run", *more], lines=tiers)
        return Series(_medians(means.table, ["tier", *more]), means.bin_s)

    def _thinned(
        self, points: pd.DataFrame, labels: Sequence[str], lines: int | None = None
    ) -> Series:
        """Means over bins. A value stands for the time after it, a point for the middle of its bin.

        `lines`: how many are drawn, if not one for each `line` of the points."""
        if points.empty or points["value"].isna().all():
            return Series(pd.DataFrame(columns=_COLUMNS), 1)
        table = points.dropna(subset=["value"]).sort_values("line", kind="stable")
        first_rows = table.drop_duplicates("line").set_index("line")
        labels_of_lines = first_rows[list(labels)].astype(str)
        most_points = POINTS // len(self.index.workloads)
        bin_s = _bin_s(table["seconds"], lines or len(labels_of_lines), most_points)
        means = _means_of_bins(table, bin_s)
        labels_of_points = labels_of_lines.loc[means.pop("line")].reset_index(drop=True)
        return Series(labels_of_points.join(means), bin_s)


def _seconds(data: results.RunData, of_machine: float | None) -> pd.DataFrame:
    """The seconds of one run, with `cpu_pct`.

    `of_machine`: processors of the only machine, all of which a node without a limit may use."""
    table = data.telemetry.by_second[_SECONDS]
    # A node without a known limit has no factor, and its CPU is not drawn.
    limits = machine_cpu.cpu_limits(data.record.nodes, of_machine)
    pct_of_one = {node: 100 / limit for node, limit in limits.items()}
    factor = table["node"].map(pct_of_one).astype(float)
    return table.assign(cpu_pct=table["cpus"] * factor)


def _means_of_bins(table: pd.DataFrame, bin_s: int) -> pd.DataFrame:
    """line, seconds, value: at the middle of each bin."""
    number = np.floor(table["seconds"] / bin_s)
    binned = table.assign(seconds=(number + 0.5) * bin_s)
    bins = binned.groupby(["line", "seconds"], sort=False)["value"]
    return bins.mean().reset_index()


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


def _bin_s(seconds: pd.Series, lines: int, most_points: int) -> int:
    """The width that leaves each of the lines as many points as a chart can show."""
    points = min(POINTS_PER_LINE, max(LEAST_PER_LINE, most_points // lines))
    span_s = float(seconds.max() - seconds.min())
    return max(1, math.ceil(span_s / points))


def _busiest_nodes(rates: pd.DataFrame) -> pd.DataFrame:
    """For each line, the values of the node where they are highest while measured."""
    measuring = rates[rates["phase"] == "measure"]
    if measuring.empty:
        return measuring
    means = measuring.groupby(["line", "node"], observed=True)["value"].mean()
    # One node throughout: the busiest of each second would be a line that no node has.
    busiest = means.groupby("line").idxmax().str[1]
    busiest_of_line = rates["line"].map(busiest.astype(str))
    return rates[rates["node"].astype(str) == busiest_of_line]


def _most_frequent(names: pd.Series) -> str:
    """The first of them in the order of the alphabet, if several are."""
    return str(names.mode().iloc[0])


def _stretches(bins: pd.DataFrame, bin_s: int) -> pd.DataFrame:
    """Neighbouring bins of a tier with one limit as one, from its begin to its end."""
    named = bins[["tier", "limit"]]
    is_another = named.ne(named.shift()).any(axis=1)
    whole = {"tier": "first", "limit": "first", "begin": "min", "end": "max"}
    ending = bins.assign(end=bins["begin"] + bin_s)
    return ending.groupby(is_another.cumsum()).agg(whole)
