"""The plan: order, seed, fit to the machine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.errors import UsageError
from orchestrator.model import Dataset
from orchestrator.planning.durations import steps
from orchestrator.planning.paces import Span
from orchestrator.planning.plan import fit_to_machines
from orchestrator.planning.time_left import TimeLeft
from orchestrator.tier import DiskKind
from tests.plans import a_plan, a_profile, a_workload, planned
from tests.tiers import changed


def test_rounds_turn_so_that_drift_favours_no_tier() -> None:
    plan = a_plan(("a", "b", "c"), ("read", "write"), repetitions=2)
    order = [(run.repetition, run.workload, run.profile) for run in plan.runs]
    for workload in ("read", "write"):
        first = [p for r, w, p in order if (r, w) == (1, workload)]
        second = [p for r, w, p in order if (r, w) == (2, workload)]
        assert sorted(first) == ["a", "b", "c"]
        assert second == first[::-1]
    assert [run.number for run in plan.runs] == list(range(1, 13))
    assert plan.runs[0].slug == f"01-{plan.runs[0].profile}-read-r1"


def test_a_name_that_is_not_planned_is_told_beside_those_that_are() -> None:
    """It ended with a StopIteration, which says neither."""
    plan = a_plan(("a", "b"), ("read",))
    with pytest.raises(UsageError, match="the plan has no profile c") as refused:
        plan.profile("c")
    assert refused.value.advice == "it has a, b"
    with pytest.raises(UsageError, match="the plan has no workload write"):
        plan.workload("write")


def test_the_same_seed_gives_the_same_order() -> None:
    assert (
        a_plan(("a", "b"), repetitions=3).runs == a_plan(("a", "b"), repetitions=3).runs
    )


def test_a_small_machine_gets_one_node_and_says_so() -> None:
    fitted, notes = fit_to_machines([a_profile(nodes=3)], None, cores=[2])
    assert (fitted[0].cluster.nodes, fitted[0].cluster.replication_factor) == (1, 1)
    assert (
        "1 database node instead of the profile's 3 (this machine has 2 cores)"
        in notes[0].text
    )


def test_a_large_machine_gets_what_the_profile_says() -> None:
    fitted, notes = fit_to_machines([a_profile(nodes=3)], None, cores=[8])
    assert (fitted[0].cluster.nodes, notes) == (3, ())


def test_nodes_share_the_cores_of_all_machines() -> None:
    fitted, notes = fit_to_machines([a_profile(nodes=3)], None, cores=[2, 2, 2])
    assert (fitted[0].cluster.nodes, notes) == (3, ())
    fitted, notes = fit_to_machines([a_profile(nodes=3)], None, cores=[2, 2])
    assert fitted[0].cluster.nodes == 1
    assert "(the 2 machines have 4 cores)" in notes[0].text


def test_of_machines_that_are_not_known_nothing_is_said() -> None:
    fitted, notes = fit_to_machines([a_profile(nodes=3)], None, cores=[])
    assert (fitted[0].cluster.nodes, notes) == (3, ())


def test_asked_for_nodes_are_taken_even_where_tight() -> None:
    fitted, notes = fit_to_machines([a_profile(nodes=1)], 3, cores=[2])
    assert (fitted[0].cluster.nodes, fitted[0].cluster.replication_factor) == (3, 1)
    assert notes[0].kind == "nodes as asked" and "as asked" in notes[0].text


def test_an_unknown_baseline_is_refused() -> None:
    with pytest.raises(UsageError, match="not among the profiles"):
        planned([a_profile()], [a_workload()], baseline="ultra")


def test_the_time_left_learns_from_the_runs_done() -> None:
    plan = a_plan(repetitions=4)  # windows of 1 s + 4 s
    left = TimeLeft()
    assert left.before(plan.runs, plan) == plan.estimate_s
    left.took(plan.workloads[0], 65.0)  # the load and the gate: 60 s beside the window
    assert left.before(plan.runs[1:], plan) == 3 * 65
    left.took(plan.workloads[0], 7.0)
    left.took(plan.workloads[0], 7.0)
    assert left.before(plan.runs[3:], plan) == 7


def test_checking_a_large_data_set_takes_time() -> None:
    def checking(warehouses: int, like: DiskKind = "emulated") -> Span:
        profile = replace(a_profile(), tier=changed(a_profile().tier, like=like))
        workload = replace(
            a_workload(), dataset=Dataset("tpcc", {"warehouses": warehouses})
        )
        plan = planned([profile], [workload], repetitions=5, scale="study")
        return next(
            step.total for step in steps(plan) if step.what == "checking the data"
        )

    assert checking(20) == checking(1) == Span(0.0, 5 * 10.0)
    # 9 MB of each warehouse's payments at the disk's 10 MB/s, read at once or by each condition.
    assert checking(2_000, "mounted") == Span(5 * (15 + 600), 5 * (60 + 3600))
    # The limits of an emulated disk are lifted then: at most as long as at 100 MB/s.
    assert checking(2_000) == Span(5 * 15, 5 * (60 + 360))


def test_the_twin_is_planned_in_every_round_like_all_others() -> None:
    plan = a_plan(("premium", "ultra"), ("insert", "tpcc"), repetitions=3, aa=True)
    assert plan.twin == "premium-again"
    assert [profile.name for profile in plan.profiles] == [
        "premium",
        "ultra",
        "premium-again",
    ]
    assert [profile.name for profile in plan.tiers] == ["premium", "ultra"]
    assert plan.profile("premium-again").tier == plan.profile("premium").tier
    rounds = [plan.runs[first : first + 3] for first in range(0, len(plan.runs), 3)]
    for block in rounds:
        assert {run.profile for run in block} == {"premium", "ultra", "premium-again"}
        assert len({(run.workload, run.repetition) for run in block}) == 1
    orders = [
        [run.profile for run in block]
        for block in rounds
        if block[0].workload == "insert"
    ]
    assert orders[0] == orders[1][::-1] != orders[2]


def test_a_profile_that_has_the_twin_s_name_is_refused() -> None:
    with pytest.raises(UsageError, match="premium-again"):
        a_plan(("premium", "premium-again"), aa=True)
