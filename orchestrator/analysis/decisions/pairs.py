"""One tier against another in one criterion, and the ratio of their figures. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.analysis.conclusions import Change
from orchestrator.analysis.decisions.candidates import Candidate, Criterion, in_common
from orchestrator.analysis.decisions.levels import ONE_SIDED, ORDER_REPETITIONS, SHOWN
from orchestrator.analysis.statistics import looks, stats


@dataclass(frozen=True)
class Comparison:
    """One tier against another in one criterion. `p_value`: of being worse by more than the margin;
    `p_within`: of not being so; to be held against the usual levels (`looks.at_look`)."""

    candidate: Candidate
    other: Candidate
    criterion: Criterion
    ratio: stats.Ratio
    p_value: float
    p_within: float

    @property
    def outside(self) -> bool:
        """Whether the whole interval lies beyond the margin."""
        return self.p_within <= ONE_SIDED

    @property
    def change(self) -> Change:
        low_pct: float | None = None
        high_pct: float | None = None
        if self.ratio.interval_pct is not None:
            low_pct, high_pct = self.ratio.interval_pct
        return Change(
            metric=self.criterion.metric,
            scope=self.criterion.scope,
            title=self.criterion.title,
            against=self.other.name,
            change_pct=self.ratio.change_pct,
            ci_low_pct=low_pct,
            ci_high_pct=high_pct,
        )

    def __str__(self) -> str:
        tiers = f"{self.candidate.name} against {self.other.name}"
        pair = f"{tiers}, {self.criterion.title}"
        if self.ratio.interval_pct is None:
            few = "fewer than two repetitions finished on both"
            return f"{pair} has no interval: {few}"
        return f"{pair} {self.change.words}"


def ratio_of_two(
    candidate: Candidate,
    other: Candidate,
    criterion: Criterion,
    tiers: Sequence[Candidate],
    share: float,
) -> stats.Ratio:
    """The ratio of two tiers, with an interval if both finished several repetitions of equal
    numbers. `tiers`: all that are compared. `share`: of the usual levels, that of this look."""
    common = in_common(candidate, other, criterion)
    # There is no interval without a repetition in common, only a ratio to show.
    if not common.candidate:
        return stats.ratio_of_all(other.values[criterion], candidate.values[criterion])
    confidence = looks.confidence(SHOWN, share)
    # Two repetitions leave a pair one degree of freedom, which proves next to nothing. That of all
    # tiers together is known a little better.
    beside = _figures_of_the_same_two(candidate, other, criterion, tiers)
    if beside:
        return stats.ratio_of_two_blocks(
            common.other, common.candidate, beside, confidence
        )
    # The first run of a repetition may be slow, as a machine is cold. Who came first is a factor.
    if len(common.first) >= ORDER_REPETITIONS:
        return stats.ratio_beside_order(
            common.other, common.candidate, common.first, confidence
        )
    return stats.ratio_of_means(common.other, common.candidate, confidence)


def _figures_of_the_same_two(
    candidate: Candidate,
    other: Candidate,
    criterion: Criterion,
    tiers: Sequence[Candidate],
) -> list[list[float]]:
    """The figures of all further tiers, where each tier has the same two repetitions; else none."""
    numbers = candidate.by_repetition(criterion).keys()
    if len(numbers) != 2:
        return []
    figures: list[list[float]] = []
    for tier in tiers:
        by_repetition = tier.by_repetition(criterion)
        # Blocks are whole: every tier has a figure in both.
        if by_repetition.keys() != numbers:
            return []
        if tier is candidate or tier is other:
            continue
        figures.append([by_repetition[number] for number in numbers])
    return figures
