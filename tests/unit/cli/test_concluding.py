"""The report of a campaign that goes on: made anew after runs, and seldom where runs are short."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from orchestrator.cli.measure import concluding
from orchestrator.powers import Moment, World
from orchestrator.run import experiment
from orchestrator.run.progress.live_events import Onlookers
from orchestrator.system.shell import SystemShell
from tests.apps import an_app
from tests.campaigns import build_campaign, stored
from tests.fake_parts import fake_parts
from tests.fakes import Log, QuietProgress, fake_world
from tests.plans import a_plan


@dataclass
class Told:
    """A clock that goes on by `step_s` whenever it is asked."""

    step_s: float
    now_s: float = 0.0

    def monotonic(self) -> Moment:
        self.now_s += self.step_s
        return Moment(self.now_s)


def world_with(clock: Told) -> World:
    world = fake_world(Log())
    return replace(world, clock=clock)  # type: ignore[arg-type]


def write_after_minutes(cache: Path, world: World) -> Callable[[Path], None]:
    assert isinstance(world.clock, Told)
    write = concluding.page_writer(an_app(cache, shell=SystemShell()), world)
    world.clock.now_s += 300
    return write


def unfinished(results: Path) -> Path:
    """Three of six planned runs have ended."""
    campaign = build_campaign(
        profiles=("premium", "ultra"), workloads=["insert"], frames=False
    )
    return stored(replace(campaign, runs=campaign.runs[:3]), results)


@pytest.mark.parametrize(
    ("ended", "notes"), [(6, []), (5, ["5 of 6 planned runs have ended"])]
)
def test_a_campaign_is_unfinished_until_all_planned_runs_have_ended(
    ended: int, notes: list[str], tmp_path: Path
) -> None:
    campaign = build_campaign(
        profiles=("premium", "ultra"), workloads=["insert"], frames=False
    )
    folder = stored(replace(campaign, runs=campaign.runs[:ended]), tmp_path)
    found, _ = concluding.found(folder)
    texts = [note.text for note in found.plan.notes if note.kind == "unfinished"]
    assert texts == notes


@pytest.mark.program
def test_the_page_of_a_campaign_that_goes_on_says_so(tmp_path: Path) -> None:
    folder = unfinished(tmp_path)
    write_after_minutes(tmp_path, world_with(Told(1.0)))(folder)
    page, text = (
        (folder / "report.html").read_text(),
        (folder / "report.md").read_text(),
    )
    for drawn in (page, text):
        assert "3 of 6 planned runs have ended" in drawn


@pytest.mark.slow
def test_pages_take_one_part_in_200_of_the_time(tmp_path: Path) -> None:
    """None in the first five minutes. Each takes a second here: the next is due 200 s after it."""
    folder, clock = unfinished(tmp_path), Told(1.0)
    write = concluding.page_writer(
        an_app(tmp_path, shell=SystemShell()), world_with(clock)
    )
    for now_s, is_written in (
        (300.0, False),
        (301.0, True),
        (501.0, False),
        (502.0, True),
    ):
        (folder / "report.md").unlink(missing_ok=True)
        clock.now_s = now_s - clock.step_s
        write(folder)
        assert (folder / "report.md").exists() == is_written


def test_what_fails_in_a_page_is_said_and_ends_nothing(tmp_path: Path) -> None:
    world = world_with(Told(1.0))
    write_after_minutes(tmp_path, world)(tmp_path / "nowhere")
    assert isinstance(world.progress, QuietProgress)
    assert "the report so far cannot be made" in world.progress.said[-1]


def test_it_is_told_of_every_run_but_the_last(tmp_path: Path) -> None:
    log, told = Log(), list[int]()
    world = fake_world(log, tmp_path / "cache")

    def after_run(folder: Path) -> None:
        told.append(len(list(folder.glob("runs/*/record.json"))))

    plan = a_plan(("premium", "ultra"), repetitions=2)
    results = tmp_path / "results"
    experiment.execute(
        plan,
        fake_parts(log),
        world,
        results,
        {},
        onlookers=Onlookers(after_run=after_run),
    )
    assert told == [1, 2, 3]
