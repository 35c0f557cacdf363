"""Windows of whole checkpoint intervals."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.planning import project_files, windows
from tests import ROOT
from tests.plans import a_workload


@pytest.mark.parametrize(
    ("interval_s", "warmup_s", "measure_s"),
    [(30.0, 30.0, 60.0), (5.0, 10.0, 45.0), (300.0, 300.0, 600.0), (20.5, 20.5, 41.0)],
)
def test_a_workload_that_writes_is_measured_for_whole_intervals(
    interval_s: float, warmup_s: float, measure_s: float
) -> None:
    workload = replace(a_workload("insert"), warmup_s=10.0, measure_s=41.0)
    (fitted,), (note,) = windows.of_whole_intervals([workload], interval_s)
    assert (fitted.warmup_s, fitted.measure_s) == (warmup_s, measure_s)
    assert note.kind == "longer windows" and "insert" in note.text


def test_what_only_reads_stays_as_it_is() -> None:
    workload = replace(a_workload(), writes=False)
    assert windows.of_whole_intervals([workload], 300.0) == ((workload,), ())


def test_the_shipped_workloads_say_which_of_them_only_read() -> None:
    names = [name for name in project_files.names(ROOT / "workloads") if name != "disk-matrix"]
    _, workloads = project_files.read(ROOT, [], names, "smoke")
    assert len(workloads) == len(names)
    reading = {one.name for one in workloads if not one.writes}
    assert reading == {name for name in names if "select" in name or name == "oltp_read_only"}
