"""A command in a container that is talked with, over the engine's hijacked connection."""

from __future__ import annotations

import contextlib
import socket as sockets
from typing import Any

from orchestrator.platforms.common.conversations import KEPT, LineConversation
from orchestrator.platforms.docker.output import Output
from orchestrator.powers import Clock


class DockerConversation(LineConversation):
    """`socket` comes from `exec_start(…, socket=True)` of an exec that was made with `stdin`."""

    def __init__(self, socket: Any, doing: str, clock: Clock) -> None:
        self._socket = getattr(socket, "_sock", socket)  # docker-py's stream cannot be written to
        super().__init__(Output(socket, kept=KEPT), self._socket.sendall, doing, clock)

    def close(self) -> None:
        """Ends its standard input, which ends every command that reads it."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(sockets.SHUT_WR)
