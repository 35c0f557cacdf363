"""Makes the runs of a campaign one after another: what they share, and what follows each."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from orchestrator.model import Plan, Run
from orchestrator.parts import Parts
from orchestrator.planning.time_left import TimeLeft
from orchestrator.powers import World
from orchestrator.run.disks.gates import Gates
from orchestrator.run.one_run import carry_out
from orchestrator.run.progress import judging
from orchestrator.run.progress.live_events import Onlookers, RunBegins
from orchestrator.run.record import learning, recording
from orchestrator.run.record.run_context import Draft, RunContext
from orchestrator.run.runs_ahead.schedule import Schedule, Setbacks
from orchestrator.system.runs_read_before import RunsReadBefore


@dataclass(frozen=True)
class RunsInTurn:
    """The runs of one campaign.

    `forgone`: folder of snapshots → why nodes do not start from them. `read_before`: each run is
    judged with all before it, which are not read again unless they changed.
    """

    schedule: Schedule
    parts: Parts
    world: World
    gates: Gates
    setbacks: Setbacks
    onlookers: Onlookers
    time_left: TimeLeft = field(default_factory=TimeLeft)
    forgone: dict[Path, str] = field(default_factory=dict)
    read_before: RunsReadBefore = field(default_factory=RunsReadBefore)

    def make(self, run: Run) -> None:
        """Announces the run, carries it out, judges the campaign so far, and prepares what follows.

        A run that fails raises nothing; only what ends the campaign does.
        """
        here = self._announced(run)
        took_s = _recorded(here)
        # Judged while the campaign goes on, so that `status` need not read a table.
        judging.announce(
            self.schedule.folder, run, self.world, self.read_before, self.onlookers.hear
        )
        self.time_left.took(here.workload, took_s)
        learning.learn(here, took_s)
        self._followed(run, here.draft)

    def _announced(self, run: Run) -> RunContext:
        plan = self.schedule.plan
        left_s = self.time_left.before(self.schedule.left, plan)
        self.world.progress.run(run.slug, run.number, len(plan.runs), left_s)
        here = RunContext(
            plan=plan,
            run=run,
            parts=self.parts,
            gates=self.gates,
            campaign=self.schedule.folder,
            world=_world_of(run, plan, self.world),
            draft=Draft(doubts=self.setbacks.doubts(run)),
            forgone=self.forgone,
            hear=self.onlookers.hear,
        )
        self.onlookers.hear(RunBegins(plan, run, here.profile, left_s))
        return here

    def _followed(self, run: Run, draft: Draft) -> None:
        # The plan grows first: the other two ask whether this was the last run.
        self.schedule.after(run)
        self.setbacks.after(run, draft.failure, draft.trouble)
        self.gates.after(run)
        # Asked now, because a plan may have grown after what was its last run.
        if run is not self.schedule.plan.runs[-1]:
            self.onlookers.after_run(self.schedule.folder)


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
    seed = plan.repeats.seed * 1000 + run.repetition
    return replace(world, scope=f"{world.scope}-{run.number}", seed=seed)
