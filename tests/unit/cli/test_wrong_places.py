"""What is no campaign, file, folder, command or platform: the exit code, and what to do next."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.cli.measure.campaign_app import CampaignApp
from orchestrator.errors import EXIT_UNAVAILABLE, EXIT_USAGE
from tests import ROOT
from tests.apps import tierbench

STUDY = ROOT / "results" / "reference-azure-yugabytedb"
PUBLISHED = STUDY / "published"


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COLUMNS", "500")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("words", "what", "advice"),
    [
        (("drain",), "No such command 'drain'", "an extension that is not installed"),
        (("admin", "charts"), "No such command 'charts'", "an extension that is"),
        (
            ("run", "ultra", "insert", "--platform", "nomad"),
            "no platform 'nomad'",
            "give docker or",
        ),
        (("report", f"{PUBLISHED}/report.html"), "has no run report.html", "shows the"),
        (("report", f"{PUBLISHED}/01-none"), "has no run 01-none", "its runs are 01-"),
        (("report", "baseline:before"), "is no baseline 'before'", "baseline list"),
        (
            ("compare-results", str(STUDY)),
            "holds campaigns",
            f"name one, as {PUBLISHED}",
        ),
        (("verify", str(PUBLISHED)), "that others published", "where they are from"),
        (
            ("observe", "--file", "none.csv", "--size", "1TiB"),
            "none.csv cannot be read: No such file",
            "name a file that is there",
        ),
    ],
)
def test_what_is_wrong_and_what_to_do_next(
    words: tuple[str, ...],
    what: str,
    advice: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    own_results = ("--results", str(tmp_path / "results"))
    assert tierbench(CampaignApp(), *words, *own_results) == EXIT_USAGE
    error = " ".join(capsys.readouterr().err.split())
    assert what in error
    assert advice in error


def test_a_file_in_a_folder_that_there_is_not_is_no_full_disk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "none" / "runs.csv"
    words = ("export", str(PUBLISHED), "--format", "csv", "--file", str(file))
    assert tierbench(CampaignApp(), *words) == EXIT_UNAVAILABLE
    error = " ".join(capsys.readouterr().err.split())
    assert "make its folder first, or name another place" in error
    assert "make room" not in error


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("mine", "did you mean the file mine.yaml here?"),
        ("notes.txt", "notes.txt is no profile: the file of one ends in .yaml"),
    ],
)
def test_a_file_that_lies_here_is_seen(
    name: str, what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.yaml").write_text("title: Mine\n")
    (tmp_path / "notes.txt").write_text("nothing")
    words = ("compare", "--profiles", name, "--workloads", "insert", "--dry-run")
    assert tierbench(CampaignApp(), *words) == EXIT_USAGE
    assert what in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    "words",
    [
        ("compare", "--workloads", "tpcc", "--cache-max", "50", "--dry-run"),
        ("disk", "up", "azure/P30", "--at", "/mnt/none", "--size", "50"),
    ],
)
def test_a_size_without_a_unit_is_not_taken_for_bytes(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """50 bytes of kept data are none: all that was loaded would be removed."""
    assert tierbench(CampaignApp(), *words) == EXIT_USAGE
    assert "give the size with its unit, such as 250GiB" in capsys.readouterr().err
