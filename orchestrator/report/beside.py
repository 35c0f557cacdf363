"""A published study and a campaign with its tiers and workloads, side by side: their changes
against the baseline, and what each used of processors and disks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from orchestrator import units
from orchestrator.analysis.comparisons import COMPARED
from orchestrator.analysis.conclusions import CellSummary, Delta, Verdict
from orchestrator.report import wording
from orchestrator.report.blocks import Cell, Table, numbers, texts

_USED: Final = {"cpu_pct": "CPU", "disk_iops": "IOPS"}
_FIGURES: Final = {
    "throughput_per_s": "throughput",
    "nopm": "NOPM",
    "latency_avg_s": "average latency",
    "latency_p99_s": "p99 latency",
}


def changes(study: Verdict, campaign: Verdict) -> Table:
    """A row for each figure of the study and contender of the campaign: the change that follows
    from the study's figures, the campaign's, its interval and its word."""
    published = {(cell.workload, cell.metric, cell.scope) for cell in study.cells}
    theirs = {_key(delta): delta for delta in study.deltas}
    rows = [
        _change(theirs.get(_key(delta)), delta)
        for delta in campaign.deltas
        if (delta.workload, delta.metric, delta.scope) in published
        and (delta.metric, delta.scope) in COMPARED
    ]
    columns = (*texts("workload", "figure", "tier"), *numbers("the study", "here", "interval"))
    return Table((*columns, *texts("verdict")), tuple(rows))


def used(study: Verdict, campaign: Verdict) -> Table:
    """A row for each cell of the campaign: CPU and IOPS of a node, the study's and here."""
    rows = tuple(_used(study, campaign))
    titles = [f"{title}, {whose}" for title in _USED.values() for whose in ("the study", "here")]
    return Table((*texts("workload", "tier"), *numbers(*titles)), rows)


def figure(metric: str, scope: str) -> str:
    """A compared metric in words."""
    return ("New-Order's " if scope == "new_order" else "") + _FIGURES[metric]


def _key(delta: Delta) -> tuple[str, str, str, str]:
    return delta.workload, delta.contender, delta.metric, delta.scope


def _change(theirs: Delta | None, ours: Delta) -> tuple[Cell, ...]:
    return (
        Cell(ours.workload),
        Cell(figure(ours.metric, ours.scope)),
        Cell(ours.contender),
        Cell("not published" if theirs is None else units.format_change(theirs.change_pct)),
        Cell(units.format_change(ours.change_pct)),
        Cell(wording.interval(ours) or "none"),
        Cell(ours.verdict),
    )


def _used(study: Verdict, campaign: Verdict) -> Iterator[tuple[Cell, ...]]:
    theirs = {(cell.workload, cell.profile, cell.metric): cell for cell in study.cells}
    ours = {(cell.workload, cell.profile, cell.metric): cell for cell in campaign.cells}
    for workload, profile in dict.fromkeys((one[0], one[1]) for one in ours):
        values = [
            Cell(_mean(cells.get((workload, profile, metric))))
            for metric in _USED
            for cells in (theirs, ours)
        ]
        yield (Cell(workload), Cell(profile), *values)


def _mean(cell: CellSummary | None) -> str:
    return "not published" if cell is None else wording.value_with_unit(cell)
