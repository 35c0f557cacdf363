"""The file of a published study: its mistakes are refused, and its keys documented."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from orchestrator.cli.studies import REFERENCE
from orchestrator.errors import UsageError
from orchestrator.planning import published_study
from orchestrator.planning.published_study import Study
from tests import ROOT

TEXT = (ROOT / REFERENCE).read_text()
STUDY = published_study.read("study.yaml", "reference", TEXT)


def refused(change: Callable[[dict[str, Any]], object]) -> str:
    content = yaml.safe_load(TEXT)
    change(content)
    with pytest.raises(UsageError) as error:
        published_study.read("mine.yaml", "mine", yaml.safe_dump(content))
    return "\n".join(f"{one.where}: {one.what}" for one in error.value.mistakes)


MISTAKES: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "unknown key": (
        lambda c: c["workloads"]["tpcc"]["results"]["ultra"].update(tpm=3),
        "mine.yaml: workloads.tpcc.results.ultra.tpm: unknown key",
    ),
    "no unit": (
        lambda c: c["workloads"]["tpcc"]["results"]["ultra"].update(
            new_order_latency=3
        ),
        "mine.yaml: workloads.tpcc.results.ultra.new_order_latency: expected a time",
    ),
    "unknown tier": (
        lambda c: c["workloads"]["tpcc"]["results"].update(silver=None),
        "mine.yaml: workloads.tpcc.results: unknown tier 'silver'; known: premium, premium-v2",
    ),
    "tier left out": (
        lambda c: c["workloads"]["insert"]["results"].pop("premium"),
        "mine.yaml: workloads.insert.results: premium is missing; null says",
    ),
    "no name of a folder": (
        lambda c: c["tiers"].update({"../silver": c["tiers"]["ultra"]}),
        "mine.yaml: tiers.../silver: a name has letters",
    ),
    "unknown baseline": (
        lambda c: c.update(baseline="gold"),
        "mine.yaml: baseline: unknown tier 'gold'",
    ),
    "no nodes": (
        lambda c: c["cluster"].pop("nodes"),
        "mine.yaml: cluster.nodes: this key is missing",
    ),
    "no change": (
        lambda c: c["deltas"]["tpcc"]["nopm"].update(ultra="about 2"),
        "mine.yaml: deltas.tpcc.nopm.ultra: expected a number (given: 'about 2')",
    ),
    "unknown figure": (
        lambda c: c["deltas"]["tpcc"].update(joy={"ultra": 1}),
        "mine.yaml: deltas.tpcc.joy: unknown figure 'joy'",
    ),
    "unknown workload": (
        lambda c: c["doubts"][0].update(workload="scan"),
        "mine.yaml: doubts.0.workload: unknown workload 'scan'",
    ),
    "unknown kind": (
        lambda c: c["doubts"][0].update(kind="a hunch"),
        "mine.yaml: doubts.0.kind: expected ",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_refused_at_its_place(name: str) -> None:
    change, message = MISTAKES[name]
    assert message in refused(change)


def test_all_mistakes_come_at_once() -> None:
    def two(content: dict[str, Any]) -> None:
        content["baseline"] = "gold"
        content["cluster"].pop("nodes")

    assert len(refused(two).splitlines()) == 2


def test_every_key_of_a_study_is_documented() -> None:
    documented = set(
        re.findall(r"`([a-z_0-9]+)`", (ROOT / "docs" / "STUDY.md").read_text())
    )
    models: list[type[BaseModel]] = [
        published_study.StudyYaml,
        published_study.StudyTierYaml,
        published_study.StudyWorkloadYaml,
        published_study.FiguresYaml,
        published_study.StudyDoubtYaml,
    ]
    for model in models:
        keys = {field.alias or name for name, field in model.model_fields.items()}
        assert keys <= documented
    assert set(published_study.FIGURES) == set(published_study.FiguresYaml.model_fields)


def test_the_study_has_no_part_that_is_never_read() -> None:
    """Every workload, tier and reading of the file is in the plan."""
    assert isinstance(STUDY, Study)
    assert [w.name for w in STUDY.plan.workloads] == list(
        yaml.safe_load(TEXT)["workloads"]
    )
    assert len([note for note in STUDY.plan.notes if note.kind == "reading"]) == 3
