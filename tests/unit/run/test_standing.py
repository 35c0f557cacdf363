"""How a campaign stands is told by records alone, while it goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pandas as pd

from orchestrator.run import experiment
from orchestrator.run.progress import judging
from orchestrator.run.progress.live_events import Onlookers, RunBegins, StandingFound
from orchestrator.system import campaign_writing, store
from tests.calls import calls_of
from tests.plans import a_plan
from tests.unit.run.conftest import FACTS, Campaign, Make


def by_records(campaign: Campaign) -> Callable[[], Sequence[str]]:
    stored = store.load_without_tables(campaign.results / "latest")
    return lambda: judging.decided_by_records(stored)


def test_records_without_tables_are_judged_without_making_any(make: Make) -> None:
    campaign = make()
    campaign.execute(plan=a_plan(("premium", "ultra"), repetitions=2))
    judge = by_records(campaign)
    judge()  # what is made once for all runs is made now
    made = calls_of({"table": pd.DataFrame.__init__}, by_records(campaign))
    assert made == {}


def test_a_campaign_parses_the_record_of_each_run_as_often_as_there_are_runs(
    make: Make,
) -> None:
    """To announce a run all before it were parsed again: of a hundred runs five thousand."""
    campaign = make()
    plan = a_plan(("premium", "ultra"), repetitions=3)
    calls = calls_of({"records": store._record}, lambda: campaign.execute(plan=plan))
    runs = len(plan.runs)
    # Once with its tables, once among the others, and once by the test when all are made.
    assert calls == {"records": 3 * runs}


def test_what_is_announced_is_what_the_records_say_now(make: Make) -> None:
    """While the fourth run is made, the record of the first becomes that of a failed run."""
    campaign = make()
    announced: list[Sequence[str]] = []
    expected: list[Sequence[str]] = []

    def hear(event: object) -> None:
        folder = campaign.results / "latest"
        if isinstance(event, RunBegins) and event.run.number == 4:
            first = min((folder / "runs").iterdir())
            record = store.load_run(first).record
            failed = replace(record, outcome="failed", failure="it was gone")
            campaign_writing.save_record(first, failed)
        if isinstance(event, StandingFound):
            announced.append(event.lines)
            expected.append(by_records(campaign)())

    experiment.execute(
        a_plan(("premium", "ultra"), repetitions=2),
        campaign.parts,
        campaign.world,
        campaign.results,
        FACTS,
        onlookers=Onlookers(hear),
    )
    assert len(announced) == 4 and announced == expected
    (line,) = announced[-1]
    assert ": open" in line, "the first run as it was would decide for premium"
