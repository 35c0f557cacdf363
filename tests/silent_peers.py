"""Servers on loopback that accept whoever comes, answer what they are told to, and then say nothing
while the connection stays open: a machine that hangs, a proxy that lost what is behind it."""

from __future__ import annotations

import http.server
import os
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from typing import Any

_VERSION = b'{"Version": "29.1.5", "ApiVersion": "1.52", "MinAPIVersion": "1.44"}'
_EXECUTION = b'{"Id": "e1"}'
# What Docker Engine 29 was seen to answer before a stream begins.
_UPGRADED = (
    b"HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\n"
    b"Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n"
)
_STREAM = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
_STAT = b"X-Docker-Container-Path-Stat: e30=\r\n\r\n"


def _json(body: bytes, status: bytes = b"200 OK") -> bytes:
    head = b"HTTP/1.1 %s\r\nContent-Type: application/json\r\n" % status
    return head + b"Content-Length: %d\r\n\r\n" % len(body) + body


def framed(line: bytes) -> bytes:
    """A piece of a command's standard output, as the engine sends it."""
    return b"\x01\0\0\0" + len(line).to_bytes(4, "big") + line


def _chunk(line: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(line), line)


ENGINE = {"/version": _json(_VERSION), "/_ping": _json(b"OK")}
EXECUTING = {
    **ENGINE,
    "/containers/x/exec": _json(_EXECUTION, b"201 Created"),
    "/exec/e1/start": _UPGRADED + framed(b"the last line\n"),
}
ARCHIVING = {**ENGINE, "/containers/x/archive": _STREAM + _STAT + b"7\r\na piece\r\n"}
# Each of these begins, and says no more.
WORKING = {
    **ENGINE,
    "/info": _json(b"{}"),
    "/images/create": _STREAM + b"\r\n" + _chunk(b'{"status": "Pulling fs layer"}\r\n'),
    "/build": _STREAM + b"\r\n" + _chunk(b'{"stream": "Step 1/3"}\r\n'),
}


@contextmanager
def silent(
    answers: Mapping[str, bytes] | None = None, every_s: float = 0.0
) -> Iterator[int]:
    """Yields the port of one that answers requests of these paths (without version and question),
    and is silent after each answer that has no end; to all others at once. `every_s`: sends a byte
    so often."""
    over = threading.Event()

    class Peer(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            path = self.path.split("?")[0]
            path = path.removeprefix("/v1.52")
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            said = (answers or {}).get(path, b"")
            self.wfile.write(said)
            if b"Content-Length" in said:
                return
            while not over.wait(every_s or None):
                self.wfile.write(b"x")

        do_GET = do_POST = do_PUT = answer

        def log_message(self, *_: Any) -> None: ...

        def handle(self) -> None:
            with suppress(OSError):  # who waited has gone
                super().handle()

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Peer)
    server.daemon_threads = True
    server.block_on_close = False
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield server.server_port
    finally:
        over.set()
        server.shutdown()
        server.server_close()


@contextmanager
def hanging_up(port: int) -> Iterator[str]:
    """Ends each connection at its first bytes, as a server of another protocol does. Its URL, of an
    address that no other process of tests has."""
    high, low = divmod(os.getpid() % 2**16, 2**8)
    host = f"127.91.{high}.{low}"
    with closing(socket.create_server((host, port))) as server:
        threading.Thread(target=_hang_up, args=[server], daemon=True).start()
        yield f"http://{host}:{port}"
        server.shutdown(socket.SHUT_RDWR)  # else who waits in accept() keeps the port


def _hang_up(server: socket.socket) -> None:
    with suppress(OSError):
        while True:
            connection, _ = server.accept()
            connection.recv(64)
            connection.close()
