"""`--until decided`: repetitions go where the decision is open.

Method: fake parts carry out campaigns of two tiers whose throughputs are listed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from orchestrator.analysis.conclusions import Decision
from orchestrator.analysis.statistics import looks
from orchestrator.analysis.verdicts import judge
from orchestrator.cli.common.options import Request
from orchestrator.cli.measure import plans
from orchestrator.errors import UsageError
from orchestrator.metrics import measured
from orchestrator.model import Plan, Record
from orchestrator.parts import Result
from orchestrator.planning.plan import grown as grown_by_one
from orchestrator.run import experiment
from orchestrator.run.resuming.resuming import Resumption
from orchestrator.run.runs_ahead import schedule
from orchestrator.system import store
from tests.apps import an_app
from tests.calls import calls_of
from tests.fake_parts import FakeGenerator
from tests.fakes import Log, QuietProgress
from tests.plans import a_plan, changed_plan
from tests.unit.run.conftest import Campaign, Failing, Make

# Of each workload ultra's throughput in % of premium's 100, repetition by repetition.
Changes = Mapping[str, Sequence[float]]
CLEAR = [400.0, 404.0, 398.0, 401.0, 402.0, 399.0]
ALIKE = [99.0, 102.0, 99.5, 100.5, 100.0, 100.0]
NOISY = [90.0, 120.0, 85.0, 110.0, 95.0, 105.0]


class Listed(FakeGenerator):
    """Leaves the listed throughput of each run, and the average latency of a closed loop."""

    def __init__(self, log: Log, changes: Changes) -> None:
        super().__init__(log)
        self._changes = changes

    def read(self, workload: Any, out: Path, *window: Any) -> Result:
        slug = out.parent.name
        turn = int(slug.rsplit("-r", 1)[1]) - 1
        rate = self._changes[workload.name][turn] if "ultra" in slug else 100.0
        figures = (
            measured("throughput_per_s", rate),
            measured("latency_avg_s", 2 / rate),
        )
        return replace(super().read(workload, out, *window), measurements=figures)


def plan(workloads: Sequence[str], first: int, most: int) -> Plan:
    made = a_plan(("premium", "ultra"), tuple(workloads), first)
    return changed_plan(made, looks=looks.shares(first, most))


def grown(
    campaign: Campaign, changes: Changes, first: int = 2, most: int = 6
) -> list[Record]:
    generator = Listed(campaign.log, changes)
    campaign.parts = replace(campaign.parts, load_generators={"sysbench": generator})
    following = partial(schedule.decided, campaign.world.progress)
    return campaign.execute(plan=plan(list(changes), first, most), following=following)


def repetitions(records: Sequence[Record]) -> dict[str, int]:
    return {one.run.workload: one.run.repetition for one in records}


def decided(campaign: Campaign) -> dict[str, Decision]:
    found = judge(store.load(campaign.results / "latest")).decisions
    return {one.workload: one for one in found}


def said(campaign: Campaign) -> list[str]:
    progress = campaign.world.progress
    assert isinstance(progress, QuietProgress)
    return progress.said


@pytest.fixture(scope="module")
def of_two_loads(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    """A campaign that has ended, of a load that was clear at once and of one that was open."""
    campaign = Campaign(tmp_path_factory.mktemp("two loads"))
    grown(campaign, {"point-select": CLEAR, "insert": ALIKE})
    return campaign


def test_only_what_is_open_is_repeated_and_on_every_tier(
    of_two_loads: Campaign,
) -> None:
    records = of_two_loads.records()
    assert repetitions(records) == {"point-select": 2, "insert": 4}
    added = [one.run for one in records if one.run.repetition > 2]
    assert [(run.workload, run.repetition) for run in added[::2]] == [
        ("insert", 3),
        ("insert", 4),
    ]
    for first, second in zip(added[::2], added[1::2], strict=True):
        assert {first.profile, second.profile} == {"premium", "ultra"}
    assert [one.run.number for one in records] == list(range(1, len(records) + 1))
    found = decided(of_two_loads)
    assert (found["point-select"].tier, found["insert"].tier) == ("ultra", "premium")


def test_no_run_is_read_to_decide_nothing(make: Make) -> None:
    campaign = make()
    campaign.execute()
    folder = campaign.results / "latest"
    decide = partial(schedule.decided, campaign.world.progress, folder)
    assert calls_of({"records": store._record}, decide) == {}


def test_it_ends_with_the_most_that_were_asked_for(make: Make) -> None:
    campaign = make()
    assert repetitions(grown(campaign, {"insert": NOISY}, most=4)) == {"insert": 4}
    assert decided(campaign)["insert"].is_open
    notes = [line for line in said(campaign) if line.startswith("insert is open")]
    assert notes[0].startswith(
        "insert is open after 2 repetitions, one more of at most 4: whether"
    )
    assert notes[-1].startswith("insert is open after 4 repetitions, no more, as asked")


def test_a_stored_campaign_is_judged_at_the_level_of_its_last_look(
    of_two_loads: Campaign,
) -> None:
    stored = store.load(of_two_loads.results / "latest")
    shares = stored.plan.repeats.looks
    assert shares == looks.shares(2, 6)
    levels = {one.workload: one.confidence_pct for one in judge(stored).deltas}
    assert levels["point-select"] == pytest.approx(100 - 5 * shares[2], abs=1e-4)
    assert levels["insert"] == pytest.approx(100 - 5 * shares[4], abs=1e-4)
    assert decided(of_two_loads)["insert"].confidence_pct == pytest.approx(
        100 - 10 * shares[4], abs=0.01
    )
    at_once = replace(stored, plan=changed_plan(stored.plan, looks={}))
    assert {one.confidence_pct for one in judge(at_once).deltas} == {95.0}


def test_a_lost_run_does_not_end_it(make: Make) -> None:
    campaign = make(Failing("warm", ValueError("x"), (2,)))
    records = grown(campaign, {"point-select": CLEAR})
    assert repetitions(records) == {"point-select": 3}
    assert decided(campaign)["point-select"].tier == "ultra"


class Killed(BaseException):
    """Ends this program as SIGKILL does."""


def test_one_that_was_killed_goes_on_with_its_levels(make: Make) -> None:
    whole = make()
    grown(whole, {"insert": ALIKE})
    expected = judge(store.load(whole.results / "latest")).deltas
    with pytest.raises(Killed):
        grown(
            make(Failing("run insert", Killed(), (6,))), {"insert": ALIKE}
        )  # one that was added
    campaign = make()
    begun = Resumption((campaign.results / "latest").resolve())
    assert (begun.plan.repeats.looks, begun.plan.repeats.repetitions) == (
        looks.shares(2, 6),
        3,
    )
    parts = replace(
        campaign.parts,
        load_generators={"sysbench": Listed(campaign.log, {"insert": ALIKE})},
    )
    following = partial(schedule.decided, campaign.world.progress)
    experiment.execute(
        begun.plan, parts, campaign.world, campaign.results, {}, [following], begun
    )
    assert repetitions(campaign.records()) == {"insert": 4}
    assert judge(store.load(campaign.results / "latest")).deltas == expected


def test_a_campaign_of_fixed_length_stays_as_planned(make: Make) -> None:
    campaign = make()
    following = partial(schedule.decided, campaign.world.progress)
    records = campaign.execute(plan=a_plan(("premium", "ultra")), following=following)
    assert len(records) == 2


def test_what_is_added_is_what_would_have_been_planned_at_once(make: Make) -> None:
    at_once = a_plan(("a", "b", "c"), ("read", "write"), 3)
    from_one = a_plan(("a", "b", "c"), ("read", "write"), 1)
    for _ in range(2):
        from_one = grown_by_one(from_one, ["read", "write"])
    times = {
        "estimate_s": from_one.estimate_s,
        "most_s": from_one.most_s,
    }  # as said at the start
    assert from_one == replace(at_once, **times)  # type: ignore[arg-type]


# ------------------------------------------------------------------ the option


def request(**changes: Any) -> Request:
    asked = Request(
        profiles=["premium", "ultra"],
        workloads=["insert"],
        database="postgresql",
        scale="smoke",
        nodes=1,
        repetitions=2,
        until="decided",
        most_repetitions=6,
    )
    return replace(asked, **changes)


def test_levels_are_in_the_plan() -> None:
    made = plans.make_plan(an_app(Path("/nonexistent")), request())
    assert made.repeats.looks == looks.shares(2, 6)
    asked = request(until=None, most_repetitions=None)
    fixed = plans.make_plan(an_app(Path("/nonexistent")), asked)
    assert fixed.repeats.looks == {}


@pytest.mark.parametrize(("first", "most"), [(1, 6), (7, 6)])
def test_a_beginning_or_an_end_that_cannot_be_is_refused(first: int, most: int) -> None:
    asked = request(repetitions=first, most_repetitions=most)
    with pytest.raises(UsageError, match="--until decided cannot begin with"):
        plans.make_plan(an_app(Path("/nonexistent")), asked)
