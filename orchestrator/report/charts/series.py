"""Runs over time, for charts: tidy frames of seconds since measuring began, tier, run and value,
thinned by averaging over bins of equal width, which the reader is told."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from orchestrator.analysis import results
from orchestrator.analysis.telemetry import machines
from orchestrator.report.report_index import ReportIndex

POINTS_PER_LINE = 150
LEAST_PER_LINE = 50
POINTS = 6000  # of all lines of a chart, as long as each has the least
_COLUMNS = ["seconds", "value", "tier", "run"]
_COUNTED = ("warm-up", "measure")
_SECONDS = ["time_s", "node", "phase", "cpus", "disk_iops", "disk_bytes_per_s", "limit"]
_RATES = ["line", "tier", "run", "seconds", "node", "phase"]
MEAN = "mean of nodes"
BUSIEST = "busiest node"


@dataclass(frozen=True)
class Series:
    """seconds (0 is when measuring began), value, tier, run; `bin_s` is each point's width. A
    column `of` tells the mean of nodes from the busiest, and `node` whose value it is."""

    table: pd.DataFrame
    bin_s: int

    @property
    def highest(self) -> dict[str, float]:
        """Tier → its highest value."""
        highest = self.table.groupby("tier")["value"].max()
        return {str(tier): float(value) for tier, value in highest.items()}


@dataclass(frozen=True)
class Runs:
    """The measured runs of a workload, of all tiers, in the order in which they are drawn."""

    index: ReportIndex
    workload: str

    def of_interval(self, column: str) -> Series:
        """A column of intervals.csv for every run that left one."""
        wanted = ["time_s", "phase", column]
        table = self._joined([data.intervals[wanted] for _, data, _ in self._runs])
        counted = table[table["phase"].isin(_COUNTED)]
        return _thinned(counted.rename(columns={column: "value"}), ["tier", "run"])

    def of_disk(self, metric: str) -> Series:
        """Reads and writes together, per second, of the busiest database node's disk in each."""
        return _thinned(_of_busiest(self._rates(metric)), ["tier", "run"])

    def of_cpu(self) -> Series:
        """CPU of the database nodes in each run, in % of what a node may use: their mean whenever
        all of them were read, and the node that is busiest while measured, if there are several."""
        rates = self._rates("cpu_pct")
        each = rates.groupby(
            ["line", "tier", "run", "seconds"], sort=False, observed=True
        )["value"]
        means = (
            each.agg(["mean", "count"]).reset_index().rename(columns={"mean": "value"})
        )
        means = means[means["count"] == means["line"].map(self.nodes)].assign(of=MEAN)
        several = rates[rates["line"].map(self.nodes) > 1]
        busiest = _of_busiest(several).assign(of=BUSIEST)
        both = [
            means.assign(line=2 * means["line"]),
            busiest.assign(line=2 * busiest["line"] + 1),
        ]
        return _thinned(pd.concat(both, ignore_index=True), ["tier", "run", "of"])

    def of_nodes(self, metric: str) -> Series:
        """CPU, IOPS or bandwidth of each database node, the mean of a tier's runs."""
        rates = self._rates(metric)
        lines = rates.groupby(["tier", "node"], sort=False, observed=True).ngroup()
        return _thinned(
            rates.assign(line=lines, run=rates["tier"]), ["tier", "run", "node"]
        )

    def of_limits(self, bin_s: int) -> pd.DataFrame:
        """tier, limit, begin and end, in seconds since measuring began, of each stretch of time in
        which something was at its limit in most of a tier's runs, on the node that is judged."""
        every = self.index.verdict.bottlenecks
        judged = {
            limit.profile: limit.node
            for limit in every
            if limit.workload == self.workload
        }
        table = self._by_second.reindex(columns=[*_RATES, "limit"]).dropna(
            subset=["limit"]
        )
        table = table[table["node"].astype(str) == table["tier"].map(judged)]
        bins = table.assign(begin=np.floor(table["seconds"] / bin_s) * bin_s)
        limits = bins.groupby(["tier", "begin"], sort=False)["limit"]
        most = limits.agg(lambda names: names.mode().iloc[0]).reset_index()
        same = (
            most[["tier", "limit"]]
            .ne(most[["tier", "limit"]].shift())
            .any(axis=1)
            .cumsum()
        )
        each = {"tier": "first", "limit": "first", "begin": "min", "end": "max"}
        stretches = most.assign(end=most["begin"] + bin_s).groupby(same).agg(each)
        return stretches[stretches["limit"] != ""]

    @cached_property
    def nodes(self) -> pd.Series:
        """Database nodes of each run, by its line."""
        counts = [
            sum(node.role == "database" for node in d.record.nodes)
            for _, d, _ in self._runs
        ]
        return pd.Series(counts, dtype=int)

    @cached_property
    def _runs(self) -> list[tuple[str, results.RunData, float]]:
        return [
            (tier, data, measure.start_s)
            for tier in self.index.tiers
            for data in self.index.finished(tier, self.workload)
            if (measure := data.record.phase("measure")) is not None
        ]

    @cached_property
    def _by_second(self) -> pd.DataFrame:
        """CPU in % of each node's limit, where that is known."""
        tables = []
        of_machine = results.machine_cpus(self.index.campaign)
        for _, data, _ in self._runs:
            table = data.telemetry.by_second[_SECONDS]
            limits = machines.cpu_limits(data.record.nodes, of_machine)
            scale = table["node"].map(
                {node: 100 / limit for node, limit in limits.items()}
            )
            tables.append(table.assign(cpu_pct=table["cpus"] * scale.astype(float)))
        return self._joined(tables)

    def _joined(self, tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
        """With line (a run's number), tier, run and seconds since its measuring began."""
        told = [
            table.assign(
                line=line,
                tier=tier,
                run=data.record.run.slug,
                seconds=table["time_s"] - at_s,
            )
            for line, ((tier, data, at_s), table) in enumerate(
                zip(self._runs, tables, strict=True)
            )
        ]
        empty = pd.DataFrame(
            columns=["time_s", "phase", "node", "line", "tier", "run", "seconds"]
        )
        if told:
            return pd.concat(told, ignore_index=True)
        return empty

    def _rates(self, metric: str) -> pd.DataFrame:
        """line, tier, run, seconds (begin of a step), node, phase and value of database nodes."""
        table = self._by_second.reindex(columns=[*_RATES, metric])
        return table.rename(columns={metric: "value"}).dropna(subset=["value"])


def _thinned(points: pd.DataFrame, labels: Sequence[str]) -> Series:
    """Each value belongs to the time after its own; a point stands in the middle of its bin."""
    if points.empty or points["value"].isna().all():
        return Series(pd.DataFrame(columns=_COLUMNS), 1)
    table = points.dropna(subset=["value"]).sort_values("line", kind="stable")
    span_s = table["seconds"].max() - table["seconds"].min()
    lines = table.drop_duplicates("line").set_index("line")[list(labels)].astype(str)
    of_line = min(POINTS_PER_LINE, max(LEAST_PER_LINE, POINTS // len(lines)))
    bin_s = max(1, math.ceil(span_s / of_line))
    table["seconds"] = (np.floor(table["seconds"] / bin_s) + 0.5) * bin_s
    means = table.groupby(["line", "seconds"], sort=False)["value"].mean().reset_index()
    return Series(
        lines.loc[means.pop("line")].reset_index(drop=True).join(means), bin_s
    )


def _of_busiest(rates: pd.DataFrame) -> pd.DataFrame:
    """Of each line the values of the node where they are highest while measured."""
    measuring = rates[rates["phase"] == "measure"]
    if measuring.empty:
        return measuring
    means = measuring.groupby(["line", "node"], observed=True)["value"].mean()
    busiest = means.groupby("line").idxmax().str[1]
    return rates[rates["node"].astype(str) == rates["line"].map(busiest.astype(str))]
