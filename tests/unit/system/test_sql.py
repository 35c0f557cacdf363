"""A server that no longer says anything is an error, not an endless wait.

Method: a socket that speaks the beginning of PostgreSQL's protocol (its documentation, "Message
Formats"), and then only reads.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from orchestrator.errors import NotPermittedError, RunError, StatementError
from orchestrator.model import Endpoint, Tls
from orchestrator.system import sql


def message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


GREETING = (
    message(b"R", struct.pack("!i", 0))
    + message(b"S", b"client_encoding\0UTF8\0")
    + message(b"S", b"server_version\x0017.0\0")
    + message(b"Z", b"I")
)


@contextmanager
def serving(answer: bytes) -> Iterator[int]:
    """The port of a server that takes a session and answers every statement so."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            session, _ = server.accept()
            with session:
                (length,) = struct.unpack("!i", session.recv(4))
                session.recv(length - 4)
                session.sendall(GREETING)
                while session.recv(4096):
                    session.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]


@pytest.fixture
def silent() -> Iterator[int]:
    """The port of a server that takes sessions and answers no statement."""
    with serving(b"") as port:
        yield port


def test_a_statement_that_is_never_answered_ends(silent: int) -> None:
    at = sql.Address("127.0.0.1", silent, "u", "p", "d", Tls("off"), grace_s=0.1)
    with (
        pytest.raises(
            RunError, match=r"no answer within 0\.3 s: the connection was cut"
        ),
        sql.session(at, 0.2) as session,
    ):
        session.rows("SELECT 1")


def test_a_server_behind_another_address_must_have_a_certificate_of_its_own_name() -> (
    None
):
    tls = Tls("verify-full", "/ca.crt")
    at = sql.local(Endpoint("10.1.2.11", 5433, 15433, "u", "p", "d", tls=tls))
    assert (at.host, at.port, at.certified_as, at.tls) == (
        "127.0.0.1",
        15433,
        "10.1.2.11",
        tls,
    )
    same = Endpoint("db", 5433, 5433, "u", "p", "d", local_host="db", tls=tls)
    assert sql.local(same).certified_as is None


def refusing(sqlstate: bytes) -> bytes:
    """A server's answer to a statement that it refuses."""
    fields = b"SERROR\0C" + sqlstate + b"\0Mno\0\0"
    return message(b"E", fields) + message(b"Z", b"I")


@pytest.mark.parametrize(
    ("sqlstate", "forbidden"), [(b"42501", True), (b"55006", False)]
)
def test_what_the_user_may_not_do_is_told_from_other_errors(
    sqlstate: bytes, forbidden: bool
) -> None:
    """42501: insufficient_privilege; 55006: object_in_use (PostgreSQL's manual, appendix A)."""
    with serving(refusing(sqlstate)) as port:
        at = sql.Address("127.0.0.1", port, "u", "p", "d", Tls("off"))
        with pytest.raises(RunError) as raised, sql.session(at, 5.0) as session:
            session.rows("DROP DATABASE d WITH (FORCE)")
    error = raised.value
    assert isinstance(error, NotPermittedError) is forbidden
    assert isinstance(error, StatementError)
    assert error.sqlstate == sqlstate.decode()
    # The server's position in the statement is behind it.
    assert error.message == f"SQL at 127.0.0.1:{port}: no"
