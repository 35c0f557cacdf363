"""The database that is dropped in a cluster of others, on a real PostgreSQL of this machine.

Goal: nothing is dropped that took its name. Needs Debian's postgresql; what the server of
tests/fake_existing.py is told to answer is asked here.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from orchestrator.databases.existing import declaration, remembered
from orchestrator.databases.existing.owned_database import OwnDatabase
from orchestrator.errors import RunError, UsageError
from orchestrator.system import sql
from orchestrator.system.clock import SystemClock
from tests.fake_existing import a_cache, existing_world, spec
from tests.integration import local_servers

__all__ = ["a_cache"]  # each test has one of its own


@pytest.fixture(scope="module", name="port")
def a_port() -> Iterator[int]:
    # Not in the tests' own folder, into which the server's user may not look.
    with (
        tempfile.TemporaryDirectory(prefix="tierbench-drop-") as folder,
        local_servers.postgresql(Path(folder)) as port,
    ):
        with connected(port) as session:
            session.execute("CREATE ROLE maker LOGIN CREATEDB")
        yield port


def connected(
    port: int, database: str = "postgres", user: str = "postgres"
) -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(
        host="127.0.0.1", port=port, user=user, dbname=database, autocommit=True
    )


def ask(port: int, text: str, database: str = "postgres") -> list[tuple[object, ...]]:
    with connected(port, database) as session:
        cursor = session.execute(text.encode())
        if cursor.description:
            return cursor.fetchall()
    return []


def ours(port: int) -> list[str]:
    rows = ask(port, "SELECT datname FROM pg_database WHERE datname LIKE 'tierbench%'")
    return [str(name) for (name,) in rows]


@pytest.fixture
def database(port: int) -> Iterator[OwnDatabase]:
    """Ours, made by a user who is no superuser."""
    hosts = f"127.0.0.1:{port}"
    given = spec(hosts=hosts, user="maker", maintenance_database="postgres")
    declared, mistakes = declaration.read(given)
    assert mistakes == ()
    here = replace(existing_world(), clock=SystemClock())
    made = OwnDatabase(
        declared, sql.session, here, lambda _question, _may_ask: False, force=True
    )
    made.make()
    yield made
    for name in ours(port):
        ask(port, f'DROP DATABASE "{name}"')


def replace_it(port: int) -> None:
    """As its owner may, who needs the name."""
    ask(port, "DROP DATABASE tierbench")
    ask(port, "CREATE DATABASE tierbench OWNER maker")
    ask(port, "CREATE TABLE payroll (salary int)", "tierbench")


def test_sessions_of_ours_are_ended_and_it_is_dropped(
    port: int, database: OwnDatabase
) -> None:
    session = connected(port, "tierbench", "maker")
    assert database.drop()
    with pytest.raises(psycopg.OperationalError):
        session.execute("SELECT 1")
    assert ours(port) == []


def test_a_session_of_a_superuser_is_waited_for(
    port: int, database: OwnDatabase
) -> None:
    session = connected(port, "tierbench")
    threading.Timer(1, session.close).start()
    assert database.drop()
    assert ours(port) == []


class Replacing:
    """A session during which somebody else takes the name, when it was looked at."""

    def __init__(self, session: sql.Session, port: int) -> None:
        self._session = session
        self._port = port
        self._is_replaced = False

    def rows(self, text: str) -> list[sql.Row]:
        rows = self._session.rows(text)
        if "datname = 'tierbench'" in text and not self._is_replaced:
            self._is_replaced = True
            replace_it(self._port)
        return rows

    def copy(self, sql: str, text: str) -> None:
        self._session.copy(sql, text)


def test_what_took_its_name_after_the_look_stays(
    port: int, database: OwnDatabase
) -> None:
    @contextmanager
    def connect(address: sql.Address, timeout_s: float) -> Iterator[sql.Session]:
        with sql.session(address, timeout_s) as session:
            yield Replacing(session, port)

    with pytest.raises(RunError, match="nothing was dropped"):
        replace(database, connect=connect).drop()
    assert ours(port) == ["tierbench"]
    assert ask(port, "SELECT * FROM payroll", "tierbench") == []


def test_a_copy_of_it_with_its_comment_stays(port: int, database: OwnDatabase) -> None:
    """As `pg_dump --create` makes one: comment and connection limit are part of it."""
    ((limit, mark),) = ask(
        port,
        "SELECT datconnlimit, shobj_description(oid, 'pg_database') FROM pg_database "
        "WHERE datname = 'tierbench'",
    )
    replace_it(port)
    ask(port, f"ALTER DATABASE tierbench CONNECTION LIMIT {limit}")
    ask(port, f"COMMENT ON DATABASE tierbench IS '{mark}'")
    with pytest.raises(UsageError, match="somebody else has made one"):
        database.drop()
    assert ours(port) == ["tierbench"]


def test_what_a_killed_program_was_dropping_is_dropped(
    port: int, database: OwnDatabase
) -> None:
    ((number,),) = ask(port, "SELECT oid FROM pg_database WHERE datname = 'tierbench'")
    ask(port, f"ALTER DATABASE tierbench RENAME TO tierbench_drop_{number}")
    assert database.drop()
    assert ours(port) == []
    assert remembered.leftovers(database.world.cache) == ()
