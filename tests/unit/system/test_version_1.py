"""Goal: a campaign folder written by version 1 of the format is read and judged as it was then.

Method: the folder was written by the program before notes, gate checks and facts were typed; its
verdict.json is what that program concluded.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from orchestrator import report
from orchestrator.analysis.conclusions import Verdict
from orchestrator.analysis.results import Results
from orchestrator.analysis.verdicts import judge
from orchestrator.system import store
from tests import ROOT

FOLDER = ROOT / "tests" / "fixtures" / "campaign-version-1"


@pytest.fixture(scope="module")
def campaign() -> Results:
    return store.load(FOLDER)


def test_it_is_judged_as_it_was_then(campaign: Results) -> None:
    then = TypeAdapter(Verdict).validate_json((FOLDER / "verdict.json").read_bytes())
    now = judge(campaign)
    assert now.cells == then.cells
    for delta, before in zip(now.deltas, then.deltas, strict=True):
        # Its intervals were those of samples that are not paired by repetition.
        assert delta.change_pct == pytest.approx(before.change_pct)
        assert (delta.metric, delta.verdict) == (before.metric, before.verdict)
    for found, stored in zip(now.bottlenecks, then.bottlenecks, strict=True):
        assert (found.node, found.verdict) == (stored.node, stored.verdict)
        assert found.evidence == pytest.approx(stored.evidence)
        assert "idle_disk_latency_s" in found.evidence  # known by the gate alone, by its titles
    doubts = [[(doubt.kind, doubt.run) for doubt in verdict.doubts] for verdict in (now, then)]
    assert doubts[0] == doubts[1]


def test_its_report_is_written(campaign: Results, tmp_path: Path) -> None:
    folder = shutil.copytree(FOLDER, tmp_path / FOLDER.name)
    text = report.write(campaign, judge(campaign), folder).markdown.read_text()
    assert "Stand-in, not a real cluster" in text
    assert "**Another database" in text
