"""`--on-end` runs a command when a campaign has ended, and `status` tells how one stands."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli.main import exit_code
from orchestrator.cli.measure import on_end
from orchestrator.errors import EXIT_DONE, EXIT_USAGE
from orchestrator.powers import Completed
from orchestrator.system.shell import SystemShell
from tests.apps import an_app, with_parts
from tests.campaigns import build_campaign, stored
from tests.fake_parts import fake_parts
from tests.fakes import FakeClock, FakePlatform, Log, QuietProgress

RUN = [
    "run",
    "-p",
    "premium",
    "-w",
    "point-select",
    "--db",
    "postgresql",
    "--scale",
    "smoke",
]


def ended_campaign(
    tmp_path: Path, command: str, *words: str
) -> tuple[int, QuietProgress]:
    log = Log()
    platform: Any = FakePlatform(log)
    app = an_app(tmp_path, platform, clock=FakeClock(), shell=SystemShell())
    results = ["--results", str(tmp_path / "results")]
    code = exit_code(
        [*RUN, *results, "--on-end", command, *words], with_parts(app, fake_parts(log))
    )
    progress = app.progress
    assert isinstance(progress, QuietProgress)
    return code, progress


def test_a_command_runs_at_the_end_with_the_folder_and_the_exit_code(
    tmp_path: Path,
) -> None:
    told = tmp_path / "told"
    code, _ = ended_campaign(
        tmp_path, f'echo "$TIERBENCH_EXIT_CODE $TIERBENCH_FOLDER" > {told}'
    )
    folder = (tmp_path / "results/latest").resolve()
    assert told.read_text() == f"{code} {folder}\n"
    assert (folder / "report.md").is_file(), "the report is written by then"


def test_an_interrupt_of_the_command_at_the_end_is_named(tmp_path: Path) -> None:
    class Interrupted:
        """A shell in which Ctrl-C is pressed while the command runs."""

        def run(self, *_: object, **__: object) -> Completed:
            raise KeyboardInterrupt

    app = an_app(tmp_path, FakePlatform(Log()), shell=Interrupted())
    on_end.ending_with(app, "sleep 9", lambda: None)(EXIT_DONE)
    progress = app.progress
    assert isinstance(progress, QuietProgress)
    assert progress.said[-1] == "--on-end: interrupted"


def test_a_command_that_fails_is_said_and_changes_no_exit_code(tmp_path: Path) -> None:
    without, _ = ended_campaign(tmp_path, "true")
    code, progress = ended_campaign(tmp_path, "echo no mail here >&2; exit 3")
    assert code == without
    assert "no mail here" in progress.said
    assert any(
        "`echo no mail here >&2; exit 3` ended with 3" in line for line in progress.said
    )


@pytest.mark.parametrize("words", [["--dry-run"], ["--set", "nothing"]])
def test_no_command_runs_where_no_campaign_began(
    tmp_path: Path, words: list[str]
) -> None:
    told = tmp_path / "told"
    code, _ = ended_campaign(tmp_path, f"touch {told}", *words)
    assert code in (EXIT_DONE, EXIT_USAGE) and not told.exists()


def test_status_reads_the_folder_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = build_campaign(
        profiles=["premium", "ultra"], workloads=["insert"], repetitions=2
    )
    folder = stored(made, tmp_path)
    app = an_app(tmp_path, None, clock=FakeClock())
    assert exit_code(["status", str(folder)], app) == EXIT_DONE, sys.exc_info()
    told = capsys.readouterr().out
    assert (
        "4 of 4 runs" in told
        and "run 4 of 4, " in told
        and f"4 of 4 finished runs not judged yet: `tierbench analyze {folder}`" in told
    )
