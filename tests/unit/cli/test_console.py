"""The console: a terminal that went away is written to in vain, and ends nothing."""

from __future__ import annotations

import errno
import io
import json
import re
from collections.abc import Callable
from datetime import datetime

import pytest
from rich.highlighter import JSONHighlighter

from orchestrator.cli.common import forms
from orchestrator.cli.common.console import LastingConsole
from orchestrator.cli.common.progress import ConsoleProgress
from tests.calls import calls_of
from tests.fakes import FakeClock


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
    console = LastingConsole(file=file, force_terminal=terminal)
    progress = ConsoleProgress(console, FakeClock())
    progress.run("01-premium", 1, 2, 60.0)
    progress.step("warming the cache")
    progress.step("measuring", 5.0)
    progress.note("a note")
    progress.warn("a warning")
    progress.done()
    assert file.tried


def logged(
    tell: Callable[[ConsoleProgress], None], clock: FakeClock | None = None
) -> list[str]:
    """What a file gets."""
    file = io.StringIO()
    console = LastingConsole(file=file, force_terminal=False)
    tell(ConsoleProgress(console, clock or FakeClock()))
    return file.getvalue().splitlines()


def test_off_a_terminal_a_step_that_goes_on_is_told_once_a_minute_and_a_new_one_at_once() -> (
    None
):
    clock = FakeClock()

    def tell(progress: ConsoleProgress) -> None:
        for second in range(100):
            progress.step(
                f"measuring: {second} s, {1000 + second}/s, p99 {second / 10} ms", 5.0
            )
            clock.sleep(1.0)
        progress.step("reading what was measured")
        progress.run("02-ultra", 2, 2, 60.0)
        progress.step("measuring: 0 s, 9/s, p99 1.5 s")

    told = logged(tell, clock)
    stamp = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d "
    assert all(re.match(stamp, line) for line in told)
    assert [re.sub(stamp, "", line) for line in told] == [
        "  measuring: 0 s, 1000/s, p99 0.0 ms (about 5 s)",
        "  measuring: 60 s, 1060/s, p99 6.0 ms (about 5 s)",
        "  reading what was measured",
        "[2/2] 02-ultra · about 60 s left",
        "  measuring: 0 s, 9/s, p99 1.5 s",
    ]


def test_a_line_of_a_log_has_the_time_of_day_of_the_clock() -> None:
    (line,) = logged(lambda progress: progress.note("a note"))
    assert line.startswith(f"{datetime.fromtimestamp(FakeClock().now())} ")


def test_neither_control_characters_nor_passwords_reach_the_console() -> None:
    def tell(progress: ConsoleProgress) -> None:
        for say in (progress.step, progress.note, progress.warn):
            say("a log said \x1b]0;owned\x07 of http://ann:pl4nted@host \x9b2J")

    lines = logged(tell)
    assert len(lines) == 3
    for line in lines:
        assert line.endswith(
            r"a log said \x1b]0;owned\x07 of http://ann:***@host \u009b2J"
        )


# ------------------------------------------------------------------ JSON

ODD_TEXTS = {
    "brackets": "[bold]no style[/bold]",
    "colours": "\x1b[31mred\x1b[0m",
    "letters": "größer, 😀, \x85 \u202e",
    "a long line": "word " * 200,
    "an address": "postgresql://u:hunter2hunter2@db/x",
    "lists": [[], {}, [1, 2.5e-9, True, None], {"empty": ""}],
}


def test_json_for_a_program_is_that_for_a_terminal_without_colours() -> None:
    shown = []
    for terminal in (False, True):
        file = io.StringIO()
        console = LastingConsole(file=file, force_terminal=terminal, width=100_000)
        console.form = forms.JSON
        console.show(ODD_TEXTS)
        shown.append(re.sub(r"\x1b\[[\d;]*m", "", file.getvalue()))
    for_a_program, on_a_terminal = shown
    assert for_a_program == on_a_terminal
    told = json.loads(for_a_program)
    assert told["brackets"] == ODD_TEXTS["brackets"]
    assert "hunter2hunter2" not in for_a_program


def test_no_colour_is_looked_for_where_none_is_shown() -> None:
    """Colouring took most of the time of a long answer, also where a program reads it."""
    console = LastingConsole(file=io.StringIO(), force_terminal=False)
    console.form = forms.JSON
    watched = {"colouring": JSONHighlighter.highlight}
    assert calls_of(watched, lambda: console.show(ODD_TEXTS)) == {}
