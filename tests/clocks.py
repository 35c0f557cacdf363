"""Clocks for tests that wait for real things: servers on loopback, threads, containers."""

from __future__ import annotations

import threading
from collections.abc import Callable

from orchestrator.powers import Moment
from orchestrator.system.clock import MadeUpClock, SystemClock


class HastyClock(SystemClock):
    """The machine's clock, by which waiting and limits pass `pace` times as fast: limits are as
    they are outside of tests, and tests need not wait for them."""

    def __init__(self, pace: float = 1.0) -> None:
        self._pace = pace
        self._real = super().monotonic()
        self._hastened = self._real

    def hasten(self, pace: float) -> None:
        self._hastened = self.monotonic()
        self._real = super().monotonic()
        self._pace = pace

    def monotonic(self) -> Moment:
        return self._hastened + (super().monotonic() - self._real) * self._pace

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds / self._pace)

    def wait(self, event: threading.Event, seconds: float) -> bool:
        return super().wait(event, seconds / self._pace)


class SetClock(MadeUpClock):
    """A clock that somebody sets: its time of day is ahead by `ahead_s`, and no more time has
    passed."""

    ahead_s = 0.0

    def now(self) -> float:
        return self.time_s + self.ahead_s


class SampledClock(MadeUpClock):
    """A clock for the thread that makes it and its samplers. It stands while one of them works, and
    leaps to the next moment at which one is due when all wait. So readings are at whole seconds,
    however busy the machine is, and an hour takes no longer than its readings."""

    # Real seconds between two looks at events and ended threads, which nobody tells it of.
    LOOK_S = 0.002

    def __init__(self, start_s: float) -> None:
        super().__init__(start_s)
        self._sleeper = threading.current_thread()
        # Those that another test has left hanging never wait by this clock.
        self._others = self._named_sampler()
        self._due_s: dict[threading.Thread, float] = {}
        self._changed = threading.Condition()
        self._planned: list[tuple[float, Callable[[], None]]] = []

    def after(self, seconds: float, do: Callable[[], None]) -> None:
        """Has something done in so many seconds, within the sleep of that moment."""
        self._planned.append((self.time_s + seconds, do))

    def sleep(self, seconds: float) -> None:
        end_s = self.time_s + seconds
        while self._planned and self._planned[0][0] <= end_s:
            moment_s, do = self._planned.pop(0)
            self._sleep_until(moment_s)
            do()
        self._sleep_until(end_s)

    def _sleep_until(self, end_s: float) -> None:
        self.wait(threading.Event(), end_s - self.time_s)

    def wait(self, event: threading.Event, seconds: float) -> bool:
        thread = threading.current_thread()
        with self._changed:
            end_s = self.time_s + seconds
            self._due_s[thread] = end_s
            while not event.is_set() and not self._has_come(thread, end_s):
                self._leap_if_all_wait()
                self._changed.wait(self.LOOK_S)
            del self._due_s[thread]
        return event.is_set()

    def _has_come(self, thread: threading.Thread, end_s: float) -> bool:
        """Whether it is that time. A reading that is due then is taken before the sleep ends."""
        if thread is self._sleeper:
            for sampler in self._samplers():
                if self._due_s.get(sampler, end_s) <= end_s:
                    return False
        return self.time_s >= end_s

    def _leap_if_all_wait(self) -> None:
        if all(thread in self._due_s for thread in (self._sleeper, *self._samplers())):
            self.time_s = max(self.time_s, min(self._due_s.values()))
            self._changed.notify_all()

    def _samplers(self) -> set[threading.Thread]:
        return self._named_sampler() - self._others

    @staticmethod
    def _named_sampler() -> set[threading.Thread]:
        return {one for one in threading.enumerate() if one.name == "sampler"}
