"""The console: what was found, as a table, as JSON or by its names.

Passwords and control characters reach neither standard output nor standard error."""

import json
import os
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from typing import Any

from rich.color import ColorSystem
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderableType
from rich.markup import escape
from rich.segment import Segment, Segments
from rich.table import Table
from rich.text import Text

from orchestrator.cli.common import forms
from orchestrator.errors import TierbenchError
from orchestrator.system.redaction import hidden, hidden_in
from orchestrator.texts.foreign_text import printable

_ANY_WIDTH = 100_000  # width of what no person reads off a screen


def plain(text: str) -> str:
    """The text without passwords, and with control characters as text.

    Control characters in a database's log could retitle a terminal, or make it answer.
    """
    return printable(hidden(text.replace("\r\n", "\n")))


class LastingConsole(Console):
    """Shows what is `plain`; off a terminal a row is a line, however long. It outlives its
    reader."""

    form = forms.TABLE  # the form in which `show` shows it

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, **options)
        # rich breaks lines at 80 columns there, and `grep` would see half a row.
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
        # rich chooses colours when a console is made, before the command line is read. STANDARD has
        # the 16 that every terminal shows.
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
                self.print_line(name)
            return
        if self.as_json:
            # Read back from its text, so that passwords are looked for in all that is printed.
            fields = json.loads(json.dumps(content, default=_fields))
            self._show_json(hidden_in(fields))
            return
        for part in shown:
            self.print(part, soft_wrap=isinstance(part, str))

    def _show_json(self, fields: Any) -> None:
        if self.color_system is not None:
            self.print_json(json.dumps(fields))
            return
        # The same without colours, as it is: rich would look for places of colours all the same,
        # and for secrets twice more, which takes most of the time of a long answer.
        text = plain(json.dumps(fields, indent=2, ensure_ascii=False))
        self.print(Segments([Segment(text)], new_lines=True), soft_wrap=True)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """All that is shown passes here, tables cell by cell."""
        if isinstance(renderable, Text):
            renderable = _plain_text(renderable)
        return super().render(renderable, options)

    def print_line(self, text: str) -> None:
        """Prints the text as it is: rich breaks no line, and brackets in it are no style."""
        self.print(text, soft_wrap=True, markup=False)

    def add(self, line: str) -> None:
        """Says below what was found where that is kept; other forms have no such line."""
        if self.form == forms.TABLE:
            self.print_line(line)

    def render_str(self, text: str, **style: Any) -> Text:
        return super().render_str(plain(text), **style)

    def on_broken_pipe(self) -> None:
        # Who reads has seen enough (`| head`). The console of rich would end the program with 1,
        # which says that a contender is worse.
        self.quiet = True
        with suppress(OSError, ValueError):  # what is left to flush goes nowhere
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.file.fileno())


def _plain_text(text: Text) -> Text:
    """The text, without its styles where it was not plain."""
    shown = plain(text.plain)
    if shown == text.plain:
        return text
    # Styles are kept by position, and positions are no longer those.
    return text.blank_copy(shown)


def _fields(value: Any) -> Any:
    """What other programs get of a value: of an error what it says, of a record its fields, of a
    path its text."""
    if not isinstance(value, TierbenchError):
        return getattr(value, "__dict__", str(value))
    return {
        "what": value.what,
        "mistakes": value.mistakes,
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
