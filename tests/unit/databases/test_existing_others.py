"""What others did on an existing cluster while it was measured: read, told from ours, doubted.

tests/integration/test_existing_others.py asks a real PostgreSQL the same.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from orchestrator.facts import DatabaseFacts
from orchestrator.model import Cluster, Node
from orchestrator.yugabyte import counters, pages
from tests.doubted import facts, kinds, small, the
from tests.fake_existing import POSTGRESQL, Server, a_cache, database, running, spec, world
from tests.pages import serving

__all__ = ["a_cache"]  # each test has one of its own


def work(transactions: float, seconds: float, own: bool = False) -> dict[str, Any]:
    return {"own": own, "transactions": transactions, "seconds of statements": seconds}


def read(server: Server, cluster: Cluster) -> DatabaseFacts:
    return database(server).facts(cluster, world())


def test_of_a_postgresql_what_was_done_in_other_databases_is_known() -> None:
    before = [work(100, 5.0), work(10, 1.0, own=True)]
    after = [work(160, 7.5), work(1010, 9.0, own=True)]
    server = Server(POSTGRESQL, work=[before, before, after])
    with running(server, spec(1, 1, None, hosts="10.0.0.11")) as cluster:
        assert read(server, cluster).others == {}, "nothing is measured yet"
        database(server).begin_measuring(cluster, world())
        found = read(server, cluster).others
    assert found == {
        "transactions": {"ours": 1000, "theirs": 60},
        "seconds of statements": {"ours": 8.0, "theirs": 2.5},
    }


def test_counters_that_were_reset_meanwhile_count_nothing() -> None:
    server = Server(POSTGRESQL, work=[[work(100, 5.0)], [work(7, 0.1)]])
    with running(server, spec(1, 1, None, hosts="10.0.0.11")) as cluster:
        database(server).begin_measuring(cluster, world())
        assert read(server, cluster).others["transactions"] == {"ours": 0.0, "theirs": 0.0}


def test_of_a_yugabytedb_what_tablets_of_other_databases_did_is_known() -> None:
    """Those of the cluster itself are nobody's: our transactions are noted there too."""
    written = {"tierbench": 10, "payroll": 20, "tierbench_campaign": 5, "system": 10**6}
    tablets = [
        {
            "type": "tablet",
            "attributes": {"namespace_name": name, "table_name": "t"},
            "metrics": [
                {"name": "log_bytes_logged", "value": value},
                {"name": "rocksdb_block_cache_hit", "value": 2 * value},
                {"name": "rocksdb_block_cache_miss", "value": value},
            ],
        }
        for name, value in written.items()
    ]
    server = {"type": "server", "metrics": [{"name": "log_bytes_logged", "value": 10**6}]}
    with serving({"/metrics": json.dumps([*tablets, server])}) as url:
        nodes = [Node(f"node-{n}", "database", sources={pages.TSERVER: url}) for n in (1, 2)]
        found = counters.work(nodes, ("tierbench", "tierbench_campaign"))
    assert found == {
        "bytes of log": {"ours": 30, "theirs": 40},
        "blocks": {"ours": 90, "theirs": 120},
    }


@pytest.mark.parametrize(("theirs", "doubted"), [(0.0, False), (49.0, False), (50.0, True)])
def test_work_of_others_is_doubted_where_it_is_a_share_of_ours(
    theirs: float, doubted: bool
) -> None:
    done = {"transactions": {"theirs": theirs, "ours": 1000.0}}
    campaign = small(change=facts(others=done))
    assert ("others at work" in kinds(campaign)) is doubted
    if doubted:
        text = the("others at work", campaign).text
        assert text.endswith("measured: 50 transactions beside 1,000 of ours")


def test_a_cluster_on_which_nobody_worked_at_all_is_not_doubted() -> None:
    done = {"blocks": {"theirs": 0.0, "ours": 0.0}}
    assert "others at work" not in kinds(small(change=facts(others=done)))
