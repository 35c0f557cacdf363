"""What is asked of YSQL: one session, its version, its own names, whether all nodes are known.

The only module of this family that imports psycopg; its errors stop here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import psycopg
from psycopg.rows import dict_row

from orchestrator.errors import RunError
from orchestrator.model import Endpoint

Row = dict[str, Any]
ADMIN, ADMIN_DATABASE = "yugabyte", "yugabyte"


@dataclass(frozen=True)
class Address:
    """Where a session goes, from this machine. `tls_root`: the authority that must have signed the
    server's certificate; without one, TLS is used where it is offered."""

    host: str
    port: int
    user: str
    password: str
    database: str
    tls_root: str | None = None


def local(endpoint: Endpoint) -> Address:
    """The endpoint as this machine reaches it."""
    return Address(
        "127.0.0.1", endpoint.local_port, endpoint.user, endpoint.password, endpoint.database
    )


class Session(Protocol):
    def rows(self, sql: str) -> list[Row]:
        """Runs one statement; its rows by column name. RunError with the server's own words."""

    def copy(self, sql: str, text: str) -> None:
        """`COPY … FROM STDIN` of `text`."""


class _Psycopg:
    def __init__(self, connection: psycopg.Connection[Row]) -> None:
        self._connection = connection

    def rows(self, sql: str) -> list[Row]:
        cursor = self._connection.execute(sql.encode())
        return cursor.fetchall() if cursor.description else []

    def copy(self, sql: str, text: str) -> None:
        with self._connection.cursor() as cursor, cursor.copy(sql.encode()) as rows:
            rows.write(text)


@contextmanager
def session(address: Address, statement_timeout_s: float = 60.0) -> Iterator[Session]:
    """A session in autocommit mode. RunError where the server cannot be reached, refuses a
    statement, or takes longer for one than `statement_timeout_s`."""
    try:
        with psycopg.connect(
            host=address.host,
            port=address.port,
            user=address.user,
            password=address.password,
            dbname=address.database,
            application_name="tierbench",
            connect_timeout=10,
            options=f"-c statement_timeout={round(statement_timeout_s * 1000)}",
            autocommit=True,
            row_factory=dict_row,
            sslmode="verify-ca" if address.tls_root else "prefer",
            sslrootcert=address.tls_root,
        ) as connection:
            yield _Psycopg(connection)
    except psycopg.Error as error:
        raise RunError(
            f"SQL at {address.host}:{address.port}: {' '.join(str(error).split())}",
            advice="look at the database's log among the raw files of the run",
        ) from error


def banner(asked: Session) -> str:
    return str(asked.rows("SELECT version() AS version")[0]["version"])


def servers(asked: Session) -> tuple[str, ...]:
    """The hosts that this node tells clients of."""
    return tuple(sorted(str(row["host"]) for row in asked.rows("SELECT host FROM yb_servers()")))


def effective_isolation(asked: Session) -> str | None:
    """What READ COMMITTED really is here; None in releases that cannot say."""
    try:
        rows = asked.rows("SELECT yb_get_effective_transaction_isolation_level() AS level")
    except psycopg.Error:
        return None
    return str(rows[0]["level"])


def create_own(asked: Session, user: str, password: str, database: str) -> None:
    """The user and the database that the load generator works with, if they are not there."""
    if not asked.rows(f"SELECT 1 FROM pg_roles WHERE rolname = '{user}'"):
        asked.rows(f"CREATE ROLE {user} LOGIN PASSWORD '{password}'")
    if not asked.rows(f"SELECT 1 FROM pg_database WHERE datname = '{database}'"):
        asked.rows(f"CREATE DATABASE {database} OWNER {user}")


_TABLES = """
SELECT format('%I.%I', n.nspname, c.relname) AS name
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND n.nspname !~ '^(pg_|information_schema)'
ORDER BY c.reltuples DESC, name
"""


def tables(asked: Session) -> tuple[str, ...]:
    """The tables of the database, the largest first as far as statistics know."""
    return tuple(str(row["name"]) for row in asked.rows(_TABLES))
