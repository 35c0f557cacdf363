"""The first-run checklist: what each line expects of a release, and what follows from the lines.

Goal: a line that fails ends no list, and says what was seen. Method: lines looked at one by one on
a made-up cluster whose answers are given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from orchestrator.databases.common.yugabyte import versions
from orchestrator.databases.yugabytedb import checklist
from orchestrator.databases.yugabytedb.checklist import Finding, Probe
from orchestrator.model import Cluster, Endpoint, Node
from orchestrator.system import sql
from tests.fakes import fake_world

HOSTS = ("10.0.0.11", "10.0.0.12", "10.0.0.13")


class Session:
    """Answers the first part of a statement that it knows with one row of one column."""

    def __init__(self, answers: Mapping[str, Any]) -> None:
        self._answers = answers

    def rows(self, sql: str) -> list[dict[str, Any]]:
        for part, answer in self._answers.items():
            if part in sql:
                if isinstance(answer, Exception):
                    raise answer
                return [answer if isinstance(answer, dict) else {"value": answer}]
        return [{}]

    def copy(self, sql: str, text: str) -> None:
        self.rows(sql)


def probe(release: str = versions.STUDY, **answers: Any) -> Probe:
    @contextmanager
    def connect(_address: sql.Address, _timeout_s: float) -> Iterator[sql.Session]:
        yield Session({key.replace("_x_", " "): answer for key, answer in answers.items()})

    nodes = tuple(Node(f"node-{number}", "database") for number in (1, 2, 3))
    endpoints = tuple(Endpoint(host, 5433, 5433, "u", "p", "d") for host in HOSTS)
    cluster = Cluster("yugabytedb", release, nodes, endpoints, "net", None)
    return Probe(cluster, connect, fake_world(), release)


def looked_at(name: str, cluster: Probe) -> Finding:
    fact = next(fact for fact in checklist.FACTS if fact.name == name)
    return checklist._finding(fact, cluster)


@pytest.mark.parametrize(
    ("release", "level", "state"),
    [
        (versions.STUDY, "repeatable read", "confirmed"),
        (versions.STUDY, "read committed", "not confirmed"),
        (versions.RECENT, "read committed", "confirmed"),
        (versions.RECENT, "repeatable read", "not confirmed"),
    ],
)
def test_the_isolation_expected_is_the_releases_own(release: str, level: str, state: str) -> None:
    found = looked_at("isolation", probe(release, yb_get_effective={"level": level}))
    assert found.state == state
    assert level in found.seen
