"""Files and options → profiles and workloads, at each value of a factor (`--vary`, `--without`)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from orchestrator.cli.common.app import App
from orchestrator.cli.common.options import Request, names_in
from orchestrator.design import factors, slo, varied_workloads
from orchestrator.errors import Mistake, UsageError
from orchestrator.facts import Varied
from orchestrator.keys import slow_disks
from orchestrator.keys.refusals import raise_all
from orchestrator.load_generators.binding import bind, confirmed, keys, warmed
from orchestrator.model import Note, Profile, Workload
from orchestrator.planning import named_files, overrides, project_files
from orchestrator.planning.project_files import FilesRead
from orchestrator.tier.slow_disk import SlowDisk

SLO = "--slo"


@dataclass(frozen=True)
class PlanDraft:
    """A plan in the making: what the steps so far have decided."""

    request: Request
    values: tuple[Varied, ...]  # values of the factor that is varied, if one is
    profiles: tuple[Profile, ...]
    workloads: tuple[Workload, ...]
    # The profiles as their files have them, without --prices.
    unpriced: tuple[Profile, ...]
    # The workloads as their files have them, without --set, whatever is varied.
    of_files: tuple[Workload, ...]
    platform: str = ""
    notes: tuple[Note, ...] = ()
    # Repetitions of workloads that are repeated another number of times than all others.
    repetitions: Mapping[str, int] = field(default_factory=dict)
    latency_at_pct: float | None = None  # same as in `Plan`


# ------------------------------------------------------------------ the files


def read(app: App, request: Request) -> PlanDraft:
    """All files that the request names, each once in each form. UsageError with every mistake."""
    as_factor = _with_stages_as_factor(request)
    values = factors.parse(as_factor.vary)
    _check_one_way(request, values)
    _check_complete(request)
    files = FilesRead()
    if not values:
        return _at(app, as_factor, files)
    if values[0].factor == factors.NODES:
        # Values are in rising order, and the machines must carry the most nodes of all.
        as_factor = replace(as_factor, nodes=values[-1].count)
    drafts = [_at(app, as_factor, files, value) for value in values]
    # Any draft would do: but for stripes, profiles are the same at all values.
    last = drafts[-1]
    profiles = last.profiles
    if values[0].factor == factors.STRIPED:
        profiles = _with_stripes(values, drafts)
    loads = _at_values(values, drafts)
    return replace(last, values=values, profiles=profiles, workloads=loads)


def _check_complete(request: Request) -> None:
    """UsageError if an option is missing that this request needs."""
    if request.offline and not request.dry_run:
        raise UsageError(
            "--offline needs --dry-run: a campaign must reach the machines "
            "that it runs on",
            advice="leave it out, or add --dry-run",
        )
    if not request.profiles or not request.workloads:
        raise UsageError(
            "no profile or no workload is named",
            advice="name at least one of each; `tierbench list` shows them",
        )


def _with_stages_as_factor(request: Request) -> Request:
    """The request with --without as a factor of --vary, unless another factor is varied."""
    if not request.without or request.vary:
        return request
    stages = ",".join(names_in(request.without))
    return replace(request, vary=f"{factors.WITHOUT}={stages}", without=None)


def _check_one_way(request: Request, values: Sequence[Varied]) -> None:
    """UsageError if two options are given that each plan loads or repetitions."""
    load_options = {
        "--without": request.without,
        "--vary": request.vary,
        "--sweep": request.sweep,
        "--latency-at": request.latency_at,
        "--until": request.until,
    }
    given = [option for option, value in load_options.items() if value is not None]
    # `many` also plans how often; the other windows leave the repetitions as asked.
    if request.windows == "many":
        given.append("--windows many")
    factor_options = {
        factors.NODES: request.nodes,
        factors.CLIENTS: request.clients,
        factors.DATA: request.data,
        # How a load warms up is asked of all loads alike, and always.
        "warmup": request.warmup,
    }
    if values:
        factor = values[0].factor
        if factor_options.get(factor) is not None:
            given.append(f"--{factor}")
    if len(given) > 1:
        raise _asked_twice(given[0], given[1:])


def _asked_twice(option: str, others: Sequence[str]) -> UsageError:
    return UsageError(
        f"{option} cannot be combined with {', '.join(others)}: each of "
        "them plans which runs are made, or how often",
        advice=(
            "make a campaign for each, or leave one out. `--sweep rate=…` can "
            "hold the rate of --latency-at, and --repeats can replace --until"
        ),
    )


def _at_values(
    values: Sequence[Varied], drafts: Sequence[PlanDraft]
) -> tuple[Workload, ...]:
    """Each workload at all values, one workload behind the other."""
    loads = []
    for place in range(len(drafts[0].workloads)):
        for value, draft in zip(values, drafts, strict=True):
            loads.append(varied_workloads.at(draft.workloads[place], value))
    return tuple(loads)


def _with_stripes(
    values: Sequence[Varied], drafts: Sequence[PlanDraft]
) -> tuple[Profile, ...]:
    """Profiles with their tier at each number of striped disks."""
    profiles = []
    for place, profile in enumerate(drafts[-1].profiles):
        tiers = {}
        for value, draft in zip(values, drafts, strict=True):
            tiers[value.value] = draft.profiles[place].tier
        profiles.append(replace(profile, tier_of=tiers))
    return tuple(profiles)


def _at(
    app: App, request: Request, files: FilesRead, value: Varied | None = None
) -> PlanDraft:
    """The draft of the plan at one value. UsageError with every mistake."""
    overridden = _overrides(request, value)
    read_files = partial(
        project_files.read,
        app.root,
        request.profiles,
        request.workloads,
        request.scale,
        app.disk_kinds(),
        tier_changes=_tier_changes(request, value),
        before=files,
    )
    # Binding too: a generator may refuse what --set gave a workload.
    with overridden.blamed():
        profiles, loads = read_files(price_list=request.price_list, given=overridden)
        bound = _bound(app, request, loads)
    # These are as the files have them, to say later what --prices and --set have changed.
    unpriced, of_files = read_files()
    workloads = _as_asked(bound, request)
    profiles = _with_clients(profiles, request.clients)
    return PlanDraft(
        request=request,
        values=(),
        profiles=profiles,
        workloads=workloads,
        unpriced=unpriced,
        of_files=of_files,
    )


def _bound(app: App, request: Request, loads: Sequence[Workload]) -> list[Workload]:
    """The loads as their generators run them. UsageError with a mistake's own file."""
    bound: list[Workload] = []
    for name, load in zip(request.workloads, loads, strict=True):
        file = named_files.path_of(app.root / "workloads", name)
        with project_files.in_workload(file, app.root, load.scale):
            bound.append(bind(load, request.generator))
    return bound


def _as_asked(loads: Sequence[Workload], request: Request) -> tuple[Workload, ...]:
    """The loads with the SLO, warm-up, trials of limits and slow disks of the options."""
    workloads = []
    for load in slo.applied(loads, request.slo, SLO):
        warm = warmed(load, request.warmup)
        longer = confirmed(warm, request.confirm)
        workloads.append(_with_slow_disks(longer, request.slow))
    return tuple(workloads)


def _tier_changes(request: Request, value: Varied | None) -> dict[str, object]:
    """Keys of all tiers that are not as in their files."""
    changes: dict[str, object] = {}
    if request.enforcement:
        changes["enforcement"] = request.enforcement
    if value is not None and value.factor == factors.STRIPED:
        changes[value.factor] = value.count
    return changes


def _overrides(request: Request, value: Varied | None) -> overrides.Overrides:
    """Keys of workloads that are not as in their files: those of --set, and the value of a factor
    that is none of a tier, of nodes or of data."""
    of_workload: Varied | None = None
    if value is not None and value.factor not in factors.READERS:
        of_workload = value
    readers = ", ".join(factors.READERS)
    # `--set tpcc.threads=8` names a workload without its path, even if it was given as a path.
    names = [Path(name).stem for name in request.workloads]
    return overrides.read(
        request.overrides or (),
        names,
        request.scale,
        keys,
        of_workload,
        f"--vary also takes {readers}",
    )


def _with_slow_disks(load: Workload, texts: Sequence[str] | None) -> Workload:
    """The load with the slow disks of --slow instead of its file's, if any are given.

    UsageError for a text that is not one.
    """
    if not texts:
        return load
    slow: list[SlowDisk] = []
    for text in texts:
        try:
            slow.append(slow_disks.slow_disk_in(text))
        except ValueError as error:
            raise_all([Mistake(f"--slow {text}", str(error))])
    return replace(load, slow=tuple(slow))


def _with_clients(
    profiles: Sequence[Profile], clients: int | None
) -> tuple[Profile, ...]:
    """The profiles with so many load clients each; None: as many as they name."""
    if clients is None:
        return tuple(profiles)
    changed: list[Profile] = []
    for profile in profiles:
        cluster = replace(profile.cluster, clients=clients)
        changed.append(replace(profile, cluster=cluster))
    return tuple(changed)
