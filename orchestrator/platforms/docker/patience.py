"""Repeats calls of the engine that it did not answer.

A reset connection, a read that timed out, an engine that is being restarted: none of them is an
answer. Only for idempotent calls (state, logs, list, inspect, remove …).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from docker.errors import APIError, DockerException

from orchestrator.powers import Clock

PATIENCE_S = 60.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.25, 8.0
_PASSING = (502, 503, 504)  # of a proxy before the engine, or of one that is starting

_Answer = TypeVar("_Answer")


def patiently(call: Callable[[], _Answer], clock: Clock) -> _Answer:
    """Calls at least twice, and until a minute has passed; then raises the last error as it is."""
    end = clock.monotonic() + PATIENCE_S
    pause_s, again = _FIRST_PAUSE_S, False
    while True:
        try:
            return call()
        except (DockerException, OSError) as error:
            if not _may_pass(error) or (again and clock.monotonic() + pause_s > end):
                raise
        clock.sleep(pause_s)
        pause_s, again = min(2 * pause_s, _LONGEST_PAUSE_S), True


def _may_pass(error: Exception) -> bool:
    """A refusal is an answer too, so it is not asked again."""
    return not isinstance(error, APIError) or error.status_code in _PASSING
