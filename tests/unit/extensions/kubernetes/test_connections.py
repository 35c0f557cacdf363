"""WebSockets to pods, over a pair of sockets: ports carried both ways, and turns at one connection.

The other end sends what the API server of Kubernetes 1.31 was seen to send.
"""

from __future__ import annotations

import socket
import struct
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
import websocket

from orchestrator.errors import TierbenchError
from orchestrator.extensions.kubernetes.channels import Frames
from orchestrator.extensions.kubernetes.port_forward import (
    Closed,
    ForwardedConnection,
    NothingListens,
)
from orchestrator.system.shell import script

_PORT = struct.pack("<H", 5433)
_FORWARDED, _RELAYED = 0, 1  # the channels of what comes
_WITHIN_S = 20.0


class Server:
    """The API server's end of a WebSocket."""

    def __init__(self) -> None:
        own, self._sock = socket.socketpair()
        self._sock.settimeout(_WITHIN_S)
        self.client: Any = websocket.WebSocket()
        self.client.sock, self.client.connected = own, True
        self._reading: Any = websocket.WebSocket()
        self._reading.sock, self._reading.connected = self._sock, True

    def frame(self, data: bytes) -> bytes:
        frame: Any = websocket.ABNF(1, 0, 0, 0, websocket.ABNF.OPCODE_BINARY, 0, data)
        return bytes(frame.format())

    def send(self, data: bytes) -> None:
        self._sock.sendall(data)

    def receive(self) -> bytes:
        return bytes(self._reading.recv())

    def close(self) -> None:
        self._sock.close()


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()
    made.client.shutdown()


@pytest.fixture
def caller(server: Server) -> Iterator[socket.socket]:
    """A connection that is carried to the server, which has told the port of both channels."""
    outside, here = socket.socketpair()
    outside.settimeout(_WITHIN_S)

    def carry() -> None:
        with here, suppress(Closed, NothingListens):
            ForwardedConnection(here, server.client, _FORWARDED, b"").carry()

    carrying = threading.Thread(target=carry)
    carrying.start()
    server.send(server.frame(b"\0" + _PORT) + server.frame(b"\1" + _PORT))
    with outside:
        yield outside
    carrying.join(_WITHIN_S)
    assert not carrying.is_alive()


def test_bytes_go_both_ways_and_the_port_is_not_among_them(
    server: Server, caller: socket.socket
) -> None:
    caller.sendall(b"question")
    assert server.receive() == b"\0question"
    server.send(server.frame(b"\0ans") + server.frame(b"\0wer"))
    answer = caller.recv(3) + caller.recv(3)
    assert answer == b"answer"


def test_much_goes_both_ways_at_once(server: Server, caller: socket.socket) -> None:
    size, piece = 4_000_000, b"\0" + 32_000 * b"x"

    def answer() -> None:
        for _ in range(size // 32_000):
            server.send(server.frame(piece))

    def ask() -> None:
        caller.sendall(size * b"y")

    threads = [threading.Thread(target=one) for one in (answer, ask)]
    for one in threads:
        one.start()
    asked = 0
    while asked < size:
        asked += len(server.receive()) - 1
    came = 0
    while came < size:
        came += len(caller.recv(65536))
    for one in threads:
        one.join(_WITHIN_S)
    assert (asked, came) == (size, size)


def test_an_error_of_the_pod_ends_the_connection(
    server: Server, caller: socket.socket
) -> None:
    server.send(server.frame(b"\1connection refused"))
    assert caller.recv(10) == b""


def test_where_nothing_listens_what_was_sent_is_sent_another_way(
    server: Server,
) -> None:
    """YugabyteDB's servers listen at the pod's own address, not at its loopback address."""
    refused = b"\1error forwarding port 5433 to pod: connect: connection refused"
    caller, here = socket.socketpair()
    with caller, here:
        caller.sendall(b"begin")
        server.send(server.frame(b"\0" + _PORT) + server.frame(b"\1" + _PORT))
        server.send(server.frame(refused))
        with pytest.raises(NothingListens) as refusal:
            ForwardedConnection(here, server.client, _FORWARDED, b"").carry()
        assert refusal.value.sent == b"begin"
        again = Server()
        again.send(again.frame(b"\1welcome") + again.frame(b'\3{"status": "Success"}'))
        with pytest.raises(Closed):
            ForwardedConnection(here, again.client, _RELAYED, b"begin").carry()
        assert again.receive() == b"\0begin"
        assert caller.recv(10) == b"welcome"
        again.close()
        again.client.shutdown()


def test_the_relay_in_a_pod_ends_with_either_end() -> None:
    package = "orchestrator.extensions.kubernetes"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        at = ("127.0.0.1", str(listener.getsockname()[1]))
        for the_server_ends in (True, False):
            relay = subprocess.Popen(
                script(package, "relay", *at),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            assert relay.stdin and relay.stdout
            server, _ = listener.accept()
            relay.stdin.write(b"question")
            relay.stdin.flush()
            assert server.recv(100) == b"question"
            server.sendall(b"answer")
            assert relay.stdout.read(6) == b"answer"
            if the_server_ends:
                server.close()
            else:
                relay.stdin.close()
            assert relay.stdout.read() == b"", "nobody holds its output open"
            relay.wait(_WITHIN_S)
            server.close()
            relay.stdin.close()
            relay.stdout.close()


def test_a_sender_has_its_turn_while_half_a_frame_has_come(server: Server) -> None:
    """Else a question to a command that says nothing yet would never be sent."""
    frames, came = Frames(server.client), list[Any]()
    reading = threading.Thread(target=lambda: came.append(next(iter(frames))))
    reading.start()
    whole = server.frame(b"\1an answer")
    server.send(whole[:5])
    frames.send(b"a question")
    assert server.receive() == b"\0a question"
    server.send(whole[5:])
    reading.join(_WITHIN_S)
    assert came == [(b"an answer", None)]


def test_a_command_that_falls_silent_is_an_error_where_that_has_a_limit(
    server: Server,
) -> None:
    frames = Frames(server.client, silence_s=0.2)
    server.send(server.frame(b"\1a piece"))
    came = list[Any]()
    with pytest.raises(TierbenchError, match=r"nothing came for 0\.2 s"):
        came.extend(frames)
    assert came == [(b"a piece", None)]


def test_what_nobody_takes_is_an_error_where_that_has_a_limit(server: Server) -> None:
    with pytest.raises(OSError, match="timed out"):
        Frames(server.client, silence_s=0.2).send(bytes(2**24))
