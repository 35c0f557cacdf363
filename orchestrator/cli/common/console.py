"""Progress on the console: lines that stay, and one that moves.

On a terminal the current step is one line with a spinner and the time left, and a campaign that
goes on is a panel; elsewhere (a log, CI)
each line has the time of day, and a step that only goes on is told once a minute. Passwords and
control characters reach neither. Nothing here is part of a result, so nothing here ends a campaign:
a terminal that went away, or a pipe that nobody reads any more, is ignored."""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from rich.color import ColorSystem
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.segment import Segment
from rich.status import Status
from rich.table import Table
from rich.text import Text

from orchestrator.cli.common import forms
from orchestrator.errors import TierbenchError
from orchestrator.powers import Progress
from orchestrator.system.redaction import hidden, hidden_in
from orchestrator.units import format_seconds, printable

if TYPE_CHECKING:
    from orchestrator.run.live_state import PanelState


class EndingProgress(Progress, Protocol):
    """Progress whose moving line ends before something else is printed."""

    def done(self) -> None: ...
    def speak(self, quiet: bool, verbose: bool, color: str) -> None: ...
    def show(self, state: PanelState | None) -> None:
        """How a campaign stands at this moment, in place of what was shown before; None: it has
        ended."""


_NUMBERS = re.compile(r"(?:\d[\d.,]*\s?[%A-Za-zµ/]*\s*)+")
_AGAIN_S = 60.0
_ANY_WIDTH = 100_000  # of what no person reads off a screen


def plain(text: str) -> str:
    """The text without passwords, and with control characters as text.

    Control characters in a database's log could retitle a terminal, or make it answer.
    """
    return printable(hidden(text.replace("\r\n", "\n")))


class LastingConsole(Console):
    """Shows what is `plain`; off a terminal a row is a line, however long. Falls silent where the
    console of rich would end the program with 1, as if a contender were worse: who reads has seen
    enough (`| head`)."""

    form = forms.TABLE  # in which `show` shows it

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, **options)
        if not self.is_terminal and "width" not in options:
            self.width = _ANY_WIDTH
            self.soft_wrap = True

    @property
    def as_json(self) -> bool:
        return self.form == forms.JSON

    def speak(self, color: str, form: str) -> None:
        """`always` and `never` hold whatever the terminal and NO_COLOR say."""
        self.form = form
        if color == "auto":
            return
        self.no_color = color == "never"
        self._color_system = ColorSystem.STANDARD
        if self.no_color:
            self._color_system = None

    def show(
        self, content: Any, *shown: RenderableType, names: Iterable[str] = ()
    ) -> None:
        """What was found: as JSON if that was asked for, or by its `names`; else as `shown`, a line
        each."""
        if self.form == forms.NAME:
            for name in names:
                self.print(name, soft_wrap=True, markup=False)
            return
        if self.as_json:
            fields = json.loads(json.dumps(content, default=_fields))
            self.print_json(json.dumps(hidden_in(fields)))
            return
        for part in shown:
            self.print(part, soft_wrap=isinstance(part, str))

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """All that is shown passes here, tables cell by cell."""
        if isinstance(renderable, Text):
            renderable = _plain_text(renderable)
        return super().render(renderable, options)

    def add(self, line: str) -> None:
        """Says below what was found where that is kept; other forms have no such line."""
        if self.form == forms.TABLE:
            self.print(line, soft_wrap=True, markup=False)

    def render_str(self, text: str, **style: Any) -> Text:
        return super().render_str(plain(text), **style)

    def on_broken_pipe(self) -> None:
        self.quiet = True
        with suppress(OSError, ValueError):  # what is left to flush goes nowhere
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.file.fileno())


def _plain_text(text: Text) -> Text:
    """The text, without its styles where it was not plain."""
    shown = plain(text.plain)
    if shown == text.plain:
        return text
    return text.blank_copy(shown)


def _fields(value: Any) -> Any:
    """What other programs get of a value: of an error what it says, of a record its fields, of a
    path its text."""
    if not isinstance(value, TierbenchError):
        return getattr(value, "__dict__", str(value))
    return {
        "what": value.what,
        "mistakes": getattr(value, "mistakes", ()),
        "advice": value.advice,
        "exit_code": value.exit_code,
    }


def table(
    columns: Sequence[str],
    whole: Collection[str] = (),
    right: Collection[str] = (),
    rows: Iterable[Sequence[RenderableType]] = (),
    **more: Any,
) -> Table:
    """A table without lines; columns of `whole` are never broken over lines. Texts of `rows` are
    shown as they are."""
    drawn = Table(
        box=None, pad_edge=False, title_justify="left", caption_justify="left", **more
    )
    for column in columns:
        side: JustifyMethod = "left"
        if column in right:
            side = "right"
        drawn.add_column(
            column,
            justify=side,
            overflow="fold",
            no_wrap=column in whole,
            min_width=len(column),
        )
    for row in rows:
        drawn.add_row(*[_cell(content) for content in row])
    return drawn


def _cell(content: RenderableType) -> RenderableType:
    """Brackets of a text are no style."""
    if isinstance(content, str):
        return escape(content)
    return content


class ConsoleProgress:
    """Implements `Progress` on standard error, so that standard output stays for results."""

    def __init__(self, console: LastingConsole) -> None:
        self._console = console
        self._quiet = False
        self._verbose = False
        self._status: Status | None = None
        self._panel: Live | None = None
        # Of the lines that move: a campaign's panel is drawn by a thread of its own. A signal may
        # come while the lock is held, and warns.
        self._lock = threading.RLock()
        self._run = ""
        self._due_s: float | None = None
        # Off a terminal: step, without its numbers → when it was told last.
        self._told_s: dict[str, float] = {}

    def speak(self, quiet: bool, verbose: bool, color: str) -> None:
        self._quiet = quiet
        self._verbose = verbose
        self._console.speak(color, forms.TABLE)

    def run(self, title: str, number: int, total: int, left_s: float) -> None:
        self._due_s = time.monotonic() + left_s
        self._run = f"[{number}/{total}] {title}"
        self._told_s = {}
        self._line(f"{self._run} · about {format_seconds(left_s)} left")

    def step(self, text: str, expected_s: float | None = None) -> None:
        if self._quiet:
            return
        shown = text
        if expected_s:
            shown += f" (about {format_seconds(expected_s)})"
        if self._has_moving_lines:
            self._move(shown)
        elif self._is_due(text):
            self._line(f"  {shown}")

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
        now_s = time.monotonic()
        if now_s - self._told_s.get(kind, -_AGAIN_S) < _AGAIN_S:
            return False
        self._told_s[kind] = now_s
        return True

    def _move(self, step: str) -> None:
        """Shows it on the line that moves, with the time left; a panel shows it itself."""
        with self._lock:
            if self._panel is None:
                self._move_line(step)

    def _move_line(self, step: str) -> None:
        left = ""
        if self._due_s is not None:
            left_s = max(1.0, self._due_s - time.monotonic())
            left = f" · {format_seconds(left_s)} left"
        shown = f"{escape(self._run)} {escape(plain(step))}[dim]{left}[/dim]"
        if self._status is None:
            self._status = self._console.status(shown)
            _in_vain(self._status.start)
        else:
            _in_vain(partial(self._status.update, shown))

    def note(self, text: str) -> None:
        self._line(text)

    def warn(self, text: str) -> None:
        self._line(text, "[yellow]warning:[/yellow] ")

    def done(self) -> None:
        with self._lock:
            if self._status is not None:
                _in_vain(self._status.stop)
                self._status = None
            if self._panel is not None:
                _in_vain(self._panel.stop)
                self._panel = None

    def _line(self, text: str, before: str = "") -> None:
        if self._quiet and not before:
            return
        shown = f"{before}{escape(text)}"
        if not self._console.is_terminal:
            time_of_day = time.strftime("%Y-%m-%d %H:%M:%S")
            shown = f"{time_of_day} {shown}"
        is_one_line = not self._console.is_terminal
        _in_vain(partial(self._console.print, shown, soft_wrap=is_one_line))


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
