"""What the commands take: options and arguments, and records of those that several take."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import typer
from typer import Argument, Option

from orchestrator import parts, units
from orchestrator.cli import RESULTS
from orchestrator.cli.common import campaign_files, completion
from orchestrator.cli.common.completion import among
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
        # A name without a number becomes nan, which is refused below with the others.
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
        except ValueError as error:
            raise typer.BadParameter(str(error)) from error
        return value

    return read


# Readers of `planning`, which is imported when there is something to read: `--help` waits for none.


def _read_cost(text: str) -> object:
    from orchestrator.design import cost_limit

    return cost_limit.limit_in(text)


def _read_node_size(text: str) -> object:
    from orchestrator.planning import sizes

    return sizes.node_size(text)


def _read_data_size(text: str) -> object:
    from orchestrator.design import factors

    return factors.data_size(text)


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
    str | None, among(completion.platforms("docker"), "where the containers run.")
]
ScaleOption = Annotated[
    str,
    among(
        ("smoke", "laptop", "rehearsal", "study", "study-20"), "how large and how long."
    ),
]
NodesOption = Annotated[int | None, Option(min=1)]
RepeatsOption = Annotated[int, Option("--repeats", min=1)]
SeedOption = Annotated[int, Option(min=0, max=units.MOST_SEED)]
MarginOverTimeOption = Annotated[float | None, Option("--margin", callback=percentage)]
P99MarginOverTimeOption = Annotated[
    float | None, Option("--p99-margin", callback=percentage)
]
_slo = partial(Option, help='What must be reached, such as "new_order p99 < 50 ms".')
SloOption = Annotated[str | None, _slo("--slo")]
OnlyShowOption = Annotated[
    bool, Option(help="Show what would be removed; remove nothing.")
]
_ASPECTS = ("code", "image", "machine", "kernel", "profile", "workload")
_GO_ON = among(_ASPECTS, "continue although this differs.", metavar="NAME")
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
class Measuring:
    """What all commands that carry out a campaign can be asked: each field is an option of each."""

    results: ResultsOption = RESULTS
    max_cost: Annotated[str | None, Option(callback=read_by(_read_cost))] = None
    cache_max: Annotated[str | None, Option(callback=read_by(units.parse_size))] = None
    on_end: Annotated[str | None, Option(metavar="COMMAND")] = None


@dataclass(frozen=True)
class Options(Measuring):
    """And what `run` and `compare` can be asked, which begin one."""

    database: Annotated[
        str,
        among(
            (parts.AUTO, *completion.databases()),
            "the database of the nodes.",
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
    seed: SeedOption = 1
    generator: Annotated[str | None, completion.generators()] = None
    slo: Annotated[str | None, _slo("--slo", "--need")] = None
    price_list: Annotated[Path | None, Option("--prices")] = None
    latency_at: str | None = None
    sweep: str | None = None
    vary: Annotated[str | None, Option(metavar="FACTOR=A,B,…")] = None
    without: Annotated[
        str | None,
        among(
            ("disk", "network", "commit"),
            "repeat the runs without this stage.",
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

    @classmethod
    def asked(
        cls, options: Options, profiles: Sequence[str], workloads: Sequence[str]
    ) -> Self:
        """The campaign of these tiers and workloads. It has the fields of all `options` by
        inheritance, so each is taken over; what only `compare` asks is left at its default."""
        return cls(profiles=profiles, workloads=workloads, **vars(options))
