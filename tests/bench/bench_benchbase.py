"""What it costs to read what BenchBase leaves of many transactions: its table is read whole.

    make bench NAME=benchbase [ARGS="--transactions 10000000"]

Method: another process writes raw.csv of 64 terminals, one transaction after the other, with types
and latencies drawn from a captured execution (tests/fixtures/benchbase), and one rollback in a
hundred New-Orders. Then it is read, its figures are computed and it is stored as after a run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console

from orchestrator.analysis.figures import transactions
from orchestrator.extensions.benchbase import results
from orchestrator.system import parquet
from tests.bench.stages import Stages
from tests.benchbase import CAPTURED

TERMINALS, START_S = 64, 1_800_000_000
NAME, START, LATENCY, TERMINAL = (
    "Transaction Name",
    "Start Time (microseconds)",
    "Latency (microseconds)",
    "Worker Id (start number)",
)
NEW_ORDER = "com.oltpbenchmark.benchmarks.tpcc.procedures.NewOrder/01"


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--transactions", type=float, default=1e7)
    arguments.add_argument("--make", help="only write the files to this folder")
    asked = arguments.parse_args()
    if asked.make:
        make(Path(asked.make), round(asked.transactions))
        return 0
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        own = [sys.executable, "-m", "tests.bench.bench_benchbase", *sys.argv[1:]]
        subprocess.run([*own, "--make", folder], check=True)
        show(Path(folder))
    return 0


def make(out: Path, count: int) -> None:
    dice = np.random.default_rng(1)
    captured = pd.read_csv(CAPTURED / "tpcc.raw.csv", usecols=[NAME, LATENCY])
    each = []
    for terminal in range(TERMINALS):
        rows = captured.iloc[dice.integers(0, len(captured), count // TERMINALS)].copy()
        began_s = START_S + (rows[LATENCY].cumsum() - rows[LATENCY]) * 1e-6
        rows[START], rows[TERMINAL] = began_s, terminal
        each.append(rows)
    every = pd.concat(each).sort_values(START, ignore_index=True)
    every.to_csv(out / "tpcc.raw.csv", index=False, float_format="%.6f")
    orders = every[every[NAME] == "NewOrder"]
    back = orders.sample(frac=0.01, random_state=1).sort_index()
    ended = pd.to_datetime(back[START] + back[LATENCY] * 1e-6, unit="s")
    stamps = ended.dt.strftime("%Y-%m-%dT%H:%M:%S.%f").str[:-3]
    lines = (
        f"{stamp}\tTPCCWorker<{terminal:03d}>\t{NEW_ORDER} Aborted\n"
        for stamp, terminal in zip(stamps, back[TERMINAL], strict=True)
    )
    (out / results.ATTEMPTS).write_text("".join(lines))
    counts = {"aborted": {"HISTOGRAM": {NEW_ORDER: len(back)}}}
    (out / results.HISTOGRAMS).write_text(json.dumps(counts))


def show(out: Path) -> None:
    stages = Stages()
    stages.begin("read, find each outcome")
    table, facts = results.read_table(out)
    assert facts["outcomes_known"]
    start_s, end_s = table["start_s"].iloc[0], table["start_s"].iloc[-1]
    stages.begin("compute figures and intervals")
    transactions.measurements(table, start_s, end_s, None)
    transactions.intervals(table, {"measure": (start_s, end_s)})
    stages.begin("store")
    parquet.write(out / "latencies.parquet", (table,))
    stages.end()
    held = table.memory_usage(deep=True).sum() / len(table)
    Console().print(
        stages.table(
            f"{len(table):,} transactions of BenchBase; a table of {held:.0f} bytes each"
        )
    )


if __name__ == "__main__":
    sys.exit(main())
