"""sysbench: exact command lines, and the records that our Lua keeps."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.errors import LoadError
from orchestrator.loadgens import sysbench
from orchestrator.model import Cluster, Endpoint
from tests.unit.plans import a_workload

CLUSTER = Cluster(
    "postgresql",
    "17",
    (),
    (
        Endpoint("10.0.0.11", 5432, 1, "bench", "secret", "bench"),
        Endpoint("10.0.0.12", 5432, 2, "bench", "secret", "bench"),
    ),
    "net",
)


def test_the_run_command() -> None:
    workload = replace(a_workload("point_select"), options={"seed": 7})
    assert sysbench._run_command(workload, CLUSTER) == [
        "sysbench",
        "/workloads/sysbench/point_select.lua",
        "--db-driver=pgsql",
        "--pgsql-host=10.0.0.11,10.0.0.12",
        "--pgsql-port=5432",
        "--pgsql-user=bench",
        "--pgsql-db=bench",
        "--tables=2",
        "--table-size=10",
        "--seed=7",
        "--statements=10",
        "--threads=2",
        "--time=5",
        "--rand-type=uniform",
        "--report-interval=1",
        "--out=/out",
        "run",
    ]


def test_no_command_line_holds_a_password() -> None:
    assert "secret" not in " ".join(sysbench._run_command(a_workload(), CLUSTER))


def record(start_ns: int, latency_us: int, kind: int, outcome: int, sqlstate: int = 0) -> bytes:
    return struct.pack("<qIIIBBH", start_ns, latency_us, 0, sqlstate, kind, outcome, 1)


def folder(path: Path, *files: bytes) -> Path:
    (path / "recorder.json").write_text(json.dumps({"types": ["new_order", "payment"]}))
    for number, content in enumerate(files):
        (path / f"latency-{number}.bin").write_bytes(content)
    (path / "sysbench.out").write_text("    transactions:            3      (1.00 per sec.)\n")
    return path


def test_records_of_all_threads_come_in_order_of_their_start(tmp_path: Path) -> None:
    serialization_failure = int("40001", 36)
    first = record(2_000_000_000, 1500, 0, 0) + record(4_000_000_000, 10, 1, 2, 6718465)
    second = record(3_000_000_000, 20, 1, 1, serialization_failure)
    table = sysbench.read_records(folder(tmp_path, first, second))
    assert table["start_s"].tolist() == [2.0, 3.0, 4.0]
    assert table["latency_s"].tolist() == pytest.approx([0.0015, 0.00002, 0.00001])
    assert table["type"].tolist() == ["new_order", "payment", "payment"]
    assert table["outcome"].tolist() == [0, 1, 2]
    assert table["sqlstate"].tolist() == ["", "40001", "40001"]
    assert table["retries"].tolist() == [1, 1, 1]


def test_a_record_cut_by_a_kill_is_dropped(tmp_path: Path) -> None:
    whole = record(1, 2, 0, 0)
    assert len(sysbench.read_records(folder(tmp_path, whole + whole[:11]))) == 1


def test_no_records_is_an_error_and_not_zero(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="no transaction records"):
        sysbench.read_records(tmp_path)


def test_the_cross_check_with_sysbench_itself(tmp_path: Path) -> None:
    (tmp_path / "errors-0.json").write_text(
        json.dumps(
            {
                "thread": 0,
                "retried": [{"type": "payment", "sqlstate": "40001", "count": 2, "message": "m"}],
                "failed": [],
                "unstarted": 1,
            }
        )
    )
    (tmp_path / "errors-1.json").write_text(
        json.dumps(
            {
                "thread": 1,
                "retried": [{"type": "payment", "sqlstate": "40001", "count": 3, "message": "m"}],
                "failed": [],
                "unstarted": 0,
            }
        )
    )
    out = folder(tmp_path, record(2_000_000_000, 1500, 0, 0))
    result = sysbench.Sysbench().read(a_workload(), out, 1.0, 5.0)
    assert result.facts["sysbench_transactions"] == 3
    assert result.facts["recorded_transactions"] == 1
    assert result.facts["unstarted"] == 1
    (error,) = result.facts["errors"]
    assert (error["kind"], error["sqlstate"], error["count"]) == ("retried", "40001", 5)
    assert {m.metric: m.value for m in result.measurements if m.scope == "all"}["nopm"] == 15.0
