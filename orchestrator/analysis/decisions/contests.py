"""Tiers compared for a decision: which take part, in what, and what is proven. Pure.

Only intervals prove that a tier is within the margin of another or outside; else it is open. That a
tier is enough is a claim; claims are made at a level that holds for all of them together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations

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
from orchestrator.planning.slo import format_objective
from orchestrator.tier_catalog import prices
from orchestrator.units import format_change, format_quantity, listed

ONE_SIDED = 1 - stats.CONFIDENCE  # of a claim alone
SHOWN = 1 - 2 * ONE_SIDED  # an interval whose either end is a one-sided bound at that level


@dataclass(frozen=True)
class Contest:
    """All candidates of a workload, from cheap to dear; `absent` tiers left no figures.

    Without a price for each in one list (`no_prices` says why) the order is by declared limits.
    `aspects` are compared, `left_out` are not, as a run lacks them. `at_ceiling`: think time holds
    the rate at its ceiling on every tier, so it is not compared. `overload`: tiers that are no
    candidates, as they do not serve the rate asked for. `slo`: if any, it decides instead
    of the margin. `chance`: the highest p-value that counts as a difference among all that the
    campaign's decisions compare. `share`: of the usual levels, those of this look (`looks`).
    `obstacle`: why nothing may be compared at all. `doubts`: of the runs of each tier, and "" → of
    the campaign. `scale`: of the workload, where it is less than the published study's.
    `constant_latency`: tiers whose disks have no tail, so that p99 is no criterion.
    `unlike_prices`: why prices that are compared may not be.
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
    chance: float = ONE_SIDED
    share: float = 1.0
    obstacle: str = ""
    overload: Overload = NO_RATE
    doubts: Mapping[str, tuple[Doubt, ...]] = field(default_factory=dict)
    scale: str = ""
    constant_latency: tuple[str, ...] = ()
    unlike_prices: str = ""

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
    """One tier against another in one aspect. `p_value`: of being worse by more than the margin, to
    be held against the usual levels (`looks.at_look`)."""

    one: Candidate
    other: Candidate
    aspect: Aspect
    ratio: Ratio
    p_value: float
    outside: bool

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


def _priced(candidates: Sequence[Candidate]) -> tuple[list[Candidate], str, str]:
    """The candidates with what counts as their cost, why costs cannot be compared, and why such a
    comparison may be off.

    On machines of one kind these cost the same for every tier, so disks alone are compared. Where a
    tier is measured on another machine, such as a larger one whose caps let it through, they count.
    """
    clusters = [candidate.profile.cluster for candidate in candidates]
    count = len({cluster.vm for cluster in clusters}) > 1
    of_disks = [candidate.price for candidate in candidates]
    stated = [*of_disks, *(cluster.vm_price for cluster in clusters if count)]
    without = ", ".join(sorted({str(one.vm) for one in clusters if count and not one.vm_price}))
    why_not = prices.incomparable(of_disks) or prices.incomparable(stated)
    if without and all(of_disks):
        why_not = f"Tiers are on unlike machines, and prices of {without} are missing"
    counted = [replace(one, with_vms=count and not without) for one in candidates]
    known = [price for price in stated if price is not None]
    return counted, why_not, "" if why_not else prices.unlike(known)


def make_contest(
    workload: str,
    candidates: Sequence[Candidate],
    tiers: Sequence[str],
    margin_pct: float,
    aspects: Sequence[Aspect] = (THROUGHPUT, *LATENCIES),
) -> Contest:
    """Candidates in the order in which one would prefer them; `tiers`: all that were planned. Of
    equal cost the one that declares more comes first, else the one that declares less."""
    candidates, no_prices, unlike_prices = _priced(candidates)
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
    return tier.iops or math.inf, tier.bytes_per_s or math.inf, -(tier.read_latency_s or 0.0)


def chances(contest: Contest) -> list[float]:
    """p-values of all that a workload's decision compares."""
    if contest.obstacle:
        return []
    ratios = (
        _ratio(one, other, aspect, contest)
        for one, other in combinations(contest.candidates, 2)
        for aspect in contest.aspects
    )
    p_values = [ratio.p_value for ratio in ratios if ratio.p_value is not None]
    return looks.at_look(p_values, contest.share)


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
    worst p-value is that of the claim. Tiers proven to be outside make none."""
    tiers = contest.candidates
    compared = {tier.name: _comparisons(tier, contest) for tier in tiers}
    promised = {tier.name: _promises(tier, contest) for tier in tiers}
    failing = {tier.name: _promise(tier, FAILED, contest) for tier in tiers}
    missed = {name for name, kept in promised.items() if any(one.missed for one in kept)}
    missed |= {name for name, one in failing.items() if one.missed}
    held_back = {tier.name for tier in tiers if tier.limit in NOT_THE_TIER}
    outside = missed - held_back  # of the disk nothing is proven there
    if contest.slo:
        claims = {name: max(one.p_value for one in kept) for name, kept in promised.items()}
    else:
        outside |= {name for name, made in compared.items() if any(one.outside for one in made)}
        alone = 0.0 if contest.overload.always else 1.0  # the others do not serve the rate
        claims = {
            name: max((one.p_value for one in made), default=alone)
            for name, made in compared.items()
        }
    claims |= {tier.name: 1.0 for tier in tiers if contest.barred(tier)}
    level = stats.level_of_claims([p for name, p in claims.items() if name not in outside])
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


def _compared(one: Candidate, other: Candidate, aspect: Aspect, contest: Contest) -> Comparison:
    """Outside the margin only if the interval is, and chance among many comparisons does not make
    one such likely; not beside a tier that looks better than it is, nor if this machine held it
    back, which is not the disk's doing."""
    ratio = _ratio(one, other, aspect, contest)
    if ratio.p_value is None:
        return Comparison(one, other, aspect, ratio, 1.0, False)
    ours, theirs = in_common(one, other, aspect)
    sign = 1 if aspect.is_latency else -1
    p = stats.chance_beyond(theirs, ours, 1 + sign * contest.margin_pct / 100)
    worse = p if aspect.is_latency else 1 - p
    enough, apart, unlike = looks.at_look((worse, 1 - worse, ratio.p_value), contest.share)
    likely = contest.chance * (1 + 1e-9)  # the same p, maybe summed anew
    fair = contest.flattered(other) is None and one.limit not in NOT_THE_TIER
    outside = fair and apart <= ONE_SIDED and unlike <= likely
    return Comparison(one, other, aspect, ratio, enough, outside)


def _promises(candidate: Candidate, contest: Contest) -> tuple[Promise, ...]:
    return tuple(_promise(candidate, objective, contest) for objective in contest.slo)


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
    mean = math.exp(sum(math.log(value) for value in values) / len(values))
    interval = stats.bounds(values, confidence)
    if interval is None:
        return mean, None, None, None
    return mean, *interval, stats.chance_above(values, objective.limit)


def others(candidate: Candidate, contest: Contest) -> list[Candidate]:
    return [other for other in contest.candidates if other is not candidate]
