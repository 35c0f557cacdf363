"""Windows of other lengths than the scale says (`--windows`). Pure.

`checkpoints`: whole checkpoint intervals, of which the first after a run's begin has nothing
to write back and belongs to the warm-up.

`many`: more and shorter windows in the same time, so that more is decided
(docs/research/ERROR-RATES.md); not where a window must hold checkpoints.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from orchestrator.design import boxed_work
from orchestrator.model import Note, Workload
from orchestrator.texts.prose import counted, listed
from orchestrator.units import format_seconds

INTERVALS = 2  # the least number of intervals
# The least length of one of many windows: caches and background writes do not show below it.
LEAST_S = 30.0
# It is no shorter than twice its warm-up, nor than a quarter.
_PER_WARM_UP = 2
_PART = 4
_AROUND_S = 10.0  # starting and stopping, which each run takes besides


class FittedWindows(NamedTuple):
    """Workloads with the windows that were asked for, and what to say about them.

    `repetitions`: workload → how many it has, if it has a number of its own.
    """

    workloads: tuple[Workload, ...]
    notes: tuple[Note, ...] = ()
    repetitions: Mapping[str, int] = {}


def of_whole_intervals(
    workloads: Sequence[Workload], interval_s: float
) -> FittedWindows:
    """Workloads with windows and warm-ups no shorter than before."""
    fitted = tuple(_fitted(load, interval_s) for load in workloads)
    longer: list[str] = []
    for load, before in zip(fitted, workloads, strict=True):
        if load != before:
            warmup = format_seconds(load.warmup_s)
            window = format_seconds(load.measure_s)
            longer.append(f"{load.name} {warmup} and {window}")
    if not longer:
        return FittedWindows(fitted)
    text = (
        f"checkpoint intervals of {format_seconds(interval_s)} are measured whole: "
        f"warm-up and window of {listed(longer)}"
    )
    return FittedWindows(fitted, (Note("longer windows", text),))


def many(workloads: Sequence[Workload], repetitions: int) -> FittedWindows:
    """Workloads that only read, with shorter windows; the others as they are (`stays` says why).

    `repetitions`: of the scale's windows. Each has so many more as take no longer than these did.
    """
    shorter = tuple(_shorter(load) for load in workloads)
    wanted: dict[str, int] = {}
    notes: list[Note] = []
    for load, before in zip(shorter, workloads, strict=True):
        if load == before:
            continue
        # Rounded down, so that the campaign takes no longer than it would have.
        windows = math.floor(repetitions * _run_s(before) / _run_s(load))
        wanted[load.name] = windows
        length = format_seconds(load.measure_s)
        text = (
            f"{counted(windows, 'window')} of {length} for each tier of {load.name}, "
            "in the same time"
        )
        notes.append(Note("many windows", text))
    return FittedWindows(shorter, tuple(notes), wanted)


def stays(load: Workload) -> str:
    """Why the window of a workload on a database cannot be shorter; or an empty text."""
    if load.writes:
        return "a window must hold checkpoints"
    if load.warmup_most_s is not None:
        return "how long its warm-up takes is not known beforehand"
    if boxed_work.ends_with_work(load):
        return "it ends when its work is done"
    if load.lost_after_s is not None:
        return "its end is the deadline of a rebuild"
    if load.slow:
        return "a disk is slow in it"
    if _window_s(load) < load.measure_s:
        return ""
    return "its window cannot be shorter"


def _shorter(load: Workload) -> Workload:
    if load.database or stays(load):
        return load
    return replace(load, measure_s=_window_s(load))


def _window_s(load: Workload) -> float:
    return max(LEAST_S, _PER_WARM_UP * load.warmup_s, load.measure_s / _PART)


def _run_s(load: Workload) -> float:
    return _AROUND_S + load.warmup_s + load.measure_s


def _fitted(workload: Workload, interval_s: float) -> Workload:
    """The workload with a window of whole intervals, if it writes.

    What an interval owes is counted in any case if the workload settles.
    """
    if not workload.writes or workload.settle:
        return workload
    # A window that is whole but for rounding gets no further interval.
    intervals = math.ceil(workload.measure_s / interval_s - 1e-9)
    warmup_most_s = workload.warmup_most_s
    if warmup_most_s is not None:
        warmup_most_s = max(warmup_most_s, interval_s)
    return replace(
        workload,
        warmup_s=max(workload.warmup_s, interval_s),
        warmup_most_s=warmup_most_s,
        measure_s=max(INTERVALS, intervals) * interval_s,
    )
