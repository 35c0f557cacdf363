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

from orchestrator import (
    collectors,
    databases,
    facts,
    load_generators,
    model,
    parts,
    powers,
    report,
    tiers,
)
from orchestrator.analysis.results import Results
from orchestrator.analysis.verdicts import judge
from orchestrator.cli.common.options import Request
from orchestrator.cli.measure import concluding, plans
from orchestrator.databases.dry import DryDatabase
from orchestrator.errors import UsageError
from orchestrator.load_generators import binding
from orchestrator.load_generators.dry import DryGenerator
from orchestrator.model import Node, Plan, Sample
from orchestrator.parts import Parts
from orchestrator.planning import profiles, project_files, workloads
from orchestrator.powers import World
from orchestrator.run import experiment
from orchestrator.system import store
from orchestrator.tier import Burst, DiskKind, Tier
from orchestrator.tiers.dry import DryTier
from tests import ROOT
from tests.apps import an_app, with_parts
from tests.campaign_tables import sampled_in
from tests.documented import examples
from tests.fake_parts import fake_parts
from tests.fakes import Log, fake_world
from tests.plans import a_plan, profile_text
from tests.tiers import a_tier, changed

pytestmark = pytest.mark.draws


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


def planned(
    tier: str, folder: Path, parts: Parts | None = None, db: str = "postgresql"
) -> Plan:
    """The plan of a profile with this tier, made as the command line makes it."""
    file = folder / "mine.yaml"
    file.write_text(profile_text(tier, "azure-d8s-v5"))
    request = Request(
        profiles=[str(file)],
        workloads=["point-select"],
        database=db,
        scale="smoke",
        nodes=1,
    )
    app = an_app(folder)
    return plans.make_plan(with_parts(app, parts) if parts else app, request)


def a_dry_plan(
    database: str = "dry", generator: str = "dry", tier: Tier | None = None
) -> Plan:
    plan = a_plan()
    (profile,), (workload,) = plan.profiles, plan.workloads
    tier = tier or changed(profile.tier, enforcement="dry")
    cluster = replace(profile.cluster, database=database)
    profiles = (replace(profile, tier=tier, cluster=cluster),)
    return replace(
        plan, profiles=profiles, workloads=(replace(workload, generator=generator),)
    )


def shipped(**added: Any) -> Parts:
    """The registries as they are, and what is added to each."""
    return Parts(
        {**databases.databases(), **added.get("databases", {})},
        {**load_generators.load_generators(), **added.get("load_generators", {})},
        {**tiers.tier_mechanisms(), **added.get("tiers", {})},
        (
            *collectors.collectors(fake_world().platform)[-1:],
            *added.get("collectors", ()),
        ),
    )


def carried_out(plan: Plan, folder: Path, parts: Parts) -> Results:
    world = fake_world(cache=folder / "cache")
    loaded = store.load(experiment.execute(plan, parts, world, folder / "results", {}))
    assert report.console(loaded, judge(loaded))
    assert [data.record.outcome for data in loaded.runs] == ["done"]
    return loaded


def test_a_database(tmp_path: Path) -> None:
    parts = shipped(databases={"throwaway": ThrowawayDatabase()})
    carried_out(a_dry_plan(database="throwaway"), tmp_path, parts)
    (profile,) = planned("{enforcement: none}", tmp_path, parts, "throwaway").profiles
    assert profile.cluster.database == "throwaway"


def test_a_load_generator(tmp_path: Path) -> None:
    parts = shipped(load_generators={"throwaway": ThrowawayGenerator()})
    plan = a_dry_plan(generator="throwaway")
    workloads = (binding.bind(plan.workloads[0], None),)
    carried_out(replace(plan, workloads=workloads), tmp_path, parts)


def test_a_collector(tmp_path: Path) -> None:
    (run,) = carried_out(
        a_dry_plan(), tmp_path, shipped(collectors=[ThrowawayCollector()])
    ).runs
    assert "throwaway" in set(sampled_in(run)["metric"])


def test_a_tier_mechanism(tmp_path: Path) -> None:
    """A profile names it; judging and the report know its disks by their kind alone."""
    parts = shipped(tiers={"throwaway": ThrowawayTier()})
    tier = planned("{enforcement: throwaway}", tmp_path, parts).profiles[0].tier
    results = carried_out(a_dry_plan(tier=tier), tmp_path, parts)
    verdict = judge(results)
    assert "none tier" in {doubt.kind for doubt in verdict.doubts}
    text = concluding.write_report(results, verdict, tmp_path).markdown.read_text()
    assert "| not limited (throwaway) |" in text
    record = json.loads(next(tmp_path.rglob("record.json")).read_text())
    recorded = record["profile"]["tier"]
    assert (recorded["enforcement"], recorded["like"]) == ("throwaway", "none")
    with pytest.raises(ValueError, match="disk"):
        TypeAdapter(Tier).validate_python({**recorded, "like": None})


@pytest.mark.parametrize(
    "tier", ["{enforcement: magic}", "{type: azure/P15, enforcement: magic}"]
)
def test_a_tier_mechanism_that_is_not_there(tmp_path: Path, tier: str) -> None:
    known = "emulated, mounted, existing, none, storage-class"
    others = "An extension that is not installed may bring others: `tierbench list`"
    with pytest.raises(UsageError) as refused:
        planned(tier, tmp_path)
    (mistake,) = refused.value.mistakes
    assert mistake.where.endswith("tier.enforcement")
    assert mistake.what == f"unknown; known: {known}. {others} (given: 'magic')"


@pytest.mark.parametrize("family", ["databases", "load_generators", "tiers"])
def test_a_member_that_does_nothing_is_one_file_and_one_registry_line(
    family: str,
) -> None:
    """Counted on the one that is shipped: one entry, and no member knows it."""
    folder = ROOT / "orchestrator" / family
    naming = []
    for file in folder.rglob("*.py"):
        if re.search(r"\bdry(:| import)", file.read_text()):
            naming.append(file)
    assert naming == [folder / "__init__.py"]
    assert len(re.findall(r"\bDry\w+", naming[0].read_text())) == 1


def test_a_collector_is_one_file_its_import_and_its_line() -> None:
    registry = ROOT / "orchestrator" / "collectors" / "__init__.py"
    assert len(re.findall(r"\bDry\w+", registry.read_text())) == 2


# ------------------------------------------------------------------ examples of ADDING.md


def member(heading: str) -> Any:
    """What the example under `heading` defines, made from the example's own text."""
    (source,) = examples("ADDING.md", heading, "python")
    given: dict[str, Any] = {}
    for module in (facts, model, parts, powers):
        given |= vars(module)
    exec(PREAMBLE, given)
    before = set(given)
    exec(
        compile(source, f"docs/ADDING.md: {heading}", "exec", dont_inherit=True), given
    )
    (name,) = set(given) - before
    return given[name]


PREAMBLE = """
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
import pandas as pd
from orchestrator.analysis.figures import transactions
from orchestrator.errors import UsageError
from orchestrator.report.charts import charts
from orchestrator.report.blocks import Chart
from orchestrator.tier import DiskKind, Gate, Tier
"""


def test_the_example_of_a_chart_is_drawn_and_lives() -> None:
    rows = [
        {"tier": tier, "threads": threads, "per_s": 10.0 * threads}
        for tier in ("premium", "ultra")
        for threads in (1, 4)
    ]
    chart = member("A chart")(rows, ["premium", "ultra"])
    assert chart.svg.count('aria-roledescription="line mark"') == 2
    assert chart.live and chart.live["data"]["name"] == "rows"
    assert {row["tier"] for row in chart.live["datasets"]["rows"]} == {
        "premium",
        "ultra",
    }


def methods_of(protocol: type) -> set[str]:
    return {name for name in vars(protocol) if not name.startswith("_")}


def carry_out(folder: Path, made: Parts, world: World, **of_cluster: Any) -> Results:
    """Carries out a plan of one run with these parts. `of_cluster`: what differs in the cluster,
    and the tier's `enforcement`."""
    plan = a_plan()
    (profile,) = plan.profiles
    enforcement = of_cluster.pop("enforcement", profile.tier.disk.enforcement)
    profile = replace(
        profile,
        tier=changed(profile.tier, enforcement=enforcement),
        cluster=replace(profile.cluster, **of_cluster),
    )
    *_, generator = made.load_generators
    workload = replace(plan.workloads[0], generator=generator)
    plan = replace(plan, profiles=(profile,), workloads=(workload,))
    return store.load(experiment.execute(plan, made, world, folder / "results", {}))


def done(campaign: Results) -> model.Record:
    record = campaign.runs[0].record
    assert (record.outcome, record.failure) == ("done", None)
    return record


def test_the_documented_tier_is_a_profile() -> None:
    (text,) = examples("ADDING.md", "A disk tier")
    cluster = (ROOT / "profiles/clusters/azure-d8s-v5.yaml").read_text()
    rows = project_files.catalog(ROOT)
    profile = profiles.read_profile(
        "x", text, profiles.Nameable({"azure-d8s-v5": cluster}, rows), "laptop"
    )
    assert (profile.tier.limits.iops, profile.tier.limits.bytes_per_s) == (
        4000,
        200_000_000,
    )
    assert profile.tier.latency.read_s == pytest.approx(0.0004)
    assert profile.tier.disk.enforcement == "emulated"


def test_the_documented_profile_of_several_machines_has_one_for_each_node() -> None:
    text, _ = examples("recipes/three-machines.md", "On the fourth")
    cluster = (ROOT / "profiles/clusters/azure-d8s-v5.yaml").read_text()
    rows = project_files.catalog(ROOT)
    profile = profiles.read_profile(
        "x", text, profiles.Nameable({"azure-d8s-v5": cluster}, rows), "laptop"
    )
    assert profile.tier.disk.enforcement == "mounted"
    assert profile.placing is not None
    assert len(profile.placing.machines) == profile.cluster.nodes == 3


def test_the_documented_workload_is_read_at_its_scales() -> None:
    (text,) = examples("ADDING.md", "A workload")
    workload = workloads.read_workload("update", text, "laptop")
    assert (workload.generator, workload.script) == ("sysbench", "sysbench/update.lua")
    assert workload.dataset.parameters == {"tables": 4, "table_size": 2_000_000}
    (script,) = examples("ADDING.md", "A workload", "lua")
    shipped = (ROOT / "workloads/sysbench/point_select.lua").read_text()
    preamble = shipped[shipped.index("local here") : shipped.index("local function")]
    assert preamble in script, (
        "the example finds its libraries as the shipped scripts do"
    )


def test_the_documented_collector_is_sampled(tmp_path: Path) -> None:
    log = Log()
    made = replace(fake_parts(log), collectors=(member("A collector")(),))
    campaign = carry_out(tmp_path, made, fake_world(log, tmp_path / "cache"))
    done(campaign)
    samples = sampled_in(campaign.runs[0])
    assert set(samples["metric"]) == {"up"}
    assert {"node-1", "client"} <= set(samples["node"])


def test_the_documented_tier_mechanism_carries_a_campaign(tmp_path: Path) -> None:
    log, tier = Log(), member("A tier mechanism")()
    assert methods_of(parts.TierMechanism) <= set(dir(tier))
    steady = {"steady": member("A load generator")()}
    made = replace(fake_parts(log), tiers={"none": tier}, load_generators=steady)
    world = fake_world(log, tmp_path / "cache")
    record = done(carry_out(tmp_path, made, world, enforcement="none"))
    assert record.facts["tier"]["mechanism"] == "names"
    bursting = a_tier("x", "x", "none", 1, 1, burst=Burst(1, 1, 1.0, 0.0))
    with pytest.raises(UsageError):
        tier.check(bursting, world)


def test_the_documented_database_carries_a_campaign(tmp_path: Path) -> None:
    log, database = Log(), member("A database")()
    assert methods_of(parts.Database) <= set(dir(database))
    steady = {"steady": member("A load generator")()}
    made = replace(
        fake_parts(log), databases={"patient": database}, load_generators=steady
    )
    world = fake_world(log, tmp_path / "cache")
    record = done(carry_out(tmp_path, made, world, database="patient"))
    assert record.facts["database"]["version"] == "1"


def test_the_documented_load_generator_is_measured(tmp_path: Path) -> None:
    log, generator = Log(), member("A load generator")()
    assert methods_of(parts.LoadGenerator) <= set(dir(generator))
    made = replace(fake_parts(log), load_generators={"steady": generator})
    record = done(carry_out(tmp_path, made, fake_world(log, tmp_path / "cache")))
    figures = {(one.metric, one.scope): one.value for one in record.measurements}
    assert figures["throughput_per_s", "all"] == pytest.approx(1.0)
    assert figures["latency_avg_s", "all"] == pytest.approx(0.001)


def test_the_documented_platform_carries_a_campaign(tmp_path: Path) -> None:
    log = Log()
    world = fake_world(log, tmp_path / "cache")
    platform = member("A platform")(world.platform)
    done(carry_out(tmp_path, fake_parts(log), replace(world, platform=platform)))
    assert {"sweep", "network"} <= set(platform.calls)
    assert methods_of(powers.Platform) >= {"running", "network"}
