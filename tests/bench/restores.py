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
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.table import Table

from orchestrator.databases.common import container_nodes
from orchestrator.load_generators import bind, load_generators
from orchestrator.model import Cluster, Workload
from orchestrator.planning import project_files
from orchestrator.powers import Container, World
from tests import ROOT
from tests.bench.fresh_servers import on_fresh_server

DUMP = "/data/dump"
_AS_BENCH = "--username=bench"
# Data set → workload that has it, and its parameters: some 2,000,000 rows each.
KINDS: dict[str, tuple[str, dict[str, int]]] = {
    "tpcc": ("tpcc", {"warehouses": 4, "foreign_keys": 1}),
    "sysbench": ("point-select", {"tables": 4, "table_size": 500_000}),
    "bulk": ("bulk-scan", {"tables": 4, "rows": 500_000}),
}


@dataclass(frozen=True)
class Loading:
    """Times of one load of ours, of its checks when they are made once more, and of a restore."""

    ours_s: float
    again_s: float
    restore_s: float


def asked_for(kind: str) -> Workload:
    name, parameters = KINDS[kind]
    _, (workload,) = project_files.read(ROOT, [], [name], "smoke")
    return bind(replace(workload, dataset=replace(workload.dataset, parameters=parameters)), None)


def load(
    asked: Workload, dump: Path | None, cluster: Cluster, network: str, _out: Path, world: World
) -> tuple[float, float]:
    """Seconds of our load, and of its checks once more. Then leaves a dump in `dump`, if given."""
    made = load_generators()[asked.generator]
    with made.client(network, world) as client:
        started_s = time.monotonic()
        made.load(asked, cluster, client, world)
        loaded_s = time.monotonic()
        made.verify(asked, cluster, world)
        checked_s = time.monotonic()
    if dump is not None:
        what = ("--format=directory", "--compress=none", "--table=public.*", f"--file={DUMP}")
        run(
            ("pg_dump", _AS_BENCH, f"--jobs={asked.loader_threads}", *what, "bench"), cluster, world
        )
        container(cluster, world).fetch(DUMP, dump)
    return loaded_s - started_s, checked_s - loaded_s


def restore(
    asked: Workload, dump: Path, cluster: Cluster, _network: str, _out: Path, world: World
) -> float:
    """Seconds that PostgreSQL's own tool takes."""
    run(("mkdir", DUMP), cluster, world)
    container(cluster, world).put(dump, DUMP)
    run(("sync",), cluster, world)
    workers = f"--jobs={asked.loader_threads}"
    started_s = time.monotonic()
    run(("pg_restore", _AS_BENCH, workers, "--dbname=bench", DUMP), cluster, world)
    return time.monotonic() - started_s


def run(argv: Sequence[str], cluster: Cluster, world: World) -> None:
    container_nodes.run(cluster.nodes[0], argv, 600, world, cluster.nodes)


def container(cluster: Cluster, world: World) -> Container:
    return world.platform.container(container_nodes.container_name(cluster.nodes[0]))


def side_by_side(kinds: Sequence[str], repeats: int, world: World) -> dict[str, list[Loading]]:
    """Each kind by our loader and by `pg_restore` in turn; which of them is first changes. The load
    that is dumped is the first of a cold machine, and is not counted."""
    found: dict[str, list[Loading]] = {kind: [] for kind in kinds}
    with tempfile.TemporaryDirectory() as folder:
        dumps = {kind: Path(folder) / kind for kind in kinds}
        for kind, dump in dumps.items():
            world.progress.note(f"a dump: {kind}")
            on_fresh_server(functools.partial(load, asked_for(kind), dump), world)
        for number in range(1, repeats + 1):
            for kind, dump in dumps.items():
                world.progress.note(f"repeat {number}/{repeats}: {kind}")
                found[kind].append(pair(asked_for(kind), dump, number % 2 == 1, world))
    return found


def pair(asked: Workload, dump: Path, ours_first: bool, world: World) -> Loading:
    def ours() -> tuple[float, float]:
        return on_fresh_server(functools.partial(load, asked, None), world)

    if ours_first:
        loaded_s = ours()
    restore_s = on_fresh_server(functools.partial(restore, asked, dump), world)
    return Loading(*(loaded_s if ours_first else ours()), restore_s)


def table(found: dict[str, list[Loading]]) -> Table:
    """Medians, with the least and the greatest; the ratio is of the medians, its span of pairs."""
    shown = Table(title="loads of some 2,000,000 rows, two workers: medians, least to greatest")
    for column in ("data set", "n", "ours, s", "pg_restore, s", "ratio", "checks once more, s"):
        shown.add_column(column)
    for kind, pairs in found.items():
        ours, theirs = [one.ours_s for one in pairs], [one.restore_s for one in pairs]
        ratio = statistics.median(ours) / statistics.median(theirs)
        shown.add_row(
            kind,
            str(len(pairs)),
            spread(ours),
            spread(theirs),
            spread([one.ours_s / one.restore_s for one in pairs], ratio),
            spread([one.again_s for one in pairs]),
        )
    return shown


def spread(values: Sequence[float], middle: float | None = None) -> str:
    middle = statistics.median(values) if middle is None else middle
    return f"{middle:.2f} ({min(values):.2f} to {max(values):.2f})"
