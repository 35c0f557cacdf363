"""Ports of pods on this computer: each connection to a port on 127.0.0.1 is carried to the pod.

A connection opens its own WebSocket, so many can be open at once, and one that breaks is opened
anew by whoever connects again.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from typing import Any

from kubernetes.stream import ws_client

from orchestrator.errors import UnavailableError
from orchestrator.platforms.kubernetes.connection import Api
from orchestrator.platforms.kubernetes.errors import Refused, Unanswered

_PIECE = 64 * 1024


class PortForward:
    """The port `port` of a pod, at `local_port` (any free one if None) until it is closed."""

    def __init__(self, api: Api, pod_path: str, port: int, local_port: int | None) -> None:
        self._open: Callable[[], Any] = lambda: ws_client.PortForward(
            api.channel(f"{pod_path}/portforward", [("ports", str(port))]), [port]
        ).socket(port)
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
        try:
            there = self._open()
        except (Refused, Unanswered):
            here.close()  # as a port where nothing listens: who connects tries again
            return
        back = threading.Thread(target=_copy, args=(there, here), daemon=True)
        back.start()
        _copy(here, there)
        back.join()
        # Only now: the number of a socket that is closed while a thread still uses it is given to
        # the next connection, whose bytes that thread would then take.
        here.close()
        there.close()


def _copy(source: Any, target: Any) -> None:
    """Copies one direction to its end, then ends the connection in both."""
    with contextlib.suppress(OSError):
        while data := source.recv(_PIECE):
            target.sendall(data)
    for one in (source, target):
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
