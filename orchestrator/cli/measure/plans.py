"""What was asked for, with the files that it names → the plan of a campaign. Nothing is started.

read and bind → choose databases → window → order → price: each step takes the draft further."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace

from orchestrator.analysis.statistics import looks
from orchestrator.analysis.statistics.stats import t_quantile
from orchestrator.cli.common.app import PLATFORM, App
from orchestrator.cli.common.options import Compared, Request, weights_in
from orchestrator.cli.measure import fitting, members, reading
from orchestrator.cli.measure.database_choice import with_databases
from orchestrator.cli.measure.platform_choice import platform_of
from orchestrator.databases import databases
from orchestrator.databases.choice import choose
from orchestrator.design import (
    costs,
    factors,
    machines,
    used_profiles,
    varied_workloads,
)
from orchestrator.design.detailed_notes import detailed_note
from orchestrator.errors import UsageError
from orchestrator.model import (
    Note,
    Plan,
    Profile,
    Workload,
)
from orchestrator.plan_parts import DiskChecks, Judging, Repeats
from orchestrator.planning import (
    fit_to_time,
    notes as plan_notes,
    overrides,
    owners,
    plan,
    probes,
    windows,
)
from orchestrator.run.beforehand import forecast
from orchestrator.texts.foreign_text import shortened
from orchestrator.texts.prose import counted, listed
from orchestrator.units import format_seconds, parse_seconds

# Most repetitions where --until may add some, and --max-repeats does not say how many.
MOST_REPETITIONS = 10
NOISE_PCT = 3.0  # standard deviation of a tier's runs (docs/research/ERROR-RATES.md)


def make_plan(app: App, request: Request, start_failure: str = "") -> Plan:
    """Files and options → a plan. UsageError with every mistake; nothing is started.

    `start_failure`: why the database that `auto` preferred did not start; then it takes
    the other.
    """
    draft = reading.read(app, request)
    # The draft's request: there --without has become a factor, and a factor may set the nodes.
    request = draft.request
    # This comes before a database is chosen, because `auto` asks machines and brings images.
    owners.check_owners(
        draft.profiles, draft.workloads, request.database, members.on_files()
    )
    draft = replace(draft, platform=platform_of(app, draft.profiles, request))
    draft = _window(_choose_databases(app, draft, start_failure))

    def planned(workloads: Sequence[Workload], asked: Request) -> Plan:
        ordered = _order(replace(draft, request=asked, workloads=tuple(workloads)))
        return forecast.timed(ordered, *app.unasked())

    timed = _in_time(request, draft.workloads, planned)
    # Last, because what is rented costs by the time that was estimated.
    return replace(timed, notes=(*timed.notes, *costs.notes(timed)))


# ------------------------------------------------------------------ the steps


def _choose_databases(
    app: App, draft: reading.PlanDraft, start_failure: str
) -> reading.PlanDraft:
    """Profiles on the nodes and the database that they will run on, with notes on what changed."""
    workloads = draft.workloads
    # These measure the disk alone, so no cluster is fitted and no database chosen.
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
        # This call only refuses what is no database; the answer is not used.
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
        # An option that repeats its default is taken for one that was left out.
        if getattr(request, option.name) != option.default:
            given.add(option.name)
    if request.windows == "many":
        given.remove("windows")
        given.add(plan_notes.MANY_WINDOWS)
    return given


def _window(draft: reading.PlanDraft) -> reading.PlanDraft:
    """How long, how often and at which load each workload is measured."""
    request = draft.request
    timed = _windows(draft.workloads, draft.profiles, request)
    notes = timed.notes
    # Nodes get room for the largest value in `fitting.fitted` if --vary is given.
    if not request.vary:
        notes += overrides.notes(draft.workloads, draft.of_files)
    loads = factors.parse(request.sweep, "load")
    at_loads, share_pct = varied_workloads.at_loads(
        _with_seed(timed.workloads, request.seed), loads, request.latency_at
    )
    notes += tuple(plan_notes.of_scale(at_loads, request.scale))
    notes += tuple(plan_notes.of_slow_disks(at_loads))
    # Last, because the disks must hold the largest data set of all values and loads.
    fitted = fitting.fitted(draft, at_loads)
    return replace(
        draft,
        profiles=fitted.profiles,
        workloads=fitted.workloads,
        repetitions=timed.repetitions,
        latency_at_pct=share_pct,
        notes=(*draft.notes, *notes, *fitted.notes),
    )


def _with_seed(workloads: Sequence[Workload], seed: int) -> list[Workload]:
    """Each draws its keys and transactions by the same seed on every tier."""
    seeded: list[Workload] = []
    for workload in workloads:
        options = {**workload.options, "seed": seed}
        seeded.append(replace(workload, options=options))
    return seeded


def _order(draft: reading.PlanDraft) -> Plan:
    """The runs, in their order."""
    request = draft.request
    matrix = _run_matrix(draft)
    ordered = plan.make_plan(
        _plan_name(draft),
        matrix,
        _repeats(request),
        _judging(draft),
        DiskChecks(request.gate_every, request.drain),
        draft.platform,
        _notes(draft, matrix.probes),
    )
    return _with_more_repetitions(ordered, request.repetitions, draft.repetitions)


def _run_matrix(draft: reading.PlanDraft) -> plan.RunMatrix:
    request = draft.request
    quiet: tuple[Workload, ...] = ()
    if request.probe:
        quiet = probes.for_workloads(draft.workloads, members.on_files())
    return plan.RunMatrix(
        draft.profiles,
        draft.workloads,
        request.scale,
        probes=quiet,
        baseline=request.baseline,
        aa=request.aa,
        overrides=request.overrides or (),
        latency_at_pct=draft.latency_at_pct,
    )


def _repeats(request: Request) -> Repeats:
    return Repeats(
        request.repetitions, request.seed, _looks(request), request.retry_failed
    )


def _judging(draft: reading.PlanDraft) -> Judging:
    request = draft.request
    weights = _weights(request, draft.workloads)
    return Judging(
        request.margin_pct, request.p99_margin_pct, weights, request.question
    )


def _notes(draft: reading.PlanDraft, quiet: Sequence[Workload]) -> list[Note]:
    """All that must be said of the plan; `quiet`: the probes before its runs."""
    notes = [*draft.notes, *plan_notes.of_tiers(draft.profiles)]
    if quiet:
        notes.append(_probes_note(quiet))
    return notes


def _plan_name(draft: reading.PlanDraft) -> str:
    """The workload, if it is alone, and the profiles."""
    subject = "compare"
    if len(draft.of_files) == 1:
        subject = draft.of_files[0].name
    names = [profile.name for profile in draft.profiles]
    # The campaign's folder is called by it, and a file system takes 255 bytes in a name.
    return shortened("-".join([subject, *names]), 80)


def _with_more_repetitions(
    ordered: Plan, repetitions: int, wanted: Mapping[str, int]
) -> Plan:
    """The plan with as many more rounds as needed for workloads that want more repetitions."""
    most = max(wanted.values(), default=0)
    for count_so_far in range(repetitions, most):
        more = [name for name, count in wanted.items() if count > count_so_far]
        # A round at a time, so that further repetitions are interleaved over tiers as the first
        # are.
        ordered = plan.grown(ordered, more)
    return ordered


def _probes_note(quiet: Sequence[Workload]) -> Note:
    names = listed([load.name for load in quiet])
    return detailed_note(
        "probes",
        f"{names}: one session runs for {format_seconds(probes.PROBE_S)} on each tier, and "
        "`tierbench predict` takes its delay from it",
        "That run is not part of any verdict, decision or figure of a tier",
    )


# ------------------------------------------------------------------ what the steps decide by


def _in_time(
    request: Request,
    workloads: Sequence[Workload],
    planned: Callable[[Sequence[Workload], Request], Plan],
) -> Plan:
    """The plan as asked for. With --time: the plan that ends in this time, with a note of what it
    can find."""
    if request.time is None:
        return planned(workloads, request)
    if request.windows == "many":
        raise UsageError(
            "--time plans windows and repetitions itself",
            advice="leave out --windows many",
        )

    def repeated(loads: Sequence[Workload], count: int) -> Plan:
        if not request.until:
            return planned(loads, replace(request, repetitions=count))
        # Only the end has to fit in the time with --until; the first judgement stays where it was.
        first = min(count, request.repetitions)
        return planned(
            loads, replace(request, repetitions=first, most_repetitions=count)
        )

    timed = fit_to_time.fitted(parse_seconds(request.time), workloads, repeated)
    return replace(timed, notes=(*timed.notes, _finds(timed, request.time)))


def _finds(plan: Plan, time: str) -> Note:
    """What was planned, and the change that it finds four times in five."""
    # Each length is named once, whichever workloads have it.
    lengths = dict.fromkeys(format_seconds(load.measure_s) for load in plan.workloads)
    windows_in_words = listed(list(lengths))
    # These are the most repetitions with --until; without it there are no looks.
    n = max(plan.repeats.looks, default=plan.repeats.repetitions)
    # Power of a paired t-test: of n pairs (t(97.5 %) + t(80 %)) · √2 · noise ÷ √n, with n - 1
    # degrees of freedom. √2, because a difference has the noise of both runs.
    quantiles = t_quantile(0.975, n - 1) + t_quantile(0.8, n - 1)
    change_pct = quantiles * NOISE_PCT * math.sqrt(2 / n)
    repetitions = counted(n, "repetition")
    planned = f"{repetitions} of windows of {windows_in_words}"
    return detailed_note(
        "planned in time",
        f"{planned} end within {time}, by the longest estimate",
        f"If runs of one tier vary by {NOISE_PCT:g} %, "
        f"they find a change of {change_pct:.0f} % four times in five",
    )


def _weights(request: Request, workloads: Sequence[Workload]) -> Mapping[str, float]:
    """The weights of workloads. UsageError for a name that is no workload of the campaign."""
    names = [load.name for load in workloads]
    weights = weights_in(request.weights)
    unknown: list[str] = []
    for name in weights:
        if name not in names:
            unknown.append(name)
    if unknown:
        raise UsageError(
            f"--weights names {listed(unknown)}, and the workloads are {listed(names)}",
            advice="give weights to workloads of this campaign",
        )
    return weights


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
    # One repetition has no interval, so nothing can be judged after it.
    if not 2 <= first <= most:
        raise UsageError(
            f"--until decided cannot begin with {first} repetitions and end with at most "
            f"{most}",
            advice="give --repeats 2 or more, and --max-repeats no less than that",
        )
    # Each judgement has a share of the 5 %: whoever looks often finds false differences.
    return looks.shares(first, most)


def _windows(
    workloads: tuple[Workload, ...], profiles: Sequence[Profile], request: Request
) -> windows.FittedWindows:
    """UsageError where a database cannot say how far apart its checkpoints are."""
    if request.windows == "many":
        return windows.many(workloads, request.repetitions)
    # Only a database has checkpoints, and only if it is written to.
    have_checkpoints = any(load.writes and not load.database for load in workloads)
    if request.windows == "scale" or not have_checkpoints:
        return windows.FittedWindows(workloads)
    # All tiers get windows of one length, else their figures could not be compared.
    longest_s = max(_checkpoint_interval_s(profile) for profile in profiles)
    return windows.of_whole_intervals(workloads, longest_s)


def _checkpoint_interval_s(profile: Profile) -> float:
    """How far apart its checkpoints are. UsageError if its database cannot say it."""
    database = databases()[profile.cluster.database]
    interval_s = database.abilities.checkpoint_interval_s
    if interval_s is None:
        raise _no_interval(profile.name, database.name)
    return interval_s(profile.cluster)


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
