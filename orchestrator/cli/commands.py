"""Commands that are imported when one is named: until then a table says where each is.

So `--help` and the completion of a name come at once, whatever a command needs for its work. Those
of extensions stand behind ours in their panels."""

import re
from collections.abc import Mapping
from copy import copy
from functools import cache
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from orchestrator.cli.common import defaults
from orchestrator.registry.extension import CommandEntry
from orchestrator.registry.installed import BroughtEntry, family
from orchestrator.registry.references import ObjectPlace

_HERE = Path(__file__).parent


@cache
def _built_in() -> Mapping[str, CommandEntry]:
    """The built-in commands by name, from commands.txt."""
    entries: dict[str, CommandEntry] = {}
    panel = ""
    text = (_HERE / "commands.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line.startswith("  "):
            name, place, example = line.split(maxsplit=2)
            entries[name] = _entry(place, panel, example)
        elif not line.startswith("#"):
            panel = line
    return entries


def _entry(place: str, panel: str, example: str) -> CommandEntry:
    module, _, name = place.rpartition(".")
    file = Path(module.replace(".", "/")).with_suffix(".py")
    source = (_HERE / file).read_text(encoding="utf-8")
    return CommandEntry(
        f"orchestrator.cli.{module}:{name}", _help_in(source, name), panel, example
    )


def _help_in(source: str, name: str) -> str:
    """What a command or a group says of itself, read where it is written: nothing is imported."""
    # A command has it as the docstring of its function, a group as `help=` of its typer.Typer.
    help_text = re.search(
        rf'^(?:def {name}\(.*?""|{name} = .*?help=)"(.+?)"', source, re.M | re.S
    )
    if help_text is None:
        return ""
    return " ".join(help_text[1].split())


def commands() -> Mapping[str, BroughtEntry[CommandEntry]]:
    """All, as `--help` shows them: panel by panel, in each ours and then those of extensions."""
    by_panel: dict[str, dict[str, BroughtEntry[CommandEntry]]] = {}
    for name, owned in family("commands", _built_in()).items():
        by_panel.setdefault(owned.entry.panel, {})[name] = owned
    ordered: dict[str, BroughtEntry[CommandEntry]] = {}
    for panel in by_panel.values():
        ordered |= panel
    return ordered


# The twelve options that a first campaign needs, of the commands that have many more. `--help`
# shows these, `--help-all` all of them.
_FIRST_OPTIONS = {
    "run": "profiles workloads db scale nodes repeats slo set max_cost dry_run output verbose",
    "compare": "profiles workloads db scale nodes repeats until slo margin max_cost dry_run output",
}
HELP_ALL = "--help-all"


def _in_short(name: str, command: Any, entry: CommandEntry) -> Any:
    """The command, whose help shows its first options alone, in one panel."""
    first = (entry.first_options or _FIRST_OPTIONS.get(name, "")).split()
    if not first:
        return command
    # Copies, because the program keeps this command and would hide its options for good.
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


@cache
def _made_by_typer(declared: Any, name: str) -> Any:
    """The command that typer makes of a function, or of the functions of a `typer.Typer`.

    Kept with its options. To read them off the functions takes a third of the time of a plan, and a
    file of defaults asks for those of all commands."""
    # typer makes commands of click only for an app: this one has the one command.
    parent = typer.Typer()
    if isinstance(declared, typer.Typer):
        parent.add_typer(declared, name=name)
    else:
        parent.command(name=name)(declared)
    return typer.main.get_group(parent).commands[name]


def _imported(name: str, place: ObjectPlace) -> Any:
    """The command of click that is declared in this place."""
    return _copied(_made_by_typer(place.imported(), name))


def _copied(command: Any) -> Any:
    """The command with settings of its own, and with the same options. So has each member of a
    group."""
    copied = copy(command)
    if isinstance(command, TyperGroup):
        copied.commands = {}
        for name, member in command.commands.items():
            copied.commands[name] = _copied(member)
    return copied


class LazyGroup(TyperGroup):
    """The commands of the table, of which only the named one is loaded."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.context_settings = {"help_option_names": ["-h", "--help"]}
        self._listed = commands()
        # Commands without options, of which `--help` needs the name and one line alone.
        placeholders = {}
        for name, owned in self._listed.items():
            command = TyperCommand(name, help=owned.entry.help)
            placeholders[name] = self._placed(name, command)
        self.commands = placeholders

    def _placed(self, name: str, command: Any) -> Any:
        entry = self._listed[name].entry
        command.rich_help_panel = entry.panel
        command.epilog = f"Example: tierbench {entry.example}"
        return command

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """`help COMMAND` is `COMMAND --help`."""
        if args[:1] == ["help"]:
            return super().parse_args(ctx, [*args[1:], "--help"])
        # Who gives it without a command gets the list of commands, not "no such option".
        if args[:1] == [HELP_ALL]:
            return super().parse_args(ctx, ["--help"])
        return super().parse_args(ctx, args)

    def loaded(self, name: str) -> Any:
        """The command of this name, whose module is imported now. KeyError if there is none."""
        owned = self._listed[name]
        command = _imported(name, ObjectPlace(owned.entry.place, owned.origin))
        for words, brought in family("subcommands", dict[str, str]()).items():
            group, _, member = words.partition(" ")
            if group == name:
                command.commands[member] = _imported(
                    member, ObjectPlace(brought.entry, brought.origin)
                )
        return self._placed(name, command)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[Any, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        # While a shell completes, the name may be half written.
        if not name:
            return name, command, rest
        command = self.loaded(name)
        # `--help-all` is no option of click's: it is `--help` of a command that hides none.
        if HELP_ALL in rest:
            rest = [word for word in rest if word != HELP_ALL] + ["--help"]
        elif {"--help", "-h"} & set(rest):
            command = _in_short(name, command, self._listed[name].entry)
        # Completion reads no file of the user's: a mistake in it would be printed at the prompt.
        if not ctx.resilient_parsing:
            given = defaults.of_file(self)
            for member in defaults.with_members(command):
                settings = defaults.settings(given, member)
                member.context_settings = {**member.context_settings, **settings}
        return name, command, rest
