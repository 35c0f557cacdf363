"""What the commands take: options and arguments, with the words of their help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ProfileOption = Annotated[
    str, typer.Option("--profile", "-p", help="A profile's name, or a YAML file.")
]
ProfilesOption = Annotated[
    str, typer.Option(help="Names, separated by spaces; the first is the baseline.")
]
WorkloadOption = Annotated[str, typer.Option("--workload", "-w", help="A workload's name.")]
WorkloadsOption = Annotated[str, typer.Option(help="Names, separated by spaces.")]
DatabaseOption = Annotated[
    str, typer.Option("--db", help="auto, or one of the databases that `list` shows.")
]
ScaleOption = Annotated[
    str, typer.Option(help="smoke, laptop, study or study-20: sizes and times.")
]
NodesOption = Annotated[
    int | None, typer.Option(min=1, help="Database nodes, instead of the profile's number.")
]
RepeatsOption = Annotated[int, typer.Option(min=1, help="Repetitions of every cell.")]
SeedOption = Annotated[int, typer.Option(help="Seed of data, keys and run order.")]
MarginOption = Annotated[float, typer.Option(help="Changes below this percentage do not matter.")]
BaselineOption = Annotated[str | None, typer.Option(help="The tier compared against.")]
GeneratorOption = Annotated[
    str | None, typer.Option(help="benchbase, to run tpcc with it instead of the built-in.")
]
SloOption = Annotated[
    str | None,
    typer.Option(help='To be reached, such as "new_order p99 < 50 ms, nopm > 25000".'),
]
PricesOption = Annotated[Path | None, typer.Option(help="A price list, instead of the catalog's.")]
GateEveryOption = Annotated[
    int | None, typer.Option(min=1, help="Check real disks again after every so many runs.")
]
DrainOption = Annotated[
    bool, typer.Option("--drain", help="Use up a real disk's burst credit before it is checked.")
]
ResultsOption = Annotated[Path, typer.Option(help="Where results are kept.")]
QuickOption = Annotated[bool, typer.Option(help="Ten seconds, as before each campaign.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print verdict.json instead of tables.")]
FailOption = Annotated[bool, typer.Option(help="Exit 1 if a contender is worse.")]
AcceptOption = Annotated[bool, typer.Option(help="Exit 0 also if no decision can be made.")]
FirstRunOption = Annotated[
    str | None, typer.Option("--db", help="yugabytedb: its first-run checklist, on three nodes.")
]
VersionOption = Annotated[str | None, typer.Option(help="Its release; default: the study's.")]
FolderArgument = Annotated[Path | None, typer.Argument(help="A results folder; default: newest.")]
