"""A disk that was slow in a window: the load before, meanwhile and afterwards. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from orchestrator import metrics, parts
from orchestrator.analysis.figures import parts_of_window
from orchestrator.analysis.figures.parts_of_window import Edges
from orchestrator.analysis.figures.transactions import (
    FAILED,
    Window,
    due,
    ended,
    is_at_a_rate,
)
from orchestrator.design.slow_disks import (
    BEFORE_SLOW_SCOPE,
    RECOVERED_FOR_S,
    SLOW_SCOPE,
)
from orchestrator.facts import GeneratorFacts
from orchestrator.model import Measurement

if TYPE_CHECKING:
    import pandas as pd

FILE = "slow.json"  # file with the times, among the raw files
BEFORE = BEFORE_SLOW_SCOPE
MEANWHILE = SLOW_SCOPE
AFTER = "after_slow"
_SCOPES = (BEFORE, MEANWHILE, AFTER)
# The load is as before when RECOVERED_FOR_S together have so much throughput. A single
# good second may be what had been waiting. At a rate so many of what falls due must be as fast as
# before: what had been waiting makes throughput high while everybody still waits.
RECOVERED_PCT = 90.0
# The time until then is counted in tenths of a second. In whole seconds one tier would look twice
# as fast as another by a moment.
_STEPS_PER_S = 10
# Of RECOVERED_FOR_S so much may still be bad. So a shorter time is not told, nor a difference.
LEAST_RECOVERY_S = 1.0
# "As fast as before" is no slower than so many of those before.
USUAL_PCT = 99.0


def added(
    result: parts.Result,
    kept: Mapping[str, Any],
    window_s: tuple[float, float],
    pooled: bool,
) -> parts.Result:
    """The figures of a window, and these.

    kept: `parts`, each with `slow_s`, when a disk began to be slow, and `back_s`, when it was as
    declared again (Unix seconds). Meanwhile is from the first to the last. `pooled`: as of
    `transactions`.
    """
    edges = _edges(kept["parts"], window_s)
    spans = parts_of_window.between(edges, result, pooled)
    steps = _Steps(edges.over_s, edges.end_s)
    # Table by table, since a long run has more transactions than memory holds.
    for table in result.latencies or ():
        steps.add(table)
        spans.add(table)
    before = spans.before
    meanwhile = spans.meanwhile
    if is_at_a_rate(result.facts, pooled):
        never_began = _NeverBegan.by_part(result.facts, meanwhile, steps.length_s)
        steps.add_never_began(never_began.afterwards, never_began.rate_per_s)
        fell_due = meanwhile.fell_due + never_began.meanwhile
        against_before = _against_what_fell_due(before, meanwhile, fell_due, steps)
    else:
        against_before = _against_before(before, meanwhile, steps)
    figures = (
        *result.measurements,
        *parts_of_window.figures(spans, _SCOPES),
        *against_before,
    )
    return replace(result, measurements=figures)


def _edges(
    slow_parts: Sequence[Mapping[str, float]], window_s: tuple[float, float]
) -> Edges:
    """The event is from the first disk that is slow to the last that is as before."""
    start_s, end_s = window_s
    slow_s = min(part["slow_s"] for part in slow_parts)
    back_s = max(part["back_s"] for part in slow_parts)
    return Edges(start_s, slow_s, back_s, end_s)


def _against_before(
    before: Window, meanwhile: Window, steps: _Steps
) -> Iterator[Measurement]:
    """What was left of the throughput, and when it was as before again."""
    before_per_s = _throughput_per_s(before)
    if before_per_s <= 0:
        return
    share_pct = 100 * _throughput_per_s(meanwhile) / before_per_s
    yield metrics.measured("slow_share_pct", share_pct)
    recovery_s = steps.until(before_per_s * RECOVERED_PCT / 100)
    # A window that ends before the load has recovered has no such figure, which is not zero.
    if recovery_s is not None:
        yield metrics.measured("recovery_s", recovery_s)


def _against_what_fell_due(
    before: Window, meanwhile: Window, fell_due: float, steps: _Steps
) -> Iterator[Measurement]:
    """The same at a rate. fell_due: of `meanwhile`, what never began too.

    How many fall due in a time is chance, so throughput is not held against that of before.
    """
    latency_s = before.ranked("all")
    if not latency_s.total:
        return
    if fell_due:
        served = _throughput_per_s(meanwhile) * meanwhile.duration_s
        yield metrics.measured("slow_share_pct", 100 * served / fell_due)
    # A queue that grew before a disk was slow has no usual latency to recover to.
    served_before = _throughput_per_s(before) * before.duration_s
    if served_before < before.fell_due * RECOVERED_PCT / 100:
        return
    recovery_s = steps.until_as_fast(latency_s.percentile(USUAL_PCT))
    if recovery_s is not None:
        yield metrics.measured("recovery_s", recovery_s)


def _throughput_per_s(span: Window) -> float:
    """0 for a span without length."""
    if span.duration_s <= 0:
        return 0.0
    figures: dict[tuple[str, str], float] = {}
    for measurement in span.measurements(None):
        figures[measurement.metric, measurement.scope] = measurement.value
    return figures["throughput_per_s", "all"]


@dataclass(frozen=True)
class _NeverBegan:
    """What was due and had not begun when the load ended, by the part in which it fell due.

    No record says when. Sessions serve what has waited longest, so it was the last that fell due.
    """

    rate_per_s: float
    meanwhile: float
    afterwards: float

    @classmethod
    def by_part(
        cls, facts: GeneratorFacts, meanwhile: Window, after_s: float
    ) -> _NeverBegan:
        rate_per_s = facts.arrival_rate_per_s or 0.0
        never_began = facts.unstarted or 0.0
        afterwards = min(never_began, rate_per_s * after_s)
        most_meanwhile = rate_per_s * meanwhile.duration_s
        return cls(
            rate_per_s, min(never_began - afterwards, most_meanwhile), afterwards
        )


class _Steps:
    """What was served in each tenth of a second since a moment, and what fell due in it."""

    def __init__(self, begin_s: float, end_s: float) -> None:
        self._begin_s = begin_s
        self._count = max(0, int((end_s - begin_s) * _STEPS_PER_S))
        self._end_s = begin_s + self.length_s
        self._never_began = np.zeros(self._count)
        self._served = np.zeros(self._count, dtype=int)
        # Of what fell due and was served: its step, and how long it took.
        self._due_step: list[np.ndarray] = []
        self._due_latency_s: list[np.ndarray] = []
        self._due = np.zeros(self._count, dtype=int)

    def add(self, table: pd.DataFrame) -> None:
        inside = ended(table, self._begin_s, self._end_s)
        served = inside[inside["outcome"] != FAILED]
        self._served += self._by_step(served["start_s"] + served["latency_s"])
        fell_due = due(table, self._begin_s, self._end_s)
        self._due += self._by_step(fell_due["start_s"])
        well = fell_due[fell_due["outcome"] != FAILED]
        self._due_step.append(self._steps_of(well["start_s"]))
        self._due_latency_s.append(well["latency_s"].to_numpy())

    @property
    def length_s(self) -> float:
        return self._count / _STEPS_PER_S

    def add_never_began(self, count: float, per_s: float) -> None:
        """So many of the last that fell due, at `per_s`."""
        for step in reversed(range(self._count)):
            in_step = min(count, per_s / _STEPS_PER_S)
            self._never_began[step] = in_step
            count -= in_step

    def _steps_of(self, times_s: pd.Series) -> np.ndarray:
        since_s = times_s.to_numpy() - self._begin_s
        steps = (since_s * _STEPS_PER_S).astype(int)
        # What is rounded up at the end is of the last step.
        inside: np.ndarray = np.minimum(steps, self._count - 1)
        return inside

    def _by_step(self, times_s: pd.Series) -> np.ndarray:
        return np.bincount(self._steps_of(times_s), minlength=self._count)

    def until(self, per_s: float) -> float | None:
        """When throughput was as high as `per_s` again, in seconds; None if it never was.

        It is the end of the first step of RECOVERED_FOR_S that have this throughput together, but
        LEAST_RECOVERY_S at least.
        """
        enough = np.full(self._count, per_s / _STEPS_PER_S)
        return self._first_with(self._served, enough)

    def until_as_fast(self, longest_s: float) -> float | None:
        """When RECOVERED_PCT of what fell due took at most `longest_s`; None if it never did.

        Counted as of `until`. A step in which nothing fell due is as before.
        """
        if not self._due_step:
            return None
        is_fast = np.concatenate(self._due_latency_s) <= longest_s
        fast_steps = np.concatenate(self._due_step)[is_fast]
        fast = np.bincount(fast_steps, minlength=self._count)
        fell_due = self._due + self._never_began
        return self._first_with(fast, fell_due * RECOVERED_PCT / 100)

    def _first_with(self, counts: np.ndarray, enough: np.ndarray) -> float | None:
        together = RECOVERED_FOR_S * _STEPS_PER_S
        for step in range(self._count - together + 1):
            in_a_row = slice(step, step + together)
            if counts[in_a_row].sum() >= math.fsum(enough[in_a_row]):
                return max(LEAST_RECOVERY_S, (step + 1) / _STEPS_PER_S)
        return None
