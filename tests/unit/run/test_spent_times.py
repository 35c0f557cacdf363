"""What later estimates learn from a campaign: how long its parts took on this machine.

Method: fake parts of which each takes a known time, and the steps reckoned before and after.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.errors import NodeError
from orchestrator.model import Plan
from orchestrator.planning.durations import steps
from orchestrator.planning.paces import Span
from orchestrator.run.runs_ahead import spent_times
from tests.fake_parts import FakeTier
from tests.fakes import FakeClock, Log
from tests.plans import a_plan, a_profile
from tests.unit.run.conftest import Campaign, Make

ROOM = 1.5
BYTES = 2 * 10 * 256  # of the data set


class Slow(Log):
    """A log of which words take so many seconds."""

    def __init__(
        self, clock: FakeClock, took_s: dict[str, float], **failing: Exception
    ) -> None:
        super().__init__(broken={**failing})
        self._clock, self._took_s = clock, took_s

    def say(self, word: str) -> None:
        self._clock.sleep(self._took_s.get(word, 0.0))
        super().say(word)


TOOK_S = {
    "load": 20.0,
    "gate of premium": 12.0,
    "disks of premium up": 5.0,  # with a copy of the loaded data
    "database up": 3.0,
    "client up": 1.0,
    "warm": 7.0,
    "verify": 9.0,
    "database down": 2.0,
}


def reckoned(campaign: Campaign) -> dict[str, Span]:
    """The steps of the same plan, by the first word of what they are."""
    plan = a_plan(repetitions=3)
    made = steps(plan, None, spent_times.learnt_paces(campaign.world.cache))
    return {step.what.split()[0]: step.total for step in made}


def slow(make: Make, **failing: Exception) -> Campaign:
    clock = FakeClock()
    return make(Slow(clock, TOOK_S, **failing), clock)


def near(found: Span, least_s: float, most_s: float) -> bool:
    return (found.least_s, found.most_s) == pytest.approx((least_s, most_s), abs=0.1)


def test_start_and_stop_restore_and_gate_are_learnt(make: Make) -> None:
    campaign = slow(make)
    before = reckoned(campaign)
    campaign.execute(repetitions=3)
    after = reckoned(campaign)
    around_s = (
        3.0 + 1.0 + 2.0
    )  # neither loading, copying, warming, checking, nor the gate
    assert near(after["starting"], 3 * around_s / ROOM, 3 * around_s * ROOM)
    assert near(after["restoring"], 3 * 5.0 / ROOM, 3 * 5.0 * ROOM)
    assert near(after["disk"], 0.0, 12.0 * ROOM)
    assert near(after["loading"], (20.0 + around_s) / ROOM, (20.0 + around_s) * ROOM)
    for step in ("warm-up", "filling", "checking"):
        assert after[step] == before[step]


def test_the_time_in_which_limits_are_changed_is_no_start_or_stop(make: Make) -> None:
    campaign = slow(make)
    tier = campaign.parts.tiers["emulated"]
    assert isinstance(tier, FakeTier)
    tier.changeable = ("IOPS",)
    plan = a_plan(repetitions=3)
    loads = tuple(replace(load, confirm_s=100.0) for load in plan.workloads)
    for record in campaign.execute(plan=replace(plan, workloads=loads)):
        confirm = record.phase("confirm")
        assert confirm is not None and confirm.duration_s == pytest.approx(100.0)
    assert near(reckoned(campaign)["starting"], 3 * 6.0 / ROOM, 3 * 6.0 * ROOM)


def test_a_gate_is_learnt_with_its_second_try(make: Make) -> None:
    clock = FakeClock()
    campaign = make(Slow(clock, TOOK_S), clock, gate="slow")
    campaign.execute()
    assert near(reckoned(campaign)["disk"], 0.0, 3 * 12.0 * ROOM)


def test_a_run_that_failed_teaches_nothing(make: Make) -> None:
    campaign = slow(make, warm=NodeError("died"))
    before = reckoned(campaign)
    campaign.execute()
    after = reckoned(campaign)
    assert (after["starting"], after["restoring"]) == (
        before["starting"],
        before["restoring"],
    )


def test_a_load_of_the_run_itself_is_learnt(make: Make) -> None:
    clock = FakeClock()
    campaign = make(Slow(clock, TOOK_S), clock, restores=False)
    campaign.execute()
    assert reckoned(campaign)["loading"].least_s == pytest.approx(
        (20.0 + 3.0 + 1.0 + 2.0 + 5.0) / ROOM, abs=0.1
    )


def test_what_took_no_time_is_not_learnt_and_costs_nothing_that_was(make: Make) -> None:
    campaign = make(Log())
    spent_times.keep("restore", 10.0, campaign.world, 4e9)
    spent_times.keep("restore", 0.0, campaign.world, 4e9)
    pace = spent_times.learnt_paces(campaign.world.cache)["restore"]
    assert pace.span.least_s == pytest.approx(10.0 / ROOM / 4e9)


def test_what_little_took_says_nothing_of_much(make: Make) -> None:
    """Copying 10 MB takes as long as beginning to copy does, and is no pace of a terabyte."""
    campaign = make(Log())
    for amount, took_s in ((1e7, 1.0), (4e9, 10.0), (16e9, 20.0)):
        spent_times.keep("restore", took_s, campaign.world, amount)
    pace = spent_times.learnt_paces(campaign.world.cache)["restore"]
    assert pace.span.most_s == pytest.approx(ROOM * 10.0 / 4e9)
    assert pace.rate.startswith("267 to 1,200 MB/s")


@pytest.mark.parametrize(
    ("amount", "most_s"), [(4e9, 100.0 / 4e9), (3.9e9, 20.0 / 16e9)]
)
def test_less_than_a_quarter_of_the_most_is_little(
    make: Make, amount: float, most_s: float
) -> None:
    """`most_s`: the most that a byte takes."""
    campaign = make(Log())
    spent_times.keep("restore", 100.0, campaign.world, amount)
    spent_times.keep("restore", 20.0, campaign.world, 16e9)
    pace = spent_times.learnt_paces(campaign.world.cache)["restore"]
    assert pace.span.most_s == pytest.approx(ROOM * most_s)


@pytest.mark.parametrize(("further", "least_s"), [(19, 1.0), (20, 10.0)])
def test_the_last_twenty_times_are_kept(
    make: Make, further: int, least_s: float
) -> None:
    campaign = make(Log())
    spent_times.keep("start", 1.0, campaign.world)
    for _ in range(further):
        spent_times.keep("start", 10.0, campaign.world)
    pace = spent_times.learnt_paces(campaign.world.cache)["start"]
    assert pace.span.least_s == pytest.approx(least_s / ROOM)


def test_another_tier_database_or_number_of_nodes_is_not_it(make: Make) -> None:
    campaign = slow(make)
    campaign.execute()
    learnt = spent_times.learnt_paces(campaign.world.cache)
    for plan in (
        a_plan(("ultra",)),
        replace(a_plan(), platform="kubernetes"),
        _on_nodes(3),
    ):
        of = {step.what: step.total for step in steps(plan, None, learnt)}
        assert of == {
            **of,
            **{one.what: one.total for one in steps(plan) if "start" in one.what},
        }


def _on_nodes(nodes: int) -> Plan:
    return replace(a_plan(), profiles=(a_profile(nodes=nodes),))
