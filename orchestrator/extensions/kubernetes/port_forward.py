"""Ports of a pod, forwarded to this computer.

By WebSocket (portforward, v4): 0 data, 1 errors; the first frame of each channel only has the
port's number, in two bytes. By a relay in the pod the channels are those of a command."""

import contextlib
import threading
from collections.abc import Callable
from functools import partial
from selectors import EVENT_READ as READ, EVENT_WRITE as WRITE
from typing import Any

import websocket

from orchestrator.errors import UnavailableError
from orchestrator.extensions.kubernetes import channels
from orchestrator.extensions.kubernetes.connection import Api, Refused, Unanswered
from orchestrator.extensions.kubernetes.trouble import MAIN
from orchestrator.system import sockets
from orchestrator.system.shell import script

# The channel of bytes from a port. The first frame of its channels is the port's number.
_FORWARDED = 0
_PORT_PIECE = 16 * 1024  # the size that fits where there is room at all


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
        # What opens each way to the port, by the channel in which its bytes come. Forwarding
        # reaches a pod's loopback address alone; where nothing listens at that, a relay in the pod
        # reaches its own.
        self._ways: dict[int, Callable[[], Any]] = {}
        self._ways[_FORWARDED] = _forwarding(api, pod_path, port)
        if address:
            self._ways[channels.OUTPUT] = _relaying(api, pod_path, port, address)
        try:
            self._listener = sockets.listener(local_port)
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
            sockets.end(self._listener)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                here, _ = self._listener.accept()
            except OSError:
                return
            # Each connection has a WebSocket of its own: one that breaks ends no other.
            threading.Thread(target=self._carry, args=(here,), daemon=True).start()

    def _carry(self, here: sockets.Socket) -> None:
        """Carries a connection by the first way at whose end something listens."""
        undelivered = b""
        with here:
            for channel, open_way in self._ways.items():
                try:
                    there = open_way()
                except (Refused, Unanswered, UnavailableError):
                    # It looks like a port where nothing listens: who connects tries again.
                    return
                try:
                    ForwardedConnection(here, there, channel, undelivered).carry()
                except NothingListens as refusal:
                    undelivered = refusal.sent
                except (Closed, OSError, websocket.WebSocketException):
                    return
                finally:
                    there.shutdown()


def _forwarding(api: Api, pod_path: str, port: int) -> Callable[[], Any]:
    """Opens a WebSocket to a port at the pod's loopback address."""
    question = [("ports", str(port))]
    return partial(api.channel, f"{pod_path}/portforward", question)


def _relaying(api: Api, pod_path: str, port: int, address: str) -> Callable[[], Any]:
    """Opens a WebSocket to a relay in the pod, which connects to `address`."""
    command = script(__package__, "relay", address, str(port))
    words = [("command", word) for word in command]
    streams = [("stdin", "true"), ("stdout", "true")]
    question = [("container", MAIN), *words, *streams]
    return partial(api.channel, f"{pod_path}/exec", question)


class Closed(Exception):
    """One side has closed the connection."""


class NothingListens(Exception):
    """The other side has ended before any answer. `sent`: all that it was sent, and more that came
    from here, for another way."""

    def __init__(self, sent: bytes) -> None:
        super().__init__("nothing listens")
        self.sent = sent


class ForwardedConnection:
    """A connection to the port, carried both ways by the WebSocket `there`.

    `channel`: of what comes from there; `sent`: what another way could not deliver. One thread
    carries both ways, as TLS must not be used by two at once.
    """

    def __init__(
        self, here: sockets.Socket, there: Any, channel: int, sent: bytes
    ) -> None:
        self._here = here
        self._there = there
        self._channel = channel
        self._to_here = b""
        self._to_there = sent
        self._unanswered = b""  # what was sent, until there is an answer
        self._is_answered = False
        self._begun: set[int] = set()  # channels whose first frame has come

    def carry(self) -> None:
        """Carries until one side ends: raises Closed, NothingListens, or what broke."""
        self._here.setblocking(False)
        there = self._there.sock
        while True:
            ready = self._await_either()
            if (there, READ) in ready:
                self._take_frame()
            if (self._here, READ) in ready:
                self._take_bytes()
            if (self._here, WRITE) in ready:
                self._give_bytes()
            if (there, WRITE) in ready:
                self._give_frame()

    def _await_either(self) -> set[tuple[Any, int]]:
        """Waits as `await_any` does.

        A side is read only when the other has taken all that came from it.
        """
        reading: list[Any] = []
        writing: list[Any] = []
        if self._to_there:
            writing.append(self._there.sock)
        else:
            reading.append(self._here)
        if self._to_here:
            writing.append(self._here)
        else:
            reading.append(self._there.sock)
        return channels.await_any(reading, writing)

    def _take_frame(self) -> None:
        code, frame = self._there.recv_data_frame(True)
        if code == websocket.ABNF.OPCODE_CLOSE:
            raise Closed
        data = bytes(frame.data)
        if code != websocket.ABNF.OPCODE_BINARY or not data:
            return
        channel = data[0]
        is_first = channel not in self._begun
        self._begun.add(channel)
        # The first frame of a forwarded channel has the port's number alone.
        if is_first and self._channel == _FORWARDED:
            return
        if channel == self._channel:
            self._to_here = data[1:]
            self._is_answered = True
            self._unanswered = b""
        # An error on another channel: after an answer the server has ended, before one nothing
        # listens.
        elif self._is_answered:
            raise Closed
        else:
            raise NothingListens(self._unanswered + self._to_there)

    def _take_bytes(self) -> None:
        self._to_there = self._here.recv(_PORT_PIECE)
        if not self._to_there:
            raise Closed

    def _give_bytes(self) -> None:
        count = self._here.send(self._to_here)
        self._to_here = self._to_here[count:]

    def _give_frame(self) -> None:
        self._there.send_binary(bytes([channels.INPUT]) + self._to_there)
        if not self._is_answered:
            self._unanswered += self._to_there
        self._to_there = b""
