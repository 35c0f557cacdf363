"""The output of a command in a container, followed while it comes."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from docker.errors import DockerException

from orchestrator.errors import TierbenchError
from orchestrator.platforms.docker.frames import ERR, frames


class Output:
    """The two streams of an exec, read by a thread so that the caller is never blocked."""

    def __init__(self, socket: Any, kept: int | None = None) -> None:
        """`socket` comes from `exec_start(…, socket=True)`; it is closed at the end. `kept`: how
        many pieces of output are kept at most, where the command goes on for hours."""
        self.out: deque[str] = deque(maxlen=kept)
        self.err: deque[str] = deque(maxlen=kept)
        self._pending = ""
        self._queue: queue.Queue[tuple[bytes | None, bytes | None] | Exception | None] = (
            queue.Queue()
        )
        threading.Thread(target=self._read, args=(socket,), daemon=True).start()

    def _read(self, socket: Any) -> None:
        try:
            for stream, data in frames(socket):
                self._queue.put((None, data) if stream == ERR else (data, None))
        except (DockerException, OSError, ValueError) as error:
            self._queue.put(TierbenchError(f"the output stream broke: {error}"))
        # docker-py's own stream would leave the response, and with it the socket, open.
        with contextlib.suppress(OSError):
            socket._response.close()
        self._queue.put(None)

    def follow(self, on_line: Callable[[str], None]) -> bool:
        """Reads what arrives within a quarter of a second; False when the stream has ended."""
        try:
            chunk = self._queue.get(timeout=0.25)
        except queue.Empty:
            return True
        if chunk is None:
            return False
        if isinstance(chunk, Exception):
            self.err.append(f"{chunk}\n")
            return True
        out, err = chunk
        if err:
            self.err.append(err.decode(errors="replace"))
        if out:
            text = out.decode(errors="replace")
            self.out.append(text)
            *lines, self._pending = (self._pending + text).split("\n")
            for line in lines:
                on_line(line)
        return True

    def tail(self) -> str:
        return "\n".join(("".join(self.out) + "".join(self.err)).splitlines()[-20:])
