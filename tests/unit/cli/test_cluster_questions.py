"""What servers are asked follows from what their database can answer, and not from its name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.cli.common import cluster_questions
from orchestrator.databases import databases
from orchestrator.model import Cluster, Endpoint, Node
from orchestrator.parts import DatabaseAbilities
from orchestrator.system.sql import Address

ENDPOINT = Endpoint("10.1.2.11", 5432, 5432, "bench", "secret", "bench")
CLUSTER = Cluster(
    "patient", "1.0", (Node("node-1", "database"),), (ENDPOINT,), "network"
)


class Patient:
    """A database of somebody else's."""

    name = "patient"

    def __init__(self, abilities: DatabaseAbilities) -> None:
        self.abilities = abilities


class Server:
    """Counts one statement, and how often it was asked for a session."""

    def __init__(self) -> None:
        self.sessions = 0

    @contextmanager
    def session(self, _at: Address, _timeout_s: float) -> Iterator[Server]:
        self.sessions += 1
        yield self

    def rows(self, statement: str) -> list[dict[str, Any]]:
        if "AS counts" in statement:
            return [{"counts": True}]
        return [{"query": "COMMIT", "calls": 7.0}]


def counted(members: Any, cluster: Cluster) -> list[Any]:
    return list(
        cluster_questions.statement_counts(members, cluster, Server().session)  # type: ignore[arg-type]
    )


def collecting(members: Any, cluster: Cluster) -> list[str]:
    with cluster_questions.collectors(members, cluster, Server().session) as found:  # type: ignore[arg-type]
        return [collector.name for collector in found]


@pytest.mark.parametrize("can", [True, False])
def test_a_database_of_somebody_else_is_asked_what_it_can_answer(can: bool) -> None:
    abilities = DatabaseAbilities(counts_statements=can, shows_waits_of_sessions=can)
    members = {"patient": Patient(abilities)}
    rows = counted(members, CLUSTER)
    assert [row["query"] for row in rows] == ["COMMIT"] * can
    assert collecting(members, CLUSTER) == ["sessions"] * can


@pytest.mark.parametrize(
    ("database", "counts", "shows_waits"),
    [("postgresql", True, True), ("yugabytedb", True, False), ("hdfs", False, False)],
)
def test_what_each_database_can_answer(
    database: str, counts: bool, shows_waits: bool
) -> None:
    cluster = replace(CLUSTER, database=database)
    assert bool(counted(databases(), cluster)) is counts
    assert ("sessions" in collecting(databases(), cluster)) is shows_waits


def test_a_database_that_is_not_installed_is_asked_nothing() -> None:
    assert counted({}, CLUSTER) == [] == collecting({}, CLUSTER)
    assert cluster_questions.session_history({}, CLUSTER, 1.0) == {}


def test_a_history_of_sessions_is_that_of_the_window() -> None:
    def history(cluster: Cluster, window_s: float) -> dict[str, Any]:
        return {"database": cluster.database, "seconds": window_s}

    kept = {"patient": Patient(DatabaseAbilities(session_history=history))}
    none: Any = {"patient": Patient(DatabaseAbilities())}
    known: Any = kept
    asked = cluster_questions.session_history(known, CLUSTER, 30.0)
    assert asked == {"database": "patient", "seconds": 30.0}
    assert cluster_questions.session_history(none, CLUSTER, 30.0) == {}
