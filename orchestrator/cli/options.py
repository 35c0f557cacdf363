"""What the commands take: options and arguments, their help, and what a shell completes."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, fields
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import typer
from typer import Argument, Option

from orchestrator.cli import RESULTS, root
from orchestrator.parts import AUTO
from orchestrator.units import parse_bytes, parse_seconds


def names_in(text: str) -> list[str]:
    """What one option names, separated by spaces or commas."""
    return [name for name in re.split(r"[\s,]+", text) if name]


def weights_in(text: str | None) -> dict[str, float]:
    """`tpcc=3,insert=1`, by workload. ValueError for what is no number above zero."""
    pairs = [part.partition("=") for part in names_in(text or "")]
    weights = {name: float(number or "nan") for name, _, number in pairs}
    if bad := [name for name, weight in weights.items() if not 0 < weight < math.inf]:
        raise ValueError(f"the weight of {', '.join(bad)} must be a number above zero")
    return weights


def _names_of(folder: str) -> Callable[[str], list[str]]:
    """A callback of typer: what is typed so far → what it may become, also the last of several."""

    def complete(incomplete: str) -> list[str]:
        before, space, begun = incomplete.rpartition(" ")
        known = sorted(file.stem for file in (root() / folder).glob("*.yaml"))
        fitting = (name for name in known if name.startswith(begun) and name not in before.split())
        return [f"{before}{space}{name}" for name in fitting]

    return complete


complete_profiles, complete_workloads = _names_of("profiles"), _names_of("workloads")


def _margin(value: float | None) -> float | None:
    """A range of click's would let `nan` pass, with which no verdict can be made."""
    if value is not None and not 0 <= value < 100:
        raise typer.BadParameter("it is a percentage, 0 or more and below 100")
    return value


def _read_by(reader: Callable[[str], Any], *words: str) -> Callable[[str | None], str | None]:
    """A callback of typer: refuses what `reader` refuses and is none of `words`."""

    def read(value: str | None) -> str | None:
        try:
            if value is not None and value not in words:
                reader(value)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from error
        return value

    return read


def _of_sizes(name: str) -> Callable[[str], object]:
    """A reader of `planning.sizes`, which is imported when there is something to read."""
    return lambda text: getattr(import_module("orchestrator.planning.sizes"), name)(text)


_profile = partial(Option, "--profile", "-p", autocompletion=complete_profiles)
ProfileOption = Annotated[str, _profile(help="A profile's name, or a YAML file.")]
PlacingOption = Annotated[str | None, _profile(help="A profile: its platform and its machines.")]
ProfilesOption = Annotated[
    str,
    Option(
        help="Names, separated by spaces or commas; the first is the baseline.",
        autocompletion=complete_profiles,
    ),
]
WorkloadOption = Annotated[
    str, Option("--workload", "-w", help="A workload's name.", autocompletion=complete_workloads)
]
WorkloadsOption = Annotated[
    str, Option(help="Names, separated by spaces or commas.", autocompletion=complete_workloads)
]
PlatformOption = Annotated[str | None, Option(help="docker or kubernetes: where containers run.")]
ScaleOption = Annotated[
    str, Option(help="smoke, laptop, rehearsal, study or study-20: sizes and times.")
]
NodesOption = Annotated[
    int | None, Option(min=1, help="Database nodes, instead of the profile's number.")
]
RepeatsOption = Annotated[int, Option("--repeats", min=1, help="Repetitions of every cell.")]
SeedOption = Annotated[int, Option(help="Seed of data, keys and run order.")]
MarginOverTimeOption = Annotated[
    float | None, Option("--margin", callback=_margin, help="In percent; default: that of B.")
]
P99MarginOverTimeOption = Annotated[
    float | None,
    Option("--p99-margin", callback=_margin, help="Of p99 latency; default: that of B."),
]
_slo = partial(Option, help='To be reached, such as "new_order p99 < 50 ms, nopm > 25000".')
SloOption = Annotated[str | None, _slo("--slo")]
DrainOption = Annotated[
    bool, Option("--drain", help="Use up a real disk's burst credit before it is checked.")
]
OnlyShowOption = Annotated[bool, Option("--dry-run", help="Shows what would go; removes nothing.")]
DespiteOption = Annotated[
    list[str] | None, Option(metavar="NAME", help="Go on although it differs: code, machine, …")
]
VersionOption = Annotated[bool, Option("--version", help="Says which tierbench this is.")]
YesOption = Annotated[bool, Option("--yes", "-y", help="Does not ask.")]
ResultsOption = Annotated[Path, Option(file_okay=False, help="Where results are kept.")]
JsonOption = Annotated[bool, Option("--json", help="Print verdict.json instead of tables.")]
FailOption = Annotated[bool, Option("--fail-if-worse", help="Exit 1 if a contender is worse.")]
AcceptOption = Annotated[
    bool, Option("--accept-inconclusive", help="Exit 0 also if no decision can be made.")
]
LimitsArgument = Annotated[list[str], Argument(help="Such as iops=4000 bytes_per_s=1e8.")]
CampaignArgument = Annotated[str, Argument(help="A folder, latest, or a baseline's name.")]


@dataclass(frozen=True)
class Measuring:
    """What all commands that carry out a campaign can be asked: each field is an option of each."""

    results: ResultsOption = RESULTS
    as_json: JsonOption = False
    max_cost: Annotated[
        str | None,
        Option("--max-cost", help='Refuse what would cost more to rent, such as "5 USD".'),
    ] = None
    cache_max: Annotated[
        str | None,
        Option(
            "--cache-max",
            callback=_read_by(parse_bytes),
            help="Most that kept data sets may take, such as 200GiB; the longest unused go.",
        ),
    ] = None
    on_end: Annotated[
        str | None,
        Option(metavar="COMMAND", help="Run by a shell when the campaign ends, however it does."),
    ] = None


@dataclass(frozen=True)
class Options(Measuring):
    """And what `run` and `compare` can be asked, which begin one."""

    database: Annotated[
        str, Option("--db", help="auto, or one of the databases that `list` shows.")
    ] = AUTO
    platform: PlatformOption = None
    enforcement: Annotated[
        Literal["emulated", "storage-class"] | None,
        Option(help="How the profiles' disks are made, instead of as they say."),
    ] = None
    scale: ScaleOption = "laptop"
    nodes: NodesOption = None
    node_size: Annotated[
        str | None,
        Option(
            metavar="auto|CPUS,MEMORY,DISK",
            callback=_read_by(_of_sizes("node_size"), "auto"),
            help="Of each node, such as 4,16GiB,200GiB; auto: what the machines have.",
        ),
    ] = None
    data: Annotated[
        str | None,
        Option(
            metavar="Nx|BYTES",
            callback=_read_by(_of_sizes("data_size")),
            help="Size of the data sets: 4x of the nodes' memory, or 100GiB.",
        ),
    ] = None
    time: Annotated[
        str | None,
        Option(
            callback=_read_by(parse_seconds),
            help="As many repetitions and as long windows as end in it, such as 4h.",
        ),
    ] = None
    clients: Annotated[
        int | None, Option(min=1, help="Load clients, instead of the profile's number.")
    ] = None
    repetitions: RepeatsOption = 1
    seed: SeedOption = 1
    generator: Annotated[
        str | None, Option(help="benchbase, to run tpcc with it instead of the built-in.")
    ] = None
    slo: Annotated[str | None, _slo("--slo", "--need")] = None
    price_list: Annotated[
        Path | None, Option("--prices", help="A price list, instead of the catalog's.")
    ] = None
    latency_at: Annotated[
        str | None,
        Option(help="All tiers at one arrival rate: 70% of the slowest's capacity, or 120/s."),
    ] = None
    sweep: Annotated[
        str | None, Option(help="Each workload at several loads: threads=1,4,16 or rate=50,100.")
    ] = None
    gate_every: Annotated[
        int | None, Option(min=1, help="Check real disks again after every N runs.")
    ] = None
    drain: DrainOption = False
    warmup: Annotated[
        Literal["fixed", "steady"],
        Option(help="fixed: as long as the scale says; steady: until throughput is steady."),
    ] = "fixed"
    windows: Annotated[
        Literal["scale", "checkpoints", "many"],
        Option(
            help="scale: as long as it says; checkpoints: of whole checkpoint intervals; many: "
            "shorter ones of what only reads, in more repetitions and the same time."
        ),
    ] = "scale"
    overrides: Annotated[
        list[str] | None,
        Option("--set", metavar="KEY=VALUE", help="A workload's key; may be given repeatedly."),
    ] = None
    retry_failed: Annotated[
        int, Option("--retry-failed", min=0, help="How often a run that failed is repeated last.")
    ] = 1
    dry_run: Annotated[
        bool, Option("--dry-run", help="Show plan, time, space and cost; start nothing.")
    ] = False


@dataclass(frozen=True)
class Compared(Options):
    """And what only `compare` can be asked, where there is more than one tier."""

    fail_if_worse: FailOption = False
    accept_inconclusive: AcceptOption = False
    margin_pct: Annotated[
        float,
        Option("--margin", callback=_margin, help="Changes below this percentage do not matter."),
    ] = 5.0
    p99_margin_pct: Annotated[
        float,
        Option(
            "--p99-margin", callback=_margin, help="The same of p99 latency, which varies more."
        ),
    ] = 20.0
    baseline: Annotated[str | None, Option(help="The tier compared against.")] = None
    weights: Annotated[
        str | None,
        Option(
            metavar="NAME=N,…",
            callback=_read_by(weights_in),
            help="Of workloads in the answer for all together, such as tpcc=3,insert=1.",
        ),
    ] = None
    until: Annotated[
        Literal["decided"] | None,
        Option(help="decided: more repetitions of workloads whose decision is open."),
    ] = None
    most_repetitions: Annotated[
        int | None,
        Option("--max-repeats", min=2, help="With --until: repetitions at most; default: 10."),
    ] = None
    aa: Annotated[
        bool, Option("--aa", help="Measure the baseline twice, to see what equal tiers differ by.")
    ] = False


@dataclass(frozen=True)
class Request(Compared):
    """A campaign as asked for: tiers and workloads, by name or file, and the options."""

    profiles: Sequence[str] = ()
    workloads: Sequence[str] = ()


_PANELS = {  # of the options of a campaign, in `--help`
    "Size": "scale node_size data time nodes clients repetitions seed warmup windows overrides",
    "Load": "generator latency_at sweep",
    "Disks": "enforcement gate_every drain",
    "Decision": "slo price_list margin_pct p99_margin_pct baseline weights",
    "Repetitions": "until most_repetitions aa",
    "Safety and cost": "max_cost cache_max retry_failed dry_run",
    "Results": "results as_json on_end fail_if_worse accept_inconclusive",
}


def _panel(name: str) -> str | None:
    return next((panel for panel, names in _PANELS.items() if name in names.split()), None)


def _in_panel(name: str, hint: Any) -> Any:
    option = copy(hint.__metadata__[0])
    option.rich_help_panel = _panel(name)
    return Annotated[hint.__origin__, option]


def takes(
    kind: type[Any] | None = None, **defaults: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Makes a function a command of typer. Its first parameter is the `App`, which the context
    holds. Each field of the dataclass `kind` is an option, and the function's parameter `options`
    is then one of that kind. `defaults`: where this command's own differ."""
    hints = get_type_hints(kind, include_extras=True) if kind else {}
    order = [None, *_PANELS].index
    options = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=defaults.get(field.name, field.default),
            annotation=_in_panel(field.name, hints[field.name]),
        )
        for field in sorted(
            fields(kind) if kind else (), key=lambda field: order(_panel(field.name))
        )
    ]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True)
        _app, *others = own.parameters.values()

        def called(context: typer.Context, **values: Any) -> None:
            if kind:
                values["options"] = kind(
                    **{option.name: values.pop(option.name) for option in options}
                )
            command(context.obj, **values)

        own_kind = inspect.Parameter.KEYWORD_ONLY
        context = inspect.Parameter("context", own_kind, annotation=typer.Context)
        given = [other.replace(kind=own_kind) for other in others if other.name != "options"]
        parameters = [context, *given, *options]
        called.__name__, called.__doc__ = command.__name__, command.__doc__
        called.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {p.name: p.annotation for p in parameters}
        return called

    return decorate
