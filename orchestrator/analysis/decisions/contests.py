"""Tiers compared for a decision: which take part, in what, and what is proven. Pure.

Only intervals prove that a tier is within the margin of another or outside; else it is open. That a
tier is enough is a claim; claims are made at a level that holds for all of them together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from orchestrator.analysis.conclusions import Standing
from orchestrator.analysis.decisions import reach
from orchestrator.analysis.decisions.candidates import (
    FAILED,
    LATENCIES,
    THROUGHPUT,
    Aspect,
    Candidate,
)
from orchestrator.analysis.loads.overload import NO_RATE, Overload
from orchestrator.analysis.statistics import looks, stats
from orchestrator.analysis.statistics.stats import Ratio
from orchestrator.analysis.telemetry.bottlenecks import NOT_THE_TIER
from orchestrator.metrics import METRICS
from orchestrator.model import Doubt, Objective, Profile
from orchestrator.planning import costs
from orchestrator.planning.slo import format_objective
from orchestrator.units import format_change, format_quantity, listed

ONE_SIDED = 1 - stats.CONFIDENCE  # of a claim alone
SHOWN = 1 - 2 * ONE_SIDED  # an interval whose either end is a one-sided bound at that level


@dataclass(frozen=True)
class Contest:
    """All candidates of a workload, from cheap to dear; `absent` tiers left no figures.

    Without a price for each in one list (`no_prices` says why) the order is by declared limits.
    `aspects` are compared, `left_out` are not, as a run lacks them. `p99_margin_pct`: None if it is
    that of the others. `at_ceiling`: think time holds the rate at its ceiling on every tier, so it
    is not compared. `overload`: tiers that are no candidates, as they do not serve the rate asked
    for. `slo`: if any, it decides instead of the margin. `share`: of the usual levels, those of
    this look (`looks`). `obstacle`: why nothing may be compared at all. `doubts`: of the runs of
    each tier, and "" → of the campaign. `scale`: of the workload, where it is less than the
    published study's. `constant_latency`: tiers whose disks have no tail, so that p99 is no
    criterion. `unlike_prices`: why prices that are compared may not be. `window_s`: of its runs, 0
    if unlike.
    """

    workload: str
    candidates: tuple[Candidate, ...]
    absent: tuple[str, ...]
    margin_pct: float
    no_prices: str
    aspects: tuple[Aspect, ...]
    left_out: tuple[Aspect, ...] = ()
    at_ceiling: bool = False
    slo: tuple[Objective, ...] = ()
    share: float = 1.0
    obstacle: str = ""
    overload: Overload = NO_RATE
    doubts: Mapping[str, tuple[Doubt, ...]] = field(default_factory=dict)
    scale: str = ""
    constant_latency: tuple[str, ...] = ()
    unlike_prices: str = ""
    window_s: float = 0.0
    p99_margin_pct: float | None = None

    def margin_of(self, aspect: Aspect) -> float:
        """In %: how much worse a tier may be in it and still be enough."""
        own = self.p99_margin_pct if aspect.is_tail else None
        return self.margin_pct if own is None else own

    def flattered(self, tier: Candidate) -> Doubt | None:
        """The doubt for which nothing is concluded in this tier's favour."""
        return reach.forbidding(self.doubts.get(tier.name, ()))

    @cached_property
    def limited_by(self) -> list[str]:
        """What limits the answer, whichever it is."""
        scale = [f"scale {self.scale}"] if self.scale else []
        return scale + reach.limiting(doubt for own in self.doubts.values() for doubt in own)

    def barred(self, tier: Candidate) -> str:
        """Why the runs at hand cannot show that a tier is enough, whatever their figures are and
        however often they are repeated as they were; or an empty text."""
        if doubt := self.flattered(tier):
            return f"{doubt.text} ({doubt.kind}): {doubt.advice}"
        if self.slo:
            return ""
        if self.absent:
            return f"{listed(self.absent)} left no figures to hold it against"
        for aspect in self.left_out:
            without = [one.name for one in self.candidates if aspect not in one.values]
            if len(without) < len(self.candidates):
                return (
                    f"not every run of {listed(without)} has a {aspect.title}: measure for longer"
                )
        held_back = [one for one in others(tier, self) if one.limit in NOT_THE_TIER]
        if held_back and not self.overload.asked:
            each = [f"{one.name} ({one.limit.replace('_', ' ')})" for one in held_back]
            return f"what limited {listed(each)} was not the tier"
        return ""

    @cached_property
    def proof(self) -> Proof:
        """What its figures prove, worked out once."""
        return _proof(self)


@dataclass(frozen=True)
class Comparison:
    """One tier against another in one aspect. `p_value`: of being worse by more than the margin;
    `p_within`: of not being so; to be held against the usual levels (`looks.at_look`)."""

    one: Candidate
    other: Candidate
    aspect: Aspect
    ratio: Ratio
    p_value: float
    p_within: float

    @property
    def outside(self) -> bool:
        """Whether the whole interval lies beyond the margin."""
        return self.p_within <= ONE_SIDED

    def __str__(self) -> str:
        pair = f"{self.one.name} against {self.other.name}, {self.aspect.title}"
        if self.ratio.interval_pct is None:
            return f"{pair} has no interval: fewer than two repetitions finished on both"
        low, high = self.ratio.interval_pct
        change = format_change(self.ratio.change_pct)
        return f"{pair} {change} ({format_change(low)} to {format_change(high)})"


@dataclass(frozen=True)
class Promise:
    """One objective of one tier. `p_value`: of not reaching it, as in `Comparison`; `missed`: that
    is proven."""

    objective: Objective
    value: float | None
    low: float | None
    high: float | None
    p_value: float
    missed: bool

    def __str__(self) -> str:
        return f"{format_objective(self.objective)}: {self.measured}"

    @property
    def measured(self) -> str:
        """`41.2 ms (40.1 ms to 42.4 ms)`."""
        if self.value is None:
            return "not every run has it"
        unit = METRICS[self.objective.metric].unit
        values = (
            format_quantity(value, "NOPM" if unit == "1/min" else unit)
            for value in (self.value, self.low, self.high)
            if value is not None
        )
        mean, *ends = values
        return f"{mean} ({ends[0]} to {ends[1]})" if ends else mean


@dataclass(frozen=True)
class Proof:
    """Standings of all tiers of a contest, by name. `level`: at which claims hold together.
    `failing`: whether each keeps `FAILED`."""

    comparisons: Mapping[str, tuple[Comparison, ...]]
    promises: Mapping[str, tuple[Promise, ...]]
    standings: Mapping[str, Standing]
    level: float
    failing: Mapping[str, Promise]


def make_contest(
    workload: str,
    candidates: Sequence[Candidate],
    tiers: Sequence[str],
    margin_pct: float,
    aspects: Sequence[Aspect] = (THROUGHPUT, *LATENCIES),
) -> Contest:
    """Candidates in the order in which one would prefer them; `tiers`: all that were planned. Of
    equal cost the one that declares more comes first, else the one that declares less."""
    profiles = [candidate.profile for candidate in candidates]
    with_vms, no_prices, unlike_prices = costs.compare_prices(profiles)
    candidates = [replace(one, with_vms=with_vms) for one in candidates]
    by_limits = sorted(candidates, key=lambda candidate: _limits(candidate.profile))
    most_first = by_limits[::-1]
    by_cost = sorted(most_first, key=lambda candidate: candidate.monthly_cost or 0.0)
    present = {candidate.name for candidate in candidates}
    shared = tuple(a for a in aspects if all(a in candidate.values for candidate in candidates))
    return Contest(
        workload,
        tuple(by_limits if no_prices else by_cost),
        tuple(name for name in tiers if name not in present),
        margin_pct,
        no_prices,
        shared,
        tuple(aspect for aspect in aspects if aspect not in shared),
        unlike_prices=unlike_prices,
    )


def _limits(profile: Profile) -> tuple[float, float, float]:
    """Less is a lesser disk; what is not limited counts as the most."""
    tier = profile.tier
    return (
        tier.limits.iops or math.inf,
        tier.limits.bytes_per_s or math.inf,
        -(tier.latency.read_s or 0.0),
    )


def in_common(one: Candidate, other: Candidate, aspect: Aspect) -> tuple[list[float], list[float]]:
    """The values of both in the repetitions that both finished."""
    ours, theirs = one.by_repetition(aspect), other.by_repetition(aspect)
    common = [repetition for repetition in ours if repetition in theirs]
    return [ours[number] for number in common], [theirs[number] for number in common]


def _ratio(one: Candidate, other: Candidate, aspect: Aspect, contest: Contest) -> Ratio:
    """`one` over `other`, block by block; of all means, without an interval, if none is whole."""
    ours, theirs = in_common(one, other, aspect)
    if not ours:
        return stats.ratio_of_all(other.values[aspect], one.values[aspect])
    return stats.ratio_of_means(theirs, ours, looks.confidence(SHOWN, contest.share))


# ------------------------------------------------------------------ what is proven


def _proof(contest: Contest) -> Proof:
    """A tier is enough if each of its comparisons, or each objective of an SLO, is proven: so the
    worst p-value is that of the claim. A tier that misses an objective makes none, nor one with a
    comparison outside the margin; by chance that leaves out 5 % of those at the margin, so the
    claims of the others have 95 % of the level (discarding, Zhao, Small and Su 2019)."""
    tiers = contest.candidates
    compared = {tier.name: _comparisons(tier, contest) for tier in tiers}
    promised = {
        tier.name: tuple(_promise(tier, one, contest) for one in contest.slo) for tier in tiers
    }
    failing = {tier.name: _promise(tier, FAILED, contest) for tier in tiers}
    missed = {name for name, kept in promised.items() if any(one.missed for one in kept)}
    missed |= {name for name, one in failing.items() if one.missed}
    held_back = {tier.name for tier in tiers if tier.limit in NOT_THE_TIER}
    outside = missed - held_back  # of the disk nothing is proven there
    silent, alpha = set(outside), ONE_SIDED
    if contest.slo:
        claims = {name: max(one.p_value for one in kept) for name, kept in promised.items()}
    else:
        outside |= {name for name, made in compared.items() if _worse(made, contest)}
        silent |= {name for name, made in compared.items() if any(one.outside for one in made)}
        alpha *= 1 - ONE_SIDED
        alone = 0.0 if contest.overload.always else 1.0  # the others do not serve the rate
        claims = {
            name: max((one.p_value for one in made), default=alone)
            for name, made in compared.items()
        }
    claims |= {tier.name: 1.0 for tier in tiers if contest.barred(tier)}
    level = stats.level_of_claims([p for name, p in claims.items() if name not in silent], alpha)
    standings: dict[str, Standing] = {
        name: "not enough" if name in outside else "enough" if p <= level else "open"
        for name, p in claims.items()
    }
    return Proof(compared, promised, standings, level, failing)


def _comparisons(candidate: Candidate, contest: Contest) -> tuple[Comparison, ...]:
    """A candidate with each other one, aspect by aspect."""
    return tuple(
        _compared(candidate, other, aspect, contest)
        for aspect in contest.aspects
        for other in others(candidate, contest)
    )


def _worse(made: Sequence[Comparison], contest: Contest) -> bool:
    """Whether a tier with these comparisons is proven to be worse than another by more than the
    margin in any of them. Of k tiers at most k²/4 pairs can be exactly at the margin at once, and
    every tier stands in k − 1: the larger number is what chance may choose among."""
    count = len(contest.candidates)
    pairs = max(count - 1, count**2 // 4)
    p_values = [one.p_within for one in made]
    return stats.any_of(p_values, pairs * len(contest.aspects)) <= ONE_SIDED


def _compared(one: Candidate, other: Candidate, aspect: Aspect, contest: Contest) -> Comparison:
    """Never outside the margin beside a tier that looks better than it is, nor if this machine held
    it back, which is not the disk's doing."""
    ratio = _ratio(one, other, aspect, contest)
    if ratio.p_value is None:
        return Comparison(one, other, aspect, ratio, 1.0, 1.0)
    sign = 1 if aspect.is_latency else -1
    p = ratio.chance_beyond(1 + sign * contest.margin_of(aspect) / 100)
    worse = p if aspect.is_latency else 1 - p
    enough, within = looks.at_look((worse, 1 - worse), contest.share)
    fair = contest.flattered(other) is None and one.limit not in NOT_THE_TIER
    return Comparison(one, other, aspect, ratio, enough, within if fair else 1.0)


def _promise(candidate: Candidate, objective: Objective, contest: Contest) -> Promise:
    """Missed at a level divided by all objectives of all tiers: one of several is enough for that,
    and what a tier that misses sets free goes to the claims of the others."""
    values = (candidate.measured or {}).get(objective, ())
    if not values:
        return Promise(objective, None, None, None, 1.0, False)
    mean, low, high, p = _tested(values, objective, looks.confidence(SHOWN, contest.share))
    if p is None:
        return Promise(objective, mean, None, None, 1.0, False)
    failing = p if METRICS[objective.metric].direction == "lower" else 1 - p
    kept, missed = looks.at_look((failing, 1 - failing), contest.share)
    family = max(1, len(contest.slo)) * len(contest.candidates)
    return Promise(objective, mean, low, high, kept, missed <= ONE_SIDED / family)


def _tested(
    values: Sequence[float], objective: Objective, confidence: float
) -> tuple[float, float | None, float | None, float | None]:
    """Mean, interval, and p-value of the hypothesis that it is at the limit or above. Of shares,
    which may be zero, the arithmetic mean; of rates and times the geometric one."""
    if objective.metric == FAILED.metric:
        found = stats.summarise(values, confidence)
        low = None if found.ci_low is None else max(0.0, found.ci_low)
        return found.mean, low, found.ci_high, stats.chance_of_share_above(values, objective.limit)
    mean = stats.geometric_mean(values, confidence)
    p = None if mean.error is None else mean.chance_beyond(objective.limit)
    return mean.ratio, mean.low, mean.high, p


def others(candidate: Candidate, contest: Contest) -> list[Candidate]:
    return [other for other in contest.candidates if other is not candidate]
