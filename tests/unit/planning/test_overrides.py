"""`--set`: keys of workloads from the command line, checked as those of their files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli.common.options import Request
from orchestrator.cli.measure import plans
from orchestrator.errors import UsageError
from orchestrator.model import Plan, Workload
from orchestrator.parts import Parts
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections import conditions
from orchestrator.run.data import datasets
from orchestrator.system import campaign_writing, store
from tests import ROOT, report_verdicts
from tests.apps import an_app
from tests.fake_parts import fake_parts
from tests.fakes import Log, fake_world
from tests.plans import a_profile, profile_text


def planned(workloads: str, *given: str, **more: Any) -> Plan:
    request = Request(
        profiles=["premium"],
        workloads=workloads.split(),
        overrides=list(given),
        **{"database": "postgresql", "scale": "smoke", **more},
    )
    return plans.make_plan(an_app(Path("no-cache")), request)


def mistakes(workloads: str, *given: str, **more: Any) -> dict[str, str]:
    with pytest.raises(UsageError) as refused:
        planned(workloads, *given, **more)
    found = {one.where: one.what for one in refused.value.mistakes}
    assert len(found) == len(refused.value.mistakes), "each mistake is said once"
    return found


def test_every_kind_of_key_can_be_set() -> None:
    (tpcc,) = planned(
        "tpcc", "threads=32", "warehouses=100", "measure=2min", "weights=0,0,0,0,1",
        "isolation=repeatable read", "arrival_rate=50",
    ).workloads  # fmt: skip
    assert (tpcc.threads, tpcc.measure_s, tpcc.warmup_s) == (32, 120.0, 3.0)
    assert tpcc.dataset.parameters == {"warehouses": 100}
    expected = {
        "weights": "0,0,0,0,1",
        "isolation": "repeatable read",
        "arrival_rate": 50,
    }
    assert expected.items() <= tpcc.options.items()


def test_a_key_holds_for_each_workload_that_has_it_and_a_named_one_wins() -> None:
    tpcc, insert = planned(
        "tpcc insert",
        "insert.threads=2",
        "threads=32",
        "warehouses=9",
        "table_size=1_000",
    ).workloads
    assert (tpcc.threads, insert.threads) == (32, 2)
    assert tpcc.dataset.parameters == {"warehouses": 9}
    assert insert.dataset.parameters == {"tables": 4, "table_size": 1000}


def test_all_mistakes_come_at_once_with_the_messages_of_a_file() -> None:
    found = mistakes(
        "tpcc insert", "threads=0", "measure=60", "warehuses=3", "insert.rate=1"
    )
    assert found["--set threads=0"] == "expected more than 0 (given: 0)"
    assert "expected a time such as 30s" in found["--set measure=60"]
    assert "did you mean warehouses" in found["--set warehuses=3"]
    assert (
        "unknown key of insert: 'rate'; did you mean " in found["--set insert.rate=1"]
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("threads", "is not key=value"),
        ("=3", "is not key=value"),
        ("threads=", "is not key=value"),
        ("seed=4", "use --seed"),
        ("slo=p99 < 1s", "use --slo"),
        ("rand_type=foo", "is one of uniform"),
        ("options.foo=1", "does not take this"),
        ("threads=[1, 2]", "expected a whole number"),
    ],
)
def test_what_cannot_be_set(given: str, said: str) -> None:
    found = mistakes("insert", given)
    assert said in found[f"--set {given}"]


def test_a_key_is_set_once() -> None:
    assert "twice" in mistakes("insert", "threads=1", "threads=2")["--set threads=2"]


def test_lines_of_cells_are_taken_as_they_are() -> None:
    cells = "random read 100 block 4KiB depth 1\nrandom read 0 block 4KiB depth 1"
    (matrix,) = planned("disk-matrix", f"cells={cells}").workloads
    assert matrix.options["cells"] == cells


def test_a_scale_that_repeats_another_keeps_its_name_and_the_other_its_sizes() -> None:
    given = {"scale": "study-20", "nodes": 3}
    (tpcc,) = planned("tpcc", "threads=500", **given).workloads
    assert (tpcc.scale, tpcc.threads) == ("study", 500)
    assert list(mistakes("tpcc", "threads=0", **given)) == ["--set threads=0"]


def test_a_mistake_of_the_file_at_another_scale_is_the_files(tmp_path: Path) -> None:
    text = (
        (ROOT / "workloads/tpcc.yaml")
        .read_text()
        .replace("threads: 600", "threads: -1")
    )
    (tmp_path / "mine.yaml").write_text(text)
    found = mistakes(str(tmp_path / "mine.yaml"), "threads=5")
    assert found and all("study" in where for where in found)


def test_mistakes_that_are_not_of_what_was_set_keep_their_place(tmp_path: Path) -> None:
    text = profile_text("{type: azure/premium-v2, size: 1}", cluster="azure-d8s-v5")
    (tmp_path / "mine.yaml").write_text(text)
    request = Request(
        profiles=[str(tmp_path / "mine.yaml")],
        workloads=["disk-matrix"],
        overrides=["size=1GiB"],
    )
    with pytest.raises(UsageError) as refused:
        plans.make_plan(an_app(Path("no-cache")), request)
    assert any(
        "mine.yaml:" in one.where and one.where.endswith(": tier.size")
        for one in refused.value.mistakes
    )
    found = mistakes("tpcc", "threads=3", scale="huge")
    assert any("unknown scale 'huge'" in what for what in found.values())
    assert "--set threads=3" not in found


def test_what_was_set_is_in_the_plan() -> None:
    plan = planned("tpcc", "threads=32", "isolation=repeatable read")
    assert plan.overrides == ("threads=32", "isolation=repeatable read")


def test_data_larger_than_the_disks_are_sized_for_are_told() -> None:
    notes = planned("tpcc insert", "warehouses=100", "table_size=400_000").notes
    told = [note.text for note in notes if "times those" in note.text]
    assert [text.partition(" times")[0] for text in told] == ["the data of tpcc are 25"]
    assert "its scale smoke" in told[0]


def test_the_report_says_what_was_set() -> None:
    campaign = report_verdicts.reported_campaign(frames=False)
    changed = replace(campaign, plan=replace(campaign.plan, overrides=("threads=32",)))
    for found, said in ((campaign, False), (changed, True)):
        section = conditions.environment(ReportIndex(found, report_verdicts.verdict()))
        assert ("workloads' files: threads=32." in repr(section)) == said


def test_the_report_says_how_fast_networks_are_and_where_clients_are_if_any_is_told() -> (
    None
):
    campaign = report_verdicts.reported_campaign(frames=False)
    first, *others = campaign.plan.profiles
    cluster = replace(first.cluster, network_bytes_per_s=12_500_000, client="beside")
    profiles = (replace(first, cluster=cluster), *others)
    slow = replace(campaign, plan=replace(campaign.plan, profiles=profiles))
    for found, said in ((campaign, False), (slow, True)):
        told = repr(
            conditions.environment(ReportIndex(found, report_verdicts.verdict()))
        )
        assert ("100 Mbit/s" in told and "beside the first node" in told) == said
        assert ("not limited" in told) == said


def test_plans_of_before_still_load(tmp_path: Path) -> None:
    plan = planned("tpcc", "threads=32")
    folder = campaign_writing.create(tmp_path, plan, {}, 1_000.0)
    assert store.load(folder).plan.overrides == ("threads=32",)
    content = (folder / "plan.json").read_text()
    (folder / "plan.json").write_text(
        content.replace('"overrides"', '"of_a_later_version"')
    )
    assert store.load(folder).plan.overrides == ()


def snapshots_of(workload: Workload, parts: Parts, cache: Path) -> Mapping[str, Any]:
    kept = datasets.ensure(a_profile(), workload, 1, parts, fake_world(cache=cache))
    assert kept
    return {"folder": kept[0].parent.name}


def test_a_parameter_of_the_data_set_gives_another_kept_copy(tmp_path: Path) -> None:
    parts = fake_parts(Log())
    same = [
        snapshots_of(planned("tpcc", *given).workloads[0], parts, tmp_path)
        for given in (
            (),
            ("threads=32",),
            ("warehouses=100",),
            ("warehouses=100", "measure=9s"),
        )
    ]
    assert same[0] == same[1] != same[2] == same[3]
