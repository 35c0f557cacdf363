"""Loads that are disturbed: a lost connection is tried again, a failed load goes on from its disks.

Method: while rows are copied, sessions of the loader are ended or cancelled. What is there at the
end must be the very rows of a load that nobody disturbed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import psycopg
import pytest

from orchestrator.databases.common import indexes
from orchestrator.databases.postgresql import PostgreSQL
from orchestrator.errors import LoadError, RunError, UnfinishedError
from orchestrator.load_generators.sysbench.generator import Sysbench
from orchestrator.model import Cluster, Endpoint, Node, Workload
from orchestrator.parts import Parts
from orchestrator.planning import project_files
from orchestrator.platforms import own_images
from orchestrator.platforms.docker.engine import DockerPlatform
from orchestrator.powers import HOST_NETWORK, World
from orchestrator.run.data import datasets
from orchestrator.system import sql
from orchestrator.tiers.emulated import EmulatedTier
from tests import ROOT
from tests.integration import servers
from tests.integration.servers import Server

pytestmark = pytest.mark.docker

COPYING = (
    "FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'COPY%'"
)
TABLES = {
    "tpcc": ("warehouse", "customer", "order_line"),
    "insert": ("sbtest1", "sbtest2"),
}
PARAMETERS = {"tpcc": {"warehouses": 2}, "insert": {"tables": 2, "table_size": 600_000}}


def workload_of(name: str, **parameters: int) -> Workload:
    _, (workload,) = project_files.read(ROOT, [], [name], "smoke")
    return replace(workload, dataset=replace(workload.dataset, parameters=parameters))


@contextmanager
def disturbed(endpoint: Endpoint, statement: str) -> Iterator[None]:
    """Runs a statement again and again beside what is within, until it has a row."""
    over = threading.Event()

    def disturb() -> None:
        while not over.is_set():
            with suppress(RunError), sql.session(sql.local(endpoint)) as session:
                if session.rows(statement):
                    return
            time.sleep(0.05)

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["insert", "tpcc"])
def test_lost_connections_leave_the_same_rows(
    name: str, engine: DockerPlatform, world: World
) -> None:
    workload, generator = workload_of(name, **PARAMETERS[name]), Sysbench()
    rows: list[object] = []
    with (
        servers.postgresql(own_images.need(ROOT, "postgres", engine)) as server,
        generator.client(HOST_NETWORK, world) as client,
    ):
        for database in ("calm", "disturbed"):
            server.ask(f"CREATE DATABASE {database}")
            host, port = server.hosts[0], server.port
            at = Endpoint(
                host, port, port, server.user, server.password, database, host
            )
            cluster = Cluster("postgresql", "17", (), (at,), HOST_NETWORK)
            ending = f"SELECT pg_terminate_backend(pid) {COPYING}"
            with disturbed(at, ending if database == "disturbed" else "SELECT 1"):
                generator.load(workload, cluster, client, world)
            rows += [
                server.ask(
                    f"SELECT count(*), sum(hashtext(t::text)) FROM {table} t", database
                )
                for table in TABLES[name]
            ]
    middle = len(rows) // 2
    assert rows[:middle] == rows[middle:]


def test_an_index_that_is_left_invalid_is_named(postgresql: Server) -> None:
    """As CREATE INDEX of YugabyteDB leaves one that timed out; on PostgreSQL, CONCURRENTLY does."""
    at = sql.Address(
        postgresql.hosts[0],
        postgresql.port,
        postgresql.user,
        postgresql.password,
        postgresql.database,
    )
    postgresql.ask("CREATE TABLE twice AS SELECT 1 AS a FROM generate_series(1, 2)")
    try:
        with pytest.raises(psycopg.errors.UniqueViolation):
            postgresql.ask("CREATE UNIQUE INDEX CONCURRENTLY half_made ON twice (a)")
        with (
            pytest.raises(LoadError, match="CREATE INDEX failed: half_made"),
            sql.session(at) as session,
        ):
            indexes.require_complete(session)
    finally:
        postgresql.ask("DROP TABLE twice")
    with sql.session(at) as session:
        indexes.require_complete(session)


@dataclass
class Disturbed(Sysbench):
    """Its first load is cancelled when two units are complete."""

    complete: list[int] = field(default_factory=list)

    def load(
        self, workload: Workload, cluster: Cluster, client: Node, world: World
    ) -> None:
        complete = "(SELECT count(*) FROM tpcc_loaded WHERE complete)"
        cancel = f"SELECT pg_cancel_backend(pid) {COPYING} AND {complete} >= 2"
        if self.complete:
            with sql.session(sql.local(cluster.endpoints[0])) as session:
                self.complete.append(
                    int(session.rows(f"SELECT {complete} AS n")[0]["n"])
                )
            cancel = "SELECT 1"
        else:
            self.complete.append(0)
        with disturbed(cluster.endpoints[0], cancel):
            super().load(workload, cluster, client, world)


@pytest.mark.slow
def test_a_failed_load_goes_on_from_its_own_disks(world: World, tmp_path: Path) -> None:
    (profile,), _ = project_files.read(ROOT, ["premium"], ["tpcc"], "smoke")
    cluster = replace(
        profile.cluster, database="postgresql", nodes=1, replication_factor=1
    )
    profile, generator = replace(profile, cluster=cluster), Disturbed()
    parts = Parts(
        {"postgresql": PostgreSQL()},
        {"sysbench": generator},
        {"emulated": EmulatedTier()},
        (),
    )
    own, workload = replace(world, cache=tmp_path), workload_of("tpcc", warehouses=4)
    with pytest.raises(UnfinishedError, match="canceling statement"):
        datasets.ensure(profile, workload, 1, parts, own)
    assert not list(tmp_path.rglob("dataset.json")) and list(
        tmp_path.rglob("loading.json")
    )
    snapshots = datasets.ensure(profile, workload, 1, parts, own)
    assert snapshots and snapshots[0].with_name("dataset.json").is_file()
    assert not list(tmp_path.rglob("loading.json"))
    assert generator.complete[1] >= 2, "what was complete was not loaded again"
