"""The TPC-C-derived load generators side by side: load, client CPU per transaction, NOPM.

    make bench NAME=tpcc [ARGS="--repeats 3"]
    make bench NAME=tpcc ARGS="--loads [tpcc sysbench bulk]"
    make bench NAME=tpcc ARGS="--recording --repeats 12"

Goal: what the built-in workload costs beside its peers, on one PostgreSQL of this machine now.
Peers run where they are installed: BenchBase by BENCHBASE_HOME, go-tpc by the PATH. All have
foreign keys, as BenchBase always has, except where the name says otherwise. Method: each repeat
starts a fresh server on this machine's own disk (no tier) for each program in turn, so the programs
alternate; 4 warehouses, 8 terminals, no think time; medians of the repeats. Client CPU is that of
the client's container (of the process for go-tpc) over warm-up and window, divided by all
transactions of that time; the start of BenchBase's Java machine is in it. Each load is followed by
the same settling (VACUUM, ANALYZE, checkpoint), outside the figures. `--loads` instead measures our
loaders beside `pg_restore` (tests/bench/restores.py), all three kinds of tables or those named.
`--recording` measures what it costs to keep every transaction: throughput with and without, in
turn, on one server.
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
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from orchestrator.cli.common.app import App
from orchestrator.cli.common.console import LastingConsole
from orchestrator.cli.common.progress import ConsoleProgress
from orchestrator.databases.postgresql import PostgreSQL
from orchestrator.errors import UnavailableError
from orchestrator.load_generators import load_generators
from orchestrator.load_generators.binding import bind
from orchestrator.model import Cluster, Workload
from orchestrator.parts import ClientLoad
from orchestrator.planning import project_files
from orchestrator.powers import World
from orchestrator.system.clock import SystemClock
from tests import ROOT
from tests.bench import restores
from tests.bench.fresh_servers import SERVER, cpu_seconds, on_fresh_server

RECORDING_S = 12.0
WAREHOUSES, TERMINALS, WARMUP_S, MEASURE_S = 4, 8, 5.0, 25.0
_SYSBENCH_RATE = re.compile(r"transactions: +\d+ +\(([\d.]+) per sec")
_GO_TPC_COUNT = re.compile(
    r"^\[Summary\] (\w+) - Takes\(s\): ([\d.]+), Count: (\d+)", re.MULTILINE
)


@dataclass(frozen=True)
class Cost:
    """One repeat of one program."""

    load_s: float
    cpu_ms_per_transaction: float
    nopm: float


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--recording", action="store_true")
    arguments.add_argument("--loads", nargs="*", choices=restores.KINDS, metavar="KIND")
    asked = arguments.parse_args()
    console = Console(width=140)  # whole rows, also in a file
    progress = ConsoleProgress(LastingConsole(stderr=True), SystemClock())
    app = App(progress=progress)
    world = app.world()
    with app.alone(world.platform):
        world.platform.sweep()
        if asked.recording:
            ratios = on_fresh_server(functools.partial(recording, asked.repeats), world)
            found = beside(ratios, [1.0], "")
            shown: Table | str = (
                f"throughput, kept / not kept: {found}, n = {asked.repeats}"
            )
        elif asked.loads is not None:
            kinds = asked.loads or list(restores.KINDS)
            shown = restores.table(restores.side_by_side(kinds, asked.repeats, world))
        else:
            shown = table(costs(installed(world, console), asked.repeats, world))
    progress.done()
    console.print(shown)
    return 0


Program = Callable[[Cluster, str, Path, World], Cost]


def installed(world: World, console: Console) -> dict[str, Program]:
    """The built-in, and each peer that is here; says which are not."""
    found: dict[str, Program] = {
        "built-in": generator(workload(None)),
        "built-in, no foreign keys": generator(workload(None, foreign_keys=False)),
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


def costs(
    programs: Mapping[str, Program], repeats: int, world: World
) -> dict[str, list[Cost]]:
    found: dict[str, list[Cost]] = {name: [] for name in programs}
    for number in range(1, repeats + 1):
        for name, program in programs.items():
            world.progress.note(f"repeat {number}/{repeats}: {name}")
            found[name].append(on_fresh_server(program, world))
    return found


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
        figures = {
            one.metric: one.value for one in result.measurements if one.scope == "all"
        }
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
                made.run(
                    ClientLoad(
                        replace(asked, options=options), cluster, client, out, world
                    )
                )
                found = _SYSBENCH_RATE.search((out / "sysbench.out").read_text())
                assert found is not None
                per_s[record] = float(found[1])
            ratios.append(per_s["on"] / per_s["off"])
    return ratios


def go_tpc(
    foreign_keys: bool, cluster: Cluster, _network: str, _out: Path, world: World
) -> Cost:
    """On this machine, straight to the container's address as the others go, not by a proxy. Its
    driver (lib/pq) takes the password from PGPASSWORD if the command line has none."""
    endpoint = cluster.endpoints[0]
    env = {**os.environ, "PGPASSWORD": endpoint.password}
    start = functools.partial(
        subprocess.run, check=True, capture_output=True, text=True, env=env
    )
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
    counts = {
        name: (float(took), int(n))
        for name, took, n in _GO_TPC_COUNT.findall(done.stdout)
    }
    all_of_them = sum(n for name, (_, n) in counts.items() if not name.endswith("_ERR"))
    took_s, orders = counts["NEW_ORDER"]
    return Cost(load_s, spent_s / all_of_them * 1000, orders / took_s * 60)


def children_cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def table(costs: Mapping[str, Sequence[Cost]]) -> Table:
    """Medians, and each as a multiple of the built-in's."""
    shown = Table(
        title=f"{WAREHOUSES} warehouses, {TERMINALS} terminals, no think time: medians"
    )
    for column in ("program", "n", "load", "client CPU per transaction", "NOPM"):
        shown.add_column(column)
    base = costs["built-in"]
    for name, found in costs.items():
        shown.add_row(
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
    return shown


def beside(values: Sequence[float], base: Sequence[float], unit: str) -> str:
    value = statistics.median(values)
    spread = f"{min(values):.3g} to {max(values):.3g}"
    return f"{value:.3g} {unit} (× {value / statistics.median(base):.2f}; {spread})".replace(
        "  ", " "
    )


if __name__ == "__main__":
    sys.exit(main())
