"""How BenchBase is started, how its ends are judged, and the figures of captured executions.

Method: golden files for the figures; a platform that answers with captured output.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator.errors import LoadError
from orchestrator.extensions.benchbase.config import (
    COUNT_ROWS,
    conditions_on_its_tables,
    miscounted,
)
from orchestrator.extensions.benchbase.distribution import BenchBaseSource
from orchestrator.extensions.benchbase.generator import BenchBase
from orchestrator.load_generators.common import consistency
from orchestrator.model import Dataset, Node, Phase, Workload
from orchestrator.parts import ClientLoad, Result
from orchestrator.system.sql import Address
from tests import ROOT, golden
from tests.benchbase import CAPTURED, WITH_ATTEMPTS, WORKLOAD, asking, cluster, home
from tests.fakes import FakePlatform, completed, fake_world

# ------------------------------------------------------------------ figures of captured executions


def read(
    out: Path, start_s: float, end_s: float, file: str
) -> tuple[Result, dict[str, Any]]:
    """The result, and its figures by scope and metric, compared with a golden file."""
    result = BenchBase().read(WORKLOAD, out, start_s, end_s)
    figures: dict[str, dict[str, float]] = {}
    for measurement in result.measurements:
        figures.setdefault(measurement.scope, {})[measurement.metric] = round(
            measurement.value, 6
        )
    golden.compare(f"benchbase/{file}", json.dumps(figures, indent=1) + "\n")
    return result, figures


def test_figures_without_outcomes() -> None:
    """What is not known is left out: 55 rollbacks and some given-up Payments hide in the rows."""
    result, figures = read(CAPTURED, 1795221746.011, 1795221776.012, "figures.json")
    assert (
        figures["all"]["transactions"] == 13374
    )  # BenchBase's own number of measured requests
    assert figures["all"]["latency_avg_s"] == pytest.approx(0.015357, abs=1e-6)
    assert not {"nopm", "failures", "rollbacks", "retries"} & set(figures["all"])
    assert result.facts.more["outcomes_known"] is False
    assert result.facts.more["new_orders_committed"] == [None, 6002]
    assert result.facts.recorded_failures is None


def test_figures_with_outcomes() -> None:
    file = "figures-with-attempts.json"
    result, figures = read(WITH_ATTEMPTS, 1795228337.145, 1795228339.146, file)
    # Counted by hand in the files: 326 New-Orders, of which 6 rolled back; 349 Payments, of which
    # 28 were refused three times.
    assert figures["new_order"]["transactions"] == 326
    assert figures["new_order"]["rollbacks"] == 6
    assert figures["all"]["nopm"] == pytest.approx(320 / 2.001 * 60, rel=1e-6)
    assert figures["payment"]["failures"] == 28
    assert figures["payment"]["transactions"] == 349 - 28
    assert figures["all"]["failures"] == 28
    facts = result.facts.recorded()
    assert facts["outcomes_known"] is True and facts["attempts_unplaced"] == 0
    assert facts["final_state"] == "EXIT"
    assert facts["recorded_transactions"] == facts["benchbase_measured_requests"] == 759
    error = {"kind": "failed", "type": "payment", "sqlstate": "40001", "count": 33}
    assert error in facts["errors"]
    assert set(result.intervals["phase"]) == {
        "measure"
    }  # nothing is recorded of the warm-up
    # Facts go to JSON: none of them may be a number of numpy's.
    assert not [value for value in facts.values() if isinstance(value, np.generic)]
    json.dumps(facts)


# ------------------------------------------------------------------ running

CLIENT = Node("client", "client", container="tierbench-client")
OUTPUT = (WITH_ATTEMPTS / "benchbase.out").read_text()


def benchbase_run(
    out: Path, engine: FakePlatform, workload: Workload = WORKLOAD
) -> tuple[Phase, Phase]:
    generator = BenchBase(BenchBaseSource(home(out / "benchbase")))
    said: list[float] = []
    world = replace(fake_world(platform=engine), window_begins=said.append)
    phases = generator.run(ClientLoad(workload, cluster(), CLIENT, out, world))
    assert said == [phases[1].start_s], "the window is announced as soon as it is known"
    return phases


def test_phases_are_those_that_benchbase_announces(tmp_path: Path) -> None:
    phases = benchbase_run(tmp_path, FakePlatform(answer=lambda *_: OUTPUT))
    times_s = pytest.approx(
        (1795228336.139, 1795228337.145, 1795228337.145, 1795228339.146)
    )
    assert [phase.name for phase in phases] == ["warm-up", "measure"]
    assert [
        time_s for phase in phases for time_s in (phase.start_s, phase.end_s)
    ] == times_s


def test_with_keying_times_the_window_begins_after_the_longest(tmp_path: Path) -> None:
    lines = (
        "2026-11-21T02:00:00.000Z INFO  ThreadBench - PHASE START :: [Workload=TPCC]",
        "2026-11-21T02:00:03.000Z INFO  ThreadBench - MEASURE :: Warmup complete, go.",
        "2026-11-21T02:00:28.000Z INFO  ThreadBench - TERMINATE :: Waiting",
    )
    engine = FakePlatform(answer=lambda *_: "\n".join(lines))
    warmup, measure = benchbase_run(tmp_path, engine, asking(think="spec"))
    assert warmup.duration_s == pytest.approx(3 + 18)
    assert measure.duration_s == pytest.approx(7.001)
    assert "<time>25</time>" in (tmp_path / "benchbase.xml").read_text()


def test_the_password_is_in_the_environment_alone(tmp_path: Path) -> None:
    engine = FakePlatform(answer=lambda *_: OUTPUT)
    benchbase_run(tmp_path, engine)
    ((_, _, *argv),), (env,) = engine.asked, engine.environments
    assert env["PGPASSWORD"] == "s3cret"
    assert "s3cret" not in " ".join(argv) + env["BENCHBASE_XML"]
    stored = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert {"benchbase.xml", "command.txt", "benchbase.out"} <= {
        file.name for file in stored
    }
    assert not [file for file in stored if "s3cret" in file.read_text()]


@pytest.mark.parametrize(
    ("exit_code", "state", "message"),
    [(1, "EXIT", "Connection refused"), (0, "ERROR", "state ERROR")],
)
def test_a_failed_execution_fails_the_run(
    tmp_path: Path, exit_code: int, state: str, message: str
) -> None:
    output = f"{OUTPUT}2026-11-21T02:32:20.000Z ERROR DBWorkload - Connection refused\n"
    engine = FakePlatform(answer=lambda *_: completed(output, exit_code))
    (tmp_path / "tpcc_1.summary.json").write_text(json.dumps({"Final State": state}))
    with pytest.raises(LoadError, match=message):
        benchbase_run(tmp_path, engine)


# ------------------------------------------------------------------ what was loaded

COUNTS = {
    "warehouse": 2,
    "district": 20,
    "item": 100_000,
    "stock": 200_000,
    "new_order": 18_000,
}
LINES = dict.fromkeys(("order_line", "ordered_lines"), 599_123)
LOADED = {**COUNTS, **dict.fromkeys(("customer", "history", "oorder"), 60_000), **LINES}


def test_a_short_load_is_noticed() -> None:
    assert miscounted(LOADED, 2) == ""
    short = {**LOADED, "stock": 199_872, "order_line": 599_000}
    assert miscounted(short, 2) == (
        "stock has 199,872 rows, not 200,000; order_line has 599,000 rows, not 599,123"
    )


def test_the_conditions_that_benchbase_keeps_are_checked_on_its_tables() -> None:
    text = (ROOT / "workloads/tpcc/consistency.sql").read_text()
    conditions = consistency.conditions(conditions_on_its_tables(text), fresh=True)
    assert [condition.name for condition in conditions] == [
        f"c{number:02}" for number in (*range(1, 10), 11)
    ]
    statements = " ".join(condition.statement for condition in conditions)
    assert "FROM oorder" in statements and "orders" not in statements


class FakeSession:
    """Answers every query with one row, and keeps the queries."""

    def __init__(self, row: dict[str, Any]) -> None:
        self.row, self.queries = row, list[str]()

    def copy(self, sql: str, text: str) -> None:
        raise AssertionError(sql)

    def rows(self, sql: str) -> list[dict[str, Any]]:
        self.queries.append(sql)
        return [self.row]


def load(folder: Path, row: dict[str, Any], engine: FakePlatform) -> list[str]:
    """Loads two warehouses; returns the queries."""
    session = FakeSession(row)

    @contextmanager
    def connect(address: Address, timeout_s: float) -> Iterator[FakeSession]:
        yield session

    workload = replace(WORKLOAD, dataset=Dataset("benchbase-tpcc", {"warehouses": 2}))
    generator = BenchBase(BenchBaseSource(home(folder / "benchbase")), connect)
    generator.load(workload, cluster(), CLIENT, fake_world(platform=engine))
    return session.queries


def test_creating_and_loading_are_two_starts_and_the_rows_are_counted(
    tmp_path: Path,
) -> None:
    engine = FakePlatform()
    assert load(tmp_path, LOADED, engine) == [COUNT_ROWS]
    assert [call[-1] for call in engine.asked] == ["--create=true", "--load=true"]


def test_a_load_that_ends_well_but_short_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="history has 59,999 rows, not 60,000"):
        load(tmp_path, {**LOADED, "history": 59_999}, FakePlatform())
