"""A checklist of all that a database's member relies on, and what was seen of it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from orchestrator.model import (
    Cluster,
    ClusterSpec,
)
from orchestrator.powers import Platform, World

CheckState = Literal["confirmed", "not confirmed", "could not be looked at"]


@dataclass(frozen=True)
class CheckedFact:
    """One line of a checklist, looked at. `inferred`: no real cluster was ever seen to say it
    before."""

    name: str
    claim: str
    state: CheckState
    seen: str
    inferred: bool


class ChecklistCluster(Protocol):
    """Which cluster a checklist is looked at on."""

    def __call__(
        self, release: str | None, settings: Mapping[str, str], /
    ) -> ClusterSpec:
        """Returns the cluster that the checklist starts."""


class ChecklistLook(Protocol):
    """How a checklist is looked at."""

    def __call__(
        self, spec: ClusterSpec, world: World, listen: Callable[[Cluster], None], /
    ) -> Iterator[CheckedFact]:
        """Yields each finding as it is made. `listen` may read the nodes while they are up.
        UnavailableError if the checklist cannot run there."""


class ChecklistRecord(Protocol):
    """How the findings of a checklist are kept."""

    def __call__(
        self,
        findings: Iterable[CheckedFact],
        spec: ClusterSpec,
        world: World,
        results: Path | None,
        /,
    ) -> Iterator[CheckedFact]:
        """Yields the findings, then keeps them: in the folder `results`, if given. Keeps too
        whether everything that `auto` waits for was confirmed."""


class ChecklistPassed(Protocol):
    """Whether a checklist has passed on this machine."""

    def __call__(self, spec: ClusterSpec, platform: Platform, cache: Path, /) -> str:
        """Returns a sentence with the day on which it passed; empty if it did not."""


@dataclass(frozen=True)
class FirstRun:
    """A checklist of all that a database's member relies on."""

    spec: ChecklistCluster
    look: ChecklistLook
    kept: ChecklistRecord
    passed: ChecklistPassed
