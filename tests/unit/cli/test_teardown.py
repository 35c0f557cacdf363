"""Ctrl-C while everything is taken down: what is only carried here is given up, no removal is.

Method: a campaign on the fake platform; signals are sent to this process at moments that a seed
chooses. What hangs waits for an event that no test sets before its end.
"""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli.common.teardown import sweeping
from orchestrator.run import experiment
from orchestrator.system import store
from tests.fake_parts import DOWN, fake_parts
from tests.fakes import Log, QuietProgress, fake_world
from tests.plans import a_plan

Moment = tuple[str, int]
RUNNING = ["warm", "begin measuring", "run point-select", "verify", "read"]
LOGS = ("logs of node-1", 1)
# Also of the loading before the run, or, as "sweep", at the start.
TWICE = ("client down", "database down", "network down", "sweep")


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


class Impatient(Log):
    """A person at the keyboard: Ctrl-C at each of the `moments`, (word, how often it was said).
    `hangs`: those at which the engine hangs until `over`."""

    def __init__(self, moments: set[Moment], hangs: set[Moment]) -> None:
        super().__init__()
        self._moments, self._hangs, self.over = moments, hangs, threading.Event()
        self.at_hang: Callable[[], None] = interrupt

    def say(self, word: str) -> None:
        super().say(word)
        moment = (word, self.words.count(word))
        if moment in self._moments:
            interrupt()
        if moment in self._hangs:
            self.at_hang()
            self.over.wait(300)


@pytest.fixture(autouse=True)
def heard() -> Iterator[None]:
    """Also where the tests run in the background of a shell, which ignores Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def carry_out(log: Impatient, folder: Path, **limits: Any) -> list[str]:
    """Carries out a campaign of one run that is interrupted; what was said to the person."""
    world = fake_world(log, folder / "cache")
    plan = a_plan(repetitions=1)
    try:
        with pytest.raises(KeyboardInterrupt), sweeping(world, **limits):
            experiment.execute(plan, fake_parts(log), world, folder / "results", {})
    finally:
        log.over.set()
    assert isinstance(world.progress, QuietProgress)
    return world.progress.said


@pytest.mark.parametrize("seed", range(20))
def test_ctrl_c_at_any_moment_of_teardown_gives_up_logs_and_no_removal(
    seed: int, tmp_path: Path
) -> None:
    chosen = random.Random(seed)
    moments = [(word, 2 if word in TWICE else 1) for word in (*RUNNING, *DOWN, "sweep")]
    first = chosen.randrange(len(moments) - 1)
    more = chosen.sample(moments[first + 1 :], k=min(2, len(moments) - first - 1))
    log = Impatient({moments[first], *more}, {LOGS})
    said = carry_out(log, tmp_path)
    ups = [word.removesuffix(" up") for word in log.words if word.endswith(" up")]
    downs = [word.removesuffix(" down") for word in log.words if word.endswith(" down")]
    assert sorted(ups) == sorted(downs)
    assert log.words[-1] == "sweep"
    assert sum("taking everything down" in line for line in said) == 1
    (record,) = (
        data.record for data in store.load(tmp_path / "results" / "latest").runs
    )
    assert record.outcome in ("interrupted", "done")


def test_a_removal_that_hangs_is_given_up_in_the_end_and_what_may_stay_is_said(
    tmp_path: Path,
) -> None:
    log = Impatient({("verify", 1)}, {("network down", 2)})
    log.at_hang = lambda: None
    said = carry_out(log, tmp_path, teardown_s=0.5)
    assert log.words[-1] == "sweep"
    (stays,) = [line for line in said if "something may be left" in line]
    assert "`tierbench clean`, with the same --profile or --platform" in stays


def test_signals_are_heard_again_after_it(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGALRM)
    carry_out(Impatient({("warm", 1)}, set()), tmp_path)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGALRM)) == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
