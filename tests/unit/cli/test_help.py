"""Help: each command stands in a panel with an example that the program takes."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
import typer

from orchestrator.cli import main
from orchestrator.cli.commands import COMMANDS
from orchestrator.cli.options import _PANELS, Request, Told
from tests import ROOT
from tests.apps import an_app

PROGRAM: Any = typer.main.get_command(main.program)
APP = an_app(ROOT)


def test_every_command_has_its_place() -> None:
    assert set(PROGRAM.commands) == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_each_example_is_of_its_command_and_is_parsed(name: str) -> None:
    words = shlex.split(COMMANDS[name][2])
    command = PROGRAM.loaded(words[0])
    context = command.make_context(name, words[1:], obj=APP)
    if hasattr(command, "commands"):
        _, member, rest = command.resolve_command(context, words[1:])
        member.make_context(words[1], rest, parent=context)
    assert words[0] == name


def test_each_option_in_a_panel_is_of_a_campaign() -> None:
    names = " ".join(_PANELS.values()).split()
    assert set(names) <= {*Request.__dataclass_fields__, *Told.__dataclass_fields__}
    assert len(names) == len(set(names))


@pytest.mark.parametrize("words", [["-h"], ["help"], ["run", "-h"], ["help", "run"]])
def test_help_is_found_in_each_way(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main.exit_code(words, APP) == 0
    assert "Usage: tierbench" in capsys.readouterr().out


@pytest.mark.parametrize("name", COMMANDS)
def test_no_switch_has_a_twin_that_means_nothing(name: str) -> None:
    """Of `--burst` both mean something: with, without, or either."""
    command = PROGRAM.loaded(name)
    members = getattr(command, "commands", {name: command}).values()
    twins = {
        twin for member in members for option in member.params for twin in option.secondary_opts
    }
    assert twins <= {"--no-burst"}
