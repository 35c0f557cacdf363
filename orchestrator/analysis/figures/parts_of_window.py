"""A window in several parts, such as before, while and after a node is lost. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from orchestrator import parts
from orchestrator.analysis.figures.transactions import Window, is_at_a_rate
from orchestrator.model import Measurement

if TYPE_CHECKING:
    import pandas as pd


class Edges(NamedTuple):
    """The moments between which the parts lie, in Unix seconds."""

    begin_s: float
    event_s: float
    over_s: float
    end_s: float


class PartOfWindow(Window):
    """What ended in a part of the window. Latencies are of what was under way in it.

    A transaction that was under way during the event, such as a slow disk, is of the event: a
    stall holds up what began before it and ends after it.
    """

    def __init__(
        self, part: tuple[float, float], edges: Edges, pooled: bool, at_a_rate: bool
    ) -> None:
        super().__init__(*part, pooled, at_a_rate)
        self._edges = edges
        self._is_event = part == (edges.event_s, edges.over_s)

    def timed(self, table: pd.DataFrame) -> pd.DataFrame:
        if self._is_event:
            return table[self._under_way(table)]
        timed = super().timed(table)
        return timed[~self._under_way(timed)]

    def _under_way(self, table: pd.DataFrame) -> pd.Series:
        """Whether each was at some moment of the event, which begins with its first one."""
        start_s = table["start_s"]
        ended_s = start_s + table["latency_s"]
        edges = self._edges
        return (start_s < edges.over_s) & (ended_s >= edges.event_s)


class WindowParts(NamedTuple):
    """The parts of a window in their order."""

    before: PartOfWindow
    meanwhile: PartOfWindow
    after: PartOfWindow

    def add(self, table: pd.DataFrame) -> None:
        for part in self:
            part.add(table)


def between(edges: Edges, result: parts.Result, pooled: bool) -> WindowParts:
    """The parts, to which no transaction is added yet. `pooled`: as of `transactions`."""
    at_a_rate = is_at_a_rate(result.facts, pooled)
    before = PartOfWindow((edges.begin_s, edges.event_s), edges, pooled, at_a_rate)
    meanwhile = PartOfWindow((edges.event_s, edges.over_s), edges, pooled, at_a_rate)
    after = PartOfWindow((edges.over_s, edges.end_s), edges, pooled, at_a_rate)
    return WindowParts(before, meanwhile, after)


def figures(parts: WindowParts, scopes: Sequence[str]) -> Iterator[Measurement]:
    """The figures of all transactions in each part of the window, under its scope."""
    for part, scope in zip(parts, scopes, strict=True):
        yield from _figures_of(part, scope)


def _figures_of(part: Window, scope: str) -> Iterator[Measurement]:
    """A mere moment has none."""
    # A rate within less than a second is that of a few transactions.
    if part.duration_s < 1:
        return
    for measurement in part.measurements(None):
        if measurement.scope == "all":
            yield replace(measurement, scope=scope)
