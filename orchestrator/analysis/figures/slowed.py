"""A disk that was slow in a window: the load before, meanwhile and afterwards. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from orchestrator import metrics, parts
from orchestrator.analysis.figures import parts_of_window
from orchestrator.analysis.figures.transactions import FAILED, Window, ended
from orchestrator.model import Measurement

FILE = "slow.json"  # file with the times, among the raw files
BEFORE = "before_slow"
MEANWHILE = "slow_disk"
AFTER = "after_slow"
_SCOPES = (BEFORE, MEANWHILE, AFTER)
# The load is as before when so many seconds in a row together have so much throughput. A single
# good second may be what had been waiting.
RECOVERED_PCT = 90.0
RECOVERED_FOR_S = 5


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
    edges_s = _edges_s(kept["parts"], window_s)
    spans = parts_of_window.between(edges_s, result, pooled)
    seconds = _Seconds(*edges_s[-2:])
    # Table by table, since a long run has more transactions than memory holds.
    for table in result.latencies or ():
        seconds.add(table)
        for span in spans:
            span.add(table)
    before, meanwhile, _ = spans
    figures = (
        *result.measurements,
        *parts_of_window.figures(spans, _SCOPES),
        *_against_before(before, meanwhile, seconds),
    )
    return replace(result, measurements=figures)


def _edges_s(
    slow_parts: Sequence[Mapping[str, float]], window_s: tuple[float, float]
) -> tuple[float, ...]:
    """Begin of the window, first disk slow, last disk as before, end of the window."""
    start_s, end_s = window_s
    slow_s = min(part["slow_s"] for part in slow_parts)
    back_s = max(part["back_s"] for part in slow_parts)
    return (start_s, slow_s, back_s, end_s)


def _against_before(
    before: Window, meanwhile: Window, seconds: _Seconds
) -> Iterator[Measurement]:
    """What was left of the throughput, and when it was as before again."""
    before_per_s = _throughput_per_s(before)
    if before_per_s <= 0:
        return
    share_pct = 100 * _throughput_per_s(meanwhile) / before_per_s
    yield metrics.measured("slow_share_pct", share_pct)
    recovery_s = seconds.until(before_per_s * RECOVERED_PCT / 100)
    # A window that ends before the load has recovered has no such figure, which is not zero.
    if recovery_s is not None:
        yield metrics.measured("recovery_s", recovery_s)


def _throughput_per_s(span: Window) -> float:
    """0 for a span without length."""
    if span.duration_s <= 0:
        return 0.0
    for measurement in span.measurements(None):
        if (measurement.metric, measurement.scope) == ("throughput_per_s", "all"):
            return measurement.value
    return 0.0


class _Seconds:
    """How many transactions were served in each whole second since a moment."""

    def __init__(self, begin_s: float, end_s: float) -> None:
        self._begin_s = begin_s
        self._end_s = begin_s + max(0, int(end_s - begin_s))
        self._served = np.zeros(int(self._end_s - begin_s), dtype=int)

    def add(self, table: pd.DataFrame) -> None:
        inside = ended(table, self._begin_s, self._end_s)
        served = inside[inside["outcome"] != FAILED]
        ended_s = (served["start_s"] + served["latency_s"]).to_numpy()
        seconds = (ended_s - self._begin_s).astype(int)
        self._served += np.bincount(seconds, minlength=len(self._served))

    def until(self, per_s: float) -> float | None:
        """When throughput was as high as `per_s` again, in seconds; None if it never was.

        It is the end of the first of RECOVERED_FOR_S seconds in a row that have this throughput
        together.
        """
        for second in range(len(self._served) - RECOVERED_FOR_S + 1):
            in_a_row = self._served[second : second + RECOVERED_FOR_S]
            if int(in_a_row.sum()) >= per_s * RECOVERED_FOR_S:
                return second + 1.0
        return None
