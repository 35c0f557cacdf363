"""Windows that hold whole checkpoint intervals of the database (`--windows checkpoints`). Pure.

A database that writes back at intervals does so outside of a shorter window, or in a part of it
that chance decides. The first interval after a run's begin has nothing to write back, so it belongs
to the warm-up; then the window holds the work of whole intervals, wherever it begins.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from orchestrator.model import Note, Workload
from orchestrator.units import format_seconds, listed

INTERVALS = 2  # at least


def of_whole_intervals(
    workloads: Sequence[Workload], interval_s: float
) -> tuple[tuple[Workload, ...], tuple[Note, ...]]:
    """The workloads with windows and warm-ups no shorter than they were, as far as they write; and
    what must be said about it."""
    fitted = tuple(_fitted(one, interval_s) if one.writes else one for one in workloads)
    longer = [
        f"{one.name} {format_seconds(one.warmup_s)} and {format_seconds(one.measure_s)}"
        for one, before in zip(fitted, workloads, strict=True)
        if one != before
    ]
    if not longer:
        return fitted, ()
    text = (
        f"checkpoint intervals of {format_seconds(interval_s)} are measured whole: warm-up and "
        f"window of {listed(longer)}"
    )
    return fitted, (Note("longer windows", text),)


def _fitted(workload: Workload, interval_s: float) -> Workload:
    intervals = max(INTERVALS, math.ceil(workload.measure_s / interval_s - 1e-9))
    most_s = workload.warmup_most_s
    return replace(
        workload,
        warmup_s=max(workload.warmup_s, interval_s),
        warmup_most_s=None if most_s is None else max(most_s, interval_s),
        measure_s=intervals * interval_s,
    )
