"""What others did on an existing cluster while it was measured: read, told from ours, doubted.

tests/integration/test_existing_others.py asks a real PostgreSQL the same.
"""

from __future__ import annotations

import json
from contextlib import closing
from typing import Any

import pytest

from orchestrator.databases.existing import servers as queries
from orchestrator.system import sql
from orchestrator.yugabyte import counters
from tests.doubted import facts, kinds, small, the
from tests.fake_existing import (
    POSTGRESQL,
    Server,
    a_cache,
    database,
    existing_world,
    running,
    spec,
)
from tests.pages import FLAGS, Server as Site

AT = sql.Address("10.0.0.11", 5432, "owner", "", "yugabyte")
__all__ = ["a_cache"]  # each test has one of its own


def test_of_a_postgresql_what_was_done_in_other_databases_is_known() -> None:
    readings: list[dict[str, Any]] = [
        {
            "blks_hit": 0,
            "blks_read": 0,
            "transactions": 110,
            "others_transactions": 100,
        },
        {
            "blks_hit": 0,
            "blks_read": 0,
            "transactions": 1170,
            "others_transactions": 160,
        },
    ]
    server = Server(POSTGRESQL, counters=readings)
    with running(server, spec(1, 1, None, hosts="10.0.0.11")) as cluster:
        database(server).begin_measuring(cluster, existing_world())
        found = database(server).facts(cluster, existing_world())
    assert (found.counter("transactions"), found.counter("others_transactions")) == (
        1060,
        60,
    )


@pytest.mark.parametrize(
    ("release", "known"), [("9.6", False), ("13.4", False), ("14.0", True)]
)
def test_seconds_of_statements_are_asked_for_where_they_are_counted(
    release: str, known: bool
) -> None:
    server = Server(POSTGRESQL)
    with server.connect(AT, 1.0) as session:
        queries.counters(session, release)
    assert ("active_time" in "".join(server.statements)) is known


def of_databases(**written: int) -> str:
    """`/metrics` of a tablet server with a tablet in each of these databases."""
    tablets = [
        {
            "type": "tablet",
            "attributes": {"namespace_name": name, "table_name": "t"},
            "metrics": [
                {"name": "log_bytes_logged", "value": value},
                {"name": "rocksdb_block_cache_hit", "value": 2 * value},
            ],
        }
        for name, value in written.items()
    ]
    server = {
        "type": "server",
        "metrics": [{"name": "log_bytes_logged", "value": 10**6}],
    }
    return json.dumps([*tablets, server])


def test_of_a_yugabytedb_what_tablets_of_other_databases_did_is_known() -> None:
    """Those of the cluster itself are nobody's: our transactions are noted there too."""
    url = Site()
    with closing(url):
        server = Server()
        given = spec(tservers=" ".join([url.url] * 3))
        flags = {"flags": [{"name": "fs_data_dirs", "value": "/mnt/d0"}]}
        url.pages[FLAGS] = 200, json.dumps(flags)
        with running(server, given) as cluster:
            url.pages["/metrics"] = (
                200,
                of_databases(tierbench=10, tierbench2=0, system=10),
            )
            before = counters.read(cluster.nodes, ("tierbench", "tierbench_campaign"))
            url.pages["/metrics"] = (
                200,
                of_databases(
                    tierbench=30, tierbench2=7, tierbench_campaign=9, system=20
                ),
            )
            now = counters.read(cluster.nodes, ("tierbench", "tierbench_campaign"))
    grown = counters.since(before, now)
    assert (grown["wal_bytes"], grown["others_wal_bytes"]) == (3 * 46, 3 * 7)
    assert (grown["block_cache_hits"], grown["others_block_cache_hits"]) == (
        6 * 46,
        6 * 7,
    )


@pytest.mark.parametrize(
    ("theirs", "doubted"), [(0.0, False), (49.0, False), (50.0, True)]
)
def test_work_of_others_is_doubted_where_it_is_a_share_of_all(
    theirs: float, doubted: bool
) -> None:
    done = {
        "statement_seconds": 1000.0,
        "others_statement_seconds": theirs,
        "wal_syncs": 1.0,
    }
    campaign = small(change=facts(since_reset=done))
    assert ("others at work" in kinds(campaign)) is doubted
    if doubted:
        text = the("others at work", campaign).text
        assert text.endswith(
            "worked during the run: 50 of 1,000 statement seconds (5 %)"
        )


def test_a_cluster_on_which_nobody_worked_at_all_is_not_doubted() -> None:
    done = {"blocks": 0.0, "others_blocks": 0.0}
    assert "others at work" not in kinds(small(change=facts(since_reset=done)))
