"""`history`, `compare-results`, `baseline` as a build server calls them: words and exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.analysis.results import Results
from orchestrator.cli.main import exit_code
from orchestrator.cli.measure.campaign_app import CampaignApp
from orchestrator.errors import EXIT_DONE, EXIT_INCONCLUSIVE, EXIT_USAGE, EXIT_WORSE
from orchestrator.registry.references import CORE
from orchestrator.system import campaign_writing
from tests import ROOT
from tests.campaigns import later, of_a_day, stored
from tests.observations import ON

HOST = {"hostname": "example", "kernel": "6.1"}
Tierbench = Callable[..., int]


def dated_campaign(day: int, rate: float = 100.0, profile: str = "ultra") -> Results:
    """Three runs close to `rate`, whose latencies follow it."""
    rates = (rate, rate * 1.002, rate * 0.998)
    return of_a_day(day, rates, profile, host=HOST, revision="a" * 40)


def with_history(results: Path, days: int = 5) -> None:
    """So many campaigns from before day 0, whose rates hardly differ."""
    for day in range(days):
        stored(
            dated_campaign(day - days, 100.0 + (-0.3, 0.2, 0.1, -0.1, 0.3)[day]),
            results,
        )


@pytest.fixture
def tierbench(tmp_path: Path) -> Tierbench:
    def call(*words: str) -> int:
        argv = [*words, "--results", str(tmp_path)]
        return exit_code(argv, CampaignApp())

    return call


def test_two_campaigns_and_what_a_build_makes_of_them(
    tierbench: Tierbench, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with_history(tmp_path)
    before, same, slow = (
        stored(dated_campaign(day, rate), tmp_path).name
        for day, rate in ((0, 100.0), (7, 100.0), (14, 80.0))
    )
    assert tierbench("admin", "baseline", "set", "weekly", before) == EXIT_DONE
    assert tierbench("compare-results", "weekly", same) == EXIT_DONE
    assert tierbench("compare-results", "weekly", "latest") == EXIT_DONE
    assert (
        tierbench("compare-results", "baseline:weekly", "--fail-if-worse") == EXIT_WORSE
    )
    capsys.readouterr()
    assert tierbench("compare-results", "weekly", slow, "--output=json") == EXIT_DONE
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert (told["before"], told["after"]) == (before, slow)
    words = {one["delta"]["metric"]: one["delta"]["verdict"] for one in told["deltas"]}
    assert words == dict.fromkeys(words, "worse") and "throughput_per_s" in words
    assert tierbench("compare-results", "weekly", slow, "--output=md") == EXIT_DONE
    page = capsys.readouterr().out
    assert "| Throughput, transactions/s | 3 → 3 | −20.0" in page.replace("\u00a0", " ")
    assert "Note: they were measured at different times (14 days apart)" in page


@pytest.mark.parametrize("rate", [100.0, 80.0])
def test_no_exit_code_rests_on_a_change_beside_unknown_days(
    tierbench: Tierbench,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    rate: float,
) -> None:
    """Neither 1 for a fall nor 0 for none: a build learns that it cannot be told, and why."""
    with_history(tmp_path, 4)
    one, two = (
        stored(dated_campaign(day, r), tmp_path).name
        for day, r in ((0, 100.0), (7, rate))
    )
    asked = ("compare-results", one, two)
    assert tierbench(*asked, "--fail-if-worse", "--output=md") == EXIT_INCONCLUSIVE
    page = capsys.readouterr().out
    assert (
        "at least 5 other comparable campaigns from before are needed, and there are only 4"
        in page
    )
    assert ("changed since" in page) == (rate < 100) and "worse" not in page
    assert tierbench(*asked, "--accept-inconclusive") == EXIT_DONE


def test_inconclusive_is_an_exit_code_unless_accepted(
    tierbench: Tierbench, tmp_path: Path
) -> None:
    one = stored(dated_campaign(0), tmp_path).name
    other = later(dated_campaign(7, 80.0), 0, host={**HOST, "kernel": "6.2"})
    two = stored(other, tmp_path).name
    assert (
        tierbench("compare-results", one, two, "--fail-if-worse") == EXIT_INCONCLUSIVE
    )
    assert tierbench("compare-results", one, two, "--accept-inconclusive") == EXIT_DONE


def test_what_cannot_be_compared_is_a_mistake(
    tierbench: Tierbench, tmp_path: Path
) -> None:
    assert tierbench("history") == EXIT_USAGE  # nothing there
    one = stored(dated_campaign(0), tmp_path).name
    two = stored(dated_campaign(1, profile="premium"), tmp_path).name
    assert tierbench("compare-results", one, two) == EXIT_USAGE
    assert tierbench("compare-results", one, "nothing") == EXIT_USAGE
    assert tierbench("history", "--since", "yesterday") == EXIT_USAGE
    assert tierbench("history", "--fail-if-worse") == EXIT_USAGE
    assert tierbench("history", "--trend", "--profile", "ultra") == EXIT_USAGE
    assert tierbench("history", "--trend", "-p", "ultra", "-w", "tpcc") == EXIT_USAGE


def test_the_list_and_its_filters(
    tierbench: Tierbench, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = stored(dated_campaign(0), tmp_path).name
    two = stored(dated_campaign(1, profile="premium"), tmp_path).name
    (tmp_path / "20990101T000000Z-empty").mkdir()
    assert tierbench("history") == EXIT_DONE
    text = capsys.readouterr().out
    assert text.index("20990101T000000Z-empty") < text.index(two) < text.index(one)
    assert "no plan.json" in " ".join(text.split()) and "not judged yet" in text
    assert (
        tierbench(
            "history", "--profile", "ultra", "--since", "2025-01-01", "--output=json"
        )
        == 0
    )
    told = json.loads(capsys.readouterr().out)
    assert [entry["folder"] for entry in told] == ["20990101T000000Z-empty", one]
    assert (told[1]["done"], told[1]["planned"]) == (3, 3)


def test_a_verdict_whose_records_are_gone_is_told_as_that(
    tierbench: Tierbench, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    campaign = stored(dated_campaign(0), tmp_path)
    assert tierbench("analyze", campaign.name) == EXIT_DONE
    capsys.readouterr()
    assert tierbench("history", "--output=json") == EXIT_DONE
    (whole,) = json.loads(capsys.readouterr().out)
    assert whole["left_out"] == [] and whole["answer"]
    for record in campaign.glob("runs/*/record.json"):
        record.unlink()
    assert tierbench("history", "--output=json") == EXIT_DONE
    (gone,) = json.loads(capsys.readouterr().out)
    assert gone["answer"] == whole["answer"]
    count = whole["done"]
    told = f"its verdict is of {count} finished runs, and now there are 0"
    assert gone["left_out"] == [told]


def test_a_list_without_entries_says_so(
    tierbench: Tierbench, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stored(dated_campaign(0, 100.0), tmp_path)
    assert tierbench("history", "--profile", "ultrra", "--output=json") == EXIT_DONE
    said = capsys.readouterr()
    assert json.loads(said.out) == []
    assert "has nothing that matches" in " ".join(said.err.split())


def test_a_campaign_is_not_compared_with_itself(
    tierbench: Tierbench, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`compare-results latest` would say that nothing can be told."""
    name = stored(dated_campaign(0, 100.0), tmp_path).name
    assert tierbench("compare-results", name) == EXIT_USAGE
    said = " ".join(capsys.readouterr().err.split())
    assert f"{name} and latest are the same campaign" in said


def test_a_trend_can_fail_a_build(
    tierbench: Tierbench, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rates = [100.0, 101.0, 99.5, 100.2, 100.9, 99.1, 99.8, 100.4, 100.1, 99.7]
    for day, rate in enumerate(rates):
        stored(dated_campaign(day, rate), tmp_path)
    asked = (
        "history",
        "--trend",
        "-p",
        "ultra",
        "-w",
        "point-select",
        "--fail-if-worse",
    )
    assert tierbench(*asked) == EXIT_DONE
    stored(dated_campaign(10, 81.0), tmp_path)
    assert tierbench(*asked) == EXIT_INCONCLUSIVE  # one alone is no level
    stored(dated_campaign(11, 81.1), tmp_path)
    assert tierbench(*asked) == EXIT_WORSE
    assert tierbench(*asked[:-1]) == EXIT_DONE
    capsys.readouterr()
    assert tierbench(*asked, "--output=json") == EXIT_WORSE
    told = json.loads(capsys.readouterr().out)
    assert [level["campaigns"] for level in told["levels"]] == [10, 2]
    assert told["levels"][1]["word"] == "worse" and len(told["points"]) == 12


# ------------------------------------------------------------------ all that was found


CSV = ROOT / "tests/fixtures/histories/disk.csv"


def test_observations_and_predictions_are_listed_beside_campaigns(
    tierbench: Tierbench, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = stored(dated_campaign(0), tmp_path)
    campaign_writing.save_predictions(folder, [], CORE)
    assert tierbench("observe", "--file", str(CSV), *ON) == EXIT_DONE
    capsys.readouterr()
    assert tierbench("history", "--output=json") == EXIT_DONE
    told = json.loads(capsys.readouterr().out)
    assert [entry["kind"] for entry in told] == [
        "observation",
        "one profile",
        "prediction",
    ]
    observed = told[0]
    kept = json.loads((tmp_path / observed["folder"] / "observed.json").read_text())
    assert observed["question"] == "Which disks would have carried db-1 vda?"
    assert observed["answer"] == kept["answer"]["what"] != ""
    assert observed["fault"] == ""
    assert told[1]["question"] == "What does ultra do for point-select?"
    assert told[2]["folder"] == folder.name
    assert tierbench("history") == EXIT_DONE
    text = " ".join(capsys.readouterr().out.split())
    assert "is not a results folder" not in text
    assert "Which disks would have carried" in text


def test_an_observation_that_goes_on_says_so(
    tierbench: Tierbench, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    samples = tmp_path / "observed-0123abcd-20260101T000000Z/samples/1767225600-60"
    samples.mkdir(parents=True)
    (samples / "00001.parquet").write_text("")
    assert tierbench("history", "--output=json") == EXIT_DONE
    (told,) = json.loads(capsys.readouterr().out)
    assert told["kind"] == "observation"
    assert told["began_s"] == 1767225600.0
    assert "still being read" in told["answer"]


def test_the_answer_is_the_one_that_the_verdict_has(
    tierbench: Tierbench, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = stored(dated_campaign(0), tmp_path)
    assert tierbench("analyze", folder.name) == EXIT_DONE
    verdict = json.loads((folder / "verdict.json").read_text())
    capsys.readouterr()
    assert tierbench("history", "--output=json") == EXIT_DONE
    (told,) = json.loads(capsys.readouterr().out)
    assert told["answer"] == verdict["answer"]["brief"]["what"] != ""
