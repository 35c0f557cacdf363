"""A page of a server is read to a limit: neither its size nor its form ends this program.

Method: a server on loopback sends pages as a hostile or a broken exporter would.
"""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from orchestrator.collectors import node_exporter
from orchestrator.collectors.node_exporter import NodeExporterCollector
from orchestrator.counter_sources import NODE_EXPORTER
from orchestrator.model import Node
from orchestrator.system import http_client
from tests import ROOT

PAGE = (ROOT / "tests/fixtures/node-exporter-1.5.0/page.txt").read_text()
_PIECE = b"x" * 2**20
_MOST_PIECES = 2_000  # one that reads on is ended all the same, and fails


class _Sent:
    """How many bytes a server could send before its reader left."""

    bytes = 0


@contextmanager
def serving(write: Callable[[Callable[[bytes], Any]], None]) -> Iterator[str]:
    """Yields the address of a server; `write` is given what sends bytes of a body."""

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            with suppress(OSError):
                write(self.wfile.write)

        def log_message(self, *_words: object) -> None: ...

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@contextmanager
def endless() -> Iterator[tuple[str, _Sent]]:
    sent = _Sent()

    def write(send: Callable[[bytes], Any]) -> None:
        for _ in range(_MOST_PIECES):
            send(_PIECE)
            sent.bytes += len(_PIECE)

    with serving(write) as address:
        yield address, sent


def ask(address: str) -> None:
    http_client.get(address, timeout_s=30.0)


def ask_json(address: str) -> None:
    http_client.get_json(address, timeout_s=30.0)


def ask_public_lines(address: str) -> None:
    for _ in http_client.public_lines(address):
        pass


@pytest.mark.parametrize(
    "read", [http_client.get, http_client.get_json, http_client.get_exporter]
)
def test_an_endless_page_is_an_error_that_says_the_limit(
    read: Callable[..., object],
) -> None:
    said = pytest.raises(OSError, match=r"longer than [\d,]+ bytes")
    with endless() as (address, sent), said as raised:
        read(address, timeout_s=30.0)
    assert address in str(raised.value)
    # What the sockets hold in between was sent too.
    assert sent.bytes < http_client.PAGE_BYTES + 64 * len(_PIECE)


def test_an_endless_exporter_is_left_after_what_one_machine_can_have() -> None:
    with endless() as (address, sent):
        node = Node("n1", "database", sources={NODE_EXPORTER: address})
        with pytest.raises(OSError, match=r"n1: .*longer than 4,194,304 bytes"):
            list(NodeExporterCollector().read([node], 0.0))
    assert sent.bytes < http_client.EXPORTER_BYTES + 64 * len(_PIECE)


def test_a_page_of_just_the_limit_is_read() -> None:
    with serving(lambda send: send(b"x" * 1000)) as address:
        assert len(http_client.get(address, most_bytes=1000)) == 1000
        with pytest.raises(OSError, match="longer than 999 bytes"):
            http_client.get(address, most_bytes=999)


def test_a_public_file_has_a_limit_of_a_line_and_in_all() -> None:
    def write(send: Callable[[bytes], Any]) -> None:
        for number in range(1000):
            send(b"line %d\n" % number)

    with serving(write) as address:
        assert len(list(http_client.public_lines(address))) == 1000
        with pytest.raises(OSError, match="longer than 1,000 bytes"):
            list(http_client.public_lines(address, most_bytes=1000))
    with (
        endless() as (address, sent),
        pytest.raises(OSError, match="a line is longer than"),
    ):
        list(http_client.public_lines(address))
    assert sent.bytes < 64 * len(_PIECE)


def test_json_that_is_nested_without_end_is_no_traceback() -> None:
    with serving(lambda send: send(b"[" * 200_000)) as address:
        with pytest.raises(OSError, match="not JSON"):
            http_client.get_json(address)
        with (
            pytest.raises(OSError, match="unknown form"),
            http_client.understood(address),
        ):
            json.loads(http_client.get(address))


def test_of_an_exporters_page_only_the_lines_that_are_counted_are_parsed() -> None:
    """To parse 10 MB of others' metrics took 8 s of CPU, each second."""
    others = 'others_metric{no="Prometheus form\n' * 1000
    alone = list(node_exporter.readings(PAGE, ["vda"]))
    assert list(node_exporter.readings(PAGE + others, ["vda"])) == alone
    with pytest.raises(OSError, match="no metric of node_exporter"):
        list(node_exporter.readings(others, ["vda"]))


def test_a_server_that_is_not_there_is_told_without_names_of_python() -> None:
    """A user reads that; `<urlopen error [Errno 111] …>` is of the library."""
    with pytest.raises(OSError) as refused:
        http_client.get("http://127.0.0.1:9/metrics", 5.0)
    assert str(refused.value) == "http://127.0.0.1:9/metrics: Connection refused"
