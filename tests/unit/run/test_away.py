"""An engine that is away for a while, and a guard that another campaign took meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest

from orchestrator.errors import GuardLostError, UnavailableError
from orchestrator.platforms.common import lifecycle
from tests.fakes import FakeClock, Log
from tests.unit.run.conftest import GONE, Failing, Make


def test_an_engine_that_comes_back_is_waited_for(make: Make) -> None:
    clock = FakeClock()
    campaign = make(Failing("warm", GONE, (1,)), clock)
    back_s: list[float] = []

    def answers() -> bool:
        back_s.append(clock.time_s)
        return clock.time_s > back_s[0] + 100

    campaign.world.platform.answers = answers  # type: ignore[method-assign]
    campaign.execute(repetitions=2)
    assert campaign.outcomes() == ["failed", "done"]
    assert back_s[-1] > back_s[0] + 100


def test_an_engine_that_stays_away_ends_the_campaign(make: Make) -> None:
    clock = FakeClock()
    campaign, began_s = make(Failing("warm", GONE, (2,)), clock), clock.time_s
    campaign.world.platform.answers = lambda: False  # type: ignore[method-assign]
    with pytest.raises(UnavailableError, match="30 min"):
        campaign.execute(repetitions=3)
    assert campaign.outcomes() == ["done", "failed"]
    assert 1800 <= clock.time_s - began_s < 1900


def lose(
    campaign: Any, stack: ExitStack, when: Callable[[], bool] = lambda: True
) -> None:
    """From the next sign of life on another campaign has the guard, if it is the time."""

    def beat() -> None:
        if when():
            raise lifecycle.taken_over("the engine", "c9", "vm-7")

    stack.enter_context(
        campaign.world.platform.guard.beats.during(beat, campaign.world.clock)
    )


def test_a_lost_guard_fails_the_run_in_progress_and_ends_the_campaign(
    make: Make,
) -> None:
    log = Log()
    campaign = make(log)
    with ExitStack() as up, pytest.raises(GuardLostError, match="c9 on vm-7") as raised:
        lose(campaign, up, lambda: log.words.count("verify") == 2)
        campaign.execute(repetitions=4)
    assert raised.value.exit_code == 69
    assert campaign.outcomes() == ["done", "failed"]


@pytest.mark.parametrize("taken", [True, False])
def test_after_29_minutes_without_the_engine_the_guard_is_read_first(
    make: Make, taken: bool
) -> None:
    """It may have lapsed: if it is ours only the run in progress is lost."""
    clock = FakeClock()
    campaign = make(Failing("warm", GONE, (1,)), clock)
    platform = campaign.world.platform
    back_s = clock.time_s + 29 * 60
    platform.answers = lambda: clock.time_s > back_s  # type: ignore[method-assign]
    with ExitStack() as up:
        lose(campaign, up, lambda: taken)
        if taken:
            up.enter_context(pytest.raises(GuardLostError))
        campaign.execute(repetitions=2)
    assert campaign.outcomes() == (["failed"] if taken else ["failed", "done"])
