"""Several clients on one database: each transaction is counted once, and they are one load.

Goal: what two clients recorded together is what PostgreSQL committed, and no client repeats what
another draws. Method: inserts, because the rows that they leave can be counted and compared; the
records are of all that ran, so nothing depends on speed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd
import pytest

from orchestrator.analysis.figures import transactions
from orchestrator.errors import LoadError
from orchestrator.load_generators.sysbench.generator import Sysbench
from orchestrator.model import TLS_IF_OFFERED, Cluster, Dataset, Node, Workload
from orchestrator.parts import ClientLoad
from orchestrator.powers import World
from orchestrator.run.clients import several_clients
from tests.integration.postgresql_nodes import NETWORK, plain_volumes, running, session
from tests.plans import a_workload

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("nothing_left")]

GENERATOR = Sysbench()
ROWS = 1000
STATEMENTS = 10
INSERT = replace(
    a_workload("insert"),
    dataset=Dataset("sysbench-tables", {"tables": 2, "table_size": ROWS}),
    statements_per_transaction=STATEMENTS,
    threads=5,
    warmup_s=1.0,
    measure_s=2.0,
    options={"seed": 1},
)

TPCC = replace(
    a_workload("tpcc"),
    script="tpcc/tpcc.lua",
    dataset=Dataset("tpcc", {"warehouses": 1}),
    statements_per_transaction=None,
    threads=5,
    warmup_s=1.0,
    measure_s=3.0,
    options={"seed": 1, "think": "none"},
)


@dataclass
class Bench:
    cluster: Cluster
    clients: tuple[Node, ...]
    out: Path
    world: World

    def load(self, workload: Workload, world: World) -> ClientLoad:
        return ClientLoad(workload, self.cluster, self.clients[0], self.out, world)


@pytest.fixture
def two(world: World, tmp_path: Path) -> Iterator[Bench]:
    with loaded(INSERT, world, tmp_path) as bench:
        yield bench


@contextmanager
def loaded(workload: Workload, world: World, out: Path) -> Iterator[Bench]:
    with (
        plain_volumes(1, world) as volumes,
        running(volumes, world) as cluster,
        several_clients.running(
            GENERATOR, 2, NETWORK, out, world, TLS_IF_OFFERED
        ) as clients,
    ):
        GENERATOR.load(workload, cluster, clients[0], world)
        yield Bench(cluster, clients, out, world)


def test_what_all_clients_recorded_is_what_the_database_committed(two: Bench) -> None:
    begun: list[float] = []
    world = replace(two.world, window_begins=begun.append)
    warmup, measure = several_clients.run(
        GENERATOR, two.load(INSERT, world), two.clients
    )
    result = several_clients.read(
        GENERATOR, INSERT, two.out, measure.start_s, measure.end_s
    )

    assert [client.name for client in two.clients] == ["client-1", "client-2"]
    assert begun == [measure.start_s] and warmup.end_s == measure.start_s
    assert measure.duration_s == pytest.approx(INSERT.measure_s)

    table = pd.concat(result.latencies or ())
    assert (table["outcome"] == transactions.COMMITTED).all()
    with session(two.cluster) as connection:
        rows = connection.execute(
            f"SELECT k, c FROM sbtest1 WHERE id > {ROWS} "
            f"UNION ALL SELECT k, c FROM sbtest2 WHERE id > {ROWS}".encode()
        ).fetchall()
    assert len(rows) == STATEMENTS * len(table)
    assert len(set(rows)) == len(rows)  # no client draws what the other does

    facts = result.facts
    each = {name: one["recorded_transactions"] for name, one in facts.clients.items()}
    assert sum(each.values()) == facts.recorded_transactions == len(table)
    assert min(each.values()) > 0
    assert facts.sysbench_transactions == len(table)
    assert [one["threads"] for one in facts.clients.values()] == [3, 2]
    for one in facts.clients.values():  # one machine, one clock
        assert abs(one["clock_offset_s"]) <= one["clock_uncertainty_s"] + 0.001
        # No thread began before its time, which is written to the millisecond.
        assert one["began_s"] >= warmup.start_s - 0.002
    assert facts.start_skew_s is not None and facts.start_skew_s >= 0


@pytest.mark.slow
def test_a_window_of_all_begins_when_throughput_is_steady_and_ends_as_told(
    two: Bench,
) -> None:
    """Each client hears of the window's end while its program runs, and no later than that it is
    over."""
    steady = replace(INSERT, warmup_s=1.0, warmup_most_s=45.0)
    warmup, measure = several_clients.run(
        GENERATOR, two.load(steady, two.world), two.clients
    )
    assert 20 <= warmup.duration_s <= 47
    assert measure.duration_s == pytest.approx(INSERT.measure_s, abs=0.1)
    result = several_clients.read(
        GENERATOR, steady, two.out, measure.start_s, measure.end_s
    )
    for client in two.clients:
        ends_s = float((two.out / client.name / "window-ends").read_text())
        assert ends_s == pytest.approx(measure.end_s, abs=0.1)
    last_s = max(table["start_s"].max() for table in result.latencies or ())
    assert last_s < measure.end_s + 1.5, "the program ran on after its window"


@pytest.mark.slow
def test_each_transaction_of_the_tpcc_derived_mix_is_counted_once(
    world: World, tmp_path: Path
) -> None:
    """A committed New-Order takes one number of its district, a Payment leaves a row of history:
    what the database has of both is what two clients recorded."""
    left = b"SELECT (SELECT sum(d_next_o_id) FROM district), (SELECT count(*) FROM history)"
    with loaded(TPCC, world, tmp_path) as two:
        with session(two.cluster) as connection:
            (before,) = connection.execute(left).fetchall()
        _, measure = several_clients.run(GENERATOR, two.load(TPCC, world), two.clients)
        with session(two.cluster) as connection:
            (after,) = connection.execute(left).fetchall()
        assert GENERATOR.verify(TPCC, two.cluster, world)["consistency"]
        result = several_clients.read(
            GENERATOR, TPCC, two.out, measure.start_s, measure.end_s
        )
        table = pd.concat(result.latencies or ())
    committed = table[table["outcome"] == transactions.COMMITTED]["type"].value_counts()
    assert committed["new_order"] == int(after[0]) - int(before[0]) > 0
    assert committed["payment"] == int(after[1]) - int(before[1]) > 0
    each = [one["recorded_transactions"] for one in result.facts.clients.values()]
    assert (
        sum(each) == result.facts.recorded_transactions == len(table) and min(each) > 0
    )


@pytest.mark.slow
def test_a_client_that_dies_ends_the_run_and_the_other_clients(two: Bench) -> None:
    def die(_: float) -> None:
        two.world.platform.container(two.clients[1].container or "").stop(1.0)

    world = replace(two.world, window_begins=die)
    long = replace(INSERT, measure_s=120.0)
    began_s = world.clock.monotonic()
    with pytest.raises(LoadError, match=r"^client-2: sysbench ended with exit code"):
        several_clients.run(GENERATOR, two.load(long, world), two.clients)
    assert world.clock.monotonic() - began_s < long.measure_s
    states = [
        two.world.platform.container(client.container or "").state().words
        for client in two.clients
    ]
    assert all(state != "running" for state in states)
