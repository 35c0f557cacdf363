"""Ports of a pod, forwarded to this computer.

By WebSocket (portforward, v4): 0 data, 1 errors; the first frame of each channel only has the
port's number, in two bytes. By a relay in the pod the channels are those of a command."""

import contextlib
import socket
import threading
from collections.abc import Callable
from functools import partial
from selectors import EVENT_READ as READ
from selectors import EVENT_WRITE as WRITE
from typing import Any

import websocket

from orchestrator.errors import UnavailableError
from orchestrator.platforms.kubernetes import channels
from orchestrator.platforms.kubernetes.connection import Api, Refused, Unanswered
from orchestrator.platforms.kubernetes.trouble import MAIN
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
        # The channel of what comes → what opens the way. Forwarding reaches a pod's loopback
        # address alone; where nothing listens at that, a relay in the pod reaches its own.
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
            self._ways[channels.OUTPUT] = partial(
                api.channel, f"{pod_path}/exec", relaying
            )
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
            # Each connection has a WebSocket of its own: one that breaks ends no other.
            threading.Thread(target=self._carry, args=(here,), daemon=True).start()

    def _carry(self, here: socket.socket) -> None:
        sent = b""
        with here:
            for channel, open_way in self._ways.items():
                try:
                    there = open_way()
                except (Refused, Unanswered, UnavailableError):
                    # It looks like a port where nothing listens: who connects tries again.
                    return
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
    """Carries both ways until one ends. Returns what was sent if nothing listens. `channel`: of
    what comes; `to_there`: what is sent first."""
    # The same thread carries both ways, as TLS must not be used by two at once.
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
                # An error on another channel: after an answer the
                # server has ended, before one nothing listens.
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
            there.send_binary(bytes([channels.INPUT]) + to_there)
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
    return channels.await_any(reading, writing)
