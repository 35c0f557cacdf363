"""What was asked for, with the files that it names → the plan of a campaign. Nothing is started.

read and bind → choose databases → window → order → price: each step takes the draft further."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace

from orchestrator.analysis.statistics import looks
from orchestrator.analysis.statistics.stats import t_quantile
from orchestrator.cli.common.app import PLATFORM, App
from orchestrator.cli.common.options import Compared, Request, weights_in
from orchestrator.cli.measure import members, reading
from orchestrator.cli.measure.database_choice import with_databases
from orchestrator.databases import choose, databases
from orchestrator.design import costs, factors, machines, used_profiles
from orchestrator.errors import UsageError
from orchestrator.model import (
    Note,
    Placing,
    Plan,
    Profile,
    Workload,
)
from orchestrator.planning import notes as plan_notes
from orchestrator.planning import overrides, owners, plan, probes, sizes, windows
from orchestrator.planning.profiles import ANY_SCALE
from orchestrator.planning.project_files import read as read_files
from orchestrator.run import forecast
from orchestrator.tier import ClassVolumes
from orchestrator.units import counted, format_seconds, listed, parse_seconds, shortened

# Where --until may add some, and --max-repeats does not say how many.
MOST_REPETITIONS = 10
NOISE_PCT = 3.0  # standard deviation of a tier's runs (docs/research/ERROR-RATES.md)


def make_plan(app: App, request: Request, start_failure: str = "") -> Plan:
    """Files and options → a plan. UsageError with every mistake; nothing is started.

    `start_failure`: why the database that `auto` preferred did not start; then it takes
    the other.
    """
    draft = reading.read(app, request)
    request = draft.request
    owners.check_owners(
        draft.profiles, draft.workloads, request.database, members.on_files()
    )
    draft = replace(draft, platform=_platform(app, draft.profiles, request))
    draft = _window(_choose_databases(app, draft, start_failure))

    def planned(workloads: Sequence[Workload], asked: Request) -> Plan:
        ordered = _order(replace(draft, request=asked, workloads=tuple(workloads)))
        return forecast.timed(ordered, *app.unasked())

    timed = _in_time(request, draft.workloads, planned)
    return replace(timed, notes=(*timed.notes, *costs.notes(timed)))


# ------------------------------------------------------------------ the steps


def _choose_databases(
    app: App, draft: reading.PlanDraft, start_failure: str
) -> reading.PlanDraft:
    """Profiles on the nodes and the database that they will run on, with notes on what changed."""
    workloads = draft.workloads
    if all(workload.database for workload in workloads):
        profiles = _without_database(app, draft)
        notes = tuple(plan_notes.of_disks_alone(draft.profiles, workloads))
    else:
        profiles, changes = with_databases(app, draft, start_failure)
        notes = (*changes, *plan_notes.of_disks_alone(profiles, workloads))
    machines.check(profiles, draft.platform, draft.platform == PLATFORM)
    effects = plan_notes.of_options(
        _options_given(draft.request), profiles, workloads, draft.unpriced
    )
    return replace(draft, profiles=profiles, notes=(*notes, *effects))


def _without_database(app: App, draft: reading.PlanDraft) -> tuple[Profile, ...]:
    """The profiles on one node each, for workloads that run the disk alone.

    UsageError for an unknown database.
    """
    workload = draft.workloads[0]
    asked = draft.request.database
    if asked != workload.database:
        choose(asked, app.parts(None).databases)
    profiles = []
    for profile in draft.profiles:
        profiles.append(
            used_profiles.as_used(used_profiles.on_nodes(profile, 1), workload)
        )
    return tuple(profiles)


def _options_given(request: Request) -> set[str]:
    """Fields that are not as they are by themselves; `--windows many` goes by a name of its own."""
    given = set()
    for option in fields(Compared):
        if getattr(request, option.name) != option.default:
            given.add(option.name)
    if request.windows == "many":
        given.remove("windows")
        given.add(plan_notes.MANY_WINDOWS)
    return given


def _window(draft: reading.PlanDraft) -> reading.PlanDraft:
    """How long, how often and at which load each workload is measured."""
    request = draft.request
    larger: tuple[Note, ...] = ()
    if not request.vary:
        larger = overrides.notes(draft.workloads, draft.of_files)
    workloads, repetitions, longer = _windows(draft.workloads, draft.profiles, request)
    workloads = tuple(_with_seed(workload, request.seed) for workload in workloads)
    loads = factors.parse(request.sweep, "load")
    workloads, share_pct = factors.at_loads(workloads, loads, request.latency_at)
    scale_notes = plan_notes.of_scale(workloads, request.scale)
    fitted = reading.fitted(draft, workloads)
    return replace(
        draft,
        profiles=fitted.profiles,
        workloads=fitted.workloads,
        repetitions=repetitions,
        latency_at_pct=share_pct,
        notes=(*draft.notes, *longer, *larger, *scale_notes, *fitted.notes),
    )


def _with_seed(workload: Workload, seed: int) -> Workload:
    return replace(workload, options={**workload.options, "seed": seed})


def _order(draft: reading.PlanDraft) -> Plan:
    """The runs, in their order."""
    request = draft.request
    notes = [*draft.notes, *plan_notes.of_tiers(draft.profiles)]
    quiet: tuple[Workload, ...] = ()
    if request.probe:
        quiet = probes.for_workloads(draft.workloads, members.on_files())
    if quiet:
        notes.append(_probes_note(quiet))
    ordered = plan.make_plan(
        _plan_name(draft),
        draft.profiles,
        draft.workloads,
        latency_at_pct=draft.latency_at_pct,
        looks=_looks(request),
        platform=draft.platform,
        notes=tuple(notes),
        probes=quiet,
        overrides=tuple(request.overrides or ()),
        weights=_weights(request, draft.workloads),
        repetitions=request.repetitions,
        seed=request.seed,
        scale=request.scale,
        margin_pct=request.margin_pct,
        p99_margin_pct=request.p99_margin_pct,
        baseline=request.baseline,
        aa=request.aa,
        gate_every=request.gate_every,
        drain=request.drain,
        retry_failed=request.retry_failed,
        question=request.question,
    )
    return _with_more_repetitions(ordered, request.repetitions, draft.repetitions)


def _plan_name(draft: reading.PlanDraft) -> str:
    """The workload, if it is alone, and the profiles."""
    subject = "compare"
    if len(draft.of_files) == 1:
        subject = draft.of_files[0].name
    names = [profile.name for profile in draft.profiles]
    return shortened("-".join([subject, *names]), 80)


def _with_more_repetitions(
    ordered: Plan, repetitions: int, wanted: Mapping[str, int]
) -> Plan:
    """The plan with as many more rounds as needed for workloads that want more repetitions."""
    most = max(wanted.values(), default=0)
    for count_so_far in range(repetitions, most):
        more = [name for name, count in wanted.items() if count > count_so_far]
        ordered = plan.grown(ordered, more)
    return ordered


def _probes_note(quiet: Sequence[Workload]) -> Note:
    names = listed([load.name for load in quiet])
    text = (
        f"{names}: one session runs for {format_seconds(probes.PROBE_S)} on "
        "each tier, and `tierbench predict` takes its delay from it. It "
        "enters no verdict, no decision and no figure of a tier"
    )
    return Note("probes", text)


# ------------------------------------------------------------------ what the steps decide by


def _in_time(
    request: Request,
    workloads: Sequence[Workload],
    planned: Callable[[Sequence[Workload], Request], Plan],
) -> Plan:
    """The plan as asked for; with --time the one that ends in it, and what that can find."""
    if request.time is None:
        return planned(workloads, request)
    if request.windows == "many":
        raise UsageError(
            "--time plans windows and repetitions itself: leave out --windows many"
        )

    def repeated(loads: Sequence[Workload], count: int) -> Plan:
        if not request.until:
            return planned(loads, replace(request, repetitions=count))
        first = min(count, request.repetitions)
        return planned(
            loads, replace(request, repetitions=first, most_repetitions=count)
        )

    timed = sizes.in_time(parse_seconds(request.time), workloads, repeated)
    return replace(timed, notes=(*timed.notes, _finds(timed, request.time)))


def _finds(plan: Plan, time: str) -> Note:
    """What was planned, and the change that it finds four times in five: of n pairs of runs (t(97.5
    %) + t(80 %)) · √2 · noise ÷ √n, with n - 1 degrees of freedom (power of a paired t-test)."""
    lengths = dict.fromkeys(format_seconds(load.measure_s) for load in plan.workloads)
    windows = listed(list(lengths))
    n = max(plan.looks, default=plan.repetitions)
    degrees_of_freedom = n - 1
    quantiles = t_quantile(0.975, degrees_of_freedom)
    quantiles += t_quantile(0.8, degrees_of_freedom)
    change_pct = quantiles * NOISE_PCT * math.sqrt(2 / n)
    repetitions = counted(n, "repetition")
    text = (
        f"{repetitions} of windows of {windows} end within {time}, by the "
        f"longest estimate. If runs of one tier vary by {NOISE_PCT:g} %, "
        f"they find a change of {change_pct:.0f} % four times in five"
    )
    return Note("planned in time", text)


def _weights(request: Request, workloads: Sequence[Workload]) -> Mapping[str, float]:
    """The weights of workloads. UsageError for a name that is no workload of the campaign."""
    names = [load.name for load in workloads]
    weights = weights_in(request.weights)
    unknown = [name for name in weights if name not in names]
    if unknown:
        raise _other_weights(unknown, names)
    return weights


def _other_weights(unknown: Sequence[str], workloads: Sequence[str]) -> UsageError:
    return UsageError(
        f"--weights names {listed(unknown)}, and the workloads are {listed(workloads)}",
        advice="give weights to workloads of this campaign",
    )


def _looks(request: Request) -> Mapping[int, float]:
    """When a campaign that may grow is judged, and at which levels; empty for any other."""
    if request.until is None:
        if request.most_repetitions is not None:
            raise UsageError(
                "--max-repeats limits --until decided, which was not given",
                advice="give both; or --repeats alone, for a fixed number",
            )
        return {}
    first = request.repetitions
    most = request.most_repetitions or MOST_REPETITIONS
    if not 2 <= first <= most:
        raise UsageError(
            f"--until decided cannot begin with {first} repetitions and end with at most "
            f"{most}",
            advice="give --repeats 2 or more, and --max-repeats no less than that",
        )
    return looks.shares(first, most)


def _platform(app: App, profiles: Sequence[Profile], request: Request) -> str:
    """Where the campaign runs.

    UsageError if profiles name several platforms, because differences between these would be taken
    for differences of disks.
    """
    named = _one_platform(profiles, request)
    _check_placings(profiles)
    asked = request.platform or named
    machines.check_asked(profiles[0], asked)
    name = asked or PLATFORM
    if name != PLATFORM:
        app.connection(name)  # UsageError for an unknown one
        return name
    claimed = []
    for profile in profiles:
        if isinstance(profile.tier.disk, ClassVolumes):
            claimed.append(profile.name)
    if claimed:
        raise _no_storage_class(listed(claimed), name)
    return name


def _one_platform(profiles: Sequence[Profile], request: Request) -> str | None:
    """The one that profiles name, if one does."""
    platforms = {}
    for profile in profiles:
        if profile.platform:
            platforms[profile.name] = profile.platform
    if request.platform is None and len(set(platforms.values())) > 1:
        raise _several_platforms(platforms)
    return next(iter(platforms.values()), None)


def _check_placings(profiles: Sequence[Profile]) -> None:
    placings = {profile.name: profile.placing for profile in profiles}
    if any(placing != profiles[0].placing for placing in placings.values()):
        names = ", ".join(placings)
        raise UsageError(
            f"the profiles {names} differ in `kubernetes` or `machines`",
            advice="tiers are compared on the same machines: write the same in each",
        )


def _several_platforms(platforms: Mapping[str, str]) -> UsageError:
    """`platforms`: profile → its platform."""
    named = ", ".join(f"{name}: {platform}" for name, platform in platforms.items())
    return UsageError(
        f"the profiles name several platforms ({named})",
        advice="one campaign compares tiers on one platform: say which with --platform",
    )


def _no_storage_class(profiles: str, platform: str) -> UsageError:
    return UsageError(
        f"the disks of {profiles} are volumes of a StorageClass, which {platform} does "
        "not have",
        advice=(
            "give --platform kubernetes (PLATFORM=kubernetes), or `platform: "
            "kubernetes` in the profile, or another --enforcement"
        ),
    )


def _windows(
    workloads: tuple[Workload, ...], profiles: Sequence[Profile], request: Request
) -> tuple[tuple[Workload, ...], Mapping[str, int], tuple[Note, ...]]:
    """The workloads with the windows asked for, and the repetitions of those that have their own
    number. UsageError where a database cannot say how far apart its checkpoints are."""
    if request.windows == "many":
        return windows.many(workloads, request.repetitions)
    # Only a database has checkpoints, and only if it is written to.
    have_checkpoints = any(load.writes and not load.database for load in workloads)
    if request.windows == "scale" or not have_checkpoints:
        return workloads, {}, ()
    members = databases()
    intervals_s = []
    for profile in profiles:
        database = members[profile.cluster.database]
        interval_s = database.abilities.checkpoint_interval_s
        if interval_s is None:
            raise _no_interval(profile.name, database.name)
        intervals_s.append(interval_s(profile.cluster))
    fitted, notes = windows.of_whole_intervals(workloads, max(intervals_s))
    return fitted, {}, notes


def _no_interval(profile: str, database: str) -> UsageError:
    return UsageError(
        f"{profile} runs on {database}, and its checkpoint interval is not "
        "known beforehand",
        advice=(
            "--windows checkpoints needs a PostgreSQL that tierbench starts. "
            "Elsewhere give the workload a `measure` that holds two flushes or "
            "checkpoints"
        ),
    )


def placed(
    app: App, name: str, platform: str | None = None, scale: str = ANY_SCALE
) -> Profile:
    """A profile by itself, on the platform that was asked for, else on its own. UsageError with its
    mistakes, or if its machines are not that platform's."""
    ((profile,), _) = read_files(app.root, [name], [], scale, app.disk_kinds())
    profile = replace(profile, platform=platform or profile.platform)
    where = profile.platform or PLATFORM
    machines.check_asked(profile, profile.platform)
    machines.check_platform(profile, where, where == PLATFORM)
    return profile


def place(
    app: App, profile: str | None, platform: str | None
) -> tuple[str | None, Placing | None]:
    """The platform that was asked for, or that of a profile with its machines."""
    if profile is None:
        return platform, None
    named = placed(app, profile, platform)
    return named.platform, named.placing
