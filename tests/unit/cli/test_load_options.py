"""`--sweep` and `--latency-at` reach the plan, and what cannot be asked ends before anything."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from orchestrator.cli.common.options import Request
from orchestrator.cli.measure import plans
from orchestrator.design.used_profiles import as_used
from orchestrator.errors import UsageError
from orchestrator.model import Plan
from orchestrator.system import campaign_writing, store
from tests import ROOT
from tests.apps import an_app


def planned(
    tmp_path: Path, workloads: str = "tpcc", **options: str | int | None
) -> Plan:
    request = Request(
        profiles=["premium", "ultra"],
        workloads=workloads.split(),
        database="postgresql",
        scale=str(options.pop("scale", "smoke")),
        nodes=1,
        repetitions=2,
        **options,  # type: ignore[arg-type]
    )
    return plans.make_plan(an_app(tmp_path), request)


def test_a_sweep_is_planned_as_one_campaign_of_the_workload(tmp_path: Path) -> None:
    plan = planned(tmp_path, sweep="threads=1,8", slo="new_order p99 < 50 ms")
    assert [load.name for load in plan.workloads] == [
        "tpcc-at-1-thread",
        "tpcc-at-8-threads",
    ]
    assert plan.name == "tpcc-premium-ultra" and len(plan.runs) == 8
    first = plan.runs[0]
    assert first.slug == f"01-{first.profile}-{first.workload}-r1"
    assert all(load.slo and load.options["seed"] == 1 for load in plan.workloads)
    assert len({str(load.dataset) for load in plan.workloads}) == 1


@pytest.mark.parametrize("text", ["threads=1,8", "rate=50,0.5"])
def test_loads_that_were_stored_as_points_are_read_as_today(
    text: str, tmp_path: Path
) -> None:
    plan = planned(tmp_path, sweep=text)
    folder = campaign_writing.create(tmp_path, plan, {}, 0.0)
    assert store.load(folder).plan == plan
    content = json.loads((folder / "plan.json").read_text())
    for load in content["workloads"]:
        load["point"] = {
            "of": load["varied"]["of"],
            "protocol": "sweep",
            "axis": text.partition("=")[0],
            "value": load["varied"]["number"],
        }
        load["varied"] = None
    (folder / "plan.json").write_text(json.dumps(content))
    read = store.load(folder).plan
    assert replace(read, notes=plan.notes) == plan


def test_load_clients_are_the_profiles_own_or_as_asked_for(tmp_path: Path) -> None:
    assert {one.cluster.clients for one in planned(tmp_path).profiles} == {1}
    plan = planned(tmp_path, clients=3)
    assert {one.cluster.clients for one in plan.profiles} == {3}
    alone = planned(tmp_path, "disk-matrix", clients=3)
    assert as_used(alone.profiles[0], alone.workloads[0]).cluster.clients == 1


def test_a_share_is_kept_in_the_plan_until_the_capacity_is_known(
    tmp_path: Path,
) -> None:
    plan = planned(tmp_path, "tpcc insert", latency_at="70%")
    assert plan.latency_at_pct == 70.0
    assert [load.name for load in plan.workloads] == ["tpcc", "insert"]


def test_a_rate_needs_no_capacity(tmp_path: Path) -> None:
    plan = planned(tmp_path, latency_at="120")
    assert plan.latency_at_pct is None
    (load,) = plan.workloads
    assert (load.name, load.options["arrival_rate"]) == ("tpcc-at-120-per-s", 120.0)


@pytest.mark.parametrize(
    ("workload", "generator"),
    [
        ("tpcc", None),
        ("tpcc", "benchbase"),
        ("oltp_read_only", None),
        ("disk-matrix", None),
    ],
)
def test_a_seed_in_a_workloads_file_is_refused(
    workload: str, generator: str | None, tmp_path: Path
) -> None:
    """`--seed` replaces it, so who wrote it would not get what it says."""
    content = yaml.safe_load((ROOT / "workloads" / f"{workload}.yaml").read_text())
    content["options"] = {**content.get("options", {}), "seed": 7}
    file = tmp_path / f"{workload}.yaml"
    file.write_text(yaml.safe_dump(content))
    with pytest.raises(UsageError) as refused:
        planned(tmp_path, str(file), generator=generator)
    (mistake,) = refused.value.mistakes
    line = 1 + file.read_text().splitlines().index("  seed: 7")
    assert mistake.where == f"{file}:{line}: options.seed"
    assert "--seed" in mistake.what
