"""`--vary`: each documented factor is planned on each database, or refused with what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.analysis.verdicts import judge
from orchestrator.cli.common.options import Request
from orchestrator.design.used_profiles import as_used
from orchestrator.errors import UsageError
from orchestrator.model import Plan
from orchestrator.run.beforehand import forecast
from orchestrator.system import campaign_writing, store
from tests import loads
from tests.apps import an_app
from tests.asked import Ask, ask
from tests.documented import documented_commands
from tests.option_kinds import planned, problems, told

__all__ = ["ask"]

pytestmark = pytest.mark.usefixtures("profile_files")
FACTORS: dict[str, list[Any]] = {
    "nodes=3,6,9": [3, 6, 9],
    "nodes=3,50,100": [3, 50, 100],
    "replication_factor=1,3": [1, 3],
    "data=2,4 tables": [2, 4],
    "data=300MB,600MB": [300, 600],
    "cache=cold,warm": [0.0, 3.0],
    "count=1,4": [1, 4],
    "clients=1,2": [1, 2],
    "threads=4,8": [4, 8],
    "rate=50,100": [50, 100],
    "create_secondary=off,on": [False, True],
}


def seen(plan: Plan, factor: str) -> list[Any]:
    """What the first tier and the workload have of it, value by value."""
    cells = [(as_used(plan.profiles[0], load), load) for load in plan.workloads]
    if factor in ("nodes", "replication_factor", "clients"):
        return [getattr(profile.cluster, factor) for profile, _ in cells]
    return [
        {
            "data": load.dataset.parameters["tables"],
            "cache": load.warmup_s,
            "count": profile.tier.count,
            "threads": load.threads,
            "rate": load.options.get("arrival_rate"),
            "create_secondary": load.dataset.parameters.get("create_secondary"),
        }[factor]
        for profile, load in cells
    ]


def request(vary: str = "", **more: Any) -> Request:
    asked = {
        "profiles": ("premium", "ultra"),
        "workloads": ("insert",),
        "scale": "smoke",
    }
    return Request(
        **{**asked, "nodes": None, "repetitions": 3, **more}, vary=vary or None
    )


@pytest.mark.parametrize("database", ["postgresql", "yugabytedb"])
@pytest.mark.parametrize("text", FACTORS)
def test_each_factor_is_planned_on_each_database(text: str, database: str) -> None:
    asked = request(text, database=database)
    plan, factor = planned(asked), text.partition("=")[0]
    if text == "data=300MB,600MB":
        sizes = [load.dataset.parameters["table_size"] for load in plan.workloads]
        assert sizes[1] == pytest.approx(2 * float(sizes[0]), rel=1e-4)
        numbers = [load.varied.number or 0 for load in plan.workloads if load.varied]
        assert numbers == pytest.approx([300e6, 600e6], rel=1e-4)
    else:
        assert seen(plan, factor) == FACTORS[text]
    assert not problems(asked)
    assert len(plan.runs) == 3 * 2 * len(FACTORS[text])


@pytest.mark.parametrize(
    ("text", "more", "said"),
    [
        ("nodes=3,101", {"database": "postgresql"}, "1 to 100"),
        ("nodes=2,4", {"database": "yugabytedb"}, "odd number"),
        ("replication_factor=1,2", {"database": "yugabytedb"}, "odd number"),
        ("replication_factor=3,5", {}, "say --nodes 5"),
        ("replication_factor=1,3", {"nodes": 1}, "say --nodes 3"),
        ("nodes=3,6", {"profiles": ("existing.yaml",)}, "others run this cluster"),
        (
            "cache=cold,warm",
            {"profiles": ("existing.yaml",)},
            "each run loads its data",
        ),
        ("count=1,4", {"profiles": ("mounted.yaml",)}, "stay as they are mounted"),
        ("nodes=1,3", {"workloads": ("disk-matrix",)}, "measures a disk alone"),
        ("nonsense=1,2", {}, "'--vary nonsense=1', what=\"unknown key of insert"),
        (
            "data=2,4 warehouses",
            {},
            "'--vary warehouses=2', what=\"unknown key of insert",
        ),
        ("data=200,400", {}, "with its unit"),
        ("data=0.5x,2x", {"workloads": ("bulk-load",)}, "tables start empty"),
        ("data=1MB,2MB", {"workloads": ("tpcc",)}, "one warehouse"),
        ("host_cache=none,read-only", {}, "Attach one disk with each setting"),
        ("threads=1,2", {"sweep": "threads=1,2"}, "--sweep"),
        (
            "",
            {"latency_at": "70%", "workloads": ("tpcc",), "scale": "study"},
            "terminals think",
        ),
        (
            "",
            {"latency_at": "70%", "workloads": ("tpcc",), "generator": "benchbase"},
            "is run by",
        ),
        (
            "",
            {"sweep": "rate=5,10", "workloads": ("oltp_read_only",)},
            "is run by sysbench-stock",
        ),
        ("threads=1,2", {"latency_at": "70%"}, "--latency-at"),
        ("threads=1,2", {"until": "decided"}, "--until"),
        ("threads=1,2", {"windows": "many"}, "--windows many"),
        ("nodes=1,2", {"nodes": 3}, "--nodes"),
        ("data=1x,2x", {"data": "4x"}, "--data"),
        ("tables=1,2", {"overrides": ("tables=3",)}, "set twice"),
        (
            "",
            {"without": "disk", "platform": "kubernetes", "database": "postgresql"},
            "only one Docker engine can keep",
        ),
        (
            "",
            {"without": "network", "profiles": ("machines.yaml",)},
            "on one Docker engine alone",
        ),
        (
            "",
            {"without": "commit", "profiles": ("existing.yaml",)},
            "others run this cluster",
        ),
        ("", {"without": "commit", "workloads": ("point-select",)}, "only reads"),
        ("", {"without": "commit", "database": "yugabytedb"}, "waits for a sync"),
        (
            "",
            {"without": "disk", "workloads": ("disk-matrix",)},
            "measures a disk alone",
        ),
        ("", {"without": "cpu"}, "a stage is nothing or disk or network or commit"),
        (
            "",
            {"without": "disk", "sweep": "threads=1,2"},
            "--without cannot be combined with --sweep",
        ),
        (
            "threads=1,2",
            {"without": "disk"},
            "--without cannot be combined with --vary",
        ),
        ("warmup=30s,60s", {}, "--vary cannot be combined with --warmup"),
    ],
)
def test_what_cannot_be_varied_is_refused_with_what_to_do(
    text: str, more: dict[str, Any], said: str
) -> None:
    asked = request(text, **more)
    try:
        words = problems(asked)
    except UsageError as error:
        words = [told(error)]
        assert error.advice
    assert any(said in text for text in words), words


def test_values_come_workload_by_workload_and_data_have_room() -> None:
    plan = planned(
        request("data=2,4000 tables", workloads=("insert", "point-select"), nodes=1)
    )
    assert [load.name for load in plan.workloads] == [
        f"{name}-at-{count}-tables"
        for name in ("insert", "point-select")
        for count in (2, 4000)
    ]
    (disks,) = {
        as_used(p, w).cluster.size.disk_bytes
        for p in plan.profiles
        for w in plan.workloads
    }
    assert disks > 1e12


def test_disks_stay_as_they_are_for_data_that_their_files_have() -> None:
    plans = [
        planned(request(text, workloads=("insert", "tpcc"), scale="study"))
        for text in ("threads=1,2", "loader_threads=1,2")
    ]
    plans.append(planned(request("data=20,30 tables", scale="study")))
    assert {p.cluster.size.disk_bytes for plan in plans for p in plan.profiles} == {
        250 * 10**9
    }


def test_an_slo_of_a_workload_holds_at_each_value() -> None:
    plan = planned(request("threads=1,2", slo="insert average < 50 ms"))
    assert (
        all(load.slo for load in plan.workloads) and plan.name == "insert-premium-ultra"
    )


def test_a_tier_of_several_disks_is_checked_and_priced_as_such() -> None:
    plan = planned(request("count=1,4", nodes=1))
    one, four = (as_used(plan.profiles[0], load).tier for load in plan.workloads)
    assert (one.count, four.count) == (1, 4) and one.name != four.name
    assert one.price and four.price
    assert four.price.monthly == pytest.approx(4 * one.price.monthly, abs=0.02)
    assert four.limits.iops and one.limits.iops and four.limits.iops > one.limits.iops


@pytest.mark.parametrize("text", ["count=1,4", "data=2,4 tables", "cache=cold,warm"])
def test_a_plan_is_read_as_it_was_written(text: str, tmp_path: Path) -> None:
    plan = planned(request(text, nodes=1))
    assert store.load(campaign_writing.create(tmp_path, plan, {}, 0.0)).plan == plan


def test_stages_are_taken_away_beside_the_full_run_in_one_balanced_plan() -> None:
    plan = planned(request(without="disk commit", database="postgresql", nodes=1))
    names = [
        "insert-at-all-stages",
        "insert-at-without-disk",
        "insert-at-without-commit",
    ]
    assert [load.name for load in plan.workloads] == names and len(
        plan.runs
    ) == 3 * 2 * 3
    used = [as_used(plan.profiles[0], load) for load in plan.workloads]
    assert [profile.tier.disk.in_memory for profile in used] == [False, True, False]
    assert [profile.cluster.without for profile in used] == [
        "nothing",
        "disk",
        "commit",
    ]
    firsts = {plan.runs[6 * repetition].workload for repetition in range(3)}
    assert len(firsts) > 1, "each round begins with another"


def test_one_tier_may_be_varied_alone() -> None:
    plan = planned(request("threads=1,2", profiles=("premium",)))
    assert len(plan.tiers) == 1 and len(plan.runs) == 6


OF_OTHERS = (
    "bulk-",
    "network=",
    "client=",
)  # workloads and keys that other pages describe
COMMANDS = [
    words
    for page, section in (
        ("FACTORS.md", "Take a stage away"),
        ("research/FACTORS.md", "The questions of the studies"),
    )
    for words in documented_commands(page, section)
    if not any(mark in word for mark in OF_OTHERS for word in words)
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_of_the_page_is_planned(words: list[str], ask: Ask) -> None:
    nodes = ["--nodes", "3"] if "replication_factor=1,3" in words else []
    plan = ask([*words[1:], "--db", "postgresql", *nodes]).plan
    assert all(load.varied for load in plan.workloads) and len(plan.workloads) >= 2


OF_HDFS = documented_commands("research/HDFS.md", "Study 4")


@pytest.mark.parametrize("words", OF_HDFS, ids=" ".join)
def test_every_factor_of_hdfs_could_begin_and_has_its_law(
    words: list[str], ask: Ask
) -> None:
    plan = ask(words[1:]).plan
    parts, world = an_app(Path("cache")).unasked()
    found = forecast.look_ahead(plan, parts, world).problems
    assert not [told(one) for one in found if isinstance(one, UsageError)]

    rates = {load.name: 50 * 0.6**place for place, load in enumerate(plan.workloads)}
    (factor,) = judge(loads.of_plan(plan, rates)).varied
    (tier,) = factor.tiers
    assert {step.verdict for step in tier.steps} == {"worse"}
    assert bool(tier.laws) == bool(factor.numbers)
    assert {law.values for law in tier.laws} <= {len(rates)}
