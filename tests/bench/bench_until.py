"""How often a campaign that ends when it is decided is wrong, and what it saves: simulated.

    make bench NAME=until [ARGS="--repeats 300"]

Goal: the figures of docs/research/ERROR-RATES.md, made again. Method: campaigns of three tiers
grow as `--until decided` lets them grow, with the program's own rule, levels and comparisons; the
machine and the noise are those of `bench_blocks`. Wrong is a tier named that is worse than the
best by the margin (5 %), with tiers exactly there, where that is most frequent; or one of the best
refused. Beside it the fewest repetitions, all planned at once, that answer as often. Exit 1 if
more than 5 % are wrong in any case by more than chance makes likely.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.table import Table

from orchestrator.analysis.decisions import decision
from orchestrator.analysis.decisions.candidates import (
    LATENCIES,
    THROUGHPUT,
    Candidate,
    each_once,
)
from orchestrator.analysis.decisions.contest_rules import ContestRules
from orchestrator.analysis.decisions.contests import Contest, make_contest
from orchestrator.analysis.statistics import looks
from tests.bench.bench_blocks import Case, draw, drift, steady
from tests.campaigns import build_profile

MARGIN_PCT = 5.0
EDGE = 1 / (
    1 + MARGIN_PCT / 100
)  # a rate at which the average latency is at its margin
LOOKS = ((3, 10), (2, 6))  # a campaign's first and last
MOST_WRONG_PCT = 5.0
CRITERIA = (THROUGHPUT, *LATENCIES)
ONCE = each_once(THROUGHPUT, LATENCIES, closed_loop=True)
PROFILES = [build_profile(name) for name in ("premium", "premium-v2", "ultra")]

# True throughput of each tier, from cheap to dear, and how much its p99 is below the best's.
Truth = tuple[tuple[float, float], ...]
ALIKE: Truth = ((1.0, 1.0),) * 3
TWO_AT_EDGE: Truth = ((EDGE, EDGE), (EDGE, EDGE), (1.0, 1.0))
EACH_AT_EDGE: Truth = ((EDGE, 1.0), (1.0, EDGE))
FAR: Truth = ((0.7, 0.7), (1.0, 1.0), (1.0, 1.0))
QUIET = Case((0.02, 0.02, 0.02), steady)
NOISY = Case((0.05, 0.05, 0.05), steady)
DRIFTING = Case((0.02, 0.02, 0.02), drift)
UNLIKE = Case((0.005, 0.05, 0.02), steady)
CASES: Mapping[str, tuple[Truth, Case]] = {
    "all alike, 2 %": (ALIKE, QUIET),
    "all alike, 5 %": (ALIKE, NOISY),
    "all alike, 2 %, drift of 10 %": (ALIKE, DRIFTING),
    "all alike, 0.5, 5 and 2 %": (ALIKE, UNLIKE),
    "two of three at the margin, 2 %": (TWO_AT_EDGE, QUIET),
    "two, each at the margin in another, 2 %": (EACH_AT_EDGE, QUIET),
    "two, each at the margin in another, 2 %, drift": (EACH_AT_EDGE, DRIFTING),
    "two, each at the margin in another, 0.5 and 5 %": (EACH_AT_EDGE, UNLIKE),
    "cheapest of three 30 % below, 2 %": (FAR, QUIET),
    "cheaper of two 30 % below, 2 %": (FAR[:2], QUIET),
    "cheaper of two 30 % below, 5 %": (FAR[:2], NOISY),
}


@dataclass(frozen=True)
class Found:
    """Percent of campaigns, and repetitions: on average, and planned at once for as many answers,
    within 1 % (None: the most do not give them, or few were answered)."""

    named_wrongly_pct: float
    refused_wrongly_pct: float
    answered_pct: float
    repetitions: float
    at_once: int | None


def contest(logs: np.ndarray, p99_logs: np.ndarray, n: int, share: float) -> Contest:
    """The first `n` repetitions of a campaign; both tables: logarithms, tiers × repetitions."""
    candidates = []
    for profile, rates, p99s in zip(PROFILES, logs, p99_logs, strict=False):
        rate, p99 = np.exp(rates[:n]), np.exp(-p99s[:n])
        values = (rate.tolist(), (1 / rate).tolist(), p99.tolist())
        mapped = {
            criterion: tuple(v) for criterion, v in zip(CRITERIA, values, strict=True)
        }
        candidates.append(Candidate(profile, mapped, ""))
    rules = ContestRules(MARGIN_PCT, ONCE, share=share)
    return make_contest("simulated", candidates, [], rules)


def simulate(truth: Truth, case: Case, first: int, most: int, campaigns: int) -> Found:
    """Each campaign until it is decided, and with all its repetitions planned at once."""
    random = np.random.default_rng(1)
    drawn = [
        np.log(true)[:, None] + draw(case, most, campaigns, random)[:, : len(truth)]
        for true in zip(*truth, strict=True)
    ]
    at_edge = [min(tier) == EDGE for tier in truth]
    shares = looks.shares(first, most)
    words: list[list[str]] = []
    open_, used = 0, 0
    fixed_open = np.zeros(most + 1)
    for logs, p99_logs in zip(*drawn, strict=True):
        for n, share in shares.items():
            made = contest(logs, p99_logs, n, share)
            if not decision.is_open(made):
                break
        words.append([made.proof.standings[tier.name] for tier in made.candidates])
        open_ += decision.is_open(made)
        used += n
        for fixed in range(first, most + 1) if not any(at_edge) else ():
            fixed_open[fixed] += decision.is_open(contest(logs, p99_logs, fixed, 1.0))
    as_many = open_ + campaigns / 100
    as_often = [
        n for n in range(first, most + 1) if fixed_open[n] <= as_many <= campaigns / 2
    ]
    named = [truth[one.index("enough")] for one in words if "enough" in one]
    best = [place for place, tier in enumerate(truth) if min(tier) == 1]
    refused = sum(any(one[place] == "not enough" for place in best) for one in words)
    pct = 100 / campaigns
    return Found(
        pct * sum(min(tier) <= EDGE for tier in named),
        pct * refused,
        100 - pct * open_,
        used / campaigns,
        min(as_often, default=None) if not any(at_edge) else None,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--repeats", type=int, default=300, help="campaigns of each case"
    )
    campaigns = parser.parse_args().repeats
    worst, out = 0.0, Console(width=150)
    for first, most in LOOKS:
        columns = ("", "% named wrongly", "refused wrongly", "answered")
        title = f"{first} to {most} repetitions"
        table = Table(*columns, "used", "at once", title=title, box=None)
        for name, (truth, case) in CASES.items():
            one = simulate(truth, case, first, most, campaigns)
            worst = max(worst, one.named_wrongly_pct, one.refused_wrongly_pct)
            table.add_row(
                name,
                f"{one.named_wrongly_pct:.1f}",
                f"{one.refused_wrongly_pct:.1f}",
                f"{one.answered_pct:.1f}",
                f"{one.repetitions:.1f}",
                str(one.at_once or ""),
            )
        out.print(table)
    error = 2 * math.sqrt(
        MOST_WRONG_PCT * (100 - MOST_WRONG_PCT) / campaigns
    )  # of a share here
    out.print(
        f"wrong at most: {worst:.1f} %; a share of 5 % may seem {5 + error:.1f} % by chance"
    )
    return int(worst > MOST_WRONG_PCT + error)


if __name__ == "__main__":
    sys.exit(main())
