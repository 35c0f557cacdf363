"""Progress on the console: lines that stay, and one that moves.

On a terminal the current step is one line with a spinner and the time left, and a campaign that
goes on is a panel. Elsewhere (a log, CI) each line has the time of day. Nothing here is part of a
result, so nothing here ends a campaign: a terminal that went away, or a pipe that nobody reads any
more, is ignored."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Protocol

from rich.live import Live
from rich.markup import escape
from rich.status import Status

from orchestrator.cli.common import forms
from orchestrator.cli.common.console import LastingConsole, plain
from orchestrator.powers import Clock, Moment, Progress
from orchestrator.units import format_seconds

if TYPE_CHECKING:
    from orchestrator.run.progress.live_state import PanelState

# Numbers with their units. A step that differs in these alone only goes on: `3.1 GB of 12 GB`.
_NUMBERS = re.compile(r"(?:\d[\d.,]*\s?[%A-Za-zµ/]*\s*)+")
# A step that only goes on gets one line a minute off a terminal. With one a second a campaign of
# ten hours left a log of 60,000 lines.
_AGAIN_S = 60.0


class EndingProgress(Progress, Protocol):
    """Progress whose moving line ends before something else is printed."""

    def done(self) -> None: ...
    def speak(self, quiet: bool, verbose: bool, color: str) -> None: ...
    def show(self, state: PanelState | None) -> None:
        """How a campaign stands at this moment, in place of what was shown before; None: it has
        ended."""


class ConsoleProgress:
    """Implements `Progress` on standard error, so that standard output stays for results."""

    def __init__(self, console: LastingConsole, clock: Clock) -> None:
        self._console = console
        self._clock = clock
        self._quiet = False
        self._verbose = False
        self._status: Status | None = None
        self._panel: Live | None = None
        # The lock guards the lines that move: a campaign's panel is drawn by a thread of its own. A
        # signal may come while the lock is held, and warns.
        self._lock = threading.RLock()
        self._run = ""
        self._due: Moment | None = None
        # When each step is told again, off a terminal; keys are steps without their numbers.
        self._again: dict[str, Moment] = {}

    def speak(self, quiet: bool, verbose: bool, color: str) -> None:
        self._quiet = quiet
        self._verbose = verbose
        self._console.speak(color, forms.TABLE)

    def run(self, title: str, number: int, total: int, left_s: float) -> None:
        self._due = self._clock.monotonic() + left_s
        self._run = f"[{number}/{total}] {title}"
        # The same step of the next run is news.
        self._again = {}
        self.note(f"{self._run} · about {format_seconds(left_s)} left")

    def step(self, text: str, expected_s: float | None = None) -> None:
        if self._quiet:
            return
        shown = text
        if expected_s:
            shown += f" (about {format_seconds(expected_s)})"
        if self._has_moving_lines:
            self._move(shown)
        elif self._is_due(text):
            self.note(f"  {shown}")

    def show(self, state: PanelState | None) -> None:
        """Draws the campaign's panel, where there is a terminal for it."""
        from orchestrator.cli.common.live_panel import panel

        if self._quiet or not self._has_moving_lines:
            return
        with self._lock:
            if state is None:
                self.done()
                return
            if self._panel is None:
                # rich has one live display at a time: the spinner's ends first.
                self.done()
                self._panel = Live(
                    console=self._console, auto_refresh=False, transient=True
                )
                _in_vain(self._panel.start)
            drawn = panel(state, state.written_s)
            _in_vain(partial(self._panel.update, drawn, refresh=True))

    @property
    def _has_moving_lines(self) -> bool:
        return self._console.is_terminal and not self._verbose

    def _is_due(self, step: str) -> bool:
        """Whether a step gets a line of its own. Off a terminal, a step that only goes on gets one
        a minute."""
        if self._verbose:
            return True
        kind = _NUMBERS.sub("#", step)
        now = self._clock.monotonic()
        again = self._again.get(kind)
        if again is not None and now < again:
            return False
        self._again[kind] = now + _AGAIN_S
        return True

    def _move(self, step: str) -> None:
        """Shows it on the line that moves, with the time left; a panel shows it itself."""
        with self._lock:
            if self._panel is None:
                self._move_line(step)

    def _move_line(self, step: str) -> None:
        left = ""
        if self._due is not None:
            left_s = max(1.0, self._due - self._clock.monotonic())
            left = f" · {format_seconds(left_s)} left"
        shown = f"{escape(self._run)} {escape(plain(step))}[dim]{left}[/dim]"
        if self._status is None:
            self._status = self._console.status(shown)
            _in_vain(self._status.start)
        else:
            _in_vain(partial(self._status.update, shown))

    def note(self, text: str) -> None:
        if not self._quiet:
            self._line(escape(text))

    def warn(self, text: str) -> None:
        self._line(f"[yellow]warning:[/yellow] {escape(text)}")

    def done(self) -> None:
        with self._lock:
            if self._status is not None:
                _in_vain(self._status.stop)
                self._status = None
            if self._panel is not None:
                _in_vain(self._panel.stop)
                self._panel = None

    def _line(self, markup: str) -> None:
        shown = markup
        is_log = not self._console.is_terminal
        if is_log:
            time_of_day = datetime.fromtimestamp(self._clock.now())
            shown = f"{time_of_day:%Y-%m-%d %H:%M:%S} {markup}"
        _in_vain(partial(self._console.print, shown, soft_wrap=is_log))


class WarningsAlone:
    """Progress of what takes seconds: of a hundred made-up runs nobody reads each step."""

    def __init__(self, progress: EndingProgress) -> None:
        self._progress = progress

    def speak(self, quiet: bool, verbose: bool, color: str) -> None:
        self._progress.speak(quiet, verbose, color)

    def run(self, title: str, number: int, total: int, left_s: float) -> None: ...
    def step(self, text: str, expected_s: float | None = None) -> None: ...
    def note(self, text: str) -> None: ...

    def warn(self, text: str) -> None:
        self._progress.warn(text)

    def show(self, state: PanelState | None) -> None: ...

    def done(self) -> None:
        self._progress.done()


def _in_vain(write: Callable[[], None]) -> None:
    """Writes, and ignores that the other end is gone (OSError) or closed (ValueError)."""
    with suppress(OSError, ValueError):
        write()
