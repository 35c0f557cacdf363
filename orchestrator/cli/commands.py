"""Commands that are imported when one is named: until then a table says what each does.

So `--help` and the completion of a name come at once, whatever a command needs for its work.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import typer
from rich.console import Console
from typer.core import TyperCommand, TyperGroup

from orchestrator.cli.console import ConsoleProgress


@dataclass(frozen=True)
class Program:
    """What commands are given: the program's own folders and console."""

    root: Path
    cache: Path
    results: Path  # where campaigns stay unless a folder is named
    rehearsals: Path
    out: Console
    progress: ConsoleProgress
    conclude: Callable[[Path, bool], tuple[Any, Any]]  # a campaign, as JSON or not: shows it


@dataclass(frozen=True)
class LazyCommand:
    """A command, or a group of them, in a module of its own."""

    module: str  # of this folder
    make: Callable[[Any, Program], Any]  # the module → the command's function, or the group's app
    help: str  # as the command's own

    def load(self, name: str, session: Program) -> Any:
        """Imports the module and returns the command."""
        made = self.make(import_module(f"orchestrator.cli.{self.module}"), session)
        parent = typer.Typer()
        if isinstance(made, typer.Typer):
            parent.add_typer(made, name=name)
        else:
            parent.command(name=name)(made)
        return typer.main.get_group(parent).commands[name]


COMMANDS = {  # beside those below: each of a module that is imported when it is named
    "check": LazyCommand(
        "check",
        lambda module, its: module.check_command(its.root, its.out),
        "Evaluates the conditions of a TPC-C-derived database; exit 2 if one is broken.",
    ),
    "rehearse": LazyCommand(
        "rehearsal",
        lambda module, its: module.command(its.root, its.rehearsals, its.progress, its.conclude),
        "Goes through a whole campaign in seconds, without Docker: its figures are made up.",
    ),
    "import-study": LazyCommand(
        "studies",
        lambda module, its: module.command(its.root, its.results, its.out, its.conclude),
        "Makes a campaign of a study's published tables, to be judged by this program's rules.",
    ),
    "init": LazyCommand(
        "init",
        lambda module, its: module.command(its.root, its.out),
        "Writes a first profile, or workload, with comments that explain its keys.",
    ),
    "schema": LazyCommand(
        "schemas",
        lambda module, its: module.command(its.out),
        "Prints the JSON Schema of a profile, cluster, workload or price list.",
    ),
    "export": LazyCommand(
        "export",
        lambda module, its: module.command(its.results),
        "Writes the figures and verdicts of a campaign for CI servers and other programs.",
    ),
    "verify": LazyCommand(
        "verify",
        lambda module, its: module.command(its.results, its.out),
        "Counts a campaign's figures again from its raw files; exit 1 if any differs.",
    ),
    "history": LazyCommand(
        "over_time",
        lambda module, its: module.history_command(its.results, its.out),
        "Lists stored campaigns, the newest first; with --trend, where a tier's rate changed.",
    ),
    "compare-results": LazyCommand(
        "over_time",
        lambda module, its: module.compare_command(its.results, its.out),
        "What changed from one stored campaign to another: each tier and workload in both.",
    ),
    "helm-values": LazyCommand(
        "helm_values",
        lambda module, its: module.values_command(its.root, its.out),
        "Prints the values of YugabyteDB's own Helm chart for a profile's cluster.",
    ),
    "storage-class": LazyCommand(
        "helm_values",
        lambda module, its: module.class_command(its.root, its.out),
        "Prints the StorageClass whose volumes are a profile's disks.",
    ),
    "clean": LazyCommand(
        "clean",
        lambda module, its: module.clean_command(its.root, its.cache, its.out, its.progress),
        "Removes leftovers on the platform and existing clusters, and kept data sets, after "
        "asking. Results stay, and so do disks that are up, and what has no mark of this cache.",
    ),
    "disk": LazyCommand(
        "disks",
        lambda module, its: module.disk_app(its.root, its.cache, its.out, its.progress),
        "A tier's disk for any program.",
    ),
    "tiers": LazyCommand(
        "tiers",
        lambda module, its: module.tiers_app(
            its.root, its.cache, its.results, its.out, its.progress
        ),
        "Lists disk tiers; changes running disks.",
    ),
    "prices": LazyCommand(
        "prices",
        lambda module, its: module.prices_app(its.root, its.out, its.progress),
        "Prices of the providers' own services.",
    ),
    "baseline": LazyCommand(
        "over_time",
        lambda module, its: module.baseline_app(its.results, its.out),
        "Names for stored campaigns, to compare later ones with.",
    ),
}


class LazyGroup(TyperGroup):
    """The commands of its app, then those of the table, of which only the named one is loaded."""

    session: ClassVar[Program]

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, row in COMMANDS.items():
            self.commands[name] = TyperCommand(name, help=row.help)

    def loaded(self, name: str) -> Any:
        """The command of this name. KeyError if there is none."""
        row = COMMANDS.get(name)
        return row.load(name, self.session) if row else self.commands[name]

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[Any, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        return name, self.loaded(name) if name else command, rest
