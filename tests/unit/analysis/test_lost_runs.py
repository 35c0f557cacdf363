"""Runs that were lost are told with their cells, as long as these are few."""

from __future__ import annotations

import pytest

from orchestrator.analysis.answers import lost_runs
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
    text = lost_runs._lost(runs, "was not carried out")
    assert where in text
    assert text.endswith("was not carried out." if cells == 1 else "not carried out.")
