"""Windows of other lengths than the scale says (`--windows`). Pure.

`checkpoints`: whole checkpoint intervals, of which the first after a run's begin has nothing to
write back and belongs to the warm-up. `many`: more and shorter windows in the same time, so that
more is decided (docs/ERROR-RATES.md); not where a window must hold checkpoints."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from orchestrator.model import Note, Workload
from orchestrator.units import counted, format_seconds, listed

INTERVALS = 2  # at least
LEAST_S = (
    30.0  # of one of many windows: below, caches and background writes do not show
)
# it is no shorter than twice its warm-up, nor than a quarter
_PER_WARM_UP = 2
_PART = 4
_AROUND_S = 10.0  # starting and stopping, which each run takes besides


def of_whole_intervals(
    workloads: Sequence[Workload], interval_s: float
) -> tuple[tuple[Workload, ...], tuple[Note, ...]]:
    """Workloads that write, with windows and warm-ups no shorter than before; and what to say. Of
    one that settles, what it owes is counted in any case."""
    owing = {load.name for load in workloads if load.writes and not load.settle}
    fitted = tuple(
        _fitted(load, interval_s) if load.name in owing else load for load in workloads
    )
    longer = [
        f"{load.name} {format_seconds(load.warmup_s)} and {format_seconds(load.measure_s)}"
        for load, before in zip(fitted, workloads, strict=True)
        if load != before
    ]
    text = f"checkpoint intervals of {format_seconds(interval_s)} are measured whole: warm-up and "
    return fitted, (
        Note("longer windows", f"{text}window of {listed(longer)}"),
    ) if longer else ()


def many(
    workloads: Sequence[Workload], repetitions: int
) -> tuple[tuple[Workload, ...], Mapping[str, int], tuple[Note, ...]]:
    """Workloads that only read, with shorter windows, the others as they are (`stays` says why); in
    how many repetitions each takes as long as in `repetitions` of the scale's; and what to say."""
    shorter = tuple(map(_shorter, workloads))
    wanted = dict[str, int]()
    notes = list[Note]()
    for load, before in zip(shorter, workloads, strict=True):
        if load != before:
            wanted[load.name] = math.floor(repetitions * _run_s(before) / _run_s(load))
            text = f"{counted(wanted[load.name], 'window')} of {format_seconds(load.measure_s)}"
            text += f" for each tier of {load.name}, in the same time"
            notes.append(Note("many windows", text))
    return shorter, wanted, tuple(notes)


def stays(load: Workload) -> str:
    """Why the window of a workload on a database cannot be shorter; or an empty text."""
    if load.writes:
        return "a window must hold checkpoints"
    if load.warmup_most_s is not None:
        return "how long its warm-up takes is not known beforehand"
    if load.lost_after_s is not None:
        return "its end is the deadline of a rebuild"
    if _window_s(load) < load.measure_s:
        return ""
    return "its window is as short as may be"


def _shorter(load: Workload) -> Workload:
    if load.database or stays(load):
        return load
    return replace(load, measure_s=_window_s(load))


def _window_s(load: Workload) -> float:
    return max(LEAST_S, _PER_WARM_UP * load.warmup_s, load.measure_s / _PART)


def _run_s(load: Workload) -> float:
    return _AROUND_S + load.warmup_s + load.measure_s


def _fitted(workload: Workload, interval_s: float) -> Workload:
    intervals = max(INTERVALS, math.ceil(workload.measure_s / interval_s - 1e-9))
    most_s = workload.warmup_most_s
    return replace(
        workload,
        warmup_s=max(workload.warmup_s, interval_s),
        warmup_most_s=None if most_s is None else max(most_s, interval_s),
        measure_s=intervals * interval_s,
    )
