"""What adding a member of a family takes: its own file, and one line in the family's registry.

Goal: docs/ADDING.md is true. Method: a member that nothing in the package knows is put into the
registry as it is there, and a whole campaign with it is carried out, judged and reported.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from orchestrator import collectors, databases, load_generators, report, tiers
from orchestrator.analysis.results import Results
from orchestrator.analysis.verdicts import judge
from orchestrator.cli import plans
from orchestrator.cli.options import Request
from orchestrator.collectors.dry import DryCollector
from orchestrator.databases.dry import DryDatabase
from orchestrator.errors import UsageError
from orchestrator.load_generators.dry import DryGenerator
from orchestrator.model import Node, Plan, Sample
from orchestrator.parts import Parts
from orchestrator.run import experiment
from orchestrator.system import store
from orchestrator.tier import DiskKind, Tier
from orchestrator.tiers.dry import DryTier
from tests import ROOT
from tests.apps import an_app, with_parts
from tests.fakes import fake_world
from tests.plans import a_plan, profile_text
from tests.tiers import changed


class Throwaway:
    """A member's name; the rest is that of the do-nothing member."""

    name = "throwaway"


class ThrowawayDatabase(Throwaway, DryDatabase): ...


class ThrowawayGenerator(Throwaway, DryGenerator): ...


class ThrowawayCollector(Throwaway):
    def read(self, nodes: Sequence[Node], now_s: float) -> Iterable[Sample]:
        return [Sample(now_s, "host", "throwaway", "", 1.0)]


class ThrowawayTier(Throwaway, DryTier):
    kind: DiskKind = "none"


def planned(tier: str, folder: Path, parts: Parts | None = None) -> Plan:
    """The plan of a profile with this tier, made as the command line makes it."""
    file = folder / "mine.yaml"
    file.write_text(profile_text(tier, "azure-d8s-v5"))
    request = Request(
        profiles=[str(file)],
        workloads=["point-select"],
        database="postgresql",
        scale="smoke",
        nodes=1,
    )
    app = an_app(folder)
    return plans.make_plan(with_parts(app, parts) if parts else app, request)


def a_dry_plan(database: str = "dry", generator: str = "dry", tier: Tier | None = None) -> Plan:
    plan = a_plan()
    (profile,), (workload,) = plan.profiles, plan.workloads
    tier = tier or changed(profile.tier, enforcement="dry")
    cluster = replace(profile.cluster, database=database)
    profiles = (replace(profile, tier=tier, cluster=cluster),)
    return replace(plan, profiles=profiles, workloads=(replace(workload, generator=generator),))


def carried_out(plan: Plan, folder: Path, added: Sequence[Any] = ()) -> Results:
    parts = Parts(
        databases.databases(),
        load_generators.load_generators(),
        tiers.tier_mechanisms(),
        (DryCollector(), *added),
    )
    world = fake_world(cache=folder / "cache")
    loaded = store.load(experiment.execute(plan, parts, world, folder / "results", {}))
    assert report.console(loaded, judge(loaded))
    assert [data.record.outcome for data in loaded.runs] == ["done"]
    return loaded


def test_a_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = {**databases.databases(), "throwaway": ThrowawayDatabase()}
    monkeypatch.setattr(databases, "databases", lambda: registry)
    carried_out(a_dry_plan(database="throwaway"), tmp_path)
    assert databases.choose("throwaway").name == "throwaway"


def test_a_load_generator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = {**load_generators.load_generators(), "throwaway": ThrowawayGenerator()}
    monkeypatch.setattr(load_generators, "load_generators", lambda: registry)
    plan = a_dry_plan(generator="throwaway")
    carried_out(replace(plan, workloads=(load_generators.bind(plan.workloads[0], None),)), tmp_path)


def test_a_collector(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = (*collectors.collectors(fake_world().platform), ThrowawayCollector())
    monkeypatch.setattr(collectors, "collectors", lambda _machine: registry)
    (run,) = carried_out(
        a_dry_plan(), tmp_path, collectors.collectors(fake_world().platform)[-1:]
    ).runs
    assert "throwaway" in set(run.samples["metric"])


def test_a_tier_mechanism(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A profile names it; judging and the report know its disks by their kind alone."""
    registry = {**tiers.tier_mechanisms(), "throwaway": ThrowawayTier()}
    monkeypatch.setattr(tiers, "tier_mechanisms", lambda: registry)
    parts = Parts(databases.databases(), load_generators.load_generators(), registry, ())
    tier = planned("{enforcement: throwaway}", tmp_path, parts).profiles[0].tier
    results = carried_out(a_dry_plan(tier=tier), tmp_path)
    verdict = judge(results)
    assert "none tier" in {doubt.kind for doubt in verdict.doubts}
    text = report.write(results, verdict, tmp_path).markdown.read_text()
    assert "| not limited (throwaway) |" in text
    record = json.loads(next(tmp_path.rglob("record.json")).read_text())
    recorded = record["profile"]["tier"]
    assert (recorded["enforcement"], recorded["like"]) == ("throwaway", "none")
    with pytest.raises(ValueError, match="disk"):
        TypeAdapter(Tier).validate_python({**recorded, "like": None})


@pytest.mark.parametrize("tier", ["{enforcement: magic}", "{type: azure/P15, enforcement: magic}"])
def test_a_tier_mechanism_that_is_not_there(tmp_path: Path, tier: str) -> None:
    known = "emulated, cgroup, mounted, storage-class, existing, none"
    with pytest.raises(UsageError) as refused:
        planned(tier, tmp_path)
    (mistake,) = refused.value.mistakes
    assert mistake.where.endswith("tier.enforcement")
    assert mistake.what == f"unknown; known: {known} (given: 'magic')"


@pytest.mark.parametrize("family", ["databases", "load_generators", "tiers", "collectors"])
def test_a_member_that_does_nothing_is_one_file_and_one_registry_line(family: str) -> None:
    """Counted on the one that is shipped: one import and one entry, and no member knows it."""
    folder = ROOT / "orchestrator" / family
    naming = [file for file in folder.rglob("*.py") if f"{family}.dry import" in file.read_text()]
    assert naming == [folder / "__init__.py"]
    named = re.findall(r"\bDry\w+", naming[0].read_text())
    assert len(named) == 2  # its import and its entry
