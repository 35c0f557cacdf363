"""SQL over PostgreSQL's protocol: one session and its rows. The only module that imports psycopg.

PostgreSQL and YugabyteDB's YSQL both use the protocol. Statements are with each database; here are
the connection and the translation of errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import psycopg
from psycopg.rows import dict_row

from orchestrator.errors import RunError
from orchestrator.model import Endpoint

Row = dict[str, Any]


@dataclass(frozen=True)
class Address:
    """The address of a server, from this machine. `tls_root`: file of the authority that must have
    signed the server's certificate; without one, TLS is used if it is offered."""

    host: str
    port: int
    user: str
    password: str = field(repr=False)
    database: str
    tls_root: str | None = None


def local(endpoint: Endpoint) -> Address:
    """Returns the endpoint's address from this machine."""
    host, port = endpoint.local_host, endpoint.local_port
    return Address(host, port, endpoint.user, endpoint.password, endpoint.database)


class Session(Protocol):
    def rows(self, sql: str) -> list[Row]:
        """Runs one statement; returns rows by column name. RunError with the server's message."""

    def copy(self, sql: str, text: str) -> None:
        """Runs `COPY … FROM STDIN` with `text`. RunError with the server's message."""


Connect = Callable[[Address, float], AbstractContextManager[Session]]


class _Psycopg:
    def __init__(self, connection: psycopg.Connection[Row], address: Address) -> None:
        self._connection = connection
        self._address = address

    def rows(self, sql: str) -> list[Row]:
        with _in_our_words(self._address):
            cursor = self._connection.execute(sql.encode())
            return cursor.fetchall() if cursor.description else []

    def copy(self, sql: str, text: str) -> None:
        with (
            _in_our_words(self._address),
            self._connection.cursor() as cursor,
            cursor.copy(sql.encode()) as rows,
        ):
            rows.write(text)


def batch(address: Address, statements: Sequence[str], timeout_s: float = 60.0) -> None:
    """Sends all statements together (pipeline mode) in a session of their own. RunError as
    `session`."""
    with _connected(address, timeout_s) as connection, connection.pipeline():
        for statement in statements:
            connection.execute(statement.encode())


@contextmanager
def session(address: Address, statement_timeout_s: float = 60.0) -> Iterator[Session]:
    """Opens a session in autocommit mode. RunError if the server cannot be reached, refuses a
    statement, or takes longer for one than `statement_timeout_s` (0: no limit)."""
    with _connected(address, statement_timeout_s) as connection:
        yield _Psycopg(connection, address)


@contextmanager
def _connected(address: Address, statement_timeout_s: float) -> Iterator[psycopg.Connection[Row]]:
    with (
        _in_our_words(address),
        psycopg.connect(
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
        ) as connection,
    ):
        yield connection


@contextmanager
def _in_our_words(address: Address) -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        raise RunError(
            f"SQL at {address.host}:{address.port}: {' '.join(str(error).split())}",
            advice="look at the database's log among the raw files of the run",
        ) from error
