"""The TPC-C-derived load generators side by side: load, client CPU per transaction, NOPM.

    make bench NAME=tpcc [ARGS="--repeats 3"]
    python -m tests.bench.bench_tpcc --recording [--repeats 12]

Goal: what the built-in workload costs beside its peers, on one PostgreSQL of this machine now.
Peers run where they are installed: BenchBase by BENCHBASE_HOME, go-tpc by the PATH; `pg_restore`
only loads: the same rows by bare COPY, then keys, with as many workers as ours. All have foreign
keys, as BenchBase always has, except where the name says otherwise. Method: each
repeat starts a fresh server on this machine's own disk (no tier) for each program in turn, so the
programs alternate; 4 warehouses, 8 terminals, no think time; medians of the repeats. Client CPU is
that of the client's container (of the process for go-tpc) over warm-up and window, divided by all
transactions of that time; the start of BenchBase's Java machine is in it. Each load is followed by
the same settling (VACUUM, ANALYZE, checkpoint), outside the figures. `--recording` instead measures
what it costs to keep every transaction: throughput with and without, in turn, on one server.
"""

from __future__ import annotations

import argparse
import functools
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.table import Table

from orchestrator.cli.app import App
from orchestrator.cli.console import ConsoleProgress, LastingConsole
from orchestrator.collectors.cgroup import CgroupCollector
from orchestrator.databases.common import container_nodes
from orchestrator.databases.postgresql import PSQL, PostgreSQL
from orchestrator.errors import UnavailableError
from orchestrator.load_generators import bind, load_generators
from orchestrator.model import Cluster, ClusterSpec, Node, NodeSize, Workload
from orchestrator.parts import ClientLoad, NodesData
from orchestrator.planning import project_files
from orchestrator.platforms.common.machines import LocalMachine
from orchestrator.powers import World
from orchestrator.tiers.unlimited import UnlimitedTier
from tests import ROOT
from tests.tiers import a_tier

RECORDING_S = 12.0
WAREHOUSES, TERMINALS, WARMUP_S, MEASURE_S = 4, 8, 5.0, 25.0
SERVER = ClusterSpec(
    "postgresql", 1, 1, NodeSize(float(LocalMachine().facts().cpus), 4 * 2**30, 20 * 2**30)
)
NO_TIER = a_tier("none", "no tier", "none", None, None)
_SYSBENCH_RATE = re.compile(r"transactions: +\d+ +\(([\d.]+) per sec")
_GO_TPC_COUNT = re.compile(r"^\[Summary\] (\w+) - Takes\(s\): ([\d.]+), Count: (\d+)", re.MULTILINE)


@dataclass(frozen=True)
class Cost:
    """One repeat of one program. None: it only loads."""

    load_s: float
    cpu_ms_per_transaction: float | None = None
    nopm: float | None = None


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--recording", action="store_true")
    asked = arguments.parse_args()
    repeats = asked.repeats
    console = Console()
    progress = ConsoleProgress(LastingConsole(stderr=True))
    costs: dict[str, list[Cost]] = {}
    app = App(progress=progress)
    world = app.world()
    with app.alone(world.platform):
        world.platform.sweep()
        if asked.recording:
            ratios = on_fresh_server(functools.partial(recording, repeats), world)
            progress.done()
            console.print(
                f"throughput, kept / not kept: {beside(ratios, [1.0], '')}, n = {repeats}"
            )
            return 0
        programs = installed(world, console)
        for number in range(1, repeats + 1):
            for name, program in programs.items():
                progress.note(f"repeat {number}/{repeats}: {name}")
                costs.setdefault(name, []).append(on_fresh_server(program, world))
    progress.done()
    show(costs, console)
    return 0


T = TypeVar("T")
Program = Callable[[Cluster, str, Path, World], Cost]


def installed(world: World, console: Console) -> dict[str, Program]:
    """The built-in, and each peer that is here; says which are not."""
    found: dict[str, Program] = {
        "built-in": generator(workload(None)),
        "built-in, no foreign keys": generator(workload(None, foreign_keys=False)),
        "pg_restore": bare_copy,
    }
    try:
        load_generators()["benchbase"].check(workload("benchbase"), SERVER, world)
        found["BenchBase"] = generator(workload("benchbase"))
    except UnavailableError as error:
        console.print(f"BenchBase is left out: {error.what}")
    if shutil.which("go-tpc"):
        found["go-tpc"] = functools.partial(go_tpc, True)
        found["go-tpc, no foreign keys"] = functools.partial(go_tpc, False)
    else:
        console.print("go-tpc is left out: it is not on the PATH")
    return found


def on_fresh_server(program: Callable[[Cluster, str, Path, World], T], world: World) -> T:
    assert SERVER.node is not None
    with ExitStack() as up:
        sizes = [SERVER.node.disk_bytes]
        disks = up.enter_context(UnlimitedTier().attached(NO_TIER, NodesData(sizes), world))
        network = up.enter_context(world.platform.network("tierbench-bench", 1))
        running = PostgreSQL().running(SERVER, disks.volumes, network, world)
        cluster = up.enter_context(running)
        out = Path(up.enter_context(tempfile.TemporaryDirectory()))
        return program(cluster, "tierbench-bench", out, world)


def workload(name: str | None, foreign_keys: bool = True) -> Workload:
    """As the load generator of that name runs it (None: the built-in)."""
    _, (tpcc,) = project_files.read(ROOT, [], ["tpcc"], "smoke")
    parameters = {"warehouses": WAREHOUSES}
    if name is None:  # BenchBase's own tables always have them
        parameters["foreign_keys"] = int(foreign_keys)
    tpcc = replace(
        tpcc,
        dataset=replace(tpcc.dataset, parameters=parameters),
        threads=TERMINALS,
        warmup_s=WARMUP_S,
        measure_s=MEASURE_S,
    )
    return bind(tpcc, name)


def generator(asked: Workload) -> Program:
    """A load generator of ours, through its own adapter."""
    made = load_generators()[asked.generator]

    def run(cluster: Cluster, network: str, out: Path, world: World) -> Cost:
        with made.client(network, world) as client:
            started_s = time.monotonic()
            made.load(asked, cluster, client, world)
            load_s = time.monotonic() - started_s
            PostgreSQL().settle(cluster, world)
            before_s = cpu_seconds(client)
            _, measure = made.run(ClientLoad(asked, cluster, client, out, world))
            spent_s = cpu_seconds(client) - before_s
        result = made.read(asked, out, measure.start_s, measure.end_s)
        figures = {one.metric: one.value for one in result.measurements if one.scope == "all"}
        # BenchBase keeps nothing of the warm-up, so its transactions are the window's, scaled.
        counted = figures["throughput_per_s"] * (WARMUP_S + MEASURE_S)
        return Cost(load_s, spent_s / counted * 1000, figures["nopm"])

    return run


def recording(
    pairs: int, cluster: Cluster, network: str, out: Path, world: World
) -> Sequence[float]:
    """Throughput as sysbench itself counts it, transactions kept / not kept, of each pair."""
    asked = replace(workload(None), warmup_s=0, measure_s=RECORDING_S)
    made = load_generators()[asked.generator]
    ratios = []
    with made.client(network, world) as client:
        made.load(asked, cluster, client, world)
        PostgreSQL().settle(cluster, world)
        for number in range(pairs):
            per_s = {}
            for record in ("on", "off") if number % 2 else ("off", "on"):
                options = {**asked.options, "record": record}
                made.run(ClientLoad(replace(asked, options=options), cluster, client, out, world))
                found = _SYSBENCH_RATE.search((out / "sysbench.out").read_text())
                assert found is not None
                per_s[record] = float(found[1])
            ratios.append(per_s["on"] / per_s["off"])
    return ratios


def bare_copy(cluster: Cluster, network: str, out: Path, world: World) -> Cost:
    """What PostgreSQL's own tool takes for rows, keys and foreign keys that are there already."""
    asked = workload(None)
    made = load_generators()[asked.generator]
    with made.client(network, world) as client:
        made.load(asked, cluster, client, world)
    user, workers = "--username=bench", f"--jobs={asked.loader_threads}"
    dump = (
        "--format=directory",
        "--compress=none",
        "--table=public.*",
        "--file=/data/dump",
        "bench",
    )
    up = cluster.nodes
    run = functools.partial(container_nodes.run, up[0], timeout_s=600, world=world, watched=up)
    run(("pg_dump", user, workers, *dump))
    run((*PSQL, "--command=DROP OWNED BY bench"))
    started_s = time.monotonic()
    run(("pg_restore", user, workers, "--dbname=bench", "/data/dump"))
    return Cost(time.monotonic() - started_s)


def cpu_seconds(client: Node) -> float:
    readings = CgroupCollector(lambda _: LocalMachine()).read([client], 0.0)
    return next(one.value for one in readings if one.metric == "cpu_seconds_total")


def go_tpc(foreign_keys: bool, cluster: Cluster, _network: str, _out: Path, world: World) -> Cost:
    """On this machine, straight to the container's address as the others go, not by a proxy. Its
    driver (lib/pq) takes the password from PGPASSWORD if the command line has none."""
    endpoint = cluster.endpoints[0]
    env = {**os.environ, "PGPASSWORD": endpoint.password}
    start = functools.partial(subprocess.run, check=True, capture_output=True, text=True, env=env)
    common = [
        *["-d", "postgres", "-H", endpoint.host, "-P", str(endpoint.port)],
        *["-U", endpoint.user, "-D", endpoint.database],
        *["--conn-params", "sslmode=disable", "--warehouses", str(WAREHOUSES)],
        *["-T", str(TERMINALS)],
    ]
    keys = ["--use-fk"] if foreign_keys else []
    started_s = time.monotonic()
    start(["go-tpc", "tpcc", "prepare", *common, *keys, "--no-check"])
    load_s = time.monotonic() - started_s
    PostgreSQL().settle(cluster, world)
    before_s = children_cpu_seconds()
    length = f"{WARMUP_S + MEASURE_S:g}s"
    done = start(["go-tpc", "tpcc", "run", *common, "--time", length, "--wait=false"])
    spent_s = children_cpu_seconds() - before_s
    counts = {name: (float(took), int(n)) for name, took, n in _GO_TPC_COUNT.findall(done.stdout)}
    all_of_them = sum(n for name, (_, n) in counts.items() if not name.endswith("_ERR"))
    took_s, orders = counts["NEW_ORDER"]
    return Cost(load_s, spent_s / all_of_them * 1000, orders / took_s * 60)


def children_cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def show(costs: dict[str, list[Cost]], console: Console) -> None:
    """Medians, and each as a multiple of the built-in's."""
    table = Table(title=f"{WAREHOUSES} warehouses, {TERMINALS} terminals, no think time: medians")
    for column in ("program", "n", "load", "client CPU per transaction", "NOPM"):
        table.add_column(column)
    base = costs["built-in"]
    for name, found in costs.items():
        table.add_row(
            name,
            str(len(found)),
            beside([one.load_s for one in found], [one.load_s for one in base], "s"),
            beside(
                [one.cpu_ms_per_transaction for one in found],
                [one.cpu_ms_per_transaction for one in base],
                "ms",
            ),
            beside([one.nopm for one in found], [one.nopm for one in base], ""),
        )
    console.print(table)


def beside(found: Sequence[float | None], of_base: Sequence[float | None], unit: str) -> str:
    values, base = ([one for one in each if one is not None] for each in (found, of_base))
    if not values:
        return "–"
    value = statistics.median(values)
    spread = f"{min(values):.3g} to {max(values):.3g}"
    return f"{value:.3g} {unit} (× {value / statistics.median(base):.2f}; {spread})".replace(
        "  ", " "
    )


if __name__ == "__main__":
    sys.exit(main())
