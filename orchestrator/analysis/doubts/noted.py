"""Doubts that are recorded while a run goes on: nothing that it leaves shows them. Pure."""

from orchestrator.analysis.doubts.effects import excludes_the_run, is_only_told
from orchestrator.model import Doubt
from orchestrator.units import format_seconds


def clock_set(run: int, off_s: float) -> Doubt:
    """`off_s`: by how much the time of day moved more than time passed; below 0: back."""
    direction = "back"
    # Time of day goes on while a machine sleeps, and the clock that only counts does not.
    if off_s > 0:
        direction = "forward (or this machine slept)"
    return excludes_the_run(
        "clock set",
        f"the clock went {direction} by {format_seconds(abs(off_s))} during the measurement. "
        "The window and the rates in it may be wrong",
        "repeat the run, with the clock set before the start and the machine kept awake",
        run,
    )


def leftovers(run: int, left: str, advice: str) -> Doubt:
    """`left`: what could not be removed; `advice`: how a person can."""
    return excludes_the_run(
        "leftovers",
        "leftovers of an earlier run could not be removed and may have disturbed this "
        f"one: {left}",
        advice,
        run,
    )


def out_of_order(run: int, first: int, slug: str) -> Doubt:
    """`first`, `slug`: number and folder of the run that failed and is repeated."""
    return is_only_told(
        "out of order",
        f"repeats run {first}, which failed, out of order",
        f"see in {slug} why that run failed. What changed since then is in this run alone",
        run,
    )


def not_restored(run: int, why: str) -> Doubt:
    """A doubt about a cluster whose nodes do not start from the copy of their data."""
    return is_only_told(
        "not restored",
        f"the nodes did not start from a copy of their data, which were loaded again: {why}",
        "on YugabyteDB, set `restore: load` to load before each run from the start",
        run,
    )


def teardown(run: int, why: str) -> Doubt:
    """A doubt about a run that was measured, read and saved before its end failed."""
    return is_only_told(
        "teardown",
        f"what the run started could not be removed after the measured window: {why}",
        "the figures stand; what was left is removed before the next run",
        run,
    )
