"""The order of a repetition is a factor of the decision, by the plan and not by what is seen."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.analysis.decisions import decision
from orchestrator.analysis.results import Results
from orchestrator.model import Run
from tests.campaigns import build_campaign

TIERS = ("premium", "ultra")
NOISE = (1.0, 1.004, 0.996, 1.002, 0.998, 1.001)


def campaign(*, alternating: bool) -> Results:
    """Equal tiers; the one that begins a repetition is 6 % slower in it."""
    values = {(tier, "insert"): [600.0 * noise for noise in NOISE] for tier in TIERS}
    for number in range(6):
        began = TIERS[number % 2]
        values[began, "insert"][number] *= 0.94
    built = build_campaign(
        profiles=TIERS, workloads=["insert"], repetitions=6, values=values, frames=False
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
    answer = decision.decide_all(campaign(alternating=True), ())[0][0]
    assert answer.tier == "premium", answer.reason
    assert answer.cheaper_open == ()


def test_the_plan_says_the_order_and_not_the_figures() -> None:
    """Were the same tier always first, its place could not be told from the tier."""
    answer = decision.decide_all(campaign(alternating=False), ())[0][0]
    assert answer.tier is None
