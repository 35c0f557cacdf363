"""Tiers compared for a decision: which take part, in what, and what is proven. Pure.

Only intervals prove that a tier is within the margin of another or outside; else it is open. That a
tier is enough is a claim; claims are made at a level that holds for all of them together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from orchestrator import metrics, units
from orchestrator.analysis.conclusions import (
    Change,
    ObjectiveResult,
    ObjectiveWord,
    Standing,
)
from orchestrator.analysis.decisions.candidates import (
    FAILED,
    USUAL,
    Candidate,
    Criterion,
)
from orchestrator.analysis.doubts import kinds
from orchestrator.analysis.overload import NO_RATE, Overload
from orchestrator.analysis.statistics import looks, stats
from orchestrator.analysis.telemetry.causes import NOT_THE_TIER
from orchestrator.model import Doubt, Objective, Profile
from orchestrator.planning import costs
from orchestrator.planning.slo import format_objective

ONE_SIDED = 1 - stats.CONFIDENCE  # of a claim alone
SHOWN = (
    1 - 2 * ONE_SIDED
)  # an interval whose either end is a one-sided bound at that level


@dataclass(frozen=True)
class Contest:
    """All candidates of a workload, from cheap to dear, and in what they are compared. Without a
    price for each in one list the order is by declared limits."""

    workload: str
    candidates: tuple[Candidate, ...]
    absent: tuple[str, ...]  # tiers that left no figures
    margin_pct: float
    no_prices: str  # why prices do not order the tiers, or empty
    criteria: tuple[Criterion, ...]
    left_out: tuple[Criterion, ...] = ()  # criteria that a run lacks
    at_ceiling: bool = (
        False  # think time holds the rate at its ceiling on every tier: not compared
    )
    slo: tuple[Objective, ...] = ()  # if any, it decides instead of the margin
    share: float = 1.0  # of the usual levels, those of this look (`looks`)
    obstacle: str = ""  # why nothing may be compared at all
    overload: Overload = (
        NO_RATE  # tiers that are no candidates, as they do not serve the rate
    )
    # Of the runs of each tier, and "" → of the campaign.
    doubts: Mapping[str, Sequence[Doubt]] = field(default_factory=dict)
    scale: str = ""  # of the workload, where it is less than the published study's
    constant_latency: tuple[
        str, ...
    ] = ()  # tiers whose disks have no tail: p99 is no criterion
    unlike_prices: str = ""  # why prices that are compared may not be
    window_s: float = 0.0  # of its runs, 0 if unlike
    p99_margin_pct: float | None = None  # None if it is that of the others

    def margin_of(self, criterion: Criterion) -> float:
        """In %: how much worse a tier may be in it and still be enough."""
        own = self.p99_margin_pct if criterion.is_tail else None
        return self.margin_pct if own is None else own

    def flattered(self, candidate: Candidate) -> Doubt | None:
        """The doubt for which nothing is concluded in this tier's favour."""
        return kinds.forbidding(self.doubts.get(candidate.name, ()))

    @cached_property
    def limited_by(self) -> list[str]:
        """What limits the answer, whichever it is."""
        scale = [f"scale {self.scale}"] if self.scale else []
        return scale + kinds.limiting(
            doubt for own in self.doubts.values() for doubt in own
        )

    def others(self, candidate: Candidate) -> list[Candidate]:
        return [other for other in self.candidates if other is not candidate]

    def standing(self, standing: Standing) -> list[Candidate]:
        """The candidates of which that is proven, in their order."""
        return [
            tier
            for tier in self.candidates
            if self.proof.standings[tier.name] == standing
        ]

    def barred(self, candidate: Candidate) -> str:
        """Why the runs at hand cannot show that a tier is enough, whatever their figures are and
        however often they are repeated as they were; or an empty text."""
        if doubt := self.flattered(candidate):
            return f"{doubt.text} ({doubt.kind}): {doubt.advice}"
        if self.slo:
            return ""
        if self.absent:
            return f"{units.listed(self.absent)} left no figures to hold it against"
        for criterion in self.left_out:
            without = [
                tier.name for tier in self.candidates if criterion not in tier.values
            ]
            if len(without) < len(self.candidates):
                which = (
                    f"not every run of {units.listed(without)} has a {criterion.title}"
                )
                return f"{which}: measure for longer"
        held_back = [
            tier for tier in self.others(candidate) if tier.cause in NOT_THE_TIER
        ]
        if held_back and not self.overload.asked:
            each = [
                f"{tier.name} ({tier.cause.replace('_', ' ')})" for tier in held_back
            ]
            return f"what limited {units.listed(each)} was not the tier"
        return ""

    @cached_property
    def proof(self) -> Proof:
        """What its figures prove, worked out once."""
        return _proof(self)


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
        of, ratio = self.criterion, self.ratio
        ends = ratio.interval_pct or (None, None)
        return Change(
            of.metric, of.scope, of.title, self.other.name, ratio.change_pct, *ends
        )

    def __str__(self) -> str:
        pair = (
            f"{self.candidate.name} against {self.other.name}, {self.criterion.title}"
        )
        if self.ratio.interval_pct is None:
            return (
                f"{pair} has no interval: fewer than two repetitions finished on both"
            )
        return f"{pair} {self.change.words}"


@dataclass(frozen=True)
class ObjectiveTest:
    """One objective of one tier. `p_value`: as in `Comparison`; `missed`: proven."""

    objective: Objective
    value: float | None = None
    low: float | None = None
    high: float | None = None
    p_value: float = 1.0
    missed: bool = False

    def __str__(self) -> str:
        return f"{format_objective(self.objective)}: {self.measured}"

    @property
    def measured(self) -> str:
        """`41.2 ms (40.1 ms to 42.4 ms)`."""
        if self.value is None:
            return "not every run has it"
        unit = metrics.METRICS[self.objective.metric].unit
        values = (
            units.format_quantity(value, "NOPM" if unit == "1/min" else unit)
            for value in (self.value, self.low, self.high)
            if value is not None
        )
        mean, *ends = values
        return f"{mean} ({ends[0]} to {ends[1]})" if ends else mean

    def result(self, level: float) -> ObjectiveResult:
        """`level`: at which it is met."""
        met = self.p_value <= level
        word: ObjectiveWord = "missed" if self.missed else "met" if met else "open"
        clause = format_objective(self.objective)
        return ObjectiveResult(
            clause, word, self.measured, self.value, self.low, self.high
        )


@dataclass(frozen=True)
class Proof:
    """Standings of all tiers of a contest, by name. `level`: at which claims hold together.
    `failing`: whether each keeps `FAILED`. `claims`: p-values of their not being enough."""

    comparisons: Mapping[str, tuple[Comparison, ...]]
    objectives: Mapping[str, tuple[ObjectiveTest, ...]]
    standings: Mapping[str, Standing]
    level: float
    failing: Mapping[str, ObjectiveTest]
    claims: Mapping[str, float]


def make_contest(
    workload: str,
    candidates: Sequence[Candidate],
    tiers: Sequence[str],
    margin_pct: float,
    criteria: Sequence[Criterion] = USUAL,
    **more: Any,
) -> Contest:
    """Candidates in the order of preference: of equal cost the one that declares more first, else
    the one that declares less. `tiers`: all that were planned; `more`: fields of the contest."""
    profiles = [candidate.profile for candidate in candidates]
    with_vms, no_prices, unlike_prices = costs.compare_prices(profiles)
    candidates = [replace(candidate, with_vms=with_vms) for candidate in candidates]
    by_limits = sorted(candidates, key=lambda candidate: _limits(candidate.profile))
    most_first = by_limits[::-1]
    by_cost = sorted(most_first, key=lambda candidate: candidate.monthly_cost or 0.0)
    present = {candidate.name for candidate in candidates}
    shared = tuple(
        of for of in criteria if all(of in tier.values for tier in candidates)
    )
    return Contest(
        workload,
        tuple(by_limits if no_prices else by_cost),
        tuple(name for name in tiers if name not in present),
        margin_pct,
        no_prices,
        shared,
        tuple(criterion for criterion in criteria if criterion not in shared),
        unlike_prices=unlike_prices,
        **more,
    )


def _limits(profile: Profile) -> tuple[float, float, float]:
    """Less is a lesser disk; what is not limited counts as the most."""
    limits, latency_s = profile.tier.limits, profile.tier.latency.read_s or 0.0
    return limits.iops or math.inf, limits.bytes_per_s or math.inf, -latency_s


def in_common(
    candidate: Candidate, other: Candidate, criterion: Criterion
) -> tuple[list[float], list[float]]:
    """The values of both in the repetitions that both finished."""
    own, of_other = candidate.by_repetition(criterion), other.by_repetition(criterion)
    common = [repetition for repetition in own if repetition in of_other]
    return [own[number] for number in common], [of_other[number] for number in common]


# ------------------------------------------------------------------ what is proven


def _proof(contest: Contest) -> Proof:
    """A tier is enough if each of its comparisons, or each objective of an SLO, is proven: so the
    worst p-value is that of the claim. A tier that misses an objective makes none, nor one with a
    comparison outside the margin; by chance that leaves out 5 % of those at the margin, so the
    claims of the others have 95 % of the level (discarding, Zhao, Small and Su 2019)."""
    tiers = contest.candidates
    compared = {
        candidate.name: tuple(
            _compared(candidate, other, criterion, contest)
            for criterion in contest.criteria
            for other in contest.others(candidate)
        )
        for candidate in tiers
    }
    tested = {
        candidate.name: tuple(
            _test_objective(candidate, clause, contest) for clause in contest.slo
        )
        for candidate in tiers
    }
    failing = {
        candidate.name: _test_objective(candidate, FAILED, contest)
        for candidate in tiers
    }
    missed = {
        name for name, tests in tested.items() if any(test.missed for test in tests)
    }
    missed |= {name for name, test in failing.items() if test.missed}
    held_back = {
        candidate.name for candidate in tiers if candidate.cause in NOT_THE_TIER
    }
    outside = missed - held_back  # of the disk nothing is proven there
    silent, alpha = set(outside), ONE_SIDED
    if contest.slo:
        claims = {
            name: max(test.p_value for test in tests) for name, tests in tested.items()
        }
    else:
        outside |= {name for name, pairs in compared.items() if _worse(pairs, contest)}
        silent |= {
            name for name, pairs in compared.items() if any(p.outside for p in pairs)
        }
        alpha *= 1 - ONE_SIDED
        alone = (
            0.0 if contest.overload.always else 1.0
        )  # the others do not serve the rate
        claims = {
            name: max((pair.p_value for pair in pairs), default=alone)
            for name, pairs in compared.items()
        }
    claims |= {candidate.name: 1.0 for candidate in tiers if contest.barred(candidate)}
    level = stats.level_of_claims(
        [p for name, p in claims.items() if name not in silent], alpha
    )
    standings: dict[str, Standing] = {
        name: "not enough" if name in outside else "enough" if p <= level else "open"
        for name, p in claims.items()
    }
    return Proof(compared, tested, standings, level, failing, claims)


def _worse(comparisons: Sequence[Comparison], contest: Contest) -> bool:
    """Whether a tier with these comparisons is proven to be worse than another by more than the
    margin in any of them. Of k tiers at most k²/4 pairs can be exactly at the margin at once, and
    every tier stands in k − 1: the larger number is what chance may choose among."""
    count = len(contest.candidates)
    pairs = max(count - 1, count**2 // 4)
    p_values = [comparison.p_within for comparison in comparisons]
    return stats.any_of(p_values, pairs * len(contest.criteria)) <= ONE_SIDED


def _compared(
    candidate: Candidate, other: Candidate, criterion: Criterion, contest: Contest
) -> Comparison:
    """Never outside the margin beside a tier that looks better than it is, nor if this machine held
    it back, which is not the disk's doing."""
    own, of_other = in_common(candidate, other, criterion)
    if own:
        ratio = stats.ratio_of_means(
            of_other, own, looks.confidence(SHOWN, contest.share)
        )
    else:
        ratio = stats.ratio_of_all(other.values[criterion], candidate.values[criterion])
    if ratio.p_value is None:
        return Comparison(candidate, other, criterion, ratio, 1.0, 1.0)
    sign = 1 if criterion.is_latency else -1
    p = ratio.chance_beyond(1 + sign * contest.margin_of(criterion) / 100)
    worse = p if criterion.is_latency else 1 - p
    enough, within = looks.at_look((worse, 1 - worse), contest.share)
    fair = contest.flattered(other) is None and candidate.cause not in NOT_THE_TIER
    return Comparison(
        candidate, other, criterion, ratio, enough, within if fair else 1.0
    )


def _test_objective(
    candidate: Candidate, objective: Objective, contest: Contest
) -> ObjectiveTest:
    """Missed at a level divided by all objectives of all tiers: one of several is enough for that,
    and what a tier that misses sets free goes to the claims of the others."""
    values = (candidate.measured or {}).get(objective, ())
    if not values:
        return ObjectiveTest(objective)
    confidence = looks.confidence(SHOWN, contest.share)
    if (
        objective.metric == FAILED.metric
    ):  # the arithmetic mean, since shares may be zero
        shares = stats.summarise(values, confidence)
        mean, low, high = (
            shares.mean,
            shares.ci_low and max(0.0, shares.ci_low),
            shares.ci_high,
        )
        p = stats.chance_of_share_above(values, objective.limit)
    else:
        ratio = stats.geometric_mean(values, confidence)
        mean, low, high = ratio.ratio, ratio.low, ratio.high
        p = None if ratio.error is None else ratio.chance_beyond(objective.limit)
    if p is None:
        return ObjectiveTest(objective, mean)
    failing = p if metrics.METRICS[objective.metric].direction == "lower" else 1 - p
    kept, missed = looks.at_look((failing, 1 - failing), contest.share)
    family = max(1, len(contest.slo)) * len(contest.candidates)
    return ObjectiveTest(objective, mean, low, high, kept, missed <= ONE_SIDED / family)
