"""How far predictions with other memory are off: PostgreSQL on an emulated disk.

    make bench NAME=memory ARGS="--campaigns memory [--loads uniform]"

`point-select` on azure/P30 with 8 sessions and 1.5 GB, keys uniform or by sysbench's `pareto`:
with 512 MiB of memory once cold and once warm, 120 s each, with 768 MiB and 1 GiB warm, 60 s each.
From each warm run the other two are predicted, by the curve of the cold one. What DIR has is not
measured again; one load takes some twelve minutes. Goals: nine in ten within 10 % of reads and of
throughput, all intervals hold.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from orchestrator.analysis.prediction.demands import model
from orchestrator.analysis.prediction.miss_curve import with_memory
from orchestrator.analysis.prediction.prediction import FIGURES, Predictor
from orchestrator.analysis.results import Results, RunData, machine_cpus, whole
from orchestrator.errors import UsageError
from orchestrator.system import store

MIB = 2**20
PROFILE = """\
question: What does memory of {mib} MiB give?
title: {mib} MiB
tier: azure/P30
cluster:
  database: postgresql
  nodes: 1
  replication_factor: 1
  node:
    laptop: {{cpus: 2, memory: {mib}MiB, disk: 6GiB}}
"""
LOAD = (
    *("--workloads", "point-select", "--scale", "laptop", "--repeats", "1"),
    *("--set", "warmup=30s", "--set", "table_size=1500000", "--set", "threads=8"),
)
# Part of a campaign → memory in MiB, and what is asked for beside the load.
PARTS = {
    "base": ([512], ("--vary", "cache=cold,warm", "--set", "measure=120s")),
    "more": ([768, 1024], ("--set", "measure=60s")),
}
LOADS = ("uniform", "pareto")


def measured(folder: Path, load: str) -> Results:
    """All runs of a load as of one campaign. What is not there yet is measured."""
    parts = []
    for part, (sizes, words) in PARTS.items():
        results = folder.resolve() / f"{load}-{part}"
        if store.newest(results) is None:
            folder.mkdir(parents=True, exist_ok=True)
            files = [folder.resolve() / f"m{mib}.yaml" for mib in sizes]
            for file, mib in zip(files, sizes, strict=True):
                file.write_text(PROFILE.format(mib=mib))
            profiles = ("--profiles", ",".join(map(str, files)), "--results", str(results))
            argv = ("-m", "orchestrator", "compare", *profiles, *LOAD, *words)
            asked = (sys.executable, *argv, "--set", f"rand_type={load}")
            subprocess.run(asked, check=False)
        newest = store.newest(results)
        assert newest is not None, f"no campaign was measured in {results}"
        parts.append(store.load(newest))
    base, more = parts
    runs = [replace(r.record.run, number=100 + r.record.run.number) for r in more.done]
    beside = [
        replace(r, record=replace(r.record, run=run))
        for r, run in zip(more.done, runs, strict=True)
    ]
    return replace(base, runs=(*base.done, *beside))


def memory_of(run: RunData) -> int:
    return next(n.memory_bytes for n in run.record.nodes if n.role == "database") or 0


def show(load: str, campaign: Results) -> list[tuple[float, float, bool]]:
    """A line for each prediction. Of each the errors of reads and throughput, as logarithms, and
    whether the interval held."""
    cpus, rows = machine_cpus(campaign), []
    warm = [run for run in campaign.done if "cold" not in run.record.workload.name]
    for source in warm:
        system, _ = model(source, None, cpus)
        for truth in warm:
            if truth is source:
                continue
            memory_bytes, name = memory_of(truth), f"{memory_of(source) // MIB:5d} →"
            name = f"{load:8s} {name} {memory_bytes // MIB:5d} MiB"
            try:
                share, _ = with_memory(campaign, source, memory_bytes, system)
                predictor = Predictor(campaign, source, memory_bytes=memory_bytes)
            except UsageError as error:
                print(f"{name}  refused: {error.what}")
                continue
            there, _ = model(truth, None, cpus)
            reads, true = share * system.stages[-1][1], there.stages[-1][1]
            tier = source.record.profile.tier
            predicted = predictor.predict(tier).figures
            told, off = "", math.log(reads / true)
            for metric, scope in FIGURES:
                (value,), estimate = whole([truth], (metric, scope)), predicted[metric]
                told += f"  {estimate.value:8.4g} {value:8.4g} {100 * (estimate.value / value - 1):+5.0f} %"
            figure, (rate,) = predicted["throughput_per_s"], whole([truth], FIGURES[0])
            holds = figure.low <= rate <= figure.high
            rows.append((off, math.log(figure.value / rate), holds))
            print(
                f"{name}  {reads:6.2f} {true:6.2f} {100 * math.expm1(off):+5.0f} %{told}  {holds}"
            )
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--campaigns", type=Path, default=Path("results/memory"), metavar="DIR")
    parser.add_argument("--loads", nargs="+", default=LOADS, choices=LOADS)
    given = parser.parse_args()
    print("predicted, measured, error: reads of a transaction, throughput, average, p99; holds")
    rows = [row for load in given.loads for row in show(load, measured(given.campaigns, load))]
    errors = 100 * np.expm1(np.abs([row[:2] for row in rows]))
    medians, most = np.median(errors, axis=0), np.percentile(errors, 90, axis=0)
    held = sum(row[2] for row in rows)
    print(f"{len(rows)} predictions: median, nine in ten below, of reads and throughput")
    print(f"{medians.round(1)} {most.round(1)} %; {held} intervals hold")
    return 0 if (most <= 10).all() and held == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
