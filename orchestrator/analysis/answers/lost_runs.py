"""Planned runs that left no figures that count, in sentences. Pure."""

import re
from collections.abc import Iterable, Sequence

from orchestrator import units
from orchestrator.analysis.answers.phrases import closed, ranges
from orchestrator.analysis.results import Results
from orchestrator.model import Run

_CELLS_NAMED = 3  # more are counted


def losses(campaign: Results, runs: Iterable[Run]) -> tuple[str, ...]:
    """A sentence for each reason, with the runs that were lost by it."""
    runs_by_reason: dict[str, list[Run]] = {}
    for run in runs:
        reason = campaign.lost(run)
        if reason:
            runs_by_reason.setdefault(reason, []).append(run)
    sentences: list[str] = []
    for reason, lost in runs_by_reason.items():
        sentences.append(_lost(lost, reason))
    return tuple(sentences)


def _lost(runs: Sequence[Run], reason: str) -> str:
    """`Runs 2, 11 (premium × insert) were not carried out.`"""
    cells = list(dict.fromkeys(f"{run.profile} × {run.workload}" for run in runs))
    # All that was planned is lost if a machine dies: their names would fill the page.
    where = units.counted(len(cells), "cell")
    if len(cells) <= _CELLS_NAMED:
        where = ", ".join(cells)
    numbers = ranges(run.number for run in runs)
    if len(runs) == 1:
        return closed(f"Run {numbers} ({where}) {reason}")
    return closed(f"Runs {numbers} ({where}) {re.sub('^was', 'were', reason)}")
