"""What comparing within repetitions costs and gains: simulated campaigns, seeded.

    make bench NAME=blocks [ARGS="--repeats 4000"]

Goal: the figures of docs/research/ERROR-RATES.md, made again anywhere.
Method: three tiers and three workloads in
the order in which they are planned; values of one workload with normal noise of their logarithms,
while the machine moves. Two tiers are compared: now (`paired`: within repetitions); as in the first
releases (`Welch`: two independent samples, with degrees of freedom half-way to their lower bound);
and with the variance of all tiers around tier and repetition (`pooled`), which was not taken, since
it errs where tiers differ in noise. Exit 1 if paired intervals miss the truth in more than 5 % by
more than chance makes likely, where the movement is slower than two rounds.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy import special

from orchestrator.analysis.statistics import stats
from tests.plans import a_plan

REPETITIONS = (2, 3, 4, 5, 7)
DIFFERENCE = math.log(1.1)
TIERS, WORKLOADS = ("one", "two", "three"), ("point-select", "insert", "tpcc")
MOST_MISSED_PCT = 5.0

Interval = tuple[float, float]  # of logarithms
Rule = Callable[
    [np.ndarray], Interval
]  # from tiers × repetitions, the first two compared


Movement = Callable[
    [Any, Any, int], Any
]  # of time and phase, which are arrays, and rounds


@dataclass(frozen=True)
class Case:
    """`noise`: of each tier. `movement`: of the machine, from its time (0 to 1, in rounds) and a
    random phase (0 to 1) to what it adds to logarithms. `slow`: slower than two rounds."""

    noise: tuple[float, float, float]
    movement: Movement
    slow: bool = True


def steady(time: Any, phase: Any, rounds: int) -> Any:
    return 0 * phase


def drift(time: Any, phase: Any, rounds: int) -> Any:
    return 0.1 * time


def step(time: Any, phase: Any, rounds: int) -> Any:
    return np.where(time > phase, 0.1, 0.0)


def swing(time: Any, phase: Any, rounds: int) -> Any:
    return 0.05 * np.sin(2 * np.pi * (time + phase))


def two_rounds(time: Any, phase: Any, rounds: int) -> Any:
    return 0.05 * np.sin(2 * np.pi * (time * rounds / 2 + phase))


def slow_place(time: Any, phase: Any, rounds: int) -> Any:
    """One run of each round of tiers, at the same place in all: the first one, say."""
    place = (np.rint(time * rounds * len(TIERS) * len(WORKLOADS)) - 1) % len(TIERS)
    return np.where(place == np.floor(phase * len(TIERS)), -0.06, 0.0)


ALIKE, UNLIKE, THIRD_QUIET = (
    (0.02, 0.02, 0.02),
    (0.005, 0.05, 0.02),
    (0.05, 0.05, 0.005),
)
CASES: Mapping[str, Case] = {
    "steady": Case(ALIKE, steady),
    "drift of 10 % over the campaign": Case(ALIKE, drift),
    "step of 10 % somewhere": Case(ALIKE, step),
    "swing of ±5 % once in the campaign": Case(ALIKE, swing),
    "noise 0.5 and 5 %": Case(UNLIKE, steady),
    "noise 0.5 and 5 %, drift": Case(UNLIKE, drift),
    "noise 5 and 5 %, third tier 0.5 %": Case(THIRD_QUIET, steady),
    "one place of a round 6 % slower": Case(ALIKE, slow_place),
    "swing of ±5 % every two rounds": Case(ALIKE, two_rounds, slow=False),
}


def draw(case: Case, n: int, campaigns: int, random: np.random.Generator) -> np.ndarray:
    """Logarithms, campaigns × tiers × repetitions, all tiers alike."""
    runs = a_plan(TIERS, WORKLOADS, n).runs
    time = np.zeros((len(TIERS), n))
    for run in runs:
        if run.workload == WORKLOADS[0]:
            time[TIERS.index(run.profile), run.repetition - 1] = run.number / len(runs)
    noise = (
        random.normal(size=(campaigns, *time.shape)) * np.asarray(case.noise)[:, None]
    )
    moved: np.ndarray = noise + case.movement(time, random.random((campaigns, 1, 1)), n)
    return moved


def paired(logs: np.ndarray) -> Interval:
    found = stats.ratio_of_means(np.exp(logs[0]).tolist(), np.exp(logs[1]).tolist())
    assert found.low and found.high
    return math.log(found.low), math.log(found.high)


def welch(logs: np.ndarray) -> Interval:
    n = logs.shape[1]
    squares = np.maximum(logs[:2].std(axis=1, ddof=1), stats.NOISE_FLOOR) ** 2
    freedom = (squares.sum() ** 2 / (squares**2).sum() + 1) * (n - 1) / 2
    return _interval(logs, math.sqrt(squares.sum() / n), freedom)


def pooled(logs: np.ndarray) -> Interval:
    tiers, n = logs.shape
    rest = logs - logs.mean(axis=0) - logs.mean(axis=1, keepdims=True) + logs.mean()
    freedom = (n - 1) * (tiers - 1)
    spread = max(math.sqrt((rest**2).sum() / freedom), stats.NOISE_FLOOR)
    return _interval(logs, spread * math.sqrt(2 / n), freedom)


def _interval(logs: np.ndarray, error: float, freedom: float) -> Interval:
    change = float(logs[1].mean() - logs[0].mean())
    half = float(special.stdtrit(freedom, 0.975)) * error
    return change - half, change + half


RULES: Mapping[str, Rule] = {"paired": paired, "Welch": welch, "pooled": pooled}


def shares(
    case: Case, n: int, campaigns: int, seed: int = 1
) -> dict[str, tuple[float, float]]:
    """By rule: percent of intervals that miss no change, and that show a difference of 10 %."""
    drawn = draw(case, n, campaigns, np.random.default_rng(seed))
    found: dict[str, tuple[float, float]] = {}
    for name, rule in RULES.items():
        ends = np.asarray([rule(logs) for logs in drawn])
        missed = (ends[:, 0] > 0) | (ends[:, 1] < 0)
        seen = ends[:, 0] + DIFFERENCE > 0
        found[name] = (100 * float(missed.mean()), 100 * float(seen.mean()))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--repeats", type=int, default=4000, help="campaigns of each cell"
    )
    campaigns = parser.parse_args().repeats
    out, worst = Console(width=160), 0.0
    found = {
        name: [shares(case, n, campaigns) for n in REPETITIONS]
        for name, case in CASES.items()
    }
    for which, title in enumerate(
        ("intervals that miss the truth", "10 % differences seen")
    ):
        cells = ["", *(f"n={n}" for n in REPETITIONS)]
        table = Table(*cells, title=f"% {title}: {' / '.join(RULES)}", box=None)
        for name, row in found.items():
            words = (
                " / ".join(f"{one[rule][which]:.1f}" for rule in RULES) for one in row
            )
            table.add_row(name, *words)
        out.print(table)
    for name, case in CASES.items():
        worst = (
            max(worst, *(one["paired"][0] for one in found[name]))
            if case.slow
            else worst
        )
    error = 2 * math.sqrt(
        MOST_MISSED_PCT * (100 - MOST_MISSED_PCT) / campaigns
    )  # of a share here
    out.print(
        f"paired: misses at most {worst:.1f} %; 5 % may seem {5 + error:.1f} % by chance"
    )
    return int(worst > MOST_MISSED_PCT + error)


if __name__ == "__main__":
    sys.exit(main())
