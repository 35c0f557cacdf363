"""How often the one answer for all workloads of a cluster is wrong, silent or dearer: simulated.

    make bench NAME=cluster ARGS="--campaigns 400"

Goal: a tier that is not enough for one of the workloads is named in at most 5 % of campaigns, also
where each cheaper tier is just beyond the margin in another workload, which is worst. Method:
values of three workloads are drawn around true rates with the noise of each shape, and judged by
the package's own `contests` and `cluster`. p99 has noise of its own.

- wrong: the tier named is worse than the best by more than the margin in one of the workloads, or
  with `--weights`, with which all count alike, in their weighted mean;
- each: the same if the cheapest tier that is enough in the answer of each workload were named;
- refused: a tier that is enough for all is "not enough"; dearer; none: as in bench_decisions.

Exit 1 if wrong is above 5 % in any cell by more than chance makes likely among all cells.
"""

from __future__ import annotations

import argparse
import sys
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from orchestrator.analysis.decisions import cluster_decision
from orchestrator.analysis.decisions.candidates import LATENCIES, THROUGHPUT, Candidate
from orchestrator.analysis.decisions.contest_rules import ContestRules
from orchestrator.analysis.decisions.contests import Contest, make_contest
from orchestrator.planning.orders import balanced_orders
from tests.bench.noise_shapes import SHAPES
from tests.campaigns import build_profile

TIERS = ("premium", "premium-v2", "ultra")  # from cheap to dear
WORKLOADS = ("point-select", "insert", "tpcc")
MARGIN_PCT, P99_MARGIN_PCT, P99_NOISE = 5.0, 20.0, 0.03
JUST_BELOW = 1 - MARGIN_PCT / 100 - 1e-6
CRITERIA = (THROUGHPUT, LATENCIES[1])
# Rates of the tiers in each workload.
TRUTHS: Mapping[str, tuple[tuple[float, ...], ...]] = {
    "all alike": ((1, 1, 1),) * 3,
    "each cheaper one just below in another": (
        (JUST_BELOW, 1, 1),
        (1, JUST_BELOW, 1),
        (1, 1, 1),
    ),
    "both just below in all": ((JUST_BELOW, JUST_BELOW, 1),) * 3,
    "cheapest just below in one": ((1, 1, 1), (1, 1, 1), (JUST_BELOW, 1, 1)),
    "cheapest 10 % below in one": ((1, 1, 1), (1, 1, 1), (0.9, 1, 1)),
    "both 40 % below in one": ((1, 1, 1), (1, 1, 1), (0.6, 0.6, 1)),
}
WEIGHED = {  # the same for the weighted mean, which one workload or all may move
    "all alike": TRUTHS["all alike"],
    "both just below by one workload": (
        (1, 1, 1),
        (1, 1, 1),
        (JUST_BELOW**3, JUST_BELOW**3, 1),
    ),
    "both just below in all": TRUTHS["both just below in all"],
    "one lost, another gained": ((1.1, 1.1, 1), (1, 1, 1), (0.9, 0.9, 1)),
    "cheapest 10 % below in one": TRUTHS["cheapest 10 % below in one"],
}
PROFILES = tuple(build_profile(name) for name in TIERS)


@dataclass(frozen=True)
class Counts:
    wrong: int
    each: int
    refused: int
    dearer: int
    none: int


def contests(rates: np.ndarray, p99: np.ndarray, places: np.ndarray) -> list[Contest]:
    """`rates`, `p99`, `places` in the campaign: workloads × tiers × repetitions."""
    made = []
    first = places == places.min(axis=1, keepdims=True)
    for number, workload in enumerate(WORKLOADS):
        candidates = [
            Candidate(
                profile,
                {
                    CRITERIA[0]: tuple(rates[number, k]),
                    CRITERIA[1]: tuple(p99[number, k]),
                },
                "unattributed",
                first=dict.fromkeys(CRITERIA, _begun(first[number, k])),
            )
            for k, profile in enumerate(PROFILES)
        ]
        made.append(
            make_contest(
                workload,
                candidates,
                TIERS,
                ContestRules(MARGIN_PCT, CRITERIA, p99_margin_pct=P99_MARGIN_PCT),
            )
        )
    return made


def _begun(first: np.ndarray) -> dict[int, float]:
    """The repetitions that a tier begins; `first`: whether it does, of each."""
    return {int(number) + 1: 1.0 for number in np.flatnonzero(first)}


def in_order(n: int) -> np.ndarray:
    """The place of each run in a campaign, workloads × tiers × repetitions, as plans have them."""
    orders = balanced_orders(TIERS, n)
    blocks = (
        (repetition, workload)
        for repetition in range(n)
        for workload in range(len(WORKLOADS))
    )
    places = np.empty((len(WORKLOADS), len(TIERS), n), dtype=int)
    for block, (repetition, workload) in enumerate(blocks):
        for place, tier in enumerate(orders[repetition]):
            places[workload, TIERS.index(tier), repetition] = block * len(TIERS) + place
    return places


def simulate(
    shape: str, truth: str, n: int, campaigns: int, seed: int, weigh: bool = False
) -> Counts:
    true = np.asarray((WEIGHED if weigh else TRUTHS)[truth], dtype=float)
    random = np.random.default_rng([seed, zlib.crc32(f"{shape}/{truth}/{n}".encode())])
    places = in_order(n)
    least = np.exp(np.log(true).mean(axis=0)) if weigh else true.min(axis=0)
    enough = [bool(value >= (1 - MARGIN_PCT / 100) * least.max()) for value in least]
    weights = dict.fromkeys(WORKLOADS, 1.0) if weigh else {}
    needed = TIERS[enough.index(True)]
    counts = dict.fromkeys(("wrong", "each", "refused", "dearer", "none"), 0)
    noise = [SHAPES[shape](own, campaigns, random) for own in places]
    for campaign in range(campaigns):
        logs = np.stack([own[campaign] for own in noise])
        rates = true[:, :, None] * np.exp(logs)
        own = np.exp(random.normal(0, P99_NOISE, rates.shape))
        compared = contests(rates, own / rates, places)
        made = cluster_decision.decide_cluster(compared, weights)
        assert made is not None
        standings = [contest.proof.standings for contest in compared]
        alone = next(
            (t for t in TIERS if all(s[t] == "enough" for s in standings)), None
        )
        counts["none"] += made.tier is None
        counts["wrong"] += made.tier is not None and not enough[TIERS.index(made.tier)]
        counts["each"] += alone is not None and not enough[TIERS.index(alone)]
        counts["dearer"] += made.tier is not None and TIERS.index(
            made.tier
        ) > TIERS.index(needed)
        counts["refused"] += any(
            made.standings[tier] == "not enough"
            for tier, kept in zip(TIERS, enough, strict=True)
            if kept
        )
    return Counts(**counts)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--campaigns", type=int, default=400, help="of each cell")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--shapes", default=",".join(SHAPES), help="of noise, by commas"
    )
    parser.add_argument(
        "--weights", action="store_true", help="all count alike, in one mean"
    )
    parser.add_argument("--repetitions", default="3,5,10", help="by commas")
    asked = parser.parse_args(arguments)
    shapes, sizes = (
        asked.shapes.split(","),
        [int(n) for n in asked.repetitions.split(",")],
    )
    print(f"{asked.campaigns} campaigns a cell, seed {asked.seed}; % of campaigns.")
    print("Of the shapes of noise the worst in wrong, each and refused, the mean else.")
    print(
        "\n| truth | n | wrong | each | refused | dearer | none |\n|---|" + "---:|" * 6
    )
    wrong, pct = [], 100 / asked.campaigns
    for truth in WEIGHED if asked.weights else TRUTHS:
        for n in sizes:
            cells = [
                simulate(s, truth, n, asked.campaigns, asked.seed, asked.weights)
                for s in shapes
            ]
            wrong += [cell.wrong for cell in cells]
            worst = [
                max(getattr(c, name) for c in cells)
                for name in ("wrong", "each", "refused")
            ]
            mean = [
                np.mean([getattr(c, name) for c in cells])
                for name in ("dearer", "none")
            ]
            figures = " | ".join(
                f"{pct * float(value):.1f}" for value in (*worst, *mean)
            )
            print(f"| {truth} | {n} | {figures} |", flush=True)
    # It takes half a second to import, and tests use other parts of this module.
    from scipy import stats as distributions

    most = int(distributions.binom.ppf(1 - 0.05 / len(wrong), asked.campaigns, 0.05))
    print(
        f"\nA true 5 % may seem {pct * most:.1f} % in the worst of {len(wrong)} cells."
    )
    return int(max(wrong) > most)


if __name__ == "__main__":
    sys.exit(main())
