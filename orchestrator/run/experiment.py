"""The flow: a plan becomes runs, runs leave records. No part is named here.

`execute` does, in this order; its lines have these numbers:
 1. remove what an earlier, killed campaign left behind
 2. check everything that could fail late: databases, generators, tiers, space; nothing starts
 3. reserve clusters that others run, for the whole campaign; write plan and fingerprint
 4. for each run (`runs_in_turn`, `one_run`), nested so that each thing is taken down in reverse
    order whatever happens: the data set loaded (once, then copied) → the tier's disks, which passed
    their gate → the database cluster → the clients → warm-up → measured window, sampled all the
    while
 5. read what was measured and write the run's record, then take everything down
 6. when all planned runs are made, ask whether what they found wants more of them (`schedule`)
 7. after the last run, and as often between as the plan says: the gates of real disks again

A run that fails, whatever the error, is recorded as failed (`recording`) and the plan goes on
(`Setbacks` says how far); an interrupt is recorded and passed on.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from orchestrator.errors import RunError
from orchestrator.model import Plan
from orchestrator.parts import Parts
from orchestrator.powers import World
from orchestrator.run.beforehand import checks
from orchestrator.run.disks.gate_taking import GateTaker
from orchestrator.run.disks.gates import Gates
from orchestrator.run.opening import opening_of
from orchestrator.run.progress.live_events import NOBODY, CampaignBegins, Onlookers
from orchestrator.run.resuming.resuming import Resumption, images
from orchestrator.run.runs_ahead.schedule import Following, Schedule, Setbacks
from orchestrator.run.runs_in_turn import RunsInTurn
from orchestrator.system import campaign_writing


def execute(
    plan: Plan,
    parts: Parts,
    world: World,
    results: Path,
    fingerprint: Mapping[str, Any],
    following: Sequence[Following] = (),
    begun: Resumption | None = None,
    onlookers: Onlookers = NOBODY,
) -> Path:
    """Carries out `plan`, and what `following` adds to it; returns the campaign's folder.

    `begun`: the campaign which goes on in its own folder, instead of a new one in
    `results`. Raises only what ends the campaign.
    """
    opening = opening_of(results, begun)
    # 1. Before the checks, because leftovers take the space that these look for.
    left_behind = _swept(world)
    # 2.
    checks.check(plan, parts, world)
    # 3. Nobody else may measure on these clusters from here to the last run.
    with _reserved(plan, parts, world):
        facts = _facts(plan, parts, world, fingerprint)
        campaign = opening.opened(plan, parts, world, facts)
        folder = campaign.folder
        onlookers.hear(CampaignBegins(folder, campaign.plan))
        schedule = Schedule(
            plan=campaign.plan,
            folder=folder,
            following=following,
            warn=world.progress.warn,
            recorded=campaign.finished,
        )
        # Gates are saved at each gate, so that a program that is killed loses none.
        keep = partial(campaign_writing.save_gates, folder)
        gates = Gates(
            GateTaker(parts.tiers, world), world, schedule, keep, campaign.gates
        )
        setbacks = Setbacks(schedule, world, left_behind)
        runs = RunsInTurn(schedule, parts, world, gates, setbacks, onlookers)
        # 4. to 6. After its last run the schedule may have grown.
        for run in schedule:
            runs.make(run)
        # 7.
        opening.complete(gates)
    return folder


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
