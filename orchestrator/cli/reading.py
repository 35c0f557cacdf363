"""Files and options → profiles and workloads, at each value of a factor (`--vary`, `--without`)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from orchestrator.cli.app import PLATFORM, App
from orchestrator.cli.options import Request, names_in
from orchestrator.errors import Mistake, UsageError
from orchestrator.facts import Varied
from orchestrator.keys.strict_yaml import raise_all
from orchestrator.load_generators import bind, confirmed, keys, warmed
from orchestrator.model import Note, Profile, Workload
from orchestrator.planning import (
    factors,
    machines,
    overrides,
    project_files,
    sizes,
    slo,
)
from orchestrator.planning.durations import data_bytes

SLO = "--slo"
_DATA_ALIKE = (
    "two values give the same data (its tables are empty when a load begins, or the least "
    "size is one warehouse): name sizes that differ, or vary what a load writes, as "
    "batch=1000,10000"
)


@dataclass(frozen=True)
class PlanDraft:
    """A plan in the making: what the steps so far have decided."""

    request: Request
    profiles: tuple[Profile, ...]
    workloads: tuple[Workload, ...]
    unpriced: tuple[Profile, ...]  # as their files have them, without --prices
    of_files: tuple[
        Workload, ...
    ]  # as their files have them, without --set, whatever is varied
    platform: str = ""
    notes: tuple[Note, ...] = ()
    # Of workloads that are repeated another number of times than all others.
    repetitions: Mapping[str, int] = field(default_factory=dict)
    latency_at_pct: float | None = None  # as in `Plan`


def checked(request: Request) -> Request:
    """With --without as a factor of --vary, and the nodes that the most of it needs. UsageError if
    two options are given that each plan loads or repetitions."""
    options = ("without", "vary", "sweep", "latency_at", "until")
    asked = [
        f"--{of.replace('_', '-')}"
        for of in options
        if getattr(request, of) is not None
    ]
    asked += ["--windows many"] if request.windows == "many" else []
    if request.without and not request.vary:
        stages = ",".join(names_in(request.without))
        request = replace(request, vary=f"{factors.WITHOUT}={stages}", without=None)
    values = factors.parse(request.vary)
    factor, most = (
        (values[0].factor, int(values[-1].number or 0)) if values else ("", 0)
    )
    asked += [f"--{factor}"] if getattr(request, factor, None) is not None else []
    if others := asked[1:]:
        raise _asked_twice(asked[0], others)
    return replace(request, nodes=most) if factor == factors.NODES else request


def _asked_twice(option: str, others: Sequence[str]) -> UsageError:
    return UsageError(
        f"{option} does not go with {', '.join(others)}: each plans which runs are made, "
        "or how often",
        advice="make a campaign of each, or leave one out; `--sweep rate=…` may have the "
        "rate of --latency-at, and --repeats says how often instead of --until",
    )


def read(app: App, request: Request) -> PlanDraft:
    """All files that the request names. UsageError with every mistake."""
    if not request.profiles or not request.workloads:
        raise UsageError(
            "no profile or no workload is named",
            advice="name at least one of each; `tierbench list` shows them",
        )
    values, texts = factors.parse(request.vary), dict[Path, str]()
    if not values:
        return _at(app, request, texts)
    each = [(value, _at(app, request, texts, value)) for value in values]
    last, files = each[-1]
    loads = [
        factors.at(of.workloads[place], value)
        for place in range(len(files.workloads))
        for value, of in each
    ]
    profiles = files.profiles
    if last.factor == factors.STRIPED:
        profiles = tuple(
            replace(
                own,
                tier_of={value.value: of.profiles[place].tier for value, of in each},
            )
            for place, own in enumerate(profiles)
        )
    return replace(files, profiles=profiles, workloads=tuple(loads))


def _at(
    app: App, request: Request, texts: dict[Path, str], value: Varied | None = None
) -> PlanDraft:
    """At one value. UsageError with every mistake."""
    set_, changes = [*(request.overrides or ())], dict[str, object]()
    if request.enforcement:
        changes["enforcement"] = request.enforcement
    if value and value.factor not in factors.READERS:  # a key of the workload
        set_.append(f"{value.factor}={value.value}")
    elif value and value.factor == factors.STRIPED:
        changes[value.factor] = int(value.value)
    names = request.profiles, request.workloads
    read = partial(
        project_files.read,
        app.root,
        *names,
        request.scale,
        app.disk_kinds(),
        tier_changes=changes,
    )
    named = [Path(name).stem for name in request.workloads]
    try:
        given = overrides.read(set_, named, request.scale, keys)
        with given.blamed():
            priced, workloads = read(
                price_list=request.price_list, given=given, texts=texts
            )
            workloads = tuple(
                bind(workload, request.generator) for workload in workloads
            )
    except UsageError as error:
        if value:
            own, asked = (f"--{word} {value.factor}=" for word in ("set", "vary"))
            pairs = [
                (mistake, mistake.where.replace(own, asked))
                for mistake in error.mistakes
            ]
            error.mistakes = tuple(
                replace(mistake, where=where) for mistake, where in pairs
            )
            error.advice += f"; --vary also takes {', '.join(factors.READERS)}"
        raise
    unpriced, of_files = read(texts=texts)
    if (clients := request.clients) is not None:
        priced = tuple(
            replace(p, cluster=replace(p.cluster, clients=clients)) for p in priced
        )
    workloads = slo.applied(workloads, request.slo, SLO)
    workloads = tuple(
        confirmed(warmed(w, request.warmup), request.confirm) for w in workloads
    )
    return PlanDraft(request, priced, workloads, unpriced, of_files)


def fitted(
    draft: PlanDraft, workloads: Sequence[Workload]
) -> tuple[tuple[Profile, ...], tuple[Workload, ...], tuple[Note, ...]]:
    """Profiles on their nodes and these workloads, with data of the sizes asked for, for which
    disks have room. UsageError where a factor cannot be varied."""
    profiles, data = draft.profiles, draft.request.data
    own = profiles, tuple(workloads), tuple[Note, ...]()
    profiles, workloads, notes = (
        sizes.with_data(profiles, workloads, data) if data else own
    )
    if not (values := factors.parse(draft.request.vary)):
        return profiles, workloads, notes
    is_docker = draft.platform == PLATFORM
    why = {
        profile.name: factors.misfit(
            profile, values, is_docker and not machines.named(profile)
        )
        for profile in profiles
    }
    why |= {load.name: factors.misfit_of(load) for load in workloads}
    told = factors.option(values[0])
    raise_all([Mistake(f"{told}: {name}", text) for name, text in why.items() if text])
    common = [factors.with_common_copies(profile, values) for profile in profiles]
    notes = (
        *notes,
        *(Note("other", text, profile.name) for profile, text in common if text),
    )
    profiles = tuple(profile for profile, _ in common)
    if values[0].factor == factors.DATA:
        workloads = tuple(_of_size(profiles, load) for load in workloads)
        of_sizes = Counter((w.varied.of, str(w.dataset)) for w in workloads if w.varied)
        alike = [name for (name, _), values in of_sizes.items() if values > 1]
        raise_all([Mistake(f"{told}: {name}", _DATA_ALIKE) for name in alike])
    largest, of_files = (
        max(data_bytes(load) or 0 for load in loads)
        for loads in (workloads, draft.of_files)
    )
    roomy = sizes.with_room(profiles, largest) if largest > of_files else profiles
    return roomy, workloads, notes


def _of_size(profiles: Sequence[Profile], load: Workload) -> Workload:
    """With data as large as its value says, by which it is then ordered."""
    if (value := load.varied) is None:
        return load
    _, (sized,), _ = sizes.with_data(profiles, [load], value.value)
    return replace(sized, varied=replace(value, number=data_bytes(sized)))
