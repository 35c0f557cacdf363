"""The order of a repetition is a factor of the decision, by the plan and not by what is seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from orchestrator.analysis.decisions import decision
from orchestrator.analysis.results import Results
from orchestrator.model import Measurement, Run, Workload
from tests import loads
from tests.campaigns import build_campaign
from tests.plans import changed_plan

TIERS = ("premium", "ultra")
NOISE = (1.0, 1.004, 0.996, 1.002, 0.998, 1.001)


def campaign_in_blocks(*, alternating: bool, repetitions: int = 6) -> Results:
    """Equal tiers; the one that begins a repetition is 6 % slower in it."""
    noises = NOISE[:repetitions]
    values = {(tier, "insert"): [600.0 * noise for noise in noises] for tier in TIERS}
    for number in range(repetitions):
        began = TIERS[number % 2]
        values[began, "insert"][number] *= 0.94
    built = build_campaign(
        profiles=TIERS,
        workloads=["insert"],
        repetitions=repetitions,
        values=values,
        frames=False,
    )
    runs: list[Run] = []
    for run in built.plan.runs:
        begins = run.profile == TIERS[(run.repetition - 1) % 2]
        runs.insert(_place(runs, run) if begins and alternating else len(runs), run)
    return replace(built, plan=replace(built.plan, runs=tuple(runs)))


def _place(runs: list[Run], run: Run) -> int:
    """Before the others of its repetition."""
    for place, other in enumerate(runs):
        if other.repetition == run.repetition:
            return place
    return len(runs)


def test_a_slow_first_run_of_each_repetition_leaves_an_answer() -> None:
    answer = decision.decide_all(campaign_in_blocks(alternating=True), ())[0][0]
    assert answer.tier == "premium", answer.reason
    assert answer.cheaper_open == ()


@pytest.mark.parametrize(("repetitions", "tier"), [(4, None), (5, "premium")])
def test_the_order_is_a_factor_from_five_repetitions_on(
    repetitions: int, tier: str | None
) -> None:
    shown = campaign_in_blocks(alternating=True, repetitions=repetitions)
    assert decision.decide_all(shown, ())[0][0].tier == tier


def test_the_plan_says_the_order_and_not_the_figures() -> None:
    """Were the same tier always first, its place could not be told from the tier."""
    answer = decision.decide_all(campaign_in_blocks(alternating=False), ())[0][0]
    assert answer.tier is None


# ------------------------------------------------------------------ sweeps and means


def with_slow_first_runs(workloads: Sequence[Workload]) -> Results:
    """Equal tiers, in the order of a real plan; who begins a repetition of a workload is 8 % slower
    in it."""
    first_runs: dict[tuple[str, int], int] = {}

    def figures(run: Run, workload: Workload) -> list[Measurement]:
        block = (workload.name, run.repetition)
        begins = first_runs.setdefault(block, run.number) == run.number
        slower = 0.92 if begins else 1.0
        noise = NOISE[(run.number * 7) % len(NOISE)]
        rate = 600.0 * slower * noise
        return loads.closed(run, rate, 24 / rate)

    return loads.build(workloads, figures, profiles=TIERS, repetitions=6)


def test_a_slow_first_run_of_each_load_of_a_sweep_leaves_an_answer() -> None:
    campaign = with_slow_first_runs(loads.swept("threads=1,4,16"))
    (answer,), _ = decision.decide_all(campaign, ())
    assert answer.tier == "premium", answer.reason


def test_a_slow_first_run_of_each_workload_leaves_an_answer_for_their_mean() -> None:
    names = ("point-select", "insert")
    campaign = with_slow_first_runs([loads.a_load(name) for name in names])
    weighted = changed_plan(campaign.plan, weights={names[0]: 20.0, names[1]: 1.0})
    _, answer = decision.decide_all(replace(campaign, plan=weighted), ())
    assert answer is not None
    assert answer.tier == "premium", answer.reason
