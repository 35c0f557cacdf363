"""Tables of YugabyteDB are read before a run, over all nodes, until the time is over."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from orchestrator.errors import RunError, StatementError
from orchestrator.model import Endpoint
from orchestrator.system import sql
from orchestrator.system.sql import Address
from orchestrator.yugabyte import queries
from tests.fakes import FakeClock, fake_world

NODES = [
    Endpoint(f"10.0.0.{n}", 5433, 5433, "bench", "secret", "bench", f"10.0.0.{n}")
    for n in (1, 2)
]
TABLES = ("stock", "customer", "item")


class Server:
    """A cluster whose tables take so long to read, `fails`: what each reading raises."""

    def __init__(self, table_s: float, fails: Exception | None = None) -> None:
        self.clock = FakeClock()
        self.table_s = table_s
        self.fails = fails
        self.tables: tuple[str, ...] = TABLES
        self.read: set[tuple[str, str]] = set()
        self.timeouts_s: list[float] = []
        self._lock = threading.Lock()

    @contextmanager
    def connect(self, address: Address, timeout_s: float) -> Iterator[Any]:
        yield _Session(self, address.host, timeout_s)

    def warned(self, nodes: int = 2) -> list[str]:
        world = fake_world(clock=self.clock)
        queries.fill_caches(self.connect, NODES[:nodes], world)
        return list(world.progress.said)  # type: ignore[attr-defined]


class _Session:
    def __init__(self, server: Server, host: str, timeout_s: float) -> None:
        self._server = server
        self._host = host
        self._timeout_s = timeout_s

    def rows(self, text: str) -> list[dict[str, Any]]:
        server = self._server
        if not text.startswith("SELECT count(*) FROM "):
            return [{"name": name} for name in server.tables]
        with server._lock:
            server.timeouts_s.append(self._timeout_s)
            server.clock.sleep(server.table_s)
            server.read.add((self._host, text.rpartition(" ")[2]))
        if server.fails is not None:
            raise server.fails
        return [{"count": 1}]


def test_tables_are_dealt_out_to_the_nodes_from_the_largest_on() -> None:
    server = Server(table_s=1.0)
    assert server.warned() == []
    assert server.read == {
        ("10.0.0.1", "stock"),
        ("10.0.0.2", "customer"),
        ("10.0.0.1", "item"),
    }
    assert max(server.timeouts_s) <= queries.WARM_S


def test_a_cluster_without_tables_has_nothing_to_read() -> None:
    server = Server(table_s=1.0)
    server.tables = ()
    assert server.warned() == [] and server.read == set()


@pytest.mark.parametrize(
    ("table_s", "warnings"), [(299.4, 0), (299.5, 1), (queries.WARM_S, 1)]
)
def test_a_table_is_begun_while_more_than_a_second_is_left(
    table_s: float, warnings: int
) -> None:
    """Of three tables on one node; the third would be begun with 1.2 s left, 1 s and none."""
    said = Server(table_s).warned(nodes=1)
    assert len(said) == warnings
    assert all("was not full after 600 s of reading" in text for text in said)


def test_a_table_that_the_server_gave_up_is_a_cache_that_is_not_full() -> None:
    """In whichever language the server tells it."""
    german = "storniere Anfrage wegen Zeitüberschreitung der Anfrage"
    given_up = Server(1.0, StatementError(german, sqlstate=sql.STATEMENT_ENDED))
    (text,) = given_up.warned()
    assert "the cache was not full" in text
    assert len(given_up.read) == 2, "a node goes on to no other table"


def test_what_else_goes_wrong_is_raised() -> None:
    with pytest.raises(RunError, match="no such table"):
        Server(1.0, RunError("no such table")).warned()
    with pytest.raises(StatementError, match="statement timeout of a dish"):
        Server(1.0, StatementError("statement timeout of a dish")).warned()
