"""How much load one core of a client machine can make: transactions/s per core, by workload.

    make bench NAME=client [ARGS="--repeats 3"]

Goal: how many clients a campaign needs (docs/research/SCALE.md). Method: PostgreSQL without a
tier, data that its memory holds; of each workload one fresh server, loaded once, then windows of
two kinds in turn. Free: CPU time of the client's container, user and kernel, over all
transactions; its inverse is what one core could make if it did nothing else. Client and server
share this machine, so the rate itself is not the client's limit, and CPU time hardly depends on
what else runs. Held: the client may use a fifth of a core, so that it is the limit; its rate times
five checks the first. A held window counts only if the client used what it may: else something
else was the limit. BenchBase takes part where it is installed (docs/WORKLOADS.md); its Java
machine starts in each window, and is not held. Its CPU time has that start in it.
"""

from __future__ import annotations

import argparse
import functools
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from orchestrator.cli.common.app import App
from orchestrator.cli.common.console import LastingConsole
from orchestrator.cli.common.progress import ConsoleProgress
from orchestrator.databases.postgresql import PostgreSQL
from orchestrator.errors import UnavailableError
from orchestrator.kernel import containers
from orchestrator.load_generators import load_generators
from orchestrator.model import Cluster, Node, Workload
from orchestrator.parts import ClientLoad, LoadGenerator
from orchestrator.planning import project_files
from orchestrator.platforms.common.local_machine import LocalMachine
from orchestrator.powers import World
from orchestrator.system.clock import SystemClock
from tests import CACHE, ROOT
from tests.bench.bench_tpcc import workload as tpcc
from tests.bench.fresh_servers import SERVER, cpu_seconds, on_fresh_server

THREADS, WARMUP_S, MEASURE_S = 16, 1.0, 6.0
HELD_CORES = 0.2
USED_PCT = 90.0  # of what it may use: then the client was the limit
PERIOD_US = 100_000


@dataclass(frozen=True)
class Window:
    """`per_s`: transactions/s; `cpu_s`: the client's per transaction; `cores`: what it used."""

    per_s: float
    cpu_s: float
    cores: float


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--repeats", type=int, default=3)
    repeats = arguments.parse_args().repeats
    progress = ConsoleProgress(LastingConsole(stderr=True), SystemClock())
    columns = ("transactions/s here", "client CPU, ms each", "per client core, 1/s")
    table = Table(
        "workload", *columns, "the same, held", title="medians (least to most)"
    )
    began_s = time.monotonic()
    app = App(cache=CACHE, progress=progress)
    world = app.world()
    with app.alone(world.platform):
        world.platform.sweep()
        for name, asked in workloads(world).items():
            free, held = on_fresh_server(
                functools.partial(measured, asked, repeats), world
            )
            bound = [one for one in held if one.cores >= USED_PCT / 100 * HELD_CORES]
            table.add_row(
                name,
                middle([one.per_s for one in free], ",.0f"),
                middle([one.cpu_s * 1000 for one in free], ".3f"),
                middle([1 / one.cpu_s for one in free], ",.0f"),
                middle([one.per_s / HELD_CORES for one in bound], ",.0f"),
            )
    progress.done()
    table.caption = (
        f"{repeats} windows of each kind; {time.monotonic() - began_s:.0f} s in all"
    )
    Console().print(table)
    return 0


def workloads(world: World) -> dict[str, Workload]:
    """By the names that are shown."""
    _, (select, insert) = project_files.read(
        ROOT, [], ["point-select", "insert"], "smoke"
    )
    found = {"point-select": select, "insert": insert, "TPC-C-derived": tpcc(None)}
    try:
        load_generators()["benchbase"].check(tpcc("benchbase"), SERVER, world)
        found["BenchBase, TPC-C-derived"] = tpcc("benchbase")
    except UnavailableError as error:
        world.progress.note(f"BenchBase is left out: {error.what}")
    return {
        name: replace(one, threads=THREADS, warmup_s=WARMUP_S, measure_s=MEASURE_S)
        for name, one in found.items()
    }


def measured(
    asked: Workload,
    repeats: int,
    cluster: Cluster,
    network: str,
    out: Path,
    world: World,
) -> tuple[list[Window], list[Window]]:
    """The free windows and the held ones."""
    made = load_generators()[asked.generator]
    free, held = [], []
    with made.client(network, world) as client:
        made.load(asked, cluster, client, world)
        PostgreSQL().settle(cluster, world)
        for _ in range(repeats):
            free.append(window(made, asked, cluster, client, out, world))
            if asked.generator != "benchbase":
                with holding(client):
                    held.append(window(made, asked, cluster, client, out, world))
    return free, held


def window(
    made: LoadGenerator,
    asked: Workload,
    cluster: Cluster,
    client: Node,
    out: Path,
    world: World,
) -> Window:
    before_s, began_s = cpu_seconds(client), time.monotonic()
    _, measure = made.run(ClientLoad(asked, cluster, client, out, world))
    spent_s, took_s = cpu_seconds(client) - before_s, time.monotonic() - began_s
    result = made.read(asked, out, measure.start_s, measure.end_s)
    counted = result.facts.recorded_transactions or 0
    # BenchBase keeps nothing of its warm-up.
    per_s = counted / (MEASURE_S + (0 if asked.generator == "benchbase" else WARMUP_S))
    each_s = spent_s / (per_s * (WARMUP_S + MEASURE_S))
    return Window(per_s, each_s, spent_s / took_s)


@contextmanager
def holding(client: Node) -> Iterator[None]:
    """Limits what the container may use, in its control group (version 1 or 2)."""
    groups = containers.groups(LocalMachine(), client)
    if "cpu" in groups:
        file = Path(f"/sys/fs/cgroup/cpu/{groups['cpu']}/cpu.cfs_quota_us")
        held, free = f"{HELD_CORES * PERIOD_US:.0f}", "-1"
    else:
        file = Path(f"/sys/fs/cgroup/{groups['']}/cpu.max")
        held, free = f"{HELD_CORES * PERIOD_US:.0f} {PERIOD_US}", f"max {PERIOD_US}"
    file.write_text(held)
    try:
        yield
    finally:
        file.write_text(free)


def middle(values: list[float], form: str) -> str:
    if not values:
        return "–"
    return f"{statistics.median(values):{form}} ({min(values):{form}} to {max(values):{form}})"


if __name__ == "__main__":
    sys.exit(main())
