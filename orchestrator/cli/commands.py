"""Commands that are imported when one is named: until then a table says what each does.

So `--help` and the completion of a name come at once, whatever a command needs for its work.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup


@dataclass(frozen=True)
class LazyCommand:
    """A command, or a group of them, in a module of its own."""

    place: str  # `module.name` in this folder: of the command's function, or of the group's app
    help: str  # as the command's own


COMMANDS = {  # beside those below: each of a module that is imported when it is named
    "check": LazyCommand(
        "check.check",
        "Evaluates the conditions of a TPC-C-derived database; exit 2 if one is broken.",
    ),
    "import-study": LazyCommand(
        "studies.import_study",
        "Makes a campaign of a study's published tables, to be judged by this program's rules.",
    ),
    "init": LazyCommand(
        "init.init", "Writes a first profile, or workload, with comments that explain its keys."
    ),
    "schema": LazyCommand(
        "schemas.schema", "Prints the JSON Schema of a profile, cluster, workload or price list."
    ),
    "report": LazyCommand("export.report", "Shows the newest campaign again (or the one named)."),
    "export": LazyCommand(
        "export.export",
        "Writes the figures and verdicts of a campaign for CI servers and other programs.",
    ),
    "verify": LazyCommand(
        "export.verify",
        "Counts a campaign's figures again from its raw files; exit 1 if any differs.",
    ),
    "status": LazyCommand(
        "export.status",
        "Says how a campaign stands, also from another terminal: reads its folder only.",
    ),
    "history": LazyCommand(
        "over_time.history",
        "Lists stored campaigns, the newest first; with --trend, where a tier's rate changed.",
    ),
    "compare-results": LazyCommand(
        "over_time.compare_results",
        "What changed from one stored campaign to another: each tier and workload in both.",
    ),
    "helm-values": LazyCommand(
        "helm_values.values",
        "Prints the values of YugabyteDB's own Helm chart for a profile's cluster.",
    ),
    "storage-class": LazyCommand(
        "helm_values.storage_class", "Prints the StorageClass whose volumes are a profile's disks."
    ),
    "clean": LazyCommand(
        "clean.clean",
        "Removes leftovers on the platform and existing clusters, and kept data sets, after "
        "asking. Results stay, and so do disks that are up, and what has no mark of this cache.",
    ),
    "disk": LazyCommand("disks.disk", "A tier's disk for any program."),
    "tiers": LazyCommand("tiers.tiers", "Lists disk tiers; changes running disks."),
    "prices": LazyCommand("prices.prices", "Prices of the providers' own services."),
    "baseline": LazyCommand(
        "over_time.baseline", "Names for stored campaigns, to compare later ones with."
    ),
}


_PREPARE, _MEASURE, _READ, _DISKS = "Prepare", "Measure", "Read results", "Disks and clusters"
PLACES = {  # of each command: its panel in `--help`, and an example of its use
    "init": (_PREPARE, "init mine --tier azure/premium-ssd/p30"),
    "list": (_PREPARE, "list"),
    "tiers": (_PREPARE, "tiers list --provider azure --min-iops 5000"),
    "prices": (_PREPARE, "prices update --provider azure --region westeurope"),
    "setup": (_PREPARE, "setup"),
    "doctor": (_PREPARE, "doctor --profile ultra"),
    "yugabyte-image": (_PREPARE, "yugabyte-image yugabyte-2025.1.0.0-linux-x86_64.tar.gz"),
    "calibrate": (_PREPARE, "calibrate --profile ultra"),
    "schema": (_PREPARE, "schema profile"),
    "run": (_MEASURE, "run --profile ultra --workload tpcc"),
    "compare": (_MEASURE, 'compare --profiles "premium ultra" --workloads tpcc --until decided'),
    "resume": (_MEASURE, "resume latest"),
    "rehearse": (_MEASURE, 'rehearse --profiles "premium ultra" --workloads tpcc'),
    "import-study": (_MEASURE, "import-study"),
    "check": (_MEASURE, "check --host 10.0.0.4 --port 5433 --user yugabyte --database tpcc"),
    "clean": (_MEASURE, "clean --dry-run"),
    "report": (_READ, "report latest"),
    "analyze": (_READ, 'analyze latest --slo "new_order p99 < 50 ms"'),
    "status": (_READ, "status"),
    "verify": (_READ, "verify latest"),
    "export": (_READ, "export latest --format csv --output runs.csv"),
    "history": (_READ, "history --profile ultra --workload tpcc --trend"),
    "compare-results": (_READ, "compare-results baseline:january latest"),
    "baseline": (_READ, "baseline set january latest"),
    "disk": (_DISKS, "disk up azure/premium-ssd/p30 --at /mnt/p30"),
    "helm-values": (_DISKS, "helm-values profiles/cluster.yaml"),
    "storage-class": (_DISKS, "storage-class profiles/cluster.yaml"),
}


class LazyGroup(TyperGroup):
    """The commands of its app, then those of the table, of which only the named one is loaded."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.context_settings = {"help_option_names": ["-h", "--help"]}
        for name, row in COMMANDS.items():
            self.commands[name] = TyperCommand(name, help=row.help)
        self.commands = {name: self._placed(name, self.commands[name]) for name in PLACES}

    def _placed(self, name: str, command: Any) -> Any:
        command.rich_help_panel, example = PLACES[name]
        command.epilog = f"Example: tierbench {example}"
        return command

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """`help COMMAND` is `COMMAND --help`."""
        return super().parse_args(ctx, [*args[1:], "--help"] if args[:1] == ["help"] else args)

    def loaded(self, name: str) -> Any:
        """The command of this name, whose module is imported now. KeyError if there is none."""
        if (row := COMMANDS.get(name)) is None:
            return self.commands[name]
        module, _, attribute = row.place.partition(".")
        command = getattr(import_module(f"orchestrator.cli.{module}"), attribute)
        parent = typer.Typer()
        if isinstance(command, typer.Typer):
            parent.add_typer(command, name=name)
        else:
            parent.command(name=name)(command)
        return self._placed(name, typer.main.get_group(parent).commands[name])

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[Any, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        return name, self.loaded(name) if name else command, rest
