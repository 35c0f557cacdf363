"""Whoever names something else for a campaign is told what it is, and what to name."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from orchestrator.errors import UsageError
from orchestrator.system import stored_campaigns

CAMPAIGN = "20261129T101010Z-tpcc"
OBSERVED = "20261130T101010Z-observed"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A campaign with one run, as far as names go, and an observation."""
    results = tmp_path / "results"
    run = results / CAMPAIGN / "runs" / "01-p15-tpcc-r1"
    run.mkdir(parents=True)
    (results / CAMPAIGN / "plan.json").write_text("{}")
    (results / CAMPAIGN / "report.html").write_text("")
    observe(results / OBSERVED, 1.0)
    return results


def observe(folder: Path, at_s: float) -> None:
    folder.mkdir(parents=True)
    (folder / "observed.json").write_text("{}")
    (folder / "report.html").write_text("")
    os.utime(folder / "report.html", (at_s, at_s))


def refused(results: Path, name: str) -> UsageError:
    with pytest.raises(UsageError) as refusal:
        stored_campaigns.resolve(results, name)
    return refusal.value


@pytest.mark.parametrize(
    ("name", "what", "advice"),
    [
        (OBSERVED, "is an observation, not a campaign", "read its report.html"),
        (f"{CAMPAIGN}/runs/01-p15-tpcc-r1", "is a run, not a campaign", CAMPAIGN),
        (f"{CAMPAIGN}/report.html", "is a file of a campaign", CAMPAIGN),
        ("{}", "holds campaigns, and is none itself", f"name one, as {{}}/{CAMPAIGN}"),
        ("{}/..", "has no plan.json", "`tierbench history` lists"),
        ("of-nobody", "'of-nobody' is not a campaign", "`tierbench history` lists"),
    ],
)
def test_what_lies_there_is_told(
    results: Path, name: str, what: str, advice: str
) -> None:
    refusal = refused(results, name.format(results))
    assert what in refusal.what
    assert advice.format(results) in refusal.advice


def test_what_an_extension_keeps_that_is_not_installed_names_it(tmp_path: Path) -> None:
    folder = tmp_path / OBSERVED
    folder.mkdir()
    made_by = {"extension": "gone", "distribution": "tierbench-gone", "version": "1.0"}
    (folder / "gone.json").write_text(json.dumps({"made_by": made_by}))
    assert "belongs to the extension gone" in refused(tmp_path, OBSERVED).what
    assert "tierbench-gone==1.0" in stored_campaigns.entry(folder, {}).fault


def test_of_observations_alone_the_last_one_s_page_is_named(tmp_path: Path) -> None:
    observe(tmp_path / OBSERVED, 1.0)
    observe(tmp_path / "observed-week-20261201T000000Z", 2.0)
    observe(tmp_path / "20261130T111111Z-observed", 3.0)
    refusal = refused(tmp_path, "latest")
    assert refusal.what == f"no campaign in {tmp_path} yet, only observations"
    page = tmp_path / "20261130T111111Z-observed" / "report.html"
    assert refusal.advice == f"open {page}; `tierbench compare` measures"


def test_a_results_folder_that_there_is_not_is_told(tmp_path: Path) -> None:
    refusal = refused(tmp_path / "reslts", "latest")
    assert "there is no such folder" in refusal.what
    assert "--results" in refusal.advice
    assert "there is no" not in refused(tmp_path, "latest").what


def test_a_name_that_no_disk_takes_is_none(tmp_path: Path) -> None:
    assert "is not a campaign" in refused(tmp_path, "x" * 5000).what
