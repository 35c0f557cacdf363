"""What a shell completes, asked in the way in which the shell asks."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from orchestrator.cli.main import program
from orchestrator.planning import project_files
from tests import ROOT


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
        (["compare", "--workloads", '"insert tp'], ["insert tpcc"]),
        (["run", "-p", "ultra", "-w", "tp"], ["tpcc"]),
        (["rehearse", "--workloads", "point"], ["point-select", "point-select-20"]),
        (["compare", "--profiles", "nothing-like-it"], []),
    ],
)
def test_names_are_completed(words: list[str], found: list[str]) -> None:
    assert completed(*words) == found


def test_all_names_are_offered() -> None:
    assert completed("run", "--profile", "") == list(project_files.names(ROOT / "profiles"))
