"""Tiers held against each other for a decision: who takes part, in what, and what is proven. Pure.

Intervals alone prove: a tier is within the margin of another or outside it, or that is open.
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
    """A figure in which tiers are held against each other, and what a reader calls it."""

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
    """A tier with its figures, one per finished repetition; `limit` as attributed."""

    profile: Profile
    figures: Mapping[Aspect, tuple[float, ...]]
    limit: str

    @property
    def name(self) -> str:
        return self.profile.name

    @property
    def price(self) -> Price | None:
        return self.profile.tier.price

    @property
    def monthly_cost(self) -> float | None:
        """Of the cluster's disks, one on each node."""
        return self.price.monthly * self.profile.cluster.nodes if self.price else None


@dataclass(frozen=True)
class Contest:
    """All candidates of a workload, from cheap to dear; `absent` tiers left no figures.

    Without a price for each in one list (`no_prices` says why) the order is by declared limits.
    `aspects` are compared, `left_out` are not, as a run lacks them. `paced`: threads pause on
    purpose. `chance`: the p-value up to which a difference is none of chance, among all that the
    campaign's decisions compare. `obstacle`: why nothing may be compared at all.
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


def contest(
    workload: str,
    candidates: Sequence[Candidate],
    tiers: Sequence[str],
    margin_pct: float,
    aspects: Sequence[Aspect] = (THROUGHPUT, *LATENCIES),
) -> Contest:
    """Candidates in the order in which one would prefer them; `tiers`: all that were planned."""
    no_prices = prices.unlike([candidate.price for candidate in candidates])
    by_limits = sorted(candidates, key=lambda one: _limits(one.profile))
    by_cost = sorted(by_limits, key=lambda one: one.monthly_cost or 0.0)
    present = {candidate.name for candidate in candidates}
    shared = tuple(a for a in aspects if all(a in one.figures for one in candidates))
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


def chances(field: Contest) -> list[float]:
    """p-values of all that a workload's decision compares."""
    if field.obstacle:
        return []
    ratios = (
        stats.ratio_of_means(one.figures[aspect], other.figures[aspect])
        for one, other in combinations(field.candidates, 2)
        for aspect in field.aspects
    )
    return [ratio.p_value for ratio in ratios if ratio.p_value is not None]


# ------------------------------------------------------------------ what is proven


def standing(candidate: Candidate, field: Contest) -> Standing:
    """Whether it is proven to be within the margin of every other candidate in every aspect."""
    found = {one.standing for one in comparisons(candidate, field)}
    return "outside" if "outside" in found else "open" if "open" in found else "within"


def comparisons(candidate: Candidate, field: Contest) -> list[Comparison]:
    """Of one candidate with each other one, throughput first."""
    return [
        _compared(candidate, other, aspect, field)
        for aspect in field.aspects
        for other in others(candidate, field)
    ]


def _compared(one: Candidate, other: Candidate, aspect: Aspect, field: Contest) -> Comparison:
    """Outside the margin only where the whole interval is, and chance among many does not make
    one such likely; within it only where the whole interval is not outside."""
    ratio = stats.ratio_of_means(other.figures[aspect], one.figures[aspect])
    found: Standing = "open"
    if ratio.low is not None and ratio.high is not None and ratio.p_value is not None:
        if aspect.is_latency:
            most = 1 + field.margin_pct / 100
            worse, good = ratio.low > most, ratio.high <= most
        else:
            least = 1 - field.margin_pct / 100
            worse, good = ratio.high < least, ratio.low >= least
        if worse and ratio.p_value <= field.chance * (1 + 1e-9):  # the same p, maybe summed anew
            found = "outside"
        elif good:
            found = "within"
    return Comparison(one, other, aspect, ratio, found)


def others(candidate: Candidate, field: Contest) -> list[Candidate]:
    return [one for one in field.candidates if one is not candidate]
