"""Consistency conditions: which warehouses are checked, and what a failure of SQL amounts to.

That each condition catches its breakage is shown on a real server (tests/integration).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import LoadError, RunError
from orchestrator.extensions.benchbase.config import conditions_on_its_tables
from orchestrator.load_generators.common import consistency
from orchestrator.model import Cluster, Endpoint
from orchestrator.system import sql
from tests import ROOT
from tests.fakes import Log, fake_world

TEXT = (ROOT / "workloads" / "tpcc" / "consistency.sql").read_text()
AT = Endpoint("host", 1, 1, "user", "password", "database", local_host="host")
CLUSTER = Cluster("yugabytedb", "2.18", (), (AT,), "network")


class Server:
    """A server with so many warehouses; statements that contain a word of `answers` fail, if the
    answer is a text, or find so many rows."""

    def __init__(self, warehouses: int, **answers: str | int) -> None:
        self.warehouses, self.answers = warehouses, answers
        self.statements: list[str] = []
        self.sessions = 0
        self.longest_s = 0.0

    @contextmanager
    def connect(self, _: sql.Address, timeout_s: float) -> Iterator[Server]:
        self.sessions += 1
        self.longest_s = max(self.longest_s, timeout_s)
        yield self

    def rows(self, statement: str) -> list[dict[str, Any]]:
        self.statements.append(statement)
        for word, answer in self.answers.items():
            if word in statement:
                if isinstance(answer, str):
                    raise RunError(answer)
                return [{"violations": answer}]
        if " AS id " in statement:
            return [{"id": number} for number in range(1, self.warehouses + 1)]
        return [{"violations": 0}]

    def copy(self, sql: str, text: str) -> None:
        raise AssertionError("nothing is written")


def verify(server: Server, tmp_path: Path) -> dict[str, Any]:
    world = fake_world(Log(), tmp_path)
    return consistency.verify(
        TEXT, CLUSTER, 7, world, connect=server.connect, fresh=False
    )


def test_a_large_data_set_is_sampled_by_the_seed() -> None:
    every = range(1, 2_001)
    chosen = consistency.sample(every, 7)
    assert len(set(chosen)) == consistency.MOST_WAREHOUSES
    assert (chosen[0], chosen[-1]) == (1, 2_000) and chosen == sorted(chosen)
    assert chosen == consistency.sample(every, 7) != consistency.sample(every, 8)
    assert consistency.sample(range(1, 21), 7) == list(range(1, 21))


@pytest.mark.parametrize(("warehouses", "checked"), [(4, 4), (20, 20), (2_000, 20)])
def test_how_many_were_checked_is_a_fact(
    warehouses: int, checked: int, tmp_path: Path
) -> None:
    server = Server(warehouses)
    facts = verify(server, tmp_path)
    assert (facts["warehouses_checked"], facts["warehouses"]) == (checked, warehouses)
    assert len(facts["consistency"]) == 11
    assert server.sessions == len(server.statements) == 12, "each statement on its own"
    # YugabyteDB keeps old rows for so long (timestamp_history_retention_interval_sec).
    assert server.longest_s == 900
    sampled = [statement.startswith("WITH") for statement in server.statements[1:]]
    assert sampled == 11 * [warehouses > 20]


@pytest.mark.parametrize(
    "text", [TEXT, conditions_on_its_tables(TEXT)], ids=["ours", "benchbase"]
)
def test_every_table_of_a_condition_is_restricted(text: str) -> None:
    rows_of = consistency.rows_of(text)
    conditions = list(consistency.conditions(text, fresh=True))
    assert conditions
    for condition in conditions:
        statement = consistency.restricted(condition.statement, rows_of, [7])
        head, body = statement.split("\n", 1)
        assert body == condition.statement and ":warehouses" not in head
        for table in rows_of:
            assert (f"{table} AS (" in head) == (table in body.split())


def test_what_cannot_be_evaluated_leaves_the_measurement(tmp_path: Path) -> None:
    facts = verify(Server(2_000, order_line="Snapshot too old"), tmp_path)
    problems = {each["name"]: each.get("problem") for each in facts["consistency"]}
    unknown = {"c04", "c06", "c07", "c12"}
    assert {name for name, problem in problems.items() if problem} == unknown
    assert problems["c04"] == "Snapshot too old"
    facts = verify(Server(2_000, id="connection refused"), tmp_path)
    assert all(each["problem"] == "connection refused" for each in facts["consistency"])
    assert facts["warehouses_checked"] == 0


def test_conditions_are_told_in_the_order_of_the_file(tmp_path: Path) -> None:
    names = [each["name"] for each in verify(Server(4), tmp_path)["consistency"]]
    assert names == [
        condition.name for condition in consistency.conditions(TEXT, fresh=False)
    ]


@pytest.mark.parametrize("text", ["", "SELECT 1;"])
def test_a_file_without_headers_has_no_conditions(text: str) -> None:
    assert consistency.conditions(text, fresh=True) == ()


def test_only_a_broken_condition_voids_the_run(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match=r"no longer consistent.*c08 .*: 3 rows"):
        verify(Server(2_000, order_line="Snapshot too old", h_amount=3), tmp_path)


def test_a_loaded_data_set_is_refused_if_broken_and_noted_if_unknown(
    tmp_path: Path,
) -> None:
    world = fake_world(Log(), tmp_path)
    only_then = "coalesce(o.n, 0) - coalesce(n.n, 0) <> 2100"
    broken = Server(2, **{only_then: 2}).connect
    with pytest.raises(
        LoadError, match=r"not consistent, so it is not used: c11 .*: 2 rows"
    ):
        consistency.verify(TEXT, CLUSTER, 7, world, fresh=True, connect=broken)
    server = Server(2, **{only_then: "timeout"})
    consistency.verify(TEXT, CLUSTER, 7, world, fresh=True, connect=server.connect)
    assert len(server.statements) == 13
