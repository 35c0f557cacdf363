"""What a provider or a disk reported of limits → samples of a run, as a collector would have left
them: counters of the seconds in which a limit was reached. Pure."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from orchestrator.analysis.telemetry.counters import counted_time
from orchestrator.analysis.telemetry.counters.counter_names import LIMIT_REACHED
from orchestrator.extensions.observe.judging.demand import Array
from orchestrator.extensions.observe.judging.reported_throttle import OVER_S, SHARES

# Columns of a table with INTERVALS that report of limits.
REPORTS = (*OVER_S, *SHARES)
# Times that are written of one moment differ by their rounding.
_SAME_MOMENT_S = 0.001


class _Counter(NamedTuple):
    """time_s: Unix. value: seconds so far."""

    time_s: list[float]
    value: list[float]


def of_disk(intervals: pd.DataFrame, node: str) -> pd.DataFrame:
    """Samples (`metrics.SAMPLE_COLUMNS`) from the intervals of one disk. node: what they are of
    (`reported_disks.series`)."""
    ordered = intervals.sort_values("begin_s")
    begin_s = ordered["begin_s"].to_numpy(float)
    end_s = ordered["end_s"].to_numpy(float)
    tables: list[pd.DataFrame] = []
    for metric, seconds in _seconds_of_limits(ordered, end_s - begin_s):
        counter = _counted(begin_s, end_s, seconds)
        table = pd.DataFrame({"time_s": counter.time_s, "value": counter.value})
        tables.append(table.assign(node=node, metric=metric, unit="s", phase=""))
    return pd.concat(tables, ignore_index=True)


def _seconds_of_limits(
    intervals: pd.DataFrame, step_s: Array
) -> Iterator[tuple[str, Array]]:
    """A counter's name, and for how many seconds of each interval its limit was reached."""
    for metric, over_s, share in zip(LIMIT_REACHED, OVER_S, SHARES, strict=True):
        # A disk that counts seconds tells more than minutes do.
        if over_s in intervals:
            seconds = intervals[over_s].to_numpy(float)
            is_possible = counted_time.is_possible(seconds, step_s)
            yield metric, np.where(is_possible, np.minimum(seconds, step_s), np.nan)
        elif share in intervals:
            yield metric, intervals[share].to_numpy(float) * step_s


def _counted(begin_s: Array, end_s: Array, seconds: Array) -> _Counter:
    """A counter that grows by `seconds` in each interval.

    Behind a gap the counter begins below its last value, as if it had been reset. Nothing is then
    concluded from the time of the gap.
    """
    counter = _Counter([], [])
    value = 0.0
    last_s = -np.inf
    for begin, end, grown in zip(begin_s, end_s, seconds, strict=True):
        if np.isnan(grown) or begin < last_s - _SAME_MOMENT_S:
            continue
        if begin > last_s + _SAME_MOMENT_S:
            value -= 1.0
            counter.time_s.append(begin)
            counter.value.append(value)
        value += grown
        counter.time_s.append(end)
        counter.value.append(value)
        last_s = end
    return counter
