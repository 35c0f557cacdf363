"""Sockets of this computer: how they are found free, and how they end.

Goal: who waits at a socket that is ended waits no longer. Method: real sockets on loopback.
"""

import os
import socket
from contextlib import closing
from pathlib import Path

import pytest

from orchestrator.system import sockets


def test_a_port_that_is_listened_at_is_not_free() -> None:
    with closing(sockets.listener(None)) as listening:
        port = listening.getsockname()[1]
        with pytest.raises(OSError):
            sockets.require_free(port)


def test_a_port_is_free_again_when_its_listener_is_closed() -> None:
    with closing(sockets.listener(None)) as listening:
        port = listening.getsockname()[1]
    sockets.require_free(port)


def test_a_listener_is_reached_from_this_computer_alone() -> None:
    with closing(sockets.listener(None)) as listening:
        assert listening.getsockname()[0] == "127.0.0.1"


def test_a_unix_socket_without_a_listener_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        sockets.require_listening(str(tmp_path / "nobody.sock"), 5.0)


def test_a_unix_socket_with_a_listener_is_not_refused(tmp_path: Path) -> None:
    path = str(tmp_path / "a.sock")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        sockets.require_listening(path, 5.0)


def test_a_peer_still_answers_when_nothing_more_is_sent() -> None:
    here, there = socket.socketpair()
    with here, there:
        sockets.end_sending(here)
        assert there.recv(1) == b""
        there.sendall(b"answer")
        assert here.recv(10) == b"answer"


def test_an_ended_connection_sends_and_receives_nothing() -> None:
    here, there = socket.socketpair()
    with here, there:
        sockets.end(here)
        assert here.recv(1) == b""
        with pytest.raises(OSError):
            here.sendall(b"more")


def test_a_librarys_descriptor_ends_and_stays_open_until_it_closes_it() -> None:
    here, there = socket.socketpair()
    with here, there:
        sockets.end_descriptor(here.fileno())
        assert here.recv(1) == b""
        # It raises OSError for a descriptor that was closed.
        os.fstat(here.fileno())
