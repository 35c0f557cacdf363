"""What `--help` says of options and arguments (help.txt): of each something, nothing in vain."""

from __future__ import annotations

from typing import Any

import typer

from orchestrator.cli import main
from orchestrator.cli.common import command_making
from orchestrator.yugabyte import versions
from tests.asked import commands

PROGRAM: Any = typer.main.get_command(main.program)


def said() -> set[str]:
    return {
        getattr(p, "help", "") or ""
        for _, member in commands(PROGRAM)
        for p in member.params
    }


def test_something_is_said_of_each() -> None:
    silent = [
        f"{words} {parameter.name}"
        for words, member in commands(PROGRAM)
        for parameter in member.params
        if parameter.name != "tarball" and not getattr(parameter, "help", None)
    ]
    assert silent == []


def test_each_text_is_said_of_one() -> None:
    assert set(command_making.help_texts().values()) <= said()


def test_a_command_may_mean_something_else() -> None:
    of_data = {
        words: p.help
        for words, m in commands(PROGRAM)
        for p in m.params
        if p.name == "data"
    }
    assert of_data["compare"].startswith("Size of the data sets")
    assert of_data["disk up"].startswith("The file of its data")


def test_the_checklists_default_is_the_release_that_is_started() -> None:
    release, _, _ = versions.DEFAULT.partition("-")
    said_of_doctor = {
        p.name: p.help
        for words, m in commands(PROGRAM)
        for p in m.params
        if words == "doctor"
    }
    assert said_of_doctor["version"].endswith(f"the profile's, else {release}.")


def test_a_flag_is_off_unless_it_is_given() -> None:
    on = [
        f"{words} {parameter.name}"
        for words, member in (*commands(PROGRAM), ("tierbench", PROGRAM))
        for parameter in member.params
        if getattr(parameter, "is_flag", False) and parameter.default
    ]
    assert on == []
