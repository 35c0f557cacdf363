"""How a campaign gets its folder: a new one, or that of a campaign which goes on."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from orchestrator.model import Plan
from orchestrator.parts import Parts
from orchestrator.powers import World
from orchestrator.run.disks.gates import Gates
from orchestrator.run.resuming.resuming import Resumption
from orchestrator.system import campaign_writing
from orchestrator.tier import Gate


class Opened(NamedTuple):
    """The folder of a campaign, and what is there already: gates, and numbers of runs."""

    folder: Path
    plan: Plan
    gates: Sequence[Gate]
    finished: set[int]


class Opening(Protocol):
    """How a campaign gets its folder: a new folder, or the folder of a campaign which goes on."""

    def opened(
        self, plan: Plan, parts: Parts, world: World, facts: Mapping[str, Any]
    ) -> Opened: ...

    def complete(self, gates: Gates) -> None:
        """Takes the gates that are missing after the last run."""


class New(NamedTuple):
    """A campaign that begins, with a folder of its own in `results`."""

    results: Path

    def opened(
        self, plan: Plan, parts: Parts, world: World, facts: Mapping[str, Any]
    ) -> Opened:
        folder = campaign_writing.create(self.results, plan, facts, world.clock.now())
        return Opened(folder, plan, (), set())

    def complete(self, gates: Gates) -> None:
        """Nothing: the last gates follow the last run."""


class Resumed(NamedTuple):
    """A campaign that goes on in the folder which it has."""

    begun: Resumption

    def opened(
        self, plan: Plan, parts: Parts, world: World, facts: Mapping[str, Any]
    ) -> Opened:
        # The folder is read only while the guard keeps others off. Another program may have
        # gone on before.
        now = self.begun.read_again(plan)
        grown = now.begin(facts, world.clock.now(), parts)
        return Opened(self.begun.folder, grown, now.before.gates, set(now.finished))

    def complete(self, gates: Gates) -> None:
        """The program may have been ended between its last run and the last gate."""
        gates.complete(self.begun.ended_s)


def opening_of(results: Path, begun: Resumption | None) -> Opening:
    """The opening of a new campaign in `results`, unless one is there that goes on."""
    if begun is not None:
        return Resumed(begun)
    return New(results)
