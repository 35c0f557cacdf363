"""A workload that measures the disk alone: planned, carried out and reported without a database."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.analysis.results import Results, RunData
from orchestrator.analysis.telemetry.counters.sample_tables import Samples
from orchestrator.analysis.verdicts import judge
from orchestrator.cli.common.options import Request
from orchestrator.cli.measure import concluding
from orchestrator.cli.measure.plans import make_plan
from orchestrator.databases import databases
from orchestrator.databases.choice import choose
from orchestrator.databases.none import NoDatabase
from orchestrator.design import disk_matrix, node_disks, used_profiles
from orchestrator.errors import UsageError
from orchestrator.metrics import measured
from orchestrator.model import (
    ClusterSpec,
    Dataset,
    NodeSize,
    Note,
    Phase,
    Placing,
    Plan,
    Record,
    Run,
    Volume,
)
from orchestrator.planning import notes
from orchestrator.platforms import own_images
from orchestrator.powers import Mount, Network
from orchestrator.tier import NodeDisks, RealDisks
from orchestrator.tiers.common.real import node_places
from tests import ROOT
from tests.apps import an_app
from tests.campaign_tables import empty_intervals
from tests.fake_parts import FakeDatabase, FakeGenerator
from tests.fakes import FakePlatform, fake_world
from tests.plans import a_profile, a_workload, disk, planned
from tests.unit.run.conftest import Make

pytestmark = pytest.mark.draws

CELLS = """
    random read 100 block 4KiB depth 1,8,16,32
    random read 0,50 block 4KiB,1MiB depth 8,16
"""
MATRIX = replace(
    a_workload("disk-matrix"),
    generator="fio",
    database="none",
    dataset=Dataset("fio-file", {"size": "256MiB"}),
    options={"cells": CELLS},
    statements_per_transaction=None,
)


# ------------------------------------------------------------------ planning


def test_it_needs_neither_database_nor_nodes() -> None:
    request = Request(
        profiles=["standard-hdd", "premium"], workloads=["disk-matrix"], scale="smoke"
    )
    plan = make_plan(an_app(ROOT / ".cache"), request)
    clusters = [profile.cluster for profile in plan.profiles]
    assert [(cluster.database, cluster.nodes) for cluster in clusters] == [
        ("none", 1)
    ] * 2
    assert plan.notes == ()
    assert plan.estimate_s > 2 * 13 * 2.0  # thirteen cells of two seconds on two tiers


APART = "disks: {node-1: {data: /mnt/a, wal: /mnt/log}, node-2: /mnt/b, node-3: /mnt/c}"


@pytest.mark.parametrize("workloads", [("disk-matrix",), ("disk-matrix", "insert")])
@pytest.mark.parametrize(
    ("tier", "said"),
    [
        (
            "enforcement: mounted, disks: '/mnt/p15-{node}'",
            "(/mnt/p15-1) and not the 2 other",
        ),
        (f"enforcement: mounted, {APART}", "(/mnt/a) and not the 3 other"),
        ("enforcement: mounted, path: /mnt/p15", ""),  # all nodes share it
        ("enforcement: emulated", ""),  # all alike
        (
            "enforcement: storage-class, storage_class: fast",
            "node-1's data and not the 2 other",
        ),
    ],
)
def test_which_of_several_real_disks_is_measured_is_said(
    tmp_path: Path, tier: str, said: str, workloads: tuple[str, ...]
) -> None:
    file = tmp_path / "mine.yaml"
    text = f"question: why?\ntier: {{type: azure/P15, {tier}}}\ncluster: azure-d8s-v5\n"
    file.write_text(text)
    platform = "kubernetes" if "storage-class" in tier else None
    request = Request(
        profiles=[str(file)],
        workloads=workloads,
        scale="smoke",
        nodes=3 if len(workloads) > 1 else None,
        platform=platform,
        database="postgresql",
        dry_run=True,
    )
    made = make_plan(an_app(tmp_path / "cache"), request)
    notes = [note for note in made.notes if note.kind == "one disk of several"]
    assert bool(notes) == bool(said)
    assert all(said in note.text and note.profile == "mine" for note in notes)
    measured_on = used_profiles.as_used(made.profile("mine"), made.workloads[0])
    if made.profile("mine").tier.disk.of_nodes:
        directories = node_places.directories(
            measured_on.tier, node_disks.node_names(measured_on.cluster.nodes)
        )
        assert str(next(iter(directories.values()))) in notes[0].text


def test_the_disk_that_is_measured_is_named_with_its_machine() -> None:
    disks = {f"node-{n}": NodeDisks("/mnt/a", machine=f"vm{n}") for n in (1, 2, 3)}
    profile = a_profile()
    tier = replace(profile.tier, disk=RealDisks(disks=disks))
    cluster = replace(profile.cluster, nodes=3)
    placing = Placing(machines=("vm1", "vm2", "vm3"))
    profile = replace(profile, tier=tier, cluster=cluster, placing=placing)
    loads = [replace(a_workload(), database="none")]
    (note,) = notes.of_disks_alone([profile], loads)
    assert "the disk of node-1's data (vm1:/mnt/a) and not the 2 other" in note.text


def test_what_the_other_disks_do_is_doubted(tmp_path: Path) -> None:
    campaign = a_campaign(slow=500.0, fast=1100.0)
    note = Note("one disk of several", "measures the disk of node-1's data", "slow")
    campaign = replace(campaign, plan=replace(campaign.plan, notes=(note,)))
    verdict = judge(campaign)
    (doubt,) = [
        doubt for doubt in verdict.doubts if doubt.kind == "one disk of several"
    ]
    assert str(doubt) == "slow: measures the disk of node-1's data"
    text = concluding.write_report(campaign, verdict, tmp_path).markdown.read_text(
        encoding="utf-8"
    )
    first_screen, ticket = text.replace("\u00a0", " ").split("## For the ticket")
    assert [
        part.count("measures the disk of node-1") for part in (first_screen, ticket)
    ] == [1, 1]


def test_beside_other_workloads_only_its_own_runs_have_none() -> None:
    profile = a_profile(nodes=3)
    assert used_profiles.as_used(profile, a_workload()) is profile
    cluster = used_profiles.as_used(profile, MATRIX).cluster
    assert (cluster.database, cluster.nodes, cluster.replication_factor) == (
        "none",
        1,
        1,
    )
    assert cluster.node == profile.cluster.node


def test_no_database_is_not_to_be_chosen_for_others() -> None:
    with pytest.raises(UsageError, match="measures the disk alone"):
        choose("none", databases())


ONE = ClusterSpec("none", 1, 1, NodeSize(1.0, 2**28, 2**30))


def test_one_disk_is_measured() -> None:
    engine = FakePlatform(images=[own_images.tag(ROOT, "disk")])
    world = fake_world(platform=engine)
    with pytest.raises(UsageError, match="one disk to measure, not 3"):
        NoDatabase().check(replace(ONE, nodes=3), world)
    volume = Volume("v", "/dev/loop3", False)
    with NoDatabase().running(ONE, [volume], Network("net", ("10.0.0.11",)), world):
        assert [spec.mounts for spec in engine.specs.values()] == [
            (Mount("v", "/tier"),)
        ]


# ------------------------------------------------------------------ carrying out


class Alone(FakeDatabase):
    name = "none"


def test_runs_of_both_kinds_in_one_campaign(make: Make) -> None:
    campaign = make()
    log, parts = campaign.log, campaign.parts
    campaign.parts = replace(
        parts,
        databases={**parts.databases, "none": Alone(log)},
        load_generators={**parts.load_generators, "fio": FakeGenerator(log)},
    )
    both = replace(
        a_campaign_plan("premium"),
        workloads=(a_workload(), MATRIX),
        runs=(
            Run(1, "premium", "point-select", 1),
            Run(2, "premium", "disk-matrix", 1),
        ),
    )
    records = campaign.execute(plan=both)
    assert campaign.outcomes() == ["done", "done"]
    assert [record.profile.cluster.database for record in records] == [
        "postgresql",
        "none",
    ]
    assert log.words.count("check database") == 2


# ------------------------------------------------------------------ reporting


def a_campaign_plan(*names: str) -> Plan:
    profiles = [a_profile(name) for name in names]
    return planned(profiles, [MATRIX], repetitions=2)


def a_campaign(**iops: float) -> Results:
    made = a_campaign_plan(*iops)
    runs = []
    for run in made.runs:
        factor = 1 + 0.002 * run.repetition
        figures = disk(CELLS, iops[run.profile] * factor, 60e6 * factor, 0.0125)
        found = [
            measured(metric, value, scope) for (metric, scope), value in figures.items()
        ]
        record = Record(
            schema_version=1,
            run=run,
            profile=used_profiles.as_used(made.profile(run.profile), MATRIX),
            workload=MATRIX,
            outcome="done",
            failure=None,
            phases=(Phase("measure", 1000.0, 1100.0),),
            nodes=(),
            measurements=(
                *found,
                measured("throughput_per_s", iops[run.profile] * factor),
            ),
            gate=None,
            facts={},
        )
        runs.append(RunData(record, empty_intervals, Samples(tuple)))
    return Results("test", made, {}, tuple(runs))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> concluding.ReportPaths:
    campaign = a_campaign(slow=500.0, fast=1100.0)
    return concluding.write_report(
        campaign, judge(campaign), tmp_path_factory.mktemp("report")
    )


def test_the_report_has_ceilings_law_and_every_cell(
    written: concluding.ReportPaths,
) -> None:
    text = written.markdown.read_text(encoding="utf-8")
    section = text[text.index("12 cells of pattern") : text.index("## Against slow")]
    section = section.replace("\u00a0", " ")
    ceilings = next(
        line for line in section.splitlines() if line.startswith("| slow |")
    )
    shown = [cell.strip() for cell in ceilings.strip("| ").split("|")]
    assert shown[1].startswith("502<br>+401 %, 7 cells"), (
        shown
    )  # 500 × 1.003; 100 declared
    assert shown[3].startswith("not reached<br>highest 2.05 MB/s"), (
        shown
    )  # 4 KiB reads only
    assert shown[4].startswith("60.2 MB/s<br>"), shown
    assert shown[6] == "117 KiB"
    assert (
        "| slow | random reads of 4 KiB | 12.5 ms | 8 in flight | 1.99 ms |" in section
    )
    assert "| slow | 4 KiB | 1 MiB | × 256 | × 8.74<br>4 loads |" in section
    rows = [line for line in section.splitlines() if line.startswith("| random")]
    assert len(rows) == 2 * len(disk_matrix.planned(MATRIX.options))


def test_the_report_has_its_charts(written: concluding.ReportPaths) -> None:
    names = [path.stem for path in written.charts]
    assert "disk-matrix-depth" in names
    for tier in ("slow", "fast"):
        for measure in ("iops", "bandwidth", "latency"):
            assert f"disk-matrix-{tier}-{measure}" in names
    heat = next(
        p for p in written.charts if p.stem == "disk-matrix-slow-iops"
    ).read_text()
    assert ">random, " not in heat and ">random reads<" in heat
    assert heat.count(">502<") == 7  # cells on the ceiling; the lone read has 80


def test_the_tiers_are_compared_by_their_ceilings() -> None:
    verdict = judge(a_campaign(slow=500.0, fast=1100.0))
    (delta,) = [one for one in verdict.deltas if one.metric == "throughput_per_s"]
    assert delta.change_pct == pytest.approx(120.0)
    assert not [doubt for doubt in verdict.doubts if doubt.kind == "Little's law"]
