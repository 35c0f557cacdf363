"""Our loaders beside `pg_restore` of the same rows, keys and foreign keys, each on fresh servers.

A loader of ours makes its rows, sends them from the client, and ends with the checks of what it has
loaded. `pg_restore` reads a dump on the server itself, over a socket, and checks nothing but keys
and foreign keys. Both have as many workers. The dump is of what our loader has loaded, and is on
the disk of a fresh server before the time of its restore begins.
"""

from __future__ import annotations

import functools
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.table import Table

from orchestrator.databases.common import node_lifecycle
from orchestrator.load_generators import load_generators
from orchestrator.load_generators.binding import bind
from orchestrator.model import Cluster, Node, Workload
from orchestrator.planning import project_files
from orchestrator.powers import Container, World
from tests import ROOT
from tests.bench.fresh_servers import cpu_seconds, on_fresh_server

DUMP = "/data/dump"
_AS_BENCH = "--username=bench"
# Data set → workload that has it, and its parameters: some 2,000,000 rows each, twice as many of
# bulk tables, or half a second of starting would be a quarter of the time.
KINDS: dict[str, tuple[str, dict[str, int]]] = {
    "tpcc": ("tpcc", {"warehouses": 4, "foreign_keys": 1}),
    "sysbench": ("point-select", {"tables": 4, "table_size": 500_000}),
    "bulk": ("bulk-scan", {"tables": 4, "rows": 1_000_000}),
}


@dataclass(frozen=True)
class Cost:
    """Time and CPU time of a load; `again_s`: the time of its checks when they are made once more.
    CPU is that of the server's container and of the client's; `pg_restore` runs in the former."""

    load_s: float
    cpu_s: float
    again_s: float = 0.0


def asked_for(kind: str) -> Workload:
    name, parameters = KINDS[kind]
    _, (workload,) = project_files.read(ROOT, [], [name], "smoke")
    return bind(
        replace(workload, dataset=replace(workload.dataset, parameters=parameters)),
        None,
    )


def load(
    asked: Workload,
    dump: Path | None,
    cluster: Cluster,
    network: str,
    _out: Path,
    world: World,
) -> Cost:
    """Our load. Then leaves a dump in `dump`, if given."""
    made = load_generators()[asked.generator]
    with made.client(network, world) as client:
        load_s, cpu_s = taken(
            lambda: made.load(asked, cluster, client, world), cluster, client
        )
        again_s, _ = taken(lambda: made.verify(asked, cluster, world), cluster)
    if dump is not None:
        what = (
            "--format=directory",
            "--compress=none",
            "--table=public.*",
            f"--file={DUMP}",
        )
        run(
            ("pg_dump", _AS_BENCH, f"--jobs={asked.loader_threads}", *what, "bench"),
            cluster,
            world,
        )
        container(cluster, world).fetch(DUMP, dump)
    return Cost(load_s, cpu_s, again_s)


def restore(
    asked: Workload,
    dump: Path,
    cluster: Cluster,
    _network: str,
    _out: Path,
    world: World,
) -> Cost:
    """By PostgreSQL's own tool."""
    run(("mkdir", DUMP), cluster, world)
    container(cluster, world).put(dump, DUMP)
    run(("sync",), cluster, world)
    command = (
        "pg_restore",
        _AS_BENCH,
        f"--jobs={asked.loader_threads}",
        "--dbname=bench",
        DUMP,
    )
    return Cost(*taken(lambda: run(command, cluster, world), cluster))


def taken(
    work: Callable[[], object], cluster: Cluster, *clients: Node
) -> tuple[float, float]:
    """Seconds that pass, and seconds of CPU in the server and those clients."""
    nodes = (*cluster.nodes, *clients)
    before_s, started_s = sum(map(cpu_seconds, nodes)), time.monotonic()
    work()
    return time.monotonic() - started_s, sum(map(cpu_seconds, nodes)) - before_s


def run(argv: Sequence[str], cluster: Cluster, world: World) -> None:
    node_lifecycle.run(cluster.nodes[0], argv, 600, world, cluster.nodes)


def container(cluster: Cluster, world: World) -> Container:
    return world.platform.container(cluster.nodes[0].container_name)


def side_by_side(
    kinds: Sequence[str], repeats: int, world: World
) -> dict[str, list[tuple[Cost, Cost]]]:
    """Each kind by our loader and by `pg_restore` in turn; which of them is first changes. The load
    that is dumped is the first of a cold machine, and is not counted."""
    found: dict[str, list[tuple[Cost, Cost]]] = {kind: [] for kind in kinds}
    with tempfile.TemporaryDirectory() as folder:
        dumps = {kind: Path(folder) / kind for kind in kinds}
        for kind, dump in dumps.items():
            world.progress.note(f"a dump: {kind}")
            on_fresh_server(functools.partial(load, asked_for(kind), dump), world)
        for number in range(1, repeats + 1):
            for kind, dump in dumps.items():
                world.progress.note(f"repeat {number}/{repeats}: {kind}")
                asked = asked_for(kind)
                both = [
                    functools.partial(load, asked, None),
                    functools.partial(restore, asked, dump),
                ]
                turn = 1 if number % 2 else -1
                ours, theirs = [on_fresh_server(one, world) for one in both[::turn]][
                    ::turn
                ]
                found[kind].append((ours, theirs))
    return found


def table(found: Mapping[str, Sequence[tuple[Cost, Cost]]]) -> Table:
    """Medians, with the least and the greatest; ratios are of the medians, their spans of pairs."""
    shown = Table(
        title="loads of 2 to 4 million rows, two workers: medians, least to greatest"
    )
    for column in (
        "",
        "ours, s",
        "pg_restore, s",
        "ratio",
        "ratio of CPU",
        "checks again, s",
    ):
        shown.add_column(column)
    for kind, pairs in found.items():
        ours, theirs = (
            [one.load_s for one, _ in pairs],
            [other.load_s for _, other in pairs],
        )
        cpu, their_cpu = (
            [one.cpu_s for one, _ in pairs],
            [other.cpu_s for _, other in pairs],
        )
        shown.add_row(
            f"{kind}, n = {len(pairs)}",
            spread(ours),
            spread(theirs),
            ratio(ours, theirs),
            ratio(cpu, their_cpu),
            spread([one.again_s for one, _ in pairs]),
        )
    return shown


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> str:
    of_pairs = [one / other for one, other in zip(ours, theirs, strict=True)]
    return spread(of_pairs, statistics.median(ours) / statistics.median(theirs))


def spread(values: Sequence[float], middle: float | None = None) -> str:
    middle = statistics.median(values) if middle is None else middle
    return f"{middle:.2f} ({min(values):.2f}–{max(values):.2f})"
