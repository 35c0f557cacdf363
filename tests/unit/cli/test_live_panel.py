"""The panel of a campaign that goes on: from events to what a terminal shows."""

from __future__ import annotations

import io
import os
import pty
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.cli.common.console import LastingConsole
from orchestrator.cli.common.live_panel import panel, sparkline
from orchestrator.cli.common.progress import ConsoleProgress
from orchestrator.cli.measure import live_view
from orchestrator.model import Node, Plan, Sample
from orchestrator.run.progress import live_state
from orchestrator.run.progress.live_events import (
    CampaignBegins,
    NodesWatched,
    PhaseBegins,
    RunBegins,
    StandingFound,
    StepBegins,
    ThroughputSeen,
)
from orchestrator.run.progress.live_feed import LiveFeed
from orchestrator.run.progress.live_state import DiskAtCap, PanelState, RecentRates
from tests.campaigns import build_campaign
from tests.fakes import FakeClock, QuietProgress, fake_world


@pytest.fixture
def plan() -> Plan:
    made = build_campaign(
        profiles=["premium", "ultra"], workloads=["tpcc"], frames=False
    )
    return made.plan


def begin_run(feed: LiveFeed, plan: Plan, at: int) -> None:
    run = plan.runs[at]
    feed.hear(RunBegins(plan, run, plan.profile(run.profile), left_s=600.0))


def measured(feed: LiveFeed, per_s: Sequence[float]) -> None:
    for rate in per_s:
        feed.hear(ThroughputSeen(rate))


def begun(plan: Plan, folder: Path) -> LiveFeed:
    feed = LiveFeed(FakeClock())
    feed.hear(CampaignBegins(folder, plan))
    return feed


def seen(feed: LiveFeed) -> PanelState:
    state = feed.state()
    assert feed.fault is None
    assert state is not None
    return state


def drawn(state: PanelState, width: int = 100, silent_s: float = 0.0) -> str:
    """As it is seen `silent_s` after it was written."""
    file = io.StringIO()
    console = LastingConsole(file=file, force_terminal=False, width=width)
    console.print(panel(state, state.written_s + silent_s))
    return file.getvalue()


# ------------------------------------------------------------------ events → state


def test_before_a_campaign_has_a_folder_there_is_nothing_to_show() -> None:
    assert LiveFeed(FakeClock()).state() is None


def test_the_tier_before_is_the_one_that_ran_the_same_workload(
    plan: Plan, tmp_path: Path
) -> None:
    feed = begun(plan, tmp_path)
    begin_run(feed, plan, 0)
    measured(feed, [100.0, 120.0])
    assert seen(feed).before is None
    begin_run(feed, plan, 1)
    assert seen(feed).rates is None
    measured(feed, [900.0])
    state = seen(feed)
    first, second = plan.runs[0].profile, plan.runs[1].profile
    assert first != second
    assert state.before == RecentRates(first, (100.0, 120.0))
    assert state.rates == RecentRates(second, (900.0,))


def test_a_failed_run_that_is_made_again_is_no_further_repetition(
    plan: Plan, tmp_path: Path
) -> None:
    again = replace(plan.runs[0], number=len(plan.runs) + 1)
    grown = replace(plan, runs=(*plan.runs, again))
    feed = begun(grown, tmp_path)
    begin_run(feed, grown, len(plan.runs))
    run = seen(feed).run
    assert run is not None
    assert run.repetitions == plan.repeats.repetitions


def test_throughput_is_of_the_last_minute(plan: Plan, tmp_path: Path) -> None:
    feed = begun(plan, tmp_path)
    begin_run(feed, plan, 0)
    measured(feed, [float(second) for second in range(200)])
    rates = seen(feed).rates
    assert rates is not None
    assert rates.per_s == tuple(float(second) for second in range(140, 200))


def disk_samples(feed: LiveFeed, node: str, iops: float) -> None:
    """Twenty seconds of reads of 4 KiB."""
    for second in range(21):
        for metric, per_s in (
            ("disk_reads_total", iops),
            ("disk_writes_total", 0.0),
            ("disk_read_bytes_total", iops * 4096),
            ("disk_written_bytes_total", 0.0),
        ):
            feed.hear(Sample(1000.0 + second, node, metric, "", per_s * second))


def test_the_disk_is_that_of_the_node_that_was_at_a_cap_most(
    plan: Plan, tmp_path: Path
) -> None:
    feed = begun(plan, tmp_path)
    begin_run(feed, plan, 0)
    cap = plan.profile(plan.runs[0].profile).tier.limits.iops
    assert cap
    feed.hear(NodesWatched([Node("node-1", "database"), Node("node-2", "database")]))
    disk_samples(feed, "node-1", cap / 2)
    disk_samples(feed, "node-2", cap)
    disk = seen(feed).disk
    assert disk is not None
    assert (disk.node, disk.cap, disk.seconds_pct) == ("node-2", "iops", 100.0)


def test_the_disk_is_looked_at_every_five_seconds(plan: Plan, tmp_path: Path) -> None:
    clock = FakeClock()
    feed = LiveFeed(clock)
    feed.hear(CampaignBegins(tmp_path, plan))
    begin_run(feed, plan, 0)
    feed.hear(NodesWatched([Node("node-1", "database")]))
    disk_samples(feed, "node-1", 0.0)
    first = seen(feed).disk
    disk_samples(feed, "node-1", 1e6)
    clock.sleep(4.0)
    assert seen(feed).disk == first
    clock.sleep(1.0)
    assert seen(feed).disk != first


@pytest.mark.parametrize(
    ("before_s", "doing"), [(0.0, "measuring"), (1.0, "warming up")]
)
def test_it_measures_from_the_windows_begin_on(
    plan: Plan, tmp_path: Path, before_s: float, doing: str
) -> None:
    feed = begun(plan, tmp_path)
    begin_run(feed, plan, 0)
    feed.hear(PhaseBegins("warm-up"))
    feed.window_begins(FakeClock().now() + before_s)
    assert seen(feed).doing == doing


def test_a_new_phase_ends_the_step_of_the_one_before(
    plan: Plan, tmp_path: Path
) -> None:
    feed = begun(plan, tmp_path)
    begin_run(feed, plan, 0)
    feed.hear(PhaseBegins("warm-up"))
    feed.hear(StepBegins("measuring 30/30 s"))
    assert seen(feed).doing == "measuring 30/30 s"
    feed.hear(PhaseBegins("read"))
    assert seen(feed).doing == "reading what was measured"


def test_an_event_that_cannot_be_taken_in_is_a_fault_and_no_error() -> None:
    feed = LiveFeed(FakeClock())
    feed.hear(CampaignBegins(Path(), None))  # type: ignore[arg-type]
    feed.hear(RunBegins(None, None, None, 0.0))  # type: ignore[arg-type]
    assert isinstance(feed.fault, AttributeError)


# ------------------------------------------------------------------ state → screen


def whole(plan: Plan, folder: Path) -> PanelState:
    feed = begun(plan, folder)
    begin_run(feed, plan, 0)
    measured(feed, [100.0] * 60)
    begin_run(feed, plan, 1)
    measured(feed, [800.0] * 30)
    feed.hear(StepBegins("measuring 30/60 s: 800 transactions/s [x]"))
    feed.hear(StandingFound(["tpcc, by the runs so far: open"]))
    return replace(seen(feed), cost="1.20 USD")


def test_all_of_it_is_drawn(plan: Plan, tmp_path: Path) -> None:
    text = drawn(whole(plan, tmp_path))
    assert f"run 2 of {len(plan.runs)} · ultra × tpcc · repetition 1 of 3" in text
    assert "measuring 30/60 s: 800 transactions/s [x]" in text
    assert "about 10 min left" in text
    assert re.search(r"ultra +█{30}  800 ", text)
    assert re.search(r"premium  ▂{30}  100  \(before, mean\)", text)
    assert "about 1.20 USD so far" in text
    assert "tpcc, by the runs so far: open" in text


@pytest.mark.parametrize(
    ("silent_s", "heard", "left"),
    [
        (5.0, [], "about 9.92 min left"),
        (6.0, ["last heard 6 s ago"], "about 9.90 min left"),
        (599.0, ["last heard 9.98 min ago"], "about 1 s left"),
        (600.0, ["last heard 10 min ago"], "later than expected"),
    ],
)
def test_who_is_silent_for_more_than_five_seconds_is_late(
    plan: Plan, tmp_path: Path, silent_s: float, heard: list[str], left: str
) -> None:
    text = drawn(whole(plan, tmp_path), width=200, silent_s=silent_s)
    assert left in text
    assert re.findall(r"last heard [^·│]+ ago", text) == heard


@pytest.mark.parametrize("silent_s", [0.0, -30.0])
def test_a_state_of_just_now_or_of_a_clock_that_was_set_back_adds_no_time(
    plan: Plan, tmp_path: Path, silent_s: float
) -> None:
    state = replace(whole(plan, tmp_path), elapsed_s=42.0)
    assert " 42 s so far" in drawn(state, width=200, silent_s=silent_s)


@pytest.mark.parametrize(
    ("seconds_pct", "text"),
    [
        (0.0, "not at a cap in the last minute"),
        (0.5, "not at a cap in the last minute"),
        (0.6, "at its bandwidth cap in 1 % of the last minute (node-2)"),
    ],
)
def test_no_disk_is_at_its_cap_in_0_percent_of_the_minute(
    plan: Plan, tmp_path: Path, seconds_pct: float, text: str
) -> None:
    disk = DiskAtCap("node-2", "bandwidth", seconds_pct)
    assert text in drawn(replace(whole(plan, tmp_path), disk=disk))


@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_line_is_longer_than_the_terminal_is_wide(
    plan: Plan, tmp_path: Path, width: int
) -> None:
    lines = drawn(whole(plan, tmp_path), width).splitlines()
    assert {len(line) for line in lines} == {width}
    assert len(lines) == len(drawn(whole(plan, tmp_path)).splitlines())


def test_a_sparkline_begins_at_nothing() -> None:
    assert sparkline([0.0, 50.0, 100.0], 100.0) == "▁▅█"
    assert sparkline([0.0], 0.0) == "▁"
    assert len(sparkline([1.0] * 60, 1.0)) == 30


# ------------------------------------------------------------------ its file


def test_another_terminal_reads_the_same_state_while_it_is_fresh(
    plan: Plan, tmp_path: Path
) -> None:
    state = whole(plan, tmp_path)
    live_state.keep(tmp_path, state)
    assert live_state.kept(tmp_path, state.written_s + 1) == state
    assert live_state.kept(tmp_path, state.written_s + 60) is None
    (tmp_path / live_state.FILE).write_text('{"campaign":')
    assert live_state.kept(tmp_path, state.written_s) is None
    live_state.forget(tmp_path)
    assert [*tmp_path.iterdir()] == []


# ------------------------------------------------------------------ while it goes on


@contextmanager
def on_a_terminal() -> Iterator[tuple[int, LastingConsole]]:
    """The end of a terminal that shows, and a console on it."""
    shown, terminal = pty.openpty()
    try:
        with os.fdopen(terminal, "w", encoding="utf-8") as file:
            yield shown, LastingConsole(file=file, force_terminal=True)
    finally:
        os.close(shown)


def output(shown: int) -> str:
    os.set_blocking(shown, False)
    text = b""
    while True:
        try:
            text += os.read(shown, 65536)
        except BlockingIOError:
            return text.decode()


def test_a_terminal_is_as_it_was_when_the_campaign_is_interrupted(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    with on_a_terminal() as (shown, console):
        progress = ConsoleProgress(console, FakeClock())
        with (
            pytest.raises(KeyboardInterrupt),
            live_view.watched(
                progress, replace(fake_world(), progress=progress), every_s=0.01
            ) as (world, hear),
        ):
            hear(CampaignBegins(tmp_path, plan))
            run = plan.runs[0]
            hear(RunBegins(plan, run, plan.profile(run.profile), 600.0))
            world.progress.step("warm-up 1/5 s")
            deadline_s = time.monotonic() + 20
            while not (tmp_path / live_state.FILE).is_file():
                assert time.monotonic() < deadline_s
                time.sleep(0.01)
            world.progress.note("a line that stays")
            raise KeyboardInterrupt
        text = output(shown)
        assert "warm-up 1/5 s" in text
        assert "a line that stays" in text
    hides, shows = "\x1b[?25l", "\x1b[?25h"
    assert text.count(hides) >= 1
    assert text.rindex(shows) > text.rindex(hides)
    assert [*tmp_path.iterdir()] == []


class Breaking(QuietProgress):
    def show(self, state: object) -> None:
        if state is not None:
            raise RuntimeError("no such glyph")


def test_a_panel_that_breaks_is_said_once_and_breaks_nothing_else(
    plan: Plan, tmp_path: Path
) -> None:
    progress = Breaking()
    with live_view.watched(progress, fake_world(), every_s=0.01) as (world, hear):
        hear(CampaignBegins(tmp_path, plan))
        deadline_s = time.monotonic() + 20
        while not progress.said:
            assert time.monotonic() < deadline_s
            time.sleep(0.01)
        world.throughput_seen(1.0)
    assert progress.said == [
        "the live panel is not shown any more, and the campaign goes on: "
        "RuntimeError: no such glyph"
    ]


def test_off_a_terminal_no_panel_is_drawn(plan: Plan, tmp_path: Path) -> None:
    file = io.StringIO()
    progress = ConsoleProgress(
        LastingConsole(file=file, force_terminal=False), FakeClock()
    )
    progress.show(whole(plan, tmp_path))
    progress.show(None)
    assert file.getvalue() == ""
