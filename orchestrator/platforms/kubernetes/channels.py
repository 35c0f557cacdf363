"""WebSockets into a pod: the streams of a command, and ports forwarded to this computer.

The first byte of a frame is its channel. Of a command (remotecommand of Kubernetes, v4 and v5): 0
input, 1 output, 2 errors, 3 the status as JSON, 255 the end of a channel (v5). Frames are read as
they come: the client library's own buffers copy everything again with each frame, and lose what
comes with the frame that closes.

Of a port (portforward, v4): 0 data, 1 errors; the first frame of each only has the port's number,
in two bytes. Each connection to a port has a WebSocket of its own: one that breaks is opened anew
by whoever connects again. One thread carries both ways: TLS must not be used by two at once."""

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Collection, Iterator
from functools import partial
from selectors import EVENT_READ as READ
from selectors import EVENT_WRITE as WRITE
from selectors import PollSelector
from typing import Any

import websocket

from orchestrator.errors import TierbenchError, UnavailableError
from orchestrator.platforms.common.commands import Chunk
from orchestrator.platforms.kubernetes.connection import Api, Refused, Unanswered
from orchestrator.platforms.kubernetes.trouble import MAIN
from orchestrator.system.shell import script

_INPUT = 0
_OUTPUT = 1
_ERRORS = 2
_STATUS = 3
_END = 255
_FORWARDED = (
    0  # what comes from a port; on its channels the first frame is the port's number
)
_V5 = "v5.channel.k8s.io"
_PIECE = 256 * 1024  # of input: a frame must fit into the server's buffer
_REST_S = (
    0.2  # for the rest of a frame that has begun to come; then senders have their turn
)
_SEND_S = 90.0  # for what is sent, where what comes has no limit
_PORT_PIECE = 16 * 1024  # as much as fits where there is room at all


def await_any(
    reading: Collection[Any], writing: Collection[Any], timeout_s: float | None = None
) -> set[tuple[Any, int]]:
    """Waits until something can be read from or written to a socket; returns which, with READ or
    WRITE, none past the timeout. Of what TLS has decrypted already the kernel does not know."""
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
                elif channel in (_OUTPUT, _ERRORS) and data:
                    if channel == _OUTPUT:
                        yield (data, None)
                    else:
                        yield (None, data)
        except (websocket.WebSocketException, OSError, ValueError) as error:
            if not self._status:
                raise TierbenchError(f"the output stream broke: {error}") from error
        finally:
            with self._turn, contextlib.suppress(websocket.WebSocketException, OSError):
                self._socket.shutdown()

    def _received(self) -> tuple[int, Any]:
        while True:
            if not await_any([self._socket.sock], [], self._silence_s):
                raise TierbenchError(f"nothing came for {self._silence_s:g} s")
            with self._turn:
                self._socket.settimeout(_REST_S)
                try:
                    code, frame = self._socket.recv_data_frame(True)
                    return int(code), frame
                except websocket.WebSocketTimeoutException:
                    continue  # what came is kept, and the rest follows
                finally:
                    self._socket.settimeout(self._silence_s or _SEND_S)

    def send(self, data: bytes) -> None:
        for start in range(0, len(data), _PIECE):
            try:
                with self._turn:
                    self._socket.send_binary(
                        bytes([_INPUT]) + data[start : start + _PIECE]
                    )
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
        """Ends the connection; whoever reads its frames closes it: closed under a reader, its
        number could be given to another connection, which the reader would then read."""
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
        if self.exit_code == -1:
            return str(self._status.get("message") or "")
        return ""


class PortForward:
    """The port `port` of a pod, at `local_port` (any free one if None) until it is closed.
    `address`: the pod's own, if its servers may listen at that alone."""

    def __init__(
        self,
        api: Api,
        pod_path: str,
        port: int,
        local_port: int | None,
        address: str = "",
    ) -> None:
        # The channel of what comes → what opens the way, those into the pod in turn.
        self._ways: dict[int, Callable[[], Any]] = {}
        forwarding = [("ports", str(port))]
        self._ways[_FORWARDED] = partial(
            api.channel, f"{pod_path}/portforward", forwarding
        )
        if address:
            relay = script(__package__, "relay", address, str(port))
            words = [("command", word) for word in relay]
            streams = [("stdin", "true"), ("stdout", "true")]
            relaying = [("container", MAIN), *words, *streams]
            self._ways[_OUTPUT] = partial(api.channel, f"{pod_path}/exec", relaying)
        try:
            self._listener = socket.create_server(
                ("127.0.0.1", local_port or 0), backlog=128
            )
        except OSError as error:
            raise UnavailableError(
                f"the port {local_port} is taken ({error})",
                advice="free the port, or leave `port` out of the profile to use any free "
                "one",
            ) from error
        self.local_port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, name=f"port {port}", daemon=True).start()

    def close(self) -> None:
        """No new connections; those that are open end with the pod."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                here, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._carry, args=(here,), daemon=True).start()

    def _carry(self, here: socket.socket) -> None:
        sent = b""
        with here:
            for channel, open_way in self._ways.items():
                try:
                    there = open_way()
                except (Refused, Unanswered, UnavailableError):
                    return  # as a port where nothing listens: who connects tries again
                try:
                    unanswered = _carry(here, there, channel, sent)
                except (OSError, websocket.WebSocketException):
                    return
                finally:
                    there.shutdown()
                if unanswered is None:
                    return
                sent = unanswered


def _carry(
    here: socket.socket, there: Any, channel: int, to_there: bytes
) -> bytes | None:
    """Carries both ways until one ends. Returns what was sent if nothing listens: the pod reports
    an error before it has answered. What a side does not take keeps the other from being read.
    `channel`: of what comes; `to_there`: what is sent first."""
    here.setblocking(False)
    to_here = b""
    unanswered: bytes | None = b""  # None: there was an answer
    begun: set[int] = set()  # channels whose first frame has come
    while True:
        ready = _await_either(here, there.sock, bool(to_here), bool(to_there))
        if (there.sock, READ) in ready:
            code, frame = there.recv_data_frame(True)
            data = bytes(frame.data)
            if code == websocket.ABNF.OPCODE_CLOSE:
                return None
            if code == websocket.ABNF.OPCODE_BINARY and data:
                if channel == _FORWARDED and data[0] not in begun:
                    begun.add(data[0])
                elif data[0] == channel:
                    to_here = data[1:]
                    unanswered = None
                elif unanswered is None:
                    return None
                else:
                    return unanswered + to_there
        if (here, READ) in ready:
            to_there = here.recv(_PORT_PIECE)
            if not to_there:
                return None
        if (here, WRITE) in ready:
            to_here = to_here[here.send(to_here) :]
        if (there.sock, WRITE) in ready:
            there.send_binary(bytes([_INPUT]) + to_there)
            if unanswered is not None:
                unanswered += to_there
            to_there = b""


def _await_either(
    here: Any, there: Any, waits_for_here: bool, waits_for_there: bool
) -> set[tuple[Any, int]]:
    """Waits as `await_any` does.

    A side is read only when the other has taken all that came from it.
    """
    reading: list[Any] = []
    writing: list[Any] = []
    if waits_for_there:
        writing.append(there)
    else:
        reading.append(here)
    if waits_for_here:
        writing.append(here)
    else:
        reading.append(there)
    return await_any(reading, writing)
