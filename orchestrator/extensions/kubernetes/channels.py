"""WebSockets into a pod: the streams of a command.

The first byte of a frame is its channel. Of a command (remotecommand of Kubernetes, v4 and v5): 0
input, 1 output, 2 errors, 3 the status as JSON, 255 the end of a channel (v5)."""

import contextlib
import json
import threading
from collections.abc import Collection, Iterator
from selectors import EVENT_READ as READ, EVENT_WRITE as WRITE, PollSelector
from typing import Any

import websocket

from orchestrator.errors import TierbenchError
from orchestrator.platforms.common.commands import Chunk

INPUT = 0
OUTPUT = 1
_ERRORS = 2
_STATUS = 3
_END = 255
_V5 = "v5.channel.k8s.io"
_PIECE = 256 * 1024  # bytes of input: a frame must fit into the server's buffer
# The wait for the rest of a frame that has begun; then senders have their turn.
_REST_S = 0.2
_SEND_S = 90.0  # the limit of sending, where receiving has none


def await_any(
    reading: Collection[Any], writing: Collection[Any], timeout_s: float | None = None
) -> set[tuple[Any, int]]:
    """Waits until something can be read from or written to a socket; returns which, with READ or
    WRITE, none past the timeout."""
    # The kernel does not know of bytes that TLS has decrypted already.
    ready = {(sock, READ) for sock in reading if getattr(sock, "pending", int)()}
    if ready:
        timeout_s = 0
    with PollSelector() as selector:
        for sock in {*reading, *writing}:
            awaited = 0
            if sock in reading:
                awaited |= READ
            if sock in writing:
                awaited |= WRITE
            selector.register(sock, awaited)
        for key, events in selector.select(timeout_s):
            for event in (READ, WRITE):
                if events & event:
                    ready.add((key.fileobj, event))
    return ready


class Frames:
    """A command that runs, by a WebSocket. Iterating gives its output to its end; who sends
    meanwhile takes turns with it. `silence_s`: an error if for so long nothing comes, or can be
    sent."""

    def __init__(self, socket: Any, silence_s: float | None = None) -> None:
        self._socket = socket
        self._silence_s = silence_s
        self._socket.settimeout(silence_s or _SEND_S)
        self._turn = threading.Lock()
        self._status: dict[str, Any] = {}

    def __iter__(self) -> Iterator[Chunk]:
        try:
            while True:
                # Read as they come: the client library's own buffers copy everything
                # again with each frame, and lose what comes with the frame that closes.
                code, frame = self._received()
                if code == websocket.ABNF.OPCODE_CLOSE:
                    break
                if code not in (
                    websocket.ABNF.OPCODE_BINARY,
                    websocket.ABNF.OPCODE_TEXT,
                ):
                    continue
                data = bytes(frame.data)
                if not data:
                    continue
                channel = data[0]
                data = data[1:]
                if channel == _STATUS:
                    self._status = json.loads(data)
                elif channel in (OUTPUT, _ERRORS) and data:
                    if channel == OUTPUT:
                        yield (data, None)
                    else:
                        yield (None, data)
        except (websocket.WebSocketException, OSError, ValueError) as error:
            # Nothing more is to come after the status: how the connection ends does not matter.
            if not self._status:
                raise TierbenchError(f"the output stream broke: {error}") from error
        finally:
            with self._turn, contextlib.suppress(websocket.WebSocketException, OSError):
                self._socket.shutdown()

    def _received(self) -> tuple[int, Any]:
        while True:
            if not await_any([self._socket.sock], [], self._silence_s):
                raise TierbenchError(f"nothing came for {self._silence_s:g} s")
            # TLS must not be used by two threads at once: who reads and who sends take turns.
            with self._turn:
                self._socket.settimeout(_REST_S)
                try:
                    code, frame = self._socket.recv_data_frame(True)
                    return int(code), frame
                except websocket.WebSocketTimeoutException:
                    continue  # the bytes so far are kept, and the rest follows
                finally:
                    self._socket.settimeout(self._silence_s or _SEND_S)

    def send(self, data: bytes) -> None:
        for start in range(0, len(data), _PIECE):
            try:
                with self._turn:
                    self._socket.send_binary(
                        bytes([INPUT]) + data[start : start + _PIECE]
                    )
            except websocket.WebSocketException as error:
                raise OSError(str(error)) from error

    def end_input(self) -> None:
        """Ends standard input."""
        # Clusters before 1.30 speak v4, in which nothing but the whole connection can be ended.
        with contextlib.suppress(websocket.WebSocketException, OSError):
            if self._socket.subprotocol == _V5:
                with self._turn:
                    self._socket.send_binary(bytes([_END, INPUT]))
            else:
                self.cut()

    def cut(self) -> None:
        """Ends the connection; whoever reads its frames closes it."""
        # Closed under a reader, the socket's number could be given to another connection, which the
        # reader would then read.
        with self._turn:
            self._socket.abort()

    @property
    def exit_code(self) -> int | None:
        """The exit code of a command that has ended; None if the cluster did not tell."""
        if self._status.get("status") == "Success":
            return 0
        for cause in (self._status.get("details") or {}).get("causes") or []:
            if cause.get("reason") == "ExitCode":
                return int(cause["message"])
        return None

    @property
    def message(self) -> str:
        """What the cluster said about a command that it could not run; else ""."""
        if self.exit_code is None:
            return str(self._status.get("message") or "")
        return ""
