"""Commands that are imported when one is named: until then a table says where each is.

So `--help` and the completion of a name come at once, whatever a command needs for its work.
"""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from orchestrator.cli import defaults

_PREPARE, _MEASURE, _READ, _DISKS = "Prepare", "Measure", "Read results", "Disks and clusters"
# Of each command: its panel in `--help`; where it is, `module.name` in this folder, unless it is in
# `main`; and an example of its use.
COMMANDS = {
    "init": (_PREPARE, "init.init", "init mine --tier azure/P30"),
    "validate": (_PREPARE, "validate.validate", "validate profiles/mine.yaml tierbench.yaml"),
    "list": (_PREPARE, "", "list"),
    "tiers": (_PREPARE, "tiers.tiers", "tiers list --provider azure --min-iops 5000"),
    "prices": (_PREPARE, "prices.prices", "prices update --provider azure --region westeurope"),
    "setup": (_PREPARE, "", "setup"),
    "doctor": (_PREPARE, "", "doctor --profile ultra"),
    "yugabyte-image": (_PREPARE, "", "yugabyte-image yugabyte-2025.1.0.0-linux-x86_64.tar.gz"),
    "calibrate": (_PREPARE, "", "calibrate --profile ultra"),
    "schema": (_PREPARE, "schemas.schema", "schema profile"),
    "run": (_MEASURE, "", "run --profile ultra --workload tpcc"),
    "compare": (_MEASURE, "", 'compare --profiles "premium ultra" --workloads tpcc --aa'),
    "resume": (_MEASURE, "", "resume latest"),
    "observe": (_MEASURE, "observe.observe", "observe --file disk.csv --size 500GiB --at-cap 0.5"),
    "rehearse": (_MEASURE, "", 'rehearse --profiles "premium ultra" --workloads tpcc'),
    "import-study": (_MEASURE, "studies.import_study", "import-study"),
    "check": (_MEASURE, "check.check", "check --host 10.0.0.4 --port 5433 --user yugabyte"),
    "clean": (_MEASURE, "clean.clean", "clean --dry-run"),
    "report": (_READ, "export.report", "report latest"),
    "analyze": (_READ, "", 'analyze latest --slo "new_order p99 < 50 ms"'),
    "status": (_READ, "export.status", "status"),
    "verify": (_READ, "export.verify", "verify latest"),
    "export": (_READ, "export.export", "export latest --format csv --output runs.csv"),
    "history": (_READ, "over_time.history", "history --profile ultra --workload tpcc --trend"),
    "compare-results": (_READ, "over_time.compare_results", "compare-results january latest"),
    "advise": (_READ, "predictions.advise", 'advise latest/03-ultra-tpcc-r1 --slo "p99 < 20 ms"'),
    "predict": (_READ, "predictions.predict", "predict latest/03-ultra-tpcc-r1 --tier azure/P30"),
    "baseline": (_READ, "over_time.baseline", "baseline set january latest"),
    "disk": (_DISKS, "disks.disk", "disk up azure/P30 --at /mnt/p30"),
    "helm-values": (_DISKS, "helm_values.values", "helm-values profiles/cluster.yaml"),
    "storage-class": (_DISKS, "helm_values.storage_class", "storage-class profiles/cluster.yaml"),
}


def _help_of(place: str) -> str:
    """What a command or a group says of itself, read where it is written: nothing is imported."""
    module, _, name = place.partition(".")
    source = (Path(__file__).parent / f"{module}.py").read_text()
    said = re.search(rf'^(?:def {name}\(.*?""|{name} = .*?help=)"(.+?)"', source, re.M | re.S)
    return " ".join(said[1].split()) if said else ""


class LazyGroup(TyperGroup):
    """The commands of the table, of which only the named one is loaded."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.context_settings = {"help_option_names": ["-h", "--help"]}
        for name, (_, place, _) in COMMANDS.items():
            if place:
                self.commands[name] = TyperCommand(name, help=_help_of(place))
        self.commands = {name: self._placed(name, self.commands[name]) for name in COMMANDS}

    def _placed(self, name: str, command: Any) -> Any:
        command.rich_help_panel, _, example = COMMANDS[name]
        command.epilog = f"Example: tierbench {example}"
        return command

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """`help COMMAND` is `COMMAND --help`."""
        return super().parse_args(ctx, [*args[1:], "--help"] if args[:1] == ["help"] else args)

    def loaded(self, name: str) -> Any:
        """The command of this name, whose module is imported now. KeyError if there is none."""
        if not (place := COMMANDS[name][1]):
            return self.commands[name]
        module, _, attribute = place.partition(".")
        command = getattr(import_module(f"orchestrator.cli.{module}"), attribute)
        parent = typer.Typer()
        if isinstance(command, typer.Typer):
            parent.add_typer(command, name=name)
        else:
            parent.command(name=name)(command)
        return self._placed(name, typer.main.get_group(parent).commands[name])

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[Any, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        if name:
            command = self.loaded(name)
            # Of completion nothing is asked that reads a file of the user's.
            settings = {} if ctx.resilient_parsing else defaults.settings(self)
            for each in (command, *getattr(command, "commands", {}).values()):
                each.context_settings = {**each.context_settings, **settings}
        return name, command, rest
