"""What one standby's slow disk costs commits that wait for any one of two, and why.

    make bench NAME=slow_standby [ARGS="--minutes 9"]

Goal: docs/research/SLOW-DISK.md. Method: one run of `insert` by one session on PostgreSQL with two
standbys. In turns the disk of node-3 is as declared for 8 seconds, and at a tenth of its IOPS for
10, of which the first 2 are left out. Each turn begins when node-3 has caught up. So what the
machine does beside it falls on both alike. Ten times a second the primary says how long each
standby took to flush (`flush_lag`), and how far it is behind. As declared a commit waits for the
faster of two, and meanwhile for node-2 alone: the mean of the smaller lag, beside that of node-2's,
says what the loss of a choice costs. `--rate`: at that rate instead of a closed loop. Needs root,
Docker and the images of `make setup`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

PROFILE = """
question: What does one slow disk cost?
title: {iops} IOPS at 2 ms
cluster:
  nodes: 3
  replication_factor: 3
  node: {{smoke: {{cpus: 1, memory: 384MiB, disk: 2GiB}}}}
  settings: {{commit_waits_for: {waits_for}}}
tier: {{iops: {iops}, throughput: 50MB/s, read_latency: 2ms, write_latency: 2ms}}
"""
USUAL = "as declared"
TENTH = "a tenth"
STATES = (USUAL, TENTH)
FIGURES = ("per_s", "average_ms", "median_ms", "p90_ms", "p99_ms")
USUAL_S = 8.0
TENTH_S = 10.0
# What node-3 had begun before its disk was slow still ends in the first seconds.
LEFT_OUT_S = 2.0
CAUGHT_UP_BYTES = 100_000
LAGS = (
    "select extract(epoch from now()), application_name, extract(epoch from flush_lag), "
    "pg_wal_lsn_diff(pg_current_wal_flush_lsn(), flush_lsn) "
    "from pg_stat_replication \\watch 0.1\n"
)


@dataclass(frozen=True)
class Slice:
    """A time in which the disk of node-3 was in one state. Unix seconds; CPU of all cores in %."""

    state: str
    begin_s: float
    end_s: float
    cpu_pct: float


def output_of(*words: str) -> str:
    done = subprocess.run(words, check=True, text=True, stdout=subprocess.PIPE)
    return done.stdout


def container(ending: str) -> str:
    """Our container whose name ends so, once it runs."""
    for _ in range(600):
        names = output_of(
            "docker", "ps", "--filter", "label=tierbench", "--format", "{{.Names}}"
        )
        for name in names.split():
            if name.endswith(ending):
                return name
        time.sleep(0.5)
    raise TimeoutError(f"no container {ending}")


def cpu_times() -> np.ndarray:
    """Of all cores: ticks busy, and all ticks."""
    words = Path("/proc/stat").read_text().split()[1:9]
    ticks = np.array(words, dtype=float)
    idle = ticks[3] + ticks[4]
    return np.array([ticks.sum() - idle, ticks.sum()])


def is_caught_up(lags: Path) -> bool:
    """Whether node-3 was at most so far behind in each of the last second's answers."""
    behind: list[float] = []
    for line in lags.read_text().splitlines()[-24:]:
        words = line.split("|")
        if len(words) == 4 and words[1] == "node_3" and words[3]:
            behind.append(float(words[3]))
    return bool(behind) and max(behind) < CAUGHT_UP_BYTES


def measured_slice(state: str, length_s: float, left_out_s: float) -> Slice:
    time.sleep(left_out_s)
    begin_s = time.time()
    before = cpu_times()
    time.sleep(length_s - left_out_s)
    busy, ticks = cpu_times() - before
    return Slice(state, begin_s, time.time(), 100 * busy / ticks)


def alternate(disk: str, iops: int, lags: Path, end_s: float) -> list[Slice]:
    """Changes the disk until `end_s`, and returns what it was when."""
    slices: list[Slice] = []
    while time.time() < end_s - USUAL_S - TENTH_S:
        began_s = time.time()
        while not is_caught_up(lags) and time.time() < end_s:
            time.sleep(0.2)
        print(f"node-3 had caught up after {time.time() - began_s:.1f} s", flush=True)
        slices.append(measured_slice(USUAL, USUAL_S, 0.0))
        set_iops(disk, iops // 10)
        slices.append(measured_slice(TENTH, TENTH_S, LEFT_OUT_S))
        set_iops(disk, iops)
    return slices


def set_iops(disk: str, iops: int) -> None:
    output_of("docker", "exec", disk, "device", "set", f"iops={iops}")


def followed_lags(primary: str, to: Path) -> subprocess.Popen[str]:
    words = ("docker", "exec", "-i", primary, "psql", "-X", "-A", "-t", "-U", "bench")
    with to.open("w") as out:
        process = subprocess.Popen(
            [*words, "-d", "bench"], stdin=subprocess.PIPE, stdout=out, text=True
        )
    assert process.stdin is not None
    process.stdin.write(LAGS)
    process.stdin.flush()
    return process


def read_lags(path: Path) -> pd.DataFrame:
    """How long each standby took to flush (ms), by time; NaN where it has flushed nothing since."""
    rows: list[tuple[float, str, float]] = []
    for line in path.read_text().splitlines():
        words = line.split("|")
        if len(words) == 4 and words[2]:
            rows.append((float(words[0]), words[1], 1e3 * float(words[2])))
    table = pd.DataFrame(rows, columns=["time_s", "standby", "lag_ms"])
    lags = table.pivot_table(index="time_s", columns="standby", values="lag_ms")
    # PostgreSQL shows the last one again until there is another.
    return lags.where(lags.diff() != 0)


def inside(times_s: pd.Series | pd.Index, part: Slice) -> np.ndarray:
    return np.asarray((times_s >= part.begin_s) & (times_s < part.end_s))


def with_interval(values: np.ndarray) -> str:
    """The mean and its 95 % interval."""
    half = stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)
    mean = values.mean()
    return f"{mean:.1f} ({mean - half:.1f} to {mean + half:.1f})"


def figures(slices: list[Slice], latencies: pd.DataFrame) -> pd.DataFrame:
    """A row a slice: transactions/s, latencies in ms, CPU."""
    ended_s = latencies["start_s"] + latencies["latency_s"]
    rows: list[dict[str, object]] = []
    for number, part in enumerate(slices):
        latency_ms = 1e3 * latencies["latency_s"][inside(ended_s, part)]
        rows.append(
            {
                "turn": number // len(STATES),
                "state": part.state,
                "per_s": len(latency_ms) / (part.end_s - part.begin_s),
                "average_ms": latency_ms.mean(),
                "median_ms": latency_ms.median(),
                "p90_ms": latency_ms.quantile(0.9),
                "p99_ms": latency_ms.quantile(0.99),
                "cpu_pct": part.cpu_pct,
            }
        )
    return pd.DataFrame(rows)


def report(slices: list[Slice], latencies: pd.DataFrame, lags: pd.DataFrame) -> None:
    table = figures(slices, latencies)
    means = table.groupby("state")[[*FIGURES, "cpu_pct"]].mean()
    print(means.round(2).to_string())
    for figure in FIGURES:
        by_turn = table.pivot(index="turn", columns="state", values=figure).dropna()
        # What slows a whole turn cancels out in the ratio of its two.
        ratios = 100 * (by_turn[TENTH] / by_turn[USUAL]).to_numpy()
        print(
            f"{figure}: {with_interval(ratios)} % of as declared, {len(ratios)} turns"
        )
    for state in STATES:
        parts = [part for part in slices if part.state == state]
        found = pd.concat([lags[inside(lags.index, part)] for part in parts])
        print(f"flush lag in ms, {state}:")
        smaller = found.dropna().min(axis=1).rename("the smaller")
        for lag in (found["node_2"], found["node_3"], smaller):
            print(f"  {in_words(lag.dropna())}")
        if state == USUAL:
            print(without_a_choice(means["average_ms"][USUAL], found.dropna()))


def in_words(lag: pd.Series) -> str:
    shares = (0.5, 0.9, 0.99)
    percentiles = ", ".join(
        f"p{100 * share:.0f} {lag.quantile(share):.2f}" for share in shares
    )
    return f"{lag.name}: mean {lag.mean():.2f}, {percentiles} ({len(lag)} moments)"


def without_a_choice(average_ms: float, lags: pd.DataFrame) -> str:
    """What is left of a closed loop whose commits wait for node-2, not for the faster of two."""
    longer_ms = lags["node_2"] - lags[["node_2", "node_3"]].min(axis=1)
    more_ms = longer_ms.mean()
    half_ms = stats.t.ppf(0.975, len(longer_ms) - 1) * stats.sem(longer_ms)
    left = [
        100 * average_ms / (average_ms + value)
        for value in (more_ms, more_ms + half_ms, more_ms - half_ms)
    ]
    return (
        f"without a choice {more_ms:.2f} ms more: {left[0]:.1f} % are left "
        f"({left[1]:.1f} to {left[2]:.1f})"
    )


def measured(options: argparse.Namespace, folder: Path) -> None:
    measure_s = 60 * options.minutes
    profile = folder / f"{options.waits_for}.yaml"
    profile.write_text(PROFILE.format(iops=options.iops, waits_for=options.waits_for))
    sets = ["insert.table_size=100_000", f"insert.measure={measure_s:.0f}s"]
    sets += ["insert.warmup=5s", f"insert.threads={options.threads}"]
    if options.rate:
        sets.append(f"insert.arrival_rate={options.rate}")
    words = [sys.executable, "-m", "orchestrator", "run", "--profile", str(profile)]
    words += ["--workload", "insert", "--scale", "smoke", "--db", "postgresql"]
    words += ["--nodes", "3", "--repeats", "1", "--results", str(folder)]
    for text in sets:
        words += ["--set", text]
    with (folder / "run.log").open("w") as log:
        program = subprocess.Popen(words, stdout=log, stderr=log)
    while "  measuring " not in (folder / "run.log").read_text():
        if program.poll() is not None:
            raise RuntimeError((folder / "run.log").read_text())
        time.sleep(0.5)
    primary = container("-node-1")
    follower = followed_lags(primary, folder / "lags.txt")
    end_s = time.time() + measure_s - 5
    disk = container("-disk-node-3")
    slices = alternate(disk, options.iops, folder / "lags.txt", end_s)
    follower.terminate()
    program.wait()
    written = [[part.state, part.begin_s, part.end_s, part.cpu_pct] for part in slices]
    (folder / "slices.json").write_text(json.dumps(written))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=9)
    parser.add_argument("--rate", type=float, default=0, help="1/s; 0: a closed loop")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--iops", type=int, default=300)
    parser.add_argument("--waits-for", default="majority")
    parser.add_argument("--folder", type=Path, help="kept; read anew if it is measured")
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="slow-standby-"))
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "slices.json").exists():
        measured(options, folder)
    slices = [
        Slice(*words) for words in json.loads((folder / "slices.json").read_text())
    ]
    (path,) = (folder / "latest" / "runs").glob("*/latencies.parquet")
    report(slices, pd.read_parquet(path), read_lags(folder / "lags.txt"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
