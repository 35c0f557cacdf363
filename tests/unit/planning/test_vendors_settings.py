"""The workloads with the settings of YugabyteDB's own guides have those that are published."""

from __future__ import annotations

import pytest

from orchestrator.model import Workload
from orchestrator.planning import project_files
from tests import ROOT


def at_study(name: str) -> Workload:
    _, (workload,) = project_files.read(ROOT, [], [name], "study")
    return workload


def test_tpcc_has_two_hundred_connections_and_the_clients_isolation() -> None:
    load = at_study("tpcc-yugabyte")
    assert (load.threads, load.dataset.parameters["warehouses"]) == (200, 2000)
    assert load.options["isolation"] == "repeatable read"
    assert load.options["think"] == "spec"
    assert load.options["max_attempts"] == 3  # it repeats twice
    assert load.dataset.parameters["foreign_keys"] == 1


@pytest.mark.parametrize(
    "name", ["sysbench-yugabyte-reads", "sysbench-yugabyte-inserts"]
)
def test_sysbench_has_ranges_in_24_tablets(name: str) -> None:
    load = at_study(name)
    assert load.threads == 64 and (load.warmup_s, load.measure_s) == (120.0, 120.0)
    layout = {"tables": 10, "table_size": 100_000, "sharding": "range", "tablets": 24}
    assert layout.items() <= load.dataset.parameters.items()
