"""The hosts of the documented profiles of YugabyteDB's Helm chart are those that its certificates
name. Method: libpq itself verifies them, against a server that has nothing but a certificate."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from orchestrator.errors import RunError
from orchestrator.model import Tls
from orchestrator.system import sql
from tests import ROOT, certificates
from tests.documented import examples

RECIPE = "recipes/yugabytedb-cluster.md"
CHART = "From YugabyteDB's Helm chart"
REACHED = b"SFATAL\0C28000\0Mverified and reached\0\0"
SHORT = "yb-tserver-0.yb-tservers.yb"
DOMAIN = ".svc.cluster.local"


def documented() -> list[str]:
    """All hosts of the recipe."""
    hosts: list[str] = []
    for text in examples(RECIPE, CHART):
        hosts += yaml.safe_load(text)["cluster"]["existing"]["hosts"]
    return hosts


@contextmanager
def server(certificate: certificates.Certificate, folder: Path) -> Iterator[int]:
    """Its port. It takes one session, and refuses it when it is encrypted."""
    (folder / "server.pem").write_text(certificate.certificate + certificate.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem")

    def serve() -> None:
        peer, _ = listening.accept()
        peer.recv(8)  # the question whether it encrypts
        peer.sendall(b"S")
        try:
            with context.wrap_socket(peer, server_side=True) as encrypted:
                encrypted.recv(1024)
                length = (len(REACHED) + 4).to_bytes(4, "big")
                encrypted.sendall(b"E" + length + REACHED)
        except OSError:
            peer.close()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve)
        thread.start()
        yield listening.getsockname()[1]
        thread.join()


def said_to(host: str, certified_as: str, folder: Path) -> str:
    """How a session ends with the server of `certified_as` that is asked for as `host`."""
    names = certificates.names_of_the_chart(certified_as)
    made = certificates.certified(folder, *names)
    with server(made, folder) as port:
        address = sql.Address(
            "127.0.0.1",
            port,
            "yugabyte",
            "",
            "yugabyte",
            tls=Tls("verify-full", str(made.authority)),
            certified_as=host,
        )
        with pytest.raises(RunError) as ended, sql.session(address):
            pass
    return str(ended.value)


@pytest.mark.parametrize("host", documented())
def test_a_documented_host_is_the_one_that_its_certificate_names(
    host: str, tmp_path: Path
) -> None:
    whole = host.removesuffix(DOMAIN) + DOMAIN
    assert "verified and reached" in said_to(host, whole, tmp_path)


def test_a_shorter_name_is_refused(tmp_path: Path) -> None:
    said = said_to(SHORT, SHORT + DOMAIN, tmp_path)
    assert "does not match host name" in said


def test_the_recipe_says_where_the_authority_lies() -> None:
    text = (ROOT / "docs" / RECIPE).read_text()
    assert "get secret yugabyte-tls-client-cert" in text
    assert r"jsonpath={.data.root\.crt}" in text
