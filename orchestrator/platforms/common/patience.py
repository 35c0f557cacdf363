"""Repeats calls that a platform did not answer.

A reset connection, a read that timed out, a server that is being restarted: none of them is an
answer. Only for idempotent calls (state, logs, list, inspect, remove …).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from orchestrator.powers import Clock

PATIENCE_S = 60.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.25, 8.0

Answer = TypeVar("Answer")


def patiently(
    call: Callable[[], Answer], clock: Clock, may_pass: Callable[[Exception], bool]
) -> Answer:
    """Calls at least twice, and until a minute has passed, while what is raised `may_pass`; then
    raises the last error as it is."""
    end = clock.monotonic() + PATIENCE_S
    pause_s, again = _FIRST_PAUSE_S, False
    while True:
        try:
            return call()
        except Exception as error:
            if not may_pass(error) or (again and clock.monotonic() + pause_s > end):
                raise
        clock.sleep(pause_s)
        pause_s, again = min(2 * pause_s, _LONGEST_PAUSE_S), True
