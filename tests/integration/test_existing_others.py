"""A real PostgreSQL tells what others did in it while it was measured, to any user.

Method: sessions of its owner work in another database; what is read is what they did.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from orchestrator.databases.existing import ExistingCluster
from orchestrator.model import ClusterSpec
from orchestrator.planning import project_files
from orchestrator.powers import Network, World
from orchestrator.system import sql
from tests import ROOT
from tests.integration.existing_profile import profile
from tests.integration.servers import Server

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("nothing_left")]
WITHIN_S = 30.0  # a backend tells its counters once a second

CANCEL = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%'"


@pytest.fixture
def asked(
    postgresql: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> ClusterSpec:
    monkeypatch.setenv("PG_PASSWORD", postgresql.password)
    ((own,), _) = project_files.read(
        ROOT, [str(profile(postgresql, tmp_path))], [], "smoke"
    )
    return own.cluster


@contextmanager
def measured(asked: ClusterSpec, world: World) -> Iterator[Any]:
    """What is called for all that was counted since measuring began; a hundred commits are ours."""
    database = ExistingCluster()
    with (
        database.reserved(asked, world),
        database.running(asked, (), Network("tierbench-test", ()), world) as cluster,
    ):
        database.begin_measuring(cluster, world)
        with sql.session(sql.local(cluster.endpoints[0])) as session:
            for _ in range(100):
                session.rows("SELECT 1")
        yield lambda: database.facts(cluster, world).since_reset


def reaches(asked: Any, what: str, least: float) -> dict[str, float]:
    end = time.monotonic() + WITHIN_S
    while (found := asked())[what] < least:
        assert time.monotonic() < end, found
        time.sleep(0.5)
    return dict(found)


def test_transactions_of_others_are_told_apart_from_ours(
    postgresql: Server, asked: ClusterSpec, world: World
) -> None:
    theirs = "others_transactions"
    with measured(asked, world) as counted:
        quiet = counted()
        for _ in range(20):
            postgresql.ask("SELECT count(*) FROM pg_class")
        found = reaches(counted, theirs, quiet[theirs] + 20)
    assert quiet[theirs] < 20
    assert found["transactions"] >= found[theirs] + 100
    assert found["others_blocks"] > quiet["others_blocks"]


def test_a_statement_of_others_is_seen_while_it_goes_on_and_after(
    postgresql: Server, asked: ClusterSpec, world: World
) -> None:
    def sleep() -> None:
        with suppress(psycopg.errors.QueryCanceled):
            postgresql.ask("SELECT pg_sleep(600)")

    what = "others_statement_seconds"
    with measured(asked, world) as counted:
        long = threading.Thread(target=sleep)
        long.start()
        try:
            under_way = reaches(counted, what, 2.0)
        finally:
            postgresql.ask(CANCEL)
            long.join(WITHIN_S)
        found = reaches(counted, what, under_way[what])
    assert found["statement_seconds"] >= found[what]
