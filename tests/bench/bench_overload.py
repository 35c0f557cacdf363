"""How often a tier is called overloaded, by what share of its capacity the rate is: simulated.

    make bench-overload [REPEATS=40]

Goal: the figures of docs/METHOD.md, made again anywhere. Method: seeded; Poisson arrivals at one
server with exponential service times, first come first served, whose queue is longer than that of
the databases measured here; windows and warm-up of the scales smoke and laptop. Exit 1 if a tier at
90 % of its capacity or less is ever called overloaded, or one at 130 % is not.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from orchestrator.analysis import overload
from orchestrator.model import Record
from tests import loads

CAPACITIES_PER_S = (100.0, 500.0, 4000.0)
LOADS = (0.7, 0.9, 0.95, 1.0, 1.02, 1.05, 1.1, 1.3)  # rate ÷ capacity
WINDOWS = {"smoke": (3.0, 7.0), "laptop": (15.0, 60.0)}  # scale → warm-up, window (s)
THREADS, REPETITIONS = 16, 3


def served(
    rate_per_s: float, capacity_per_s: float, end_s: float, dice: np.random.Generator
) -> tuple[pd.DataFrame, int]:
    """The records of a run, and how many transactions were due and had not begun."""
    due_s = np.cumsum(dice.exponential(1 / rate_per_s, int(rate_per_s * end_s * 1.5) + 100))
    due_s = due_s[due_s < end_s]
    takes_s = dice.exponential(1 / capacity_per_s, due_s.size)
    busy_s = np.cumsum(takes_s)
    ended_s = busy_s + np.maximum.accumulate(due_s - (busy_s - takes_s))  # Lindley's recursion
    begun = ended_s - takes_s < end_s
    table = pd.DataFrame({"start_s": due_s, "latency_s": ended_s - due_s})[begun]
    return table, int((~begun).sum())


def a_record(rate_per_s: float, measure_s: float) -> Record:
    campaign = loads.build([loads.at_rate(rate_per_s)], lambda run, load: [], repetitions=1)
    record = campaign.runs[0].record
    workload = replace(record.workload, threads=THREADS, measure_s=measure_s)
    return replace(record, workload=workload)


def overloaded_pct(scale: str, capacity: float, load: float, repeats: int) -> tuple[float, float]:
    """Of runs, and of tiers with three repetitions."""
    warmup_s, measure_s = WINDOWS[scale]
    rate, end_s = load * capacity, warmup_s + measure_s
    like, dice = a_record(rate, measure_s), np.random.default_rng(1)
    behind = []
    for _ in range(repeats * REPETITIONS):
        table, unstarted = served(rate, capacity, end_s, dice)
        facts = {"generator": {"unstarted": unstarted, "recorded_transactions": len(table)}}
        flow = overload.flow(table, warmup_s, end_s, rate, unstarted)
        behind.append(overload.overloaded(replace(like, measurements=flow, facts=facts)))
    tiers = np.asarray(behind).reshape(repeats, REPETITIONS)
    return 100 * float(tiers.mean()), 100 * float(tiers.all(axis=1).mean())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--repeats", type=int, default=40)
    repeats = parser.parse_args().repeats
    table = Table("scale, capacity", *(f"{load:.0%}" for load in LOADS))
    table.title = f"% overloaded: runs (tiers of {REPETITIONS} runs)"
    wrong = False
    for scale in WINDOWS:
        for capacity in CAPACITIES_PER_S:
            row = [overloaded_pct(scale, capacity, load, repeats) for load in LOADS]
            table.add_row(
                f"{scale}, {capacity:g}/s", *(f"{runs:.1f} ({tiers:.1f})" for runs, tiers in row)
            )
            by_load = dict(zip(LOADS, row, strict=True))
            wrong |= any(tiers > 0 for load, (_, tiers) in by_load.items() if load <= 0.9)
            wrong |= by_load[1.3][1] < 100
    Console(width=140).print(table)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
