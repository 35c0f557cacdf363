"""BenchBase for real: create, load, run, read; and that it and the built-in workload agree.

Goal: what the adapter reads of a run is what the database has seen, and both generators deal the
same transactions. Method: one PostgreSQL node on a plain volume, one warehouse, seconds of load;
no tier is involved, so nothing here measures a disk. Runs where BENCHBASE_HOME names a directory
with BenchBase's distribution.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.databases.postgresql import PostgreSQL
from orchestrator.extensions.benchbase import results
from orchestrator.extensions.benchbase.distribution import BenchBaseSource
from orchestrator.extensions.benchbase.generator import BenchBase
from orchestrator.load_generators.sysbench.generator import Sysbench
from orchestrator.model import Cluster, ClusterSpec, Dataset, NodeSize, Volume, Workload
from orchestrator.parts import ClientLoad, LoadGenerator, Result
from orchestrator.powers import World
from orchestrator.system import files, sql
from tests import ROOT

HOME = os.environ.get("BENCHBASE_HOME")
pytestmark = [
    pytest.mark.docker,
    pytest.mark.usefixtures("nothing_left"),
    pytest.mark.skipif(
        not HOME,
        reason="BENCHBASE_HOME names no directory with BenchBase's distribution",
    ),
]

NETWORK = "tierbench-test-bb"
SPEC = ClusterSpec("postgresql", 1, 1, NodeSize(2.0, 1024 * 2**20, 4 * 2**30))
TYPES = ("new_order", "payment", "order_status", "delivery", "stock_level")

WITH_BENCHBASE = Workload(
    name="tpcc",
    title="TPC-C-derived order entry",
    generator="benchbase",
    script="benchbase/tpcc.xml.jinja",
    dataset=Dataset("benchbase-tpcc", {"warehouses": 1}),
    scale="smoke",
    threads=4,
    loader_threads=2,
    warmup_s=2.0,
    measure_s=8.0,
    options={"think": "none", "isolation": "repeatable read", "max_attempts": 3},
)
BUILT_IN = replace(
    WITH_BENCHBASE,
    generator="sysbench",
    script="tpcc/tpcc.lua",
    dataset=Dataset("tpcc", {"warehouses": 1}),
)


@contextmanager
def database(world: World) -> Iterator[Cluster]:
    with (
        world.platform.volume(NETWORK, "", "") as volume,
        world.platform.network(NETWORK, 1) as network,
        PostgreSQL().running(
            SPEC, (Volume(volume, "", restored=False),), network, world
        ) as cluster,
    ):
        yield cluster


def ask(cluster: Cluster, question: str) -> list[sql.Row]:
    with sql.session(sql.local(cluster.endpoints[0]), 60.0) as session:
        return session.rows(question)


def loaded_and_run(
    generator: LoadGenerator,
    workload: Workload,
    cluster: Cluster,
    out: Path,
    world: World,
) -> Result:
    generator.check(workload, SPEC, world)
    out.mkdir()
    with generator.client(NETWORK, world) as client:
        generator.load(workload, cluster, client, world)
        PostgreSQL().settle(cluster, world)
        _, measured = generator.run(ClientLoad(workload, cluster, client, out, world))
    return generator.read(workload, out, measured.start_s, measured.end_s)


def figure(result: Result, metric: str, scope: str = "all") -> float:
    (value,) = [
        m.value for m in result.measurements if (m.metric, m.scope) == (metric, scope)
    ]
    return value


def columns_of(ddl: str) -> dict[str, list[str]]:
    tables = re.findall(r"CREATE TABLE (\w+) \((.*?)\n\);", ddl, re.DOTALL)
    return {
        name: [
            line.split()[0]
            for line in body.strip().splitlines()
            if line.split()[0] not in ("PRIMARY", "FOREIGN")
        ]
        for name, body in tables
    }


def test_a_run_is_read_as_the_database_has_seen_it(
    world: World, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    generator = BenchBase(BenchBaseSource(Path(HOME or "")))
    with database(world) as cluster:
        result = loaded_and_run(generator, WITH_BENCHBASE, cluster, out, world)
        held = generator.verify(WITH_BENCHBASE, cluster, world)["consistency"]
        (seen,) = ask(
            cluster, "SELECT sum(d_next_o_id - 3001)::int AS orders FROM district"
        )
        theirs = ask(
            cluster,
            "SELECT table_name AS name, array_agg(column_name::text ORDER BY ordinal_position)"
            " AS columns FROM information_schema.columns WHERE table_schema = 'public'"
            " GROUP BY table_name",
        )
    assert len(held) == 9  # all that hold at any time, but two
    facts = result.facts.recorded()
    assert facts["outcomes_known"], facts
    assert facts["attempts_unplaced"] == 0
    assert facts["recorded_transactions"] == facts["benchbase_measured_requests"]
    assert facts["final_state"] == "EXIT"

    # Every committed New-Order of all phases took one number of its district.
    completed = results._histogram(files.content(out / results.HISTOGRAMS), "completed")
    assert completed["new_order"] == seen["orders"]
    committed = figure(result, "nopm") / 60 * 8.0
    assert 0 < committed <= seen["orders"]

    # Four terminals on one warehouse collide in Payment; what is given up has used all attempts.
    (table,) = result.latencies or ()
    given_up = table[(table["outcome"] == 2) & (table["sqlstate"] == "40001")]
    assert set(given_up["retries"]) <= {2}
    assert figure(result, "retries") > 0

    assert (
        "<password>${env:PGPASSWORD}</password>" in (out / "benchbase.xml").read_text()
    )
    (kept,) = out.glob("*.config.xml")
    assert "password" not in kept.read_text()

    # BenchBase inserts by position, so our tables for YugabyteDB must have its columns.
    ours = columns_of((ROOT / "workloads/benchbase/yugabytedb.sql").read_text())
    assert len(ours) == 9
    assert {
        row["name"]: row["columns"] for row in theirs if row["name"] in ours
    } == ours


def test_both_generators_deal_the_same_mix(world: World, tmp_path: Path) -> None:
    """Within one point, and the chance of BenchBase's draws (it draws, the built-in deals)."""
    options = {"think": "none", "isolation": "read committed"}
    shares, counts = [], []
    with database(world) as cluster:
        for generator, workload in (
            (
                Sysbench(),
                BUILT_IN,
            ),  # first: BenchBase drops tables of the names it needs
            (BenchBase(BenchBaseSource(Path(HOME or ""))), WITH_BENCHBASE),
        ):
            asked = replace(workload, options=options, measure_s=20.0)
            result = loaded_and_run(
                generator, asked, cluster, tmp_path / asked.generator, world
            )
            total = figure(result, "transactions")
            shares.append(
                {t: 100 * figure(result, "transactions", t) / total for t in TYPES}
            )
            counts.append(total)
    for name in TYPES:
        share = shares[0][name]
        chance = 3.3 * (share * (100 - share) / counts[1]) ** 0.5
        assert abs(shares[1][name] - share) <= 1.0 + chance, (name, shares, counts)
