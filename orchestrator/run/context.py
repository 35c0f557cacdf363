"""What the steps of one run share: the plan, the run's own parts, its folder, and its draft."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from orchestrator.model import Doubt, Node, Outcome, Phase, PhaseName, Plan, Profile, Run, Workload
from orchestrator.parts import Database, LoadGenerator, Parts, Result
from orchestrator.planning.plan import as_used
from orchestrator.powers import World
from orchestrator.run.gates import Gates
from orchestrator.run.telemetry import Readings
from orchestrator.system import store
from orchestrator.tier import Gate


@dataclass
class Draft:
    """What is known of a run so far; it becomes the run's Record whatever happens.

    `trouble`: the exception raised, even if the run was done and only taking it down failed.
    `spent`: seconds on each part that estimates reckon apart.
    """

    outcome: Outcome = "interrupted"
    failure: str | None = "stopped before the run ended"
    trouble: Exception | None = None
    phases: list[Phase] = field(default_factory=list)
    nodes: tuple[Node, ...] = ()
    gate: Gate | None = None
    result: Result | None = None
    readings: Readings | None = None
    facts: dict[str, Any] | None = None
    doubts: list[Doubt] = field(default_factory=list)
    spent: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class RunContext:
    """One run. `campaign` is the folder of all runs; the scope of `world` is the run's own.
    `forgone`: folder of snapshots → why nodes do not start from them, of all runs so far."""

    plan: Plan
    run: Run
    parts: Parts
    gates: Gates
    campaign: Path
    world: World
    draft: Draft
    forgone: dict[Path, str]

    @cached_property
    def folder(self) -> Path:
        """The run's own folder, with its `raw/` made."""
        return store.run_folder(self.campaign, self.run)

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
    def database(self) -> Database:
        return self.parts.databases[self.profile.cluster.database]

    @property
    def generator(self) -> LoadGenerator:
        return self.parts.load_generators[self.workload.generator]

    def begin_phase(self, name: PhaseName) -> None:
        """The phase `name` begins now, and the one before ends; one that goes on stays one."""
        now_s = self.world.clock.now()
        self.extend_phase(now_s)
        if not self.draft.phases or self.draft.phases[-1].name != name:
            self.draft.phases.append(Phase(name, now_s, now_s))

    def extend_phase(self, end_s: float) -> None:
        """The newest phase lasted until `end_s` at least."""
        if phases := self.draft.phases:
            phases[-1] = replace(phases[-1], end_s=end_s)

    def windows(self, warmup: Phase, measure: Phase) -> None:
        """Puts what the load generator says of its two phases in the place of the "warm-up" that
        began when it was started; since they ended the run has been in the phase "check"."""
        self.draft.phases.pop()
        self.extend_phase(warmup.start_s)
        self.draft.phases += [warmup, measure, Phase("check", measure.end_s, measure.end_s)]

    @contextmanager
    def spending(self, what: str) -> Iterator[None]:
        """Notes how long the block took, if it ended well."""
        started_s = self.world.clock.monotonic()
        yield
        spent, took_s = self.draft.spent, self.world.clock.monotonic() - started_s
        spent[what] = spent.get(what, 0.0) + took_s
