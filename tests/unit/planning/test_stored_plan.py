"""A plan that was read from a file is refused where no plan could have been made so.

Goal: each number is refused just beyond its border, with a sentence, and taken on it.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.model import Plan
from orchestrator.planning import stored_plan
from orchestrator.tier import Price
from tests.plans import a_plan, changed_plan

PLAN = a_plan()
NOT_A_NUMBER = float("nan")


def of_run(**changes: Any) -> Plan:
    return replace(PLAN, runs=(replace(PLAN.runs[0], **changes),))


def of_tier(**changes: Any) -> Plan:
    profile = PLAN.profiles[0]
    tier = replace(profile.tier, **changes)
    return replace(PLAN, profiles=(replace(profile, tier=tier),))


def of_limits(**changes: Any) -> Plan:
    limits = replace(PLAN.profiles[0].tier.limits, **changes)
    return of_tier(limits=limits)


def of_cluster(**changes: Any) -> Plan:
    profile = PLAN.profiles[0]
    cluster = replace(profile.cluster, **changes)
    return replace(PLAN, profiles=(replace(profile, cluster=cluster),))


def of_load(**changes: Any) -> Plan:
    return replace(PLAN, workloads=(replace(PLAN.workloads[0], **changes),))


def price(monthly: float) -> Price:
    return Price(monthly, "USD", "a region", "2026-11-01", "a list")


@pytest.mark.parametrize(
    ("plan", "mistake"),
    [
        (replace(PLAN, runs=()), "it plans nothing"),
        (of_run(number=0), "run 0 has the repetition 1"),
        (of_run(repetition=0), "run 1 has the repetition 0"),
        (
            of_run(profile="other"),
            "run 1 is of 'other × point-select', which is not planned",
        ),
        (
            of_run(workload="other"),
            "run 1 is of 'premium × other', which is not planned",
        ),
        (replace(PLAN, profiles=PLAN.profiles * 2), "it has a profile twice"),
        (replace(PLAN, workloads=PLAN.workloads * 2), "it has a workload twice"),
        (replace(PLAN, runs=PLAN.runs * 2), "it has a run twice"),
        (replace(PLAN, baseline="other"), "no profile is named 'other'"),
        (replace(PLAN, twin="other"), "no profile is named 'other'"),
        (changed_plan(PLAN, margin_pct=100.0), "100 % is not a margin"),
        (changed_plan(PLAN, margin_pct=-1.0), "-1 % is not a margin"),
        (changed_plan(PLAN, p99_margin_pct=100.0), "100 % is not a margin"),
        (changed_plan(PLAN, repetitions=0), "repetitions is 0"),
        (changed_plan(PLAN, gate_every=0), "gate_every is 0"),
        (changed_plan(PLAN, looks={3: 1.01}), "a look has the share 1.01"),
        (changed_plan(PLAN, looks={3: -0.01}), "a look has the share -0.01"),
        (replace(PLAN, estimate_s=NOT_A_NUMBER), "nan is less than nothing"),
        (changed_plan(PLAN, retry_failed=-1), "-1 is less than nothing"),
        (replace(PLAN, most_s=-1.0), "-1 is less than nothing"),
        (replace(PLAN, latency_at_pct=-1.0), "-1 is less than nothing"),
        (changed_plan(PLAN, weights={"insert": -1.0}), "-1 is less than nothing"),
        (of_tier(count=0), "premium: 0 disks are striped"),
        (of_tier(price=price(-1.0)), "premium: -1 a month is not a price"),
        (of_tier(price=price(NOT_A_NUMBER)), "premium: nan a month is not a price"),
        (of_limits(iops=0), "premium: 0 is not a limit of a disk"),
        (of_limits(bytes_per_s=0), "premium: 0 is not a limit of a disk"),
        (of_limits(write_iops=0), "premium: 0 is not a limit of a disk"),
        (of_cluster(nodes=0), "premium: 0 nodes and 1 clients"),
        (of_cluster(clients=0), "premium: 1 nodes and 0 clients"),
        (of_cluster(profile_nodes=0), "premium: a profile of 0 nodes"),
        (of_cluster(vm_price=price(-1.0)), "premium: -1 a month is not a price"),
        (of_load(threads=0), "point-select: 0 threads"),
        (of_load(measure_s=-1.0), "point-select: a time is less than nothing"),
        (of_load(warmup_s=NOT_A_NUMBER), "point-select: a time is less than nothing"),
    ],
)
def test_what_no_plan_has_is_refused(plan: Plan, mistake: str) -> None:
    assert mistake in list(stored_plan.mistakes(plan))
    with pytest.raises(ValueError):
        stored_plan.require_possible(plan)


@pytest.mark.parametrize(
    "plan",
    [
        PLAN,
        changed_plan(PLAN, margin_pct=0.0, p99_margin_pct=0.0, gate_every=1),
        changed_plan(PLAN, looks={3: 0.0, 4: 1.0}),
        changed_plan(
            PLAN, estimate_s=0.0, most_s=0.0, latency_at_pct=0.0, weights={"a": 0}
        ),
        replace(PLAN, baseline=PLAN.profiles[0].name, twin=PLAN.profiles[0].name),
        of_tier(count=1, price=price(0.0)),
        of_limits(iops=1, bytes_per_s=1, write_iops=1),
        of_limits(iops=None, bytes_per_s=None),
        of_cluster(nodes=1, clients=1, profile_nodes=1, vm_price=price(0.0)),
        of_load(threads=1, measure_s=0.0, warmup_s=0.0),
        of_load(measure_s=math.inf),
    ],
)
def test_what_is_on_a_border_is_a_plan(plan: Plan) -> None:
    assert not list(stored_plan.mistakes(plan))


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\x1b[2J"])
def test_what_no_folder_can_be_called_is_no_name(name: str) -> None:
    assert not stored_plan.is_name(name)
    plan = replace(PLAN, profiles=(replace(PLAN.profiles[0], name=name),))
    assert any("cannot be a name" in text for text in stored_plan.mistakes(plan))
    assert stored_plan.is_name("...") and stored_plan.is_name("a b")


def test_a_file_has_the_fields_of_all_parts_on_one_level() -> None:
    """So do those of earlier programs, which had no parts."""
    content = stored_plan.flat(changed_plan(PLAN, retry_failed=2, drain=True))
    assert (content["seed"], content["margin_pct"]) == (1, 5.0)
    assert (content["retry_failed"], content["drain"]) == (2, True)
    assert not content.keys() & {"repeats", "judging", "disk_checks"}


def test_a_file_becomes_the_parts_of_a_plan() -> None:
    content = {"seed": 7, "repetitions": 3, "margin_pct": 5.0, "name": "x"}
    stored_plan.take_in_parts(content)
    assert content == {
        "name": "x",
        "repeats": {"seed": 7, "repetitions": 3},
        "judging": {"margin_pct": 5.0},
        "disk_checks": {},
    }
