"""`tierbench export`, and `report -o md`: which campaign, which form, where to."""

from __future__ import annotations

import errno
import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest

from orchestrator.cli.main import exit_code
from orchestrator.cli.measure.campaign_app import CampaignApp
from orchestrator.errors import EXIT_DONE, EXIT_UNAVAILABLE, EXIT_USAGE, NotWrittenError
from orchestrator.report.exports import FORMATS
from orchestrator.system import campaign_writing, files
from tests import ROOT
from tests.campaigns import build_campaign


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of results with one campaign of two tiers."""
    folder = tmp_path_factory.mktemp("results")
    made = build_campaign(
        profiles=["premium", "ultra"], workloads=["tpcc"], repetitions=3, frames=False
    )
    campaign = campaign_writing.create(
        folder, made.plan, made.fingerprint, 1_750_000_000.0
    )
    for run in made.runs:
        files.write_json(
            campaign_writing.run_folder(campaign, run.record.run) / "record.json",
            asdict(run.record),
        )
    return folder


def export(*words: str | Path) -> int:
    return exit_code(["export", *map(str, words)], CampaignApp())


def test_the_newest_campaign_goes_to_standard_output_and_its_folder_stays_as_it_is(
    results: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = sorted(results.rglob("*"))
    assert export("latest", "--format", "csv", "--results", results) == EXIT_DONE
    out, err = capfd.readouterr()
    lines = out.splitlines()
    assert lines[0].startswith("run,profile,") and err == ""
    assert len({line.split(",")[0] for line in lines[1:]}) == 6
    assert sorted(results.rglob("*")) == before


def test_a_named_folder_goes_to_a_file_judged_by_an_slo(
    results: Path, tmp_path: Path
) -> None:
    (folder,) = (file.parent for file in results.glob("2*/plan.json"))
    file = tmp_path / "out.xml"
    options = ("--format", "junit", "--file", file)
    assert export(folder, *options, "--slo", "new_order average < 1 min") == EXIT_DONE
    assert "<testsuites" in file.read_text() and "premium" in file.read_text()
    assert "new_order average &lt; 60 s" in file.read_text()


def test_a_link_that_was_named_stays_and_its_file_is_written(
    results: Path, tmp_path: Path
) -> None:
    file = tmp_path / "out.csv"
    file.write_text("of before")
    link = tmp_path / "link.csv"
    link.symlink_to("out.csv")
    assert export(results / "latest", "--format", "csv", "--file", link) == EXIT_DONE
    assert link.is_symlink() and file.read_text().startswith("run,profile,")


def refusing(number: int) -> Callable[[Path, str], None]:
    """What fails to replace a file as rename(2) and open(2) do."""

    def refuse(file: Path, _: str) -> None:
        with files.writing(file):
            raise OSError(number, os.strerror(number))

    return refuse


@pytest.mark.parametrize("number", [errno.EACCES, errno.EBUSY, errno.EROFS])
def test_a_file_that_cannot_be_replaced_is_written_in_its_place(
    number: int, tmp_path: Path
) -> None:
    """In a folder of somebody else's, or mounted alone into a container."""
    file = tmp_path / "out.csv"
    file.write_text("of before")
    inode = file.stat().st_ino
    files.write_named(file, "new", refusing(number))
    assert file.read_text() == "new" and file.stat().st_ino == inode


def test_a_file_that_was_there_stays_if_the_disk_is_full(tmp_path: Path) -> None:
    file = tmp_path / "out.csv"
    file.write_text("of before")
    with pytest.raises(NotWrittenError):
        files.write_named(file, "new", refusing(errno.ENOSPC))
    assert file.read_text() == "of before"


def test_what_goes_into_a_ticket_is_printed_with_the_checksum_of_the_folder(
    results: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = sorted(results.rglob("*"))
    words = ["report", "-o", "md", "--results", str(results)]
    assert exit_code(words, CampaignApp()) == EXIT_DONE
    begin = "## For the ticket: Buy ultra"
    text, err = capfd.readouterr()
    assert text.startswith(begin) and err == ""
    (command,) = [
        line for line in text.splitlines() if line.startswith("cat plan.json")
    ]
    told = subprocess.run(
        command,
        shell=True,
        cwd=results / "latest",
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"\n{told.stdout.split()[0]}\n" in text
    assert sorted(results.rglob("*")) == before


def test_a_summary_is_the_question_and_the_brief(
    results: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ["report", "-o", "summary", "--results", str(results)]
    assert exit_code(words, CampaignApp()) == EXIT_DONE
    question, what, *lines = capfd.readouterr().out.splitlines()
    assert question.endswith("?")
    assert what.startswith("Buy ultra (")
    begins = [line.partition(":")[0] for line in lines]
    assert begins == ["Why", "How sure", "Not tested", "Next"]


def test_the_page_is_printed_and_nothing_else(
    results: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = sorted(results.rglob("*"))
    words = ["report", "-o", "html", "--results", str(results)]
    assert exit_code(words, CampaignApp()) == EXIT_DONE
    page = capfd.readouterr().out
    assert page.startswith("<!doctype html>") and page.rstrip().endswith("</html>")
    assert "Buy ultra <small>(Ultra Disk, " in page
    assert sorted(results.rglob("*")) == before


def test_what_cannot_be_exported_is_refused(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert export("latest", "--format", "xlsx", "--results", results) == EXIT_USAGE
    assert "'csv', 'junit', 'openmetrics'" in capsys.readouterr().err
    assert export("latest", "--format", "csv", "--results", tmp_path) == EXIT_USAGE
    assert export(tmp_path, "--format", "csv") == EXIT_USAGE
    out = tmp_path / "no" / "such" / "folder"
    options = ("--results", results, "--file", out)
    assert export("latest", "--format", "csv", *options) == EXIT_UNAVAILABLE


def test_every_format_is_documented_and_no_other() -> None:
    section = (
        (ROOT / "docs" / "OPTIONS.md").read_text().split("## Formats of export")[1]
    )
    rows = re.findall(r"^\| `(\w+)` \|", section.split("\n## ")[0], re.MULTILINE)
    assert sorted(rows) == sorted(FORMATS)
