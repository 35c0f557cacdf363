"""How often a trend and a comparison of two campaigns see changes, false and true: seeded.

    make bench NAME=history [ARGS="--repeats 400"]

Goal: the figures of docs/research/ERROR-RATES.md, made again anywhere.
Method: series of campaign means drawn
around a level that stays (any change point is false) or that shifts before the last campaigns; two
campaigns, and those before them, whose repetitions are drawn around levels that differ by the
spread between days. Exit 1 if more than 5 % of series without any change get one, or more than 5 %
of pairs of equal campaigns are called different, by more than chance makes likely; campaigns that
depend on each other, and days that do not spread normally, are shown and not judged.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Mapping

import numpy as np
from rich.console import Console
from rich.table import Table

from orchestrator.analysis import comparisons
from orchestrator.analysis.figure_pairs import Pair
from orchestrator.extensions.over_time import across_days, comparing, trend
from orchestrator.metrics import METRICS

LENGTHS = (8, 12, 20, 40)
NOISE = 0.02  # of campaign means, of their logarithms
SPREADS = (0.0, 0.01, 0.02, 0.05)  # between days
FIGURES = 6
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
DAYS: Mapping[str, Draw] = {  # deviation 1
    "normal": STEADY["normal"],
    "heavy tails": lambda random, n: random.standard_t(3, size=n) / math.sqrt(3),
    "three in ten of another level": lambda random, n: (
        ((random.random(n) < 0.3) - 0.3) / math.sqrt(0.21)
    ),
    "one in ten an outlier of 5": STEADY["one in ten an outlier of 5"],
    "dependent": _dependent,
}


def false_alarms_pct(draw: Draw, n: int, trials: int, seed: int = 1) -> float:
    """Percent of series without a change in which one is found."""
    random = np.random.default_rng(seed)
    found = sum(
        bool(across_days.change_points(NOISE * draw(random, n))) for _ in range(trials)
    )
    return 100 * found / trials


def ever_pct(looks: int, trials: int, seed: int = 1) -> tuple[float, float]:
    """Percent of normal series, looked at after each of so many campaigns from the eighth on, in
    which any look finds a change; and in which any calls the newest level 5 % worse."""
    random, any_, worse = np.random.default_rng(seed), 0, 0
    for _ in range(trials):
        values = random.normal(0.0, NOISE, across_days.FEWEST + looks - 1)
        cuts = [values[: across_days.FEWEST + look] for look in range(looks)]
        found = [(cut, across_days.change_points(cut)) for cut in cuts]
        any_ += any(places for _, places in found)
        worse += any(_fell(cut, places) for cut, places in found if places)
    return 100 * any_ / trials, 100 * worse / trials


def _fell(values: np.ndarray, places: tuple[int, ...]) -> bool:
    begin = places[-2] if len(places) > 1 else 0
    before, last = values[begin : places[-1]], values[places[-1] :]
    return float(last.mean() - before.mean()) < math.log1p(-MARGIN_PCT / 100)


def seen_pct(
    shift: float, before: int, after: int, trials: int, seed: int = 1
) -> float:
    """Percent of series with a shift of the last `after` campaigns in which their level is found
    to begin there, or one campaign beside it."""
    random, seen = np.random.default_rng(seed), 0
    for _ in range(trials):
        values = random.normal(0.0, NOISE, before + after)
        values[before:] += math.log1p(shift)
        seen += any(
            abs(place - before) <= 1 for place in across_days.change_points(values)
        )
    return 100 * seen / trials


def open_pct(shift: float, before: int, trials: int, seed: int = 1) -> float:
    """Percent of series whose last campaign alone is shifted that are called open."""
    random, seen = np.random.default_rng(seed), 0
    for _ in range(trials):
        values = random.normal(0.0, NOISE, before + 1)
        values[-1] += math.log1p(shift)
        seen += bool(trend.open_question(values.tolist()))
    return 100 * seen / trials


def differ_pct(
    n: int,
    between_days: float,
    history: int,
    trials: int,
    days: str = "normal",
    change: float = 0.0,
    seed: int = 1,
) -> float:
    """Percent of pairs of campaigns of which anything is called better or worse: of `FIGURES`
    figures that share the level of their day, with 1 % noise of each run, and the spread between
    days learnt from so many campaigns before. `change`: the true one of all figures."""
    random, wrong = np.random.default_rng(seed), 0
    for _ in range(trials):
        levels = between_days * DAYS[days](random, history + 2)
        levels[-1] += math.log1p(change)
        noise = random.normal(0.0, 0.01, (FIGURES, history + 2, n))
        pairs = [_pair(np.exp(levels[:, None] + of_figure)) for of_figure in noise]
        made = comparisons.deltas("before", pairs, MARGIN_PCT, MARGIN_PCT)
        wrong += any(delta.verdict in ("better", "worse") for delta in made)
    return 100 * wrong / trials


def _pair(values: np.ndarray) -> Pair:
    """The last two campaigns; those before are their history, if there is any."""
    *history, before, after = (tuple(one.tolist()) for one in values)
    ratio = across_days.ratio(before, after, history)
    metric = METRICS["throughput_per_s"]
    return Pair("after", "w", metric, "all", before, after, ratio, "", in_blocks=False)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--repeats", type=int, default=400, help="series of each row and column"
    )
    trials = parser.parse_args().repeats
    out, worst = Console(width=120), 0.0
    table = Table(
        "% with a false change", *(f"{n} campaigns" for n in LENGTHS), box=None
    )
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
    table = Table(
        "% of shifts seen at 2 % noise", *(f"{100 * s:g} %" for s in shifts), box=None
    )
    for before, after in (
        (8, 2),
        (12, 2),
        (20, 2),
        (12, 3),
        (20, 3),
        (12, 5),
        (20, 5),
        (20, 10),
    ):
        row = [seen_pct(shift, before, after, max(1, trials // 2)) for shift in shifts]
        table.add_row(
            f"{before} before, {after} after", *(f"{share:.0f}" for share in row)
        )
    for before in (5, 12, 20):
        row = [open_pct(shift, before, 20 * trials) for shift in (0.0, *shifts)]
        first = f"{before} before, 1 after: open (without a shift {row[0]:.1f})"
        table.add_row(first, *(f"{share:.0f}" for share in row[1:]))
    out.print(table)
    worst_pair = _show_pairs(out, 2 * trials)
    error = 2 * math.sqrt(MOST_FALSE_PCT * (100 - MOST_FALSE_PCT) / trials)
    chance = f"a share of 5 % may seem {MOST_FALSE_PCT + error:.1f} % by chance"
    out.print(f"false changes at most: {worst:.1f} %; {chance}")
    failed = worst > MOST_FALSE_PCT + error
    error = 3 * math.sqrt(MOST_FALSE_PCT * (100 - MOST_FALSE_PCT) / (2 * trials))
    chance = f"of so many shares of 5 % one may seem {MOST_FALSE_PCT + error:.1f} % by chance"
    out.print(
        f"equal campaigns called different, normal days: {worst_pair:.1f} %; {chance}"
    )
    return int(failed or worst_pair > MOST_FALSE_PCT + error)


def _show_pairs(out: Console, trials: int) -> float:
    """Prints how often pairs of campaigns are called different; the highest share that is false,
    of days that spread normally."""
    worst = 0.0
    title = f"% of equal pairs called different in any of {FIGURES} figures; spread of days:"
    table = Table(title, *(f"{100 * spread:g} %" for spread in SPREADS), box=None)
    for n in (3, 5):
        row = [differ_pct(n, spread, 0, trials) for spread in SPREADS]
        first = f"n = {n}, by Welch's interval alone (no word rests on it)"
        table.add_row(first, *(f"{share:.1f}" for share in row))
    for history in (comparing.FEWEST_HISTORY, 8, 20):
        for n in (3, 5):
            row = [differ_pct(n, spread, history, trials) for spread in SPREADS]
            worst = max(worst, *row)
            first = f"n = {n}, {history} campaigns of history"
            table.add_row(first, *(f"{share:.1f}" for share in row))
    for days in list(DAYS)[1:]:
        row = [differ_pct(3, spread, 8, trials, days) for spread in SPREADS]
        table.add_row(
            f"n = 3, 8 campaigns, days: {days}", *(f"{share:.1f}" for share in row)
        )
    out.print(table)
    changes = (-0.05, -0.1, -0.2, -0.3)
    table = Table(
        "% of falls seen, n = 3", *(f"{100 * c:g} %" for c in changes), box=None
    )
    for spread in (0.01, 0.02, 0.05):
        for history in (comparing.FEWEST_HISTORY, 8, 20):
            row = [
                differ_pct(3, spread, history, trials // 2, change=change)
                for change in changes
            ]
            first = f"days spread by {100 * spread:g} %, {history} campaigns"
            table.add_row(first, *(f"{share:.0f}" for share in row))
    out.print(table)
    return worst


if __name__ == "__main__":
    sys.exit(main())
