"""Files and options → profiles and workloads, at each value of a factor (`--vary`)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from orchestrator.cli.app import App
from orchestrator.cli.options import Request
from orchestrator.errors import Mistake, UsageError
from orchestrator.facts import Varied
from orchestrator.keys.strict_yaml import raise_all, refused
from orchestrator.load_generators import bind, confirmed, keys, warmed
from orchestrator.model import Note, Profile, Workload
from orchestrator.planning import factors, overrides, sizes, slo
from orchestrator.planning.durations import data_bytes
from orchestrator.planning.project_files import read as read_files

SLO = "--slo"


@dataclass(frozen=True)
class FilesRead:
    """What was asked for by name. `unpriced`: the profiles without --prices; `of_files`: the
    workloads without --set, and once, whatever is varied."""

    profiles: tuple[Profile, ...]
    workloads: tuple[Workload, ...]
    unpriced: tuple[Profile, ...]
    of_files: tuple[Workload, ...]


def checked(request: Request) -> Request:
    """With the nodes that the most of --vary needs. UsageError if that does not go with another
    option."""
    values = factors.parse(request.vary)
    if not values:
        return request
    factor = values[0].factor
    others = {
        "--sweep": request.sweep,
        "--latency-at": request.latency_at,
        "--until": request.until,
        "--windows many": request.windows == "many",
        f"--{factor}": getattr(request, factor, None),
    }
    if given := [option for option, is_given in others.items() if is_given]:
        what = f"{factors.VARY} does not go with {', '.join(given)}: one thing is varied at a time"
        raise UsageError(what, advice="make a campaign of each, or leave one out")
    if factor == factors.NODES:
        return replace(request, nodes=int(values[-1].number or 0))
    return request


def read(app: App, request: Request) -> FilesRead:
    """All files that the request names. UsageError with every mistake."""
    if not request.profiles or not request.workloads:
        raise UsageError(
            "no profile or no workload is named",
            advice="name at least one of each; `tierbench list` shows them",
        )
    values, texts = factors.parse(request.vary), dict[Path, str]()
    if not values:
        return _once(app, request, texts)
    try:
        each = {value: _once(app, request, texts, value) for value in values}
    except UsageError as error:
        if not error.mistakes:
            raise
        of_values = tuple(f"--set {value.factor}={value.value}" for value in values)
        blamed = (
            replace(m, where=m.where.replace("--set", factors.VARY, m.where.startswith(of_values)))
            for m in error.mistakes
        )
        raise refused(dict.fromkeys(blamed), error.advice) from error
    files = each[values[-1]]
    if values[0].factor == factors.STRIPED:
        tiers = factors.with_tiers({value.value: of.profiles for value, of in each.items()})
        files = replace(files, profiles=tiers)
    places = range(len(files.workloads))
    loads = (factors.at(of.workloads[at], value) for at in places for value, of in each.items())
    return replace(files, workloads=tuple(loads))


def _once(
    app: App, request: Request, texts: dict[Path, str], value: Varied | None = None
) -> FilesRead:
    texts_set, tier_changes = [*(request.overrides or ())], dict[str, object]()
    if value is not None and factors.is_key(value):
        texts_set.append(f"{value.factor}={value.value}")
    if value is not None and value.factor == factors.STRIPED:
        tier_changes[value.factor] = int(value.value)
    if request.enforcement:
        tier_changes["enforcement"] = request.enforcement
    named = [Path(name).stem for name in request.workloads]
    given = overrides.read(texts_set, named, request.scale, keys)
    read = partial(
        read_files,
        app.root,
        request.profiles,
        request.workloads,
        request.scale,
        app.disk_kinds(),
        tier_changes=tier_changes,
        texts=texts,
    )
    with given.blamed():
        priced, workloads = read(price_list=request.price_list, given=given)
        workloads = tuple(bind(workload, request.generator) for workload in workloads)
    unpriced, of_files = read()
    if (clients := request.clients) is not None:
        priced = tuple(replace(p, cluster=replace(p.cluster, clients=clients)) for p in priced)
    workloads = slo.applied(workloads, request.slo, SLO)
    workloads = tuple(confirmed(warmed(w, request.warmup), request.confirm) for w in workloads)
    return FilesRead(priced, workloads, unpriced, of_files)


def fitted(
    profiles: Sequence[Profile], workloads: Sequence[Workload], data: str | None
) -> tuple[tuple[Profile, ...], tuple[Workload, ...], tuple[Note, ...]]:
    """Profiles and workloads on their nodes, with data of the sizes asked for. UsageError where a
    factor cannot be varied."""
    values = [load.varied for load in workloads if load.varied]
    profiles, loads, notes = tuple(profiles), list(workloads), list[Note]()
    if data:
        profiles, sized, own = sizes.with_data(profiles, workloads, data)
        loads, notes = list(sized), list(own)
    if not values:
        return profiles, tuple(loads), tuple(notes)
    why = {profile.name: factors.misfit(profile, values) for profile in profiles}
    why |= {w.name: "measures a disk alone, by cells of its own" for w in workloads if w.database}
    raise_all([Mistake(f"{factors.VARY}: {name}", text) for name, text in why.items() if text])
    common = [factors.with_common_copies(profile, values) for profile in profiles]
    notes += [Note("other", text, profile.name) for profile, text in common if text]
    profiles = tuple(profile for profile, _ in common)
    if values[0].factor == factors.DATA:
        loads = [_of_size(profiles, load) for load in loads]
    if len({str(load.dataset) for load in loads if load.varied}) > 1:
        profiles = sizes.with_room(profiles, max(data_bytes(load) or 0 for load in loads))
    return profiles, tuple(loads), tuple(notes)


def _of_size(profiles: Sequence[Profile], load: Workload) -> Workload:
    """With data as large as its value says, by which it is then ordered."""
    assert load.varied
    _, (sized,), _ = sizes.with_data(profiles, [load], load.varied.value)
    return replace(sized, varied=replace(load.varied, number=data_bytes(sized)))
