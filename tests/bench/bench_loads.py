"""How often a tier is called overloaded, and a load wrongly proven to meet an SLO: simulated.

    make bench NAME=loads [ARGS="--repeats 40"]

Goal: the figures of docs/research/ERROR-RATES.md, made again anywhere.
Method: seeded. Overload: Poisson arrivals
at one server with exponential service times, first come first served; windows and warm-up of the
scales smoke and laptop. Capacity at the SLO: two tiers and four loads whose true p99 is the limit
exactly, with normal noise of its logarithm, 25 campaigns for each repeat. Exit 1 if a tier at 90 %
of its capacity or less is called overloaded, or one at 130 % is not, or if any load is proven in
more than 5 % of campaigns by more than chance makes likely.
"""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from orchestrator.analysis import overload
from orchestrator.analysis.decisions import load_sweeps
from orchestrator.analysis.figures.transactions import COMMITTED, Window
from orchestrator.metrics import measured
from orchestrator.model import Measurement, Objective, Record, Run, Workload
from tests import loads

CAPACITIES_PER_S = (100.0, 500.0, 4000.0)
LOADS = (0.7, 0.9, 0.95, 1.0, 1.02, 1.05, 1.1, 1.3)  # rate ÷ capacity
WINDOWS = {"smoke": (3.0, 7.0), "laptop": (15.0, 60.0)}  # scale → warm-up, window (s)
THREADS, REPETITIONS = 16, 3
NOISE_PCT, MOST_WRONG_PCT = (1.0, 2.0, 5.0), 5.0


def served(
    rate_per_s: float, capacity_per_s: float, end_s: float, dice: np.random.Generator
) -> tuple[pd.DataFrame, int]:
    """The records of a run, and how many transactions were due and had not begun."""
    due_s = np.cumsum(
        dice.exponential(1 / rate_per_s, int(rate_per_s * end_s * 1.5) + 100)
    )
    due_s = due_s[due_s < end_s]
    takes_s = dice.exponential(1 / capacity_per_s, due_s.size)
    busy_s = np.cumsum(takes_s)
    ended_s = busy_s + np.maximum.accumulate(
        due_s - (busy_s - takes_s)
    )  # Lindley's recursion
    begun = ended_s - takes_s < end_s
    columns = {
        "start_s": due_s,
        "latency_s": ended_s - due_s,
        "outcome": COMMITTED,
        "retries": 0,
    }
    table = pd.DataFrame(columns).assign(type=pd.Categorical(["x"] * len(due_s)))[begun]
    return table, int((~begun).sum())


def a_record(rate_per_s: float, measure_s: float) -> Record:
    campaign = loads.build(
        [loads.at_rate(rate_per_s)], lambda run, load: [], repetitions=1
    )
    record = campaign.runs[0].record
    workload = replace(record.workload, threads=THREADS, measure_s=measure_s)
    return replace(record, workload=workload)


def overloaded_pct(
    scale: str, capacity: float, load: float, repeats: int
) -> tuple[float, float]:
    """Of runs, and of tiers with three repetitions."""
    warmup_s, measure_s = WINDOWS[scale]
    rate, end_s = load * capacity, warmup_s + measure_s
    like, dice = a_record(rate, measure_s), np.random.default_rng(1)
    behind = []
    for _ in range(repeats * REPETITIONS):
        table, unstarted = served(rate, capacity, end_s, dice)
        facts = {
            "generator": {"unstarted": unstarted, "recorded_transactions": len(table)}
        }
        window = Window(warmup_s, end_s, pooled=False, at_a_rate=False)
        window.add(table)
        figures = window.flow(rate, unstarted)
        behind.append(
            overload.overloaded(replace(like, measurements=figures, facts=facts))
        )
    tiers = np.asarray(behind).reshape(repeats, REPETITIONS)
    return 100 * float(tiers.mean()), 100 * float(tiers.all(axis=1).mean())


def wrongly_proven_pct(repetitions: int, noise_pct: float, campaigns: int) -> float:
    """Campaigns in which any load of any tier is, none of which meets the SLO."""
    dice, limit_s, wrong = np.random.default_rng(7), 0.05, 0
    slo = (Objective("latency_p99_s", "all", limit_s),)

    def figures(run: Run, load: Workload) -> list[Measurement]:
        p99_s = limit_s * math.exp(dice.normal(0, noise_pct / 100))
        return [measured("throughput_per_s", 100.0), measured("latency_p99_s", p99_s)]

    for _ in range(campaigns):
        campaign = loads.build(
            loads.swept("threads=1,4,16,64", slo), figures, repetitions=repetitions
        )
        (swept,) = load_sweeps.Loads.of_plan(campaign, "load").values()
        tiers = [profile.name for profile in campaign.plan.profiles]
        wrong += any(swept.usable[tier].place is not None for tier in tiers)
    return 100 * wrong / campaigns


def proofs(campaigns: int) -> tuple[Table, bool]:
    """The table, and whether more is wrong than chance makes likely."""
    table = Table("repetitions", *(f"noise {noise:g} %" for noise in NOISE_PCT))
    table.title = f"% of {campaigns} campaigns in which a load is wrongly proven"
    most = MOST_WRONG_PCT + 300 * math.sqrt(0.05 * 0.95 / campaigns)
    wrong = False
    for n in (2, 3, 5):
        row = [wrongly_proven_pct(n, noise, campaigns) for noise in NOISE_PCT]
        table.add_row(str(n), *(f"{pct:.1f}" for pct in row))
        wrong |= max(row) > most
    return table, wrong


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0] if __doc__ else ""
    )
    parser.add_argument("--repeats", type=int, default=40)
    repeats = parser.parse_args().repeats
    table = Table("scale, capacity", *(f"{load:.0%}" for load in LOADS))
    table.title = f"% overloaded: runs (tiers of {REPETITIONS} runs)"
    wrong = False
    for scale in WINDOWS:
        for capacity in CAPACITIES_PER_S:
            row = [overloaded_pct(scale, capacity, load, repeats) for load in LOADS]
            table.add_row(
                f"{scale}, {capacity:g}/s",
                *(f"{runs:.1f} ({tiers:.1f})" for runs, tiers in row),
            )
            by_load = dict(zip(LOADS, row, strict=True))
            wrong |= any(
                tiers > 0 for load, (_, tiers) in by_load.items() if load <= 0.9
            )
            wrong |= by_load[1.3][1] < 100
    proven, too_often = proofs(25 * repeats)
    for one in (table, proven):
        Console(width=140).print(one)
    return int(wrong or too_often)


if __name__ == "__main__":
    sys.exit(main())
