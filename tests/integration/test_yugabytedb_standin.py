"""YugabyteDB's adapter against the stand-in: up, down, up again, and the main job.

Goal: the order of starting, what is waited for, and what is read back. The stand-in
(tests/standin/) refuses what the real image refuses; nothing here measures anything.
Method: real containers on plain volumes. What only the real image tells: test_yugabytedb_real.py.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from unittest import mock

import psycopg
import pytest
import yaml

from orchestrator import facts as counted
from orchestrator.databases.yugabytedb import YugabyteDB
from orchestrator.databases.yugabytedb.collector import YugabyteDBCollector
from orchestrator.errors import NodeError
from orchestrator.load_generators import load_generators
from orchestrator.load_generators.common.client import run_in_client
from orchestrator.load_generators.sysbench.generator import Sysbench
from orchestrator.model import (
    Cluster,
    Dataset,
    Plan,
    Profile,
    Run,
    Workload,
)
from orchestrator.parts import Parts
from orchestrator.plan_parts import Judging, Repeats
from orchestrator.powers import World
from orchestrator.run import experiment
from orchestrator.run.beforehand import start_proof
from orchestrator.system.store import load
from orchestrator.tiers.unlimited import UnlimitedTier
from orchestrator.yugabyte import versions
from tests import ROOT
from tests.campaign_tables import OF_LOG, sampled_in
from tests.fakes import QuietProgress
from tests.integration.conftest import HERE, Told, measured
from tests.integration.standin_nodes import NETWORK, TABLE, ask, spec, up, volumes
from tests.tiers import a_tier

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("nothing_left", "impatient")]

RUNNING = YugabyteDB.running
TIERS = ("premium", "ultra")
INSERTS = str(HERE / "workloads" / "short-insert.yaml")


def test_three_nodes_take_sql_and_start_again_from_their_disks(
    image: str, world: World
) -> None:
    """Loaded, settled, stopped; then all at once from the same disks at the same addresses."""
    asked, database = spec(image), YugabyteDB()
    with volumes(3, world) as disks, world.platform.network(NETWORK, 3) as network:
        with database.running(asked, disks, network, world) as cluster:
            ask(cluster, 1, TABLE)
            ask(
                cluster,
                2,
                "INSERT INTO stock SELECT g % 9, g, 'x' FROM generate_series(1, 900) g",
            )
            assert [
                ask(cluster, n, "SELECT count(*) FROM stock") for n in (1, 2, 3)
            ] == [[(900,)]] * 3
            database.settle(cluster, world)
            database.begin_measuring(cluster, world)
            database.warm(cluster, world)
            facts = database.facts(cluster, world).recorded()
        restored = tuple(replace(disk, restored=True) for disk in disks)
        with database.running(asked, restored, network, world) as cluster:
            assert ask(cluster, 3, "SELECT count(*) FROM stock") == [(900,)]
            again = database.facts(cluster, world).recorded()
    assert facts["stand_in"] is again["stand_in"] is True
    assert facts["version"] == versions.DEFAULT
    assert (facts["replication_factor"], facts["replicas_in_sync"]) == (3, 2)
    assert list(facts["leaders"].values()) == [1, 1, 1]
    assert len(set(facts["zones"].values())) == 3
    assert (
        facts["durable"] is False
        and facts["durability"]["durable_wal_write"] == "false"
    )
    assert facts["since_reset"]["block_cache_hit_ratio"] == 0.75
    assert set(facts["since_reset"]) >= OF_LOG
    assert facts["since_reset"][counted.WAL_NODES] == 3
    assert facts["data_bytes"] > 0


def test_tls_is_between_nodes_and_to_clients_and_durable_is_read_back(
    image: str, world: World, tmp_path: Path
) -> None:
    """As the published study had it, with its release."""
    here = replace(world, cache=tmp_path)
    database = YugabyteDB()
    secured = spec(image, tls="on", durability="durable")
    asked = replace(secured, version=versions.STUDY)
    switches = {number: {"STANDIN_VERSION": versions.STUDY} for number in (1, 2, 3)}
    with up(asked, here, switches, database) as cluster:
        assert len(cluster.endpoints[0].password) >= 20
        with pytest.raises(
            psycopg.OperationalError, match="password authentication failed"
        ):
            psycopg.connect(
                f"host=127.0.0.1 port={cluster.endpoints[0].local_port} user=bench dbname=bench",
                password="bench",
            )
        authority = tmp_path / f"certificates/{NETWORK}/ca.crt"
        root = {"sslrootcert": str(authority)}
        found = ask(cluster, 2, "SELECT current_user", sslmode="verify-ca", **root)
        assert found == [("bench",)]
        with pytest.raises(psycopg.OperationalError, match="SSL off"):
            ask(cluster, 2, "SELECT 1", sslmode="disable")
        assert "SSL connection" in psql(cluster, world)  # and the load verifies it
        facts = database.facts(cluster, here).recorded()
    assert facts["durable"] is True
    assert facts["tls"] is True
    assert facts["flags"]["use_client_to_server_encryption"] == "true"


def psql(cluster: Cluster, world: World) -> str:
    """What a program in the client says of its own session."""
    at = cluster.endpoints[2]
    words = f"psql -h {at.host} -p {at.port} -U {at.user} -d {at.database} -c".split()
    with Sysbench().client(cluster.network, world, cluster.tls) as client:
        done = run_in_client(
            client, [*words, "\\conninfo"], cluster, world, timeout_s=60
        )
    assert done.exit_code == 0, done.tail()
    return done.out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("count", "copies", "slow_s"),
    [pytest.param(5, 5, "0", id="five"), pytest.param(3, 1, "4", id="one")],
)
def test_other_copies_than_three_are_placed_once_all_nodes_are_up(
    count: int, copies: int, slow_s: str, image: str, world: World
) -> None:
    """A slow start is waited for."""
    database, second = YugabyteDB(), {2: {"STANDIN_SLOW_S": slow_s}}
    with up(spec(image, count, copies), world, second, database) as cluster:
        facts = database.facts(cluster, world).recorded()
    assert facts["replication_factor"] == copies
    assert len(facts["leaders"]) == count


def test_counters_move_with_what_clients_write(image: str, world: World) -> None:
    with up(spec(image, count=1), world) as cluster:
        ask(cluster, 1, TABLE)
        before = _counters(cluster)
        at = cluster.endpoints[0]
        with (
            psycopg.connect(
                f"host=127.0.0.1 port={at.local_port} user=bench dbname=bench",
                password=at.password,
            ) as connection,
            connection.cursor() as cursor,
            cursor.copy(
                "COPY stock FROM STDIN WITH (ROWS_PER_TRANSACTION 20000)"
            ) as copy,
        ):
            for number in range(20_000):
                copy.write(f"{number}\t{number}\t{'x' * 50}\n")
        after = _counters(cluster)
    for counter in (
        "wal_bytes_total",
        "flush_written_bytes_total",
        "sql_statements_total",
    ):
        assert after[counter] > before[counter], counter


def _counters(cluster: Cluster) -> dict[str, float]:
    samples = YugabyteDBCollector().read(cluster.nodes, 100.0)
    return {sample.metric: sample.value for sample in samples}


def test_a_cluster_is_started_once_to_see_that_it_does(
    image: str, world: World
) -> None:
    """What `DB=auto` does before a plan is written: each different cluster, and nothing is left."""
    parts = Parts({"yugabytedb": YugabyteDB()}, {}, {}, ())
    single, broken = spec(image, count=1), spec(image, count=1, no_such_flag="1")
    with mock.patch.object(
        YugabyteDB, "running", autospec=True, side_effect=RUNNING
    ) as running:
        start_proof.prove_start([single, single], parts, world)
        assert running.call_count == 1
        with pytest.raises(NodeError, match="is exited"):
            start_proof.prove_start([single, broken], parts, world)


# ------------------------------------------------------------------ the main job

TIER = a_tier("here", "This machine", "none", None, None)
TPCC = Workload(
    name="tpcc",
    title="tpcc",
    generator="sysbench",
    script="tpcc/tpcc.lua",
    # Counted in several slices.
    dataset=Dataset("tpcc", {"warehouses": 1, "slice_rows": 40_000}),
    scale="smoke",
    threads=3,
    loader_threads=2,
    warmup_s=1.0,
    measure_s=3.0,
    statements_per_transaction=None,
    options={"think": "none"},
)


@pytest.mark.slow
def test_the_main_job_runs_and_its_result_is_marked(
    image: str, world: World, tmp_path: Path
) -> None:
    """Loaded in YugabyteDB's own words, run over all nodes, sampled, recorded as a stand-in's."""
    profile = Profile("here", "Does the whole flow work?", TIER, spec(image))
    plan = Plan(
        name="stand-in",
        scale="smoke",
        baseline="here",
        repeats=Repeats(repetitions=1, seed=1),
        judging=Judging(5.0),
        profiles=(profile,),
        workloads=(TPCC,),
        runs=(Run(1, "here", "tpcc", 1),),
        estimate_s=60.0,
    )
    parts = Parts(
        {"yugabytedb": YugabyteDB()},
        load_generators(),
        {"none": UnlimitedTier()},
        (YugabyteDBCollector(),),
    )
    progress = QuietProgress()
    folder = experiment.execute(
        plan, parts, replace(world, progress=progress), tmp_path, {}
    )
    record = load(folder).runs[0].record
    assert record.outcome == "done", record.failure
    assert not [line for line in progress.said if "tried again" in line], (
        "counted right in slices"
    )
    assert record.facts["database"]["stand_in"] is True
    throughput = {m.metric: m.value for m in record.measurements if m.scope == "all"}
    assert throughput["throughput_per_s"] > 0
    sampled = set(sampled_in(load(folder).runs[0])["metric"])
    assert {"wal_sync_seconds_total", "sql_statements_total"} <= sampled


# ------------------------------------------------------------------ two disk tiers


def on_stand_in(tier: str, image: str, folder: Path) -> Path:
    """A file of the tier's shipped profile, whose cluster runs the stand-in's image."""
    profile = yaml.safe_load((ROOT / f"profiles/{tier}.yaml").read_text())
    cluster_file = ROOT / f"profiles/clusters/{profile['cluster']}.yaml"
    cluster = yaml.safe_load(cluster_file.read_text())
    profile["cluster"] = {**cluster, "settings": {"image": image}}
    file = folder / f"{tier}.yaml"
    file.write_text(yaml.safe_dump(profile))
    return file


@measured
def test_two_disk_tiers_are_compared_to_a_report(
    image: str, tmp_path: Path, told: Told
) -> None:
    """Disks are held to their tiers, and the result says that no YugabyteDB was measured."""
    profiles = [str(on_stand_in(tier, image, tmp_path)) for tier in TIERS]
    results = tmp_path / "results"
    code, text = told(
        *["compare", "--profiles", " ".join(profiles), "--db", "yugabytedb"],
        *["--workloads", INSERTS, "--scale", "smoke", "--nodes", "1", "--repeats", "1"],
        *["--results", str(results)],
    )
    assert code == 2, text  # one repetition decides nothing
    assert "tried again" not in text, "rows are counted right in slices"
    campaign = load(results / "latest")
    assert {data.record.profile.name for data in campaign.runs} == set(TIERS)
    for data in campaign.runs:
        record = data.record
        assert record.outcome == "done", record.failure
        assert record.gate is not None and record.gate.passed, record.gate
        assert record.facts["database"]["stand_in"] is True
        values = {m.metric: m.value for m in record.measurements if m.scope == "all"}
        assert values["throughput_per_s"] > 0
        sampled = set(sampled_in(data)["metric"])
        of_server = {"wal_sync_seconds_total", "sql_statements_total"}
        assert of_server | {"disk_writes_total"} <= sampled, sampled
    page = (results / "latest" / "report.html").read_text()
    assert "A stand-in that speaks the database" in page
    assert "Premium SSD P15" in page and "Ultra Disk" in page
