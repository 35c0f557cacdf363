"""Points of lines over time, as arrays. Pure.

A page draws dozens of series of a few hundred points each. Tables of them take ten times as long as
their arrays."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]
Numbers = np.ndarray[Any, np.dtype[np.int_]]


@dataclass(frozen=True)
class Points:
    """Values, one behind the other. line: the number of the line of each; seconds: its moment."""

    line: Numbers
    seconds: Array
    value: Array

    def where(self, is_wanted: Flags) -> Points:
        return Points(
            self.line[is_wanted], self.seconds[is_wanted], self.value[is_wanted]
        )

    def without_gaps(self) -> Points:
        return self.where(~np.isnan(self.value))

    def line_by_line(self) -> Points:
        """In the order of their lines, and else as they are."""
        order = np.argsort(self.line, kind="stable")
        return Points(self.line[order], self.seconds[order], self.value[order])

    def beside(self, other: Points) -> Points:
        """Both: line n of these has the number 2n then, and line n of the others 2n + 1."""
        return Points(
            np.concatenate([2 * self.line, 2 * other.line + 1]),
            np.concatenate([self.seconds, other.seconds]),
            np.concatenate([self.value, other.value]),
        )

    def means_of_bins(self, bin_s: int) -> Points:
        """The means of each line in bins of this width, at the middle of each."""
        # Rounded down, not towards zero: seconds of the warm-up are negative.
        number = np.floor(self.seconds / bin_s)
        bins = grouped(self.line, number)
        middle_s = (number[bins.first] + 0.5) * bin_s
        return Points(self.line[bins.first], middle_s, bins.means(self.value))


@dataclass(frozen=True)
class PointsOfNodes:
    """Points of several nodes. node: the number of the node of each, in the alphabetical order of
    `names`; is_measured: whether each is of the measured window."""

    points: Points
    node: Numbers
    is_measured: Flags
    names: tuple[str, ...]

    def where(self, is_wanted: Flags) -> PointsOfNodes:
        return PointsOfNodes(
            points=self.points.where(is_wanted),
            node=self.node[is_wanted],
            is_measured=self.is_measured[is_wanted],
            names=self.names,
        )

    def of_busiest(self) -> Points:
        """For each line, the points of the node where they are highest while measured.

        No point of a line that was not measured."""
        # One node throughout: the busiest of each second would be a line that no node has.
        busiest = self._busiest_of_lines()
        return self.points.where(busiest[self.points.line] == self.node)

    def _busiest_of_lines(self) -> Numbers:
        """Line → the node that is busiest, of equal ones the first in the alphabet; -1: none."""
        measured = self.where(self.is_measured)
        pairs = grouped(measured.points.line, measured.node)
        means = pairs.means(measured.points.value)
        lines = measured.points.line[pairs.first]
        nodes = measured.node[pairs.first]
        busiest = np.full(int(self.points.line.max(initial=-1)) + 1, -1)
        # The last of a line in this order has its highest mean, and stays.
        for place in np.lexsort((-nodes, means)).tolist():
            busiest[lines[place]] = nodes[place]
        return busiest

    def means(self, nodes_of_lines: Numbers) -> Points:
        """The means of all nodes of each line, without moments at which one was not read.

        `nodes_of_lines`: how many nodes each line has."""
        points = self.points
        moments = grouped(points.line, points.seconds)
        line = points.line[moments.first]
        means = Points(line, points.seconds[moments.first], moments.means(points.value))
        return means.where(moments.counts() == nodes_of_lines[line])


@dataclass(frozen=True)
class Groups:
    """Rows that are alike. number: of the group of each row; first: the first row of each group.

    Groups are in the order in which they begin."""

    number: Numbers
    first: Numbers

    def counts(self) -> Numbers:
        return np.bincount(self.number, minlength=len(self.first))

    def means(self, values: Array) -> Array:
        sums = np.bincount(self.number, values, len(self.first))
        means: Array = sums / self.counts()
        return means


def grouped(*keys: np.ndarray[Any, np.dtype[Any]]) -> Groups:
    """The groups of rows that have the same value of each key."""
    order = np.lexsort(keys[::-1])
    begins = np.zeros(len(order), dtype=bool)
    begins[:1] = True
    for key in keys:
        in_order = key[order]
        begins[1:] |= in_order[1:] != in_order[:-1]
    # Sorting keeps equal rows in their order, so that each group has its first row first.
    first = order[begins]
    by_begin = np.argsort(first)
    renumbered = np.empty(len(first), dtype=int)
    renumbered[by_begin] = np.arange(len(first))
    number = np.empty(len(order), dtype=int)
    number[order] = renumbered[np.cumsum(begins) - 1]
    return Groups(number, first[by_begin])


def together(parts: Iterable[np.ndarray[Any, Any]], kind: type) -> Any:
    """Arrays one behind the other; an empty one of this kind if there is none."""
    return np.concatenate([np.empty(0, dtype=kind), *parts])
