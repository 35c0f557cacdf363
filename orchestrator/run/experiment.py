"""The flow: a plan becomes runs, runs leave records. No part is named here.

`execute` does, in this order:
 1. remove what an earlier, killed campaign left behind
 2. check everything that could fail late: databases, generators, tiers, space; nothing starts
 3. reserve clusters that others run, for the whole campaign; write plan and fingerprint
 4. for each run (`one_run`), nested so that each thing is taken down in reverse order whatever
    happens: the data set loaded (once, then copied) → the tier's disks, which passed their gate →
    the database cluster → the clients → warm-up → measured window, sampled all the while
 5. read what was measured and write the run's record, then take everything down
 6. when all planned runs are made, ask whether what they found wants more of them (`schedule`)
 7. after the last run, and as often between as the plan says: the gates of real disks again

A run that fails, whatever the error, is recorded as failed (`recording`) and the plan goes on
(`Setbacks` says how far); an interrupt is recorded and passed on.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import (
    ExitStack,
    contextmanager,
)
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from orchestrator.errors import RunError
from orchestrator.model import Plan, Run
from orchestrator.parts import Parts
from orchestrator.planning import data_sizes, paces
from orchestrator.planning.time_left import TimeLeft
from orchestrator.powers import World
from orchestrator.run import (
    checks,
    judging,
    observed,
    recording,
)
from orchestrator.run.gate_taking import GateTaker
from orchestrator.run.gates import Gates
from orchestrator.run.live_events import (
    CampaignBegins,
    Hear,
    RunBegins,
    heard_by_nobody,
)
from orchestrator.run.one_run import carry_out
from orchestrator.run.resuming import Resumption, images
from orchestrator.run.run_context import Draft, RunContext
from orchestrator.run.schedule import Following, Schedule, Setbacks
from orchestrator.system import campaign_writing
from orchestrator.system.runs_read_before import RunsReadBefore
from orchestrator.tier import Gate

# These phases last as long as planned; only what comes around them is learnt.
_UNDER_LOAD = ("warm-up", "measure", "confirm")


def _say_nothing(_campaign: Path) -> None:
    """An `after_run` for nobody."""


def execute(
    plan: Plan,
    parts: Parts,
    world: World,
    results: Path,
    fingerprint: Mapping[str, Any],
    following: Sequence[Following] = (),
    begun: Resumption | None = None,
    after_run: Callable[[Path], None] = _say_nothing,
    hear: Hear = heard_by_nobody,
) -> Path:
    """Carries out `plan`, and what `following` adds to it; returns the campaign's folder.

    `begun`: the campaign which goes on in its own folder. `after_run` is told of the
    folder after each run but the last planned one, `hear` of what happens. Raises only what
    ends the campaign.
    """
    # Leftovers are swept before the checks, because they take the space that these look for.
    left_behind = _swept(world)
    checks.check(plan, parts, world)
    # Nobody else may measure on these clusters from here to the last run.
    with _reserved(plan, parts, world):
        facts = _facts(plan, parts, world, fingerprint)
        if begun is None:
            campaign = _created(plan, world, results, facts)
        else:
            campaign = _gone_on_with(begun, plan, parts, world, facts)
        folder = campaign.folder
        hear(CampaignBegins(folder, campaign.plan))
        schedule = Schedule(
            plan=campaign.plan,
            folder=folder,
            following=following,
            warn=world.progress.warn,
            recorded=campaign.finished,
        )
        # Gates are saved at each gate, so that a program that is killed loses none.
        keep = partial(campaign_writing.save_gates, folder)
        taker = GateTaker(parts.tiers, world)
        gates = Gates(taker, world, schedule, keep, campaign.gates)
        setbacks = Setbacks(schedule, world, left_behind)
        for run in _all_runs(schedule, parts, world, gates, setbacks, hear):
            # Asked now, because a plan may have grown after what was its last run.
            if run is not schedule.plan.runs[-1]:
                after_run(folder)
        # The program may have been ended between its last run and the last gate.
        if begun is not None:
            gates.complete(begun.ended_s)
    return folder


class _Opened(NamedTuple):
    """The folder of a campaign, and what is there already: gates, and numbers of runs."""

    folder: Path
    plan: Plan
    gates: Sequence[Gate]
    finished: set[int]


def _created(
    plan: Plan, world: World, results: Path, facts: Mapping[str, Any]
) -> _Opened:
    folder = campaign_writing.create(results, plan, facts, world.clock.now())
    return _Opened(folder, plan, (), set())


def _gone_on_with(
    begun: Resumption,
    plan: Plan,
    parts: Parts,
    world: World,
    facts: Mapping[str, Any],
) -> _Opened:
    # The folder is read only while the guard keeps others off. Another program may have gone on
    # before.
    now = begun.read_again(plan)
    grown = now.begin(facts, world.clock.now(), parts)
    return _Opened(begun.folder, grown, now.before.gates, set(now.finished))


def _facts(
    plan: Plan, parts: Parts, world: World, fingerprint: Mapping[str, Any]
) -> dict[str, Any]:
    """The fingerprint, with the images of all databases and the packages in them."""
    databases = images(plan, parts, world)
    packages = parts.packages(databases, world)
    return {**fingerprint, "images": databases, "packages": packages}


def _swept(world: World) -> RunError | None:
    """Removes leftovers; why not all, if so: what is in the way is found by the checks, and
    by the runs."""
    try:
        for line in world.platform.sweep():
            world.progress.note(f"removed a leftover: {line}")
    except RunError as error:
        world.progress.warn(f"{error.what}; the campaign goes on without removing it")
        return error
    return None


@contextmanager
def _reserved(plan: Plan, parts: Parts, world: World) -> Iterator[None]:
    """Other campaigns are kept off clusters that others run."""
    with ExitStack() as up:
        for profile in plan.profiles:
            abilities = parts.databases[profile.cluster.member].abilities
            if abilities.reserved is not None:
                up.enter_context(abilities.reserved(profile.cluster, world))
        yield


def _all_runs(
    schedule: Schedule,
    parts: Parts,
    world: World,
    gates: Gates,
    setbacks: Setbacks,
    hear: Hear,
) -> Iterator[Run]:
    left = TimeLeft()
    forgone: dict[Path, str] = {}
    # Each run is announced with all before it, which are not read again unless they changed.
    read_before = RunsReadBefore()
    for run in schedule:
        plan = schedule.plan
        left_s = left.before(schedule.left, plan)
        world.progress.run(run.slug, run.number, len(plan.runs), left_s)
        run_world = _world_of(run, plan, world)
        draft = Draft(doubts=setbacks.doubts(run))
        here = RunContext(
            plan=plan,
            run=run,
            parts=parts,
            gates=gates,
            campaign=schedule.folder,
            world=run_world,
            draft=draft,
            forgone=forgone,
            hear=hear,
        )
        hear(RunBegins(plan, run, here.profile, left_s))
        took_s = _recorded(here)
        # Judged while the campaign goes on, so that `status` need not read a table.
        judging.announce(schedule.folder, run, world, read_before, hear)
        left.took(plan.workload(run.workload), took_s)
        _learn(here, took_s)
        # The plan grows first: the other two ask whether this was the last run.
        schedule.after(run)
        setbacks.after(run, draft.failure, draft.trouble)
        gates.after(run)
        yield run


def _recorded(here: RunContext) -> float:
    """Carries out the run, whatever happens in it. Returns the seconds that it took."""
    clock = here.world.clock
    started_s = clock.monotonic()
    with recording.recorded(here):
        carry_out(here)
    return clock.monotonic() - started_s


def _world_of(run: Run, plan: Plan, world: World) -> World:
    """The world of one run, with names and a seed of its own."""
    # All runs of a repetition have one seed: a slow epoch hits every tier at the same time.
    seed = plan.seed * 1000 + run.repetition
    return replace(world, scope=f"{world.scope}-{run.number}", seed=seed)


def _learn(here: RunContext, took_s: float) -> None:
    """Keeps what the run took, for later estimates, if nothing failed in it."""
    draft = here.draft
    if draft.outcome != "done" or draft.trouble is not None:
        return
    # Windows are as long as planned, and data sets, gates and copies have their own
    # estimates.
    around_s = took_s - _under_load_s(draft) - sum(draft.spent.values())
    _note_spent(here, paces.AROUND_RUN, around_s, 1.0)
    restored_bytes = data_sizes.restored_bytes(here.profile, here.workload)
    restore_s = draft.spent.get(paces.RESTORE, 0.0)
    _note_spent(here, paces.RESTORE, restore_s, restored_bytes)
    load = paces.load_of(here.workload)
    load_s = draft.spent.get(load, 0.0)
    _note_spent(here, load, load_s, data_sizes.data_bytes(here.workload))


def _under_load_s(draft: Draft) -> float:
    total_s = 0.0
    for phase in draft.phases:
        if phase.name in _UNDER_LOAD:
            total_s += phase.duration_s
    return total_s


def _note_spent(
    here: RunContext, what: str, spent_s: float, amount: float | None
) -> None:
    profile = here.profile
    platform = here.world.platform.name
    name = paces.kept_as(what, profile.tier, platform, profile.cluster)
    observed.note(name, spent_s, here.world, amount)
