"""How often `--confirm` names a limit that is none, finds the one that is, and says what it takes.

    make bench NAME=confirm ARGS="--repeats 1000"

Goal: a false limit in at most 5 % of trials, whatever the system does meanwhile. Method: throughput
in the order of changes that the package itself draws, while the system moves
(`tests/simulated_trials.py`), judged by the package's own rules. Six limits are tried. Noise is
that of a window of a 24th of the trials' time; shorter ones have as much more.

- false: a limit is named though throughput follows none, where counters told no cause;
- found, other: IOPS, which throughput follows (0.95), are named; another limit is;
- runs: where nothing was named, the median of the runs that are said to be needed;
- with them: how often IOPS are found with so many runs, and a limit is named where none is;
- kept: IOPS stay the cause, which counters had named; rejected: they do not, and are none.

Exit 1 if "false" or "other" is above 5 % anywhere by more than chance makes likely among all.
"""

from __future__ import annotations

import argparse
import re
import sys
import zlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from statistics import median

import numpy as np
from scipy import stats as distributions

from tests.simulated_trials import (
    TRIALS_S,
    Dice,
    System,
    dips,
    drift,
    judged,
    settling,
    step,
)

FOLLOWS = {"IOPS": 0.95}
SYSTEMS: Mapping[str, System] = {
    "3 %": System(0.03),
    "10 %": System(0.1),
    "20 %": System(0.2),
    "10 %, Student's t, 3 degrees of freedom": System(0.1, heavy_tails=True),
    "5 %, falls by 26 %": System(0.05, drift),
    "5 %, a step of 22 %": System(0.05, step),
    "5 %, settles": System(0.05, settling),
    "5 %, a third less in 30 % of the time, 3 times": System(0.05, dips(3)),
    "the same, 8 times": System(0.05, dips(8)),
    "the same, 1.5 times": System(0.05, dips(1.5)),
    "the same, 24 times": System(0.05, dips(24)),
    "5 %, half less in 50 % of the time, 3 times": System(0.05, dips(3, 0.5, 0.5)),
    "5 %, 63 % less in 30 % of the time, 3 times": System(0.05, dips(3, 0.3, 0.63)),
    "3 %, and 20 % of changes of IOPS": System(0.03, unsteady={"IOPS": 0.2}),
    "3 %, and 20 % of changes of sessions": System(0.03, unsteady={"sessions": 0.2}),
}


@dataclass(frozen=True)
class Row:
    """Counts, but `runs`."""

    system: str
    false: int
    found: int
    other: int
    runs: float
    found_with: int
    false_with: int
    kept: int
    rejected: int


def simulate(name: str, repeats: int, seed: int, trials_s: float) -> Row:
    system = SYSTEMS[name]
    dice = np.random.default_rng([seed, zlib.crc32(name.encode())])
    causes: list[str] = []
    needed: list[int] = []
    for _ in range(repeats):
        limit = judged("unattributed", system, FOLLOWS, dice, trials_s=trials_s)
        causes.append(limit.cause)
        told = re.search(r"About (\d+) such runs", limit.text)
        if limit.cause == "unattributed" and told:
            needed.append(int(told[1]))
    runs = median(needed or [1])
    falsely = _named(system, {}, repeats, dice, 1, trials_s)
    found_with = causes.count("iops_cap")
    false_with = falsely
    if runs > 1:
        with_runs = [
            judged("unattributed", system, FOLLOWS, dice, round(runs), trials_s).cause
            for _ in range(repeats)
        ]
        found_with = with_runs.count("iops_cap")
        false_with = _named(system, {}, repeats, dice, round(runs), trials_s)
    kept = [
        judged("iops_cap", system, FOLLOWS, dice, trials_s=trials_s).cause
        for _ in range(repeats)
    ]
    without = [
        judged("iops_cap", system, {}, dice, trials_s=trials_s).cause
        for _ in range(repeats)
    ]
    named = repeats - causes.count("unattributed")
    return Row(
        name,
        falsely,
        causes.count("iops_cap"),
        named - causes.count("iops_cap"),
        runs,
        found_with,
        false_with,
        kept.count("iops_cap"),
        without.count("unattributed"),
    )


def _named(
    system: System,
    elasticity: Mapping[str, float],
    repeats: int,
    dice: Dice,
    runs: int,
    trials_s: float,
) -> int:
    """How often any limit is named where counters told none."""
    named = 0
    for _ in range(repeats):
        limit = judged("unattributed", system, elasticity, dice, runs, trials_s)
        named += limit.cause != "unattributed"
    return named


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=1000, help="trials of each row")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--trials", type=float, default=TRIALS_S, help="seconds")
    parser.add_argument("--processes", type=int, default=1)
    asked = parser.parse_args(arguments)
    print(f"{asked.repeats} trials of {asked.trials:g} s a row, seed {asked.seed}; %.")
    print(
        "\n| windows | false | found | other | runs | found with them | false with them "
        "| kept | rejected |\n|---|" + "---:|" * 8
    )
    pct = 100 / asked.repeats
    wrong: list[int] = []
    with ProcessPoolExecutor(asked.processes) as pool:
        jobs = [
            pool.submit(simulate, name, asked.repeats, asked.seed, asked.trials)
            for name in SYSTEMS
        ]
        for job in jobs:
            row = job.result()
            wrong += [row.false, row.other, row.false_with]
            counts = (row.false, row.found, row.other)
            later = (row.found_with, row.false_with, row.kept, row.rejected)
            figures = [f"{pct * count:.1f}" for count in counts]
            figures.append(f"{row.runs:g}")
            figures += [f"{pct * count:.1f}" for count in later]
            print(f"| {row.system} | {' | '.join(figures)} |", flush=True)
    most = int(distributions.binom.ppf(1 - 0.05 / len(wrong), asked.repeats, 0.05))
    print(f"\nA true 5 % may seem {pct * most:.1f} % in the worst of {len(wrong)}.")
    return int(max(wrong) > most)


if __name__ == "__main__":
    sys.exit(main())
