"""How much load one core of a client machine can make: transactions/s per core, by workload.

    make bench-client

Goal: how many clients a campaign needs (docs/SCALE.md). Method: PostgreSQL without a tier, data
that its memory holds; of each workload one run on a fresh server. CPU time of the client's
container, user and kernel, over all transactions of warm-up and window; its inverse is what one
core could make if it did nothing else. Client and server share this machine, so the rate itself is
not the client's limit; CPU time hardly depends on what else runs.
"""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from orchestrator.cli import outside
from orchestrator.cli.console import ConsoleProgress
from orchestrator.databases.postgresql.adapter import PostgreSQL
from orchestrator.load_generators import load_generators
from orchestrator.model import Cluster, Workload
from orchestrator.planning import project_files
from orchestrator.powers import World
from tests import ROOT
from tests.bench.bench_tpcc import cpu_seconds, on_fresh_server
from tests.bench.bench_tpcc import workload as tpcc

THREADS, WARMUP_S, MEASURE_S = 16, 2.0, 15.0


@dataclass(frozen=True)
class Limit:
    """Of one run; `cpu_s` is per transaction."""

    per_s: float
    cpu_s: float


def main() -> int:
    _, built_in = project_files.read(ROOT, [], ["point-select", "insert"], "smoke")
    progress = ConsoleProgress(Console(stderr=True))
    table = Table("workload", "transactions/s here", "client CPU, ms each", "per client core, 1/s")
    with (
        outside.powers(ROOT, ROOT / ".cache", progress) as (world, engine),
        outside.alone(engine),
    ):
        world.platform.sweep()
        for workload in (*built_in, tpcc(None)):
            asked = replace(workload, threads=THREADS, warmup_s=WARMUP_S, measure_s=MEASURE_S)
            limit = on_fresh_server(functools.partial(measured, asked), world)
            table.add_row(
                asked.name,
                f"{limit.per_s:,.0f}",
                f"{limit.cpu_s * 1000:.3f}",
                f"{1 / limit.cpu_s:,.0f}",
            )
    progress.done()
    Console().print(table)
    return 0


def measured(asked: Workload, cluster: Cluster, network: str, out: Path, world: World) -> Limit:
    made = load_generators()[asked.generator]
    with made.client(network, out, world) as client:
        made.load(asked, cluster, client, world)
        PostgreSQL().settle(cluster, world)
        before_s = cpu_seconds(client)
        _, measure = made.run(asked, cluster, client, out, world)
        spent_s = cpu_seconds(client) - before_s
    result = made.read(asked, out, measure.start_s, measure.end_s)
    figures = {one.metric: one.value for one in result.measurements if one.scope == "all"}
    return Limit(figures["throughput_per_s"], spent_s / (result.facts.recorded_transactions or 1))


if __name__ == "__main__":
    sys.exit(main())
