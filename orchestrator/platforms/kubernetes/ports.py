"""Ports of pods on this computer: each connection to a port on 127.0.0.1 is carried to the pod.

A connection has a WebSocket of its own, so many can be open at once, and one that breaks is opened
anew by whoever connects again. The first byte of a frame is its channel: 0 data, 1 errors. The
first frame of each only has the port's number, in two bytes (portforward of Kubernetes, v4). One
thread carries both ways: a TLS connection must not be used by two at once.

A port is forwarded to the pod's loopback address. Where nothing listens at that, as YugabyteDB's
servers do not, a shell in the pod carries the connection to the pod's own address.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from selectors import EVENT_READ as READ
from selectors import EVENT_WRITE as WRITE
from typing import Any

import websocket

from orchestrator.errors import UnavailableError
from orchestrator.platforms.kubernetes.channels import await_any
from orchestrator.platforms.kubernetes.connection import Api
from orchestrator.platforms.kubernetes.errors import Refused, Unanswered
from orchestrator.platforms.kubernetes.manifests import MAIN

_PIECE = 16 * 1024  # as much as fits where there is room at all
_INPUT = 0  # the channel of what goes to the pod
# $0: the address, $1: the port. Either end ends the other. Standard input is read by a child in the
# foreground: one in the background of a command in a pod finds it ended after the first piece.
_RELAY = 'exec 3<>"/dev/tcp/$0/$1" || exit 1; set -m; (cat <&3; kill $$) & cat >&3; kill -- -$!'


@dataclass(frozen=True)
class _Way:
    """A way into a pod. `data`: the channel of what comes from it; `numbered`: whether the first
    frame of each channel only has the port's number."""

    open: Callable[[], Any]
    data: int
    numbered: bool


class PortForward:
    """The port `port` of a pod, at `local_port` (any free one if None) until it is closed.
    `address`: the pod's own, if its servers may listen at that alone."""

    def __init__(
        self, api: Api, pod_path: str, port: int, local_port: int | None, address: str = ""
    ) -> None:
        path, query = f"{pod_path}/portforward", [("ports", str(port))]
        self._ways = [_Way(lambda: api.channel(path, query), data=0, numbered=True)]
        if address:
            relay = ("bash", "-c", _RELAY, address, str(port))
            asked = [("container", MAIN), *(("command", word) for word in relay)]
            asked += [(stream, "true") for stream in ("stdin", "stdout")]
            self._ways.append(_Way(lambda: api.channel(f"{pod_path}/exec", asked), 1, False))
        self._listener = socket.socket()
        try:
            self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._listener.bind(("127.0.0.1", local_port or 0))
        except OSError as error:
            self._listener.close()
            raise UnavailableError(
                f"the port {local_port} is taken ({error})",
                advice="free the port, or leave `port` out of the profile to use any free one",
            ) from error
        self._listener.listen(128)
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
        unanswered = b""
        with here:
            for way in self._ways:
                try:
                    there = way.open()
                except (Refused, Unanswered):
                    return  # as a port where nothing listens: who connects tries again
                try:
                    _carry(here, there, way, unanswered)
                    return
                except _NothingListens as error:
                    unanswered = error.unanswered
                except (OSError, websocket.WebSocketException):
                    return
                finally:
                    there.shutdown()


class _NothingListens(Exception):
    """The pod reports an error before it has answered. `unanswered`: what was sent to it."""

    def __init__(self, unanswered: bytes) -> None:
        self.unanswered = unanswered
        super().__init__("nothing listens at this address of the pod")


def _carry(here: socket.socket, there: Any, way: _Way, to_there: bytes = b"") -> None:
    """Carries both ways until one side ends, or the pod reports an error; _NothingListens if that
    is all it says. What one side does not take yet keeps its other direction open, and is not read
    on meanwhile. `to_there`: what is sent first."""
    here.setblocking(False)
    to_here = b""
    unanswered: bytes | None = b""  # None: there was an answer
    begun: set[int] = set()  # channels whose first frame has come
    while True:
        reading = [one for one, full in ((here, to_there), (there.sock, to_here)) if not full]
        writing = [one for one, data in ((here, to_here), (there.sock, to_there)) if data]
        ready = await_any(reading, writing)
        if (there.sock, READ) in ready:
            code, frame = there.recv_data_frame(True)
            data = bytes(frame.data)
            if code == websocket.ABNF.OPCODE_CLOSE:
                return
            if code == websocket.ABNF.OPCODE_BINARY and data:
                if way.numbered and data[0] not in begun:
                    begun.add(data[0])
                elif data[0] == way.data:
                    to_here, unanswered = data[1:], None
                elif unanswered is None:
                    return
                else:
                    raise _NothingListens(unanswered + to_there)
        if (here, READ) in ready:
            to_there = here.recv(_PIECE)
            if not to_there:
                return
        if (here, WRITE) in ready:
            to_here = to_here[here.send(to_here) :]
        if (there.sock, WRITE) in ready:
            there.send_binary(bytes([_INPUT]) + to_there)
            unanswered = None if unanswered is None else unanswered + to_there
            to_there = b""
