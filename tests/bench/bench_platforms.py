"""What a platform costs: the same runs on Docker and on Kubernetes here.

    python -m tests.bench.bench_platforms --rounds 3 [--workload point-select] [--profile ultra]

Method: one run on each in turn, in an order that turns about, one node, smoke scale; the ratio of
Kubernetes to Docker within each round with its 95 % interval. The control plane of the test cluster
takes about a tenth of one core itself, on the same machine, so this is an upper bound of what a
platform with machines of its own costs.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from orchestrator.analysis.statistics import stats
from orchestrator.platforms import own_images
from orchestrator.system import store
from tests import ROOT
from tests.cluster.cluster import Cluster, up

PLATFORMS = ("docker", "kubernetes")
FIGURES = {"throughput_per_s": "throughput", "latency_avg_s": "average latency"}


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--workload", default="point-select")
    arguments.add_argument("--profile", default="ultra")
    asked = arguments.parse_args()
    cluster = up(1)
    try:
        cluster.load(*(own_images.tag(ROOT, name) for name in own_images.OURS))
        rounds = [one_round(number, cluster, asked) for number in range(asked.rounds)]
    finally:
        cluster.down()
    table = Table(
        "figure", *PLATFORMS, "kubernetes against docker, median of rounds and interval"
    )
    for metric, name in FIGURES.items():
        series = {at: [one[at][metric] for one in rounds] for at in PLATFORMS}
        middle = (f"{median(series[at]):.4g}" for at in PLATFORMS)
        found = stats.ratio_of_means(series["docker"], series["kubernetes"])
        span = found.interval_pct
        interval = f" ({span[0]:+.1f} to {span[1]:+.1f} %)" if span else ""
        table.add_row(name, *middle, f"{found.change_pct:+.1f} %{interval}")
    Console().print(table)
    return 0


def one_round(
    number: int, cluster: Cluster, asked: argparse.Namespace
) -> dict[str, dict[str, float]]:
    """Platform → figure → value."""
    order = PLATFORMS if number % 2 == 0 else PLATFORMS[::-1]
    return {platform: measured(platform, cluster, asked) for platform in order}


def measured(
    platform: str, cluster: Cluster, asked: argparse.Namespace
) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as results:
        subprocess.run(
            [
                *(
                    sys.executable,
                    "-m",
                    "orchestrator",
                    "run",
                    "--profile",
                    asked.profile,
                ),
                *("--workload", asked.workload, "--scale", "smoke", "--nodes", "1"),
                *("--db", "postgresql", "--platform", platform, "--results", results),
            ],
            cwd=ROOT,
            env={**os.environ, "KUBECONFIG": str(cluster.kubeconfig)},
            stdout=sys.stderr,
            check=True,
        )
        record = store.load(Path(results) / "latest").runs[0].record
    return {m.metric: m.value for m in record.measurements if m.scope == "all"}


if __name__ == "__main__":
    sys.exit(main())
