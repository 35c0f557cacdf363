"""A signal to a campaign whose Docker engine is gone: it is asked whether it is there, and then
nothing more; one that only takes its time is waited for.

Method: the real client before a peer on loopback that falls silent, or is no longer there.
"""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from orchestrator.errors import UnavailableError
from orchestrator.platforms.docker.engine import DockerPlatform
from orchestrator.system.clock import SystemClock

_ANSWERS = {
    "/_ping": b"OK",
    "/version": b'{"Version": "29.1.5", "ApiVersion": "1.52", "MinAPIVersion": "1.44"}',
    "/info": b"{}",
    "/containers/x/json": b'{"Id": "x", "State": {"Running": true}}',
}


class Peer:
    """An engine. `silent`: the paths that it does not answer until `over`; `asked`: all paths."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.silent: set[str] = set()
        self.over = threading.Event()
        peer = self

        class Answer(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path = self.path.split("?")[0].removeprefix("/v1.52")
                peer.asked.append(path)
                if path in peer.silent:
                    peer.over.wait()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(_ANSWERS[path])))
                self.end_headers()
                self.wfile.write(_ANSWERS[path])

            def log_message(self, *_: Any) -> None: ...

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        ).start()
        self.address = f"tcp://127.0.0.1:{self._server.server_port}"

    def go(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def peer() -> Iterator[Peer]:
    peer = Peer()
    yield peer
    peer.over.set()
    peer.go()


def ended(peer: Peer) -> DockerPlatform:
    """A platform on it, which a signal has ended."""
    platform = DockerPlatform(SystemClock(), peer.address, known_as="vm1")
    answering = platform.container("x").engine.answering
    answering.look_every_s, answering.probe_s = 0.1, 0.5
    peer.asked.clear()
    platform.guard.beats.ending.set()
    return platform


def test_a_silent_engine_is_asked_whether_it_is_there_and_then_nothing(
    peer: Peer,
) -> None:
    platform, peer.silent = ended(peer), {*_ANSWERS}
    for _step in range(3):
        with pytest.raises(
            UnavailableError, match=r"^the Docker engine vm1 does not answer"
        ):
            platform.container("x").state()
    assert peer.asked == ["/_ping"]


def test_an_engine_that_is_not_there_is_not_waited_for(peer: Peer) -> None:
    """Unlike one without a signal, which is asked for a minute."""
    platform = ended(peer)
    peer.go()
    with pytest.raises(UnavailableError, match="is not asked again"):
        platform.container("x").remove(60)


def test_an_engine_that_takes_its_time_is_waited_for(peer: Peer) -> None:
    platform, peer.silent = ended(peer), {"/containers/x/json"}

    def asked_twice() -> None:
        while peer.asked.count("/_ping") < 2:
            SystemClock().sleep(0.01)
        peer.over.set()

    threading.Thread(target=asked_twice, daemon=True).start()
    assert platform.container("x").state().words == "running"


def test_an_error_that_has_the_engine_s_name_by_chance_is_named(peer: Peer) -> None:
    """`vm1` is within `vm10`, and was taken for the name of the engine."""
    engine = DockerPlatform(SystemClock(), peer.address, known_as="vm1")
    errors = engine.container("x").engine.errors
    with (
        pytest.raises(UnavailableError, match=r"^vm1: vm10 is not known there"),
        errors("looking"),
        errors("looking at it"),
    ):
        raise UnavailableError("vm10 is not known there")
