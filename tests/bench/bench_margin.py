"""How often a tier just beyond the margin is named: many campaigns at once.

    make bench NAME=margin ARGS="--campaigns 20000"

Goal: at most 5 % with an error of a few tenths, for which bench_decisions would take hours. Method:
the rule of `contests` on arrays, for all campaigns of a cell together; the first of each cell are
judged by the package itself too, and the program ends if it says anything else. Rates and p99
latencies, noise of ten shapes in the planned order; p99 has 3 % of its own. Of the weighted mean of
three workloads, all three have the noise and the orders of a campaign of three.

Exit 1 if more than 5 % are wrong anywhere by more than chance makes likely among all cells.
"""

from __future__ import annotations

import argparse
import math
import sys
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats as distributions

from orchestrator.analysis.decisions import cluster_standings
from orchestrator.analysis.decisions.candidates import LATENCIES, THROUGHPUT, Candidate
from orchestrator.analysis.decisions.contest_rules import ContestRules
from orchestrator.analysis.decisions.contests import make_contest
from orchestrator.analysis.decisions.levels import (
    DISCARDED,
    ONE_SIDED,
    ORDER_REPETITIONS,
)
from orchestrator.analysis.statistics import stats
from tests.bench.bench_cluster import in_order
from tests.bench.noise_shapes import SHAPES
from tests.campaigns import build_profile

Array = NDArray[Any]

MARGIN_PCT, P99_MARGIN_PCT, P99_NOISE = 5.0, 20.0, 0.03
JUST_BELOW = 1 - MARGIN_PCT / 100 - 1e-6
JUST_AT = math.log(1 - MARGIN_PCT / 100)
P99_AT = math.log(1 + P99_MARGIN_PCT / 100)
CRITERIA = (THROUGHPUT, LATENCIES[1])
PROFILES = [build_profile(name) for name in ("premium", "premium-v2", "ultra")]
REPETITIONS = (2, 3, 5, 10)
# Rates of the tiers, from cheap to dear, and of how many workloads the mean is compared.
CASES: Mapping[str, tuple[tuple[float, ...], int]] = {
    "cheaper of two just below": ((JUST_BELOW, 1.0), 1),
    "cheaper of three just below": ((JUST_BELOW, JUST_BELOW, 1.0), 1),
    "the same, in the mean of three workloads": ((JUST_BELOW, JUST_BELOW, 1.0), 3),
    "three equal, in the mean of three workloads": ((1.0, 1.0, 1.0), 3),
}
CHECKED = 20  # campaigns of each cell that the package judges too


@dataclass(frozen=True)
class Campaigns:
    """Logarithms of rates and of p99 latencies, campaigns × tiers × repetitions; `begun`: of each
    tier and repetition the share of workloads in which it came first."""

    rates: Array
    p99: Array
    begun: Array


def draw(
    rates: Sequence[float],
    workloads: int,
    shape: str,
    n: int,
    campaigns: int,
    seed: int,
) -> Campaigns:
    name = f"{rates}/{workloads}/{shape}/{n}"
    dice = np.random.default_rng([seed, zlib.crc32(name.encode())])
    tiers = len(rates)
    logs = np.zeros((campaigns, tiers, n))
    tail = np.zeros_like(logs)
    begun = np.zeros((tiers, n))
    for places in in_order(n)[:workloads]:
        of_tiers = np.argsort(np.argsort(places[:tiers].ravel())).reshape(tiers, n)
        logs += SHAPES[shape](of_tiers, campaigns, dice) / workloads
        tail += dice.normal(0, P99_NOISE, logs.shape) / workloads
        begun += (of_tiers == of_tiers.min(axis=0)) / workloads
    logs += np.log(rates)[:, None]
    return Campaigns(logs, tail - logs, begun)


# ------------------------------------------------------------------ the rule, on arrays


def enough(drawn: Campaigns, joint: bool) -> Array:
    """Of each campaign and tier, whether it is proven enough. `joint`: by the one answer for a
    cluster, whose claims have a level of their own (`cluster_standings`)."""
    campaigns, tiers, _ = drawn.rates.shape
    claims = np.zeros((campaigns, tiers))
    refused = np.zeros((campaigns, tiers), dtype=bool)
    silent = np.zeros((campaigns, tiers), dtype=bool)
    family = max(tiers - 1, tiers**2 // 4) * len(CRITERIA)
    for tier in range(tiers):
        beyond = []
        for other in range(tiers):
            if other != tier:
                rate = _chance(drawn.rates, tier, other, drawn.begun, JUST_AT)
                beyond += [
                    1 - rate,
                    _chance(drawn.p99, tier, other, drawn.begun, P99_AT),
                ]
        p_values = np.sort(np.stack(beyond, axis=1), axis=1)
        claims[:, tier] = p_values[:, -1]
        outside = np.sort(1 - p_values, axis=1)
        places = np.arange(1, outside.shape[1] + 1)
        refused[:, tier] = (outside * family / places).min(axis=1) <= ONE_SIDED
        silent[:, tier] = refused[:, tier] | (outside[:, 0] <= DISCARDED)
    level = _levels(claims, silent, ONE_SIDED * (1 - DISCARDED))
    if joint:
        level = _levels(claims, refused, ONE_SIDED * (1 - ONE_SIDED))
    proven: Array = (claims <= level[:, None]) & ~refused
    return proven


def _chance(logs: Array, tier: int, other: int, begun: Array, bound: float) -> Array:
    """One-sided p-value of the ratio of `tier` to `other` being `bound` or more."""
    changes = logs[:, tier] - logs[:, other]
    n = changes.shape[1]
    least = math.sqrt(2) * stats.NOISE_FLOOR
    mean = changes.mean(axis=1)
    if n == 2 and logs.shape[1] > 2:
        grown = logs[:, :, 1] - logs[:, :, 0]
        variance = logs.shape[1] * grown.var(axis=1, ddof=1) / 4
        error = np.maximum(np.sqrt(variance), least / math.sqrt(2))
        return _by_t(mean - bound, error, 1.5)
    order = begun[tier] - begun[other]
    middle = order.mean()
    weight = ((order - middle) ** 2).sum()
    if n < ORDER_REPETITIONS or not weight:
        spread = np.maximum(changes.std(axis=1, ddof=1), least)
        return _by_t(mean - bound, spread / math.sqrt(n), n - 1)
    slope = ((order - middle) * changes).sum(axis=1) / weight
    off = changes - mean[:, None] - slope[:, None] * (order - middle)
    spread = np.maximum(np.sqrt((off**2).sum(axis=1) / (n - 2)), least)
    error = spread * math.sqrt(1 / n + middle**2 / weight)
    return _by_t(mean - slope * middle - bound, error, n - 2)


def _by_t(distance: Array, error: Array, freedom: float) -> Array:
    chance: Array = special.stdtr(freedom, distance / error)
    return chance


def _levels(claims: Array, silent: Array, alpha: float) -> Array:
    """Of each campaign that at which its claims hold together (Hochberg)."""
    falling = -np.sort(-np.where(silent, -1.0, claims), axis=1)
    count = (~silent).sum(axis=1)
    level: Array = alpha / np.maximum(count, 1)
    for place in range(claims.shape[1], 0, -1):
        reached = (place <= count) & (falling[:, place - 1] <= alpha / place)
        level = np.where(reached, alpha / place, level)
    return level


def by_the_package(drawn: Campaigns, campaign: int, joint: bool) -> list[bool]:
    tiers = drawn.rates.shape[1]
    candidates: list[Candidate] = []
    for tier in range(tiers):
        rates = np.exp(drawn.rates[campaign, tier]).tolist()
        p99 = np.exp(drawn.p99[campaign, tier]).tolist()
        begun = dict(enumerate(drawn.begun[tier].tolist(), start=1))
        candidates.append(
            Candidate(
                PROFILES[tier],
                {CRITERIA[0]: tuple(rates), CRITERIA[1]: tuple(p99)},
                "",
                first=dict.fromkeys(CRITERIA, begun),
            )
        )
    contest = make_contest(
        "simulated",
        candidates,
        [],
        ContestRules(MARGIN_PCT, CRITERIA, p99_margin_pct=P99_MARGIN_PCT),
    )
    standings = dict(contest.proof.standings)
    if joint:
        standings = cluster_standings.standings([contest], candidates)
    return [standings[profile.name] == "enough" for profile in PROFILES[:tiers]]


# ------------------------------------------------------------------ cells


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--campaigns", type=int, default=20_000, help="of each cell")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    columns = " | ".join(f"n = {n}" for n in REPETITIONS)
    print(f"{asked.campaigns} campaigns a cell: % wrong tier (% none named)")
    worst: list[int] = []
    for case, (rates, workloads) in CASES.items():
        below = np.asarray(rates) < 1
        print(f"\n| {case} | {columns} |\n|---|" + "---:|" * len(REPETITIONS))
        for shape in SHAPES:
            cells: list[str] = []
            for n in REPETITIONS:
                drawn = draw(rates, workloads, shape, n, asked.campaigns, asked.seed)
                proven = enough(drawn, workloads > 1)
                for campaign in range(CHECKED):
                    package = by_the_package(drawn, campaign, workloads > 1)
                    if package != proven[campaign].tolist():
                        sys.exit(
                            f"{case}, {shape}, n = {n}: the package says {package}"
                        )
                wrong = int((proven & below).any(axis=1).sum())
                none = int((~proven.any(axis=1)).sum())
                worst.append(wrong)
                pct = 100 / asked.campaigns
                cells.append(f"{pct * wrong:.1f} ({pct * none:.0f})")
            print(f"| {shape} | {' | '.join(cells)} |", flush=True)
    chance = 1 - 0.05 / len(worst)
    most = int(distributions.binom.ppf(chance, asked.campaigns, ONE_SIDED))
    return int(max(worst) > most)


if __name__ == "__main__":
    sys.exit(main())
