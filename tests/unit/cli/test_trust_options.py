"""--aa, --warmup and --windows as a campaign is planned from them."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.cli.common.options import Request
from orchestrator.cli.measure import plans
from orchestrator.errors import UsageError
from orchestrator.model import Plan
from tests import ROOT
from tests.apps import an_app

NO_CACHE = ROOT / "no-such-cache"
SMALL = {"database": "postgresql", "scale": "laptop", "nodes": 1}


def planned(profile: str, *workloads: str, **options: object) -> Plan:
    asked = {**SMALL, **options}
    request = Request(profiles=[profile], workloads=workloads, **asked)  # type: ignore[arg-type]
    return plans.make_plan(an_app(NO_CACHE), request)


def test_the_interval_is_the_one_that_the_server_will_have() -> None:
    plan = planned("premium", "point-select", "insert", windows="checkpoints")
    assert (
        plan.workload("insert").measure_s == 600.0
    )  # PostgreSQL's own five minutes, twice
    assert plan.workload("insert").warmup_s == 300.0
    assert plan.workload("point-select").measure_s == 60.0
    assert "5 min" in next(
        note.text for note in plan.notes if note.kind == "longer windows"
    )


def test_a_database_without_such_an_interval_is_refused() -> None:
    with pytest.raises(UsageError, match="checkpoint interval is not known"):
        planned("premium", "insert", database="yugabytedb", windows="checkpoints")


def test_a_tier_named_twice_is_told_what_to_do() -> None:
    with pytest.raises(UsageError) as caught:
        plans.make_plan(
            an_app(NO_CACHE), Request(profiles=["ultra", "ultra"], workloads=["insert"])
        )
    assert "named twice" in caught.value.what and "--aa" in caught.value.advice


def test_the_baseline_gets_a_twin(tmp_path: Path) -> None:
    plan = plans.make_plan(
        an_app(tmp_path),
        Request(
            profiles=["premium", "ultra"],
            workloads=["insert"],
            baseline="ultra",
            aa=True,
            **SMALL,  # type: ignore[arg-type]
        ),
    )
    assert (plan.baseline, plan.twin) == ("ultra", "ultra-again")
    assert plan.profile("ultra-again").cluster == plan.profile("ultra").cluster


def test_a_warm_up_until_steady_has_a_longest_time() -> None:
    workload = planned("premium", "insert", warmup="steady").workload("insert")
    assert (workload.warmup_s, workload.warmup_most_s) == (15.0, 150.0)
    assert planned("premium", "insert").workload("insert").warmup_most_s is None


@pytest.mark.parametrize("workload", ["oltp_insert", "disk-matrix"])
def test_a_warm_up_of_other_generators_is_fixed(workload: str) -> None:
    with pytest.raises(UsageError, match="fixed time"):
        planned("premium", workload, warmup="steady")
