"""The frames of a command's WebSocket: its output, and how it ended.

The first byte of a frame is its channel (remotecommand of Kubernetes, v4 and v5): 0 input, 1
output, 2 errors, 3 the status as JSON, 255 the end of a channel (v5). They are read as they come:
the client library's own buffers copy everything again with each frame, and lose what comes with
the frame that closes.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Collection, Iterator
from selectors import EVENT_READ as READ
from selectors import EVENT_WRITE as WRITE
from selectors import PollSelector
from typing import Any

import websocket

from orchestrator.errors import TierbenchError
from orchestrator.platforms.common.output import Chunk

_INPUT, _OUTPUT, _ERRORS, _STATUS, _END = 0, 1, 2, 3, 255
_V5 = "v5.channel.k8s.io"
_PIECE = 256 * 1024  # of input: a frame must fit into the server's buffer
_REST_S = 0.2  # for the rest of a frame that has begun to come; then senders have their turn


def await_any(reading: Collection[Any], writing: Collection[Any]) -> set[tuple[Any, int]]:
    """Waits until something can be read from or written to a socket; returns which, with READ or
    WRITE. Of what TLS has decrypted already the kernel does not know."""
    decrypted = {(one, READ) for one in reading if getattr(one, "pending", int)()}
    with PollSelector() as selector:
        for one in {*reading, *writing}:
            selector.register(one, READ * (one in reading) | WRITE * (one in writing))
        found = selector.select(0 if decrypted else None)
    return decrypted | {
        (key.fileobj, event) for key, events in found for event in (READ, WRITE) if events & event
    }


class Frames:
    """A command that runs, by the WebSocket `socket`. Iterating gives its output to its end.

    One thread may iterate while another sends: they take turns, for a TLS connection must not be
    used by two at once."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self._turn = threading.Lock()
        self._status: dict[str, Any] = {}

    def __iter__(self) -> Iterator[Chunk]:
        try:
            while True:
                code, frame = self._received()
                if code == websocket.ABNF.OPCODE_CLOSE:
                    break
                if code not in (websocket.ABNF.OPCODE_BINARY, websocket.ABNF.OPCODE_TEXT):
                    continue
                data = bytes(frame.data)
                if not data:
                    continue
                channel, data = data[0], data[1:]
                if channel == _STATUS:
                    self._status = json.loads(data)
                elif channel in (_OUTPUT, _ERRORS) and data:
                    yield (data, None) if channel == _OUTPUT else (None, data)
        except (websocket.WebSocketException, OSError, ValueError) as error:
            if not self._status:
                raise TierbenchError(f"the output stream broke: {error}") from error
        finally:
            with self._turn, contextlib.suppress(websocket.WebSocketException, OSError):
                self._socket.shutdown()

    def _received(self) -> tuple[int, Any]:
        while True:
            await_any([self._socket.sock], [])
            with self._turn:
                self._socket.settimeout(_REST_S)
                try:
                    code, frame = self._socket.recv_data_frame(True)
                    return int(code), frame
                except websocket.WebSocketTimeoutException:
                    continue  # what came is kept, and the rest follows
                finally:
                    self._socket.settimeout(None)

    def send(self, data: bytes) -> None:
        """Sends to standard input. OSError if the command has ended."""
        for start in range(0, len(data), _PIECE):
            try:
                with self._turn:
                    self._socket.send_binary(bytes([_INPUT]) + data[start : start + _PIECE])
            except websocket.WebSocketException as error:
                raise OSError(str(error)) from error

    def end_input(self) -> None:
        """Ends standard input; on clusters before 1.30 that is only possible by closing all."""
        with contextlib.suppress(websocket.WebSocketException, OSError):
            if self._socket.subprotocol == _V5:
                with self._turn:
                    self._socket.send_binary(bytes([_END, _INPUT]))
            else:
                self.cut()

    def cut(self) -> None:
        """Ends the connection; whoever reads its frames closes it. Closed here, under a thread that
        reads, its number would be given to the next connection, whose bytes that thread would then
        take."""
        with self._turn:
            self._socket.abort()

    @property
    def exit_code(self) -> int:
        """The exit code of a command that has ended; -1 if the cluster did not tell."""
        if self._status.get("status") == "Success":
            return 0
        for cause in (self._status.get("details") or {}).get("causes") or []:
            if cause.get("reason") == "ExitCode":
                return int(cause["message"])
        return -1

    @property
    def message(self) -> str:
        """What the cluster said about a command that it could not run; else ""."""
        return str(self._status.get("message") or "") if self.exit_code == -1 else ""
