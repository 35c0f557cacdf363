"""Whatever accepts and then says nothing is an error with the last that it said, not a wait.

Method: each kind of peer is one on loopback (tests/silent_peers.py) and has a limit of a fraction
of a second; that the real limits keep within two minutes is reckoned.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from orchestrator.errors import TierbenchError
from orchestrator.extensions.kubernetes import connection as cluster, pod
from orchestrator.model import Tls
from orchestrator.platforms.common import commands, lifecycle
from orchestrator.platforms.common.agent import AgentMachine
from orchestrator.platforms.common.commands import Chunk, LineConversation
from orchestrator.platforms.docker import connection
from orchestrator.platforms.docker.connection import Engine
from orchestrator.platforms.docker.containers import DockerContainer
from orchestrator.platforms.docker.engine import DockerPlatform
from orchestrator.platforms.docker.images import DockerImages
from orchestrator.platforms.docker.tunnel import Tunnel
from orchestrator.system import http_client, sql
from orchestrator.system.clock import SystemClock
from tests.clocks import HastyClock
from tests.fake_cluster import FakeCluster
from tests.fakes import FakeClock
from tests.silent_peers import ARCHIVING, ENGINE, EXECUTING, WORKING, silent

_SHORT_S = 0.3
_PACE = 200.0  # by which a silence of so long is one that is not waited for twice
# As they are outside of this test.
_LIMITS_S = {
    "an engine's answer, or its sign of life": commands.QUIET_S + connection.SILENCE_S,
    "a machine in the cluster": cluster._CONNECT_S
    + cluster.Api.read_s
    + commands.QUIET_S,
    "a WebSocket": cluster.Api.read_s,
    "files of a pod": pod._SILENCE_S,
    "what is sent": commands.SEND_S,
    "ssh": Tunnel.open_s,
    "a database": sql.Address.connect_s,
    "a public page": http_client.PUBLIC_TIMEOUT_S + http_client._GRACE_S,
    "a question to an agent": AgentMachine.answer_s,
}
_SILENCES_S = (connection.SILENCE_S, cluster.Api.read_s)
_SSH = """#!/bin/sh
case "$*" in -G*) echo "hostname 127.0.0.1"; exit ;; esac
echo "debug1: Next authentication method: publickey"
exec sleep 60
"""


class Impatient(Engine):
    silence_s = _SHORT_S


def docker(port: int) -> DockerContainer:
    clock = HastyClock(_PACE)
    address = f"tcp://127.0.0.1:{port}"
    return DockerContainer("x", Impatient(clock, address, "c1", "vm1"), Mock(), None)


def ask_cluster(folder: Path) -> None:
    with silent() as port, pytest.MonkeyPatch.context() as patch:
        here = Mock(folder=folder, address=f"http://127.0.0.1:{port}")
        patch.setenv("KUBECONFIG", str(FakeCluster.kubeconfig(here)))
        with cluster.cluster_errors("looking at node-1"):
            api = cluster.Api(HastyClock(_PACE))
            api.read_s = _SHORT_S
            api.get("/api/v1/pods/node-1")


class Deaf:
    """The streams of a command that reads nothing, or says a line and then nothing."""

    def __init__(self, takes: bool) -> None:
        self._takes, self.over = takes, threading.Event()

    def __iter__(self) -> Iterator[Chunk]:
        yield None, b"the last line\n"
        self.over.wait(60)

    def send(self, data: bytes) -> None:
        if not self._takes:
            self.over.wait(60)

    def end_input(self) -> None:
        self.over.set()


@contextmanager
def talking(streams: Deaf) -> Iterator[LineConversation]:
    with closing(LineConversation(streams, "talking", SystemClock())) as talk:
        talk.send_s = _SHORT_S
        yield talk


def ask_agent(folder: Path) -> None:
    class Impatient(AgentMachine):
        answer_s = _SHORT_S

    far = Impatient("far", lambda: talking(Deaf(takes=True)), SystemClock())
    far.read("/proc/stat")


def say_to_deaf(folder: Path) -> None:
    with talking(Deaf(takes=False)) as talk:
        while "the last line" not in talk._output.tail():
            talk._output.follow(lambda _: None)
        talk.send("a line")


def open_tunnel(folder: Path) -> None:
    class Impatient(Tunnel):
        open_s = _SHORT_S

    Impatient("ssh://vm1")


def on_engine(
    answers: dict[str, bytes], do: Callable[[DockerContainer], object]
) -> Any:
    def case(folder: Path) -> None:
        with silent(answers) as port:
            do(docker(port))

    return case


def put(container: DockerContainer) -> None:
    container.put(Path(__file__), "/x/file")


class UntilItWorks(dict[str, bytes]):
    """The answers of an engine that falls silent when it has begun with the work. It says once more
    that it is there: a busy machine needs the time to read how the work began."""

    _works = False

    def get(self, path: str, otherwise: Any = b"") -> Any:
        answer = super().get(path, otherwise)
        if path not in _BEFORE_WORK:
            self._works = True
        elif path == "/_ping" and self._works:
            self.pop(path, None)
        return answer


_BEFORE_WORK = {*ENGINE, "/info"}


def falls_silent(do: Callable[[DockerPlatform, Path], object]) -> Any:
    def case(folder: Path) -> None:
        with silent(UntilItWorks(WORKING)) as port:
            address = f"tcp://127.0.0.1:{port}"
            platform = DockerPlatform(
                HastyClock(_PACE), address, "c1", "vm1", Impatient
            )
            do(platform, folder)

    return case


def build(platform: DockerPlatform, folder: Path) -> None:
    platform.images.build(str(folder), "a:1", print)


def wait_for_end(platform: DockerPlatform, _folder: Path) -> None:
    began = platform._clock.monotonic()
    commands.to_its_end(
        platform.container("x"), ("copy",), began, math.inf, platform._clock
    )


def page(every_s: float, answers: dict[str, bytes]) -> Any:
    def case(folder: Path) -> None:
        with silent(answers, every_s) as port:
            http_client.get(f"http://127.0.0.1:{port}/metrics", _SHORT_S)

    return case


def session(folder: Path) -> None:
    with silent() as port:
        at = sql.Address(
            "127.0.0.1", port, "u", "p", "d", Tls("off"), connect_s=2
        )  # psycopg's least
        with sql.session(at):
            pass


def run_for_a_day(container: DockerContainer) -> None:
    container.exec(("load",), timeout_s=86_400)


_HEAD = b"HTTP/1.1 200 OK\r\n"
_ENDLESS = {"/metrics": _HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"fffff\r\n"}
PEERS = {
    "a Docker engine": (on_engine({}, lambda _: None), "vm1: .*engine does not answer"),
    "its calls": (on_engine(ENGINE, lambda one: one.state()), "looking at x"),
    "a command's output": (on_engine(EXECUTING, run_for_a_day), "the last line"),
    "files from it": (
        on_engine(ARCHIVING, lambda one: one.fetch("/out", Path())),
        "after 7 bytes",
    ),
    "files to it": (on_engine(ENGINE, put), "putting .* into x"),
    "an image that is pulled": (
        falls_silent(lambda one, _: one.images.pull("a:1")),
        "vm1: .*not go on .*timed out.*Pulling fs layer",
    ),
    "one that is built": (
        falls_silent(build),
        "vm1: .*not go on .*timed out.*Step 1/3",
    ),
    "one that is imported": (
        falls_silent(lambda one, _: one.images.import_image(__file__, "a", "1")),
        "vm1: .*not go on .*timed out",
    ),
    "a container that is waited for": (falls_silent(wait_for_end), "timed out"),
    "an API server": (ask_cluster, "looking at node-1: .*does not answer"),
    "ssh in authentication": (open_tunnel, "authentication method: publickey"),
    "a database": (session, "SQL at 127.0.0.1:.* timeout expired"),
    "a page": (page(0, {}), "/metrics: timed out"),
    "a page that trickles": (
        page(0.01, _ENDLESS),
        "was still incomplete after .* bytes",
    ),
    "its head that trickles": (
        page(0.01, {"/metrics": _HEAD}),
        "/metrics: .*no answer within",
    ),
    "an agent": (ask_agent, "far does not answer: .*the last line"),
    "what reads nothing": (say_to_deaf, "the last line"),
}


@pytest.mark.parametrize("peer", PEERS)
def test_a_silent_peer_is_an_error_with_its_last_evidence(
    peer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ssh").write_text(_SSH)
    (tmp_path / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    case, said = PEERS[peer]
    began_s = SystemClock().monotonic()
    with pytest.raises((TierbenchError, OSError)) as raised:
        case(tmp_path)
    assert SystemClock().monotonic() - began_s < 60
    text = f"{raised.value} {getattr(raised.value, 'evidence', '')}"
    assert re.search(said, text, re.DOTALL), text


def test_the_real_limits_end_each_of_them_within_two_minutes() -> None:
    assert {name: limit for name, limit in _LIMITS_S.items() if limit >= 120} == {}


def test_a_pull_that_says_nothing_goes_on_while_its_engine_answers() -> None:
    asked = threading.Semaphore(0)

    def told(*_: object, **__: object) -> Iterator[dict[str, str]]:
        for _layer in range(2):
            assert asked.acquire(timeout=60) and asked.acquire(timeout=60)
            yield {"status": "Download complete"}

    client = Mock(ping=asked.release)
    client.api.pull = told
    own = Mock(
        client=client,
        errors=lambda _: nullcontext(),
        patiently=lambda call: call(),
        silence_s=0.1,
    )
    assert DockerImages(own).pull("a:1")


@pytest.mark.parametrize("limit_s", _SILENCES_S)
def test_what_was_silent_for_its_whole_limit_is_not_asked_again(limit_s: float) -> None:
    """Else it would be waited for twice as long. What is refused sooner is asked for a minute."""
    clock, asked = FakeClock(), list[float]()

    def call(takes_s: float) -> None:
        asked.append(takes_s)
        clock.sleep(takes_s)
        raise TimeoutError

    for takes_s in (limit_s, 5.0):
        with pytest.raises(TimeoutError):
            lifecycle.patiently(partial(call, takes_s), clock, lambda _: True)
    assert asked.count(limit_s) == 1 and asked.count(5.0) > 4
