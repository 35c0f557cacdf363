"""The two streams of a command, as an engine sends them on a connection for itself."""

from __future__ import annotations

import contextlib
import socket as sockets
import struct
from collections.abc import Iterator
from typing import Any

from docker.errors import DockerException

from orchestrator.errors import TierbenchError
from orchestrator.platforms.common.conversations import KEPT, LineConversation
from orchestrator.platforms.common.output import Chunk, Output
from orchestrator.powers import Clock

OUT, ERR = 1, 2
_HEAD = struct.Struct(">BxxxL")  # which stream, and how many bytes of it follow


def pieces(socket: Any) -> Iterator[tuple[int, bytes]]:
    """Yields (OUT or ERR, bytes) as they come. `socket` comes from `exec_start(…, socket=True)`.

    docker-py's own reader waits for the network before each piece, and so for what TLS has received
    already; and it misses what came together with the head of the engine's answer.
    """
    reader = socket._response.raw._fp.fp
    getattr(socket, "_sock", socket).settimeout(None)
    while len(head := reader.read(_HEAD.size)) == _HEAD.size:
        stream, length = _HEAD.unpack(head)
        yield stream, reader.read(length)


def chunks(socket: Any) -> Iterator[Chunk]:
    """What `Output` reads; the socket is closed at the end."""
    try:
        for stream, data in pieces(socket):
            yield (None, data) if stream == ERR else (data, None)
    except (DockerException, OSError, ValueError) as error:
        raise TierbenchError(f"the output stream broke: {error}") from error
    finally:
        # docker-py's own stream would leave the response, and with it the socket, open.
        with contextlib.suppress(OSError):
            socket._response.close()


class DockerConversation(LineConversation):
    """A command that is talked with, whose exec was made with `stdin`."""

    def __init__(self, socket: Any, doing: str, clock: Clock) -> None:
        self._socket = getattr(socket, "_sock", socket)  # docker-py's stream cannot be written to
        super().__init__(Output(chunks(socket), KEPT), self._socket.sendall, doing, clock)

    def close(self) -> None:
        """Ends its standard input, which ends every command that reads it."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(sockets.SHUT_WR)
