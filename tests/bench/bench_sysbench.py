"""Our pair of sysbench workloads beside stock sysbench with equal work, on one PostgreSQL server.

    make bench NAME=sysbench [ARGS="--repeats 5"]

Goal: that figures of `point-select` and `insert` may be held against stock sysbench's. Method: one
server on this machine's own disk (no tier), one data set, loaded once; the two programs of a pair
in turn, the first one turning; medians of the repeats. `point-select` against upstream's
`oltp_read_only --range_selects=off --rand-type=uniform`; `insert`, which upstream has no script
for, against tests/bench/multi_insert.lua on upstream's driver. Statements (BEGIN and COMMIT
aside: PostgreSQL does not count prepared ones), tuples and CPU are those of warm-up and window,
divided by the transactions that the server committed in that time.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from orchestrator.cli.common.app import App
from orchestrator.cli.common.console import LastingConsole
from orchestrator.cli.common.progress import ConsoleProgress
from orchestrator.databases.common import node_lifecycle
from orchestrator.databases.postgresql import PSQL, PostgreSQL
from orchestrator.load_generators import load_generators
from orchestrator.model import Cluster, Dataset, Node, Workload
from orchestrator.parts import ClientLoad, NodesData
from orchestrator.planning import project_files
from orchestrator.powers import World
from orchestrator.system import sql
from orchestrator.system.clock import SystemClock
from orchestrator.tiers.unlimited import UnlimitedTier
from tests import ROOT
from tests.bench.bench_tpcc import beside
from tests.bench.fresh_servers import NO_TIER, SERVER, cpu_seconds

NETWORK = "tierbench-bench"
DATASET = Dataset("sysbench-tables", {"tables": 4, "table_size": 250_000})
THREADS, WARMUP_S, MEASURE_S = 8, 2.0, 10.0
STATEMENTS = {"shared_preload_libraries": "pg_stat_statements"}
COUNTERS = """
SELECT (SELECT sum(calls) FROM pg_stat_statements WHERE query ~ 'sbtest')::float8 AS statements,
  (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database())::float8 AS commits,
  (SELECT sum(idx_tup_fetch + n_tup_ins) FROM pg_stat_user_tables)::float8 AS tuples
"""
Costs = dict[str, list[Mapping[str, float]]]


def pairs() -> Iterator[tuple[Workload, Workload]]:
    _, built_in = project_files.read(ROOT, [], ["point-select", "insert"], "smoke")
    _, (stock,) = project_files.read(ROOT, [], ["oltp_read_only"], "smoke")
    scripts = ("oltp_read_only", str(ROOT / "tests/bench/multi_insert.lua"))
    more: Sequence[Mapping[str, str]] = ({"range_selects": "off"}, {})
    for ours, script, options in zip(built_in, scripts, more, strict=True):
        theirs = replace(
            stock,
            name=Path(script).stem,
            script=script,
            options={"rand_type": "uniform", **options},
        )
        yield sized(ours), sized(theirs)


def sized(workload: Workload) -> Workload:
    return replace(
        workload,
        dataset=DATASET,
        threads=THREADS,
        warmup_s=WARMUP_S,
        measure_s=MEASURE_S,
    )


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--repeats", type=int, default=5)
    repeats = arguments.parse_args().repeats
    console = Console()
    progress = ConsoleProgress(LastingConsole(stderr=True), SystemClock())
    app = App(progress=progress)
    world = app.world()
    with app.alone(world.platform):
        world.platform.sweep()
        tables = list(measured(repeats, world))
    progress.done()
    for costs in tables:
        show(costs, console)
    return 0


def measured(repeats: int, world: World) -> Iterator[Costs]:
    assert SERVER.node is not None
    spec = replace(SERVER, settings=STATEMENTS)
    with ExitStack() as up:
        disks = up.enter_context(
            UnlimitedTier().attached(
                NO_TIER, NodesData([SERVER.node.disk_bytes]), world
            )
        )
        network = up.enter_context(world.platform.network(NETWORK, 1))
        cluster = up.enter_context(
            PostgreSQL().running(spec, disks.volumes, network, world)
        )
        extension = "--command=CREATE EXTENSION pg_stat_statements"
        argv = (*PSQL, "--dbname=bench", "--username=postgres", extension)
        node_lifecycle.run(cluster.nodes[0], argv, 60, world, cluster.nodes)
        for number, pair in enumerate(pairs()):
            costs: Costs = {workload.name: [] for workload in pair}
            for repeat in range(1, repeats + 1):
                for workload in pair if repeat % 2 else pair[::-1]:
                    world.progress.note(f"repeat {repeat}/{repeats}: {workload.name}")
                    load = number == 0 and not any(costs.values())
                    costs[workload.name].append(once(workload, load, cluster, world))
            yield costs


def once(
    workload: Workload, load: bool, cluster: Cluster, world: World
) -> Mapping[str, float]:
    generator = load_generators()[workload.generator]
    with ExitStack() as up:
        out = Path(up.enter_context(tempfile.TemporaryDirectory()))
        client = up.enter_context(generator.client(NETWORK, world))
        if load:
            generator.load(workload, cluster, client, world)
            PostgreSQL().settle(cluster, world)
        before = counted(cluster, client)
        _, measure = generator.run(ClientLoad(workload, cluster, client, out, world))
        after = counted(cluster, client)
        result = generator.read(workload, out, measure.start_s, measure.end_s)
    grown = {name: after[name] - before[name] for name in after}
    figures = {
        one.metric: one.value for one in result.measurements if one.scope == "all"
    }
    commits = grown.pop("commits")
    return {
        "transactions/s": figures["throughput_per_s"],
        "average latency, ms": figures["latency_avg_s"] * 1000,
        "p99 latency, ms": figures["latency_p99_s"] * 1000,
        **{f"{name} per transaction": value / commits for name, value in grown.items()},
    }


def counted(cluster: Cluster, client: Node) -> dict[str, float]:
    """Counters of the server, a second later: PostgreSQL tells its tuples with a delay."""
    with sql.session(sql.local(cluster.endpoints[0]), 60.0) as session:
        session.rows("SELECT pg_sleep(1.5)")
        (row,) = session.rows(COUNTERS)
    return {
        **{name: float(value or 0) for name, value in row.items()},
        "client CPU, ms": cpu_seconds(client) * 1000,
        "server CPU, ms": cpu_seconds(cluster.nodes[0]) * 1000,
    }


def show(costs: Costs, console: Console) -> None:
    """Medians, and each as a multiple of ours."""
    (ours, first), (theirs, second) = costs.items()
    table = Table("figure", ours, theirs, title=f"n = {len(first)}")
    for name in first[0]:
        base, other = ([one[name] for one in each] for each in (first, second))
        table.add_row(name, f"{statistics.median(base):.4g}", beside(other, base, ""))
    console.print(table)


if __name__ == "__main__":
    sys.exit(main())
