"""What happens in a campaign while it goes on, for who looks on: each a typed record.

The flow tells each to a `Hear`, which returns at once and raises nothing. Nothing of it is part of
a result.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.facts import PhaseName
from orchestrator.model import Node, Plan, Profile, Run, Sample


@dataclass(frozen=True)
class CampaignBegins:
    """Its folder is there. `plan`: as it is then; it may grow."""

    folder: Path
    plan: Plan


@dataclass(frozen=True)
class RunBegins:
    """`profile`: as its workload uses it; `left_s`: what all runs ahead are expected to take."""

    plan: Plan
    run: Run
    profile: Profile
    left_s: float


@dataclass(frozen=True)
class PhaseBegins:
    """A phase of the run in progress."""

    name: PhaseName


@dataclass(frozen=True)
class StepBegins:
    """What is done now, in words."""

    text: str


@dataclass(frozen=True)
class NodesWatched:
    """The nodes whose samples follow."""

    nodes: Sequence[Node]


@dataclass(frozen=True)
class ThroughputSeen:
    """Transactions per second in the second that has just ended, of all clients."""

    per_s: float


@dataclass(frozen=True)
class StandingFound:
    """What would be decided by the runs so far: a line for each workload."""

    lines: Sequence[str]


LiveEvent = (
    CampaignBegins
    | RunBegins
    | PhaseBegins
    | StepBegins
    | NodesWatched
    | Sample
    | ThroughputSeen
    | StandingFound
)

Hear = Callable[[LiveEvent], None]


def heard_by_nobody(_event: LiveEvent) -> None:
    """Does nothing: nobody looks on at the campaign."""


def _say_nothing(_campaign: Path) -> None:
    """Does nothing between runs."""


@dataclass(frozen=True)
class Onlookers:
    """Who looks on at a campaign.

    `hear` is told what happens; `after_run` of the folder, after each run but the last planned.
    """

    hear: Hear = heard_by_nobody
    after_run: Callable[[Path], None] = _say_nothing


NOBODY = Onlookers()
