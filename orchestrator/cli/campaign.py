"""A campaign from request to report: what the commands share.

request → plan (pure, nothing started) → runs and records (experiment) → verdict and report (files
alone).
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from platform import python_version
from typing import Any

from orchestrator import __version__, report
from orchestrator.analysis.conclusions import Verdict
from orchestrator.analysis.results import Results
from orchestrator.analysis.verdicts import judge
from orchestrator.cli import outside
from orchestrator.cli.options import Request
from orchestrator.collectors import collectors
from orchestrator.databases import AUTO, PREFERRED, choose, databases
from orchestrator.databases.yugabytedb import checklist, first_runs, image
from orchestrator.errors import TierbenchError, UnavailableError, UsageError
from orchestrator.load_generators import bind, load_generators, warmed
from orchestrator.model import ClusterSpec, Gate, Note, Plan, Profile, Workload
from orchestrator.parts import KeepsIntervals, Parts
from orchestrator.planning import plan, project_files, slo, windows
from orchestrator.platforms.common.machines import LocalMachine
from orchestrator.powers import Progress, World
from orchestrator.run import checks, experiment, proving
from orchestrator.run.gates import Gates
from orchestrator.system import revision, store
from orchestrator.tier import DiskKind
from orchestrator.tiers import emulated, tier_mechanisms
from orchestrator.tiers.common import disk_server, standing
from orchestrator.units import shortened

SLO = "--slo"


def make_plan(request: Request, root: Path, cache: Path, failure: str = "") -> Plan:
    """Files and options → a plan. UsageError with every mistake; nothing is started.

    `failure`: why the database that `auto` preferred did not start; then it takes the other.
    """
    if not request.profiles or not request.workloads:
        raise UsageError(
            "no profile or no workload is named",
            advice="name at least one of each; `tierbench list` shows them",
        )
    found, workloads = project_files.read(
        root, request.profiles, request.workloads, request.scale, disk_kinds(), request.price_list
    )
    workloads = slo.applied(workloads, request.slo, SLO)
    workloads = tuple(bind(workload, request.generator) for workload in workloads)
    workloads = tuple(warmed(workload, request.warmup) for workload in workloads)
    plan.check_owners(found, workloads, request.database)
    notes: tuple[Note, ...] = ()
    if all(workload.database for workload in workloads):  # nothing to choose, nothing to fit
        bound = tuple(plan.as_used(plan.on_nodes(one, 1), workloads[0]) for one in found)
    else:
        bound, notes = _with_databases(found, request, cache, failure)
    workloads, longer = _windows(workloads, bound, request.windows)
    seed = {"seed": request.seed}
    workloads = tuple(replace(load, options={**load.options, **seed}) for load in workloads)
    names = [profile.name for profile in bound]
    subject = workloads[0].name if len(workloads) == 1 else "compare"
    made = plan.make_plan(
        shortened("-".join([subject, *names]), 80),
        bound,
        workloads,
        repetitions=request.repetitions,
        seed=request.seed,
        scale=request.scale,
        margin_pct=request.margin_pct,
        baseline=request.baseline,
        gate_every=request.gate_every,
        drain=request.drain,
        aa=request.aa,
        notes=(
            *notes,
            *longer,
            *plan.scale_notes(workloads, request.scale),
            *plan.tier_notes(bound),
        ),
    )
    files = {
        **project_files.paths("profile", request.profiles),
        **project_files.paths("workload", request.workloads),
        **({project_files.PRICE_LIST: str(request.price_list)} if request.price_list else {}),
    }
    return replace(made, files=files, generator=request.generator)


def _with_databases(
    found: Sequence[Profile], request: Request, cache: Path, failure: str
) -> tuple[tuple[Profile, ...], tuple[Note, ...]]:
    """Binds profiles to nodes and a database on this machine, with notes on what was changed."""
    fitted, notes = plan.fit_to_machine(found, request.nodes, LocalMachine().facts().cpus)
    bound, choices = [], []
    for profile in fitted:
        cluster = profile.cluster
        database = cluster.database if request.database == AUTO else request.database
        choice = choose(database, partial(_proven, cluster, cache), failure)
        node = cluster.node_of.get(choice.name, cluster.node)
        settings = _settings(cluster.settings, choice.name)
        cluster = replace(cluster, database=choice.name, node=node, node_of={}, settings=settings)
        bound.append(replace(profile, cluster=cluster))
        choices += [choice.note] if choice.note else []
    for profile in bound:
        if profile.cluster.database == PREFERRED:
            _pull(profile.cluster)
    return tuple(bound), (*dict.fromkeys(choices), *notes)


def _windows(
    workloads: tuple[Workload, ...], profiles: Sequence[Profile], how: str
) -> tuple[tuple[Workload, ...], tuple[Note, ...]]:
    """The workloads with the windows asked for. UsageError where a database cannot say how far
    apart its checkpoints are, or for another word."""
    if how not in windows.WINDOWS:
        raise UsageError(f"--windows may be {' or '.join(windows.WINDOWS)}, not {how!r}")
    if how == windows.SCALE or not any(one.writes and not one.database for one in workloads):
        return workloads, ()
    known, intervals_s = databases(), []
    for profile in profiles:
        database = known[profile.cluster.database]
        if not isinstance(database, KeepsIntervals):
            raise UsageError(
                f"{profile.name} runs on {database.name}, which says no checkpoint interval "
                "beforehand",
                advice="--windows checkpoints is for PostgreSQL that is started here; elsewhere "
                "give the workload a `measure` that holds two flushes or checkpoints",
            )
        intervals_s.append(database.checkpoint_interval_s(profile.cluster))
    return windows.of_whole_intervals(workloads, max(intervals_s))


def _settings(given: Mapping[str, str], database: str) -> dict[str, str]:
    """Those of every database, and those of `database` (`settings_of`), without its name."""
    if database == plan.EXISTING:
        return dict(given)
    others = tuple(f"{name}." for name in databases() if name != database)
    own = {key: value for key, value in given.items() if not key.startswith(others)}
    return {key.removeprefix(f"{database}."): value for key, value in own.items()}


def _pull(cluster: ClusterSpec) -> None:
    """Pulls the image if it is missing. If that fails, `check` names all ways to get it."""
    with contextlib.suppress(UnavailableError):
        image.obtain(cluster, outside.platform())


def _proven(cluster: ClusterSpec, cache: Path) -> str:
    try:
        return first_runs.passed(cluster, outside.platform(), cache)
    except UnavailableError:
        return ""


def carry_out(
    made: Plan, request: Request, root: Path, cache: Path, results: Path, progress: Progress
) -> Path:
    """Runs the plan on this machine; returns its folder. Nothing of ours is left running."""
    with outside.at_work(root, cache, progress) as (world, _):
        host = {**asdict(world.machine.facts()), "python": python_version()}
        facts = fingerprint(host, world.platform.facts(), world)
        parts = Parts(databases(), load_generators(), tier_mechanisms(), collectors(world.machine))
        made = _that_starts(made, request, parts, world)
        made = replace(made, notes=(*made.notes, *_other_load(world)))
        return experiment.execute(made, parts, world, results, facts)


def _other_load(world: World) -> Iterator[Note]:
    """A note for each disk that is up beside the campaign, which is also said."""
    for reminder in standing.reminders(world.platform):
        text = f"other load: {reminder}; while something uses it, it takes CPU and disk from here"
        world.progress.warn(text)
        yield Note("other", text)


def fingerprint(host: Mapping[str, Any], engine: object, world: World) -> dict[str, Any]:
    """What ran a campaign, and where: `engine` is the platform's own facts, or why there is
    none."""
    code = {"tierbench": __version__, **revision.of(world.root, world.shell)}
    command = " ".join(["tierbench", *sys.argv[1:]])
    return {**code, "host": host, "engine": engine, "command": command}


def _that_starts(made: Plan, request: Request, parts: Parts, world: World) -> Plan:
    """Returns the plan, or the same with PostgreSQL if the database that `auto` took does not come
    up here: the plan that is written is the one that runs."""
    if request.database != AUTO:
        return made
    without = make_plan(request, world.root, world.cache, failure="not tried")
    pairs = zip(made.profiles, without.profiles, strict=True)
    preferred = [mine.cluster for mine, other in pairs if mine.cluster != other.cluster]
    if not preferred:
        return made
    try:
        checks.check(made, parts, world)
        proving.start(preferred, parts, world)
    except Exception as error:  # whatever it is: PostgreSQL is tried before anything ends
        failure = error.what if isinstance(error, TierbenchError) else str(error)
        without = make_plan(request, world.root, world.cache, failure)
        for note in without.notes:
            if note.kind == "fallback database":
                world.progress.warn(note.text)
        return without
    return made


def conclude(
    folder: Path, objectives: str | None = None
) -> tuple[Results, Verdict, report.ReportPaths]:
    """Makes verdict and report of a results folder, from its files alone.

    `objectives`: an SLO to judge by instead of the plan's.
    """
    campaign, verdict = judged(folder, objectives)
    store.save_verdict(folder, verdict)
    return campaign, verdict, report.write(campaign, verdict, folder)


def judged(folder: Path, objectives: str | None = None) -> tuple[Results, Verdict]:
    """The same without writing anything."""
    campaign = store.load(folder)
    workloads = slo.applied(campaign.plan.workloads, objectives, SLO)
    campaign = replace(campaign, plan=replace(campaign.plan, workloads=workloads))
    return campaign, judge(campaign)


def calibrate(
    profile_name: str,
    scale: str,
    thorough: bool,
    drain: bool,
    root: Path,
    cache: Path,
    progress: Progress,
) -> Gate:
    """Takes the truth gate of one profile's tier by itself: always measured, kept if it passed."""
    found, _ = project_files.read(root, [profile_name], [], scale, disk_kinds())
    tier = plan.on_nodes(found[0], found[0].cluster.nodes).tier
    if found[0].cluster.database == plan.EXISTING:
        raise UsageError(
            f"{profile_name}: the disks of a cluster that others run cannot be measured from here",
            advice="run fio on its nodes while nothing else uses them",
        )
    with outside.at_work(root, cache, progress) as (world, _):
        mechanisms = tier_mechanisms()
        mechanisms[tier.enforcement].check(tier, world)
        return Gates(mechanisms, world).measure(tier, thorough, drain)


def set_limits(
    run: str,
    limits: Mapping[str, float],
    root: Path,
    cache: Path,
    results: Path,
    progress: Progress,
) -> Mapping[str, float]:
    """Changes limits of the emulated disks of the run that is going on; returns what they enforce.

    The change is written beside the run's raw files and becomes part of its record. UsageError
    if that run is not going on or has no such disks.
    """
    with outside.powers(root, cache, progress) as (world, engine):
        if engine.other_campaign() is None:
            raise UsageError(
                "no campaign is running here, so no disk has limits that could be changed",
                advice="start one; `tierbench tiers set` works while its disks are attached",
            )
        folder = store.unfinished_run(results, run)
        disks = disk_server.running_disks(world)
        if not disks:
            raise UsageError(
                f"{folder.name} has no emulated disk at this moment",
                advice="try again when it measures; other tiers' limits cannot be changed",
            )

        def keep(disk: str, verb: str, changed: Mapping[str, float]) -> None:
            change = {"time_s": world.clock.now(), "disk": disk, verb: dict(changed)}
            store.keep_limit_change(folder, change)

        return emulated.change_all(disks, limits, keep, world)


def first_run(
    version: str | None,
    root: Path,
    cache: Path,
    progress: Progress,
    results: Path | None = None,
) -> Iterator[checklist.Finding]:
    """Goes through YugabyteDB's checklist (docs/FIRST-RUN-YUGABYTEDB.md); keeps it in `results`."""
    spec = checklist.spec(version)
    with outside.at_work(root, cache, progress) as (world, engine):
        image.obtain(spec, engine)
        yield from first_runs.kept(checklist.first_run(spec, world), spec, engine, world, results)


def disk_kinds() -> dict[str, DiskKind]:
    """The tier mechanisms that a profile may name, each with the kind of its disks."""
    return {name: mechanism.kind for name, mechanism in tier_mechanisms().items()}
