"""A plan that grows by what its runs found.

Method: fake parts carry out a plan of one repetition; what follows is decided from the folder.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.analysis import metric_values
from orchestrator.errors import UsageError
from orchestrator.model import Plan
from orchestrator.run.runs_ahead import same_rate
from orchestrator.run.runs_ahead.schedule import Following
from orchestrator.system import store
from tests.fakes import QuietProgress
from tests.plans import a_plan
from tests.unit.run.conftest import Failing, Make, kept, real


def growing(to: Plan) -> tuple[list[int], Following]:
    """Asks for the longer plan once; the list gets the finished runs at each question."""
    seen: list[int] = []

    def following(folder: Path) -> Plan | None:
        results = store.load(folder)
        seen.append(sum(data.record.outcome == "done" for data in results.runs))
        return to if len(results.plan.runs) < len(to.runs) else None

    return seen, following


def test_what_follows_is_asked_when_all_is_measured_and_again_after_that(
    make: Make,
) -> None:
    seen, following = growing(a_plan(repetitions=3))
    campaign = make()
    records = campaign.execute(plan=a_plan(), following=following)
    assert [record.run.repetition for record in records] == [1, 2, 3]
    assert seen == [1, 3]
    assert store.load(campaign.results / "latest").plan.repeats.repetitions == 3


def test_all_tiers_are_measured_again_at_the_rate_that_their_capacity_gives(
    make: Make,
) -> None:
    """From the plan of closed-loop runs to the stored records of those in open loop."""
    campaign = make()
    plan = replace(a_plan(("premium", "ultra"), repetitions=2), latency_at_pct=50.0)
    records = campaign.execute(
        plan=plan, following=lambda at: same_rate.plan_at_same_rate(store.load(at))
    )
    assert [record.outcome for record in records] == 8 * ["done"]
    at_rate = records[4:]
    assert {record.run.profile for record in at_rate} == {"premium", "ultra"}
    (rate,) = {record.workload.options["arrival_rate"] for record in at_rate}
    found = [
        metric_values.value_of(record, "throughput_per_s") or 0.0
        for record in records[:4]
    ]
    assert float(rate) == pytest.approx(0.5 * min(found), rel=0.1)


def test_a_real_disk_is_checked_after_the_last_run_of_the_grown_plan(
    make: Make,
) -> None:
    _, following = growing(real(a_plan(repetitions=2)))
    campaign = make()
    campaign.execute(plan=real(a_plan()), following=following)
    assert len(kept(campaign)) == 2  # before the first run and after the last


@pytest.mark.parametrize(
    "error", [KeyError("p99"), UsageError("a table was cut")], ids=repr
)
def test_judging_that_fails_skips_neither_the_last_gate_nor_the_report(
    make: Make, error: Exception
) -> None:
    def following(_: Path) -> Plan | None:
        raise error

    campaign = make()
    records = campaign.execute(plan=real(a_plan()), following=following)
    assert [record.outcome for record in records] == ["done"]
    assert len(kept(campaign)) == 2  # before the first run and after the last
    (note,) = store.load(campaign.results / "latest").plan.notes
    assert "whether more runs are needed is not known" in note.text
    assert str(error) in note.text
    progress = campaign.world.progress
    assert isinstance(progress, QuietProgress) and note.text in progress.said


def test_a_failed_last_run_is_followed_like_any_other(make: Make) -> None:
    seen, following = growing(a_plan(repetitions=2))
    campaign = make(Failing("warm", ValueError("x"), (1,)))
    campaign.execute(plan=a_plan(), following=following)
    assert campaign.outcomes() == ["failed", "done"]
    assert seen == [0, 1]


def test_a_campaign_that_is_interrupted_does_not_grow(make: Make) -> None:
    seen, following = growing(a_plan(repetitions=2))
    campaign = make(Failing("warm", KeyboardInterrupt(), (1,)))
    with pytest.raises(KeyboardInterrupt):
        campaign.execute(plan=a_plan(), following=following)
    assert seen == []
