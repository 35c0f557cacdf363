"""A command line that was given before: which options it had."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import typer

from orchestrator.cli import main
from orchestrator.cli.common import defaults


@dataclass(frozen=True)
class GivenOption:
    """An option of a command line. keys: its names without hyphens before them; words: as a command
    line has them, with its value."""

    keys: Collection[str]
    words: Sequence[str]


def options_of(command_line: Sequence[str]) -> Iterator[GivenOption]:
    """The options of `tierbench COMMAND …`, in their order, each in the long form of its name.

    The command itself reads them, so each form is read as it was. A command or an option that this
    version lacks gives none.
    """
    command = _command_named("".join(command_line[1:2]))
    if command is None:
        return
    values, parameters = _parsed(command, command_line[2:])
    # One that was given several times stands there as often, and has all of its values.
    for parameter in dict.fromkeys(parameters):
        if parameter.param_type_name == "option":
            words = defaults.as_words(parameter.opts[0], values[parameter.name])
            yield GivenOption(defaults.keys(parameter), words)


def _command_named(name: str) -> Any:
    program: Any = typer.main.get_command(main.program)
    if name not in program.commands:
        return None
    return program.loaded(name)


def _parsed(command: Any, words: Sequence[str]) -> tuple[dict[str, Any], list[Any]]:
    """Parameter → its value as it was typed, and the parameters in the order of the words."""
    context = command.context_class(
        command, resilient_parsing=True, ignore_unknown_options=True
    )
    values, _, parameters = command.make_parser(context).parse_args(list(words))
    return values, parameters
