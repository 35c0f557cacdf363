"""Each of the twelve conditions catches a database broken on purpose, and a sound one passes.

Method: one warehouse is loaded for real into a server that tierbench did not start; each breakage
is made in a transaction, the conditions are evaluated within it, and it is rolled back.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import psycopg
import pytest

from orchestrator.load_generators.common import consistency
from orchestrator.model import Endpoint, Workload
from orchestrator.platforms.docker.engine import DockerPlatform
from tests import ROOT
from tests.integration import one_warehouse
from tests.integration.conftest import make_world, tierbench

pytestmark = pytest.mark.docker

TEXT = (ROOT / "workloads" / "tpcc" / "consistency.sql").read_text()
ANY_ORDER = "o_w_id = 1 AND o_d_id = 1 AND o_id = 100"
BREAKAGES = {
    "c01": "UPDATE district SET d_ytd = d_ytd + 1 WHERE d_w_id = 1 AND d_id = 1",
    "c02": "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = 1 AND d_id = 1",
    "c03": "DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id = 1 AND no_o_id = 2500",
    "c04": f"UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE {ANY_ORDER}",
    "c05": f"UPDATE orders SET o_carrier_id = NULL WHERE {ANY_ORDER}",
    "c06": f"UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE {ANY_ORDER}",
    "c07": "UPDATE order_line SET ol_delivery_d = NULL "
    "WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 100",
    "c08": "UPDATE warehouse SET w_ytd = w_ytd + 1 WHERE w_id = 1",
    "c09": "UPDATE history SET h_amount = h_amount + 1 "
    "WHERE ctid = (SELECT ctid FROM history LIMIT 1)",
    "c10": "UPDATE customer SET c_balance = c_balance + 1, c_ytd_payment = c_ytd_payment - 1 "
    "WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 1",
    "c11": "DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id = 1 AND no_o_id = 3000",
    "c12": "UPDATE customer SET c_balance = c_balance + 1 "
    "WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 1",
}


@dataclass(frozen=True)
class Loaded:
    endpoint: Endpoint
    workload: Workload


@pytest.fixture(scope="module")
def loaded(
    engine: DockerPlatform, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Loaded]:
    world = make_world(engine)
    with one_warehouse.loaded(world) as made:
        yield Loaded(made.cluster.endpoints[0], made.workload)


def connection(loaded: Loaded) -> psycopg.Connection:
    at = loaded.endpoint
    return psycopg.connect(
        host=at.local_host,
        port=at.local_port,
        user=at.user,
        password=at.password,
        dbname=at.database,
    )


def test_every_condition_of_the_specification_is_there() -> None:
    assert [one.name for one in consistency.conditions(TEXT, fresh=True)] == sorted(
        BREAKAGES
    )


def test_a_loaded_database_is_sound(loaded: Loaded) -> None:
    found = consistency.check(TEXT, loaded.endpoint, fresh=True).conditions
    assert {one.name: one.violations for one in found} == dict.fromkeys(
        sorted(BREAKAGES), 0
    )


def test_a_sample_of_a_sound_database_is_sound(
    loaded: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two warehouses, whose customers also pay at the other."""
    monkeypatch.setattr(consistency, "sample", lambda *_: [1])
    with connection(loaded) as session:
        session.execute(
            b"INSERT INTO warehouse SELECT 2, w_name, w_street_1, w_street_2, w_city,"
            b" w_state, w_zip, w_tax, 0 FROM warehouse"
        )
        session.execute(b"UPDATE history SET h_w_id = 2 WHERE h_c_id = 3")
        session.execute(b"UPDATE warehouse SET w_ytd = w_ytd - 100 WHERE w_id = 1")
        session.execute(b"UPDATE district SET d_ytd = d_ytd - 10")
    try:
        outcome = consistency.check(TEXT, loaded.endpoint, fresh=True)
        assert (outcome.warehouses_checked, outcome.warehouses) == (1, 2)
        assert all(condition.violations == 0 for condition in outcome.conditions)
        monkeypatch.undo()
        assert "c08" in consistency.check(TEXT, loaded.endpoint, fresh=False).broken, (
            "the other one is broken"
        )
    finally:
        with connection(loaded) as session:
            session.execute(b"DELETE FROM warehouse WHERE w_id = 2")
            session.execute(b"UPDATE history SET h_w_id = 1")
            session.execute(b"UPDATE warehouse SET w_ytd = w_ytd + 100")
            session.execute(b"UPDATE district SET d_ytd = d_ytd + 10")


@pytest.mark.parametrize("sampled", [False, True], ids=["all", "sampled"])
@pytest.mark.parametrize("name", sorted(BREAKAGES))
def test_a_broken_database_is_caught(loaded: Loaded, name: str, sampled: bool) -> None:
    condition = next(
        one for one in consistency.conditions(TEXT, fresh=True) if one.name == name
    )
    statement = condition.statement
    if sampled:
        statement = consistency.restricted(statement, consistency.rows_of(TEXT), [1, 3])
    with connection(loaded) as session:
        changed = session.execute(BREAKAGES[name].encode()).rowcount
        assert changed > 0, "nothing was broken, so nothing can be caught"
        row = session.execute(statement.encode()).fetchone()
        session.rollback()
    assert row is not None and row[0] > 0


def test_the_command(loaded: Loaded) -> None:
    at = loaded.endpoint
    where = ["--host", at.local_host, "--port", str(at.local_port)]
    where += ["--user", at.user, "--database", at.database]
    code, text = tierbench("check", *where, "--fresh", PGPASSWORD=at.password)
    assert (code, text.count("holds")) == (0, 12), text
    assert "1 of 1 warehouses checked" in text
    with connection(loaded) as session:
        session.execute("UPDATE warehouse SET w_ytd = w_ytd + 1 WHERE w_id = 1")
    code, text = tierbench("check", *where, PGPASSWORD=at.password)
    assert code == 2, text
    assert "c08  broken by 1 rows" in text
