"""What a live observation costs to judge: days of three disks, read each second.

    make bench NAME=live                  # a week
    make bench NAME=live ARGS="--days 1"

Goal: 500 MB for a week. Method: the files that such an observation leaves, a file for each minute
with the samples of all disks, are made up: rates that change from second to second by a lognormal
law. `tierbench observe --file` judges them in a process of its own, of which memory (at its peak,
with the charts of its page) and CPU are printed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from orchestrator.system import parquet
from tests import ROOT

DISKS = ("db-1 sdb", "db-2 sdb", "db-3 sdb")
BEGUN_S = 1_750_000_000
MINUTE_S = 60
MINUTES_OF_A_DAY = 1440
MOST_MB = 500.0
BYTES_AN_IO = 8192
# Of reads and of writes: counts, then bytes.
COUNTERS = (
    "disk_reads_total",
    "disk_writes_total",
    "disk_read_bytes_total",
    "disk_written_bytes_total",
)


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--days", type=int, default=7)
    asked = arguments.parse_args()
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        observation = Path(folder) / "observed"
        readings = make(observation, asked.days)
        judged(observation, Path(folder), readings, asked.days)
    return 0


def make(observation: Path, days: int) -> int:
    """Writes what was read; how many readings that are, one of each disk and second."""
    samples = observation / "samples" / f"{BEGUN_S}-1"
    samples.mkdir(parents=True)
    drawn = np.random.default_rng(1)
    ios = np.zeros((len(DISKS), 2, 1))  # reads and writes so far
    for minute in range(days * MINUTES_OF_A_DAY):
        shape = (len(DISKS), 2, MINUTE_S)
        more = np.cumsum(drawn.lognormal(6.0, 1.0, shape), axis=2)
        ios = np.floor(ios[:, :, -1:] + more)
        counters = np.concatenate([ios, ios * BYTES_AN_IO], axis=1)
        times_s = BEGUN_S + minute * MINUTE_S + np.arange(MINUTE_S, dtype=float)
        table = _samples(times_s, counters)
        file = samples / f"{minute + 1:05}.parquet"
        parquet.write(file, [table], lasting=False)
    return days * MINUTES_OF_A_DAY * MINUTE_S * len(DISKS)


def _samples(times_s: np.ndarray, counters: np.ndarray) -> pd.DataFrame:
    """A row for each disk, counter and second."""
    names = pd.MultiIndex.from_product(
        [DISKS, COUNTERS, times_s], names=["node", "metric", "time_s"]
    )
    table = pd.DataFrame({"value": counters.ravel()}, index=names).reset_index()
    return table.assign(unit="")


def judged(observation: Path, folder: Path, readings: int, days: int) -> None:
    words = [sys.executable, "-m", "orchestrator", "observe", "--size", "250GiB"]
    words += ["--file", str(observation), "--results", str(folder / "results")]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, f"it ended with {process.returncode}"
    peak_mb = used.ru_maxrss / 1024
    cpu_s = used.ru_utime + used.ru_stime
    print(
        f"{days} days, {readings / 1e6:.2f} million readings: {peak_mb:.0f} MB, "
        f"{peak_mb / MOST_MB:.2f} of 500 MB; CPU {cpu_s:.0f} s"
    )


if __name__ == "__main__":
    sys.exit(main())
