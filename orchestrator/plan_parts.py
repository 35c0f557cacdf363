"""What is decided of a campaign beside its runs: how often, by what it is judged, when disks are
checked. `model.Plan` has all of it; its file has their fields on one level."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Repeats:
    """How often all is measured, and in which order."""

    repetitions: int
    seed: int
    # Repetitions → the share of the usual chance of error, if the plan grows until decided.
    looks: Mapping[int, float] = field(default_factory=dict)
    # The number of times that a failed run is repeated.
    retry_failed: int = 0


@dataclass(frozen=True)
class Judging:
    """What is asked of the figures."""

    margin_pct: float
    p99_margin_pct: float = 20.0
    # Weights of workloads, for the one answer.
    weights: Mapping[str, float] = field(default_factory=dict)
    # The question that is asked, in one sentence, for people; "" if nobody said.
    question: str = ""


@dataclass(frozen=True)
class DiskChecks:
    """When real disks are checked beside before their first run."""

    # Runs after which they are checked again.
    gate_every: int | None = None
    # Whether their burst credit is used up before.
    drain: bool = False


NO_FURTHER_CHECKS = DiskChecks()
