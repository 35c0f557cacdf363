"""Standard output and errors that take every text and end nothing.

When all is done the edge of the program says that not all was written."""

import codecs
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedWriter, FileIO, TextIOWrapper
from typing import TextIO


class LastingStream(TextIOWrapper):
    """One of them. `why_lost`: why not all was written; "" if it was."""

    why_lost = ""
    is_closed = False

    def write(self, text: str) -> int:
        self._miss_if_closed()
        with self._lasting():
            super().write(text)
        return len(text)

    def flush(self) -> None:
        with self._lasting():
            super().flush()

    def write_utf_8(self, text: str) -> None:
        """What another program reads, whatever the locale says."""
        self._miss_if_closed()
        with self._lasting():
            super().flush()
            self.buffer.write(text.encode("utf-8", errors="backslashreplace"))
            self.buffer.flush()

    def _miss_if_closed(self) -> None:
        if self.is_closed:
            self.why_lost = "it is closed"

    @contextmanager
    def _lasting(self) -> Iterator[None]:
        """Keeps why the block could not write. BrokenPipeError if the reader is gone."""
        try:
            yield
        except BrokenPipeError:
            # Who reads has seen enough (`| head`), which is no failure: the console falls silent.
            raise
        except OSError as error:
            # A full disk is such a case. The command goes on, because it may be taking something
            # down.
            self.why_lost = self.why_lost or error.strerror or str(error)
            self._give_up()

    def _give_up(self) -> None:
        """What is left to write goes nowhere, also when the program ends."""
        # Python flushes the rest then. If that fails too it prints an error and exits with 120.
        with suppress(OSError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)


def lasting(stream: TextIO | None) -> TextIO:
    """The same stream, which now takes every text.

    ASCII, which LC_ALL=C means, becomes UTF-8. A sign that the encoding lacks is shown by its
    number. None, which Python has for a closed stream, becomes a stream that keeps nothing.
    """
    if stream is None:
        nowhere = BufferedWriter(FileIO(os.devnull, "w"))
        closed = LastingStream(nowhere, encoding="utf-8", errors="backslashreplace")
        closed.is_closed = True
        return closed
    if not isinstance(stream, TextIOWrapper):
        return stream  # a test's
    encoding = stream.encoding
    if codecs.lookup(encoding).name == "ascii":
        encoding = "utf-8"
    # Read before `detach`, after which the stream answers nothing.
    is_line_buffered = stream.line_buffering
    return LastingStream(
        stream.detach(),
        encoding=encoding,
        errors="backslashreplace",
        line_buffering=is_line_buffered,
    )


def write_utf_8(text: str) -> None:
    """Writes to standard output what another program reads."""
    stream = sys.stdout
    if isinstance(stream, LastingStream):
        stream.write_utf_8(text)
        return
    stream.buffer.write(text.encode("utf-8", errors="backslashreplace"))
    stream.flush()


def why_output_is_lost() -> str:
    """Why not all of it was written; "" if it was."""
    stream = sys.stdout
    if not isinstance(stream, LastingStream):
        return ""
    with suppress(BrokenPipeError):
        stream.flush()
    return stream.why_lost
