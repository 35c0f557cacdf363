"""Goal: a campaign folder written by version 1 of the format is read and judged as it was then.

Method: the folder was written by the program before notes, gate checks and facts were typed; its
verdict.json is what that program concluded.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from orchestrator import report
from orchestrator.analysis.conclusions import Verdict
from orchestrator.analysis.doubts.validity import EXCLUDING
from orchestrator.analysis.results import Results
from orchestrator.analysis.verdicts import judge
from orchestrator.model import Record
from orchestrator.system import store
from tests import ROOT

FOLDER = ROOT / "tests" / "fixtures" / "campaign-version-1"


@pytest.fixture(scope="module")
def campaign() -> Results:
    return store.load(FOLDER)


def countable(campaign: Results) -> Results:
    """Without what excludes a run today and did not then: lost transactions and leftovers."""

    def mended(record: Record) -> Record:
        facts = {**record.facts, "generator": {}}
        kept = tuple(doubt for doubt in record.doubts if doubt.kind not in EXCLUDING)
        return replace(record, facts=facts, doubts=kept)

    runs = tuple(replace(data, record=mended(data.record)) for data in campaign.runs)
    return replace(campaign, runs=runs)


def test_it_is_judged_as_it_was_then(campaign: Results) -> None:
    then = TypeAdapter(Verdict).validate_json((FOLDER / "verdict.json").read_bytes())
    now = judge(countable(campaign))
    assert now.cells == then.cells
    for delta, before in zip(now.deltas, then.deltas, strict=True):
        # Its intervals were those of samples that are not paired by repetition.
        assert delta.change_pct == pytest.approx(before.change_pct)
        assert (delta.metric, delta.verdict) == (before.metric, before.verdict)
    for found, stored in zip(now.bottlenecks, then.bottlenecks, strict=True):
        assert (found.node, found.verdict) == (stored.node, stored.verdict)
        assert found.evidence == pytest.approx(stored.evidence)
        assert "idle_disk_latency_s" in found.evidence  # known by the gate alone, by its titles
    doubts = [
        [(doubt.kind, doubt.run) for doubt in verdict.doubts if doubt.kind not in EXCLUDING]
        for verdict in (now, then)
    ]
    assert doubts[0] == doubts[1]


def test_runs_that_lost_transactions_count_no_more(campaign: Results) -> None:
    now = judge(campaign)
    assert [run.run for run in now.excluded] == [1, 2, 3, 4]
    assert now.excluded[0].reasons == (
        "leftovers: a container was left",
        "totals differ: sysbench counted 24,000 transactions, 23,000 were kept one by one",
    )
    assert now.cells == () and len(now.missing) == 2


def test_its_report_is_written(campaign: Results, tmp_path: Path) -> None:
    folder = shutil.copytree(FOLDER, tmp_path / FOLDER.name)
    text = report.write(campaign, judge(campaign), folder).markdown.read_text()
    assert "Stand-in, not a real cluster" in text
    assert "**Another database" in text
