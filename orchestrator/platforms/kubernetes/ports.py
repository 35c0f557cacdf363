"""Ports of pods on this computer: each connection to a port on 127.0.0.1 is carried to the pod.

A connection has a WebSocket of its own, so many can be open at once, and one that breaks is opened
anew by whoever connects again. The first byte of a frame is its channel: 0 data, 1 errors. The
first frame of each only has the port's number, in two bytes (portforward of Kubernetes, v4). One
thread carries both ways: a TLS connection must not be used by two at once.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from selectors import EVENT_READ as READ
from selectors import EVENT_WRITE as WRITE
from typing import Any

import websocket

from orchestrator.errors import UnavailableError
from orchestrator.platforms.kubernetes.channels import await_any
from orchestrator.platforms.kubernetes.connection import Api
from orchestrator.platforms.kubernetes.errors import Refused, Unanswered

_PIECE = 16 * 1024  # as much as fits where there is room at all
_DATA = 0


class PortForward:
    """The port `port` of a pod, at `local_port` (any free one if None) until it is closed."""

    def __init__(self, api: Api, pod_path: str, port: int, local_port: int | None) -> None:
        path, query = f"{pod_path}/portforward", [("ports", str(port))]
        self._open: Callable[[], Any] = lambda: api.channel(path, query)
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
        with here:
            try:
                there = self._open()
            except (Refused, Unanswered):
                return  # as a port where nothing listens: who connects tries again
            try:
                with contextlib.suppress(OSError, websocket.WebSocketException):
                    _carry(here, there)
            finally:
                there.shutdown()


def _carry(here: socket.socket, there: Any) -> None:
    """Carries both ways until one side ends, or the pod reports an error. What one side does not
    take yet keeps its other direction open, and is not read on meanwhile."""
    here.setblocking(False)
    to_here = to_there = b""
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
                if data[0] not in begun:
                    begun.add(data[0])
                elif data[0] != _DATA:
                    return
                else:
                    to_here = data[1:]
        if (here, READ) in ready:
            to_there = here.recv(_PIECE)
            if not to_there:
                return
        if (here, WRITE) in ready:
            to_here = to_here[here.send(to_here) :]
        if (there.sock, WRITE) in ready:
            there.send_binary(bytes([_DATA]) + to_there)
            to_there = b""
