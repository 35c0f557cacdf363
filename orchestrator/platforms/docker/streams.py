"""The two streams of a command, as an engine sends them on a connection for itself."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

OUT, ERR = 1, 2
_HEAD = struct.Struct(">BxxxL")  # which stream, and how many bytes of it follow


def pieces(socket: Any) -> Iterator[tuple[int, bytes]]:
    """Yields (OUT or ERR, bytes) as they come. `socket` comes from `exec_start(…, socket=True)`.

    docker-py's own reader waits for the network before each piece, and so for what TLS has received
    already; and it misses what came together with the head of the engine's answer.
    """
    reader = socket._response.raw._fp.fp
    getattr(socket, "_sock", socket).settimeout(None)
    while len(head := reader.read(_HEAD.size)) == _HEAD.size:
        stream, length = _HEAD.unpack(head)
        yield stream, reader.read(length)
