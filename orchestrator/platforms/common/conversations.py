"""A command in a container that is talked with, line by line, over whatever carries its streams."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from orchestrator.errors import RunError
from orchestrator.platforms.common.output import Output
from orchestrator.powers import Clock

KEPT = 20  # pieces of output, as evidence of an end: a conversation lasts as long as a campaign


class LineConversation:
    """`write` sends bytes to the command's standard input, and raises OSError if it has ended. How
    that input is ended is the platform's own (`close`)."""

    def __init__(
        self, output: Output, write: Callable[[bytes], object], doing: str, clock: Clock
    ) -> None:
        self._output, self._write, self._doing, self._clock = output, write, doing, clock
        self._lines: deque[str] = deque()
        self._open = True

    def send(self, line: str) -> None:
        try:
            self._write(f"{line}\n".encode())
        except OSError as error:
            raise RunError(f"{self._doing}: it has ended: {error}") from error

    def receive(self, timeout_s: float) -> str:
        deadline = self._clock.monotonic() + timeout_s
        while not self._lines:
            if not self._open:
                raise RunError(f"{self._doing}: it has ended", evidence=self._output.tail())
            if self._clock.monotonic() >= deadline:
                raise RunError(f"{self._doing}: no answer within {timeout_s:g} s")
            self._open = self._output.follow(self._lines.append)
        return self._lines.popleft()
