"""Where nothing can be written the answer is shown, and a sentence says what was not kept."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator import cli
from orchestrator.cli import main
from orchestrator.cli.measure.campaign_app import CampaignApp
from orchestrator.errors import (
    EXIT_DIFFERS,
    EXIT_DONE,
    EXIT_UNAVAILABLE,
    EXIT_USAGE,
    NotWrittenError,
)
from orchestrator.report import PAGE
from orchestrator.system import machine_caches
from orchestrator.system.machine_caches import MachineIdentity
from tests import ROOT
from tests.apps import an_app, tierbench
from tests.campaigns import build_campaign, stored
from tests.file_systems import no_file_grows
from tests.forking import Forking

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def app(tmp_path: Path) -> CampaignApp:
    return an_app(tmp_path / "cache")


@pytest.fixture(name="campaign", scope="module")
def stored_campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tests change copies of it alone."""
    made = build_campaign(workloads=["insert"], frames=False)
    return stored(made, tmp_path_factory.mktemp("campaign"))


@pytest.fixture
def folder(campaign: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(campaign, tmp_path / campaign.name))


def _content(folder: Path) -> dict[str, str]:
    """Path → what a file has, and when it and its folder were changed."""
    found = {}
    for path in sorted(folder.rglob("*")):
        digest = ""
        if path.is_file():
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
        changed = path.lstat().st_mtime_ns
        found[str(path)] = f"{changed} {digest}"
    return found


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("report FOLDER", EXIT_DONE),
        ("report FOLDER -o summary", EXIT_DONE),
        ("report FOLDER --output=json", EXIT_DONE),
        ("status FOLDER", EXIT_DONE),
        # Its runs have no raw files.
        ("verify FOLDER", EXIT_DIFFERS),
        ("history --results RESULTS", EXIT_DONE),
        ("export FOLDER --format csv", EXIT_DONE),
    ],
)
def test_a_command_that_only_looks_writes_nothing(
    command: str, code: int, folder: Path, app: CampaignApp
) -> None:
    before = _content(folder.parent)
    words = command.replace("FOLDER", str(folder))
    words = words.replace("RESULTS", str(folder.parent))
    assert tierbench(app, *words.split()) == code
    assert _content(folder.parent) == before


def test_report_says_where_the_page_is_or_how_it_is_written(
    folder: Path, app: CampaignApp, capsys: Capture
) -> None:
    assert tierbench(app, "report", str(folder)) == EXIT_DONE
    shown = capsys.readouterr().out
    assert f"report: none was written; `tierbench analyze {folder}` writes it" in shown
    assert tierbench(app, "analyze", str(folder)) == EXIT_DONE
    capsys.readouterr()
    assert tierbench(app, "report", str(folder)) == EXIT_DONE
    assert capsys.readouterr().out.splitlines()[-1] == f"report: {folder / PAGE}"
    (folder / "verdict.json").write_text("{}")
    assert tierbench(app, "report", str(folder)) == EXIT_DONE
    assert "does not have this answer" in capsys.readouterr().out


def test_the_command_that_writes_the_page_has_its_folder_as_a_shell_takes_it(
    folder: Path, app: CampaignApp, capsys: Capture
) -> None:
    folder = folder.rename(folder.with_name("our tiers"))
    assert tierbench(app, "report", str(folder)) == EXIT_DONE
    assert f"`tierbench analyze '{folder}'` writes it" in capsys.readouterr().out


def test_an_earlier_version_s_page_is_not_said_to_have_another_answer(
    folder: Path, app: CampaignApp, capsys: Capture
) -> None:
    """Format 2 had neither of these keys (tests/fixtures/results-format-2)."""
    assert tierbench(app, "analyze", str(folder)) == EXIT_DONE
    file = folder / "verdict.json"
    verdict = json.loads(file.read_text())
    verdict["schema_version"] = 2
    del verdict["content_sha256"], verdict["answer"]
    for decision in verdict["decisions"]:
        del decision["settled_by"], decision["moot"], decision["missed"]
        del decision["decided_by"], decision["repetitions_settle"]
    file.write_text(json.dumps(verdict))
    capsys.readouterr()
    assert tierbench(app, "report", str(folder)) == EXIT_DONE
    shown = capsys.readouterr().out
    assert f"{PAGE} was written by an earlier version of tierbench; `tier" in shown
    verdict["decisions"][0]["tier"] = "another"
    file.write_text(json.dumps(verdict))
    assert tierbench(app, "report", str(folder)) == EXIT_DONE
    assert "does not have this answer" in capsys.readouterr().out


def test_an_answer_that_cannot_be_kept_is_shown_all_the_same(
    folder: Path, app: CampaignApp, capsys: Capture
) -> None:
    assert tierbench(app, "report", str(folder)) == EXIT_DONE
    answer = capsys.readouterr().out.partition("report: ")[0]
    with no_file_grows():
        assert tierbench(app, "analyze", str(folder)) == EXIT_UNAVAILABLE
    said = capsys.readouterr()
    assert said.out == answer
    assert said.err.splitlines() == [
        "tierbench: the report of this answer is not kept: "
        f"{folder}/verdict.json cannot be written: File too large",
        "  → make room, or name a place that you may write",
    ]
    assert not (folder / "verdict.json").exists()


def test_a_page_that_cannot_be_written_keeps_the_verdict(
    folder: Path, app: CampaignApp, capsys: Capture
) -> None:
    (folder / PAGE).mkdir()
    assert tierbench(app, "analyze", str(folder)) == EXIT_UNAVAILABLE
    assert (
        f"{folder / PAGE} cannot be written: Is a directory" in capsys.readouterr().err
    )
    assert (folder / "verdict.json").is_file()


def test_a_folder_of_charts_that_is_a_link_is_not_written_into(
    folder: Path, app: CampaignApp, tmp_path: Path, capsys: Capture
) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    (folder / "charts").symlink_to(victim)
    assert tierbench(app, "analyze", str(folder)) == EXIT_UNAVAILABLE
    assert list(victim.iterdir()) == []
    assert "charts is a link, and nothing is written through a link" in (
        capsys.readouterr().err
    )


def test_a_rehearsal_names_the_results_that_cannot_be_written(
    app: CampaignApp, capsys: Capture
) -> None:
    words = ["rehearse", "--workloads", "insert", "--results", "/proc/nowhere"]
    assert tierbench(app, *words) == EXIT_UNAVAILABLE
    assert "/proc/nowhere cannot be made: No such file or directory" in (
        capsys.readouterr().err
    )


# ------------------------------------------------------------------ output


FULL = Path("/dev/full")  # takes nothing, as a full disk
# Two runs of each of two tiers: the least that leaves intervals.
REHEARSED = "rehearse --profiles premium,ultra --workloads insert --repeats 2"


@pytest.mark.parametrize(
    "command",
    ["report FOLDER", "export FOLDER --format csv", "--version", "report --help"],
)
def test_output_that_cannot_be_written_ends_with_a_sentence(
    command: str, folder: Path, all_imported: Forking
) -> None:
    words = command.replace("FOLDER", str(folder)).split()
    with FULL.open("w") as full:
        ended = all_imported.run(words, stdout=full.fileno())
    assert ended.returncode == EXIT_UNAVAILABLE
    assert ended.stderr.splitlines()[-2:] == [
        "tierbench: the output cannot be written: No space left on device",
        "  → send it to where there is room",
    ]
    assert "Traceback" not in ended.stderr


def test_what_went_wrong_before_the_output_was_lost_is_the_exit_code(
    folder: Path, all_imported: Forking
) -> None:
    (folder / "verdict.json").write_text("{}")
    with FULL.open("w") as full:
        ended = all_imported.run(["verify", str(folder)], stdout=full.fileno())
    assert "the output cannot be written" in ended.stderr
    assert ended.returncode == EXIT_DIFFERS


@pytest.mark.program
def test_output_that_is_closed_ends_with_a_sentence(folder: Path) -> None:
    command = f"{sys.executable} -m orchestrator export {folder} --format csv >&-"
    ended = subprocess.run(
        ["sh", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ended.returncode == EXIT_UNAVAILABLE
    assert "the output cannot be written: it is closed" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.program
def test_a_campaign_whose_output_is_lost_keeps_its_report(
    tmp_path: Path, all_imported: Forking
) -> None:
    words = f"{REHEARSED} --results {tmp_path}".split()
    with FULL.open("w") as full:
        ended = all_imported.run(words, stdout=full.fileno())
    assert ended.returncode == EXIT_UNAVAILABLE
    assert (tmp_path / "latest" / PAGE).is_file()


def test_messages_that_cannot_be_written_change_no_exit_code(
    tmp_path: Path, all_imported: Forking
) -> None:
    with FULL.open("w") as full:
        ended = all_imported.run(
            ["report", str(tmp_path / "none")], stderr=full.fileno()
        )
    assert ended.returncode == EXIT_USAGE


def test_an_export_goes_into_a_pipe_and_replaces_no_device(
    folder: Path, app: CampaignApp, tmp_path: Path, capsys: Capture
) -> None:
    link = tmp_path / "out"
    link.symlink_to(FULL)
    words = ["export", str(folder), "--format", "csv", "--file", str(link)]
    assert tierbench(app, *words) == EXIT_UNAVAILABLE
    assert (
        f"{link} cannot be written: No space left on device" in capsys.readouterr().err
    )
    assert link.is_symlink() and FULL.is_char_device()


# ------------------------------------------------------------------ places


def test_without_a_home_the_cache_is_in_the_folder_of_the_command() -> None:
    """As in a container whose user has no entry."""

    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    assert cli.cache_folder({}, False, no_home) == cli.OWN / ".cache" / "tierbench"


def test_a_cache_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    """As in a home that may only be read."""
    (tmp_path / "home").write_text("")
    cache = tmp_path / "home" / ".cache"
    with pytest.raises(NotWrittenError, match=r"\.cache cannot be made"):
        machine_caches.sign(cache, MachineIdentity("here", ""))


def test_a_program_without_a_place_for_what_was_shipped_says_so(
    capsys: Capture,
) -> None:
    def no_place() -> CampaignApp:
        raise NotWrittenError("/home/me cannot be made: Read-only", "Read-only")

    assert main.started(no_place) == EXIT_UNAVAILABLE
    assert "/home/me cannot be made: Read-only" in capsys.readouterr().err


# ------------------------------------------------------------------ locales


@pytest.mark.parametrize("command", ["--help", "report FOLDER"])
def test_a_locale_of_ascii_changes_no_letter(
    command: str, folder: Path, all_imported: Forking, all_imported_in_ascii: Forking
) -> None:
    words = command.replace("FOLDER", str(folder)).split()
    usual = all_imported.run(words)
    ascii_alone = all_imported_in_ascii.run(words)
    assert "Traceback" not in ascii_alone.stderr
    assert (ascii_alone.returncode, ascii_alone.stdout) == (
        usual.returncode,
        usual.stdout,
    )


@pytest.mark.program
def test_a_campaign_in_a_locale_of_ascii_leaves_utf_8(
    tmp_path: Path, all_imported_in_ascii: Forking
) -> None:
    command = f"{REHEARSED} --results {tmp_path}"
    ended = all_imported_in_ascii.run(command.split())
    assert ended.returncode == EXIT_DONE, ended.stderr
    assert "±" in (tmp_path / "latest" / PAGE).read_text(encoding="utf-8")


def test_a_profile_whose_name_is_no_utf_8_is_refused(
    tmp_path: Path, all_imported: Forking
) -> None:
    """As on a disk that has names in Latin-1."""
    name = os.fsencode(tmp_path) + b"/gr\xf6sse.yaml"
    shutil.copy(os.fsencode(ROOT / "profiles" / "premium.yaml"), name)
    words = f"rehearse --workloads insert --results {tmp_path} --profiles".split()
    ended = all_imported.run([*words, os.fsdecode(name)])
    assert ended.returncode == EXIT_USAGE, ended.stderr
    assert "Traceback" not in ended.stderr
    assert "the name of this profile file is not UTF-8 text in one line" in ended.stderr


def test_a_profile_whose_name_the_locale_cannot_spell_is_refused(
    tmp_path: Path, all_imported_in_ascii: Forking
) -> None:
    file = tmp_path / "größe.yaml"
    shutil.copy(ROOT / "profiles" / "premium.yaml", file)
    command = f"rehearse --workloads insert --results {tmp_path} --profiles {file}"
    ended = all_imported_in_ascii.run(command.split())
    assert ended.returncode == EXIT_USAGE
    assert "no letters for the name of this profile file: set LC_ALL=C.UTF-8" in (
        ended.stderr
    )


def test_a_folder_that_was_removed_is_said_to_be(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    command = f"rmdir {gone}; exec {sys.executable} -m orchestrator history"
    ended = subprocess.run(
        ["sh", "-c", command],
        cwd=gone,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == EXIT_UNAVAILABLE
    assert ended.stderr.splitlines() == [
        "tierbench: the current folder no longer exists",
        "  → change to another folder",
    ]
