"""What sessions wait for: read beside the load, on a session of its own, and never waited for."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.collectors.sessions import KINDS, SessionWaits, session_waits
from orchestrator.errors import RunError
from orchestrator.model import Cluster, Endpoint, Node
from orchestrator.parts import Collector
from orchestrator.run.record.readings import Readings
from orchestrator.run.record.telemetry import read_once
from orchestrator.system.sql import Address, query
from tests import ROOT
from tests.fakes import FakeClock

ENDPOINT = Endpoint("10.1.2.11", 5432, 5432, "bench", "secret", "bench")
CLUSTER = Cluster(
    "postgresql", "17.4", (Node("node-1", "database"),), (ENDPOINT,), "net"
)
ROWS = [{"kind": "idle", "number": 3}, {"kind": "running", "number": 2}]
TOLD = dict.fromkeys((f"sessions_{kind}" for kind in KINDS), 0.0)
TOLD |= {"sessions_idle": 3.0, "sessions_running": 2.0}


class Server:
    """`answers`: whether it does, or keeps a statement until it may."""

    def __init__(self) -> None:
        self.opened: list[Address] = []
        self.closed, self.broken = 0, False
        self.answers = threading.Event()
        self.answers.set()

    @contextmanager
    def session(self, at: Address, _timeout_s: float) -> Iterator[Server]:
        self.opened.append(at)
        yield self
        self.closed += 1

    def rows(self, _statement: str) -> list[dict[str, Any]]:
        assert self.answers.wait(5)
        if self.broken:
            raise RunError("SQL at 10.1.2.11:5432: terminating connection")
        return ROWS


def tick(waits: Sequence[Collector]) -> Readings:
    readings = Readings()
    read_once(CLUSTER.nodes, waits, readings, FakeClock())
    return readings


def test_one_session_for_all_readings_which_ends_with_them() -> None:
    server = Server()
    with session_waits(CLUSTER, server.session) as waits:  # type: ignore[arg-type]
        assert server.opened == [], "none before it is asked"
        for _ in range(3):
            told = {sample.metric: sample.value for sample in tick(waits).samples()}
            assert told == TOLD
    assert (len(server.opened), server.closed) == (1, 1)
    assert {sample.node for sample in tick(waits).samples()} == {"node-1"}


def test_sessions_of_the_built_in_load_are_not_those_of_this_program() -> None:
    """Both say who they are; by the same name the load was never seen."""
    lua = (ROOT / "workloads" / "lib" / "pq_address.lua").read_text()
    (name,) = re.findall(r'p\.application_name or "(.+)"', lua)
    statement = query("orchestrator.collectors", "sessions")
    assert "application_name <> 'tierbench'" in statement and name != "tierbench"


def test_a_server_that_is_busy_is_not_waited_for_and_its_answer_is_not_lost() -> None:
    server = Server()
    server.answers.clear()
    waits = SessionWaits("node-1", lambda: server.session(None, 1.0))  # type: ignore[arg-type,return-value]
    for _ in range(2):
        with pytest.raises(OSError, match="has not answered yet"):
            waits.read((), 7.0)
    server.answers.set()
    assert {sample.time_s for sample in waits.read((), 9.0)} == {7.0}, (
        "as of when it was asked"
    )


def test_a_session_that_is_cut_is_opened_again() -> None:
    server = Server()
    with session_waits(CLUSTER, server.session) as waits:  # type: ignore[arg-type]
        server.broken = True
        (miss,) = tick(waits).facts()["misses"]
        assert (
            miss == "sessions: OSError: SQL at 10.1.2.11:5432: terminating connection"
        )
        server.broken = False
        assert list(tick(waits).samples())
    assert len(server.opened) == 2


def test_a_cluster_without_a_server_shows_no_waits() -> None:
    with session_waits(replace(CLUSTER, endpoints=())) as waits:
        assert waits == ()
