"""The output of a command in a container, followed while it comes."""

from __future__ import annotations

import codecs
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable

from orchestrator.errors import RunError, TierbenchError

Chunk = tuple[bytes | None, bytes | None]
"""What came at once: of standard output, of standard error."""


class Output:
    """The two streams of a command, read by a thread so that the caller is never blocked.

    `chunks` ends with the command; TierbenchError from it ends it too, and is shown as an error.
    Any other error is raised where the output is followed, as a RunError.
    `kept`: how many pieces of output are kept at most, where the command goes on for hours.
    """

    def __init__(self, chunks: Iterable[Chunk], kept: int | None = None) -> None:
        self.out: deque[str] = deque(maxlen=kept)
        self.err: deque[str] = deque(maxlen=kept)
        self._begun: list[str] = []  # parts of a line that has not ended yet
        self._decoders = [codecs.getincrementaldecoder("utf-8")("replace") for _ in range(2)]
        self._queue: queue.Queue[Chunk | Exception | None] = queue.Queue()
        threading.Thread(target=self._read, args=(chunks,), daemon=True).start()

    def _read(self, chunks: Iterable[Chunk]) -> None:
        try:
            for chunk in chunks:
                self._queue.put(chunk)
        except Exception as error:  # whatever it is: who follows must not wait for ever
            self._queue.put(error)
        self._queue.put(None)

    def follow(self, on_line: Callable[[str], None]) -> bool:
        """Reads what arrives within a quarter of a second; False when the stream has ended.
        RunError if it could not be read to its end."""
        try:
            chunk = self._queue.get(timeout=0.25)
        except queue.Empty:
            return True
        if chunk is None:
            return False
        if isinstance(chunk, Exception):
            if not isinstance(chunk, TierbenchError):
                what = f"its output could not be read on: {type(chunk).__name__}: {chunk}"
                raise RunError(what, evidence=self.tail()) from chunk
            self.err.append(f"{chunk}\n")
            return True
        out, err = chunk
        if err:
            self.err.append(self._decoders[1].decode(err))
        if out:
            text = self._decoders[0].decode(out)
            self.out.append(text)
            first, *others = text.split("\n")
            self._begun.append(first)
            for other in others:
                line, self._begun = "".join(self._begun), [other]
                on_line(line)
        return True

    def tail(self) -> str:
        return "\n".join(("".join(self.out) + "".join(self.err)).splitlines()[-20:])
