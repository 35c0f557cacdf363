"""Commands that are imported when one is named: until then a table says where each is.

So `--help` and the completion of a name come at once, whatever a command needs for its work."""

import re
from collections.abc import Iterator
from copy import copy
from pathlib import Path
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from orchestrator.cli import defaults
from orchestrator.keys.package_files import package_file
from orchestrator.registry.references import referenced


class Listed(NamedTuple):
    """A command in commands.txt: its panel in `--help`, `module.name` of what it is, or `main`, and
    an example."""

    panel: str
    place: str
    example: str


def _listed() -> Iterator[tuple[str, Listed]]:
    """Name → what is listed of it."""
    panel = ""
    file = Path(__file__).with_name("commands.txt")
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("  "):
            name, place, example = line.split(maxsplit=2)
            yield name, Listed(panel, place, example)
        elif not line.startswith("#"):
            panel = line


COMMANDS = dict(_listed())


def _reference(place: str) -> str:
    """Of a command of this folder, or of an extension."""
    if ":" in place:
        return place
    module, _, name = place.partition(".")
    return f"orchestrator.cli.{module}:{name}"


def _help_of(place: str) -> str:
    """What a command or a group says of itself, read where it is written: nothing is imported."""
    module, _, name = _reference(place).partition(":")
    package, _, file = module.rpartition(".")
    source = package_file(package, f"{file}.py")
    help_text = re.search(
        rf'^(?:def {name}\(.*?""|{name} = .*?help=)"(.+?)"', source, re.M | re.S
    )
    if help_text is None:
        return ""
    return " ".join(help_text[1].split())


# The twelve options that a first campaign needs, of the commands that have many more. `--help`
# shows these, `--help-all` all of them.
FIRST_OPTIONS = {
    "run": (
        *("profiles", "workloads", "db", "scale", "nodes", "repeats"),
        *("slo", "set", "max_cost", "dry_run", "results", "verbose"),
    ),
    "compare": (
        *("profiles", "workloads", "db", "scale", "nodes", "repeats"),
        *("until", "slo", "margin", "max_cost", "dry_run", "results"),
    ),
    "observe": (
        *("file", "prometheus", "exporter", "profile", "last", "device"),
        *("size", "source", "vm", "region", "at_cap", "results"),
    ),
}
HELP_ALL = "--help-all"


def _in_short(name: str, command: Any) -> Any:
    """The command, whose help shows its first options alone, in one panel."""
    first = FIRST_OPTIONS.get(name)
    if first is None:
        return command
    short = copy(command)
    short.params = [copy(parameter) for parameter in command.params]
    hidden = 0
    for parameter in short.params:
        if parameter.param_type_name != "option":
            continue
        parameter.rich_help_panel = None
        parameter.hidden = parameter.name not in first
        hidden += parameter.hidden
    all_of_them = f"All {hidden + len(first)} options: tierbench {name} {HELP_ALL}"
    short.epilog = f"{all_of_them}. {command.epilog}"
    return short


class LazyGroup(TyperGroup):
    """The commands of the table, of which only the named one is loaded."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.context_settings = {"help_option_names": ["-h", "--help"]}
        for name, listed in COMMANDS.items():
            if listed.place != "main":
                self.commands[name] = TyperCommand(name, help=_help_of(listed.place))
        # In the order of the table, which `--help` shows.
        self.commands = {
            name: self._placed(name, self.commands[name]) for name in COMMANDS
        }

    def _placed(self, name: str, command: Any) -> Any:
        listed = COMMANDS[name]
        command.rich_help_panel = listed.panel
        command.epilog = f"Example: tierbench {listed.example}"
        return command

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """`help COMMAND` is `COMMAND --help`."""
        if args[:1] == ["help"]:
            return super().parse_args(ctx, [*args[1:], "--help"])
        if args[:1] == [HELP_ALL]:
            return super().parse_args(ctx, ["--help"])
        return super().parse_args(ctx, args)

    def loaded(self, name: str) -> Any:
        """The command of this name, whose module is imported now. KeyError if there is none."""
        place = COMMANDS[name].place
        if place == "main":
            return self.commands[name]
        command = referenced(_reference(place))
        parent = typer.Typer()
        if isinstance(command, typer.Typer):
            parent.add_typer(command, name=name)
        else:
            parent.command(name=name)(command)
        return self._placed(name, typer.main.get_group(parent).commands[name])

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[Any, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        if not name:
            return name, command, rest
        command = self.loaded(name)
        if HELP_ALL in rest:
            rest = ["--help" if word == HELP_ALL else word for word in rest]
        elif {"--help", "-h"} & set(rest):
            command = _in_short(name, command)
        # Of completion nothing is asked that reads a file of the user's.
        if not ctx.resilient_parsing:
            given = defaults.of_file(self)
            for member in defaults.with_members(command):
                settings = defaults.settings(given, member)
                member.context_settings = {**member.context_settings, **settings}
        return name, command, rest
