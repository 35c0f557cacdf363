"""Progress on the console: lines that stay, and one that moves.

On a terminal the current step is one line with a spinner and the time left; elsewhere (a log, CI)
each step is a plain line. Nothing here is part of a result, so nothing here ends a campaign: a
terminal that went away, or a pipe that nobody reads any more, is ignored.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from rich.console import Console
from rich.markup import escape
from rich.status import Status

from orchestrator.powers import Progress
from orchestrator.units import format_seconds


class EndingProgress(Progress, Protocol):
    """Progress whose moving line ends before something else is printed."""

    def done(self) -> None: ...


class LastingConsole(Console):
    """Falls silent where rich's own console would end the program with 1, as if a contender were
    worse: who reads has seen enough (`| head`)."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        with suppress(OSError, ValueError):  # what is left to flush goes nowhere
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())


class ConsoleProgress:
    """Implements `Progress` on standard error, so that standard output stays for results."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status: Status | None = None
        self._run = ""
        self._due_s: float | None = None

    def run(self, title: str, number: int, total: int, left_s: float) -> None:
        self._due_s = time.monotonic() + left_s
        self._run = f"[{number}/{total}] {title}"
        self._line(f"{self._run} · about {format_seconds(left_s)} left")

    def step(self, text: str, expected_s: float | None = None) -> None:
        expected = f" (about {format_seconds(expected_s)})" if expected_s else ""
        if not self._console.is_terminal:
            self._line(f"  {text}{expected}")
            return
        left = ""
        if self._due_s is not None:
            left = f" · {format_seconds(max(1.0, self._due_s - time.monotonic()))} left"
        shown = f"{escape(self._run)} {escape(text + expected)}[dim]{left}[/dim]"
        if self._status is None:
            self._status = self._console.status(shown)
            _in_vain(self._status.start)
        else:
            status = self._status
            _in_vain(lambda: status.update(shown))

    def note(self, text: str) -> None:
        self._line(text)

    def warn(self, text: str) -> None:
        _in_vain(lambda: self._console.print(f"[yellow]warning:[/yellow] {escape(text)}"))

    def done(self) -> None:
        if self._status is not None:
            _in_vain(self._status.stop)
            self._status = None

    def _line(self, text: str) -> None:
        _in_vain(lambda: self._console.print(escape(text), highlight=False))


def _in_vain(write: Callable[[], None]) -> None:
    """Writes, and ignores that the other end is gone (OSError) or closed (ValueError)."""
    with suppress(OSError, ValueError):
        write()
