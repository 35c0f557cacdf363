"""Waiting for something, by a clock."""

from __future__ import annotations

import pytest

from orchestrator.system.clock import wait_until, wait_while
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
