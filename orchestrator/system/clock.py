"""Time: the only module that reads a clock or sleeps, and the only bounded wait."""

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeVar

from orchestrator.powers import Clock, Moment

_STAMP = "%Y%m%dT%H%M%SZ"
_STAMP_LENGTH = 16
Answer = TypeVar("Answer")


class SystemClock:
    """The machine's clock. Wall time for records, monotonic time for durations."""

    now = staticmethod(time.time)

    def monotonic(self) -> Moment:
        return Moment(time.monotonic())

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def wait(self, event: threading.Event, seconds: float) -> bool:
        return event.wait(seconds)


class MadeUpClock:
    """A clock that advances only by `sleep`: for rehearsals and tests."""

    def __init__(self, start_s: float) -> None:
        self._start_s = start_s
        self.time_s = start_s

    def now(self) -> float:
        return self.time_s

    def monotonic(self) -> Moment:
        return Moment(self.time_s - self._start_s)

    def sleep(self, seconds: float) -> None:
        self.time_s += seconds

    def wait(self, event: threading.Event, seconds: float) -> bool:
        # For what another thread does, which takes real time.
        return event.wait(seconds)


def wait_until(
    ready: Callable[[], Answer],
    *,
    deadline_s: float,
    clock: Clock,
    every_s: float = 0.1,
) -> Answer:
    """Polls `ready` until its answer is true, for at most `deadline_s`; returns the last one."""
    end_s = clock.monotonic() + deadline_s
    # Asked once in any case, also if the time is over already.
    answer = ready()
    while not answer and clock.monotonic() < end_s:
        clock.sleep(every_s)
        answer = ready()
    return answer


def wait_while(
    lacking: Callable[[], Answer],
    *,
    deadline_s: float,
    clock: Clock,
    every_s: float = 0.1,
) -> Answer:
    """Waits as `wait_until` does, until nothing is lacking any more.

    `lacking` says what still is.
    """
    end_s = clock.monotonic() + deadline_s
    answer = lacking()
    while answer and clock.monotonic() < end_s:
        clock.sleep(every_s)
        answer = lacking()
    return answer


def stamp(unix_s: float) -> str:
    """Formats as `20261121T013005Z`, which sorts by time and is a legal folder name anywhere."""
    moment = datetime.fromtimestamp(unix_s, UTC)
    return moment.strftime(_STAMP)


def from_stamp(text: str) -> float | None:
    """Reads what `stamp` wrote at the begin of a name; None if that is no time."""
    try:
        moment = datetime.strptime(text[:_STAMP_LENGTH], _STAMP)
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC).timestamp()
