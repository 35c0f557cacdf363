"""Doubts that what limited a cell was not its disk. Pure."""

from collections.abc import Sequence

from orchestrator.analysis import results
from orchestrator.analysis.conclusions import Bottleneck
from orchestrator.analysis.doubts.effects import limits_the_answer
from orchestrator.analysis.doubts.validity import Doubts
from orchestrator.analysis.telemetry.causes.node_cause import HARNESS_CAUSES
from orchestrator.model import Doubt


def this_machine(
    campaign: results.Results, bottlenecks: Sequence[Bottleneck]
) -> Doubts:
    """Each finished run of a cell of which the machine or its load generator was the limit."""
    for cell in bottlenecks:
        if cell.cause not in HARNESS_CAUSES:
            continue
        # A cause is of all repetitions of a cell, so each of its runs has the doubt.
        runs = results.finished(campaign, cell.profile, cell.workload)
        for run in runs:
            yield _limited_by_this_machine(cell, run.record.run.number)


# ------------------------------------------------------------------ in words


def _limited_by_this_machine(cell: Bottleneck, run: int) -> Doubt:
    what = "this machine"
    if cell.cause == "client_bound":
        what = "the load generator"
    return limits_the_answer(
        "limited by this machine",
        f"{what} was the limit, not the disk: the figures do not show what the disk can do",
        advice="use a machine with more cores, or fewer threads",
        run=run,
    )
