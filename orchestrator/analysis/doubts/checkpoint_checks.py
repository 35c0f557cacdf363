"""Doubts about what a database puts off: that too little of it was in the window. Pure.

PostgreSQL writes back at checkpoints, YugabyteDB where a memory table is flushed and files
are then merged.
"""

import numpy as np

from orchestrator.analysis import results
from orchestrator.analysis.doubts.effects import limits_the_answer
from orchestrator.analysis.doubts.validity import Doubts
from orchestrator.analysis.results import RunData
from orchestrator.analysis.telemetry.use.all_nodes import Totals
from orchestrator.model import Doubt
from orchestrator.units import format_seconds, parse_seconds

# Checkpoints in a window: with one, it is chance whether its writes are in it.
AT_LEAST = 2
WRITING_SHARE = 0.1  # share of a run's I/Os from which it matters


def few_checkpoints(run: RunData, values: Totals) -> Doubts:
    """A doubt if there were few checkpoints, as sampled; if nothing was sampled, by the interval
    setting."""
    writes = values.disk_write_iops
    reads_and_writes = values.disk_iops
    if not writes or not reads_and_writes or writes < WRITING_SHARE * reads_and_writes:
        return
    window_s = results.measured_s(run.record)
    is_ours = not results.is_existing(run.record)
    # What was seen outranks what settings let expect.
    completed = _completed(run)
    if completed is not None:
        if completed < AT_LEAST:
            yield _few_checkpoints_seen(completed, window_s, is_ours)
        return
    flushes = _flushes(run)
    if flushes is not None:
        if flushes < AT_LEAST:
            yield _few_flushes(flushes, window_s)
        return
    yield from _by_the_settings(run, window_s, is_ours)


def _completed(run: RunData) -> int | None:
    """Checkpoints that were completed in the window; None if the database does not say it."""
    times_s = results.database(run.record).checkpoints_s
    window = results.measured_window(run.record)
    if times_s is None or window is None:
        return None
    start_s, end_s = window
    return sum(start_s <= time_s <= end_s for time_s in times_s)


def _flushes(run: RunData) -> int | None:
    """In how many stretches of the window the node with the most flushed; None if not sampled."""
    if run.telemetry.empty:
        return None
    start_s = 0.0
    window = results.measured_window(run.record)
    if window:
        start_s = window[0]
    seconds = run.telemetry.by_second
    time_s = seconds["time_s"].to_numpy(dtype=float)
    flushed = seconds["flushed_bytes_per_s"].to_numpy(dtype=float)
    # The phase goes by a step's end: one that begins before the window has bytes from before it.
    is_measured = (seconds["phase"] == "measure").to_numpy() & (time_s >= start_s)
    is_known = is_measured & ~np.isnan(flushed)
    if not is_known.any():
        return None
    places = seconds["node"].cat.codes.to_numpy()
    most = 0
    for place in np.unique(places[is_known]):
        of_node = is_known & (places == place)
        in_order = np.argsort(time_s[of_node], kind="stable")
        is_flushing = flushed[of_node][in_order] > 0
        # A flush takes several seconds: it counts where it begins.
        begins = is_flushing & ~np.concatenate([[False], is_flushing[:-1]])
        most = max(most, int(begins.sum()))
    return most


def _by_the_settings(run: RunData, window_s: float, is_ours: bool) -> Doubts:
    settings = results.database(run.record).settings or {}
    try:
        # A database without that setting has no interval that could be too long.
        interval_s = parse_seconds(settings.get("checkpoint_timeout", "0s"))
    except ValueError:
        # A setting that is no time says nothing.
        return
    if run.record.workload.measure_s < AT_LEAST * interval_s:
        yield _few_checkpoint_intervals(interval_s, window_s, is_ours)


# ------------------------------------------------------------------ in words


def _few_checkpoints_seen(seen: int, window_s: float, is_ours: bool) -> Doubt:
    number = "no"
    if seen:
        number = "only one"
    return _few_checkpoints(
        f"{number} checkpoint was completed in the window of {format_seconds(window_s)}",
        is_ours,
    )


def _few_checkpoint_intervals(
    interval_s: float, window_s: float, is_ours: bool
) -> Doubt:
    return _few_checkpoints(
        f"{format_seconds(window_s)} are less than {AT_LEAST} checkpoint intervals of "
        f"{format_seconds(interval_s)}",
        is_ours,
    )


def _few_checkpoints(why: str, is_ours: bool) -> Doubt:
    advice = (
        "measure for longer, or give every profile the same shorter checkpoint_timeout"
    )
    # Windows of whole intervals can only be had where the settings are ours.
    if is_ours:
        advice += "; `--windows checkpoints` then measures whole intervals"
    return limits_the_answer(
        "few checkpoints",
        f"{why}. Writes that wait for a checkpoint may fall outside the window",
        advice,
    )


def _few_flushes(seen: int, window_s: float) -> Doubt:
    flushes = "memory tables were never flushed"
    if seen:
        flushes = "memory tables were flushed only once"
    return limits_the_answer(
        "few checkpoints",
        f"{flushes} in the window of {format_seconds(window_s)}. Flushes and the compactions "
        "after them may fall outside the window",
        advice="measure for longer",
    )
