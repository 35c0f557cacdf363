"""Waiting for something, by a clock."""

from __future__ import annotations

import pytest

from orchestrator.powers import Clock
from orchestrator.system.clock import SystemClock, wait_until, wait_while
from tests.fakes import FakeClock


@pytest.mark.parametrize(
    ("deadline_s", "asked"), [(0.0, 1), (-1.0, 1), (1.0, 3), (1.2, 4)]
)
def test_what_never_comes_is_asked_for_until_the_time_is_over(
    deadline_s: float, asked: int
) -> None:
    answers: list[bool] = []

    def ready() -> bool:
        answers.append(False)
        return False

    clock = FakeClock()
    assert not wait_until(ready, deadline_s=deadline_s, clock=clock, every_s=0.5)
    assert len(answers) == asked
    answers.clear()
    assert wait_while(
        lambda: not ready(), deadline_s=deadline_s, clock=clock, every_s=0.5
    )
    assert len(answers) == asked


def test_what_has_come_is_not_waited_for() -> None:
    clock = FakeClock()
    begin_s = clock.monotonic()
    assert wait_until(lambda: "it", deadline_s=5.0, clock=clock) == "it"
    assert clock.monotonic() == begin_s


@pytest.mark.parametrize("clock", [FakeClock(), SystemClock()])
def test_a_time_of_day_and_a_moment_give_no_duration(clock: Clock) -> None:
    with pytest.raises(TypeError):
        clock.now() - clock.monotonic()  # type: ignore[operator]


@pytest.mark.parametrize("clock", [FakeClock(), SystemClock()])
def test_a_time_of_day_is_no_deadline(clock: Clock) -> None:
    with pytest.raises(TypeError):
        assert clock.monotonic() < clock.now()  # type: ignore[operator]


def test_the_durations_of_a_made_up_clock_are_those_slept() -> None:
    clock = FakeClock()
    began = clock.monotonic()
    clock.sleep(2.5)
    assert clock.monotonic() - began == 2.5


def test_so_many_seconds_after_a_moment_is_a_later_one() -> None:
    began = FakeClock().monotonic()
    assert (began + 2.5) - began == 2.5
    assert began < began + 2.5
