"""Runs over time, for charts: tidy frames of seconds since measuring began, tier, run and value,
thinned by averaging over bins of equal width, which the reader is told.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from orchestrator.analysis import results
from orchestrator.analysis.results import RunData
from orchestrator.analysis.telemetry import machines
from orchestrator.report.report_index import ReportIndex

POINTS_PER_LINE, LEAST_PER_LINE = 150, 50
POINTS = 6000  # of all lines of a chart, as long as each has the least
_COLUMNS = ["seconds", "value", "tier", "run"]
_COUNTED = ("warm-up", "measure")
_Piece = tuple[tuple[tuple[str, str], ...], pd.DataFrame]  # labels of a line; seconds, value
MEAN, BUSIEST = "mean of nodes", "busiest node"


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


def of_interval(index: ReportIndex, workload: str, column: str) -> Series:
    """A column of intervals.csv for every run of a workload that left one."""
    pieces = []
    for tier, data, start_s in _runs(index, workload):
        rows = data.intervals[data.intervals["phase"].isin(_COUNTED)].set_index("time_s")
        pieces.append(_piece(rows[column], start_s, tier, data.record.run.slug))
    return _thinned(pieces)


def of_disk(index: ReportIndex, workload: str, metric: str) -> Series:
    """Reads and writes together, per second, of the busiest database node's disk in each run."""
    pieces = []
    for tier, data, start_s in _runs(index, workload):
        busiest = _busiest(_node_rates(index, data, metric))
        pieces.append(_piece(busiest, start_s, tier, data.record.run.slug))
    return _thinned(pieces)


def of_cpu(index: ReportIndex, workload: str) -> Series:
    """CPU of the database nodes in each run, in % of what a node may use: their mean whenever all
    of them were read, and the node that is busiest while measured, if there are several."""
    pieces = []
    for tier, data, start_s in _runs(index, workload):
        rates = _node_rates(index, data, "cpu_pct")
        nodes = sum(node.role == "database" for node in data.record.nodes)
        by_time = rates.groupby("time_s")["value"].agg(["mean", "count"])
        mean = by_time["mean"][by_time["count"] == nodes]
        pieces.append(_piece(mean, start_s, tier, data.record.run.slug, of=MEAN))
        if nodes > 1:
            pieces.append(_piece(_busiest(rates), start_s, tier, data.record.run.slug, of=BUSIEST))
    return _thinned(pieces)


def of_nodes(index: ReportIndex, workload: str, metric: str) -> Series:
    """CPU, IOPS or bandwidth of each database node, the mean of a tier's runs."""
    pieces = []
    for tier, data, start_s in _runs(index, workload):
        rates = _node_rates(index, data, metric)
        for node, rate in rates.groupby("node", sort=False, observed=True):
            values = rate.set_index("time_s")["value"]
            pieces.append(_piece(values, start_s, tier, tier, node=str(node)))
    return _thinned(pieces)


def _runs(index: ReportIndex, workload: str) -> list[tuple[str, RunData, float]]:
    return [
        (tier, data, measure.start_s)
        for tier in index.tiers
        for data in index.finished(tier, workload)
        if (measure := data.record.phase("measure")) is not None
    ]


def _piece(values: pd.Series, start_s: float, tier: str, run: str, **more: str) -> _Piece:
    """`values` by Unix time."""
    known = values.dropna()
    seconds = known.index.to_numpy(dtype=float) - start_s
    points = pd.DataFrame({"seconds": seconds, "value": known.to_numpy(dtype=float)})
    return (("tier", tier), ("run", run), *more.items()), points


def _thinned(pieces: Sequence[_Piece]) -> Series:
    """Each value belongs to the time after its own; a point stands in the middle of its bin."""
    full = [(line, points) for line, points in pieces if len(points)]
    if not full:
        return Series(pd.DataFrame(columns=_COLUMNS), 1)
    lines = list(dict.fromkeys(line for line, _ in full))
    numbers = {line: number for number, line in enumerate(lines)}
    numbered = [points.assign(line=numbers[line]) for line, points in full]
    table = pd.concat(numbered, ignore_index=True)
    span_s = table["seconds"].max() - table["seconds"].min()
    most = min(POINTS_PER_LINE, max(LEAST_PER_LINE, POINTS // len(lines)))
    bin_s = max(1, math.ceil(span_s / most))
    table["seconds"] = (np.floor(table["seconds"] / bin_s) + 0.5) * bin_s
    means = table.groupby(["line", "seconds"], sort=False)["value"].mean().reset_index()
    labels = pd.DataFrame([dict(lines[number]) for number in means.pop("line")])
    return Series(labels.join(means), bin_s)


def _node_rates(index: ReportIndex, data: RunData, metric: str) -> pd.DataFrame:
    """time_s (begin of each step), node, value and phase, of every database node; CPU of those
    whose limit is known, in % of it."""
    column = "cpus" if metric == "cpu_pct" else metric
    table = data.telemetry.by_second[["time_s", "node", "phase", column]].dropna()
    rates = table.rename(columns={column: "value"})
    if metric == "cpu_pct":
        limits = machines.cpu_limits(data.record.nodes, results.machine_cpus(index.campaign))
        rates = rates[rates["node"].isin(list(limits))]
        scale = rates["node"].map({node: 100 / limit for node, limit in limits.items()})
        rates = rates.assign(value=rates["value"] * scale.astype(float))
    return rates


def _busiest(rates: pd.DataFrame) -> pd.Series:
    """The values by time of the node where they are highest while measured."""
    measuring = rates[rates["phase"] == "measure"]
    if measuring.empty:
        return pd.Series(dtype=float)
    busiest = measuring.groupby("node", observed=True)["value"].mean().idxmax()
    return rates[rates["node"] == busiest].set_index("time_s")["value"]
