"""Doubts about a run that writes: its window may not hold the work that the database puts off.

PostgreSQL writes back at checkpoints, YugabyteDB where a memory table is flushed and files are then
merged. Two of them are asked for. Pure.
"""

from __future__ import annotations

from orchestrator.analysis import results
from orchestrator.analysis.doubts.validity import Reasons
from orchestrator.analysis.results import RunData
from orchestrator.analysis.telemetry import counters
from orchestrator.analysis.telemetry.resources import Values
from orchestrator.units import format_seconds, parse_seconds

AT_LEAST = 2
WRITING_SHARE = 0.1  # of a run's I/Os: then it matters
FLUSHED = "flush_written_bytes_total"  # of the collector for YugabyteDB


def few_checkpoints(run: RunData, values: Values) -> Reasons:
    """By what was seen; where nothing was, by the interval in the settings."""
    writes, every = values.get("disk_write_iops"), values.get("disk_iops")
    if not writes or not every or writes < WRITING_SHARE * every:
        return
    window = format_seconds(run.record.workload.measure_s)
    checkpoints, flushes = _checkpoints(run), _flushes(run)
    if flushes is not None and checkpoints is None:
        if flushes < AT_LEAST:
            seen = "only once" if flushes else "at no time"
            yield (
                f"memory tables were flushed {seen} in the window of {window}: flushes, and the "
                "compactions that follow them, may be outside of it",
                "measure for longer",
            )
        return
    if text := _too_short(run, checkpoints, window):
        theirs = results.of_others(run.record)
        yield (
            f"{text}: writes put off until a checkpoint may be outside the window",
            "measure for longer, or give every profile the same shorter checkpoint_timeout"
            + ("" if theirs else "; `--windows checkpoints` then measures whole intervals"),
        )


def _too_short(run: RunData, checkpoints: int | None, window: str) -> str:
    if checkpoints is not None:
        done = "only one checkpoint was" if checkpoints else "no checkpoint was"
        return f"{done} completed in the window of {window}" if checkpoints < AT_LEAST else ""
    interval_s = _interval_s(run)
    if interval_s is None or run.record.workload.measure_s >= AT_LEAST * interval_s:
        return ""
    interval = format_seconds(interval_s)
    return f"{window} are less than {AT_LEAST} checkpoint intervals of {interval}"


def _checkpoints(run: RunData) -> int | None:
    """Those completed in the window; None if the database did not say when."""
    times, window = results.database(run.record).checkpoints_s, results.measured_window(run.record)
    if times is None or window is None:
        return None
    return sum(window[0] <= time_s <= window[1] for time_s in times)


def _interval_s(run: RunData) -> float | None:
    interval = (results.database(run.record).settings or {}).get("checkpoint_timeout")
    try:
        return None if interval is None else parse_seconds(interval)
    except ValueError:
        return None


def _flushes(run: RunData) -> int | None:
    """Stretches of the window in which a node flushed, of the node that has most; None if flushes
    were not sampled."""
    rows = run.sampled.of_metrics({FLUSHED})
    rates = counters.rates(rows[rows["phase"] == "measure"])
    if rates.empty:
        return None
    stretches = []
    for _, own in rates.groupby("node", observed=True):
        flushing = own.sort_values("time_s")["value"] > 0
        stretches.append(int((flushing & ~flushing.shift(fill_value=False)).sum()))
    return max(stretches)
