"""The console: a terminal that went away is written to in vain, and ends nothing."""

from __future__ import annotations

import errno
import io

import pytest

from orchestrator.cli.console import ConsoleProgress, LastingConsole


class Gone(io.StringIO):
    def __init__(self, error: Exception, terminal: bool) -> None:
        super().__init__()
        self._error, self._terminal, self.tried = error, terminal, 0

    def isatty(self) -> bool:
        return self._terminal

    def write(self, _text: str) -> int:
        self.tried += 1
        raise self._error


@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.EIO, "Input/output error"),
        BrokenPipeError(errno.EPIPE, "Broken pipe"),
        ValueError("I/O operation on closed file"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_console_that_is_gone_ends_nothing(error: Exception, terminal: bool) -> None:
    file = Gone(error, terminal)
    progress = ConsoleProgress(LastingConsole(file=file, force_terminal=terminal))
    progress.run("01-premium", 1, 2, 60.0)
    progress.step("warming the cache")
    progress.step("measuring", 5.0)
    progress.note("a note")
    progress.warn("a warning")
    progress.done()
    assert file.tried
