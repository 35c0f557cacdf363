"""How often decisions are wrong, and how often they answer: simulated campaigns, seeded.

    make bench NAME=claims [ARGS="--repeats 2000"]

Goal: figures of docs/research/ERROR-RATES.md, made again anywhere. Method: repetitions drawn
around true figures with normal noise of their logarithms; what the program names is held against
the truth. Wrong is a tier that is worse than the best by the margin (5 %) or more; tiers stand
exactly at the margin, where errors are most frequent. Beside it, on the same comparisons, the rule
of the first releases: two-sided 95 % intervals, from cheap to dear, stopping at the first open
tier. Exit 1 if more than 5 % are wrong in any cell by more than chance makes likely. An SLO has no
rule before.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from rich.console import Console
from rich.table import Table

from orchestrator.analysis.decisions.candidates import (
    LATENCIES,
    THROUGHPUT,
    Candidate,
    Criterion,
    each_once,
)
from orchestrator.analysis.decisions.contest_rules import ContestRules
from orchestrator.analysis.decisions.contests import Contest, make_contest
from orchestrator.analysis.decisions.levels import ONE_SIDED
from orchestrator.analysis.statistics import stats
from orchestrator.model import Objective
from orchestrator.tier import Price
from tests.campaigns import build_profile

MARGIN_PCT = 5.0
EDGE = 1 - MARGIN_PCT / 100
REPETITIONS, NOISE_PCT = (2, 3, 5), (1.0, 2.0, 5.0)
MOST_WRONG_PCT = 5.0
SLO = Objective("throughput_per_s", "all", 1.0)
CRITERIA = (THROUGHPUT, *LATENCIES)

# True throughput of each tier, from cheap to dear; latencies go the other way. Last: which tiers
# must not be named.
Truth = tuple[tuple[tuple[float, ...], ...], frozenset[int]]


def same(*rates: float, wrong: Sequence[int] = ()) -> Truth:
    """All three criteria alike: a closed loop, where average latency is threads ÷ throughput."""
    return tuple((rate,) * 3 for rate in rates), frozenset(wrong)


WORST: Mapping[str, Truth] = {
    "cheapest at the margin": (((EDGE,), (1.0,), (1.0,)), frozenset({0})),
    "two at the margin": (((EDGE,), (EDGE,), (1.0,)), frozenset({0, 1})),
    "10 % below, next at the margin": (((0.9,), (EDGE,), (1.0,)), frozenset({0, 1})),
    "three of four at the margin": (((EDGE,),) * 3 + ((1.0,),), frozenset({0, 1, 2})),
    "two, each at the margin in another": (
        ((EDGE, 1.0), (1.0, EDGE)),
        frozenset({0, 1}),
    ),
    "three, each at the margin in another": (
        ((EDGE, 1.0, 1.0), (1.0, EDGE, 1.0), (1.0, 1.0, EDGE)),
        frozenset({0, 1, 2}),
    ),
}
# With an SLO of a rate of 1: tiers that just miss it must not be named.
WORST_SLO: Mapping[str, Truth] = {
    "two just miss the SLO": (((1.0,), (1.0,), (1.2,)), frozenset({0, 1})),
    "three just miss the SLO": (((1.0,),) * 3, frozenset({0, 1, 2})),
}
USUAL: Mapping[str, Truth] = {
    "all alike": same(1.0, 1.0, 1.0),
    "cheapest 2 % below": same(0.98, 1.0, 1.0),
    "cheapest 7 % below": same(0.93, 1.0, 1.0, wrong=[0]),
    "cheapest 30 % below": same(0.7, 1.0, 1.0, wrong=[0]),
    "only the dearest is fast": same(0.7, 0.7, 1.0, wrong=[0, 1]),
    "dearest 4 % below": same(1.0, 1.0, 0.96),
}
_PROFILES = [build_profile(name) for name in ("premium", "premium-v2", "ultra")]
_LARGE = replace(
    _PROFILES[-1].tier, price=Price(300.0, "USD", "westus2", "2026-01-01", "a list")
)
_PROFILES.append(replace(_PROFILES[-1], name="ultra-large", tier=_LARGE))


def draw(
    truth: Truth,
    n: int,
    noise_pct: float,
    random: np.random.Generator,
    slo: tuple[Objective, ...] = (),
) -> Contest:
    """One campaign: throughput falls where latency rises."""
    tiers, _ = truth
    criteria = CRITERIA[: len(tiers[0])]
    candidates = []
    for profile, rates in zip(_PROFILES, tiers, strict=False):
        values: dict[Criterion, tuple[float, ...]] = {}
        for criterion, rate in zip(criteria, rates, strict=True):
            noise = np.exp(random.normal(0.0, noise_pct / 100, n))
            if criterion is LATENCIES[0] and len(set(rates)) == 1:
                values[criterion] = tuple(1 / value for value in values[THROUGHPUT])
                continue
            # A latency 5 % above is as far at its margin as a rate 5 % below.
            mean = (
                rate
                if not criterion.is_latency
                else 2 - rate
                if rate >= EDGE
                else 1 / rate
            )
            values[criterion] = tuple((mean * noise).tolist())
        candidates.append(Candidate(profile, values, "", {SLO: values[THROUGHPUT]}))
    closed_loop = all(
        len(rates) == len(CRITERIA) and len(set(rates)) == 1 for rates in tiers
    )
    once = each_once(THROUGHPUT, criteria[1:], closed_loop=closed_loop)
    contest = make_contest("simulated", candidates, [], ContestRules(MARGIN_PCT, once))
    return replace(contest, rules=replace(contest.rules, slo=slo))


def named(contest: Contest) -> int | None:
    """The place of the tier that the program names."""
    words = [contest.proof.standings[tier.name] for tier in contest.candidates]
    return words.index("enough") if "enough" in words else None


def named_before(contest: Contest) -> int | None:
    """What the rule of the first releases named."""
    for place, tier in enumerate(contest.candidates):
        ratios = [
            (
                criterion.is_latency,
                stats.ratio_of_means(other.values[criterion], tier.values[criterion]),
            )
            for other in contest.candidates
            if other is not tier
            for criterion in contest.rules.criteria
        ]
        if all(_within(latency, ratio) for latency, ratio in ratios):
            return place
        if not any(_outside(latency, ratio) for latency, ratio in ratios):
            return None
    return None


def _within(latency: bool, ratio: stats.Ratio) -> bool:
    assert ratio.low is not None and ratio.high is not None
    return ratio.high <= 2 - EDGE if latency else ratio.low >= EDGE


def _outside(latency: bool, ratio: stats.Ratio) -> bool:
    assert (
        ratio.low is not None and ratio.high is not None and ratio.p_value is not None
    )
    beyond = ratio.low > 2 - EDGE if latency else ratio.high < EDGE
    return beyond and ratio.p_value <= ONE_SIDED


def shares(
    truth: Truth,
    n: int,
    noise_pct: float,
    campaigns: int,
    slo: tuple[Objective, ...] = (),
    seed: int = 1,
) -> dict[str, tuple[float, float]]:
    """By rule: percent of campaigns that name a wrong tier, and that name one at all."""
    rules: dict[str, Callable[[Contest], int | None]] = {
        "now": named,
        "before": named_before,
    }
    random = np.random.default_rng(seed)
    found: dict[str, list[int | None]] = {name: [] for name in rules}
    for _ in range(campaigns):
        contest = draw(truth, n, noise_pct, random, slo)
        for name, rule in rules.items():
            found[name].append(rule(contest))
    return {
        name: (
            100 * sum(place in truth[1] for place in places) / campaigns,
            100 * sum(place is not None for place in places) / campaigns,
        )
        for name, places in found.items()
    }


def _figures(
    one: Mapping[str, tuple[float, float]], which: int, *, with_before: bool
) -> str:
    before = f" ({one['before'][which]:.1f})" if with_before else ""
    return f"{one['now'][which]:.1f}{before}"


def many_windows(campaigns: int) -> Table:
    """Percent answered with five windows of 60 s and with seven of 30 s, by what runs differ;
    seconds within a run add 1 % to a window of 60 s, and more to a shorter one."""
    plans, noise = {"5 × 60 s": (5, 60.0), "7 × 30 s": (7, 30.0)}, (0.5, 1.5, 3.0)
    cells = [(plan, of_runs) for of_runs in noise for plan in plans]
    heads = (f"{plan}, runs {of_runs:g} %" for plan, of_runs in cells)
    table = Table("% answered: --windows many", *heads, box=None)
    for name in ("all alike", "cheapest 7 % below"):
        row = []
        for plan, of_runs in cells:
            n, window_s = plans[plan]
            sd_pct = math.sqrt(of_runs**2 + 60.0 / window_s)
            row.append(f"{shares(USUAL[name], n, sd_pct, campaigns)['now'][1]:.1f}")
        table.add_row(name, *row)
    return table


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--repeats", type=int, default=2000, help="campaigns of each row and cell"
    )
    campaigns = parser.parse_args().repeats
    worst, out = 0.0, Console(width=150)
    asked: tuple[tuple[str, Mapping[str, Truth], int, tuple[Objective, ...]], ...] = (
        ("wrong", WORST, 0, ()),
        ("wrong with an SLO", WORST_SLO, 0, (SLO,)),
        ("answered", USUAL, 1, ()),
    )
    for title, truths, which, slo in asked:
        cells = [(n, noise) for n in REPETITIONS for noise in NOISE_PCT]
        table = Table(
            f"% {title}: now (before)",
            *(f"n={n}, {noise:g} %" for n, noise in cells),
            box=None,
        )
        for name, truth in truths.items():
            row = [shares(truth, n, noise, campaigns, slo) for n, noise in cells]
            worst = max(worst, *(one["now"][0] for one in row))
            table.add_row(
                name, *(_figures(one, which, with_before=not slo) for one in row)
            )
        out.print(table)
    out.print(many_windows(campaigns))
    error = 2 * math.sqrt(
        MOST_WRONG_PCT * (100 - MOST_WRONG_PCT) / campaigns
    )  # of a share here
    out.print(
        f"wrong at most: {worst:.1f} %; a share of 5 % may seem {5 + error:.1f} % by chance"
    )
    return int(worst > MOST_WRONG_PCT + error)


if __name__ == "__main__":
    sys.exit(main())
