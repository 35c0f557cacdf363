"""What a shell completes, asked in the way in which the shell asks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from orchestrator.cli.main import program
from orchestrator.databases import DRY, NONE, databases
from orchestrator.keys import yaml_text
from orchestrator.model import STORE
from orchestrator.planning import named_files, project_files
from orchestrator.platforms import platforms
from orchestrator.report.exports import FORMATS
from orchestrator.system.stored_campaigns import save_baseline
from tests import ROOT
from tests.campaigns import build_campaign, later, stored


def completed(*words: str) -> list[str]:
    """`words`: as bash has split them; the last is being typed."""
    asked = {
        "COMP_WORDS": "\n".join(("tierbench", *words)),
        "COMP_CWORD": str(len(words)),
        "_TIERBENCH_COMPLETE": "complete_bash",
    }
    said = CliRunner().invoke(program, env=asked, prog_name="tierbench").output
    return [line for line in said.splitlines() if line]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["calib"], ["calibrate"]),
        (["compare", "--dr"], ["--drain", "--dry-run"]),
        (["compare", "--profiles", "ul"], ["ultra"]),
        (["compare", "--profiles", '"premium ul'], ["premium ultra"]),
        (["compare", "--profiles", '"premium premium'], ["premium premium-v2"]),
        (
            ["compare", "--workloads", '"insert tp'],
            ["insert tpcc", "insert tpcc-yugabyte"],
        ),
        (["compare", "--profiles", "premium,premium"], ["premium,premium-v2"]),
        (["run", "-p", "ultra", "-w", "tp"], ["tpcc", "tpcc-yugabyte"]),
        (["rehearse", "--workloads", "point"], ["point-select", "point-select-20"]),
        (["compare", "--profiles", "nothing-like-it"], []),
        (
            ["compare", "--db", ""],
            ["auto", "yugabytedb", "postgresql", "existing", "hdfs"],
        ),
        (["compare", "--platform", "k"], ["kubernetes"]),
        (["compare", "--scale", "study"], ["study", "study-20"]),
        (["compare", "--generator", ""], ["benchbase"]),
        (["compare", "--warmup", ""], ["fixed", "steady"]),
        (["list", "--color", "a"], ["auto", "always"]),
        (["resume", "latest", "--despite", "k"], ["kernel"]),
        (["export", "latest", "--format", ""], ["csv", "junit", "openmetrics"]),
        (["prices", "update", "--provider", "a"], ["azure", "aws"]),
        (["tiers", "list", "--provider", "g"], ["gcp"]),
        (["init", "mine", "--tier", "azure/ul"], ["azure/ultra"]),
        (["disk", "up", "azure/P15"], ["azure/P15"]),
        (["history", "--profile", "ul"], ["ultra"]),
        (["history", "-w", "tp"], ["tpcc", "tpcc-yugabyte"]),
        (["history", "--database", "p"], ["postgresql"]),
        (["admin", "schema", "p"], ["profile", "price-list"]),
    ],
)
def test_names_are_completed(words: list[str], found: list[str]) -> None:
    assert completed(*words) == found


def test_all_names_are_offered() -> None:
    assert completed("run", "--profile", "") == list(
        named_files.names(ROOT / "profiles")
    )


def test_words_that_are_completed_are_those_that_are_known() -> None:
    """They stand in a list of their own, because asking for them would import all parts."""
    assert set(completed("run", "--db", "")) == {"auto", *databases()} - {
        NONE,
        DRY,
        STORE,
    }
    assert set(completed("run", "--platform", "")) == set(platforms())
    assert set(completed("export", "latest", "--format", "")) == set(FORMATS)
    scales = {
        scale
        for file in (ROOT / "workloads").glob("*.yaml")
        for scale in scales_of(file)
    }
    assert set(completed("run", "--scale", "")) == scales


def scales_of(file: Path) -> set[str]:
    return set(yaml_text.parse(file.name, file.read_text())["scales"])


@pytest.mark.parametrize("words", [("init", "mine", "--tier", ""), ("disk", "up", "")])
def test_all_rows_of_the_catalog_are_offered(words: tuple[str, ...]) -> None:
    assert sorted(completed(*words)) == sorted(project_files.catalog(ROOT).names)


def test_campaigns_are_offered_by_every_name(tmp_path: Path) -> None:
    made = build_campaign(frames=False)
    names = [stored(later(made, day), tmp_path).name for day in (1, 2)]
    save_baseline(tmp_path, "january", names[0])
    results = ("--results", str(tmp_path))
    assert completed("report", *results, "") == ["latest", *reversed(names), "january"]
    assert completed("compare-results", *results, "jan") == ["january"]
    assert completed("admin", "baseline", "remove", *results, "") == ["january"]
    (tmp_path / "baselines.json").write_text("{")
    assert completed("report", *results, "") == ["latest", *reversed(names)]


def test_the_run_that_goes_on_is_offered(tmp_path: Path) -> None:
    made = build_campaign(frames=False)
    stored(made, tmp_path)
    newest = stored(later(made, 1), tmp_path)
    first, second, *_ = sorted(folder.name for folder in (newest / "runs").iterdir())
    (newest / "runs" / first / "record.json").unlink()
    results = ("--results", str(tmp_path))
    assert completed("tiers", "set", *results, "") == ["latest", first]
    (newest / "runs" / second / "record.json").unlink()
    assert completed("tiers", "set", *results, second[:2]) == [second]


def test_standing_disks_are_offered(tmp_path: Path) -> None:
    (tmp_path / "standing").mkdir()
    for name in ("mine", "yours"):
        (tmp_path / "standing" / f"{name}.img").touch()
    for command in ("down", "set"):
        asked = {
            "COMP_WORDS": f"tierbench\ndisk\n{command}\n",
            "COMP_CWORD": "3",
            "_TIERBENCH_COMPLETE": "complete_bash",
            "TIERBENCH_CACHE": str(tmp_path),
        }
        done = subprocess.run(
            [sys.executable, "-m", "orchestrator"],
            cwd=ROOT,
            env={**os.environ, **asked},
            check=False,
            timeout=60,
            capture_output=True,
            text=True,
        )
        assert done.stdout.split() == ["mine", "yours"]


@pytest.mark.parametrize(
    ("words", "code"), [("tierbench calib", 0), ("tierbench no-such-", 1)]
)
def test_a_shell_is_answered_by_the_exit_code_that_it_waits_for(
    words: str, code: int
) -> None:
    """fish asks so whether there is anything to complete."""
    asked = {
        "_TIERBENCH_COMPLETE": "complete_fish",
        "_TYPER_COMPLETE_FISH_ACTION": "is-args",
        "_TYPER_COMPLETE_ARGS": words,
    }
    command = [sys.executable, "-m", "orchestrator"]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **asked}, check=False, timeout=60
    )
    assert done.returncode == code
