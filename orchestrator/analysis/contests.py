"""Tiers compared for a decision: which take part, in what, and what is proven. Pure.

Only intervals prove that a tier is within the margin of another or outside; else it is open.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from orchestrator.analysis import stats
from orchestrator.analysis.stats import Ratio
from orchestrator.metrics import METRICS
from orchestrator.model import Price, Profile
from orchestrator.tier_catalog import prices
from orchestrator.units import format_change

Standing = Literal["within", "outside", "open"]


@dataclass(frozen=True)
class Aspect:
    """A metric in which tiers are compared, and what a reader calls it."""

    metric: str
    title: str
    scope: str = "all"

    @property
    def is_latency(self) -> bool:
        return METRICS[self.metric].direction == "lower"


THROUGHPUT = Aspect("throughput_per_s", "throughput")
NOPM = Aspect("nopm", "throughput")
LATENCIES = (Aspect("latency_avg_s", "average latency"), Aspect("latency_p99_s", "p99 latency"))
# Of TPC-C's transactions the one whose rate is counted: all together would mostly be others.
NEW_ORDER = (
    Aspect("latency_avg_s", "average New-Order latency", "new_order"),
    Aspect("latency_p99_s", "p99 New-Order latency", "new_order"),
)


@dataclass(frozen=True)
class Candidate:
    """A tier with its values, one per finished repetition; `limit`: the cause of its bottleneck."""

    profile: Profile
    values: Mapping[Aspect, tuple[float, ...]]
    limit: str

    @property
    def name(self) -> str:
        return self.profile.name

    @property
    def price(self) -> Price | None:
        return self.profile.tier.price

    @property
    def monthly_cost(self) -> float | None:
        """Price of the cluster's disks, one on each node."""
        return self.price.monthly * self.profile.cluster.nodes if self.price else None


@dataclass(frozen=True)
class Contest:
    """All candidates of a workload, from cheap to dear; `absent` tiers left no figures.

    Without a price for each in one list (`no_prices` says why) the order is by declared limits.
    `aspects` are compared, `left_out` are not, as a run lacks them. `paced`: threads pause on
    purpose. `chance`: the highest p-value that counts as a difference among all that the campaign's
    decisions compare. `obstacle`: why nothing may be compared at all.
    """

    workload: str
    candidates: tuple[Candidate, ...]
    absent: tuple[str, ...]
    margin_pct: float
    no_prices: str
    aspects: tuple[Aspect, ...]
    left_out: tuple[Aspect, ...] = ()
    paced: bool = False
    chance: float = 1 - stats.CONFIDENCE
    obstacle: str = ""


@dataclass(frozen=True)
class Comparison:
    """One tier against another in one aspect."""

    one: Candidate
    other: Candidate
    aspect: Aspect
    ratio: Ratio
    standing: Standing

    def __str__(self) -> str:
        low, high = self.ratio.interval_pct or (math.nan, math.nan)
        change = f"{format_change(self.ratio.change_pct)} ({format_change(low)} to "
        return (
            f"{self.one.name} against {self.other.name}, {self.aspect.title} "
            f"{change}{format_change(high)})"
        )


def make_contest(
    workload: str,
    candidates: Sequence[Candidate],
    tiers: Sequence[str],
    margin_pct: float,
    aspects: Sequence[Aspect] = (THROUGHPUT, *LATENCIES),
) -> Contest:
    """Candidates in the order in which one would prefer them; `tiers`: all that were planned."""
    no_prices = prices.unlike([candidate.price for candidate in candidates])
    by_limits = sorted(candidates, key=lambda candidate: _limits(candidate.profile))
    by_cost = sorted(by_limits, key=lambda candidate: candidate.monthly_cost or 0.0)
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
        stats.ratio_of_means(one.values[aspect], other.values[aspect])
        for one, other in combinations(contest.candidates, 2)
        for aspect in contest.aspects
    )
    return [ratio.p_value for ratio in ratios if ratio.p_value is not None]


# ------------------------------------------------------------------ what is proven


def standing(candidate: Candidate, contest: Contest) -> Standing:
    """Whether it is proven to be within the margin of every other candidate in every aspect."""
    standings = {comparison.standing for comparison in comparisons(candidate, contest)}
    return "outside" if "outside" in standings else "open" if "open" in standings else "within"


def comparisons(candidate: Candidate, contest: Contest) -> list[Comparison]:
    """Compares a candidate with each other one, throughput first."""
    return [
        _compared(candidate, other, aspect, contest)
        for aspect in contest.aspects
        for other in others(candidate, contest)
    ]


def _compared(one: Candidate, other: Candidate, aspect: Aspect, contest: Contest) -> Comparison:
    """Outside the margin only if the whole interval is, and chance among many comparisons does not
    make one such likely; within it only if the whole interval is not outside."""
    ratio = stats.ratio_of_means(other.values[aspect], one.values[aspect])
    proven: Standing = "open"
    if ratio.low is not None and ratio.high is not None and ratio.p_value is not None:
        if aspect.is_latency:
            most = 1 + contest.margin_pct / 100
            worse, good = ratio.low > most, ratio.high <= most
        else:
            least = 1 - contest.margin_pct / 100
            worse, good = ratio.high < least, ratio.low >= least
        if worse and ratio.p_value <= contest.chance * (1 + 1e-9):  # the same p, maybe summed anew
            proven = "outside"
        elif good:
            proven = "within"
    return Comparison(one, other, aspect, ratio, proven)


def others(candidate: Candidate, contest: Contest) -> list[Candidate]:
    return [other for other in contest.candidates if other is not candidate]
