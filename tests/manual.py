"""The manual page: `python -m tests.manual` writes docs/tierbench.1 anew, as `make man` does.

It is made of the program's own commands and options, as `--help` is, and of the tables of
docs/OPTIONS.md on exit codes and variables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any

import typer

from orchestrator import __version__
from orchestrator.cli import main
from orchestrator.cli.commands import COMMANDS
from tests import ROOT

PAGE = ROOT / "docs" / "tierbench.1"
OPTIONS = (ROOT / "docs" / "OPTIONS.md").read_text()


def page() -> str:
    """The whole page, in the macros of man(7)."""
    group: Any = typer.main.get_command(main.program)
    return "\n".join(_lines(group)) + "\n"


def _lines(group: Any) -> Iterator[str]:
    yield f'.TH TIERBENCH 1 "" "tierbench {__version__}" "User Commands"'
    yield from (".SH NAME", f"tierbench \\- {escaped(group.help)}", ".SH SYNOPSIS")
    yield from (
        ".B tierbench",
        r"\fICOMMAND\fR [\fIOPTION\fR ...] [\fIARGUMENT\fR ...]",
        ".br",
    )
    yield from (".B tierbench", r"\fICOMMAND\fR \-\-help", ".SH COMMANDS")
    for panel, names in groupby(COMMANDS, key=lambda name: COMMANDS[name][0]):
        yield f'.SS "{panel}"'
        for name in names:
            yield from _command(f"tierbench {name}", group.loaded(name), group)
            yield from (
                ".PP",
                f"Example: \\fB{escaped(f'tierbench {COMMANDS[name][2]}')}\\fR",
            )
    yield from (".SH OPTIONS OF ALL COMMANDS", *_options(_common(group)))
    yield from (".SH ENVIRONMENT", *_table("| variable of the environment |"))
    yield from (".SH FILES", ".TP", ".I tierbench.yaml")
    yield "Defaults of options, in the folder in which a command is given."
    yield from (".SH EXIT STATUS", *_table("| code | when |"))


def _common(group: Any) -> list[Any]:
    return [
        p
        for p in group.loaded("list").params
        if p.name in ("quiet", "verbose", "color")
    ]


def _command(title: str, command: Any, group: Any) -> Iterator[str]:
    members = getattr(command, "commands", {})
    if members:
        for name, member in members.items():
            yield from _command(f"{title} {name}", member, group)
        return
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    words = " ".join(map(_argument, arguments))
    yield from (
        ".TP",
        f"\\fB{escaped(title)}\\fR \\fI{escaped(words)}\\fR".removesuffix(r" \fI\fR"),
    )
    yield escaped(command.help)
    common = {p.name for p in _common(group)}
    own = [p for p in command.params if p not in arguments and p.name not in common]
    yield from (".RS", *_options(own), ".RE") if own else ()


def _argument(argument: Any) -> str:
    name = argument.metavar or argument.name.upper() + "..." * (argument.nargs == -1)
    return name if argument.required or name.startswith("[") else f"[{name}]"


def _options(options: list[Any]) -> Iterator[str]:
    for option in options:
        every = [*option.opts, *option.secondary_opts]
        value = option.metavar or option.name.upper().replace("_", "-")
        shown = "" if option.is_flag else f" \\fI{escaped(value)}\\fR"
        names = ", ".join(f"\\fB{escaped(name)}\\fR" for name in every)
        yield from (".TP", names + shown, escaped(option.help or ""))


def _table(head: str) -> Iterator[str]:
    """Rows of a table of docs/OPTIONS.md."""
    rows = OPTIONS.split(head)[1].split("\n\n")[0].splitlines()[2:]
    for row in rows:
        name, text = (cell.strip() for cell in row.strip("|").split(" | ", 1))
        yield from (".TP", f"\\fB{escaped(_plain(name))}\\fR", escaped(_plain(text)))


def _plain(markdown: str) -> str:
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", markdown).replace("`", "")


def escaped(text: str) -> str:
    """As roff wants it: no control at the begin of a line, and what it would change as it is."""
    text = (
        " ".join(text.split())
        .replace("\\", r"\e")
        .replace("-", r"\-")
        .replace("'", r"\(aq")
    )
    text = re.sub(r"[^\x00-\x7f]", lambda match: f"\\[u{ord(match[0]):04X}]", text)
    return f"\\&{text}" if text.startswith((".", "'")) else text


if __name__ == "__main__":
    PAGE.write_text(page())
