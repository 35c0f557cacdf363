"""`tierbench resume`: from the words to the report, on fake parts."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from orchestrator.analysis import verdicts
from orchestrator.cli.common.console import LastingConsole
from orchestrator.cli.common.options import Request
from orchestrator.cli.measure.campaign_app import CampaignApp
from orchestrator.errors import (
    EXIT_DONE,
    EXIT_INCONCLUSIVE,
    EXIT_INTERRUPTED,
    EXIT_UNAVAILABLE,
    EXIT_USAGE,
)
from orchestrator.facts import Pause
from orchestrator.model import Note, Plan
from orchestrator.run.data import datasets
from orchestrator.run.progress import campaign_time, outlines, status, status_lines
from orchestrator.system import campaign_writing, files, store
from orchestrator.system.clock import MadeUpClock
from orchestrator.system.shell import SystemShell
from orchestrator.tier import Gate, Price
from tests.apps import an_app, said_by, tierbench, with_parts
from tests.fake_parts import fake_parts
from tests.fakes import FakeClock, FakeGuard, FakePlatform, Log, this_machine_has
from tests.plans import a_plan, changed_plan
from tests.unit.run.conftest import Failing, real

PLAN = changed_plan(a_plan(("premium", "ultra"), repetitions=2), retry_failed=1)
COMPARE = (
    "compare",
    "--profiles",
    "premium",
    "--workloads",
    "insert",
    "--accept-inconclusive",
)


@dataclass(frozen=True)
class Given(CampaignApp):
    """A program of which the plan is given."""

    given: Plan = field(default=PLAN)
    reports: bool = False  # judges, which takes seconds

    def plan(self, request: Request) -> Plan:
        return self.given

    def show(self, folder: Path, slo: str | None = None) -> Any:
        if self.reports:
            return super().show(folder, slo)
        loaded = store.load(folder)
        return loaded, verdicts.judge(loaded)


def program(
    folder: Path, log: Log | None = None, plan: Plan = PLAN, **fields: Any
) -> CampaignApp:
    log = log or Log()
    app = an_app(folder, FakePlatform(log))
    fields = {
        "clock": FakeClock(),
        "err": LastingConsole(file=StringIO(), width=500),
        **fields,
    }
    known = {name: value for name, value in vars(app).items() if name not in fields}
    return with_parts(Given(**known, given=plan, **fields), fake_parts(log))


def begun_campaign(app: CampaignApp) -> Path:
    return (app.results / "latest").resolve()


def words(app: CampaignApp, *more: str) -> tuple[str, ...]:
    return (*more, "--results", str(app.results))


def outcomes(folder: Path) -> list[str]:
    return [one.record.outcome for one in store.load(folder).runs]


def test_an_interrupted_campaign_is_gone_on_with_and_reported(tmp_path: Path) -> None:
    first = program(tmp_path, Failing("warm", KeyboardInterrupt(), (2,)))
    assert tierbench(first, *words(first, *COMPARE)) == EXIT_INTERRUPTED
    app = program(tmp_path, reports=True)
    folder = begun_campaign(app)
    told = ("resume", "latest", "--accept-inconclusive")
    assert tierbench(app, *words(app, *told)) == EXIT_DONE
    assert outcomes(folder) == ["done"] * 4
    assert begun_campaign(app) == folder
    page = (folder / "report.md").read_text()
    assert "Interrupted and continued" in page and "Interruption 1: 1 of 4 runs" in page
    assert any("1 of 4 runs are finished" in line for line in said_by(app))


def errors(app: CampaignApp) -> str:
    file = app.err.file
    assert isinstance(file, StringIO)
    return file.getvalue()


def test_what_ends_by_ctrl_c_says_how_to_go_on(tmp_path: Path) -> None:
    app = program(tmp_path, Failing("warm", KeyboardInterrupt(), (2,)))
    tierbench(app, *words(app, *COMPARE))
    assert f"tierbench resume {begun_campaign(app)}` makes" in errors(app)


def test_what_ends_before_a_run_was_begun_names_no_older_campaign(
    tmp_path: Path,
) -> None:
    first = program(tmp_path, Failing("warm", KeyboardInterrupt(), (2,)))
    tierbench(first, *words(first, *COMPARE))
    app = program(tmp_path, Failing("sweep", KeyboardInterrupt(), (1,)))
    assert tierbench(app, *words(app, *COMPARE)) == EXIT_INTERRUPTED
    assert "no run was begun: give the same command again" in errors(app)
    assert "resume" not in errors(app)


def test_what_several_tiers_have_in_common_is_warned_of_once(tmp_path: Path) -> None:
    """Three lines of the same on the first screen of `make demo` hid what else there was."""
    fewer = "1 database node instead of the profile's 3"
    notes = (
        Note("nodes as asked", fewer, "premium"),
        Note("other scale", "tpcc runs at scale laptop"),
        Note("nodes as asked", fewer, "ultra"),
    )
    plan = replace(PLAN, notes=notes)
    app = program(tmp_path, Failing("sweep", KeyboardInterrupt(), (1,)), plan)
    tierbench(app, *words(app, *COMPARE))
    assert said_by(app)[:2] == [
        f"premium and ultra: {fewer}",
        "tpcc runs at scale laptop",
    ]


@pytest.mark.parametrize(
    ("runs_that_end", "advice"),
    [
        (0, "no run is finished yet: `tierbench resume {}` goes on"),
        (
            1,
            "1 of 4 runs is finished: `tierbench resume {0}` makes the others; "
            "`tierbench analyze {0}` reports what is finished",
        ),
        (
            3,
            "3 of 4 runs are finished: `tierbench resume {0}` makes the others; "
            "`tierbench analyze {0}` reports what is finished",
        ),
    ],
)
def test_ctrl_c_says_how_much_is_finished(
    tmp_path: Path, runs_that_end: int, advice: str
) -> None:
    log = Failing("warm", KeyboardInterrupt(), (runs_that_end + 1,))
    app = program(tmp_path, log)
    tierbench(app, *words(app, *COMPARE))
    assert errors(app).endswith(f"→ {advice.format(begun_campaign(app))}\n")


def test_ctrl_c_behind_the_last_run_says_that_none_is_missing(tmp_path: Path) -> None:
    """Resume would have nothing to do but to judge, and that is what is missing."""
    app = program(tmp_path)
    tierbench(app, *words(app, *COMPARE))
    folder = begun_campaign(app)
    assert status.how_to_go_on(folder) == (
        f"all 4 runs are finished: `tierbench analyze {folder}` reports what was found"
    )
    assert status.all_finished(1) == "its run is finished"


def test_ctrl_c_in_a_campaign_that_cannot_be_read_names_both_commands(
    tmp_path: Path,
) -> None:
    assert "resume" in status.how_to_go_on(tmp_path / "gone")


class InterruptedRehearsal(CampaignApp):
    def rehearse(self, request: Request) -> Path:
        raise KeyboardInterrupt


def test_ctrl_c_in_a_rehearsal_names_no_campaign_that_was_measured(
    tmp_path: Path,
) -> None:
    first = program(tmp_path, Failing("warm", KeyboardInterrupt(), (2,)))
    tierbench(first, *words(first, *COMPARE))
    made = program(tmp_path)
    app = InterruptedRehearsal(made.root, made.cache, made.results, err=made.err)
    assert tierbench(app, *words(app, "rehearse")) == EXIT_INTERRUPTED
    assert errors(app) == "tierbench: interrupted\n"


def test_a_campaign_that_lacks_nothing_is_shown_and_not_called_interrupted(
    tmp_path: Path,
) -> None:
    """Its rest cannot be unlike its runs, because there is none."""
    app = program(tmp_path)
    tierbench(app, *words(app, *COMPARE))
    folder = begun_campaign(app)
    facts = store.load(folder).fingerprint
    files.write_json(folder / "fingerprint.json", {**facts, "revision": "b" * 40})
    plan = (folder / "plan.json").read_text()
    app = program(tmp_path)
    told = ("resume", "latest", "--accept-inconclusive")
    assert tierbench(app, *words(app, *told)) == EXIT_DONE
    assert (folder / "plan.json").read_text() == plan
    assert any("all 4 runs are finished" in line for line in said_by(app))


def test_other_code_is_refused(tmp_path: Path) -> None:
    app = program(tmp_path, Failing("warm", KeyboardInterrupt(), (2,)))
    tierbench(app, *words(app, *COMPARE))
    folder = begun_campaign(app)
    facts = store.load(folder).fingerprint
    files.write_json(folder / "fingerprint.json", {**facts, "revision": "b" * 40})
    app = program(tmp_path)
    assert tierbench(app, *words(app, "resume", "latest")) == EXIT_USAGE
    assert "--despite code" in errors(app)
    told = ("resume", str(folder), "--accept-inconclusive", "--despite", "code")
    assert tierbench(app, *words(app, *told)) == EXIT_DONE


class EndsMeanwhile(FakeGuard):
    """The other program has gone on with `folder` until this one is alone; then it adds a note."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    @contextmanager
    def held(self) -> Iterator[None]:
        plan = store.load(self._folder).plan
        note = Note("other", "of the other program")
        campaign_writing.save_plan(
            self._folder, replace(plan, notes=(*plan.notes, note))
        )
        with super().held():
            yield


def test_the_plan_is_read_when_no_other_program_may_write_it(tmp_path: Path) -> None:
    first = program(tmp_path, Failing("warm", KeyboardInterrupt(), (2,)))
    tierbench(first, *words(first, *COMPARE))
    folder = begun_campaign(first)
    app = program(tmp_path)
    platform: Any = app.connect()
    platform.guard = EndsMeanwhile(folder)
    told = ("resume", "latest", "--accept-inconclusive")
    assert tierbench(app, *words(app, *told)) == EXIT_DONE
    assert outcomes(folder) == ["done"] * 4
    notes = [note.text for note in store.load(folder).plan.notes]
    assert "of the other program" in notes


# ------------------------------------------------------------------ failed runs


def test_a_failed_run_is_repeated_behind_all_others(tmp_path: Path) -> None:
    app = program(tmp_path, Failing("warm", ValueError("x"), (2,)))
    assert (
        tierbench(app, *words(app, *COMPARE)) == EXIT_INCONCLUSIVE
    )  # the failure counts
    runs = store.load(begun_campaign(app)).runs
    assert [one.record.outcome for one in runs] == [
        "done",
        "failed",
        "done",
        "done",
        "done",
    ]
    failed, again = runs[1].record, runs[-1].record
    assert replace(again.run, number=2) == failed.run
    (doubt,) = [one for one in again.doubts if one.kind == "out of order"]
    assert "run 2" in doubt.text


@pytest.mark.parametrize(("times", "made"), [(0, 4), (1, 5), (2, 6)])
def test_it_is_repeated_as_often_as_asked(
    tmp_path: Path, times: int, made: int
) -> None:
    log = Failing("warm", ValueError("x"), (2, 5, 6, 7))
    app = program(tmp_path, log, changed_plan(PLAN, retry_failed=times))
    tierbench(app, *words(app, *COMPARE))
    assert len(outcomes(begun_campaign(app))) == made


@pytest.mark.parametrize(("times", "made"), [(0, 4), (1, 6), (2, 7)])
def test_a_campaign_that_is_gone_on_with_repeats_again_what_failed_each_time(
    tmp_path: Path, times: int, made: int
) -> None:
    plan = changed_plan(PLAN, retry_failed=times)
    app = program(tmp_path, Failing("warm", ValueError("x"), (2, 5, 6, 7)), plan)
    tierbench(app, *words(app, *COMPARE))
    before = outcomes(begun_campaign(app))
    app = program(tmp_path, plan=plan)  # what made it fail is mended
    tierbench(app, *words(app, "resume", "latest"))
    assert outcomes(begun_campaign(app)) == [*before, *["done"] * (made - len(before))]


def test_a_campaign_killed_before_the_repeats_makes_them_when_it_goes_on(
    tmp_path: Path,
) -> None:
    class Killed(BaseException):
        pass

    log = Failing("warm", ValueError("x"), (1,))
    log.broken["read"] = Killed()
    app = program(tmp_path, log)
    with pytest.raises(Killed):
        tierbench(app, *words(app, *COMPARE))
    app = program(tmp_path)
    tierbench(app, *words(app, "resume", "latest"))
    assert outcomes(begun_campaign(app)) == ["failed", *["done"] * 4]


def test_a_campaign_whose_failed_run_was_repeated_lacks_nothing(tmp_path: Path) -> None:
    app = program(tmp_path, Failing("warm", ValueError("x"), (2,)))
    tierbench(app, *words(app, *COMPARE))
    app = program(tmp_path)
    tierbench(app, *words(app, "resume", "latest"))
    assert any("all 4 runs are finished" in line for line in said_by(app))


# ------------------------------------------------------------------ room


def test_full_folders_are_told_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    this_machine_has(monkeypatch, free_bytes=2**20)
    app = program(tmp_path)
    assert tierbench(app, *words(app, *COMPARE)) == EXIT_UNAVAILABLE
    said = errors(app)
    assert "results has 1 MiB free" in said and "--results" in said
    assert not app.results.exists()


# ------------------------------------------------------------------ options shared with `compare`


def interrupted(folder: Path, plan: Plan = PLAN) -> None:
    app = program(folder, Failing("warm", KeyboardInterrupt(), (2,)), plan)
    tierbench(app, *words(app, *COMPARE))


def test_it_runs_the_command_of_on_end_with_its_folder(tmp_path: Path) -> None:
    interrupted(tmp_path)
    app, told = program(tmp_path, shell=SystemShell()), tmp_path / "told"
    command = f'echo "$TIERBENCH_EXIT_CODE $TIERBENCH_FOLDER" > {told}'
    tierbench(
        app,
        *words(app, "resume", "latest", "--accept-inconclusive", "--on-end", command),
    )
    assert told.read_text() == f"{EXIT_DONE} {begun_campaign(app)}\n"


def test_what_would_cost_more_than_it_may_is_refused(tmp_path: Path) -> None:
    price = Price(1e9, "USD", "here", "2026-01-01", "a list")
    rented = real(PLAN, price=price)
    interrupted(tmp_path, rented)
    app = program(tmp_path)
    assert (
        tierbench(app, *words(app, "resume", "latest", "--max-cost", "1 USD"))
        == EXIT_USAGE
    )
    assert "more than 1.00" in errors(app)


# ------------------------------------------------------------------ parts and the pauses between

BEGAN_S = 1_795_000_000.0
HOUR_S = 3600.0
PRICE = Price(730.0, "USD", "here", "2026-01-01", "a list")  # one an hour and disk


def left_after_an_hour(folder: Path, *more: str) -> Path:
    """A campaign of at most four hours and two disks that was interrupted after one hour, and into
    whose folder somebody wrote a report days later."""
    plan = replace(real(PLAN, price=PRICE), estimate_s=HOUR_S, most_s=4 * HOUR_S)
    log = Failing("warm", KeyboardInterrupt(), (2,))
    app = program(folder, log, plan, clock=MadeUpClock(BEGAN_S), shell=SystemShell())
    tierbench(app, *words(app, *COMPARE, *more))
    left = begun_campaign(app)
    for file in left.rglob("*"):
        os.utime(file, (BEGAN_S + HOUR_S, BEGAN_S + HOUR_S))
    os.utime(left / "fingerprint.json", (BEGAN_S, BEGAN_S))  # written at its begin
    (left / "report.md").write_text("of later")
    return left


def ten_days_later(folder: Path, log: Log | None = None) -> CampaignApp:
    clock = MadeUpClock(BEGAN_S + 240 * HOUR_S)
    return program(folder, log, clock=clock, shell=SystemShell())


def test_a_pause_is_no_part_of_time_and_cost(tmp_path: Path) -> None:
    left = left_after_an_hour(tmp_path)
    app = ten_days_later(tmp_path)
    said = list(status.described(left, app.clock.now()))
    assert any(text.strip().startswith("60 min so far, ") for text in said)
    assert any("about 2.00 USD so far" in text for text in said)
    tierbench(app, *words(app, "resume", "latest"))
    for text in said_by(app):
        assert "240 h" not in text and "480.00 USD" not in text
    loaded = store.load(left)
    lasted_s = campaign_time.elapsed_s(outlines.of_campaign(loaded), app.clock.now())
    assert HOUR_S <= lasted_s < 2 * HOUR_S


@pytest.mark.parametrize("date_s", [0.0, BEGAN_S + 200 * HOUR_S])
def test_the_dates_of_a_copied_campaign_are_not_its_time(
    tmp_path: Path, date_s: float
) -> None:
    """Its files say that it was gone on with for half an hour, an hour after it began."""
    left = left_after_an_hour(tmp_path)
    plan = store.load_without_tables(left).plan
    note = Note("interrupted", "interruption 1")
    pause = Pause(BEGAN_S + 0.5 * HOUR_S, BEGAN_S + HOUR_S)
    plan = replace(plan, notes=(*plan.notes, note), pauses=(pause,))
    campaign_writing.save_plan(left, plan)
    campaign_writing.save_fingerprint(left, 2, {})
    gate = Gate("premium", BEGAN_S + 1.5 * HOUR_S, ())
    campaign_writing.save_gates(
        left, [gate, replace(gate, taken_s=date_s, reused=True)]
    )
    for file in left.rglob("*"):
        os.utime(file, (date_s, date_s))
    loaded = store.load_without_tables(left)
    now_s = BEGAN_S + 240 * HOUR_S
    outline = outlines.of_campaign(loaded)
    assert campaign_time.elapsed_before_s(outline, left, now_s) == HOUR_S
    said = list(status.described(left, now_s))
    assert any("about 2.00 USD so far" in text for text in said)
    assert said[-1].startswith("it was interrupted")


def test_time_left_is_told_from_where_the_campaign_goes_on(tmp_path: Path) -> None:
    left = left_after_an_hour(tmp_path)
    app = ten_days_later(tmp_path, Failing("warm", KeyboardInterrupt(), (1,)))
    tierbench(app, *words(app, "resume", "latest"))
    loaded = store.load_without_tables(left)
    first = status_lines.time_and_cost(
        outlines.of_campaign(loaded), app.clock.now(), is_going=True
    )
    assert "about 0 " not in first and " left, until 20" in first


class Timed(Log):
    """Keeps when the time of the campaign will be up."""

    left_s: float = 0.0

    def say(self, word: str) -> None:
        super().say(word)
        left_s, _interval_s = signal.getitimer(signal.ITIMER_REAL)
        self.left_s = max(self.left_s, left_s)


def test_what_was_spent_counts_for_the_limit_that_a_campaign_was_begun_with(
    tmp_path: Path,
) -> None:
    """2.00 USD are spent, and what is missing takes 6.00 at most."""
    left_after_an_hour(tmp_path, "--max-cost", "8.1 USD")
    app = ten_days_later(tmp_path)
    told = ("resume", "latest", "--max-cost", "7.9 USD")
    assert tierbench(app, *words(app, *told)) == EXIT_USAGE
    assert "would cost 8.00 USD, more than 7.90; 2.00 USD of it" in errors(app)
    timed = Timed()
    app = ten_days_later(tmp_path, timed)
    tierbench(app, *words(app, "resume", "latest"))
    assert timed.left_s == pytest.approx(8.1 / 2 * HOUR_S - HOUR_S, abs=120)


def test_the_command_of_on_end_holds_over_resume(tmp_path: Path) -> None:
    told = tmp_path / "told"
    left = left_after_an_hour(tmp_path, "--on-end", f"echo ended >> {told}")
    assert told.read_text() == "ended\n"
    app = ten_days_later(tmp_path)
    tierbench(app, *words(app, "resume", "latest"))
    assert told.read_text() == "ended\nended\n"
    assert "echo ended" not in (left / "plan.json").read_text()  # it may hold a token


def test_a_command_that_somebody_else_gave_does_not_run(tmp_path: Path) -> None:
    told = tmp_path / "told"
    left_after_an_hour(tmp_path, "--on-end", f"echo ended >> {told}")
    told.unlink()
    app = replace(ten_days_later(tmp_path), state=tmp_path / "of another user")
    assert tierbench(app, *words(app, "resume", "latest")) == EXIT_USAGE
    assert "--on-end '' for none" in errors(app)
    told_none = ("resume", "latest", "--on-end", "", "--accept-inconclusive")
    assert tierbench(app, *words(app, *told_none)) == EXIT_DONE
    assert not told.exists()


def test_the_cache_is_held_to_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(tmp_path)
    held: list[int] = []
    monkeypatch.setattr(datasets, "hold_to", lambda most, *_: held.append(most))
    app = program(tmp_path)
    tierbench(app, *words(app, "resume", "latest", "--cache-max", "1GiB"))
    assert held == [2**30, 2**30]  # before and after
