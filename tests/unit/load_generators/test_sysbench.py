"""sysbench: exact command lines, and the records that our Lua keeps."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import LoadError, Mistake, UsageError
from orchestrator.load_generators import binding
from orchestrator.load_generators.sysbench import command_lines, generator as sysbench
from orchestrator.load_generators.sysbench.records import Records
from orchestrator.model import Cluster, Dataset, Endpoint, Node, Workload
from orchestrator.parts import ClientLoad
from tests import ROOT
from tests.fakes import FakePlatform, Log, QuietProgress, fake_world
from tests.plans import a_workload

ENDPOINTS = tuple(
    Endpoint(f"10.0.0.1{number}", 5432, number, "bench", "secret", "bench")
    for number in (1, 2)
)
CLUSTER = Cluster("postgresql", "17", (), ENDPOINTS, "net")


def test_the_run_command() -> None:
    workload = replace(a_workload("point_select"), options={"seed": 7})
    assert command_lines.run_command(workload, CLUSTER) == [
        "sysbench",
        "/workloads/sysbench/point_select.lua",
        "--db-driver=pgsql",
        "--pgsql-host=10.0.0.11,10.0.0.12",
        "--pgsql-port=5432",
        "--pgsql-user=bench",
        "--pgsql-db=bench",
        "--tables=2",
        "--table-size=10",
        "--rand-type=uniform",
        "--seed=7",
        "--statements=10",
        "--threads=2",
        "--time=5",
        "--report-interval=1",
        "--out=/out",
        "run",
    ]


def test_a_distribution_that_was_asked_for_is_the_only_one_named() -> None:
    workload = replace(
        a_workload(), options={"rand_type": "pareto", "rand_pareto_h": 0.1}
    )
    command = command_lines.run_command(workload, CLUSTER)
    options = [part for part in command if "rand" in part]
    assert options == ["--rand-type=pareto", "--rand-pareto-h=0.1"]


@pytest.mark.parametrize(
    ("script", "of_run", "of_loader"),
    [
        ("tpcc/tpcc.lua", {"warehouses": 3}, {"foreign_keys": 1, "tablets": 8}),
        (
            "sysbench/insert.lua",
            {"tables": 2, "table_size": 10},
            {
                "tablets": 24,
                "sharding": "range",
                "sequence_cache": 1000,
                "create_secondary": "off",
            },
        ),
    ],
)
def test_parameters_of_the_loader_alone_are_not_given_to_the_run(
    script: str, of_run: dict[str, int], of_loader: dict[str, int | str]
) -> None:
    dataset = Dataset("a-family", {**of_run, **of_loader})
    workload = binding.bind(of_script(script, dataset=dataset), None)
    command = command_lines.run_command(workload, CLUSTER)
    assert {
        f"--{key.replace('_', '-')}={value}" for key, value in of_run.items()
    } <= set(command)
    assert not [
        part for part in command for key in of_loader if key.split("_")[0] in part
    ]


@pytest.mark.parametrize(
    ("cluster", "parameters", "expected"),
    [
        (CLUSTER, {}, []),
        (replace(CLUSTER, analyze=False), {}, ["--analyze=off"]),
        (replace(CLUSTER, analyze=False), {"analyze": "on"}, ["--analyze=on"]),
    ],
)
def test_statistics_are_collected_if_the_planner_gains_or_the_workload_asks_for_them(
    cluster: Cluster, parameters: dict[str, str], expected: list[str]
) -> None:
    dataset = Dataset("tpcc", {"warehouses": 1, **parameters})
    command = command_lines.load_command(
        of_script("tpcc/tpcc.lua", dataset=dataset), cluster
    )
    assert [part for part in command if "analyze" in part] == expected


def of_script(script: str, **changes: Any) -> Workload:
    family, parameters = "sysbench-tables", {"tables": 1, "table_size": 10}
    if script.startswith("tpcc"):
        family, parameters = "tpcc", {"warehouses": 1}
        changes = {"statements_per_transaction": None, **changes}
    changes = {"script": script, "dataset": Dataset(family, parameters), **changes}
    return replace(a_workload("mine"), **changes)


def mistake(workload: Workload) -> Mistake:
    """The only mistake of a workload that is refused."""
    with pytest.raises(UsageError) as raised:
        binding.bind(workload, None)
    (mistake,) = raised.value.mistakes
    return mistake


@pytest.mark.parametrize(
    ("script", "option", "value", "what"),
    [
        *[
            (
                "sysbench/point_select.lua",
                key,
                1,
                "does not take this; it takes arrival_rate",
            )
            for key in (
                "range_selects",
                "range_size",
                "secondary",
                "delete_inserts",
                "auto_inc",
            )
        ],
        ("sysbench/insert.lua", "index_updates", 1, "does not take this"),
        (
            "sysbench/point_select.lua",
            "point_selects",
            3,
            "`statements_per_transaction` sets it",
        ),
        (
            "sysbench/insert.lua",
            "statements",
            3,
            "`statements_per_transaction` sets it",
        ),
        (
            "sysbench/insert.lua",
            "rand_type",
            "zipfian",
            "uniform, gaussian, special, pareto, not",
        ),
        ("sysbench/insert.lua", "rand_seed", 3, "SEED"),
        ("sysbench/insert.lua", "seed", 3, "SEED"),
        (
            "tpcc/tpcc.lua",
            "rand_type",
            "pareto",
            "does not take this; it takes arrival_rate",
        ),
        ("tpcc/tpcc.lua", "skip_trx", 1, "does not take this"),
        ("tpcc/tpcc.lua", "threads", 8, "`threads` of the scale"),
        ("tpcc/tpcc.lua", "time", 8, "`measure` of the scale"),
        ("tpcc/tpcc.lua", "events", 8, "as its scale says"),
        ("tpcc/tpcc.lua", "rate", 8, "arrival_rate"),
        ("tpcc/tpcc.lua", "record", 0, "figures"),
        ("tpcc/tpcc.lua", "foreign_keys", 1, "under `dataset`"),
        ("own/mine.lua", "threads", 8, "`threads` of the scale"),
        ("own/mine.lua", "pgsql_host", "elsewhere", "the cluster"),
    ],
)
def test_an_option_that_would_have_no_effect_is_refused(
    script: str, option: str, value: int | str, what: str
) -> None:
    refused = mistake(of_script(script, options={option: value}))
    assert refused.where == f"workloads/mine.yaml: options.{option}"
    assert what in refused.what


@pytest.mark.parametrize(
    ("script", "options"),
    [
        (
            "sysbench/point_select.lua",
            {"rand_type": "special", "rand_spec_pct": 5, "skip_trx": 1},
        ),
        (
            "sysbench/insert.lua",
            {"arrival_rate": 100, "max_attempts": 1, "db_ps_mode": "disable"},
        ),
        (
            "tpcc/tpcc.lua",
            {"think": "spec", "isolation": "serializable", "weights": "1,1,1,1,1"},
        ),
        ("own/mine.lua", {"range_selects": "off", "rand_type": "pareto"}),
    ],
)
def test_an_option_that_takes_effect_is_accepted(
    script: str, options: dict[str, Any]
) -> None:
    workload = of_script(script, options=options)
    assert binding.bind(workload, None) == workload


@pytest.mark.parametrize(
    ("script", "parameter"),
    [
        ("sysbench/insert.lua", "foreign_keys"),
        ("tpcc/tpcc.lua", "sharding"),
        ("tpcc/tpcc.lua", "reset"),
        ("tpcc/tpcc.lua", "workers"),
    ],
)
def test_a_parameter_that_the_loader_does_not_have_is_refused(
    script: str, parameter: str
) -> None:
    dataset = of_script(script).dataset
    dataset = replace(dataset, parameters={**dataset.parameters, parameter: 1})
    refused = mistake(of_script(script, dataset=dataset))
    assert refused.where == f"workloads/mine.yaml: dataset.{parameter}"


def test_an_unknown_sharding_is_refused_before_anything_is_loaded() -> None:
    dataset = Dataset(
        "sysbench-tables", {"tables": 1, "table_size": 10, "sharding": "list"}
    )
    refused = mistake(of_script("sysbench/insert.lua", dataset=dataset))
    assert refused.where == "workloads/mine.yaml: dataset.sharding"
    assert "hash, range" in refused.what


def test_tpcc_takes_no_number_of_statements() -> None:
    refused = mistake(of_script("tpcc/tpcc.lua", statements_per_transaction=3))
    assert refused.where == "workloads/mine.yaml: statements_per_transaction"


def test_threads_look_for_how_many_go_on_only_where_that_is_tried() -> None:
    option = f"--sessions-file={command_lines.SESSIONS_FILE}"
    assert option not in command_lines.run_command(a_workload(), CLUSTER)
    assert option in command_lines.run_command(
        replace(a_workload(), confirm_s=24.0), CLUSTER
    )


def test_no_command_line_holds_a_password() -> None:
    assert "secret" not in " ".join(command_lines.run_command(a_workload(), CLUSTER))


def record(
    start_ns: int,
    latency_us: int,
    kind: int,
    outcome: int,
    sqlstate: int = 0,
    queue_us: int = 0,
) -> bytes:
    return struct.pack(
        "<qIIIBBH", start_ns, latency_us, queue_us, sqlstate, kind, outcome, 1
    )


def folder(path: Path, *files: bytes) -> Path:
    described = {"types": ["new_order", "payment"], "mode": {"batches": False}}
    (path / "recorder.json").write_text(json.dumps(described))
    for number, content in enumerate(files):
        (path / f"latency-{number}.bin").write_bytes(content)
    (path / "sysbench.out").write_text(
        "    transactions:            3      (1.00 per sec.)\n"
    )
    return path


def test_the_version_is_what_sysbench_said_of_itself(tmp_path: Path) -> None:
    one = folder(tmp_path, record(1_000_000_000, 1500, 0, 0))
    assert sysbench._facts(Records.of_folder(one), one).version is None  # of older runs
    console = (
        ROOT / "tests/fixtures/sysbench-1.0.20/oltp_point_select.out"
    ).read_text()
    (one / "sysbench.out").write_text(console)
    assert sysbench._facts(Records.of_folder(one), one).version == "1.0.20"


def test_records_of_all_threads_come_in_order_of_their_start(tmp_path: Path) -> None:
    serialization_failure = int("40001", 36)
    first = record(2_000_000_000, 1500, 0, 0) + record(4_000_000_000, 10, 1, 2, 6718465)
    second = record(3_000_000_000, 20, 1, 1, serialization_failure)
    (table,) = Records.of_folder(folder(tmp_path, first, second))
    assert table["start_s"].tolist() == [2.0, 3.0, 4.0]
    assert table["latency_s"].tolist() == pytest.approx([0.0015, 0.00002, 0.00001])
    assert table["type"].tolist() == ["new_order", "payment", "payment"]
    assert table["outcome"].tolist() == [0, 1, 2]
    assert table["sqlstate"].tolist() == ["", "40001", "40001"]
    assert table["retries"].tolist() == [1, 1, 1]


def test_a_record_cut_by_a_kill_is_dropped(tmp_path: Path) -> None:
    whole = record(1, 2, 0, 0)
    records = Records.of_folder(folder(tmp_path, whole + whole[:11]))
    assert (records.count, sum(map(len, records))) == (1, 1)


def test_no_records_is_an_error_and_not_zero(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="no transaction records"):
        Records.of_folder(tmp_path)


def test_the_cross_check_with_sysbench_itself(tmp_path: Path) -> None:
    for thread, unstarted, count in ((0, 1, 2), (1, 0, 3)):
        error = {"type": "payment", "sqlstate": "40001", "count": count, "message": "m"}
        content = {
            "thread": thread,
            "retried": [error],
            "failed": [],
            "unstarted": unstarted,
            "woke_late": {"count": 3 * thread, "total_us": 90 * thread, "most_us": 50},
        }
        (tmp_path / f"errors-{thread}.json").write_text(json.dumps(content))
    out = folder(tmp_path, record(2_000_000_000, 1500, 0, 0))
    result = sysbench.Sysbench().read(a_workload(), out, 1.0, 5.0)
    facts = result.facts.recorded()
    assert facts["sysbench_transactions"] == 3
    assert facts["recorded_transactions"] == facts["unstarted"] == 1
    assert facts["woke_late_avg_s"] == pytest.approx(30e-6)
    assert facts["woke_late_most_s"] == pytest.approx(50e-6)
    assert facts["statements_batched"] is False
    (error,) = facts["errors"]
    assert (error["kind"], error["sqlstate"], error["count"]) == ("retried", "40001", 5)
    assert {m.metric: m.value for m in result.measurements if m.scope == "all"}[
        "nopm"
    ] == 15.0


@pytest.mark.parametrize(
    ("options", "latency_s"),
    [({"think": "spec"}, 0.2), ({"arrival_rate": 5}, 0.5), ({}, 0.5)],
)
def test_latency_is_without_the_wait_for_a_connection_where_terminals_think(
    options: dict[str, Any], latency_s: float, tmp_path: Path
) -> None:
    out = folder(tmp_path, record(2_000_000_000, 500_000, 0, 0, queue_us=300_000))
    workload = replace(a_workload(), options=options)
    result = sysbench.Sysbench().read(workload, out, 1.0, 5.0)
    figures = {(m.metric, m.scope): m.value for m in result.measurements}
    assert figures["latency_avg_s", "new_order"] == pytest.approx(latency_s)
    waits = [
        value
        for (metric, _), value in figures.items()
        if metric == "connection_wait_avg_s"
    ]
    assert waits == ([pytest.approx(0.3)] if "think" in options else [])
    (kept,) = result.latencies or ()
    assert kept["latency_s"].tolist() == pytest.approx([0.5])


def test_what_a_loader_tried_again_is_noted(tmp_path: Path) -> None:
    progress = QuietProgress()
    world = replace(fake_world(Log(), tmp_path), progress=progress)
    on_line = partial(sysbench._show_loading, "tpcc", world)
    on_line('{"phase":"load","rows_per_s":5}')
    on_line('{"phase":"retry","attempt":1,"message":"XX000: Timed out"}')
    assert progress.said == ["loading tpcc: tried again after XX000: Timed out"]


def test_the_window_is_announced_when_the_threads_have_started(tmp_path: Path) -> None:
    said: list[float] = []
    platform = FakePlatform(answer=lambda *_: "Threads started!\n")
    world = replace(fake_world(platform=platform), window_begins=said.append)
    endpoint = Endpoint("10.0.0.11", 5432, 15432, "postgres", "secret", "tierbench")
    cluster = Cluster("postgresql", "17", (), (endpoint,), "net")
    client = Node("client", "client", "tierbench-client")
    generator = sysbench.Sysbench()
    _, measure = generator.run(
        ClientLoad(a_workload(), cluster, client, tmp_path, world)
    )
    assert said == [measure.start_s] == [1_000.0 + a_workload().warmup_s]


@pytest.mark.parametrize(
    ("begun_s", "begins_s"), [(997.5, 997.5), (1_000.4, 1_000.0), (None, 1_000.0)]
)
def test_the_window_counts_from_when_the_threads_began_however_late_that_is_heard(
    begun_s: float | None, begins_s: float, tmp_path: Path
) -> None:
    """A window as late as a busy computer would go on after the last transaction."""

    def answer(*_: object) -> str:
        for thread in (0, 1):
            begun = (
                {} if begun_s is None else {"begun_ms": round(begun_s * 1e3) - thread}
            )
            (tmp_path / f"errors-{thread}.json").write_text(
                json.dumps({"thread": thread, **begun})
            )
        return "Threads started!\n"

    world = fake_world(platform=FakePlatform(answer=answer))
    endpoint = Endpoint("10.0.0.11", 5432, 15432, "postgres", "secret", "tierbench")
    cluster = Cluster("postgresql", "17", (), (endpoint,), "net")
    client = Node("client", "client", "tierbench-client")
    workload = a_workload()
    warmup, measure = sysbench.Sysbench().run(
        ClientLoad(workload, cluster, client, tmp_path, world)
    )
    assert warmup.start_s == begins_s
    assert measure.start_s == warmup.end_s == begins_s + workload.warmup_s
    assert measure.end_s == measure.start_s + workload.measure_s


def stalled(path: Path, stall_ms: int, options: dict[str, Any]) -> dict[str, float]:
    """Figures of 60 s of work that comes every 10 ms, 9 ms after the full ones, and takes 20 ms, or
    21 ms each 50th; from `stall_ms` before the end nothing ends in the window. Eight connections
    wait until 0.3 s after it; what came in afterwards is not begun."""
    start_s, end_s, due_us = 100, 160, [10_000 * k + 1_000 for k in range(6_000)]
    stalled_us = 60_000_000 - stall_ms * 1_000
    served = [us for us in due_us if us < stalled_us]
    hanging, left = due_us[len(served) :][:8], due_us[len(served) + 8 :]
    rows = [(us, 21_000 if k % 50 == 0 else 20_000) for k, us in enumerate(served)]
    rows += [(us, 60_300_000 - us) for us in hanging]
    # What began before the window and ended in it was not due in it.
    early = record((start_s - 1) * 10**9, 1_500_000, 0, 0)
    of_rows = (record(start_s * 10**9 + us * 1_000, taken, 0, 0) for us, taken in rows)
    out = folder(path, early + b"".join(of_rows))
    mode = {"batches": False, "arrival_rate_per_s": options.get("arrival_rate", 0)}
    (out / "recorder.json").write_text(
        json.dumps({"types": ["new_order"], "mode": mode})
    )
    waits = {"new_order": [60_000_000 - us for us in left]} if options else {}
    thread = {
        "thread": 0,
        "unstarted": len(left) if options else 0,
        "unstarted_waits": waits,
    }
    (out / "errors-0.json").write_text(json.dumps(thread))
    workload = replace(a_workload(), options=options)
    result = sysbench.Sysbench().read(workload, out, start_s, end_s)
    return {m.metric: m.value for m in result.measurements if m.scope == "all"}


def test_what_was_due_and_has_not_ended_ranks_as_at_least_so_long(
    tmp_path: Path,
) -> None:
    """By hand: of 6,000 the 61st longest. Eight hung, so it is the 53rd of those not begun, which
    waited for 559, 549, 539 … ms; of what ended in the window it would be 21 ms."""
    found = stalled(tmp_path, 640, {"arrival_rate": 100})
    assert found["latency_p99_s"] == pytest.approx(0.039)
    assert found["latency_p95_s"] == pytest.approx(0.020)
    assert found["latency_max_s"] == pytest.approx(0.939)
    assert found["transactions"] == 5_936 + 1  # that ended in the window
    assert found["offered_per_s"] == pytest.approx(100)  # with what never began
    served_s = 5_936 * 0.02 + 119 * 0.001
    hung_s, waited_s = (
        sum(first - 0.01 * k for k in range(n))
        for first, n in ((0.939, 8), (0.559, 56))
    )
    assert found["latency_avg_s"] == pytest.approx(
        (served_s + hung_s + waited_s) / 6_000
    )


def test_a_percentile_among_what_has_not_begun_is_not_known(tmp_path: Path) -> None:
    found = stalled(tmp_path, 700, {"arrival_rate": 100})
    assert "latency_p99_s" not in found
    assert found["latency_p95_s"] == pytest.approx(0.020)


def test_in_a_closed_loop_what_ended_in_the_window_counts(tmp_path: Path) -> None:
    assert stalled(tmp_path, 630, {})["latency_max_s"] == 1.5
