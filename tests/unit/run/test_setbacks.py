"""What goes wrong in the middle of a campaign: the record says so, and the rest goes on.

Method: fake parts that raise once or always at a given word of the log; the records left are read.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import (
    NodeError,
    RunError,
    TierbenchError,
    UnavailableError,
    UsageError,
    VoidError,
)
from orchestrator.model import Doubt, Plan, Record
from orchestrator.run import experiment
from orchestrator.system import store
from tests.fakes import DOWN, FakeClock, Log, fake_parts, fake_world
from tests.plans import a_plan

GONE = UnavailableError("looking at node-1: the Docker engine does not answer (reset)")


class Failing(Log):
    """A log of which a word raises only the times that are listed, counted from 1."""

    def __init__(self, word: str, error: BaseException, times: tuple[int, ...]) -> None:
        super().__init__()
        self._word, self._error, self._times = word, error, times

    def say(self, word: str) -> None:
        super().say(word)
        if word == self._word and self.words.count(word) in self._times:
            raise self._error


def carry_out(
    log: Log, folder: Path, plan: Plan | None = None, clock: FakeClock | None = None
) -> list[Record]:
    """The records that a campaign left, also where it was ended by an error of ours."""
    world = fake_world(log, folder / "cache", clock)
    with contextlib.suppress(TierbenchError):
        experiment.execute(plan or a_plan(), fake_parts(log), world, folder / "results", {})
    return records(folder)


def records(folder: Path) -> list[Record]:
    return [data.record for data in store.load(folder / "results" / "latest").runs]


def outcomes(found: list[Record]) -> list[str]:
    return [record.outcome for record in found]


def kinds(doubts: tuple[Doubt, ...]) -> list[str]:
    return [doubt.kind for doubt in doubts]


# ------------------------------------------------------------------ errors of any kind


@pytest.mark.parametrize(
    "error",
    [
        OSError(28, "No space left on device"),
        KeyError("95.000000"),
        ValueError("not JSON"),
        TypeError("None"),
        MemoryError(),
        RuntimeError("odd"),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("word", ["warm", "verify", "read"])
def test_an_error_that_is_not_ours_fails_the_run(
    tmp_path: Path, word: str, error: Exception
) -> None:
    found = carry_out(Failing(word, error, (1,)), tmp_path, a_plan(repetitions=2))
    assert outcomes(found) == ["failed", "done"]
    assert type(error).__name__ in str(found[0].failure)
    assert found[0].measurements == ()
    (trace,) = (tmp_path / "results" / "latest" / "runs").glob("01-*/raw/failure.txt")
    assert "Traceback" in trace.read_text() and type(error).__name__ in trace.read_text()


@pytest.mark.parametrize(
    "error", [GONE, UsageError("the mark is another's"), TierbenchError("odd"), RunError("late")]
)
def test_an_error_of_ours_fails_the_run_with_its_text(
    tmp_path: Path, error: TierbenchError
) -> None:
    found = carry_out(Failing("warm", error, (2,)), tmp_path, a_plan(repetitions=4))
    assert outcomes(found) == ["done", "failed", "done", "done"]
    assert found[1].failure == error.what


def test_what_is_wrong_before_anything_starts_ends_the_campaign(tmp_path: Path) -> None:
    log = Log(broken={"check database": UsageError("no")})
    with pytest.raises(UsageError):
        experiment.execute(
            a_plan(), fake_parts(log), fake_world(log, tmp_path), tmp_path / "results", {}
        )
    assert not (tmp_path / "results").exists()


def test_between_a_failed_run_and_the_next_leftovers_are_removed(tmp_path: Path) -> None:
    log = Failing("warm", NodeError("died"), (1,))
    carry_out(log, tmp_path, a_plan(repetitions=2))
    first_down = log.words.index("disks of premium down")
    assert "sweep" in log.words[first_down:]
    assert log.words.index("sweep", 1) < log.words.index("disks of premium up", first_down)


def test_no_sweep_where_nothing_went_wrong(tmp_path: Path) -> None:
    log = Log()
    carry_out(log, tmp_path, a_plan(repetitions=2))
    assert log.words.count("sweep") == 1


# ------------------------------------------------------------------ three in a row


def test_three_runs_in_a_row_with_one_cause_end_the_campaign(tmp_path: Path) -> None:
    log = Log(broken={"warm": NodeError("tierbench-1f-4-node-2 died: exited (137) after 12.5 s")})
    world = fake_world(log, tmp_path / "cache")
    with pytest.raises(RunError, match="three runs in a row") as ended:
        experiment.execute(a_plan(repetitions=5), fake_parts(log), world, tmp_path / "results", {})
    assert "exited (137)" in ended.value.what
    assert "analyze" in ended.value.advice
    assert outcomes(records(tmp_path)) == ["failed"] * 3


def test_what_is_unavailable_ends_as_unavailable(tmp_path: Path) -> None:
    log = Log(broken={"warm": GONE})
    world = fake_world(log, tmp_path / "cache")
    with pytest.raises(UnavailableError, match="three runs in a row"):
        experiment.execute(a_plan(repetitions=4), fake_parts(log), world, tmp_path / "results", {})


def test_unlike_causes_are_not_one(tmp_path: Path) -> None:
    class Odd(Log):
        def say(self, word: str) -> None:
            super().say(word)
            if word == "warm":
                raise RunError("abcdef"[self.words.count("warm")] + " is wrong")

    assert outcomes(carry_out(Odd(), tmp_path, a_plan(repetitions=5))) == ["failed"] * 5


def test_a_run_that_is_done_begins_the_count_anew(tmp_path: Path) -> None:
    log = Failing("warm", NodeError("died"), (1, 2, 4, 5))
    found = carry_out(log, tmp_path, a_plan(repetitions=6))
    assert outcomes(found) == ["failed", "failed", "done", "failed", "failed", "done"]


def test_one_workload_that_always_fails_does_not_cost_the_others(tmp_path: Path) -> None:
    """Its runs on all tiers stand in a row."""
    log = Log(broken={"run insert": NodeError("died")})
    plan = a_plan(("a", "b", "c"), ("insert", "point-select"), repetitions=2)
    found = carry_out(log, tmp_path, plan)
    assert outcomes(found) == [*["failed"] * 3, *["done"] * 3] * 2


def test_the_same_cause_in_two_workloads_ends_the_campaign(tmp_path: Path) -> None:
    log = Log(broken={"warm": NodeError("died")})
    plan = a_plan(("a", "b", "c"), ("insert", "point-select"), repetitions=2)
    assert len(carry_out(log, tmp_path, plan)) == 4


# ------------------------------------------------------------------ the engine went away


def with_engine(world: Any, answers: Callable[[], bool]) -> None:
    world.platform.answers = answers


def test_an_engine_that_comes_back_is_waited_for(tmp_path: Path) -> None:
    log, clock = Failing("warm", GONE, (1,)), FakeClock()
    world = fake_world(log, tmp_path / "cache", clock)
    back_s: list[float] = []

    def answers() -> bool:
        back_s.append(clock.time_s)
        return clock.time_s > back_s[0] + 100

    with_engine(world, answers)
    experiment.execute(a_plan(repetitions=2), fake_parts(log), world, tmp_path / "results", {})
    assert outcomes(records(tmp_path)) == ["failed", "done"]
    assert back_s[-1] > back_s[0] + 100


def test_an_engine_that_stays_away_ends_the_campaign(tmp_path: Path) -> None:
    log, clock = Failing("warm", GONE, (2,)), FakeClock()
    world = fake_world(log, tmp_path / "cache", clock)
    began_s = clock.time_s
    with_engine(world, lambda: False)
    with pytest.raises(UnavailableError, match="5 min"):
        experiment.execute(a_plan(repetitions=3), fake_parts(log), world, tmp_path / "results", {})
    assert outcomes(records(tmp_path)) == ["done", "failed"]
    assert 300 <= clock.time_s - began_s < 400


# ------------------------------------------------------------------ taking down

LOADS_TOO = ("client down", "database down", "network down")  # already when the data are loaded


@pytest.mark.parametrize(
    ("word", "error"),
    [
        *((word, OSError("no space")) for word in DOWN),
        *((word, RunError("in use")) for word in DOWN if not word.startswith("logs")),
    ],
)
def test_what_fails_while_taking_down_is_a_doubt(
    tmp_path: Path, word: str, error: Exception
) -> None:
    log = Failing(word, error, (2 if word in LOADS_TOO else 1,))
    found = carry_out(log, tmp_path, a_plan(repetitions=2))
    assert outcomes(found) == ["done", "done"]
    assert found[0].measurements[0].value == 42.0
    assert kinds(found[0].doubts) == ["teardown"] and kinds(found[1].doubts) == []
    assert str(error) in found[0].doubts[0].text
    assert log.words.count("sweep") == 2, "what may be left is removed before the next run"


def test_what_voids_a_measurement_fails_the_run_however_late(tmp_path: Path) -> None:
    """Such as a real disk that is found not to be there any more."""
    log = Failing("disks of premium down", VoidError("the disk vanished"), (1,))
    found = carry_out(log, tmp_path, a_plan(repetitions=2))
    assert outcomes(found) == ["failed", "done"]
    assert (found[0].failure, found[0].measurements) == ("the disk vanished", ())


def test_tables_that_cannot_be_made_fail_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def odd(*_: Any) -> None:
        raise TypeError("no table")

    monkeypatch.setattr(store, "save_run", odd)
    (record,) = carry_out(Log(), tmp_path)
    assert (record.outcome, record.failure) == ("failed", "TypeError: no table")


def test_what_stays_is_a_doubt_of_the_runs_beside_it(tmp_path: Path) -> None:
    log = Failing("client down", RunError("in use"), (2,))
    world = fake_world(log, tmp_path / "cache")
    sweeps: list[int] = []

    def sweep() -> tuple[str, ...]:
        sweeps.append(1)
        if len(sweeps) in (2, 3):
            raise RunError("what an earlier run left could not be removed: volume v")
        return ()

    world.platform.sweep = sweep  # type: ignore[method-assign]
    experiment.execute(a_plan(repetitions=4), fake_parts(log), world, tmp_path / "results", {})
    found = records(tmp_path)
    assert outcomes(found) == ["done"] * 4
    told = [kinds(record.doubts) for record in found]
    assert told == [["teardown"], ["leftovers"], ["leftovers"], []]


def test_a_kill_while_taking_down_does_not_cost_the_run(tmp_path: Path) -> None:
    """The record is there before anything is taken down."""
    seen: list[bool] = []

    class Looking(Log):
        def say(self, word: str) -> None:
            super().say(word)
            if word == "database down" and "read" in self.words:
                seen.append(
                    (next((tmp_path / "results").glob("*T*/runs/*")) / "record.json").exists()
                )

    carry_out(Looking(), tmp_path)
    assert seen == [True]


def test_an_interrupt_while_taking_down_leaves_the_run_done(tmp_path: Path) -> None:
    log = Failing("disks of premium down", KeyboardInterrupt(), (1,))
    with pytest.raises(KeyboardInterrupt):
        carry_out(log, tmp_path, a_plan(repetitions=2))
    assert outcomes(records(tmp_path)) == ["done"]


# ------------------------------------------------------------------ names, clocks


def test_names_carry_the_run(tmp_path: Path) -> None:
    log = Log()
    world, parts = fake_world(log, tmp_path / "cache"), fake_parts(log)
    networks: list[str] = []
    inner = world.platform.network

    def network(name: str, nodes: int, addresses: Sequence[str] = ()) -> Any:
        networks.append(name)
        return inner(name, nodes, addresses)

    world.platform.network = network  # type: ignore[method-assign]
    world = replace(world, scope="tierbench-1f2e3d")
    experiment.execute(a_plan(repetitions=2), parts, world, tmp_path / "results", {})
    assert networks == ["tierbench-1f2e3d-1-load", "tierbench-1f2e3d-1", "tierbench-1f2e3d-2"]


@pytest.mark.parametrize(("step_s", "doubted"), [(-30.0, True), (7200.0, True), (0.2, False)])
def test_a_clock_that_was_set_while_measuring_is_a_doubt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step_s: float, doubted: bool
) -> None:
    class Stepped(FakeClock):
        ahead_s = 0.0

        def now(self) -> float:
            return self.time_s + self.ahead_s

    clock, log = Stepped(), Log()
    world, parts = fake_world(log, tmp_path / "cache", clock), fake_parts(log)
    inner = parts.load_generators["sysbench"].run

    def run(*arguments: Any) -> Any:
        phases = inner(*arguments)
        clock.ahead_s = step_s
        return phases

    monkeypatch.setattr(parts.load_generators["sysbench"], "run", run)
    experiment.execute(a_plan(), parts, world, tmp_path / "results", {})
    (record,) = records(tmp_path)
    assert kinds(record.doubts) == (["clock set"] if doubted else [])


def test_long_names_make_a_folder(tmp_path: Path) -> None:
    name = "\N{EARTH GLOBE AMERICAS}" * 62
    plan = a_plan((name,), (name.replace("A", "b"),))
    found = carry_out(Log(), tmp_path, plan)
    assert outcomes(found) == ["done"]


@pytest.mark.parametrize("what", ["run_folder", "save_run"])
def test_results_that_cannot_be_written_end_the_campaign_with_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    def full(*_: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store, what, full)
    log = Log()
    world, parts = fake_world(log, tmp_path / "cache"), fake_parts(log)
    with pytest.raises(UnavailableError, match="No space left"):
        experiment.execute(a_plan(), parts, world, tmp_path / "results", {})
    assert log.words.count("disks of premium up") == log.words.count("disks of premium down")
