"""Tables of single transactions → the figures and intervals of a window. Pure.

Every load generator that keeps each transaction is read into the same table, so its figures are
defined once, here (docs/research/RULES.md):

table: start_s (Unix; when it was started, or was due in an open loop or with think time),
    latency_s (to its end, retries and queueing included), queue_s, type (category), outcome
    (0 committed, 1 rolled back on purpose, 2 failed), retries, sqlstate ("" if none).

`at_a_rate`: work comes at a pace of its own (open loop), and latency is that of what was due in the
window: otherwise a stall at its end would be in no figure. `pooled`: terminals with think time
share connections; then `queue_s` is a terminal's wait for a free one, a measurement of its own, and
latency is without it.

A long run has more transactions than memory holds: `Window` and `Seconds` are given its tables one
after the other, and keep only what their figures need. Percentiles are exact all the same."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from orchestrator.analysis.figures.counted import Counted, together
from orchestrator.analysis.statistics import stats
from orchestrator.analysis.statistics.arrivals import CHANCE
from orchestrator.facts import GeneratorFacts
from orchestrator.metrics import (
    DELIVERY,
    INTERVAL_COLUMNS,
    NEW_ORDER,
    PERCENTILES,
    measured,
)
from orchestrator.model import Measurement

if TYPE_CHECKING:
    import pandas as pd

COMMITTED = 0
ROLLED_BACK = 1
FAILED = 2


def is_at_a_rate(facts: GeneratorFacts, pooled: bool) -> bool:
    """Whether a load came at a rate, which with think time is no pace but a consequence."""
    return bool(facts.arrival_rate_per_s) and not pooled


def measurements(
    table: pd.DataFrame, start_s: float, end_s: float, statements: int | None
) -> tuple[Measurement, ...]:
    """All figures of [start_s, end_s), for all types together and, if several, for each. The
    transactions follow one another, without think time."""
    window = Window(start_s, end_s, pooled=False, at_a_rate=False)
    window.add(table)
    return window.measurements(statements)


class Window:
    """The figures of the transactions that ended in [start_s, end_s), whose tables come in any
    order; `at_a_rate` latency of those that were due in it."""

    def __init__(
        self, start_s: float, end_s: float, pooled: bool, at_a_rate: bool
    ) -> None:
        self._start_s = start_s
        self._end_s = end_s
        self._pooled = pooled
        self._at_a_rate = at_a_rate
        self._counts = Counter[Hashable]()  # counts by type and outcome
        self._retries = Counter[Hashable]()
        self._unstarted = Counter[str]()
        self._latency_s: dict[str, Counted] = {}
        self._waits_s = Counted()
        self._due = 0
        self._ended = 0

    @property
    def duration_s(self) -> float:
        return self._end_s - self._start_s

    @property
    def fell_due(self) -> int:
        """How many were due in it, of those that ever began."""
        return self._due

    def add(self, table: pd.DataFrame) -> None:
        inside = ended(table, self._start_s, self._end_s)
        self._ended += len(inside)
        self._due += len(due(table, self._start_s, self._end_s))
        if self._pooled:
            self._waits_s.add(inside["queue_s"].to_numpy())
        by_outcome = inside.groupby(["type", "outcome"], observed=True)
        self._counts.update(by_outcome.size().to_dict())
        by_type = inside.groupby("type", observed=True)
        self._retries.update(by_type["retries"].sum().to_dict())
        self.add_latencies(table)

    def add_latencies(self, table: pd.DataFrame) -> None:
        """What percentiles are of, and nothing that is counted besides."""
        timed = self.timed(table)
        served = timed[timed["outcome"] != FAILED]
        latency_s = served["latency_s"].to_numpy()
        if self._pooled:
            # A generator that does not know what was spent waiting leaves no number.
            queue_s = served["queue_s"].to_numpy(dtype=float)
            latency_s = latency_s - np.nan_to_num(queue_s)
        for name in served["type"].cat.categories:
            is_of_type = (served["type"] == name).to_numpy()
            self._latency_s.setdefault(name, Counted()).add(latency_s[is_of_type])

    def timed(self, table: pd.DataFrame) -> pd.DataFrame:
        """The transactions whose latency counts."""
        # A stall at the end of the window would otherwise be in no figure of an open loop.
        if self._at_a_rate:
            return due(table, self._start_s, self._end_s)
        return ended(table, self._start_s, self._end_s)

    def add_unstarted(self, waits_s: Mapping[str, np.ndarray]) -> None:
        """Type → how long those had been due, when the load ended, that never began."""
        for name, waited_s in waits_s.items():
            in_window = waited_s[waited_s <= self._end_s - self._start_s]
            self._unstarted[name] += len(in_window)
            self._latency_s.setdefault(name, Counted()).add(in_window)

    def measurements(self, statements: int | None) -> tuple[Measurement, ...]:
        """The figures of all types together and, if there are several types, of each."""
        types = list(self._latency_s)
        all_types = tuple(self._type_figures(types, "all"))
        figures = [*all_types, *_statement_figures(all_types, statements)]
        if len(types) > 1:
            for name in types:
                figures += self._type_figures([name], name)
        if NEW_ORDER in types:
            # Only commits count: an order that was rolled back on purpose is none.
            orders_per_s = self._counts[NEW_ORDER, COMMITTED] / self.duration_s
            figures.append(measured("nopm", orders_per_s * 60))
        figures += self._connection_waits()
        return tuple(figures)

    def _connection_waits(self) -> Iterator[Measurement]:
        """How long terminals waited for a connection, transactions of all types together."""
        if self._waits_s.total:
            yield measured("connection_wait_avg_s", self._waits_s.mean)
        if self._waits_s.total >= stats.percentile_min_count(99.0):
            yield measured("connection_wait_p99_s", self._waits_s.percentile(99.0))

    def ranked(self, scope: str) -> Counted:
        """The latencies that the percentiles of a type are of, or of all types together."""
        return together(self._latency_s[name] for name in self._ranked(scope))

    def _ranked(self, scope: str) -> list[str]:
        """The types whose latencies are ranked together: all but Delivery."""
        types = [name for name in self._latency_s if scope in ("all", name)]
        # Delivery is 4 % of the mix with tenfold work, and would alone decide the p99 of all types.
        return [name for name in types if name != DELIVERY or NEW_ORDER not in types]

    def _type_figures(
        self, types: Collection[str], scope: str
    ) -> Iterator[Measurement]:
        rolled_back = self._count(types, ROLLED_BACK)
        # What was rolled back on purpose was served too.
        served = self._count(types, COMMITTED) + rolled_back
        retries = sum(self._retries[name] for name in types)
        yield measured("transactions", served, scope)
        yield measured("throughput_per_s", served / self.duration_s, scope)
        yield measured("rollbacks", rolled_back, scope)
        yield measured("failures", self._count(types, FAILED), scope)
        yield measured("retries", retries, scope)
        latency_s = together(self._latency_s[name] for name in types)
        if latency_s.total:
            yield measured("latency_avg_s", latency_s.mean, scope)
            yield measured("latency_max_s", latency_s.most, scope)
            yield from self._percentiles(scope)

    def _count(self, types: Collection[str], outcome: int) -> int:
        return sum(self._counts[name, outcome] for name in types)

    def _percentiles(self, scope: str) -> Iterator[Measurement]:
        """The percentiles with enough transactions beyond them."""
        in_order = self.ranked(scope)
        unstarted = sum(self._unstarted[name] for name in self._ranked(scope))
        begun = in_order.total - unstarted
        for metric, percent in PERCENTILES.items():
            enough = in_order.total >= stats.percentile_min_count(percent)
            # Only a lower bound is known of the latency of what was due and never began. It is the
            # slowest, so a percentile that would be one of these is left out.
            if enough and stats.rank(in_order.total, percent) <= begun:
                yield measured(metric, in_order.percentile(percent), scope)

    def flow(self, rate_per_s: float, unstarted: float) -> tuple[Measurement, ...]:
        """What fell due in the window and what ended in it. `unstarted`: what was due and had not
        begun at the end of the run."""
        fell_due = self._due + unstarted
        asked = rate_per_s * self.duration_s
        # More than may have come in the window by chance: the first of them came before it. Then
        # the rate asked for stands for what was offered.
        offered = asked
        if fell_due <= asked + CHANCE * math.sqrt(asked):
            offered = fell_due
        return (
            measured("offered_per_s", offered / self.duration_s),
            measured("served_per_s", self._ended / self.duration_s),
        )


def _statement_figures(
    figures: Iterable[Measurement], statements: int | None
) -> Iterator[Measurement]:
    """The average of one, where a transaction has a known number of them."""
    for figure in figures:
        if statements and figure.metric == "latency_avg_s":
            yield measured("statement_latency_avg_s", figure.value / statements)


def ended(table: pd.DataFrame, start_s: float, end_s: float) -> pd.DataFrame:
    """The transactions that ended in [start_s, end_s)."""
    ended_s = table["start_s"] + table["latency_s"]
    return table[(ended_s >= start_s) & (ended_s < end_s)]


def due(table: pd.DataFrame, start_s: float, end_s: float) -> pd.DataFrame:
    """The transactions that were due in [start_s, end_s), whenever they ended."""
    return table[(table["start_s"] >= start_s) & (table["start_s"] < end_s)]


def intervals(
    table: pd.DataFrame, phases: Mapping[str, tuple[float, float]]
) -> pd.DataFrame:
    """One row per whole second of each phase, with INTERVAL_COLUMNS; `time_s` is its begin (Unix).
    A second without transactions has throughput 0. Percentiles as of all types together. The
    transactions follow one another, without think time."""
    seconds = Seconds(phases, pooled=False)
    seconds.add(table)
    return seconds.intervals()


# Columns of a transaction: `ranked` tells whether percentiles are of it.
_ENDED = np.dtype(
    [("ended_s", float), ("latency_s", float), ("failed", bool), ("ranked", bool)]
)


class Seconds:
    """The intervals of transactions whose tables come in order of start: no transaction of a table
    starts before one of the table before. So a second is over for good when a table begins after
    it, and only transactions that end later are kept."""

    def __init__(self, phases: Mapping[str, tuple[float, float]], pooled: bool) -> None:
        self._pooled = pooled
        self._edges: dict[str, np.ndarray] = {}
        for phase, (start_s, end_s) in phases.items():
            # A microsecond more, or rounding might leave out the last whole second.
            self._edges[phase] = np.arange(start_s, end_s + 1e-6, 1.0)
        self._rows: dict[str, list[dict[str, object]]] = {phase: [] for phase in phases}
        self._open = np.empty(0, _ENDED)

    def add(self, table: pd.DataFrame) -> None:
        if table.empty:
            return
        start_s = table["start_s"].to_numpy()
        # Tables come in order of start: nothing that is still to come ends before this one begins.
        if self._open.size:
            self._close(float(start_s.min()))
        latency_s = table["latency_s"].to_numpy()
        new = np.empty(len(table), _ENDED)
        new["ended_s"] = start_s + latency_s
        new["latency_s"] = latency_s
        if self._pooled:
            new["latency_s"] -= table["queue_s"].to_numpy()
        new["failed"] = table["outcome"].to_numpy() == FAILED
        new["ranked"] = True
        # The window's percentiles do the same: Delivery alone would decide them.
        if NEW_ORDER in table["type"].cat.categories:
            new["ranked"] = (table["type"] != DELIVERY).to_numpy()
        self._open = np.concatenate([self._open, new])

    def intervals(self) -> pd.DataFrame:
        """See `intervals`. Nothing can be added any more."""
        self._close(np.inf)
        rows: list[dict[str, object]] = []
        for rows_of_phase in self._rows.values():
            rows += rows_of_phase
        import pandas as pd

        return pd.DataFrame(rows, columns=list(INTERVAL_COLUMNS))

    def _close(self, until_s: float) -> None:
        """Makes the rows of all seconds that end by `until_s`, before which nothing more ends."""
        ended = self._open[np.argsort(self._open["ended_s"], kind="stable")]
        needed_s = until_s
        for phase, edges in self._edges.items():
            # One row for each second that is over: the other edges are still to come.
            left = edges[len(self._rows[phase]) :]
            over = left[: 1 + np.count_nonzero(left[1:] <= until_s)]
            self._rows[phase] += _rows(phase, over, ended)
            # A second that has begun needs what ended in it until it is over.
            if len(over) < len(left):
                needed_s = min(needed_s, float(over[-1]))
        self._open = ended[ended["ended_s"] >= needed_s]


def _rows(
    phase: str, edges_s: np.ndarray, ended: np.ndarray
) -> Iterator[dict[str, object]]:
    """The rows of the seconds between these edges. `ended`: in order of their ends."""
    places = np.searchsorted(ended["ended_s"], edges_s)
    for begin_s, (low, high) in zip(edges_s[:-1], pairwise(places), strict=True):
        yield _interval(begin_s, phase, ended[low:high])


def _interval(begin_s: float, phase: str, ended: np.ndarray) -> dict[str, object]:
    good = ended[~ended["failed"]]
    latency_s = good["latency_s"]
    ranked_s = good["latency_s"][good["ranked"]]
    row: dict[str, object] = {
        "time_s": round(float(begin_s), 6),
        "phase": phase,
        "throughput_per_s": len(latency_s),
        "errors": int(ended["failed"].sum()),
    }
    if len(latency_s):
        row["latency_avg_s"] = float(latency_s.mean())
    if len(ranked_s):
        percents = (50, 95, 99)
        # The nearest rank, as in the window: a latency that occurred, not one between two.
        values_s = np.percentile(ranked_s, percents, method="inverted_cdf").tolist()
        for percent, value_s in zip(percents, values_s, strict=True):
            row[f"latency_p{percent}_s"] = value_s
    return row
