"""One run while it is made: what all its steps share, and what is known of it so far."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator.design.used_profiles import as_used
from orchestrator.facts import PhaseName
from orchestrator.model import Doubt, Node, Outcome, Phase, Plan, Profile, Run, Workload
from orchestrator.parts import Database, LoadGenerator, Parts, Result, TierMechanism
from orchestrator.powers import World
from orchestrator.run.progress.live_events import Hear, PhaseBegins, heard_by_nobody
from orchestrator.system import campaign_writing
from orchestrator.tier import Gate

# They need libraries of tables, which checks before the first run do without.
if TYPE_CHECKING:
    from orchestrator.run.disks.gates import Gates
    from orchestrator.run.record.readings import Readings


@dataclass
class Draft:
    """What is known of a run so far; it becomes the run's Record whatever happens."""

    # The outcome holds until the run is done. A program that is killed says nothing more.
    outcome: Outcome = "interrupted"
    failure: str | None = "stopped before the run ended"
    # The exception raised, even if the run was done and only taking it down failed.
    trouble: Exception | None = None
    phases: list[Phase] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    gate: Gate | None = None
    result: Result | None = None
    readings: Readings | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    doubts: list[Doubt] = field(default_factory=list)
    # Seconds on each part that estimates reckon apart.
    spent: dict[str, float] = field(default_factory=dict)
    thread_errors: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class RunContext:
    """One run. `campaign` is the folder of all runs; the scope of `world` is the run's own.

    `forgone`: folder of snapshots → why nodes do not start from them, of all runs so far.
    """

    plan: Plan
    run: Run
    parts: Parts
    gates: Gates
    campaign: Path
    world: World
    draft: Draft
    forgone: dict[Path, str]
    hear: Hear = heard_by_nobody

    @cached_property
    def folder(self) -> Path:
        """The run's own folder, with its `raw/` made."""
        return campaign_writing.run_folder(self.campaign, self.run)

    @property
    def raw(self) -> Path:
        return self.folder / "raw"

    @property
    def workload(self) -> Workload:
        return self.plan.workload(self.run.workload)

    @property
    def profile(self) -> Profile:
        return as_used(self.plan.profile(self.run.profile), self.workload)

    @property
    def mechanism(self) -> TierMechanism:
        return self.parts.tiers[self.profile.tier.disk.enforcement]

    @property
    def database(self) -> Database:
        return self.parts.databases[self.profile.cluster.member]

    @property
    def generator(self) -> LoadGenerator:
        return self.parts.load_generators[self.workload.generator]

    def begin_phase(self, name: PhaseName) -> None:
        """The phase `name` begins now, and the one before ends; one that goes on stays one."""
        now_s = self.world.clock.now()
        self.extend_phase(now_s)
        if not self.draft.phases or self.draft.phases[-1].name != name:
            self.draft.phases.append(Phase(name, now_s, now_s))
            self.hear(PhaseBegins(name))

    def extend_phase(self, end_s: float) -> None:
        """The newest phase lasted until `end_s` at least."""
        phases = self.draft.phases
        if phases:
            phases[-1] = replace(phases[-1], end_s=end_s)

    def windows(self, warmup: Phase, measure: Phase, confirm_s: float = 0.0) -> Phase:
        """Puts what the load generator says of its two phases in the place of the "warm-up"
        that began when it was started.

        Since they ended the run has been in the phase "check", or "settle". The last
        `confirm_s` of the second are not measured; returns what is.
        """
        phases = self.draft.phases
        # It was only guessed from the start of the generator, which now says the true
        # times.
        phases.pop()
        self.extend_phase(warmup.start_s)
        end_s = measure.end_s
        measured = replace(measure, end_s=end_s - confirm_s)
        phases += [warmup, measured]
        if confirm_s:
            phases.append(Phase("confirm", measured.end_s, end_s))
        if self.workload.settle:
            phases.append(Phase("settle", end_s, end_s))
        else:
            phases.append(Phase("check", end_s, end_s))
        return measured

    @contextmanager
    def spending(self, what: str) -> Iterator[None]:
        """Notes how long the block took, if it ended well."""
        started_s = self.world.clock.monotonic()
        yield
        spent = self.draft.spent
        took_s = self.world.clock.monotonic() - started_s
        spent[what] = spent.get(what, 0.0) + took_s
