"""PostgreSQL for real: up, down and up again from the same disks; what a commit waits for; deaths.

Goal: the claims that docker/postgres/ and the adapter make together. Method: real containers on
plain volumes; no tier is involved, so nothing here measures a disk.
"""

from __future__ import annotations

import psycopg
import pytest

from orchestrator import facts as counted
from orchestrator.collectors.sessions import session_waits
from orchestrator.collectors.statements import statement_counts
from orchestrator.errors import NodeError, UsageError
from orchestrator.model import Cluster
from orchestrator.powers import World
from tests.campaign_tables import OF_LOG
from tests.integration.postgresql_nodes import (
    DATABASE,
    MIB,
    NETWORK,
    count,
    plain_volumes,
    running,
    session,
    spec,
)

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("nothing_left")]


def log(cluster: Cluster, number: int, world: World) -> str:
    return world.platform.container(cluster.nodes[number - 1].container or "").logs()


@pytest.mark.parametrize("copies", [1, 3])
def test_data_survive_a_clean_stop_and_all_copies_are_in_sync(
    copies: int, world: World
) -> None:
    with plain_volumes(copies, world) as volumes:
        with running(volumes, world) as cluster:
            with session(cluster) as connection:
                connection.execute(
                    "CREATE TABLE t AS SELECT generate_series(1, 5000) AS id"
                )
                connection.execute("CREATE INDEX ON t (id)")
            assert superuser_is_kept_out(cluster)
            DATABASE.settle(cluster, world)
            unfrozen = "SELECT count(*) FROM pg_class WHERE relname = 't' AND relallvisible = 0"
            assert count(cluster, unfrozen) == 0
        with running(volumes, world) as cluster:
            assert count(cluster, "SELECT count(*) FROM t") == 5000
            DATABASE.warm(cluster, world)
            DATABASE.begin_measuring(cluster, world)
            # In sync says that commits wait for a copy, not that it has replayed all by now.
            with session(cluster) as connection:
                connection.execute(
                    "CREATE TABLE later AS SELECT generate_series(1, 200000)"
                )
                facts = DATABASE.facts(cluster, world).recorded()
            assert facts["replicas"] == facts["replicas_in_sync"] == copies - 1
            assert facts["durable"] is True
            assert facts["durability"]["data_checksums"] == "on"
            assert facts["settings"]["shared_buffers"] == "32MB"
            assert facts["data_bytes"] > 5_000_000
            assert facts["cache_bytes"] == 128 * MIB
            assert facts["since_reset"]["checkpoints_requested"] == 0
            assert OF_LOG | {counted.READ_S} <= set(facts["since_reset"])
            assert cluster.version.startswith("17.")
            # Taken over as they were: nothing was copied again, nothing had to be recovered.
            assert "database system was shut down at" in log(cluster, 1, world)
            for number in range(1, copies + 1):
                assert "node: copying" not in log(cluster, number, world)
                assert "was not properly shut down" not in log(cluster, number, world)


def superuser_is_kept_out(cluster: Cluster) -> bool:
    at = cluster.endpoints[0]
    with pytest.raises(psycopg.OperationalError) as caught:
        psycopg.connect(
            f"host=127.0.0.1 port={at.local_port} user=postgres dbname=bench"
        )
    return "no pg_hba.conf entry" in str(caught.value)


def test_passwords_are_of_one_start_and_stand_in_no_command_line_or_log(
    world: World,
) -> None:
    """Also on disks that were loaded under others; and the old constants open nothing."""
    secrets: list[str] = []
    with plain_volumes(2, world) as volumes:
        for _ in range(2):
            with running(volumes, world, log_statement="all") as cluster:
                at = cluster.endpoints[0]
                secrets.append(at.password)
                for user in ("bench", "standby"):
                    address = (
                        f"host=127.0.0.1 port={at.local_port} user={user} dbname=bench"
                    )
                    with pytest.raises(psycopg.OperationalError):
                        psycopg.connect(f"{address} password={user}")
                assert count(cluster, "SELECT count(*) FROM pg_stat_replication") == 1
                lines = ("sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
                for number, node in enumerate(cluster.nodes, start=1):
                    name = node.container or ""
                    done = world.platform.container(name).exec(lines, timeout_s=10)
                    said = done.out + log(cluster, number, world)
                    assert "postgres -D" in said
                    assert not [
                        one for one in (*secrets, "password=") if one in done.out
                    ]
                    assert not [one for one in secrets if one in said]
    assert len(set(secrets)) == 2


def commit_waits(cluster: Cluster, world: World) -> bool:
    """Whether a commit is still waiting for a standby after a second."""
    at = cluster.endpoints[0]
    address = f"host=127.0.0.1 port={at.local_port} user={at.user} dbname={at.database}"
    committing = psycopg.pq.PGconn.connect(f"{address} password={at.password}".encode())
    try:
        committing.send_query(
            b"CREATE TABLE IF NOT EXISTS waited (); DROP TABLE waited"
        )
        world.clock.sleep(1)
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND pid = "
        return count(cluster, f"{waiting}{committing.backend_pid}") == 1
    finally:
        committing.finish()


def test_a_commit_waits_for_a_majority_of_the_copies(world: World) -> None:
    with plain_volumes(3, world) as volumes, running(volumes, world) as cluster:
        world.platform.container(cluster.nodes[1].container or "").stop(10)
        assert not commit_waits(cluster, world)
        world.platform.container(cluster.nodes[2].container or "").stop(10)
        assert commit_waits(cluster, world)
        with pytest.raises(NodeError, match=f"{NETWORK}-node-2 .*exited"):
            DATABASE.settle(cluster, world)


def test_a_killed_process_ends_its_node_which_is_named_with_its_last_words(
    world: World,
) -> None:
    """The server would otherwise recover by itself, and a run would go on as if nothing were."""
    with plain_volumes(1, world) as volumes, pytest.raises(NodeError) as caught:  # noqa: SIM117
        with running(volumes, world) as cluster, session(cluster) as victim:
            row = victim.execute("SELECT pg_backend_pid()").fetchone()
            assert row is not None
            kill = ("kill", "-KILL", str(row[0]))
            world.platform.container(f"{NETWORK}-node-1").exec(kill, timeout_s=5)
            world.clock.sleep(1)
            DATABASE.facts(cluster, world)
    assert f"{NETWORK}-node-1 is exited" in caught.value.what
    assert "was terminated by signal 9" in caught.value.evidence


def test_the_page_cache_counts_against_the_memory_of_a_node(world: World) -> None:
    """Or data "four times the memory" would be read from the memory of the whole machine."""
    hasty = {"fsync": "off", "accept_data_loss": "fsync"}
    with (
        plain_volumes(1, world) as volumes,
        running(volumes, world, **hasty) as cluster,
    ):
        with session(cluster) as connection:
            connection.execute(
                "CREATE TABLE t AS SELECT i, repeat('x', 1000) FROM generate_series(1, 200000) i"
            )
        facts = DATABASE.facts(cluster, world).recorded()
        assert facts["data_bytes"] > 200_000_000
        assert (facts["durable"], facts["durability"]["fsync"]) == (False, "off")
        DATABASE.warm(cluster, world)
        assert 64 * MIB < cached_bytes(world) <= 128 * MIB
        assert world.platform.container(f"{NETWORK}-node-1").state().words == "running"


def cached_bytes(world: World) -> int:
    """Page cache (shared memory included) that the kernel counts for node 1, cgroup v1 or v2."""
    for file, key in (("memory/memory.stat", "total_cache"), ("memory.stat", "file")):
        command = ("cat", f"/sys/fs/cgroup/{file}")
        shown = world.platform.container(f"{NETWORK}-node-1").exec(command, timeout_s=5)
        if shown.exit_code == 0:
            pairs = (line.split() for line in shown.out.splitlines())
            return next(int(value) for name, value in pairs if name == key)
    raise AssertionError("the container does not see its cgroup")


def test_settings_are_refused_by_the_server_before_it_is_started(world: World) -> None:
    wrong = {"work_mem": "1XB", "fooo": "1", "random_page_cost": "1.2", "jit": "on"}
    with pytest.raises(UsageError) as caught:
        DATABASE.check(spec(1, **wrong), world)
    found = {one.where: one.what for one in caught.value.mistakes}
    assert set(found) == {"cluster.settings.work_mem", "cluster.settings.fooo"}
    assert "Valid units" in found["cluster.settings.work_mem"]
    assert (
        found["cluster.settings.fooo"] == 'unrecognized configuration parameter "fooo"'
    )


def test_tells_what_the_load_s_sessions_wait_for(world: World) -> None:
    """One idle in its transaction, one locked out by it, one that computes; no other counts. And
    which statements they sent, where these are counted."""
    library = {"shared_preload_libraries": "pg_stat_statements"}
    with (
        plain_volumes(1, world) as volumes,
        running(volumes, world, **library) as cluster,
    ):
        at = cluster.endpoints[0]
        address = (
            f"host=127.0.0.1 port={at.local_port} user={at.user} dbname={at.database}"
        )
        busy = [
            psycopg.pq.PGconn.connect(f"{address} password={at.password}".encode())
            for _ in range(2)
        ]
        with session(cluster) as holder, session_waits(cluster) as (waits,):
            holder.execute("CREATE TABLE t (id int)")
            holder.execute("BEGIN; LOCK TABLE t")
            busy[0].send_query(b"SELECT count(*) FROM t")
            busy[1].send_query(
                b"SELECT count(i) FROM (SELECT generate_series(1, 1000000000) AS i) AS s"
            )
            world.clock.sleep(1)
            told = {sample.metric: sample.value for sample in waits.read((), 1.0)}
            assert told == {
                "sessions_idle": 1,
                "sessions_running": 1,
                "sessions_reading": 0,
                "sessions_syncing": 0,
                "sessions_locked": 1,
                "sessions_otherwise": 0,
            }
            for connection in busy:
                connection.get_cancel().cancel()
                connection.finish()
            (table,) = (
                of for of in statement_counts(cluster) if "CREATE TABLE" in of["query"]
            )
            assert table["calls"] == 1 and table["wal_bytes"] > 0 < table["ms"]
            settings = DATABASE.facts(cluster, world).settings or {}
            assert settings["pg_stat_statements.track"] == "top"
