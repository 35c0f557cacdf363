"""Counters as they were read → how much they grew per second, series by series. Pure.

A series is what one counter or gauge of one node showed over time. A run has some dozens, each with
a sample a second: arrays are what they are computed with, because a table of all of them takes ten
times as long. `sample_tables` says where tables of samples come from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from orchestrator.analysis.telemetry.counters import counted_time, counter_names

if TYPE_CHECKING:
    import pandas as pd


Array = np.ndarray[Any, np.dtype[np.float64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]
Texts = np.ndarray[Any, np.dtype[np.object_]]
Key = tuple[str, str]  # node and metric


# ------------------------------------------------------------------ series


@dataclass(frozen=True)
class SampledSeries:
    """What was read of one counter or gauge of one node, in the order of time.

    time_s: Unix; phase: of the run, in which it was read."""

    time_s: Array
    value: Array
    phase: Texts

    def part(self, rows: slice) -> SampledSeries:
        return SampledSeries(self.time_s[rows], self.value[rows], self.phase[rows])


@dataclass(frozen=True)
class Steps:
    """How fast one counter of one node grew from each sample to the next one.

    end_s: Unix; step_s: how long the step was; per_s: growth per second in it; phase: of the
    sample at its end."""

    end_s: Array
    step_s: Array
    per_s: Array
    phase: Texts

    @property
    def begin_s(self) -> Array:
        return self.end_s - self.step_s

    def within(self, start_s: float, end_s: float) -> Array:
        """Growth per second of the steps that end in a window."""
        # The step's end alone decides, so that windows side by side share no step.
        ends_within = (self.end_s > start_s) & (self.end_s <= end_s)
        return self.per_s[ends_within]


def by_series(samples: pd.DataFrame) -> dict[Key, SampledSeries]:
    """The series of a table of samples, in the order of nodes and metrics."""
    if samples.empty:
        return {}
    nodes = samples["node"].astype("category").cat
    metrics = samples["metric"].astype("category").cat
    # Single texts of a column take long to get, and each stands in several series.
    names = nodes.categories.tolist()
    metric_names = metrics.categories.tolist()
    # One number for each series, so that a single sort puts all samples in order.
    width = len(metric_names)
    number = nodes.codes.to_numpy(dtype=int) * width + metrics.codes.to_numpy()
    order = np.lexsort((samples["time_s"].to_numpy(dtype=float), number))
    number = number[order]
    whole = _in_order(samples, order)
    series: dict[Key, SampledSeries] = {}
    for rows in _stretches(number):
        node, metric = divmod(int(number[rows.start]), width)
        series[names[node], metric_names[metric]] = whole.part(rows)
    return dict(sorted(series.items()))


def _in_order(
    samples: pd.DataFrame, order: np.ndarray[Any, np.dtype[np.intp]]
) -> SampledSeries:
    """All samples, one series behind the other."""
    return SampledSeries(
        time_s=samples["time_s"].to_numpy(dtype=float)[order],
        value=samples["value"].to_numpy(dtype=float)[order],
        phase=samples["phase"].to_numpy(dtype=object)[order],
    )


def _stretches(numbers: np.ndarray[Any, np.dtype[np.int_]]) -> Iterator[slice]:
    """The rows of each number, of those that stand in order."""
    # Another number before the first one makes the first row a begin too.
    begins = np.flatnonzero(np.diff(numbers, prepend=numbers[0] - 1)).tolist()
    ends = [*begins[1:], len(numbers)]
    for begin, end in zip(begins, ends, strict=True):
        yield slice(begin, end)


def rates(series: Mapping[Key, SampledSeries]) -> dict[Key, Steps]:
    """The steps of all counters. A gap is one long step at its mean rate."""
    steps: dict[Key, Steps] = {}
    for key, readings in series.items():
        _node, metric = key
        # Gauges rise and fall, so that they have no growth.
        if metric.endswith("_total"):
            is_of_time = metric in counter_names.EXCEEDED
            steps[key] = _steps(readings, is_of_time)
    return steps


def _steps(readings: SampledSeries, is_of_time: bool) -> Steps:
    step_s = np.diff(readings.time_s)
    growth = np.diff(readings.value)
    # A counter that fell was reset. How much it grew is not known, so the step is left out.
    grew = (step_s > 0) & (growth >= 0)
    if is_of_time:
        grew &= counted_time.is_possible(growth, step_s)
    return Steps(
        end_s=readings.time_s[1:][grew],
        step_s=step_s[grew],
        per_s=growth[grew] / step_s[grew],
        phase=readings.phase[1:][grew],
    )


# ------------------------------------------------------------------ several of one node


@dataclass(frozen=True)
class SideBySide:
    """Several counters of one node in the steps in which all are known; `per_s`: by counter."""

    end_s: Array
    step_s: Array
    per_s: Mapping[str, Array]


def side_by_side(
    rates: Mapping[Key, Steps], node: str, metrics: Sequence[str]
) -> SideBySide:
    """The rates of several metrics side by side, without steps where one of them was not
    sampled."""
    sampled: dict[str, Steps] = {}
    for metric in metrics:
        steps = rates.get((node, metric))
        # There is no step in which all of them are known.
        if steps is None:
            empty = np.empty(0)
            return SideBySide(empty, empty, dict.fromkeys(metrics, empty))
        sampled[metric] = steps
    common_s = _common_ends_s(list(sampled.values()))
    per_s: dict[str, Array] = {}
    for metric, steps in sampled.items():
        per_s[metric] = steps.per_s[np.isin(steps.end_s, common_s)]
    first = sampled[metrics[0]]
    step_s = first.step_s[np.isin(first.end_s, common_s)]
    return SideBySide(common_s, step_s, per_s)


def _common_ends_s(counters: Sequence[Steps]) -> Array:
    """The ends of the steps that all these counters have."""
    common_s = counters[0].end_s
    for steps in counters[1:]:
        # Counters of one device are read at once: then there is nothing to look for.
        if not np.array_equal(steps.end_s, common_s):
            common_s = np.intersect1d(common_s, steps.end_s)
    return common_s
