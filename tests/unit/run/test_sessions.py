"""A load that opens more sessions than a database takes is refused before anything costs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.databases.postgresql import PostgreSQL
from orchestrator.databases.yugabytedb import YugabyteDB
from orchestrator.errors import UsageError
from orchestrator.model import ClusterSpec, NodeSize, Workload
from orchestrator.parts import Database
from orchestrator.planning import project_files
from orchestrator.run.beforehand import sessions
from tests import ROOT, pages
from tests.fake_existing import POSTGRESQL, Server, a_cache, database, spec
from tests.fakes import QuietProgress, fake_world

__all__ = ["a_cache"]  # each test has one of its own

SMALL = NodeSize(2.0, 2**33, 10 * 2**30)
LARGE = NodeSize(8.0, 2**35, 250 * 2**30)


def opening(threads: int, loader_threads: int = 4) -> Workload:
    _, (workload,) = project_files.read(ROOT, [], ["tpcc"], "smoke")
    return replace(workload, threads=threads, loader_threads=loader_threads)


def ours(node: NodeSize, nodes: int, **settings: str) -> ClusterSpec:
    return ClusterSpec("yugabytedb", nodes, 1, node, settings=settings)


def told(which: Database, cluster: ClusterSpec, workload: Workload) -> list[str]:
    """What is warned of; UsageError if it is refused."""
    progress = QuietProgress()
    world = replace(fake_world(), progress=progress)
    sessions.check(which, cluster, [workload], world)
    return progress.said


def test_more_sessions_than_a_node_takes_are_refused_with_numbers() -> None:
    """300 a node, unless a flag says more: one node does not take 600, three do."""
    with pytest.raises(UsageError) as raised:
        told(YugabyteDB(), ours(SMALL, 1), opening(600))
    assert "tpcc opens 600 sessions on 1 host" in raised.value.what
    assert (
        "One host gets 600, and takes 300 (ysql_max_connections)" in raised.value.what
    )
    assert "tserver.ysql_max_connections" in raised.value.advice
    assert told(YugabyteDB(), ours(SMALL, 3), opening(600)) == []
    assert told(YugabyteDB(), ours(SMALL, 1), opening(287)) == []
    more = {"tserver.ysql_max_connections": "700"}
    assert told(YugabyteDB(), ours(SMALL, 1, **more), opening(600)) == []


def test_sessions_that_nobody_opens_are_no_reason_to_refuse() -> None:
    """A load alone that fits is run; where few are left, that is said."""
    for threads in (290, 300):
        (warning,) = told(YugabyteDB(), ours(SMALL, 1), opening(threads))
        left = f"{300 - threads} are left for monitoring"
        assert left in warning and "pooler" not in warning
    with pytest.raises(UsageError, match="One host gets 301, and takes 300"):
        told(YugabyteDB(), ours(SMALL, 1), opening(301))


def test_the_session_that_samples_a_postgresql_counts() -> None:
    """It is open from the warm-up on."""
    (warning,) = told(PostgreSQL(), ours(SMALL, 1), opening(199))
    assert "0 are left" in warning
    with pytest.raises(
        UsageError, match=r"One host gets 201 \(with 1 of tierbench\), and takes 200"
    ):
        told(PostgreSQL(), ours(SMALL, 1), opening(200))
    # A loader is not sampled.
    (warning,) = told(PostgreSQL(), ours(SMALL, 1), opening(8, loader_threads=200))
    assert "One host gets 200, and takes 200" in warning and "with 1" not in warning


def test_superusers_may_take_those_that_are_kept_for_them() -> None:
    for superuser, taken in (("off", 97), ("on", 100)):
        server = Server(banner=POSTGRESQL, sessions=100, superuser=superuser)
        given = spec(nodes=1, copies=1, hosts="10.0.0.11")
        (warning,) = told(database(server), given, opening(taken - 1))
        assert f"takes {taken} (max_connections for " in warning
        with pytest.raises(UsageError, match=f"takes {taken} "):
            told(database(server), given, opening(taken))


def test_a_loader_may_open_more_than_the_load() -> None:
    with pytest.raises(UsageError, match="400 sessions"):
        told(YugabyteDB(), ours(SMALL, 1), opening(10, loader_threads=400))


def test_nodes_of_large_loads_take_the_sessions_of_the_study() -> None:
    """As our PostgreSQL's: `tpcc` at `study` opens 600, on one node too."""
    assert told(YugabyteDB(), ours(LARGE, 1), opening(600)) == []
    assert told(PostgreSQL(), ours(LARGE, 3), opening(600)) == []
    with pytest.raises(UsageError, match="takes 200"):
        told(PostgreSQL(), ours(SMALL, 3), opening(600))


@pytest.mark.parametrize("pooled", ["true", "True", "1"])
def test_a_connection_manager_may_take_more(pooled: str) -> None:
    """YugabyteDB's own, which the profile turns on: its sessions are shared by clients."""
    given = {"tserver.enable_ysql_conn_mgr": pooled}
    (warning,) = told(YugabyteDB(), ours(SMALL, 1, **given), opening(600))
    assert "tpcc opens 600 sessions on 1 host" in warning
    assert "unless a connection pooler or a load balancer is in between" in warning
    off = {"tserver.enable_ysql_conn_mgr": "false"}
    with pytest.raises(UsageError):
        told(YugabyteDB(), ours(SMALL, 1, **off), opening(600))


def test_a_limit_in_postgresqls_own_file_is_not_known_here() -> None:
    given = {"tserver.ysql_pg_conf_csv": "max_connections=900"}
    assert told(YugabyteDB(), ours(SMALL, 1, **given), opening(600)) == []


@pytest.mark.parametrize(
    ("pooled", "refused"), [(None, False), ("true", False), ("false", True)]
)
def test_a_cluster_of_others_is_refused_where_its_own_limit_surely_counts(
    pooled: str | None, refused: bool
) -> None:
    """With a connection manager more sessions than `max_connections` are taken; whether it is on
    only the tablet servers' flags say."""
    running = {} if pooled is None else {"enable_ysql_conn_mgr": pooled}
    with pages.serving({pages.FLAGS: pages.listed(running)}) as url:
        cluster = spec(tservers=" ".join([url] * 3))
        if pooled is None:
            cluster = spec()
        if refused:
            with pytest.raises(UsageError, match="One host gets 300, and takes 297"):
                told(database(Server()), cluster, opening(900))
        else:
            (warning,) = told(database(Server()), cluster, opening(900))
            assert "gets 300" in warning and "a load balancer" in warning
    assert told(database(Server()), spec(), opening(600)) == []


def test_a_postgresql_of_others_is_refused() -> None:
    server = Server(banner=POSTGRESQL, sessions=100)
    given = spec(nodes=1, copies=1, hosts="10.0.0.11")
    with pytest.raises(UsageError, match="takes 97"):
        told(database(server), given, opening(100))


def test_one_host_before_three_nodes_is_warned_of() -> None:
    """A balancer may spread them."""
    given = spec(nodes=3, hosts="10.0.0.11")
    (warning,) = told(database(Server()), given, opening(600))
    assert "tpcc opens 600 sessions on 1 host" in warning
