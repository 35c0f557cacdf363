"""How a campaign stands is told by records alone, while it goes on."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from orchestrator.run import judging
from orchestrator.system import store
from tests.calls import calls_of
from tests.plans import a_plan
from tests.unit.run.conftest import Campaign, Make


def by_records(campaign: Campaign) -> Callable[[], object]:
    stored = store.load(campaign.results / "latest", tables=False)
    return lambda: judging.decided_by_records(stored)


def test_records_without_tables_are_judged_without_making_any(make: Make) -> None:
    campaign = make()
    campaign.execute(plan=a_plan(("premium", "ultra"), repetitions=2))
    judge = by_records(campaign)
    judge()  # what is made once for all runs is made now
    made = calls_of({"table": pd.DataFrame.__init__}, by_records(campaign))
    assert made == {}
