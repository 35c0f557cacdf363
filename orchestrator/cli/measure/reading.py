"""Files and options → profiles and workloads, at each value of a factor (`--vary`, `--without`)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from orchestrator.cli.common.app import PLATFORM, App
from orchestrator.cli.common.options import Request, names_in
from orchestrator.design import factors, machines, slo, varied_profiles
from orchestrator.errors import Mistake, UsageError
from orchestrator.facts import Varied
from orchestrator.keys import slow_disks
from orchestrator.keys.strict_yaml import raise_all
from orchestrator.load_generators import bind, confirmed, keys, warmed
from orchestrator.model import Note, Profile, Workload
from orchestrator.planning import overrides, project_files, sizes
from orchestrator.planning.data_sizes import data_bytes
from orchestrator.planning.project_files import FilesRead
from orchestrator.tier.slow_disk import SlowDisk

SLO = "--slo"


@dataclass(frozen=True)
class PlanDraft:
    """A plan in the making: what the steps so far have decided."""

    request: Request
    values: tuple[Varied, ...]  # of the factor that is varied, if one is
    profiles: tuple[Profile, ...]
    workloads: tuple[Workload, ...]
    unpriced: tuple[Profile, ...]  # as their files have them, without --prices
    # As their files have them, without --set, whatever is varied.
    of_files: tuple[Workload, ...]
    platform: str = ""
    notes: tuple[Note, ...] = ()
    # Of workloads that are repeated another number of times than all others.
    repetitions: Mapping[str, int] = field(default_factory=dict)
    latency_at_pct: float | None = None  # as in `Plan`


# ------------------------------------------------------------------ the files


def read(app: App, request: Request) -> PlanDraft:
    """All files that the request names, each once in each form. UsageError with every mistake."""
    given = request
    request = _with_stages_as_factor(given)
    values = factors.parse(request.vary)
    _check_one_way(given, values)
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
    if values and values[0].factor == factors.NODES:
        request = replace(request, nodes=values[-1].count)
    files = FilesRead()
    if not values:
        return _at(app, request, files)
    drafts = [_at(app, request, files, value) for value in values]
    last = drafts[-1]
    profiles = last.profiles
    if values[0].factor == factors.STRIPED:
        profiles = _with_stripes(values, drafts)
    loads = _at_values(values, drafts)
    return replace(last, values=values, profiles=profiles, workloads=loads)


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
            loads.append(factors.at(draft.workloads[place], value))
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
    changes = _tier_changes(request, value)
    given = _overrides(request, value)
    read_files = partial(
        project_files.read,
        app.root,
        request.profiles,
        request.workloads,
        request.scale,
        app.disk_kinds(),
        tier_changes=changes,
        before=files,
    )
    with given.blamed():
        profiles, as_given = read_files(price_list=request.price_list, given=given)
        bound = [bind(workload, request.generator) for workload in as_given]
    unpriced, file_profiles = read_files()
    if request.clients is not None:
        profiles = tuple(
            _with_clients(profile, request.clients) for profile in profiles
        )
    workloads = []
    for workload in slo.applied(bound, request.slo, SLO):
        warm = warmed(workload, request.warmup)
        longer = confirmed(warm, request.confirm)
        workloads.append(_with_slow_disks(longer, request.slow))
    return PlanDraft(request, (), profiles, tuple(workloads), unpriced, file_profiles)


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
    return overrides.read(
        request.overrides or (),
        [Path(name).stem for name in request.workloads],
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


def _with_clients(profile: Profile, clients: int) -> Profile:
    return replace(profile, cluster=replace(profile.cluster, clients=clients))


# ------------------------------------------------------------------ data and nodes


@dataclass(frozen=True)
class Fitted:
    """Profiles on their nodes and workloads, with what must be said about them."""

    profiles: tuple[Profile, ...]
    workloads: tuple[Workload, ...]
    notes: tuple[Note, ...] = ()


def fitted(draft: PlanDraft, workloads: Sequence[Workload]) -> Fitted:
    """Profiles on their nodes and these workloads, with data of the sizes asked for, for which
    disks have room. UsageError where a factor cannot be varied."""
    sized = Fitted(draft.profiles, tuple(workloads))
    if draft.request.data:
        size = factors.data_size(draft.request.data)
        sized = Fitted(*sizes.with_data(draft.profiles, workloads, size))
    values = draft.values
    if not values:
        return sized
    option = factors.option(values[0])
    _check_misfits(option, values, sized, draft.platform == PLATFORM)
    profiles, notes = _with_common_copies(sized.profiles, values)
    loads = sized.workloads
    if values[0].factor == factors.DATA:
        loads = tuple(_with_size(profiles, load) for load in loads)
        _check_sizes_differ(option, loads)
    largest = _largest_bytes(loads)
    if largest > _largest_bytes(draft.of_files):
        profiles = list(sizes.with_room(profiles, largest))
    return Fitted(tuple(profiles), loads, (*sized.notes, *notes))


def _with_common_copies(
    profiles: Sequence[Profile], values: Sequence[Varied]
) -> tuple[list[Profile], list[Note]]:
    """The profiles with as many copies as all values can have.

    A note says where these are fewer.
    """
    common_profiles = []
    notes = []
    for profile in profiles:
        common, text = varied_profiles.with_common_copies(profile, values)
        common_profiles.append(common)
        if text:
            notes.append(Note("other", text, profile.name))
    return common_profiles, notes


def _check_misfits(
    option: str, values: Sequence[Varied], sized: Fitted, is_docker: bool
) -> None:
    """UsageError with each profile and workload that cannot vary the factor."""
    reasons: dict[str, str] = {}
    for profile in sized.profiles:
        is_one_engine = is_docker and not machines.named(profile)
        reasons[profile.name] = varied_profiles.misfit(profile, values, is_one_engine)
    for load in sized.workloads:
        reasons[load.name] = varied_profiles.misfit_of(load)
    mistakes = []
    for name, reason in reasons.items():
        if reason:
            mistakes.append(Mistake(f"{option}: {name}", reason))
    raise_all(mistakes)


def _check_sizes_differ(option: str, loads: Sequence[Workload]) -> None:
    """UsageError with each workload that has the same data at two values."""
    times: Counter[tuple[str, str]] = Counter()
    for load in loads:
        if load.varied is not None:
            times[load.varied.of, str(load.dataset)] += 1
    mistakes = []
    for (name, _), count in times.items():
        if count > 1:
            mistakes.append(Mistake(f"{option}: {name}", _DATA_ALIKE))
    raise_all(mistakes)


_DATA_ALIKE = (
    "two values give the same data, because its tables start empty or "
    "because one warehouse is the least. Name sizes that differ, or "
    "vary what a load writes, as batch=1000,10000"
)


def _largest_bytes(loads: Sequence[Workload]) -> int:
    return max(data_bytes(load) or 0 for load in loads)


def _with_size(profiles: Sequence[Profile], load: Workload) -> Workload:
    """The workload with as much data as its value says. Values are then ordered by size."""
    value = load.varied
    if value is None:
        return load
    _, loads, _ = sizes.with_data(profiles, [load], factors.size_asked(value))
    return replace(loads[0], varied=replace(value, number=data_bytes(loads[0])))
