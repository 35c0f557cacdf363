"""What it costs to judge a campaign on a hundred nodes and to write its report.

    make bench NAME=judging [ARGS="--nodes 100 --hours 1 --repeats 2"]

Goal: time, CPU and memory of `tierbench report` where telemetry is most of what a campaign left.
Method: another process writes a results folder of two tiers and `insert`, each run with the samples
of all its nodes, as many as collectors take: 16 counters a second of a node, 6 of the server of its
disk, 2 of the machine. Their rates are of `tests/campaigns.py`. Then the folder is read, judged and
reported as the command does. Memory is the peak of resident memory in each stage.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console

from orchestrator.analysis.results import RunData
from orchestrator.analysis.verdicts import judge
from orchestrator.cli.measure import concluding
from orchestrator.model import Node
from orchestrator.system import campaign_writing, parquet, store
from tests.bench.stages import Stages
from tests.campaign_tables import unit_of
from tests.campaigns import SHAPES, build_campaign, build_run, stored

METRICS = {
    "database": (
        "cpu_seconds_total",
        "cpu_throttled_seconds_total",
        "memory_used_bytes",
        "memory_cache_bytes",
        "network_received_bytes_total",
        "network_sent_bytes_total",
        "disk_reads_total",
        "disk_read_bytes_total",
        "disk_read_seconds_total",
        "disk_writes_total",
        "disk_written_bytes_total",
        "disk_write_seconds_total",
        "disk_in_flight",
        "disk_busy_seconds_total",
        "disk_queue_seconds_total",
        "disk_flushes_total",
    ),
    "host": ("cpu_busy_seconds_total", "pressure_memory_some_seconds_total"),
}
OF_OTHERS = METRICS["database"][:6]  # clients and the servers of disks
PER_S = {
    "cpu_seconds_total": 1.2,
    "cpu_busy_seconds_total": 20.0,
    "disk_reads_total": 300.0,
    "disk_read_bytes_total": 300.0 * 16_384,
    "disk_read_seconds_total": 0.6,
    "disk_writes_total": 690.0,
    "disk_written_bytes_total": 690.0 * 16_384,
    "disk_write_seconds_total": 1.4,
    "disk_busy_seconds_total": 0.9,
    "disk_queue_seconds_total": 2.0,
}
PART = 2**18  # rows, as `run/record/telemetry.py` leaves them


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--nodes", type=int, default=100)
    arguments.add_argument(
        "--hours", type=float, default=1.0, help="of each measured window"
    )
    arguments.add_argument("--repeats", type=int, default=2, help="runs of each tier")
    arguments.add_argument("--make", help="only write the results folder into this one")
    asked = arguments.parse_args()
    if asked.make:
        print(make(asked, Path(asked.make)))
        return 0
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        own = [
            sys.executable,
            "-m",
            "tests.bench.bench_judging",
            *sys.argv[1:],
            "--make",
            folder,
        ]
        made = subprocess.run(own, check=True, stdout=subprocess.PIPE, text=True)
        show(asked, Path(made.stdout.strip()))
    return 0


def make(asked: argparse.Namespace, folder: Path) -> Path:
    """Writes the campaign; returns its folder."""
    campaign = build_campaign(
        profiles=("premium", "premium-v2"),
        workloads=("insert",),
        repetitions=asked.repeats,
        nodes=asked.nodes,
        warmup_s=30.0,
        measure_s=asked.hours * 3600,
        frames=False,
        change=lambda record: replace(
            record,
            nodes=(*record.nodes, *(_server(node) for node in record.nodes[:-2])),
        ),
    )
    made = stored(campaign, folder)
    for run in campaign.runs:
        out = campaign_writing.run_folder(made, run.record.run)
        parquet.write(out / "samples.parquet", _samples(run))
        _intervals(run).to_csv(out / "intervals.csv", index=False)
    return made


def _server(node: Node) -> Node:
    return Node(f"disk-{node.name}", "disk", f"disk-{node.name}")


def _samples(run: RunData) -> Iterator[pd.DataFrame]:
    """Second by second all counters of all nodes, in parts."""
    series = [
        (node.name, metric)
        for node in run.record.nodes
        for metric in METRICS.get(node.role, OF_OTHERS)
    ]
    warmup, measure = run.record.phases
    dice = np.random.default_rng(run.record.run.number)
    values = np.full(len(series), 1000.0)
    per_s = np.array([PER_S.get(metric, 100.0) for _, metric in series])
    node, metric, unit = (
        pd.Series(column, dtype=str)
        for column in zip(*((*one, unit_of(one[1])) for one in series), strict=True)
    )
    seconds = np.arange(warmup.start_s, measure.end_s)
    at_once = max(1, PART // len(series))
    for begin in range(0, len(seconds), at_once):
        time_s = seconds[begin : begin + at_once]
        grown = np.cumsum(
            per_s * dice.normal(1.0, 0.05, (len(time_s), len(series))), axis=0
        )
        places = np.tile(np.arange(len(series)), len(time_s))
        phase = pd.Series(
            np.where(time_s < measure.start_s, "warm-up", "measure"), dtype=str
        )
        yield pd.DataFrame(
            {
                "time_s": np.repeat(time_s, len(series)),
                "node": node.take(places).array,
                "metric": metric.take(places).array,
                "unit": unit.take(places).array,
                "value": (values + grown).ravel(),
                "phase": phase.take(
                    np.repeat(np.arange(len(time_s)), len(series))
                ).array,
            }
        )
        values = values + grown[-1]


def _intervals(run: RunData) -> pd.DataFrame:
    """Those of a cluster of one node: they are a row a second all the same."""
    record = run.record
    profile = replace(record.profile, cluster=replace(record.profile.cluster, nodes=1))
    shape = SHAPES[profile.name, record.workload.name]
    return build_run(record.run, profile, record.workload, shape).intervals


def show(asked: argparse.Namespace, folder: Path) -> None:
    stages = Stages()
    stages.begin("read plan and records")
    campaign = store.load(folder)
    stages.begin("judge")
    verdict = judge(campaign)
    campaign_writing.save_verdict(folder, verdict)
    stages.begin("write the report")
    concluding.write_report(campaign, verdict, folder)
    stages.end()
    Console().print(
        stages.table(
            f"{asked.nodes} nodes, {len(campaign.runs)} runs of {asked.hours:g} h"
        )
    )


if __name__ == "__main__":
    sys.exit(main())
