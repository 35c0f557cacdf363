"""How often a trend and a comparison of two campaigns see changes, false and true: seeded.

    make bench-history [REPEATS=400]

Goal: the figures of docs/METHOD.md, made again anywhere. Method: series of campaign means drawn
around a level that stays (any change point is false) or that shifts before the last campaigns; two
campaigns whose repetitions are drawn around levels that differ by the spread between days. Exit 1
if more than 5 % of series without any change get one, by more than chance makes likely; campaigns
that depend on each other, and days that differ, are shown and not judged.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Mapping

import numpy as np
from rich.console import Console
from rich.table import Table

from orchestrator.analysis.campaigns import trend
from orchestrator.analysis.statistics import change_points, unpaired

LENGTHS = (8, 12, 20, 40)
NOISE = 0.02  # of campaign means, of their logarithms
MARGIN_PCT, MOST_FALSE_PCT = 5.0, 5.0
Draw = Callable[[np.random.Generator, int], np.ndarray]


def _dependent(random: np.random.Generator, n: int) -> np.ndarray:
    """Each value keeps 0.5 of the one before, as where a machine changes slowly."""
    values = random.normal(size=n)
    for place in range(1, n):
        values[place] = 0.5 * values[place - 1] + math.sqrt(0.75) * values[place]
    return values


STEADY: Mapping[str, Draw] = {
    "normal": lambda random, n: random.normal(size=n),
    "heavy tails (t, 3 degrees)": lambda random, n: random.standard_t(3, size=n),
    "one in ten an outlier of 5": lambda random, n: (
        random.normal(size=n) - 5 * (random.random(n) < 0.1)
    ),
    "in whole steps": lambda random, n: np.round(random.normal(size=n)),
}


def false_alarms_pct(draw: Draw, n: int, trials: int, seed: int = 1) -> float:
    """Percent of series without a change in which one is found."""
    random = np.random.default_rng(seed)
    found = sum(bool(change_points.find(NOISE * draw(random, n))) for _ in range(trials))
    return 100 * found / trials


def ever_pct(looks: int, trials: int, seed: int = 1) -> tuple[float, float]:
    """Percent of normal series, looked at after each of so many campaigns from the eighth on, in
    which any look finds a change; and in which any calls the newest level 5 % worse."""
    random, any_, worse = np.random.default_rng(seed), 0, 0
    for _ in range(trials):
        values = random.normal(0.0, NOISE, change_points.FEWEST + looks - 1)
        cuts = [values[: change_points.FEWEST + look] for look in range(looks)]
        found = [(cut, change_points.find(cut)) for cut in cuts]
        any_ += any(places for _, places in found)
        worse += any(_fell(cut, places) for cut, places in found if places)
    return 100 * any_ / trials, 100 * worse / trials


def _fell(values: np.ndarray, places: tuple[int, ...]) -> bool:
    begin = places[-2] if len(places) > 1 else 0
    before, last = values[begin : places[-1]], values[places[-1] :]
    return float(last.mean() - before.mean()) < math.log1p(-MARGIN_PCT / 100)


def seen_pct(shift: float, before: int, after: int, trials: int, seed: int = 1) -> float:
    """Percent of series with a shift of the last `after` campaigns in which their level is found
    to begin there, or one campaign beside it."""
    random, seen = np.random.default_rng(seed), 0
    for _ in range(trials):
        values = random.normal(0.0, NOISE, before + after)
        values[before:] += math.log1p(shift)
        seen += any(abs(place - before) <= 1 for place in change_points.find(values))
    return 100 * seen / trials


def open_pct(shift: float, before: int, trials: int, seed: int = 1) -> float:
    """Percent of series whose last campaign alone is shifted that are called open."""
    random, seen = np.random.default_rng(seed), 0
    for _ in range(trials):
        values = random.normal(0.0, NOISE, before + 1)
        values[-1] += math.log1p(shift)
        seen += bool(trend.open_question(values.tolist()))
    return 100 * seen / trials


def differ_pct(n: int, noise: float, between_days: float, trials: int, seed: int = 1) -> float:
    """Percent of pairs of campaigns of equal truth that are called better or worse: the interval
    excludes no change and does not lie within the margin of 5 %."""
    random, wrong = np.random.default_rng(seed), 0
    for _ in range(trials):
        days = random.normal(0.0, between_days, 2)
        one, two = (np.exp(day + random.normal(0.0, noise, n)).tolist() for day in days)
        low, high = unpaired.ratio(one, two).interval_pct or (0.0, 0.0)
        wrong += (low > 0 or high < 0) and not (low >= -MARGIN_PCT and high <= MARGIN_PCT)
    return 100 * wrong / trials


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=400, help="series of each row and column")
    trials = parser.parse_args().repeats
    out, worst = Console(width=120), 0.0
    table = Table("% with a false change", *(f"{n} campaigns" for n in LENGTHS), box=None)
    for name, draw in STEADY.items():
        row = [false_alarms_pct(draw, n, trials) for n in LENGTHS]
        worst = max(worst, *row)
        table.add_row(name, *(f"{share:.1f}" for share in row))
    row = [false_alarms_pct(_dependent, n, trials) for n in LENGTHS]
    table.add_row("dependent (0.5 of the last)", *(f"{share:.1f}" for share in row))
    out.print(table)
    ever, worse = ever_pct(13, max(1, trials // 4))
    out.print(
        f"looked at after each of 8 to 20 campaigns: {ever:.1f} % of series ever show a false "
        f"change, {worse:.1f} % one to a level that is 5 % worse"
    )
    shifts = (0.03, 0.05, 0.1, 0.2)
    table = Table("% of shifts seen at 2 % noise", *(f"{100 * s:g} %" for s in shifts), box=None)
    for before, after in ((8, 2), (12, 2), (20, 2), (12, 3), (20, 3), (12, 5), (20, 5), (20, 10)):
        row = [seen_pct(shift, before, after, max(1, trials // 2)) for shift in shifts]
        table.add_row(f"{before} before, {after} after", *(f"{share:.0f}" for share in row))
    for before in (5, 12, 20):
        row = [open_pct(shift, before, 20 * trials) for shift in (0.0, *shifts)]
        first = f"{before} before, 1 after: open (without a shift {row[0]:.1f})"
        table.add_row(first, *(f"{share:.0f}" for share in row[1:]))
    out.print(table)
    spreads = (0.0, 0.005, 0.01, 0.02)
    title = "% of equal campaigns called better or worse, 1 % noise; spread of days:"
    table = Table(title, *(f"{100 * spread:g} %" for spread in spreads), box=None)
    for n in (2, 3, 5):
        row = [differ_pct(n, 0.01, spread, 20 * trials) for spread in spreads]
        table.add_row(f"n = {n}", *(f"{share:.1f}" for share in row))
    out.print(table)
    error = 2 * math.sqrt(MOST_FALSE_PCT * (100 - MOST_FALSE_PCT) / trials)
    chance = f"a share of 5 % may seem {MOST_FALSE_PCT + error:.1f} % by chance"
    out.print(f"false changes at most: {worst:.1f} %; {chance}")
    return int(worst > MOST_FALSE_PCT + error)


if __name__ == "__main__":
    sys.exit(main())
