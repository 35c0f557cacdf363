"""`--slo` and `--prices` reach the plan, and `analyze --slo` judges stored figures by another."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from pathlib import Path

import pytest

from orchestrator.analysis.results import Results
from orchestrator.cli.measure import concluding
from orchestrator.errors import UsageError
from orchestrator.model import Objective
from orchestrator.planning import project_files, stored_plan
from orchestrator.system import files
from tests import ROOT
from tests.campaigns import build_campaign

LIST = """
currency: USD
region: eastus
as_of: 2026-11-01
source: our contract
prices: {azure/P15: {per_disk: 30}}
"""


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """A campaign of three tiers and two workloads as files, without tables."""
    results: Results = build_campaign(
        workloads=["tpcc", "point-select"], repetitions=3, noise_pct=0.3, frames=False
    )
    files.write_json(tmp_path / "plan.json", stored_plan.flat(results.plan))
    for run in results.runs:
        folder = tmp_path / "runs" / run.record.run.slug
        folder.mkdir(parents=True)
        files.write_json(folder / "record.json", asdict(run.record))
    return tmp_path


def decisions(folder: Path, slo: str | None = None) -> dict[str, dict[str, object]]:
    concluding.conclude(folder, slo)
    verdict = json.loads((folder / "verdict.json").read_text())
    return {one["workload"]: one for one in verdict["decisions"]}


def test_analyze_judges_by_another_slo_and_leaves_the_plan(stored: Path) -> None:
    plan = (stored / "plan.json").read_text()
    assert decisions(stored)["tpcc"]["tier"] == "ultra"
    found = decisions(stored, "new_order average < 1 min, throughput > 100/s")
    assert found["tpcc"]["tier"] == "premium"
    assert found["tpcc"]["slo"] == ["new_order average < 60 s", "throughput > 100/s"]
    assert found["point-select"]["slo"] == ["throughput > 100/s"]
    assert (stored / "plan.json").read_text() == plan


def test_analyze_uses_the_slo_that_was_planned(stored: Path) -> None:
    plan = json.loads((stored / "plan.json").read_text())
    plan["workloads"][0]["slo"] = [
        asdict(Objective("latency_avg_s", "new_order", 60.0))
    ]
    files.write_json(stored / "plan.json", plan)
    assert decisions(stored)["tpcc"]["slo"] == ["new_order average < 60 s"]


def test_the_report_has_the_table_in_text_and_page(stored: Path) -> None:
    decisions(stored)
    for name in ("report.md", "report.html"):
        text = (stored / name).read_text()
        assert "What each tier costs and gives" in text
        assert "For the ticket: Buy ultra" in text


def test_an_slo_that_fits_nothing_is_refused_before_anything(stored: Path) -> None:
    with pytest.raises(UsageError) as refused:
        concluding.conclude(stored, "payment p50 > 3 ms")
    assert refused.value.mistakes[0].where == "--slo"
    assert not (stored / "verdict.json").exists()


def test_prices_of_a_file_hold_over_those_of_the_folder(tmp_path: Path) -> None:
    root = tmp_path / "project"
    for name in ("profiles", "workloads"):
        shutil.copytree(ROOT / name, root / name)
    lists = root / project_files.PRICES
    lists.mkdir(exist_ok=True)
    (lists / "ours.yaml").write_text(LIST)
    mine = tmp_path / "mine.yaml"
    mine.write_text(LIST.replace("30", "20"))
    read = project_files.read
    for given, monthly in ((None, 30.0), (mine, 20.0)):
        (premium,), _ = read(root, ["premium"], [], "study", price_list=given)
        assert premium.tier.price and premium.tier.price.monthly == monthly
    with pytest.raises(UsageError) as refused:
        read(root, ["premium"], [], "study", price_list=tmp_path / "none.yaml")
    assert "cannot be read" in refused.value.mistakes[0].what
