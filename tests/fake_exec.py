"""Commands of pods as the API server for tests runs them: on this computer, talked with by
WebSocket in the frames that Kubernetes 1.31 gave."""

from __future__ import annotations

import base64
import hashlib
import json
import struct
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from typing import IO

_WEBSOCKET = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455
_BINARY, _CLOSE = 2, 8


def run(request: BaseHTTPRequestHandler, argv: Sequence[str]) -> None:
    """Runs the command here; its last output comes just before the status and the closing frame."""
    key = str(request.headers["Sec-WebSocket-Key"]) + _WEBSOCKET
    accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
    request.send_response(101)
    for name, value in (
        ("Upgrade", "websocket"),
        ("Connection", "Upgrade"),
        ("Sec-WebSocket-Accept", accept),
        ("Sec-WebSocket-Protocol", "v5.channel.k8s.io"),
    ):
        request.send_header(name, value)
    request.end_headers()
    pipe = subprocess.PIPE
    process = subprocess.Popen(argv, bufsize=0, stdin=pipe, stdout=pipe, stderr=pipe)
    assert process.stdin and process.stdout and process.stderr
    sending = threading.Lock()

    def forward(channel: int, stream: IO[bytes]) -> None:
        while data := stream.read(65536):
            with sending:
                _send(request, bytes([channel]) + data)

    threading.Thread(target=_feed, args=(request, process.stdin), daemon=True).start()
    threads = [
        threading.Thread(target=forward, args=pair)
        for pair in ((1, process.stdout), (2, process.stderr))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    code = process.wait()
    process.stdout.close()
    process.stderr.close()
    causes = [{"reason": "ExitCode", "message": str(code)}]
    failed = {
        "status": "Failure",
        "reason": "NonZeroExitCode",
        "details": {"causes": causes},
    }
    with sending:
        _send(
            request,
            b"\x03"
            + json.dumps({"status": "Success"} if code == 0 else failed).encode(),
        )
        _send(request, struct.pack("!H", 1000), _CLOSE)
    request.close_connection = True


def _send(request: BaseHTTPRequestHandler, data: bytes, code: int = _BINARY) -> None:
    size = len(data)
    head = bytes([0x80 | code])
    if size < 126:
        head += bytes([size])
    else:
        head += (
            b"\x7e" + struct.pack("!H", size)
            if size < 65536
            else b"\x7f" + struct.pack("!Q", size)
        )
    request.wfile.write(head + data)
    request.wfile.flush()


def _feed(request: BaseHTTPRequestHandler, target: IO[bytes]) -> None:
    """Frames of the client (masked) to the command's standard input, until either has ended."""
    with suppress(BrokenPipeError, ValueError):
        _feed_frames(request, target)
    target.close()


def _feed_frames(request: BaseHTTPRequestHandler, target: IO[bytes]) -> None:
    while (head := request.rfile.read(2)) and len(head) == 2:
        size = head[1] & 0x7F
        if size >= 126:
            wide = request.rfile.read(2 if size == 126 else 8)
            size = int.from_bytes(wide, "big")
        mask = request.rfile.read(4)
        data = bytes(
            byte ^ mask[n % 4] for n, byte in enumerate(request.rfile.read(size))
        )
        if head[0] & 0x0F == _CLOSE or data[:1] == b"\xff":
            break
        if data[:1] == b"\x00":
            target.write(data[1:])
            target.flush()
