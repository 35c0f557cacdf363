"""Every shipped profile × workload × scale either is planned or is refused for a reason we intend.

Goal: no combination that a person can type is shut by accident. Method: all of them, on a large
and on a small machine.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import product
from pathlib import Path

import pytest

from orchestrator.cli.common.options import Request
from orchestrator.cli.measure import plans
from orchestrator.errors import UnavailableError, UsageError
from orchestrator.model import Plan
from orchestrator.planning import named_files, project_files
from orchestrator.run.beforehand import resource_needs
from orchestrator.tiers import tier_mechanisms
from tests import ROOT
from tests.apps import an_app
from tests.fakes import Log, fake_world, this_machine_has

NO_CACHE = Path("/nonexistent")  # no database has been tried here before
SCALES = ("smoke", "laptop", "study", "study-20")
PROFILES = named_files.names(ROOT / "profiles")
WORKLOADS = named_files.names(ROOT / "workloads")
GIB = 2**30


def plan(
    profile: str, workloads: list[str], scale: str, database: str = "postgresql"
) -> Plan:
    on = "hdfs" if workloads[0].startswith("hdfs") else database
    return _planned(profile, tuple(workloads), scale, on)


@cache
def _planned(profile: str, workloads: tuple[str, ...], scale: str, on: str) -> Plan:
    """The same on every machine, because the number of nodes is asked for."""
    asked = Request(
        profiles=[profile],
        workloads=list(workloads),
        database=on,
        scale=scale,
        nodes=3,
    )
    return plans.make_plan(an_app(NO_CACHE), asked)


def refusal(made: Plan, folder: Path) -> str:
    """Why the disks or the memory do not suffice, or an empty text."""
    try:
        resource_needs.check_space(made, tier_mechanisms(), fake_world(Log(), folder))
    except UnavailableError as error:
        return error.what
    return ""


@pytest.mark.parametrize("database", ["postgresql", "yugabytedb"])
def test_a_large_machine_takes_every_combination(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    this_machine_has(monkeypatch, 2_000 * GIB, 128 * GIB)
    tried = 0
    for profile, workload, scale in product(PROFILES, WORKLOADS, SCALES):
        made = plan(profile, [workload], scale, database)
        assert refusal(made, tmp_path) == "", (profile, workload, scale)
        tried += 1
    assert tried == len(PROFILES) * len(WORKLOADS) * 4 >= 64


def test_a_small_machine_refuses_only_clusters_of_the_studys_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """16 GiB of memory and 60 GiB free: the disk by itself is measured at every scale."""
    this_machine_has(monkeypatch, 60 * GIB, 16 * GIB)
    for profile, workload, scale in product(PROFILES, WORKLOADS, SCALES):
        said = refusal(plan(profile, [workload], scale), tmp_path)
        if scale.startswith("study") and workload != "disk-matrix":
            assert said.startswith(
                f"{profile} needs 1.36 TiB for the disks of 3 nodes"
            ), said
        else:
            assert said == "", (profile, workload, scale)


def test_memory_is_asked_for_where_nodes_are_started_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    this_machine_has(monkeypatch, 2_000 * GIB, 16 * GIB)
    assert "96 GiB of memory" in refusal(plan("ultra", ["insert"], "study"), tmp_path)
    assert refusal(plan("ultra", ["disk-matrix"], "study"), tmp_path) == ""


def test_the_disk_by_itself_needs_room_for_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    this_machine_has(monkeypatch, 2 * GIB, 8 * GIB)
    said = refusal(plan("standard-hdd", ["disk-matrix"], "study"), tmp_path)
    assert said.startswith("standard-hdd needs 2.25 GiB for the file of disk-matrix"), (
        said
    )


def test_disks_that_are_enough_for_one_workload_may_not_be_for_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    this_machine_has(monkeypatch, 60 * GIB, 128 * GIB)
    said = refusal(plan("ultra", ["disk-matrix", "insert"], "study"), tmp_path)
    assert "for the disks of 3 nodes" in said


# ------------------------------------------------------------------ twenty tables


def test_twenty_tables_are_the_studys_other_size() -> None:
    made = plan("ultra", ["point-select", "insert"], "study-20")
    assert {w.dataset.parameters["tables"] for w in made.workloads} == {20}
    assert {w.scale for w in made.workloads} == {"study-20"}
    (thirty,) = plan("ultra", ["insert"], "study").profiles
    assert made.profiles[0].cluster == thirty.cluster
    assert made.notes == plan("ultra", ["insert"], "study").notes


def test_twenty_and_thirty_tables_are_measured_in_one_campaign() -> None:
    """The published study: three tiers, both sizes of sysbench's tables, and TPC-C's."""
    names = ["point-select", "point-select-20", "insert", "insert-20", "tpcc"]
    made = plan("ultra", names, "study", "yugabytedb")
    sizes = {
        w.name: (w.dataset.parameters, w.threads, w.loader_threads)
        for w in made.workloads
    }
    rows = 15_000_000
    assert sizes == {
        "point-select": ({"tables": 30, "table_size": rows}, 60, 10),
        "point-select-20": ({"tables": 20, "table_size": rows}, 60, 10),
        "insert": ({"tables": 30, "table_size": rows}, 24, 10),
        "insert-20": ({"tables": 20, "table_size": rows}, 24, 10),
        "tpcc": ({"warehouses": 2000}, 600, 24),
    }
    assert {(w.warmup_s, w.measure_s) for w in made.workloads} == {(300.0, 1800.0)}


@pytest.mark.parametrize(
    ("database", "scale", "settings"),
    [
        ("yugabytedb", "study", {"tls": "on"}),
        ("yugabytedb", "study-20", {"tls": "on"}),
        ("yugabytedb", "smoke", {}),
        ("postgresql", "study", {}),
    ],
)
def test_the_studys_cluster_has_tls_as_the_study_had(
    database: str, scale: str, settings: dict[str, str]
) -> None:
    (profile,) = plan("ultra", ["insert"], scale, database).profiles
    assert profile.cluster.settings == settings


def test_a_workload_without_tables_runs_at_study_and_the_plan_says_so() -> None:
    made = plan("ultra", ["insert", "tpcc", "disk-matrix"], "study-20")
    assert [workload.scale for workload in made.workloads] == [
        "study-20",
        "study",
        "study",
    ]
    assert "tpcc runs at scale study, which is its study-20" in [
        str(note) for note in made.notes
    ]
    assert "disk-matrix runs at scale study, which is its study-20" in [
        str(note) for note in made.notes
    ]


def test_an_unknown_scale_names_all_there_are() -> None:
    with pytest.raises(UsageError) as raised:
        plan("ultra", ["tpcc"], "study-30")
    (said,) = raised.value.mistakes
    known = "laptop, rehearsal, smoke, study, study-20"
    assert (
        said.what
        == f"unknown scale 'study-30'; did you mean study-20 or study? known: {known}"
    )
    assert re.fullmatch(
        r"profiles/ultra.yaml:\d+: cluster.node and workloads/tpcc.yaml:\d+: scales",
        said.where,
    )


def test_an_unknown_scale_is_not_looked_up_in_lists_that_have_none() -> None:
    with pytest.raises(UsageError) as raised:
        plan("ultra", ["tpcc"], "smok")
    advice = "correct it; give `--scale` one of the known names"
    assert raised.value.advice == advice


def test_a_name_that_many_files_lack_is_said_once_and_briefly() -> None:
    with pytest.raises(UsageError, match="one mistake found") as raised:
        project_files.read(ROOT, ["premium", "ultra"], ["tpcc", "insert"], "medium")
    (said,) = raised.value.mistakes
    assert said.where.startswith("profiles/premium.yaml:")
    assert said.where.endswith(" and 2 more") and "tpcc" not in said.where


def test_three_places_that_lack_a_name_are_all_told() -> None:
    with pytest.raises(UsageError) as raised:
        project_files.read(ROOT, ["premium"], ["tpcc", "insert"], "medium")
    (said,) = raised.value.mistakes
    assert " more" not in said.where
    for file in ("profiles/premium.yaml", "workloads/tpcc.yaml", "workloads/insert"):
        assert file in said.where


def test_other_mistakes_are_said_of_each_file(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text("cluster: azure-d8s-v5\ntitle: A\n")
    files = [str(tmp_path / f"{name}.yaml") for name in ("a", "b")]
    with pytest.raises(UsageError) as raised:
        project_files.read(ROOT, files, [], "laptop")
    wheres = [
        mistake.where for mistake in raised.value.mistakes if "missing" in mistake.what
    ]
    assert sorted(wheres) == [
        f"{file}: {key}" for file in files for key in ("question", "tier")
    ]


def test_help_names_every_scale() -> None:
    from orchestrator.cli.common.options import ScaleOption

    (option,) = ScaleOption.__metadata__  # type: ignore[attr-defined]
    for scale in SCALES:
        assert scale in option.help
    assert "study-20" in (ROOT / "docs" / "COMBINATIONS.md").read_text()
