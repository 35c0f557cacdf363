"""`--probe`: one session on each tier before the others, which predictions alone read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.analysis.results import Results
from orchestrator.analysis.verdicts import judge
from orchestrator.cli.measure import dry_run
from orchestrator.design import rehearsal
from orchestrator.design.used_profiles import as_used
from orchestrator.errors import UsageError
from orchestrator.extensions.predict.prediction import quiet_run
from orchestrator.keys.schema import DRY
from orchestrator.model import Plan
from orchestrator.planning import durations, probes
from orchestrator.planning.files_or_rows import FileMembers
from orchestrator.planning.plan import grown
from orchestrator.report.sections import caveats, method
from orchestrator.run.resuming import resumed_conditions, resuming
from orchestrator.system import campaign_writing, store
from tests.apps import an_app
from tests.campaign_tables import Shape
from tests.campaigns import build_campaign, build_run, stored
from tests.judged import judged_index
from tests.option_kinds import asked, planned, problems, told

pytestmark = pytest.mark.usefixtures("profile_files")


def plan_of(**options: Any) -> Plan:
    given = {"workloads": ("insert",), "probe": True, "nodes": 3, **options}
    request = asked("emulated on Docker", given)
    assert not problems(request)
    return planned(request)


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({}, ["insert-probe"]),
        (
            {"workloads": ("insert", "point-select")},
            ["insert-probe", "point-select-probe"],
        ),
        ({"sweep": "threads=1,16"}, ["insert-probe"]),
        ({"sweep": "rate=50,100"}, ["insert-probe"]),
        ({"latency_at": "70%"}, ["insert-probe"]),
        ({"latency_at": "50"}, ["insert-probe"]),
        (
            {"vary": "data=2,4 tables"},
            ["insert-at-2-tables-probe", "insert-at-4-tables-probe"],
        ),
        (
            {"vary": "nodes=1,3", "nodes": None},
            ["insert-at-1-node-probe", "insert-at-3-nodes-probe"],
        ),
        (
            {"vary": "count=1,4"},
            ["insert-at-1-striped-disk-probe", "insert-at-4-striped-disks-probe"],
        ),
        ({"without": "disk,commit"}, ["insert-at-all-stages-probe"]),
        ({"until": "decided"}, ["insert-probe"]),
        ({"aa": True}, ["insert-probe"]),
        ({"windows": "many"}, ["insert-probe"]),
        ({"time": "9h"}, ["insert-probe"]),
    ],
)
def test_beside_each_other_option_each_load_has_one_probe_on_each_tier_before_all_others(
    options: dict[str, Any], names: list[str]
) -> None:
    with_it, plain = (
        plan_of(**options),
        plan_of(**options, probe=False) if options else None,
    )
    assert [load.name for load in with_it.probes] == names
    first = [(run.workload, run.profile) for run in with_it.runs[: 2 * len(names)]]
    assert first == [(name, tier) for name in names for tier in ("premium", "ultra")]
    others = [replace(run, number=0) for run in with_it.runs[2 * len(names) :]]
    assert not {run.workload for run in others} & set(names)
    if plain and "time" not in options:
        assert others == [replace(run, number=0) for run in plain.runs], "as without it"
        assert with_it.workloads == plain.workloads
    for load in with_it.probes:
        assert (load.threads, load.measure_s, load.slo) == (1, 30.0, ())
        assert "arrival_rate" not in load.options
        assert as_used(with_it.profiles[0], load).cluster.without == "nothing"


def test_a_probe_is_of_the_same_script_data_and_cluster_as_its_load() -> None:
    plan = plan_of(vary="nodes=1,3", nodes=None)
    for load, probe in zip(plan.workloads, plan.probes, strict=True):
        assert (probe.script, probe.dataset) == (load.script, load.dataset)
        for tier in plan.profiles:
            assert as_used(tier, probe) == as_used(tier, load)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"workloads": ("disk-matrix",)},
            "tiers are predicted only from such a load",
        ),
        ({"workloads": ("tpcc",), "scale": "study"}, "set `think: none`"),
        ({"workloads": ("bulk-load",)}, "until its work is done"),
        (
            {"workloads": ("rebuild",), "profiles": ("premium",)},
            "until its work is done",
        ),
        ({"workloads": ("bulk_insert",)}, "has data by its number of sessions"),
        ({"workloads": ("insert", "bulk-load")}, "--probe: bulk-load"),
    ],
)
def test_what_one_session_says_nothing_of_is_refused(
    options: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError) as refused:
        planned(asked("emulated on Docker", {"probe": True, **options}))
    assert said in told(refused.value)


def test_it_is_neither_repeated_nor_grown() -> None:
    plan = plan_of(until="decided")
    assert sum(run.workload == "insert-probe" for run in plan.runs) == 2
    more = grown(plan, ["insert"])
    assert sum(run.workload == "insert-probe" for run in more.runs) == 2
    assert len(more.runs) == len(plan.runs) + 2
    timed = durations.timed(plan)
    assert timed.most_s is not None and timed.most_s > timed.estimate_s
    once, often = durations.timed(plan_of()), durations.timed(plan_of(probe=False))
    assert once.estimate_s >= often.estimate_s + 2 * 30


def test_the_dry_run_shows_it_and_a_rehearsal_and_a_copy_of_the_plan_keep_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    plan = plan_of()
    dry_run.show(an_app(tmp_path), plan)
    out = capfd.readouterr().out
    assert "insert-probe" in out and "30 s" in out
    (probe,) = rehearsal.rehearsed(plan).probes
    assert probe.generator == DRY
    folder = campaign_writing.create(tmp_path, plan, {}, 1_750_000_000.0)
    assert store.load_without_tables(folder).plan == plan


# ------------------------------------------------------------------ when it was measured


def measured() -> tuple[Results, Results]:
    """A campaign, and the same with a probe on `premium`: 40 a second, each of 25 ms."""
    plain = build_campaign(
        profiles=["premium", "ultra"], workloads=["tpcc"], repetitions=2, nodes=1
    )
    (probe,) = probes.for_workloads(plain.plan.workloads, FileMembers())
    runs = tuple(replace(run, number=run.number + 2) for run in plain.plan.runs)
    quiet = [
        replace(runs[0], number=n, workload=probe.name, profile=tier, repetition=1)
        for n, tier in enumerate(("premium", "ultra"), start=1)
    ]
    plan = replace(plain.plan, probes=(probe,), runs=(*quiet, *runs))
    profile = plain.plan.profile("premium")
    alone = build_run(
        quiet[0], profile, probe, Shape(40.0, 90.0, 50.0, await_s=0.002, cpu_pct=6.0)
    )
    moved = [
        replace(data, record=replace(data.record, run=replace(run, number=run.number)))
        for data, run in zip(
            sorted(plain.runs, key=lambda d: d.record.run.number), runs, strict=True
        )
    ]
    return plain, replace(plain, plan=plan, runs=(alone, *moved))


def test_a_prediction_takes_it_and_no_verdict_does() -> None:
    plain, probed = measured()
    before, after = judge(plain), judge(probed)
    for part in (
        "cells",
        "deltas",
        "bottlenecks",
        "decisions",
        "cluster",
        "missing",
        "varied",
    ):
        assert getattr(after, part) == getattr(before, part), part
    (run,) = (r for r in probed.done if r.record.run.slug.endswith("premium-tpcc-r1"))
    quiet = quiet_run(probed, run)
    assert quiet is not None and quiet.record.workload.name == "tpcc-probe"
    other = replace(run.record.profile.cluster, nodes=3)
    profile = replace(run.record.profile, cluster=other)
    apart = replace(run, record=replace(run.record, profile=profile))
    assert quiet_run(probed, apart) is None, (
        "a probe of another cluster says nothing of this one"
    )


def test_the_report_has_it_among_the_runs_as_what_it_is() -> None:
    _, probed = measured()
    (note,) = [note for note in plan_of().notes if note.kind == "probes"]
    probed = replace(probed, plan=replace(probed.plan, notes=(note,)))
    index = judged_index(probed)
    assert "tpcc-probe" in str(method.section(index))
    (stamp,) = [stamp for stamp in caveats.stamps(index) if stamp.label == "Probes"]
    assert "not part of any verdict, decision or figure of a tier" in stamp.text


def test_a_campaign_with_one_is_gone_on_with(tmp_path: Path) -> None:
    """What was measured is held against the plan, of which the probe is a part."""
    _, probed = measured()
    folder = stored(probed, tmp_path)
    before = resuming.Resumption(folder).before
    assert not dict(resumed_conditions.plan_differences(before))
    runs = tuple(run for run in probed.plan.runs if run.workload != "tpcc-probe")
    campaign_writing.save_plan(folder, replace(probed.plan, probes=(), runs=runs))
    assert "tpcc-probe" in str(store.load_without_tables(folder).plan.notes), "left out"
