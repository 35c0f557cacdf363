"""Clocks for tests that wait for real things: servers on loopback, threads, containers."""

from __future__ import annotations

from orchestrator.system.clock import SystemClock


class HastyClock(SystemClock):
    """The machine's clock, by which waiting and limits pass `pace` times as fast: limits are as
    they are outside of tests, and tests need not wait for them."""

    def __init__(self, pace: float = 1.0) -> None:
        self._pace, self._since_s, self._passed_s = pace, super().monotonic(), 0.0

    def hasten(self, pace: float) -> None:
        self._passed_s, self._since_s = self.monotonic(), super().monotonic()
        self._pace = pace

    def monotonic(self) -> float:
        return self._passed_s + (super().monotonic() - self._since_s) * self._pace

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds / self._pace)
