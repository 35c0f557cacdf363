"""What counting statements costs: throughput of `point-select` with `pg_stat_statements` ÷ without.

    make bench NAME=statements [ARGS="--pairs 35 --seconds 6"]

Method: one PostgreSQL on this machine's own disk (no tier) that has the extension loaded, data in
memory, one load without a pause; between windows `ALTER SYSTEM` turns the counting on (`track =
top`) or off (`track = none`, and no statement's number is computed). Windows alternate on, off,
off, on, …; the first second of each does not count. A pair is two windows beside each other; the
ratio is the geometric mean of the pairs, with its 90 % interval (Student's t of their logarithms).
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import threading
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy import stats

from orchestrator.cli.common.app import App
from orchestrator.cli.common.console import LastingConsole
from orchestrator.cli.common.progress import ConsoleProgress
from orchestrator.databases.common import node_lifecycle
from orchestrator.databases.postgresql import PSQL, PostgreSQL
from orchestrator.load_generators import load_generators
from orchestrator.model import Cluster, Workload
from orchestrator.parts import ClientLoad, NodesData
from orchestrator.powers import World
from orchestrator.system import sql
from orchestrator.system.clock import SystemClock
from orchestrator.tiers.unlimited import UnlimitedTier
from tests.bench.bench_sysbench import NETWORK, STATEMENTS, pairs
from tests.bench.fresh_servers import NO_TIER, SERVER, cpu_seconds

THREADS, WARMUP_S, IGNORED_S = 4, 5.0, 1.0
GRANT = "ALTER ROLE bench SUPERUSER"  # to turn it on and off in a session
STATES = {True: ("top", "auto"), False: ("none", "off")}
Reading = tuple[float, float]  # Unix time, CPU seconds of the server
Ends = list[tuple[Reading, Reading]]  # of each window


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--pairs", type=int, default=35)
    arguments.add_argument("--seconds", type=float, default=6.0, help="of a window")
    given = arguments.parse_args()
    app = App(progress=ConsoleProgress(LastingConsole(stderr=True), SystemClock()))
    world = app.world()
    with app.alone(world.platform):
        rates, costs = measured(2 * given.pairs, given.seconds, world)
    for name, values in (
        ("transactions/s", rates),
        ("server CPU per transaction", costs),
    ):
        print(f"{name}: on ÷ off {ratio(values)}")
    return 0


def is_on(window: int) -> bool:
    return window % 4 in (0, 3)


def measured(
    windows: int, window_s: float, world: World
) -> tuple[list[float], list[float]]:
    """Of each window the transactions/s, and the server's CPU seconds for one."""
    (load, _), _ = pairs()
    load = replace(
        load, threads=THREADS, warmup_s=WARMUP_S, measure_s=windows * window_s + 5
    )
    generator, database = load_generators()[load.generator], PostgreSQL()
    assert SERVER.node is not None
    spec = replace(SERVER, settings=STATEMENTS)
    with ExitStack() as up:
        out = Path(up.enter_context(tempfile.TemporaryDirectory()))
        data = NodesData([SERVER.node.disk_bytes])
        disks = up.enter_context(UnlimitedTier().attached(NO_TIER, data, world))
        network = up.enter_context(world.platform.network(NETWORK, 1))
        cluster = up.enter_context(
            database.running(spec, disks.volumes, network, world)
        )
        client = up.enter_context(generator.client(NETWORK, world))
        for sql_text in ("CREATE EXTENSION IF NOT EXISTS pg_stat_statements", GRANT):
            argv = (*PSQL, "--username=postgres", f"--command={sql_text}")
            node_lifecycle.run(cluster.nodes[0], argv, 60, world, cluster.nodes)
        generator.load(load, cluster, client, world)
        database.settle(cluster, world)
        ends: Ends = []
        thread = threading.Thread(
            target=turned, args=(windows, window_s, cluster, ends, world)
        )
        begins = replace(world, window_begins=lambda _: thread.start())
        _, measure = generator.run(ClientLoad(load, cluster, client, out, begins))
        thread.join()
        return counted(load, out, (measure.start_s, measure.end_s), ends)


def turned(
    windows: int, window_s: float, cluster: Cluster, ends: Ends, world: World
) -> None:
    with sql.session(sql.local(cluster.endpoints[0]), 60.0) as session:
        for window in range(windows):
            began_s = world.clock.now()
            track, number = STATES[is_on(window)]
            session.rows(f"ALTER SYSTEM SET pg_stat_statements.track = '{track}'")
            session.rows(f"ALTER SYSTEM SET compute_query_id = '{number}'")
            session.rows("SELECT pg_reload_conf()")
            before = read_at(began_s + IGNORED_S, cluster, world)
            ends.append((before, read_at(began_s + window_s, cluster, world)))


def read_at(time_s: float, cluster: Cluster, world: World) -> Reading:
    world.clock.sleep(max(0.0, time_s - world.clock.now()))
    return world.clock.now(), cpu_seconds(cluster.nodes[0])


def counted(
    load: Workload, out: Path, window: tuple[float, float], ends: Ends
) -> tuple[list[float], list[float]]:
    result = load_generators()[load.generator].read(load, out, *window)
    assert result.latencies is not None
    parts = [
        (part["start_s"] + part["latency_s"]).to_numpy() for part in result.latencies
    ]
    over_s = np.sort(np.concatenate(parts))
    rates, costs = list[float](), list[float]()
    for (first_s, cpu_before), (last_s, cpu_after) in ends:
        number = int(np.searchsorted(over_s, last_s) - np.searchsorted(over_s, first_s))
        rates.append(number / (last_s - first_s))
        costs.append((cpu_after - cpu_before) / number)
    return rates, costs


def ratio(values: list[float]) -> str:
    """On ÷ off, with its interval."""
    logs = []
    for window in range(0, len(values), 2):
        first, second = values[window : window + 2]
        logs.append(math.log(first / second) * (1 if is_on(window) else -1))
    mean, error = float(np.mean(logs)), float(stats.sem(logs))
    half = float(stats.t.ppf(0.95, len(logs) - 1)) * error
    low, middle, high = (math.exp(mean + sign * half) for sign in (-1, 0, 1))
    return f"{middle:.4f} ({low:.4f} to {high:.4f}), {len(logs)} pairs"


if __name__ == "__main__":
    sys.exit(main())
