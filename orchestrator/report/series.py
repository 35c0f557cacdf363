"""Runs over time, for charts: tidy frames of seconds since measuring began, tier, run and value.

Long runs are thinned by averaging over bins of equal width; the width is told to the reader.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from orchestrator.analysis import counters
from orchestrator.analysis.results import RunData
from orchestrator.report.report_index import ReportIndex

POINTS_PER_LINE = 150
_COLUMNS = ["seconds", "value", "tier", "run"]
_COUNTED = ("warm-up", "measure")
_DISK_COUNTERS = {
    "disk_iops": (counters.READS, counters.WRITES),
    "disk_bytes_per_s": (counters.READ_BYTES, counters.WRITTEN_BYTES),
}


@dataclass(frozen=True)
class Series:
    """seconds (0 is when measuring began), value, tier, run; `bin_s` is each point's width."""

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
        rows = data.intervals[data.intervals["phase"].isin(_COUNTED)]
        pieces.append(_piece(rows["time_s"] - start_s, rows[column], tier, data))
    return _thinned(pieces)


def of_disk(index: ReportIndex, workload: str, metric: str) -> Series:
    """Reads and writes together, per second, of the busiest database node's disk in each run."""
    pieces = []
    for tier, data, start_s in _runs(index, workload):
        rate = _busiest_node_rate(data, _DISK_COUNTERS[metric])
        pieces.append(_piece(rate.index.to_series() - start_s, rate, tier, data))
    return _thinned(pieces)


def _runs(index: ReportIndex, workload: str) -> list[tuple[str, RunData, float]]:
    return [
        (tier, data, measure.start_s)
        for tier in index.tiers
        for data in index.finished(tier, workload)
        if (measure := data.record.phase("measure")) is not None
    ]


def _piece(seconds: pd.Series, value: pd.Series, tier: str, data: RunData) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "seconds": seconds.to_numpy(dtype=float),
            "value": value.to_numpy(dtype=float),
            "tier": tier,
            "run": data.record.run.slug,
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
    means = table.groupby(["tier", "run", "seconds"], sort=False)["value"].mean()
    return Series(means.reset_index(), bin_s)


def _busiest_node_rate(data: RunData, metrics: tuple[str, ...]) -> pd.Series:
    """The sum of the counters' rates, by the begin of each step, of the node where it is highest
    while measured."""
    names = [node.name for node in data.record.nodes if node.role == "database"]
    table = data.samples
    rows = table["metric"].isin(metrics) & table["node"].isin(names)
    rates = counters.rates(table[rows])
    rates = rates[rates["phase"].isin(_COUNTED)]
    measuring = rates[rates["phase"] == "measure"]
    if measuring.empty:
        return pd.Series(dtype=float)
    busiest = measuring.groupby("node")["value"].mean().idxmax()
    own = rates[rates["node"] == busiest]
    return own["value"].groupby(own["time_s"] - own["step_s"]).sum()
