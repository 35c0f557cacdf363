"""Runs over time, for charts: tidy frames of seconds since measuring began, tier, run and value.

Long runs are thinned by averaging over bins of equal width; the width is told to the reader.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from orchestrator.analysis import results
from orchestrator.analysis.results import RunData
from orchestrator.analysis.telemetry import machines
from orchestrator.report.report_index import ReportIndex

POINTS_PER_LINE = 150
_COLUMNS = ["seconds", "value", "tier", "run"]
_COUNTED = ("warm-up", "measure")
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
        pieces.append(_piece(rows[column], start_s, tier, data))
    return _thinned(pieces)


def of_disk(index: ReportIndex, workload: str, metric: str) -> Series:
    """Reads and writes together, per second, of the busiest database node's disk in each run."""
    pieces = []
    for tier, data, start_s in _runs(index, workload):
        pieces.append(_piece(_busiest(_node_rates(index, data, metric)), start_s, tier, data))
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
        pieces.append(_piece(mean, start_s, tier, data, of=MEAN))
        if nodes > 1:
            pieces.append(_piece(_busiest(rates), start_s, tier, data, of=BUSIEST))
    return _thinned(pieces)


def of_nodes(index: ReportIndex, workload: str, metric: str) -> Series:
    """CPU, IOPS or bandwidth of each database node, the mean of a tier's runs."""
    pieces = []
    for tier, data, start_s in _runs(index, workload):
        rates = _node_rates(index, data, metric)
        for node, rate in rates.groupby("node", sort=False, observed=True):
            values = rate.set_index("time_s")["value"]
            piece = _piece(values, start_s, tier, data, node=str(node))
            pieces.append(piece.assign(run=tier))
    return _thinned(pieces)


def _runs(index: ReportIndex, workload: str) -> list[tuple[str, RunData, float]]:
    return [
        (tier, data, measure.start_s)
        for tier in index.tiers
        for data in index.finished(tier, workload)
        if (measure := data.record.phase("measure")) is not None
    ]


def _piece(
    values: pd.Series, start_s: float, tier: str, data: RunData, **more: str
) -> pd.DataFrame:
    """`values` by Unix time."""
    return pd.DataFrame(
        {
            "seconds": values.index.to_numpy(dtype=float) - start_s,
            "value": values.to_numpy(dtype=float),
            "tier": tier,
            "run": data.record.run.slug,
            **more,
        }
    )


def _thinned(pieces: list[pd.DataFrame]) -> Series:
    """Each value belongs to the time after its own; a point stands in the middle of its bin."""
    known = [piece.dropna(subset=["value"]) for piece in pieces]
    full = [piece for piece in known if len(piece)]
    if not full:
        return Series(pd.DataFrame(columns=_COLUMNS), 1)
    table = pd.concat(full, ignore_index=True)
    span_s = table["seconds"].max() - table["seconds"].min()
    bin_s = max(1, math.ceil(span_s / POINTS_PER_LINE))
    table["seconds"] = (np.floor(table["seconds"] / bin_s) + 0.5) * bin_s
    lines = [name for name in table.columns if name not in ("seconds", "value")]
    means = table.groupby([*lines, "seconds"], sort=False)["value"].mean()
    return Series(means.reset_index(), bin_s)


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
