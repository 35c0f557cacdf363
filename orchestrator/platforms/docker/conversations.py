"""A command in a container that is talked with, over the engine's hijacked connection."""

from __future__ import annotations

import contextlib
import socket as sockets
from collections import deque
from typing import Any

from orchestrator.errors import RunError
from orchestrator.platforms.docker.output import Output
from orchestrator.powers import Clock

_KEPT = 20  # pieces of output, as evidence of an end


class DockerConversation:
    """`socket` comes from `exec_start(…, socket=True)` of an exec that was made with `stdin`."""

    def __init__(self, socket: Any, doing: str, clock: Clock) -> None:
        self._output, self._doing, self._clock = Output(socket, kept=_KEPT), doing, clock
        self._socket = getattr(socket, "_sock", socket)  # docker-py's stream cannot be written to
        self._lines: deque[str] = deque()
        self._open = True

    def send(self, line: str) -> None:
        try:
            self._socket.sendall(f"{line}\n".encode())
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

    def close(self) -> None:
        """Ends its standard input, which ends every command that reads it."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(sockets.SHUT_WR)
