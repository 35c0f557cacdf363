"""A server that no longer says anything is an error, not an endless wait.

Method: a socket that speaks the beginning of PostgreSQL's protocol (its documentation, "Message
Formats"), and then only reads.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator

import pytest

from orchestrator.errors import RunError
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


@pytest.fixture
def silent() -> Iterator[int]:
    """The port of a server that takes sessions and answers no statement."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            session, _ = server.accept()
            with session:
                (length,) = struct.unpack("!i", session.recv(4))
                session.recv(length - 4)
                session.sendall(GREETING)
                while session.recv(4096):
                    pass

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]


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
