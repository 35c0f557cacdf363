"""What measured cells of the raw disk matrix say about a disk. Pure.

Found from them: the ceilings (IOPS, bytes/s), the native I/O size where they meet, and how
latency grows with what is in flight (docs/research/RULES.md). The cells are those of
`design/disk_matrix.py`.
"""

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from orchestrator.design.disk_matrix import FIGURES, MatrixCell, series, way
from orchestrator.metrics import measured as measurement
from orchestrator.model import Measurement

WAYS = ("all", "read", "write", "mixed")
# Rates within this share of the highest are one plateau: a second's noise is about one percent.
PLATEAU = 0.95
# A ceiling is believed only where that much more in flight gave no more.
DEEPER = 1.5
MIN_LAW_POINTS = 3  # any two points lie on a line
# Cells that differ in nothing else than depth and threads are one series.
SERIES = ["pattern", "read_pct", "block_bytes"]
_AXIS_COLUMNS = [field.name for field in fields(MatrixCell)]


def table(
    cells: Sequence[MatrixCell], figures: Mapping[tuple[str, str], float]
) -> pd.DataFrame:
    """A row for each measured cell: name, its axes, in_flight, FIGURES and typical_s, which is the
    median latency, or the mean where there is none.

    NaN: absent. `figures`: (metric, scope) → value, a cell's name being the scope.
    """
    rows: list[dict[str, Any]] = []
    for cell in cells:
        if ("iops", cell.name) not in figures:
            continue
        row = {"name": cell.name, **vars(cell), "in_flight": cell.in_flight}
        row |= {metric: figures.get((metric, cell.name), np.nan) for metric in FIGURES}
        rows.append(row)
    columns = ["name", *_AXIS_COLUMNS, "in_flight", *FIGURES]
    measured = pd.DataFrame(rows, columns=columns)
    # fio collects what is still in flight at the end all at once. That lengthens a mean by latency
    # / (2 × measured time), and leaves the median alone.
    typical_s = measured["latency_p50_s"].fillna(measured["latency_avg_s"])
    return measured.assign(typical_s=typical_s)


def lightest(measured: pd.DataFrame) -> pd.Series:
    """The cell nearest to one small random read alone: what one I/O takes on an idle disk."""
    distances = measured.assign(
        is_sequential=measured["pattern"] != "random",
        write_pct=100 - measured["read_pct"],
    )
    # What is in flight matters most, as I/Os that wait for each other are no single one's time.
    by_importance = ["in_flight", "block_bytes", "is_sequential", "write_pct"]
    ordered = distances.sort_values(by_importance, kind="stable")
    nearest: pd.Series = measured.loc[ordered.index[0]]
    return nearest


@dataclass(frozen=True)
class Ceiling:
    """The rate that a disk does not exceed: the median of the `cells` on its highest plateau.

    `reached`: with half as much again in flight some block size gave no more, though the other
    limit did not hold it back. Cells of a single block size cannot tell the two limits apart.
    """

    value: float
    cells: int
    reached: bool


def ceilings(measured: pd.DataFrame, metric: str) -> dict[str, Ceiling]:
    """Word of `WAYS` → the ceiling of its cells. `metric`: `iops` or `bytes_per_s`."""
    other_metric = "iops"
    if metric == "iops":
        other_metric = "bytes_per_s"
    # Near the other limit's ceiling it is not known which of the two held a cell back.
    other_rates = measured[other_metric]
    is_free = other_rates < PLATEAU * other_rates.max()
    ways = measured["read_pct"].map(way)
    highest: dict[str, Ceiling] = {}
    for name in WAYS:
        rows = measured
        if name != "all":
            rows = measured[ways == name]
        if not rows.empty:
            highest[name] = _ceiling(rows, metric, is_free)
    return highest


def _ceiling(rows: pd.DataFrame, metric: str, is_free: pd.Series) -> Ceiling:
    """`is_free`: of each cell, whether the other limit did not hold it back."""
    plateau = rows[rows[metric] >= PLATEAU * rows[metric].max()]
    unlimited = plateau[is_free.loc[plateau.index]]
    spans = unlimited.groupby(SERIES)["in_flight"].agg(["min", "max"])
    is_deeper = spans["max"] >= DEEPER * spans["min"]
    return Ceiling(
        # The median stands for it: of many cells, some are always a little too lucky.
        value=float(plateau[metric].median()),
        cells=len(plateau),
        reached=bool(is_deeper.any()),
    )


def native_io_bytes(measured: pd.DataFrame) -> float | None:
    """The block at which the two ceilings meet; None where either was not reached.

    A smaller block costs the disk as much as one of this size, a larger one in proportion.
    That holds whether a provider counts large I/Os as several or limits bytes/s. At least one cell
    must have been measured.
    """
    iops = ceilings(measured, "iops")["all"]
    rate = ceilings(measured, "bytes_per_s")["all"]
    if iops.reached and rate.reached:
        return rate.value / iops.value
    return None


@dataclass(frozen=True)
class BlockStep:
    """What the next larger block costs: medians of the ratios of median latencies."""

    small_bytes: int
    large_bytes: int
    latency_ratio: float
    cells: int


def block_steps(measured: pd.DataFrame) -> tuple[BlockStep, ...]:
    """The steps from each block size to the next larger one.

    Only loads that saturate the disk with both sizes are used.
    """
    blocks = sorted(int(block) for block in measured["block_bytes"].unique())
    busy = measured[_saturated(measured)]
    latencies_s = {block: _latencies_s(busy, block) for block in blocks}
    block_steps: list[BlockStep] = []
    for small, large in pairwise(blocks):
        ratios = (latencies_s[large] / latencies_s[small]).dropna()
        if not ratios.empty:
            ratio = float(ratios.median())
            block_steps.append(BlockStep(small, large, ratio, len(ratios)))
    return tuple(block_steps)


def _latencies_s(measured: pd.DataFrame, block_bytes: int) -> pd.Series:
    """The latencies at one block size, by all else that distinguishes cells."""
    block_rows = measured[measured["block_bytes"] == block_bytes]
    by_load = block_rows.set_index(["pattern", "read_pct", "depth", "threads"])
    latencies_s: pd.Series = by_load["typical_s"]
    return latencies_s


def _saturated(measured: pd.DataFrame) -> pd.Series:
    """Whether each cell is on its series' plateau, and that reaches over half as much again."""
    highest = measured.groupby(SERIES)["iops"].transform("max")
    on_plateau = measured["iops"] >= PLATEAU * highest
    in_flight = measured["in_flight"].where(on_plateau)
    by_series = in_flight.groupby([measured[column] for column in SERIES])
    span = by_series.transform("max") / by_series.transform("min")
    return on_plateau & (span >= DEEPER)


@dataclass(frozen=True)
class DepthLaw:
    """Median latency of one series (pattern, read share, block) against what is in flight.

    Beyond saturation, latency = intercept + slope × in flight; by Little's law the slope
    is 1 / IOPS. `off_pct`: how far the worst of `points` is from that line;
    `saturated_from`: the fewest in flight on the plateau; `alone_s`: latency with a single
    I/O in flight, where measured.
    """

    pattern: str
    read_pct: int
    block_bytes: int
    iops: float
    alone_s: float | None
    saturated_from: int
    slope_s: float
    off_pct: float
    points: int

    @property
    def scope(self) -> str:
        return series(self.pattern, self.read_pct, self.block_bytes)


def depth_laws(measured: pd.DataFrame) -> tuple[DepthLaw, ...]:
    """One for each series with at least three depths beyond saturation, in the table's order."""
    busy = _saturated(measured)
    laws: list[DepthLaw] = []
    for _, rows in measured.groupby(SERIES, sort=False):
        beyond = rows[busy.loc[rows.index]]
        if beyond["in_flight"].nunique() >= MIN_LAW_POINTS:
            laws.append(_law(rows, beyond))
    return tuple(laws)


def _law(rows: pd.DataFrame, beyond: pd.DataFrame) -> DepthLaw:
    # Latency hardly grows before saturation: those points would flatten the line.
    fit = statistics.linear_regression(beyond["in_flight"], beyond["typical_s"])
    line = fit.intercept + fit.slope * beyond["in_flight"]
    off = (beyond["typical_s"] / line - 1).abs()
    alone = rows.loc[rows["in_flight"] == 1, "typical_s"]
    alone_s: float | None = None
    if len(alone):
        alone_s = float(alone.iloc[0])
    first = rows.iloc[0]
    return DepthLaw(
        pattern=str(first["pattern"]),
        read_pct=int(first["read_pct"]),
        block_bytes=int(first["block_bytes"]),
        iops=float(beyond["iops"].median()),
        alone_s=alone_s,
        saturated_from=int(beyond["in_flight"].min()),
        slope_s=float(fit.slope),
        off_pct=float(off.max() * 100),
        points=len(beyond),
    )


def figures_of_matrix(
    points: Sequence[MatrixCell], figures: Sequence[Measurement]
) -> Iterator[Measurement]:
    """Figures of the whole matrix, from those of its cells."""
    by_name = {(figure.metric, figure.scope): figure.value for figure in figures}
    rows = table(points, by_name)
    yield from _figures_of_ceilings(rows, "iops")
    yield from _figures_of_ceilings(rows, "bytes_per_s")
    yield from _latencies_alone(rows)
    native = native_io_bytes(rows)
    if native is not None:
        yield measurement("native_io_bytes", native)
    for law in depth_laws(rows):
        yield measurement("latency_per_depth_s", law.slope_s, law.scope)


def _latencies_alone(rows: pd.DataFrame) -> Iterator[Measurement]:
    """What one small I/O takes on an idle disk."""
    alone = lightest(rows)
    for metric in FIGURES:
        if metric.startswith("latency_") and not math.isnan(alone[metric]):
            yield measurement(metric, float(alone[metric]))


def _figures_of_ceilings(rows: pd.DataFrame, metric: str) -> Iterator[Measurement]:
    """The highest plateaus; a ceiling only if it was reached."""
    for direction, ceiling in ceilings(rows, metric).items():
        if metric == "iops" and direction == "all":
            yield measurement("throughput_per_s", ceiling.value)
        if ceiling.reached:
            yield measurement(f"{metric}_ceiling", ceiling.value, direction)
