"""`orchestrator.api`: a stored campaign as frames that say what its files say.

Method: a campaign made by the simulator is stored and opened; figures computed from the frames are
held against its records, and the notebook of the documents is run on it cell by cell.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from orchestrator.api import Campaign, open_campaign
from orchestrator.errors import UsageError
from orchestrator.system import campaign_writing
from tests import ROOT
from tests.campaigns import build_campaign, stored as store_campaign

NOTEBOOK = ROOT / "docs/notebooks/campaign.ipynb"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    made = build_campaign(workloads=["insert"], measure_s=20.0)
    campaign = store_campaign(made, folder)
    for run in made.runs:
        campaign_writing.save_run(
            campaign_writing.run_folder(campaign, run.record.run),
            run.record,
            run.intervals,
            run.transactions(),
            run.sampled.parts(),
        )
    return folder


@pytest.fixture(name="campaign", scope="module")
def read_campaign(results: Path) -> Campaign:
    return open_campaign("latest", results)


def test_figures_of_runs_are_those_of_the_records(campaign: Campaign) -> None:
    frame = campaign.runs()
    assert campaign.results.done
    for data in campaign.results.done:
        for figure in data.record.measurements:
            rows = frame[
                (frame["run"] == data.record.run.number)
                & (frame["metric"] == figure.metric)
                & (frame["scope"] == figure.scope)
            ]
            (value,) = rows["value"]
            assert value == pytest.approx(figure.value)


def test_each_table_names_the_run_of_its_rows(campaign: Campaign) -> None:
    number = campaign.results.done[1].record.run.number
    for table in (campaign.latencies(number), campaign.telemetry(number)):
        assert set(table["run"]) == {number}
        assert set(table["profile"]) == {campaign.results.done[1].record.run.profile}
    of_all = campaign.seconds()
    runs = {data.record.run.number for data in campaign.results.runs}
    assert set(of_all["run"]) == runs
    assert len(of_all) == sum(len(data.intervals) for data in campaign.results.runs)


def test_verdicts_are_those_of_the_campaign(campaign: Campaign) -> None:
    frame = campaign.verdicts()
    assert list(frame["verdict"]) == [
        delta.verdict for delta in campaign.verdict.deltas
    ]
    assert campaign.answer is not None


def test_a_slo_is_judged_anew(results: Path) -> None:
    strict = open_campaign("latest", results, slo="p99 < 1 us")
    assert strict.answer is not None
    assert strict.answer.purchase is None


def test_what_is_no_campaign_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        open_campaign("nowhere", tmp_path)


def test_a_run_without_tables_has_empty_frames(results: Path) -> None:
    empty = open_campaign("latest", results).latencies(run=10_000)
    assert isinstance(empty, pd.DataFrame)
    assert empty.empty


def test_the_notebook_runs_on_a_stored_campaign(results: Path) -> None:
    content = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    cells = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
    assert len(cells) > 4
    names: dict[str, Any] = {}
    for cell in cells:
        assert cell["outputs"] == [], "what a cell showed belongs to one campaign"
        text = "".join(cell["source"])
        exec(text.replace('Path("results")', f"Path({str(results)!r})"), names)
    assert set(names["by_tier"].columns) == {"count", "mean", "std"}
    assert len(names["latencies"]) > 100
    assert set(names["telemetry"]["node"]) >= {"node-1"}
    assert set(names["proven"]["verdict"]) <= {"better", "worse"}
