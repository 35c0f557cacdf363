"""What reads time and waits: `orchestrator.system.clock` has the real one and a made-up one."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, order=True)
class Moment:
    """A moment of a monotonic clock, which counts from a start that nobody knows.

    It is no number, because a time of day beside it gives a duration that is wrong.
    """

    _since_start_s: float

    def __add__(self, seconds: float) -> Moment:
        return Moment(self._since_start_s + seconds)

    def __sub__(self, earlier: Moment) -> float:
        """Returns the seconds between the two."""
        return self._since_start_s - earlier._since_start_s


class Clock(Protocol):
    def now(self) -> float:
        """Returns Unix seconds: for records, never for durations."""

    def monotonic(self) -> Moment:
        """Returns the moment that it is: for durations and deadlines."""

    def sleep(self, seconds: float) -> None: ...

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Sleeps until the event is set, for at most so long; returns whether it is set."""
