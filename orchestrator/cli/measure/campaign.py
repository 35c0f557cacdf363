"""A campaign from request to report, for `run` and `compare`; `resumed_campaign` goes on with one.

request → plan (`plans`, nothing started) → runs, records (experiment) → verdict, report (files)"""

import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from platform import python_version
from typing import Any

from orchestrator import __version__
from orchestrator.cli.common.app import App
from orchestrator.cli.common.options import Measuring, Request
from orchestrator.cli.common.teardown import TimeIsUp
from orchestrator.cli.measure import concluding, live_view, on_end, plans
from orchestrator.databases.choice import PREFERRED
from orchestrator.design import cost_limit
from orchestrator.errors import (
    LeftBehindError,
    NotWrittenError,
    TierbenchError,
    UnavailableError,
)
from orchestrator.model import ClusterSpec, Note, Plan
from orchestrator.parts import Parts
from orchestrator.platforms import own_images
from orchestrator.powers import World
from orchestrator.run import experiment
from orchestrator.run.beforehand import (
    checks,
    expiry,
    resource_needs,
    room,
    start_proof,
)
from orchestrator.run.data import datasets
from orchestrator.run.progress.live_events import Onlookers
from orchestrator.run.resuming.resuming import Resumption
from orchestrator.run.runs_ahead import same_rate, schedule
from orchestrator.system import campaign_folders, campaign_writing, shell, store
from orchestrator.tiers.common.emulated import standing_notes
from orchestrator.units import parse_bytes

# What figures come from; profiles and workloads of the campaign are in its plan.
_CODE = ("orchestrator", own_images.FOLDER, "workloads")


def carry_out(app: App, plan: Plan, request: Request) -> Path:
    """Runs the plan; returns its folder. Nothing of ours is left running. UsageError if it would
    cost more than it may, UnavailableError when it has, LeftBehindError if something rented may be
    left: then the report of what finished is written."""
    # Both checks come before anything is connected to: what is refused here has cost nothing.
    cost_limit.check(plan, request.max_cost)
    room.require(request.results, app.cache)
    most_s = cost_limit.affordable_s(plan, request.max_cost)
    with (
        # Outermost, because it is the removal at the end of `at_work` that finds something left.
        reported(app, begun_since_now(request.results), request.max_cost),
        app.at_work(plan.platform, plan.placing, most_s) as world,
    ):
        plan = _that_starts(app, plan, request, world)
        # Again, because the plan of another database may take longer.
        cost_limit.check(plan, request.max_cost)
        parts = app.parts(world.platform)
        at_start = tuple(_notes_at_start(plan, parts, request.results, world))
        plan = replace(
            plan,
            notes=plan.notes + at_start,
            max_cost=request.max_cost or "",
            on_end=on_end.kept(app, request.on_end),
        )
        return execute(app, plan, request, world, request.results)


# ------------------------------------------------------------------ before the first run


def _that_starts(app: App, plan: Plan, request: Request, world: World) -> Plan:
    """Returns the plan, or the same with PostgreSQL if the database that `auto` took does not come
    up here: the plan that is written is the one that runs."""
    # The user did not ask for `auto`, or it took PostgreSQL, if this note is missing.
    if not any(note.kind == "preferred database" for note in plan.notes):
        return plan
    preferred: list[ClusterSpec] = []
    for profile in plan.profiles:
        if profile.cluster.database == PREFERRED:
            preferred.append(profile.cluster)
    parts = app.parts(world.platform)
    try:
        checks.check(plan, parts, world)
        start_proof.prove_start(preferred, parts, world)
    except Exception as error:
        # Whatever it is: PostgreSQL is tried before anything ends.
        without = plans.make_plan(app, request, str(error))
        for note in without.notes:
            if note.kind == "fallback database":
                world.progress.warn(note.text)
        return without
    return plan


def _notes_at_start(
    plan: Plan, parts: Parts, results: Path, world: World
) -> Iterator[Note]:
    """Notes, also said, on each disk that is up beside the campaign, on memory and room that are
    short, and on certificates that end too early."""
    texts = []
    for disk in standing_notes.reminders(world.platform):
        texts.append(
            f"other load: {disk}. What uses that disk takes CPU and disk from "
            "this campaign"
        )
    texts += resource_needs.short_memory(plan, world)
    texts += expiry.warnings(plan, parts, world)
    texts += room.warnings(plan, results)
    for text in texts:
        world.progress.warn(text)
        yield Note("other", text)


# ------------------------------------------------------------------ the runs


def execute(
    app: App,
    plan: Plan,
    asked: Measuring,
    world: World,
    out: Path,
    begun: Resumption | None = None,
) -> Path:
    """Makes the runs; the cache is as small as was asked before them, and after them."""
    host = {**asdict(world.machine.facts()), "python": python_version()}
    facts = fingerprint(app, host, world.platform.facts(), world)
    parts = app.parts(world.platform)
    # The first that adds runs is heard alone: a decision waits for failed runs to be repeated.
    following = (
        schedule.retried,
        partial(schedule.decided, app.progress),
        _at_same_rate,
    )
    limit_cache = partial(_limit_cache, asked.cache_max, plan, parts, world)
    limit_cache()
    write = concluding.page_writer(app, world)
    with live_view.watched(app.progress, world) as (heard_world, hear):
        folder = experiment.execute(
            plan,
            parts,
            heard_world,
            out,
            facts,
            following,
            begun,
            Onlookers(hear, write),
        )
    # The data sets that this campaign has loaded count too.
    limit_cache()
    return folder


def fingerprint(
    app: App, host: Mapping[str, Any], engine: object, world: World
) -> dict[str, Any]:
    """What ran a campaign, and where. `engine`: the platform's own facts, or why there is none."""
    facts: dict[str, Any] = {"tierbench": __version__}
    facts |= shell.git_revision(world.root, _CODE, world.shell)
    facts["host"] = host
    try:
        # The first machine is the `host`.
        machines = world.platform.machines()[1:]
        facts["other_machines"] = [asdict(machine.facts()) for machine in machines]
    except OSError as error:  # runs are then held against the first machine alone
        world.progress.warn(
            f"the facts of the other machines are not recorded: {error}"
        )
    facts["engine"] = engine
    return {**facts, **command_given(app)}


def command_given(app: App) -> dict[str, str]:
    """The command, as a shell takes it, with what defaults gave it, and where it was given."""
    words = ["tierbench", *app.words]
    for default in app.defaults:
        # A file or the environment may give other defaults when the command is repeated.
        words += default.words
    return {"command": shlex.join(words), "directory": str(Path.cwd())}


def _limit_cache(most: str | None, plan: Plan, parts: Parts, world: World) -> None:
    """Removes kept data sets beyond `most`, a text such as `200GiB`; None: there is no limit."""
    if most is not None:
        datasets.hold_to(parse_bytes(most), plan, parts, world)


def _at_same_rate(folder: Path) -> Plan | None:
    """All at one rate, once the capacity that it is a share of is measured."""
    return same_rate.plan_at_same_rate(store.load(folder))


# ------------------------------------------------------------------ an end before the last run


@contextmanager
def reported(
    app: App, begun: Callable[[], Path | None], max_cost: str | None
) -> Iterator[None]:
    """If the block, which carries out the campaign that `begun` tells, is ended by its cost or
    leaves something behind, what finished is reported."""
    try:
        yield
    except TimeIsUp as end:
        folder = begun()
        # There is a limit of time only with --max-cost, so it is no None here.
        ended = _cost_reached(str(max_cost), folder)
        _conclude_with(Note("campaign cost", ended.what), folder, app)
        # TimeIsUp is a KeyboardInterrupt, which would end the program as Ctrl-C does.
        raise ended from end
    except LeftBehindError as left:
        # Error that had come before, which the error of the removal hides.
        if isinstance(left.__context__, TierbenchError):
            app.progress.warn(left.__context__.what)
        folder = begun()
        _save_left_behind(left, folder, app)
        _conclude_with(Note("left behind", f"{left.what}; {left.advice}"), folder, app)
        raise


def _cost_reached(most: str, folder: Path | None) -> UnavailableError:
    advice = "no run was begun"
    if folder:
        advice = (
            f"the report of what finished is in {folder}; `tierbench resume` goes on "
            "with a higher --max-cost"
        )
    return UnavailableError(
        f"the campaign was ended because renting longer would cost more than {most}",
        advice,
    )


def _save_left_behind(left: LeftBehindError, folder: Path | None, app: App) -> None:
    """Writes it beside the results. The person reads it on the terminal in any case."""
    if folder is None:
        return
    try:
        campaign_writing.save_left_behind(folder, left.what, left.look)
    except NotWrittenError as error:
        app.progress.warn(error.what)


def _conclude_with(note: Note, folder: Path | None, app: App) -> None:
    """Writes the report of what finished, with a note of how it ended; none if no run was begun.
    That it cannot be written is said, and hides nothing of why the campaign ended."""
    if folder is None:
        return
    try:
        # The stored plan, because it may have grown since the campaign began.
        plan = store.load(folder).plan
        campaign_writing.save_plan(folder, replace(plan, notes=(*plan.notes, note)))
        concluding.conclude(folder, None, app.cache)
    except NotWrittenError as error:
        app.progress.warn(
            f"the report of the finished runs was not written: {error.what}"
        )


def begun_since_now(results: Path) -> Callable[[], Path | None]:
    """What is called later for the campaign that was begun there since, if one was."""

    def newest() -> Path | None:
        folder = campaign_folders.newest(results)
        if folder:
            # `latest` is a link of the same name before and after; only what it points to differs.
            return folder.resolve()
        return None

    before = newest()

    def begun() -> Path | None:
        folder = newest()
        if folder == before:
            return None
        return folder

    return begun
