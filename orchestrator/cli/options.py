"""What the commands take: options and arguments, their help, and how a command is made of them."""

import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any, Literal, get_type_hints

import typer
from typer import Argument, Option
from typer.models import OptionInfo

from orchestrator import parts, units
from orchestrator.cli import RESULTS, completion, defaults
from orchestrator.cli.completion import among


def names_in(text: str) -> list[str]:
    """What one option names, separated by spaces or commas."""
    return [name for name in re.split(r"[\s,]+", text) if name]


def weights_in(text: str | None) -> dict[str, float]:
    """`tpcc=3,insert=1`, by workload. ValueError for what is no number above zero."""
    pairs = [part.partition("=") for part in names_in(text or "")]
    weights = {name: float(number or "nan") for name, _, number in pairs}
    bad = [name for name, weight in weights.items() if not 0 < weight < math.inf]
    if bad:
        raise ValueError(f"the weight of {', '.join(bad)} must be a number above zero")
    return weights


def percentage(value: float | None) -> float | None:
    """A range of click's would let `nan` pass, with which no verdict can be made."""
    if value is not None and not 0 <= value < 100:
        raise typer.BadParameter("it is a percentage, 0 or more and below 100")
    return value


def read_by(
    reader: Callable[[str], Any], *words: str
) -> Callable[[str | None], str | None]:
    """A callback of typer: refuses what `reader` refuses and is none of `words`."""

    def read(value: str | None) -> str | None:
        try:
            if value is not None and value not in words:
                reader(value)
        except (ValueError, re.error) as error:  # re.error: of a pattern
            raise typer.BadParameter(str(error)) from error
        return value

    return read


def _of(name: str) -> Callable[[str], object]:
    """A reader of `planning`, of which the module is imported when there is something to read."""
    return lambda text: resolve_name(f"orchestrator.planning.{name}")(text)


profile_named = partial(Option, "--profile", "-p", autocompletion=completion.profiles)
ProfileOption = Annotated[str, profile_named()]
PlacingOption = Annotated[
    str | None, profile_named(help="A profile: its platform and its machines.")
]
ProfilesOption = Annotated[str, Option(autocompletion=completion.profiles)]
workload_named = partial(
    Option, "--workload", "-w", autocompletion=completion.workloads
)
WorkloadOption = Annotated[str, workload_named()]
WorkloadsOption = Annotated[str, Option(autocompletion=completion.workloads)]
PlatformOption = Annotated[
    str | None, among("docker, kubernetes", "where containers run.")
]
ScaleOption = Annotated[
    str, among("smoke, laptop, rehearsal, study, study-20", "sizes and times.")
]
NodesOption = Annotated[int | None, Option(min=1)]
RepeatsOption = Annotated[int, Option("--repeats", min=1)]
MarginOverTimeOption = Annotated[float | None, Option("--margin", callback=percentage)]
P99MarginOverTimeOption = Annotated[
    float | None, Option("--p99-margin", callback=percentage)
]
_slo = partial(Option, help='To be reached, such as "new_order p99 < 50 ms".')
SloOption = Annotated[str | None, _slo("--slo")]
OnlyShowOption = Annotated[bool, Option(help="Shows what would go; removes nothing.")]
_ASPECTS = "code, image, machine, kernel, profile, workload"
_GO_ON = among(_ASPECTS, "go on although it differs.", metavar="NAME")
DespiteOption = Annotated[list[str] | None, _GO_ON]
YesOption = Annotated[bool, Option("--yes", "-y")]
ResultsOption = Annotated[Path, Option(file_okay=False)]
CampaignArgument = Annotated[str, Argument(autocompletion=completion.campaigns)]


@dataclass(frozen=True)
class Told:
    """What every command can be asked about how it tells what it does."""

    quiet: Annotated[bool, Option("--quiet", "-q")] = False
    verbose: Annotated[bool, Option("--verbose", "-v")] = False
    color: Literal["auto", "always", "never"] = "auto"
    json: bool = False


@dataclass(frozen=True)
class Measuring:
    """What all commands that carry out a campaign can be asked: each field is an option of each."""

    results: ResultsOption = RESULTS
    max_cost: Annotated[str | None, Option(callback=read_by(_of("costs.limit_in")))] = (
        None
    )
    cache_max: Annotated[str | None, Option(callback=read_by(units.parse_bytes))] = None
    on_end: Annotated[str | None, Option(metavar="COMMAND")] = None


@dataclass(frozen=True)
class Options(Measuring):
    """And what `run` and `compare` can be asked, which begin one."""

    database: Annotated[
        str,
        among(
            "auto, postgresql, yugabytedb, hdfs, existing",
            "what the nodes run.",
            "--db",
        ),
    ] = parts.AUTO
    platform: PlatformOption = None
    enforcement: Literal["emulated", "storage-class"] | None = None
    scale: ScaleOption = "laptop"
    nodes: NodesOption = None
    node_size: Annotated[
        str | None,
        Option(
            metavar="auto|CPUS,MEMORY,DISK",
            callback=read_by(_of("sizes.node_size"), "auto"),
        ),
    ] = None
    data: Annotated[
        str | None,
        Option(metavar="Nx|BYTES", callback=read_by(_of("factors.data_size"))),
    ] = None
    time: Annotated[str | None, Option(callback=read_by(units.parse_seconds))] = None
    clients: Annotated[int | None, Option(min=1)] = None
    repetitions: RepeatsOption = 1
    seed: int = 1
    generator: Annotated[
        str | None, among("benchbase", "runs tpcc, not the built-in.")
    ] = None
    slo: Annotated[str | None, _slo("--slo", "--need")] = None
    price_list: Annotated[Path | None, Option("--prices")] = None
    latency_at: str | None = None
    sweep: str | None = None
    vary: Annotated[str | None, Option(metavar="FACTOR=A,B,…")] = None
    without: Annotated[
        str | None,
        among(
            "disk, network, commit",
            "the same runs again without it.",
            metavar="STAGE,…",
        ),
    ] = None
    probe: bool = False
    gate_every: Annotated[int | None, Option(min=1)] = None
    drain: bool = False
    warmup: Literal["fixed", "steady"] = "fixed"
    windows: Literal["scale", "checkpoints", "many"] = "scale"
    confirm: bool = False
    overrides: Annotated[list[str] | None, Option("--set", metavar="KEY=VALUE")] = None
    retry_failed: Annotated[int, Option(min=0)] = 1
    dry_run: bool = False


@dataclass(frozen=True)
class Compared(Options):
    """And what only `compare` can be asked, where there is more than one tier."""

    fail_if_worse: bool = False
    accept_inconclusive: bool = False
    margin_pct: Annotated[float, Option("--margin", callback=percentage)] = 5.0
    p99_margin_pct: Annotated[float, Option("--p99-margin", callback=percentage)] = 20.0
    baseline: str | None = None
    weights: Annotated[
        str | None, Option(metavar="NAME=N,…", callback=read_by(weights_in))
    ] = None
    until: Literal["decided"] | None = None
    most_repetitions: Annotated[int | None, Option("--max-repeats", min=2)] = None
    aa: bool = False


@dataclass(frozen=True)
class Request(Compared):
    """A campaign as asked for: tiers and workloads, by name or file, and the options."""

    profiles: Sequence[str] = ()
    workloads: Sequence[str] = ()


@cache
def _told(mark: str) -> dict[str, str]:
    """What help.txt says: of options and arguments (`: `), and what is in each panel (` = `)."""
    text = Path(__file__).with_name("help.txt").read_text(encoding="utf-8")
    lines = (line.partition(mark) for line in text.splitlines() if line[:1] != "#")
    return {name: said for name, here, said in lines if here}


def _panel(name: str) -> str | None:
    return next(
        (panel for panel, of in _told(" = ").items() if name in of.split()), None
    )


def _of_typer(
    parameter: inspect.Parameter, command: str, panel: str | None = None
) -> inspect.Parameter:
    """An option by the name that it has on the command line, so that the environment and
    `tierbench.yaml` say it by the same; an argument if it has no default. A bool is a flag."""
    hint = parameter.annotation
    name = parameter.name
    told = copy(next(iter(getattr(hint, "__metadata__", ())), None))
    kind = hint
    if told:
        kind = hint.__origin__
    if told is None:
        if parameter.default is parameter.empty:
            told = Argument()
        else:
            told = Option()
    if isinstance(told, OptionInfo):
        told.rich_help_panel = panel
        told.show_envvar = False
        declared = [str(word) for word in (told.default, *(told.param_decls or ()))]
        long = [
            word for word in declared if word.startswith("--")
        ]  # as Annotated has them
        if kind is bool and not long:
            told.default = f"--{name.replace('_', '-')}"
        name = name
        if long:
            name = long[0][2:].replace("-", "_")
    spelt = name.replace("_", "-")
    words = _told(": ")
    told.help = told.help or words.get(f"{command}.{spelt}") or words.get(spelt)
    hint = Annotated[kind, told]
    return parameter.replace(
        name=name, annotation=hint, kind=inspect.Parameter.KEYWORD_ONLY
    )


def _options(
    kind: type[Any], given: Mapping[str, Any], command: str = ""
) -> dict[str, inspect.Parameter]:
    """Field → option of the command, in the order of the panels."""
    own = inspect.signature(kind).parameters
    hints = get_type_hints(kind, include_extras=True)
    order = [None, *_told(" = ")].index
    options = {}
    for name in sorted(own, key=lambda name: order(_panel(name))):
        default = given.get(name, own[name].default)
        option = own[name].replace(annotation=hints[name], default=default)
        options[name] = _of_typer(option, command, _panel(name))
    return options


def takes(
    kind: type[Any] | None = None, in_json: bool = False, **own_defaults: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Makes a function a command of typer. Its first parameter is the `App`, which the context
    holds. Each field of the dataclass `kind` is an option, and the function's parameter `options`
    is then one of that kind. `in_json`: what it shows can be had as JSON. `own_defaults`: where
    this command's own differ."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True)
        name = command.__name__
        _app, *others = own.parameters.values()
        given = {
            other.name: _of_typer(other, name)
            for other in others
            if other.name != "options"
        }
        if kind:
            options = _options(kind, own_defaults, name)
        else:
            options = {}
        telling = _options(Told, {}, name)
        if not in_json:
            del telling["json"]

        def called(context: typer.Context, **said: Any) -> None:
            def of(asked: Mapping[str, inspect.Parameter]) -> dict[str, Any]:
                return {name: said[option.name] for name, option in asked.items()}

            app = context.obj
            values = of(given)
            app.speak(**of(telling))
            app.defaults.extend(defaults.told(context))
            if said["verbose"] or said.get("dry_run"):
                for line in defaults.lines(app.defaults):
                    app.progress.note(line)
            if kind:
                values["options"] = kind(**of(options))
            command(app, **values)

        kind_of_all = inspect.Parameter.KEYWORD_ONLY
        context = inspect.Parameter("context", kind_of_all, annotation=typer.Context)
        parameters = [context, *given.values(), *options.values(), *telling.values()]
        called.__name__ = command.__name__
        called.__doc__ = command.__doc__
        called.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {p.name: p.annotation for p in parameters}
        return called

    return decorate
