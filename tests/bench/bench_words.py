"""How often a word about tiers beside the baseline is false: many campaigns at once.

    make bench NAME=words ARGS="--campaigns 20000"

Goal: in at most 5 % of the campaigns any word of a workload is false, whichever tiers are equal and
whichever are just beyond the margin. Method: the rule of `comparisons` on arrays, for all campaigns
of a cell together; the first of each cell are judged by the package itself too, and the program
ends if it says anything else. Rates and p99 latencies, noise of ten shapes and normal noise of 0.5
to 5 %; p99 has noise of its own. Average latency is throughput turned round, as in a closed loop.

Printed: % of campaigns with a false word, the worst of all kinds of noise, and % of "same" and of
better or worse for each tier's throughput at normal noise of 2 %; before, where each word had 5 %
by itself, and now. Exit 1 if more than 5 % are false anywhere by more than chance makes likely.
"""

from __future__ import annotations

import argparse
import math
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats as distributions

from orchestrator.analysis import comparisons, figure_pairs
from orchestrator.analysis.statistics import stats
from orchestrator.metrics import METRICS
from tests.bench.noise_shapes import SHAPES

Array = NDArray[Any]

MARGIN_PCT, P99_MARGIN_PCT, P99_NOISE = 5.0, 20.0, 0.03
ERROR = 1 - stats.CONFIDENCE
REPETITIONS = (2, 3, 5, 10)
NORMAL = (0.005, 0.01, 0.02, 0.03, 0.05)
SHOWN_AT = "normal, 2 %"
CHECKED = 5  # campaigns of each cell that the package judges too
BELOW = 0.9499


@dataclass(frozen=True)
class Truth:
    """Rates of the tiers, of which the first is the baseline, and how many times as long their p99
    is besides."""

    rates: tuple[float, ...]
    p99: tuple[float, ...]


TRUTHS: Mapping[str, Truth] = {
    "two equal": Truth((1.0, 1.0), (1.0, 1.0)),
    "two, p99 alone just beyond": Truth((1.0, 1.0), (1.2001, 1.0)),
    "three equal": Truth((1.0, 1.0, 1.0), (1.0, 1.0, 1.0)),
    "cheaper of three just below": Truth((BELOW, BELOW, 1.0), (1.0, 1.0, 1.0)),
    "cheapest of three 10 % below": Truth((0.9, 1.0, 1.0), (1.0, 1.0, 1.0)),
    "two equal, dearest 50 % above": Truth((1.0, 1.0, 1.5), (1.0, 1.0, 1.0)),
    "50, 75 and 100 %": Truth((0.5, 0.75, 1.0), (1.0, 1.0, 1.0)),
    "four equal": Truth((1.0, 1.0, 1.0, 1.0), (1.0, 1.0, 1.0, 1.0)),
    "two of four just beyond": Truth((BELOW, BELOW, 1.0, 1.0), (1.0, 1.0, 1.0, 1.0)),
}


@dataclass(frozen=True)
class Compared:
    """One contender in one figure, of all campaigns: p-values of a change beyond the margin, of no
    change, and of a change that is not beyond the margin."""

    figure: str
    truth: float  # of the logarithm of the ratio
    margin_pct: float
    change: Array
    not_same: Array
    none: Array
    not_far: Array

    @property
    def is_beyond(self) -> bool:
        ratio = 100 * math.expm1(self.truth)
        return abs(ratio) > self.margin_pct


def order_of_runs(tiers: int, n: int) -> Array:
    """As planned for three workloads, of which the second is judged: in turn, round by round."""
    order = np.zeros((tiers, n), dtype=int)
    for repetition in range(n):
        begins = (3 * repetition + 1) * tiers
        for tier in range(tiers):
            order[tier, repetition] = begins + (tier + repetition) % tiers
    return order


def draw(
    truth: Truth, noise: str, n: int, campaigns: int, seed: int
) -> tuple[Array, Array]:
    """Logarithms of rates and of p99 latencies: campaigns × tiers × repetitions."""
    name = f"{truth.rates}/{truth.p99}/{noise}/{n}"
    dice = np.random.default_rng([seed, zlib.crc32(name.encode())])
    tiers = len(truth.rates)
    shape = (campaigns, tiers, n)
    if noise in SHAPES:
        logs = SHAPES[noise](order_of_runs(tiers, n), campaigns, dice)
        of_p99 = P99_NOISE
    else:
        of_p99 = NORMAL[[_normal(spread) for spread in NORMAL].index(noise)]
        logs = dice.normal(0, of_p99, shape)
    rates = logs + np.log(truth.rates)[:, None]
    tails = np.log(truth.p99)[:, None] + dice.normal(0, of_p99, shape) - rates
    return rates, tails


def _normal(spread: float) -> str:
    return f"normal, {100 * spread:g} %"


# ------------------------------------------------------------------ the rule, on arrays


def compared(truth: Truth, rates: Array, tails: Array) -> list[Compared]:
    true_rates = np.log(truth.rates)
    true_tails = np.log(truth.p99) - true_rates
    comparisons_made: list[Compared] = []
    for contender in range(1, len(truth.rates)):
        rate = float(true_rates[contender] - true_rates[0])
        tail = float(true_tails[contender] - true_tails[0])
        of_rates = rates[:, contender] - rates[:, 0]
        of_tails = tails[:, contender] - tails[:, 0]
        comparisons_made += [
            _compared("throughput_per_s", rate, MARGIN_PCT, of_rates),
            _compared("latency_avg_s", -rate, MARGIN_PCT, -of_rates),
            _compared("latency_p99_s", tail, P99_MARGIN_PCT, of_tails),
        ]
    return comparisons_made


def _compared(figure: str, truth: float, margin_pct: float, changes: Array) -> Compared:
    n = changes.shape[1]
    least = math.sqrt(2) * stats.NOISE_FLOOR
    mean = changes.mean(axis=1)
    error = np.maximum(changes.std(axis=1, ddof=1), least) / math.sqrt(n)
    above = (mean - math.log1p(margin_pct / 100)) / error
    below = (mean - math.log1p(-margin_pct / 100)) / error
    not_same = np.maximum(_t_below(n, above), _t_below(n, -below))
    not_far = np.minimum(_t_below(n, -above), _t_below(n, below))
    none = 2 * _t_below(n, -np.abs(mean) / error)
    return Compared(figure, truth, margin_pct, mean, not_same, none, not_far)


def _t_below(n: int, t: Array) -> Array:
    chance: Array = special.stdtr(n - 1, t)
    return chance


@dataclass(frozen=True)
class Words:
    """Of each campaign, by comparison: whether its word is "same", and whether it is a difference;
    and whether any word is false."""

    same: list[Array]
    differs: list[Array]
    has_false: Array


def words(made: Sequence[Compared], n: int, *, shared: bool) -> Words:
    """`shared`: by the rule of today; else each word has 5 % by itself."""
    adjusted = _adjusted([one.none for one in made])
    has_false = np.zeros(len(made[0].none), dtype=bool)
    all_same: list[Array] = []
    all_differ: list[Array] = []
    for place, one in enumerate(made):
        sharing = np.ones(len(one.none))
        if shared:
            beside = [other for other in made if other.figure == one.figure]
            in_question = sum(
                (other.not_far > ERROR / 2).astype(int) for other in beside
            )
            sharing = np.maximum(in_question, 1)
        same = one.not_same <= ERROR / sharing
        if n < comparisons.SAME_LEAST:
            same &= False
        differs = ~same & (one.none <= ERROR / sharing) & (adjusted[place] <= ERROR)
        all_same.append(same)
        all_differ.append(differs)
        if one.is_beyond:
            has_false |= same
        if abs(one.truth) < 1e-9:
            has_false |= differs
        else:
            has_false |= differs & (np.sign(one.change) != np.sign(one.truth))
    return Words(all_same, all_differ, has_false)


def _adjusted(p_values: Sequence[Array]) -> Array:
    """As `many_tests.adjust_for_many`, of each campaign: comparisons × campaigns."""
    table = np.stack(p_values, axis=1)
    count = table.shape[1]
    falling = np.argsort(-table, axis=1)
    shares = count / np.arange(count, 0, -1)
    steps = np.take_along_axis(table, falling, axis=1) * shares
    least = np.minimum.accumulate(steps, axis=1).clip(0, 1)
    adjusted = np.empty_like(least)
    np.put_along_axis(adjusted, falling, least, axis=1)
    turned: Array = adjusted.T
    return turned


def by_the_package(rates: Array, tails: Array, campaign: int) -> list[str]:
    """Its words about one campaign, in the order of `compared`."""
    pairs: list[figure_pairs.Pair] = []
    for contender in range(1, rates.shape[1]):
        for figure, logs in (
            ("throughput_per_s", rates),
            ("latency_avg_s", -rates),
            ("latency_p99_s", tails),
        ):
            left = tuple(np.exp(logs[campaign, 0]).tolist())
            right = tuple(np.exp(logs[campaign, contender]).tolist())
            ratio = stats.ratio_of_means(left, right)
            name = str(contender)
            metric = METRICS[figure]
            pair = figure_pairs.Pair(
                name,
                "w",
                metric,
                "all",
                left,
                right,
                ratio,
                "",
                question="w",
                in_blocks=True,
            )
            pairs.append(pair)
    made = comparisons.deltas("baseline", pairs, MARGIN_PCT, P99_MARGIN_PCT)
    return [delta.verdict for delta in made]


def on_arrays(said: Words, campaign: int) -> list[str]:
    texts: list[str] = []
    for same, differs in zip(said.same, said.differs, strict=True):
        text = "inconclusive"
        if same[campaign]:
            text = "same"
        if differs[campaign]:
            text = "differs"
        texts.append(text)
    return texts


# ------------------------------------------------------------------ cells


def of_truth(name: str, campaigns: int, seed: int) -> Iterator[tuple[str, int]]:
    """Rows of the table, and of each the most campaigns with a false word."""
    truth = TRUTHS[name]
    noises = [_normal(spread) for spread in NORMAL]
    if len(truth.rates) <= 3:  # for more tiers a shape has no noise
        noises += SHAPES
    for n in REPETITIONS:
        worst_before = 0
        worst = 0
        shown = ""
        for noise in noises:
            rates, tails = draw(truth, noise, n, campaigns, seed)
            made = compared(truth, rates, tails)
            before = words(made, n, shared=False)
            now = words(made, n, shared=True)
            _check(name, noise, n, now, rates, tails)
            worst_before = max(worst_before, int(before.has_false.sum()))
            worst = max(worst, int(now.has_false.sum()))
            if noise == SHOWN_AT:
                shown = f"{_said(before)} | {_said(now)}"
        pct = 100 / campaigns
        figures = f"{pct * worst_before:.1f} | {pct * worst:.1f} | {shown}"
        yield f"| {name} | {n} | {figures} |", worst


def _said(said: Words) -> str:
    """Of throughput by contender: `same/differs` in % of the campaigns."""
    texts: list[str] = []
    for place in range(0, len(said.same), 3):
        same = 100 * float(said.same[place].mean())
        differs = 100 * float(said.differs[place].mean())
        texts.append(f"{same:.0f}/{differs:.0f}")
    return ", ".join(texts)


def _check(
    name: str, noise: str, n: int, said: Words, rates: Array, tails: Array
) -> None:
    for campaign in range(CHECKED):
        package = by_the_package(rates, tails, campaign)
        alike = [word.replace("better", "differs") for word in package]
        alike = [word.replace("worse", "differs") for word in alike]
        if alike != on_arrays(said, campaign):
            sys.exit(f"{name}, {noise}, n = {n}: the package says {package}")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--campaigns", type=int, default=20_000, help="of each cell")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    print("| truth | n | % false, before | now | same/differs, before | now |")
    print("|---|---:|---:|---:|---:|---:|")
    worst: list[int] = []
    for name in TRUTHS:
        for row, most in of_truth(name, asked.campaigns, asked.seed):
            print(row, flush=True)
            worst.append(most)
    chance = 1 - 0.05 / len(worst)
    bound = int(distributions.binom.ppf(chance, asked.campaigns, ERROR))
    return int(max(worst) > bound)


if __name__ == "__main__":
    sys.exit(main())
