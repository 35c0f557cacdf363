"""What masters tell of copies, tablets and data files, as a record has it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.yugabyte import pages, server_facts

SERVERS = [
    pages.TabletServer("a", True, 1, 3, 100, 900, "z.r.1"),
    pages.TabletServer("b", True, 2, 5, 300, 500, "z.r.2"),
]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The pages of a cluster; a test changes what they say."""
    cluster = SimpleNamespace(
        servers=SERVERS, health=SimpleNamespace(well=True, under_replicated_tablets=0)
    )
    monkeypatch.setattr(pages, "urls", lambda *_: {"a": "http://a"})
    monkeypatch.setattr(pages, "tablet_servers", lambda _: cluster.servers)
    monkeypatch.setattr(pages, "health", lambda _: cluster.health)
    monkeypatch.setattr(pages, "replication_factor", lambda _: 3)
    return cluster


def test_leaders_are_summed_and_of_data_the_largest_node_counts(told: Any) -> None:
    facts = server_facts.placement([])
    leaders = [server.user_leaders for server in SERVERS]
    assert facts["tablets"] == sum(leaders)
    assert facts["leaders"] == dict(zip("ab", leaders, strict=True))
    assert facts["data_bytes"] == max(server.sst_bytes for server in SERVERS)
    assert facts["uncompressed_bytes"] == max(server.raw_bytes for server in SERVERS)
    assert (facts["replication_factor"], facts["replicas_in_sync"]) == (3, 2)
    told.servers = []
    facts = server_facts.placement([])
    assert (facts["data_bytes"], facts["uncompressed_bytes"], facts["tablets"]) == (
        0,
        0,
        0,
    )


def test_how_many_copies_are_in_sync_is_not_known_where_one_is_short(told: Any) -> None:
    told.health = SimpleNamespace(well=False, under_replicated_tablets=4)
    facts = server_facts.placement([])
    assert facts["replicas_in_sync"] is None
    assert facts["under_replicated_tablets"] == 4
