"""What sysbench really asks for: keys follow SEED, and the options of a workload are in force.

Goal: `rand_type`, `skip_trx` and SEED say the truth. Method: sysbench and a PostgreSQL on a plain
volume; rows that were inserted hold the drawn numbers, so that nothing depends on speed. The rows'
filling is 120 random digits: two rows agree only where they were drawn alike.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from orchestrator.keys.shipped_yaml import shipped
from orchestrator.load_generators.common import options
from orchestrator.load_generators.sysbench import command_lines
from orchestrator.load_generators.sysbench.generator import Sysbench
from orchestrator.load_generators.sysbench.records import Records
from orchestrator.model import Cluster, Dataset, Node, Workload
from orchestrator.parts import ClientLoad
from orchestrator.planning.workloads import read_workload
from orchestrator.powers import World
from tests import ROOT, open_loop
from tests.documented import examples
from tests.integration.postgresql_nodes import (
    NETWORK,
    count,
    plain_volumes,
    running,
    session,
)
from tests.plans import a_workload

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("nothing_left")]

GENERATOR = Sysbench()
ROWS = 1000
INSERT = replace(
    a_workload("insert"),
    dataset=Dataset("sysbench-tables", {"tables": 2, "table_size": ROWS}),
    threads=4,
    warmup_s=0.0,
    measure_s=1.0,
)
Row = tuple[int, str]  # k, drawn as `rand_type` says; c, the filling


@dataclass
class Bench:
    cluster: Cluster
    client: Node
    out: Path
    world: World

    def run(self, workload: Workload) -> None:
        GENERATOR.run(
            ClientLoad(workload, self.cluster, self.client, self.out, self.world)
        )

    def inserted(self, seed: int, **options: str | int) -> set[Row]:
        """What one run of the insert workload wrote; the tables are as loaded before it."""
        with session(self.cluster) as connection:
            for table in (1, 2):
                connection.execute(
                    f"DELETE FROM sbtest{table} WHERE id > {ROWS}".encode()
                )
            self.run(replace(INSERT, options={**options, "seed": seed}))
            rows: set[Row] = set()
            for table in (1, 2):
                ask = f"SELECT k, c FROM sbtest{table} WHERE id > {ROWS}".encode()
                rows.update(connection.execute(ask).fetchall())
        assert len(rows) > 40
        return rows


@contextmanager
def bench(workload: Workload, world: World, out: Path) -> Iterator[Bench]:
    with (
        plain_volumes(1, world) as volumes,
        running(volumes, world) as cluster,
        GENERATOR.client(NETWORK, world) as client,
    ):
        GENERATOR.load(workload, cluster, client, world)
        yield Bench(cluster, client, out, world)


def share_below_a_fifth(rows: set[Row]) -> float:
    return sum(k <= ROWS / 5 for k, _ in rows) / len(rows)


@pytest.mark.slow
def test_keys_follow_the_seed_and_the_distribution_that_was_asked_for(
    world: World, tmp_path: Path
) -> None:
    with bench(INSERT, world, tmp_path) as made:
        first, again, other = (made.inserted(seed) for seed in (1, 1, 2))
        # Threads get different shares of a second, so the runs differ in length, not in content.
        assert len(first & again) > 0.3 * min(len(first), len(again))
        assert not first & other
        assert 0.1 < share_below_a_fifth(first) < 0.3

        skewed = made.inserted(1, rand_type="pareto")  # 80 % fall into the first fifth
        assert 0.7 < share_below_a_fifth(skewed) < 0.9
        more_skewed = made.inserted(1, rand_type="pareto", rand_pareto_h="0.05")
        assert share_below_a_fifth(more_skewed) > 0.9

        autocommit = made.inserted(1, skip_trx=1)
        assert autocommit & first
        with session(made.cluster) as connection:
            ask = b"SELECT count(DISTINCT xmin::text), count(*) FROM sbtest1 WHERE id > 1000"
            row = connection.execute(ask).fetchone()
        assert row is not None
        assert row[0] == row[1] > 0  # every statement was a transaction of its own


# Of statements so many meet a conflict, whatever they ask for.
CONFLICTS = """
CREATE FUNCTION conflict() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF random() < 0.03 THEN RAISE EXCEPTION 'made up' USING ERRCODE = '40001'; END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER conflict BEFORE INSERT ON sbtest1 FOR EACH ROW EXECUTE FUNCTION conflict();
CREATE TRIGGER conflict BEFORE INSERT ON sbtest2 FOR EACH ROW EXECUTE FUNCTION conflict();
"""


def test_a_repeated_attempt_asks_for_the_same_and_changes_nothing_that_follows(
    world: World, tmp_path: Path
) -> None:
    """Pauses of repeated attempts make the run shorter, so its rows are some of the other's."""
    with bench(INSERT, world, tmp_path) as made:
        without = made.inserted(1)
        with session(made.cluster) as connection:
            connection.execute(CONFLICTS.encode())
        repeated = made.inserted(1)
    retried = [
        one["count"] for left in left_by_threads(tmp_path) for one in left["retried"]
    ]
    assert sum(retried) > 20
    assert len(repeated & without) > 0.9 * len(repeated)


def left_by_threads(out: Path) -> list[dict[str, Any]]:
    return [json.loads(file.read_text()) for file in out.glob("errors-*.json")]


@pytest.mark.slow
def test_connections_share_one_queue_of_what_is_due(
    world: World, tmp_path: Path
) -> None:
    """At 70 % of capacity; with a queue for each connection it was two to three times as long. How
    near it is, `make bench NAME=arrivals` prints: this machine may be late."""
    with bench(open_loop.READS, world, tmp_path) as made:
        open_loop.slow_down(made.cluster)
        made.run(open_loop.at(0.7, 10.0))
        table, threads = (
            pd.concat(Records.of_folder(tmp_path)),
            left_by_threads(tmp_path),
        )
        made.run(open_loop.at(2.0, 2.0))
        behind, waited_s = (
            left_by_threads(tmp_path),
            Records.of_folder(tmp_path).unstarted_s,
        )
    assert len(table) > 0.5 * 0.7 * open_loop.CAPACITY_PER_S * 10.0
    found, expected = open_loop.measured(table), open_loop.of_one_queue(table)
    assert 0.98 < found.average_s / expected.average_s < 1.4
    assert sum(one["unstarted"] for one in threads) < 0.1 * len(table)
    (waits_s,) = waited_s.values()  # of what came in twice as fast as it was served
    assert len(waits_s) == sum(one["unstarted"] for one in behind) > 100
    assert 0 <= waits_s.min() < waits_s.max() < 2.5


def test_a_thread_that_wakes_up_late_is_no_queue_and_in_no_latency(
    world: World, tmp_path: Path
) -> None:
    """At 5 % of capacity there is always a free connection, which sleeps until the arrival."""
    with bench(open_loop.READS, world, tmp_path) as made:
        open_loop.slow_down(made.cluster)
        made.run(open_loop.at(0.05, 5.0))
        table = pd.concat(Records.of_folder(tmp_path))
        late = [one["woke_late"] for one in left_by_threads(tmp_path)]
    assert (table["queue_s"] == 0).mean() > 0.95
    assert sum(one["count"] for one in late) == pytest.approx(len(table), rel=0.05)
    assert sum(one["total_us"] for one in late) > 0
    most_us = max(one["most_us"] for one in late)
    assert all(one["total_us"] <= one["count"] * most_us for one in late)


@pytest.mark.slow
def test_arrivals_follow_the_seed_whichever_thread_takes_them(
    world: World, tmp_path: Path
) -> None:
    """By the gaps between arrivals that waited for a connection: their starts are when they were
    due. The others start when a thread woke up, which a busy machine puts off."""
    with bench(open_loop.READS, world, tmp_path) as made:
        open_loop.slow_down(made.cluster)
        first, again = (first_arrivals(made, tmp_path) for _ in range(2))
    gaps_s = first["start_s"].diff()
    differ_s = (gaps_s - again["start_s"].diff()).abs()
    waited = (first["queue_s"] > 0) & (again["queue_s"] > 0)
    both_ends_waited = waited & waited.shift(fill_value=False)
    assert both_ends_waited.sum() > 100
    assert (differ_s[both_ends_waited] < 1e-5).mean() > 0.9
    assert gaps_s.mean() == pytest.approx(
        1 / (2.0 * open_loop.CAPACITY_PER_S), rel=0.15
    )


def first_arrivals(made: Bench, out: Path) -> pd.DataFrame:
    """Those of a run at twice the capacity, in the order in which they were due."""
    made.run(open_loop.at(2.0, 5.0))
    table = pd.concat(Records.of_folder(out)).sort_values("start_s")
    assert len(table) > 220  # of 2,000 that can be served, and 8 may have no record yet
    return table.head(200).reset_index(drop=True)


@pytest.mark.slow
def test_what_only_the_loader_knows_reaches_the_loader_alone(
    world: World, tmp_path: Path
) -> None:
    parameters = {"warehouses": 1, "foreign_keys": 1}
    tpcc = replace(
        a_workload("tpcc"),
        script="tpcc/tpcc.lua",
        dataset=Dataset("tpcc", parameters),
        statements_per_transaction=None,
        warmup_s=0.0,
        measure_s=1.0,
        options={"seed": 1},
    )
    with bench(tpcc, world, tmp_path) as made:
        assert (
            count(
                made.cluster, "SELECT count(*) FROM pg_constraint WHERE contype = 'f'"
            )
            > 5
        )
        made.run(tpcc)


@pytest.mark.parametrize("script", list(command_lines.KNOWN))
def test_every_known_option_is_one_of_the_script_and_the_script_has_no_other(
    script: str, world: World
) -> None:
    """Held against what sysbench itself says that the script understands."""
    with world.platform.network(NETWORK, 1), GENERATOR.client(NETWORK, world) as client:
        ask = ["sysbench", f"/workloads/{script}", "--verbosity=0", "help"]
        said = (
            world.platform.container(client.container or "").exec(ask, timeout_s=20).out
        )
    own = {
        line.split("[")[0].split("=")[0].strip()
        for line in said.splitlines()
        if " --" in line
    }
    names = shipped("orchestrator.load_generators.sysbench", "options.yaml")
    own = {name.removeprefix("--") for name in own} - {
        *options.SET_FOR_ALL,
        *names["set_here"],
    }
    if script in command_lines.ENDS_WITH_WORK:
        own.remove(
            "arrival_rate"
        )  # of what all scripts share, refused for a piece of work
    of_sysbench = {options.PREPARED, *names["groups"]["random"]}
    assert own == set(command_lines.KNOWN[script]) - of_sysbench


def test_the_documented_workload_runs(world: World, tmp_path: Path) -> None:
    """The example of docs/ADDING.md, its two files put where the document says."""
    for folder in ("workloads", "docker"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    (script,) = examples("ADDING.md", "A workload", "lua")
    (tmp_path / "workloads/sysbench/update.lua").write_text(script)
    (text,) = examples("ADDING.md", "A workload")
    shipped = read_workload("update", text, "smoke")
    small = replace(
        shipped, dataset=INSERT.dataset, threads=2, warmup_s=0.0, measure_s=1.0
    )
    out = tmp_path / "out"
    out.mkdir()
    with bench(small, replace(world, root=tmp_path), out) as here:
        start_s = here.world.clock.now()
        here.run(small)
        end_s = here.world.clock.now()
        result = GENERATOR.read(small, here.out, start_s, end_s)
    figures = {(one.metric, one.scope): one.value for one in result.measurements}
    assert figures["transactions", "all"] > 10
    assert figures["failures", "all"] == 0
