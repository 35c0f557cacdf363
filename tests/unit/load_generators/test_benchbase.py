"""BenchBase without BenchBase: configuration, files, refusals, what is started.

Goal: what is asked of it and what is read from it is what the modules say. Method: golden files
for what is rendered and for the figures of two captured executions; literals for single rules.
BenchBase itself is run in tests/integration/test_benchbase.py.
"""

from __future__ import annotations

import json
import shutil
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from orchestrator.errors import LoadError, UnavailableError, UsageError
from orchestrator.load_generators.benchbase import config, distribution, results
from orchestrator.load_generators.benchbase.adapter import (
    COUNT_ROWS,
    BenchBase,
    conditions_on_its_tables,
    miscounted,
)
from orchestrator.load_generators.common import consistency
from orchestrator.model import Cluster, ClusterSpec, Dataset, Endpoint, Node, NodeSize, Workload
from orchestrator.planning.profiles import read_workload
from orchestrator.platforms import own_images
from orchestrator.system.sql import Address
from tests import ROOT, TESTS, golden
from tests.fakes import FakePlatform, completed, fake_world

CAPTURED = TESTS / "fixtures" / "benchbase"
WITH_ATTEMPTS = CAPTURED / "with-attempts"
TEMPLATE = (ROOT / "workloads" / config.TEMPLATE).read_text()

WORKLOAD = Workload(
    name="tpcc",
    title="TPC-C-derived order entry",
    generator="benchbase",
    script="benchbase/tpcc.xml.jinja",
    dataset=Dataset("benchbase-tpcc", {"warehouses": 4}),
    scale="smoke",
    threads=8,
    loader_threads=2,
    warmup_s=3.0,
    measure_s=7.0,
    options={"think": "none", "isolation": "read committed"},
)


def asking(**options: Any) -> Workload:
    return replace(WORKLOAD, options={**WORKLOAD.options, **options})


def cluster(database: str = "postgresql", nodes: int = 1) -> Cluster:
    numbers = range(1, nodes + 1)
    return Cluster(
        database,
        "17",
        tuple(Node(f"node-{k}", "database", container=f"node-{k}") for k in numbers),
        tuple(Endpoint(f"10.0.0.{10 + k}", 5432, 1, "bench", "s3cret", "bench") for k in numbers),
        "net",
    )


# ------------------------------------------------------------------ configuration


@pytest.mark.parametrize(
    ("name", "workload", "where", "driver"),
    [
        ("postgresql.xml", WORKLOAD, cluster(), config.POSTGRESQL),
        (
            "yugabytedb.xml",
            asking(isolation="repeatable read", arrival_rate=250, weights="50,38,4,4,4"),
            cluster("yugabytedb", 3),
            config.YUGABYTEDB,
        ),
        ("think-spec.xml", asking(think="spec"), cluster(), config.POSTGRESQL),
    ],
)
def test_rendered_configuration(
    name: str, workload: Workload, where: Cluster, driver: config.Driver
) -> None:
    text = config.render(TEMPLATE, config.settings(workload), where, driver)
    ElementTree.fromstring(text)
    assert "s3cret" not in text
    golden.compare(f"benchbase/{name}", text)


def test_the_built_in_workload_becomes_benchbases_on_a_data_set_of_its_own() -> None:
    text = (ROOT / "workloads" / "tpcc.yaml").read_text()
    ours = read_workload("tpcc", text, "smoke")
    bound = config.bind(ours)
    assert (bound.generator, bound.dataset.family) == ("benchbase", "benchbase-tpcc")
    assert bound.dataset.parameters == ours.dataset.parameters
    assert config.settings(bound).weights == (45, 43, 4, 4, 4)
    assert config.bind(bound) == bound


def test_other_workloads_are_refused() -> None:
    other = replace(WORKLOAD, name="insert", dataset=Dataset("sysbench-tables", {}))
    with pytest.raises(UsageError, match="BenchBase cannot run insert"):
        config.bind(other)


def test_the_rate_is_never_the_sample_value() -> None:
    assert config.settings(WORKLOAD).rate == "unlimited"
    assert config.settings(asking(arrival_rate=0)).rate == "unlimited"
    assert config.settings(asking(arrival_rate=120.5)).rate == "120.5"


def test_the_seed_of_the_campaign_is_not_passed_on() -> None:
    """BenchBase would start every terminal's numbers at it, all the same."""
    text = config.render(TEMPLATE, config.settings(asking(seed=7)), cluster(), config.POSTGRESQL)
    assert "seed" not in text.lower()


def test_thinking_takes_ten_terminals_per_warehouse() -> None:
    assert config.settings(asking(think="spec")).terminals == 40
    assert config.settings(WORKLOAD).terminals == 8


def test_all_mistakes_are_said_at_once() -> None:
    workload = replace(
        asking(think="sometimes", isolation="none", weights="1,2", arrival_rate=-1, record="no"),
        dataset=Dataset("benchbase-tpcc", {"tablets": 3}),
        warmup_s=0.5,
    )
    with pytest.raises(UsageError) as caught:
        config.settings(workload)
    places = [each.where.rpartition(": ")[2] for each in caught.value.mistakes]
    assert places == [
        "options.record",
        "dataset.tablets",
        "dataset.warehouses",
        "think",
        "isolation",
        "arrival_rate",
        "weights",
        "warmup",
    ]


@pytest.mark.parametrize(
    ("workload", "what"),
    [
        (asking(think="spec", arrival_rate=10), "exclude each other"),
        (
            replace(asking(think="spec"), dataset=Dataset("benchbase-tpcc", {"warehouses": 2000})),
            "20,000 terminals",
        ),
    ],
)
def test_contradictions_are_refused(workload: Workload, what: str) -> None:
    with pytest.raises(UsageError) as caught:
        config.settings(workload)
    assert what in caught.value.mistakes[0].what


# ------------------------------------------------------------------ figures of captured executions


def figures(out: Path, start_s: float, end_s: float) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for one in BenchBase().read(WORKLOAD, out, start_s, end_s).measurements:
        found.setdefault(one.scope, {})[one.metric] = round(one.value, 6)
    return found


def test_figures_without_outcomes() -> None:
    """What cannot be told is left out: 55 rollbacks and some given-up Payments hide in the rows."""
    start_s, end_s = 1795221746.011, 1795221776.012
    found = figures(CAPTURED, start_s, end_s)
    golden.compare("benchbase/figures.json", json.dumps(found, indent=1) + "\n")
    assert found["all"]["transactions"] == 13374  # BenchBase's own number of measured requests
    assert found["all"]["latency_avg_s"] == pytest.approx(0.015357, abs=1e-6)
    assert not {"nopm", "failures", "rollbacks", "retries"} & set(found["all"])
    facts = BenchBase().read(WORKLOAD, CAPTURED, start_s, end_s).facts
    assert facts.more["outcomes_known"] is False
    assert facts.more["new_orders_committed"] == [None, 6002]
    assert facts.recorded_failures is None


def test_figures_with_outcomes() -> None:
    start_s, end_s = 1795228337.145, 1795228339.146
    found = figures(WITH_ATTEMPTS, start_s, end_s)
    golden.compare("benchbase/figures-with-attempts.json", json.dumps(found, indent=1) + "\n")
    # Counted by hand in the files: 326 New-Orders, of which 6 rolled back; 349 Payments, of which
    # 28 were refused three times.
    assert found["new_order"]["transactions"] == 326
    assert found["new_order"]["rollbacks"] == 6
    assert found["all"]["nopm"] == pytest.approx(320 / 2.001 * 60, rel=1e-6)
    assert found["payment"]["failures"] == 28
    assert found["payment"]["transactions"] == 349 - 28
    assert found["all"]["failures"] == 28


def test_facts_with_outcomes() -> None:
    result = BenchBase().read(WORKLOAD, WITH_ATTEMPTS, 1795228337.145, 1795228339.146)
    assert result.facts.recorded()["outcomes_known"] is True
    assert result.facts.recorded()["attempts_unplaced"] == 0
    assert result.facts.recorded()["final_state"] == "EXIT"
    assert result.facts.recorded()["recorded_transactions"] == 759
    assert result.facts.recorded()["benchbase_measured_requests"] == 759
    assert {"kind": "failed", "type": "payment", "sqlstate": "40001", "count": 33} in (
        result.facts.recorded()["errors"]
    )
    assert set(result.intervals["phase"]) == {"measure"}  # nothing is recorded of the warm-up


def test_a_transaction_given_up_was_repeated_as_often_as_allowed() -> None:
    """Holds only where every attempt was given to the transaction it belongs to."""
    table, _ = results.read_table(WITH_ATTEMPTS)
    assert set(table[table["outcome"] == 2]["retries"]) == {2}
    assert set(table[table["outcome"] == 2]["sqlstate"]) == {"40001"}
    assert table[table["outcome"] < 2]["retries"].max() <= 2


def test_the_table_is_the_one_all_figures_are_made_from() -> None:
    table, _ = results.read_table(WITH_ATTEMPTS)
    columns = ["start_s", "latency_s", "queue_s", "type", "outcome", "retries", "sqlstate"]
    assert list(table.columns) == columns
    assert table["start_s"].is_monotonic_increasing
    assert table["start_s"].iloc[0] == pytest.approx(1795228337.15, abs=0.02)  # seconds
    assert table["queue_s"].isna().all()  # written down nowhere, so not 0
    assert list(table["type"].cat.categories) == [each.ours for each in config.TYPES]


def test_the_certain_range_holds_the_truth(tmp_path: Path) -> None:
    """Without attempts, but with counts over all phases: what is proven of New-Orders."""
    out = Path(shutil.copytree(WITH_ATTEMPTS, tmp_path / "out"))
    (out / results.ATTEMPTS).unlink()
    _, facts = results.read_table(out)
    assert facts["outcomes_known"] is False
    assert facts["new_orders_committed"] == [326 - 9 - 12, 326]  # the truth is 320


def test_attempts_that_disagree_with_the_counts_are_not_believed(tmp_path: Path) -> None:
    out = Path(shutil.copytree(WITH_ATTEMPTS, tmp_path / "out"))
    lines = (out / results.ATTEMPTS).read_text().splitlines(keepends=True)
    (out / results.ATTEMPTS).write_text("".join(lines[:-1]))
    _, facts = results.read_table(out)
    assert facts["outcomes_known"] is False


def test_a_clock_that_was_set_is_noticed(tmp_path: Path) -> None:
    out = Path(shutil.copytree(WITH_ATTEMPTS, tmp_path / "out"))
    text = (out / results.ATTEMPTS).read_text()
    (out / results.ATTEMPTS).write_text(text.replace("T02:32:18.", "T02:32:17."))
    _, facts = results.read_table(out)
    assert facts["outcomes_known"] is False
    assert facts["attempts_unplaced"] > 0


# ------------------------------------------------------------------ which row an attempt belongs to


def rows(*given: tuple[int, float, float, str]) -> pd.DataFrame:
    table = pd.DataFrame(given, columns=["terminal", "start_s", "latency_s", "type"])
    return table.sort_values("start_s", ignore_index=True)


def attempts(*given: tuple[int, float, str, str, int, bool]) -> pd.DataFrame:
    columns = ["terminal", "time_s", "type", "kind", "number", "last"]
    return pd.DataFrame(given, columns=columns)


def place(left: pd.DataFrame, right: pd.DataFrame) -> list[int]:
    return list(results._place(left, right))


def test_an_attempt_at_a_boundary_goes_by_order_not_by_the_clock() -> None:
    table = rows((0, 10.0, 0.010, "payment"), (0, 10.0101, 0.010, "payment"))
    tried = attempts(
        (0, 10.004, "payment", "refused", 0, False),
        (0, 10.0101, "payment", "refused", 1, True),  # the first row's end
        (0, 10.0102, "payment", "refused", 0, False),  # the second row's begin
    )
    assert place(table, tried) == [0, 0, 1]


def test_an_attempt_belongs_to_its_own_terminal_and_type() -> None:
    table = rows((0, 10.0, 0.5, "payment"), (1, 10.0, 0.5, "new_order"), (1, 10.5, 0.5, "payment"))
    tried = attempts(
        (1, 10.4999, "new_order", "rolled back", -1, True),
        (1, 10.9, "payment", "error", -1, True),
        (0, 10.2, "payment", "refused", 0, False),
    )
    assert place(table, tried) == [1, 2, 0]


def test_a_repetition_that_rolls_back_stays_in_its_row() -> None:
    table = rows((0, 10.0, 0.5, "new_order"), (0, 10.5, 0.5, "new_order"))
    tried = attempts(
        (0, 10.1, "new_order", "refused", 0, False),
        (0, 10.5, "new_order", "rolled back", -1, True),
    )
    assert place(table, tried) == [0, 0]


def test_attempts_of_transactions_outside_the_window_have_no_row() -> None:
    table = rows((0, 10.0, 0.5, "payment"))
    tried = attempts(
        (0, 9.0, "payment", "refused", 0, False),
        (0, 9.9999, "payment", "refused", 1, True),  # ends where the first row begins
        (0, 10.8, "payment", "refused", 0, False),
        (7, 10.2, "payment", "refused", 0, False),
    )
    assert place(table, tried) == [-1, -1, -1, -1]


# ------------------------------------------------------------------ files that are not in order


def test_a_lost_connection_fails_the_run(tmp_path: Path) -> None:
    out = Path(shutil.copytree(WITH_ATTEMPTS, tmp_path / "out"))
    with (out / results.ATTEMPTS).open("a") as file:
        file.write(
            "2026-11-21T02:32:19.900\tTPCCWorker<001>\tSQLException occurred during "
            "[com.oltpbenchmark.benchmarks.tpcc.procedures.NewOrder/01] and will not be retried... "
            "sql state [57P01], error code [0].\n"
        )
    with pytest.raises(LoadError, match="lost its connection"):
        results.read_table(out)


def test_an_error_that_is_not_retried_is_counted_with_its_state(tmp_path: Path) -> None:
    file = tmp_path / results.ATTEMPTS
    file.write_text(
        "2026-11-21T02:32:17.900\tTPCCWorker<012>\tSQLException occurred during "
        "[com.oltpbenchmark.benchmarks.tpcc.procedures.Delivery/04] and will not be retried... "
        "sql state [40P01], error code [0].\n"
    )
    (found,) = results._read_attempts(file).to_dict("records")
    assert found == {
        "time_s": 1795228337.9,
        "terminal": 12,
        "type": "delivery",
        "kind": "error",
        "number": -1,
        "last": True,
        "sqlstate": "40P01",
    }


@pytest.mark.parametrize("copies", [0, 2])
def test_there_must_be_one_execution(tmp_path: Path, copies: int) -> None:
    for number in range(copies):
        shutil.copy(WITH_ATTEMPTS / "tpcc.raw.csv", tmp_path / f"tpcc_{number}.raw.csv")
    with pytest.raises(LoadError, match=f"holds {copies} files"):
        results.read_table(tmp_path)


def test_bold_letters_are_made_plain() -> None:
    assert results.plain("\x1b[0;1mMEASURE\x1b[0;0m :: go") == "MEASURE :: go"


# ------------------------------------------------------------------ what was loaded

LOADED = {
    "warehouse": 2,
    "district": 20,
    "customer": 60_000,
    "history": 60_000,
    "oorder": 60_000,
    "new_order": 18_000,
    "stock": 200_000,
    "item": 100_000,
    "order_line": 599_123,
    "ordered_lines": 599_123,
}


def test_a_complete_load_is_accepted() -> None:
    assert miscounted(LOADED, 2) == ""


def test_a_short_load_is_noticed() -> None:
    short = {**LOADED, "stock": 199_872, "order_line": 599_000}
    assert miscounted(short, 2) == (
        "stock has 199,872 rows, not 200,000; order_line has 599,000 rows, not 599,123"
    )


def test_the_conditions_that_benchbase_keeps_are_asked_of_its_tables() -> None:
    text = (ROOT / "workloads/tpcc/consistency.sql").read_text()
    asked = consistency.conditions(conditions_on_its_tables(text))
    assert [one.name for one in asked] == [f"c{k:02}" for k in (*range(1, 10), 11)]
    everything = " ".join(one.statement for one in asked)
    assert "FROM oorder" in everything
    assert "orders" not in everything


# ------------------------------------------------------------------ where BenchBase comes from


def home(folder: Path, *jars: str) -> Path:
    (folder / "lib").mkdir(parents=True)
    (folder / "config").mkdir()
    (folder / "config" / "plugin.xml").write_text("<plugins/>")
    (folder / "benchbase.jar").write_bytes(b"a jar")
    for jar in jars:
        (folder / "lib" / jar).touch()
    return folder


SPEC = ClusterSpec("postgresql", 1, 1, NodeSize(1.0, 2**30, 2**31))


def test_where_there_is_none_both_ways_to_get_it_are_said() -> None:
    with pytest.raises(UnavailableError) as caught:
        BenchBase().check(WORKLOAD, SPEC, fake_world())
    assert caught.value.exit_code == 69
    assert "docker pull benchbase.azurecr.io/benchbase-postgres" in caught.value.advice
    assert "BENCHBASE_HOME" in caught.value.advice


def test_the_official_image_is_pulled_once() -> None:
    engine = FakePlatform(registry=[distribution.OFFICIAL_IMAGE])
    BenchBase().check(WORKLOAD, SPEC, fake_world(platform=engine))
    BenchBase().check(WORKLOAD, SPEC, fake_world(platform=engine))
    assert engine.asked == [("pull", distribution.OFFICIAL_IMAGE)]


def test_a_directory_is_mounted_read_only_into_our_java_runtime(tmp_path: Path) -> None:
    engine = FakePlatform(images=[distribution.OFFICIAL_IMAGE])
    generator = BenchBase(home(tmp_path / "benchbase"))
    generator.check(WORKLOAD, SPEC, fake_world(platform=engine))
    assert engine.asked == [("build", own_images.tag(ROOT, "benchbase"), "Dockerfile")]
    with generator.client("net", tmp_path, fake_world(platform=engine)) as client:
        assert (client.container, client.process_id) == ("tierbench-client", 42)
    (spec,) = engine.specs.values()
    assert spec.image.startswith("tierbench/benchbase:")
    mount = next(each for each in spec.mounts if each.target == "/benchbase")
    assert (mount.source, mount.read_only) == (str(tmp_path / "benchbase"), True)


def test_a_directory_that_holds_no_distribution_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match=r"does not hold benchbase.jar, lib, config/plugin"):
        BenchBase(tmp_path).check(WORKLOAD, SPEC, fake_world())


def test_another_program_means_another_data_set(tmp_path: Path) -> None:
    folder = home(tmp_path / "benchbase")
    before = BenchBase(folder).loader_version(WORKLOAD, fake_world())
    (folder / "benchbase.jar").write_bytes(b"another jar")
    assert BenchBase(folder).loader_version(WORKLOAD, fake_world()) != before


@pytest.mark.parametrize(
    ("jar", "database", "driver"),
    [
        ("jdbc-yugabytedb-42.7.3-yb-4.jar", "yugabytedb", config.YUGABYTEDB),
        ("jdbc-yugabytedb-42.7.3-yb-4.jar", "postgresql", config.POSTGRESQL),
        ("postgresql-42.7.4.jar", "yugabytedb", config.POSTGRESQL),
    ],
)
def test_the_driver_of_yugabytedb_is_used_where_there_is_one(
    tmp_path: Path, jar: str, database: str, driver: config.Driver
) -> None:
    folder = home(tmp_path / "benchbase", jar)
    assert distribution.find(folder, database, fake_world()).driver == driver


# ------------------------------------------------------------------ running

CLIENT = Node("client", "client", container="tierbench-client")
OUTPUT = (WITH_ATTEMPTS / "benchbase.out").read_text()


def started(out: Path, engine: FakePlatform) -> list[tuple[str, Any, Any]]:
    generator = BenchBase(home(out / "benchbase"))
    phases = generator.run(WORKLOAD, cluster(), CLIENT, out, fake_world(platform=engine))
    return [(each.name, each.start_s, each.end_s) for each in phases]


def test_phases_are_those_that_benchbase_announces(tmp_path: Path) -> None:
    engine = FakePlatform(answer=lambda *_: OUTPUT)
    assert started(tmp_path, engine) == [
        ("warm-up", pytest.approx(1795228336.139), pytest.approx(1795228337.145)),
        ("measure", pytest.approx(1795228337.145), pytest.approx(1795228339.146)),
    ]


def test_with_keying_times_the_window_begins_when_all_transactions_are_recorded(
    tmp_path: Path,
) -> None:
    lines = (
        "2026-11-21T02:00:00.000Z INFO  ThreadBench - PHASE START :: [Workload=TPCC]",
        "2026-11-21T02:00:03.000Z INFO  ThreadBench - MEASURE :: Warmup complete, go.",
        "2026-11-21T02:00:28.000Z INFO  ThreadBench - TERMINATE :: Waiting",
    )
    engine = FakePlatform(answer=lambda *_: "\n".join(lines))
    generator = BenchBase(home(tmp_path / "benchbase"))
    warmup, measure = generator.run(
        asking(think="spec"), cluster(), CLIENT, tmp_path, fake_world(platform=engine)
    )
    assert warmup.duration_s == pytest.approx(3 + 18)
    assert measure.duration_s == pytest.approx(7.001)
    assert "<time>25</time>" in (tmp_path / "benchbase.xml").read_text()


def test_the_password_is_in_the_environment_alone(tmp_path: Path) -> None:
    engine = FakePlatform(answer=lambda *_: OUTPUT)
    started(tmp_path, engine)
    ((_, _, *argv),), (env,) = engine.asked, engine.environments
    assert env["PGPASSWORD"] == "s3cret"
    assert "s3cret" not in " ".join(argv) + env["BENCHBASE_XML"]
    stored = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert {"benchbase.xml", "command.txt", "benchbase.out"} <= {file.name for file in stored}
    assert not [file for file in stored if "s3cret" in file.read_text()]


@pytest.mark.parametrize(
    ("exit_code", "state", "said"),
    [(1, "EXIT", "Connection refused"), (0, "ERROR", "state ERROR")],
)
def test_a_failed_execution_fails_the_run(
    tmp_path: Path, exit_code: int, state: str, said: str
) -> None:
    output = f"{OUTPUT}2026-11-21T02:32:20.000Z ERROR DBWorkload - Connection refused\n"
    engine = FakePlatform(answer=lambda *_: completed(output, exit_code))
    (tmp_path / "tpcc_1.summary.json").write_text(json.dumps({"Final State": state}))
    with pytest.raises(LoadError, match=said):
        started(tmp_path, engine)


class Asked:
    def __init__(self, row: dict[str, Any]) -> None:
        self.row, self.asked = row, list[str]()

    def copy(self, sql: str, text: str) -> None:
        raise AssertionError(sql)

    def rows(self, sql: str) -> list[dict[str, Any]]:
        self.asked.append(sql)
        return [self.row]


def loading(folder: Path, row: dict[str, Any], engine: FakePlatform) -> Asked:
    asked = Asked(row)

    @contextmanager
    def connect(address: Address, timeout_s: float) -> Iterator[Asked]:
        yield asked

    workload = replace(WORKLOAD, dataset=Dataset("benchbase-tpcc", {"warehouses": 2}))
    generator = BenchBase(home(folder / "benchbase"), connect)
    generator.load(workload, cluster(), CLIENT, fake_world(platform=engine))
    return asked


def test_creating_and_loading_are_two_starts_and_the_rows_are_counted(tmp_path: Path) -> None:
    engine = FakePlatform()
    asked = loading(tmp_path, LOADED, engine)
    assert [call[-1] for call in engine.asked] == ["--create=true", "--load=true"]
    assert asked.asked == [COUNT_ROWS]


def test_a_load_that_ends_well_but_short_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="history has 59,999 rows, not 60,000"):
        loading(tmp_path, {**LOADED, "history": 59_999}, FakePlatform())


def test_facts_can_be_written_as_json() -> None:
    """Facts go to JSON: none of them may be a number of numpy's."""
    result = BenchBase().read(WORKLOAD, WITH_ATTEMPTS, 1795228337.145, 1795228339.146)
    assert not [
        value for value in result.facts.recorded().values() if isinstance(value, np.generic)
    ]
    json.dumps(result.facts.recorded())
