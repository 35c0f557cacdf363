"""Runs that were lost are told with their cells, as long as these are few."""

from __future__ import annotations

import pytest

from orchestrator.analysis.answers import lost_runs
from orchestrator.analysis.results import Loss
from tests.plans import a_plan


@pytest.mark.parametrize(
    ("cells", "where"),
    [
        (1, "(premium × point-select)"),
        (3, "(premium × point-select, premium × insert, premium × tpcc)"),
        (4, "(4 cells)"),
    ],
)
def test_up_to_three_cells_are_named_and_more_are_counted(
    cells: int, where: str
) -> None:
    plan = a_plan(("premium", "ultra"), ("point-select", "insert", "tpcc"))
    runs = sorted(plan.runs, key=lambda run: run.profile)[:cells]
    text = lost_runs.loss_in_words(runs, Loss("not carried out"))
    assert where in text
    verb = "was" if cells == 1 else "were"
    assert text.endswith(f") {verb} not carried out")


def test_the_reason_of_a_loss_is_not_read_for_its_verb() -> None:
    loss = Loss("failed", "was not reachable")
    assert loss.label == "failed: was not reachable"
    assert loss.predicate(2) == "failed: was not reachable"
    assert Loss("interrupted", "a node died").predicate(2) == (
        "were interrupted: a node died"
    )
