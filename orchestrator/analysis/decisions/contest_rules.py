"""What a contest of tiers is judged by, what bears on it, and the runs behind it. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from orchestrator.analysis.decisions.candidates import USUAL, Criterion
from orchestrator.analysis.decisions.effort import RepetitionEffort
from orchestrator.analysis.overload import NO_RATE, Overload
from orchestrator.model import Doubt, Objective


@dataclass(frozen=True)
class ContestRules:
    """What a tier must be to be enough.

    margin_pct: how much worse it may be than the best, in %.
    criteria: the figures in which tiers are compared.
    p99_margin_pct: the margin of tails; None if it is that of the others.
    slo: if any, it decides instead of the margin.
    share: share of the usual levels that this look has (`looks`).
    """

    margin_pct: float
    criteria: tuple[Criterion, ...] = USUAL
    p99_margin_pct: float | None = None
    slo: tuple[Objective, ...] = ()
    share: float = 1.0

    def margin_of(self, criterion: Criterion) -> float:
        """How much worse, in %, a tier may be in this criterion and still be enough."""
        if criterion.is_tail and self.p99_margin_pct is not None:
            return self.p99_margin_pct
        return self.margin_pct

    def bound_of(self, criterion: Criterion) -> float:
        """The ratio to another tier at which the margin is used up: more than 1 of a latency, less
        of a rate."""
        margin = self.margin_of(criterion) / 100
        if criterion.is_latency:
            return 1 + margin
        return 1 - margin


@dataclass(frozen=True)
class Circumstances:
    """What bears on an answer, whatever the figures are.

    obstacle: why nothing may be compared at all, or empty.
    at_ceiling: think time holds the rate at its ceiling on every tier, so it is not compared.
    constant_latency: tiers whose disks have no tail of latencies: then p99 is no criterion.
    overload: the tiers that are no candidates, as they do not serve the rate.
    doubts: about the runs of each tier, and "" → those about the campaign.
    scale: that of the workload, where it is less than the published study's.
    """

    obstacle: str = ""
    at_ceiling: bool = False
    constant_latency: tuple[str, ...] = ()
    overload: Overload = NO_RATE
    doubts: Mapping[str, Sequence[Doubt]] = field(default_factory=dict)
    scale: str = ""


@dataclass(frozen=True)
class ContestRuns:
    """The runs whose figures are judged.

    numbers: of those of the candidates.
    window_s: the window of all; 0 if windows differ, or are as long as their work.
    effort: what one more repetition takes.
    """

    numbers: frozenset[int] = frozenset()
    window_s: float = 0.0
    effort: RepetitionEffort = field(default_factory=RepetitionEffort)
