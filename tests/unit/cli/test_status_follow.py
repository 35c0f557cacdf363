"""`tierbench status --follow`: a terminal shows how a campaign stands until it has ended."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.cli.common.console import LastingConsole
from orchestrator.cli.main import exit_code
from orchestrator.cli.measure.campaign_app import CampaignApp
from orchestrator.errors import EXIT_DONE, EXIT_USAGE
from orchestrator.run.progress import live_state, status
from orchestrator.run.progress.live_state import LiveRun, PanelState, RecentRates
from tests.campaigns import build_campaign, stored as store_campaign
from tests.fakes import FakeClock


class EndingClock(FakeClock):
    """While somebody waits, the campaign's report is written: it has ended."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self.slept = 0

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        self.slept += 1
        if self.slept == 2:
            (self._folder / "report.md").write_text("# found\n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = build_campaign(
        profiles=["premium", "ultra"], workloads=["insert"], frames=False
    )
    return store_campaign(made, tmp_path)


def test_it_is_shown_until_it_has_ended(folder: Path) -> None:
    screen = io.StringIO()
    out = LastingConsole(file=screen, force_terminal=True, width=200)
    clock = EndingClock(folder)
    app = replace(CampaignApp(), out=out, clock=clock)
    assert exit_code(["status", str(folder), "--follow"], app) == EXIT_DONE
    assert clock.slept == 2
    assert status.ENDED in screen.getvalue()
    assert screen.getvalue().count("6 of 6 runs") >= 3


def test_off_a_terminal_it_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(["status", str(folder), "--follow"], CampaignApp()) == EXIT_USAGE
    assert "--follow needs a terminal" in capsys.readouterr().err


class QuietAfterwards(EndingClock):
    """The campaign takes the record of the moment away before it has ended."""

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        if self.slept == 2:
            live_state.forget(self._folder)


def test_while_it_goes_on_its_panel_is_shown(folder: Path) -> None:
    run = LiveRun(4, 6, "ultra", "insert", 2, 3)
    rates = RecentRates("ultra", (900.0, 950.0))
    clock = QuietAfterwards(folder)
    state = PanelState(folder.name, clock.now(), 60.0, run=run, rates=rates)
    live_state.keep(folder, state)
    screen = io.StringIO()
    out = LastingConsole(file=screen, force_terminal=True, width=100)
    app = replace(CampaignApp(), out=out, clock=clock)
    assert exit_code(["status", str(folder), "--follow"], app) == EXIT_DONE
    shown = screen.getvalue()
    assert shown.count("run 4 of 6 · ultra × insert · repetition 2 of 3") == 2
    assert "  950 " in shown
    assert shown.index("  950 ") < shown.index(status.ENDED)
