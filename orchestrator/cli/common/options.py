"""What the commands take: options and arguments, their help, and how a command is made of them."""

import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import typer
from typer import Argument, Option
from typer.models import OptionInfo, ParameterInfo

from orchestrator import parts, units
from orchestrator.cli import RESULTS
from orchestrator.cli.common import campaign_files, completion, defaults, forms
from orchestrator.cli.common.completion import among
from orchestrator.design import cost_limit
from orchestrator.errors import UsageError


def names_in(text: str) -> list[str]:
    """What one option names, separated by spaces or commas."""
    return [name for name in re.split(r"[\s,]+", text) if name]


def all_names(texts: Sequence[str] | None) -> list[str]:
    """What an option names that was given once or several times."""
    return names_in(" ".join(texts or ()))


def weights_in(text: str | None) -> dict[str, float]:
    """`tpcc=3,insert=1`, by workload. ValueError for what is no number above zero."""
    weights: dict[str, float] = {}
    for part in names_in(text or ""):
        name, _, number = part.partition("=")
        weights[name] = float(number or "nan")
    bad = [name for name in weights if not 0 < weights[name] < math.inf]
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


# Readers of `planning`, which is imported when there is something to read: `--help` waits for none.


def _read_cost(text: str) -> object:

    return cost_limit.limit_in(text)


def _read_node_size(text: str) -> object:
    from orchestrator.planning import sizes

    return sizes.node_size(text)


def _read_data_size(text: str) -> object:
    from orchestrator.design import factors

    return factors.data_size(text)


# What `--db` may name beside `auto` and those of extensions; the program has others for its own
# use.
DATABASES = ("postgresql", "yugabytedb", "existing")

profile_named = partial(Option, "--profile", "-p", autocompletion=completion.profiles)
workload_named = partial(
    Option, "--workload", "-w", autocompletion=completion.workloads
)
# A command that takes one of a kind and one that takes several have the same two names for it.
_profiles_named = partial(
    Option,
    "--profiles",
    "--profile",
    "-p",
    metavar="NAME,…",
    autocompletion=completion.profiles,
)
_workloads_named = partial(
    Option,
    "--workloads",
    "--workload",
    "-w",
    metavar="NAME,…",
    autocompletion=completion.workloads,
)
ProfileOption = Annotated[str, profile_named()]
ProfilesOption = Annotated[list[str] | None, _profiles_named()]
WorkloadsOption = Annotated[list[str] | None, _workloads_named()]
PlacingOption = Annotated[
    str | None, profile_named(help="A profile: its platform and its machines.")
]
ProfileName = Annotated[
    str | None, Argument(metavar="PROFILE", autocompletion=completion.profiles)
]
WorkloadName = Annotated[
    str | None, Argument(metavar="WORKLOAD", autocompletion=completion.workloads)
]
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
# Read before all options: it says what those are that are not given.
CampaignFile = Annotated[
    Path | None,
    Argument(metavar="FILE", is_eager=True, callback=campaign_files.apply),
]


@dataclass(frozen=True)
class ProfileWorkload:
    """What one run is of."""

    profile: str
    workload: str


def profile_and_workload(
    names: Sequence[str], profiles: Sequence[str], workloads: Sequence[str]
) -> ProfileWorkload:
    """What `tierbench run` was asked to run: by two names, by two options, or by one of each.

    UsageError for too few names or too many."""
    remaining = list(names)
    run_profiles = list(profiles)
    run_workloads = list(workloads)
    if not run_profiles and remaining:
        run_profiles.append(remaining.pop(0))
    if not run_workloads and remaining:
        run_workloads.append(remaining.pop(0))
    if len(run_profiles) != 1 or len(run_workloads) != 1 or remaining:
        raise UsageError(
            "`tierbench run` takes one profile and one workload",
            advice="write `tierbench run ultra tpcc`; `tierbench list` shows the names, "
            "and `tierbench compare` takes several",
        )
    return ProfileWorkload(run_profiles[0], run_workloads[0])


@dataclass(frozen=True)
class Telling:
    """What every command can be asked about how it tells what it does."""

    quiet: Annotated[bool, Option("--quiet", "-q")] = False
    verbose: Annotated[bool, Option("--verbose", "-v")] = False
    color: Literal["auto", "always", "never"] = "auto"
    output: Annotated[str, Option("--output", "-o")] = forms.TABLE


@dataclass(frozen=True)
class Measuring:
    """What all commands that carry out a campaign can be asked: each field is an option of each."""

    results: ResultsOption = RESULTS
    max_cost: Annotated[str | None, Option(callback=read_by(_read_cost))] = None
    cache_max: Annotated[str | None, Option(callback=read_by(units.parse_bytes))] = None
    on_end: Annotated[str | None, Option(metavar="COMMAND")] = None


@dataclass(frozen=True)
class Options(Measuring):
    """And what `run` and `compare` can be asked, which begin one."""

    database: Annotated[
        str,
        among(
            completion.databases(parts.AUTO, *DATABASES),
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
            callback=read_by(_read_node_size, "auto"),
        ),
    ] = None
    data: Annotated[
        str | None,
        Option(metavar="Nx|BYTES", callback=read_by(_read_data_size)),
    ] = None
    time: Annotated[str | None, Option(callback=read_by(units.parse_seconds))] = None
    clients: Annotated[int | None, Option(min=1)] = None
    repetitions: RepeatsOption = 1
    seed: int = 1
    generator: Annotated[str | None, completion.generators()] = None
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
    slow: Annotated[list[str] | None, Option(metavar="NODE=HOW,TIME")] = None
    overrides: Annotated[list[str] | None, Option("--set", metavar="KEY=VALUE")] = None
    retry_failed: Annotated[int, Option(min=0)] = 1
    question: Annotated[str, Option(metavar="SENTENCE")] = ""
    dry_run: bool = False
    offline: bool = False


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


# ------------------------------------------------------------------ what --help says


def _help_lines(mark: str) -> dict[str, str]:
    """What help.txt says behind a mark, by what stands before it."""
    text = Path(__file__).with_name("help.txt").read_text(encoding="utf-8")
    lines: dict[str, str] = {}
    for line in text.splitlines():
        name, is_marked, words = line.partition(mark)
        if is_marked and not line.startswith("#"):
            lines[name] = words
    return lines


@cache
def help_texts() -> dict[str, str]:
    """What is said of options and arguments, by `name` or by `command.name`."""
    return _help_lines(": ")


@cache
def _panels() -> dict[str, list[str]]:
    """Panels of `--help`, in their order, with the fields that are in each."""
    return {panel: fields.split() for panel, fields in _help_lines(" = ").items()}


def _panel(field: str) -> str | None:
    for panel, fields in _panels().items():
        if field in fields:
            return panel
    return None


def _help(command: str, name: str) -> str | None:
    """What the option means in this command, which may be something else than in all others."""
    texts = help_texts()
    in_this_command = texts.get(f"{command}.{name}")
    return in_this_command or texts.get(name)


# ------------------------------------------------------------------ how a command is made


def takes(
    kind: type[Any] | None = None,
    shown_as: Sequence[str] = forms.TABLE_ALONE,
    **own_defaults: Any,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Makes a function a command of typer. Its first parameter is the `App`, which the context
    holds.

    Each field of the dataclass `kind` is an option, and the function's parameter `options`
    is then one of that kind. `shown_as`: forms in which it can show what it found.
    `own_defaults`: where this command's own differ."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command, eval_str=True)
        taken = _taken(signature, command.__name__, kind, shown_as, own_defaults)

        def called(context: typer.Context, **values: Any) -> None:
            _begin_telling(context, taken.telling, values)
            arguments = _by_parameter(taken.of_function, values)
            if kind:
                arguments["options"] = kind(**_by_parameter(taken.of_kind, values))
            command(context.obj, **arguments)

        # typer reads of a function its name, its docstring, and its parameters twice.
        parameters = taken.in_order()
        called.__name__ = command.__name__
        called.__doc__ = command.__doc__
        called.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {taken.name: taken.annotation for taken in parameters}
        return called

    return decorate


# Parameter of the function, or field of a record → what typer is given for it, which may have
# another name.
_ForTyper = dict[str, inspect.Parameter]


@dataclass(frozen=True)
class _Taken:
    """What a command takes."""

    of_function: _ForTyper
    of_kind: _ForTyper
    telling: _ForTyper

    def in_order(self) -> list[inspect.Parameter]:
        context = inspect.Parameter(
            "context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context
        )
        return [
            context,
            *self.of_function.values(),
            *self.of_kind.values(),
            *self.telling.values(),
        ]


def _taken(
    signature: inspect.Signature,
    command: str,
    kind: type[Any] | None,
    shown_as: Sequence[str],
    own_defaults: Mapping[str, Any],
) -> _Taken:
    _app, *parameters = signature.parameters.values()
    function_options: _ForTyper = {}
    for parameter in parameters:
        if parameter.name != "options":
            function_options[parameter.name] = _for_typer(parameter, command)
    record_options: _ForTyper = {}
    if kind:
        record_options = _options(kind, own_defaults, command)
    telling = _options(Telling, {}, command)
    if len(shown_as) > 1:
        telling["output"] = _among(telling["output"], shown_as)
    else:
        del telling["output"]
    return _Taken(function_options, record_options, telling)


def _options(
    kind: type[Any], own_defaults: Mapping[str, Any], command: str
) -> _ForTyper:
    """Field → option of the command, in the order of the panels."""
    parameters = inspect.signature(kind).parameters
    hints = get_type_hints(kind, include_extras=True)
    options: _ForTyper = {}
    for panel in (None, *_panels()):
        for name, field in parameters.items():
            if _panel(name) == panel:
                default = own_defaults.get(name, field.default)
                option = field.replace(annotation=hints[name], default=default)
                options[name] = _for_typer(option, command, panel)
    return options


def _for_typer(
    parameter: inspect.Parameter, command: str, panel: str | None = None
) -> inspect.Parameter:
    """An option by the name that it has on the command line, so that the environment and
    `tierbench.yaml` say it by the same; an argument if it has no default. A bool is a flag."""
    kind, declared = _declared(parameter)
    name = parameter.name
    if isinstance(declared, OptionInfo):
        declared.rich_help_panel = panel
        declared.show_envvar = False
        longs = _long_names(declared)
        if longs:
            name, *others = [defaults.name_of(long) for long in longs]
            declared.envvar = [defaults.variable(other) for other in others]
        elif kind is bool:
            # Said so, it has no opposite `--no-…`.
            declared.default = f"--{_spelling(name)}"
    declared.help = declared.help or _help(command, _spelling(name))
    return parameter.replace(
        name=name,
        annotation=Annotated[kind, declared],
        kind=inspect.Parameter.KEYWORD_ONLY,
    )


def _among(option: inspect.Parameter, words: Sequence[str]) -> inspect.Parameter:
    """The option, which takes these words alone."""
    _, declared = _declared(option)
    choice: Any = Literal[tuple(words)]
    return option.replace(annotation=Annotated[choice, declared])


def _declared(parameter: inspect.Parameter) -> tuple[Any, ParameterInfo]:
    """The type of a parameter, and what `Annotated` declares of it, which the caller may change."""
    hint = parameter.annotation
    metadata = getattr(hint, "__metadata__", ())
    if metadata:
        return hint.__origin__, copy(metadata[0])
    if parameter.default is parameter.empty:
        return hint, Argument()
    return hint, Option()


def _long_names(option: OptionInfo) -> list[str]:
    """Each `--name` that is declared. Within `Annotated` typer has the first of all names where a
    default would be."""
    names = []
    for name in (option.default, *(option.param_decls or ())):
        if isinstance(name, str) and name.startswith("--"):
            names.append(name)
    return names


def _spelling(name: str) -> str:
    """The option as it is written on the command line."""
    return name.replace("_", "-")


def _begin_telling(
    context: typer.Context, telling: _ForTyper, values: Mapping[str, Any]
) -> None:
    """Lets the console tell as was asked, and says which options are a person's defaults where
    that matters."""
    app = context.obj
    app.speak(**_by_parameter(telling, values))
    app.defaults.extend(defaults.given(context))
    if values["verbose"] or values.get("dry_run"):
        for line in defaults.lines(app.defaults):
            app.progress.note(line)


def _by_parameter(taken: _ForTyper, values: Mapping[str, Any]) -> dict[str, Any]:
    """typer's values by the names of parameters or fields."""
    return {name: values[option.name] for name, option in taken.items()}
