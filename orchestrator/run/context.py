"""What the steps of one run share: the plan, the run's own parts, its folder, and its draft."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from orchestrator.model import Doubt, Node, Outcome, Phase, PhaseName, Plan, Profile, Run, Workload
from orchestrator.parts import Database, LoadGenerator, Parts, Result
from orchestrator.planning.plan import as_used
from orchestrator.powers import World
from orchestrator.run.gates import Gates
from orchestrator.run.telemetry import Readings
from orchestrator.system import store
from orchestrator.tier import Gate

T = TypeVar("T")


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

    @contextmanager
    def phase(self, name: PhaseName) -> Iterator[None]:
        """Notes when the block began and ended; steps of one name in a row are one phase."""
        start_s = self.world.clock.now()
        try:
            yield
        finally:
            phases, end_s = self.draft.phases, self.world.clock.now()
            if phases and phases[-1].name == name:
                phases[-1] = replace(phases[-1], end_s=end_s)
            else:
                phases.append(Phase(name, start_s, end_s))

    @contextmanager
    def spending(self, what: str) -> Iterator[None]:
        """Notes how long the block took, if it ended well."""
        started_s = self.world.clock.monotonic()
        yield
        spent, took_s = self.draft.spent, self.world.clock.monotonic() - started_s
        spent[what] = spent.get(what, 0.0) + took_s

    @contextmanager
    def preparing(self, bracket: AbstractContextManager[T], what: str = "") -> Iterator[T]:
        """Enters `bracket`; the time that takes is part of the phase "prepare", spent on `what`."""
        with ExitStack() as up:
            with self.phase("prepare"), self.spending(what) if what else nullcontext():
                entered = up.enter_context(bracket)
            yield entered
