"""Windows of whole checkpoint intervals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.planning import named_files, notes, project_files, windows
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
    (fitted,), (note,), _ = windows.of_whole_intervals([workload], interval_s)
    assert (fitted.warmup_s, fitted.measure_s) == (warmup_s, measure_s)
    assert note.kind == "longer windows" and "insert" in note.text


@pytest.mark.parametrize(("most_s", "then_s"), [(20.0, 30.0), (90.0, 90.0)])
def test_a_warm_up_may_last_an_interval_at_least(most_s: float, then_s: float) -> None:
    workload = replace(a_workload("insert"), warmup_s=10.0, warmup_most_s=most_s)
    (fitted,) = windows.of_whole_intervals([workload], 30.0).workloads
    assert fitted.warmup_most_s == then_s


def test_what_settles_after_its_window_stays_as_it_is() -> None:
    workload = replace(a_workload("insert"), settle=True)
    assert windows.of_whole_intervals([workload], 300.0) == ((workload,), (), {})


def test_what_only_reads_stays_as_it_is() -> None:
    workload = replace(a_workload(), writes=False)
    assert windows.of_whole_intervals([workload], 300.0) == ((workload,), (), {})


def test_the_shipped_workloads_say_which_of_them_only_read() -> None:
    names = [
        name for name in named_files.names(ROOT / "workloads") if name != "disk-matrix"
    ]
    _, workloads = project_files.read(ROOT, [], names, "smoke")
    assert len(workloads) == len(names)
    reading = {one.name for one in workloads if not one.writes}
    only_read = {
        "oltp_read_only",
        "bulk-scan",
        "hdfs-scan",
        "hdfs-dfsio-read",
        "hdfs-get",
        "sysbench-yugabyte-reads",
    }
    assert reading == {name for name in names if "select" in name or name in only_read}


@pytest.mark.parametrize(
    ("warmup_s", "measure_s", "window_s", "count"),
    [(15.0, 60.0, 30.0, 7), (300.0, 1800.0, 600.0, 11), (3.0, 120.0, 30.0, 15)],
)
def test_many_short_windows_take_no_longer(
    warmup_s: float, measure_s: float, window_s: float, count: int
) -> None:
    """With 10 s beside each run, as for the scale's own windows."""
    reading = replace(
        a_workload(), writes=False, warmup_s=warmup_s, measure_s=measure_s
    )
    (shorter,), (note,), wanted = windows.many([reading], 5)
    assert (shorter.measure_s, shorter.warmup_s) == (window_s, warmup_s)
    assert wanted == {reading.name: count}
    assert count * (10 + warmup_s + window_s) <= 5 * (10 + warmup_s + measure_s)
    assert note.kind == "many windows" and f"{count} windows" in note.text


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"writes": True}, "a window must hold checkpoints"),
        ({"writes": False, "measure_s": 7.0}, "its window cannot be shorter"),
        # 30 s are the least.
        (
            {"writes": False, "warmup_s": 15.0, "measure_s": 30.0},
            "its window cannot be shorter",
        ),
        (
            {"writes": False, "measure_s": 120.0, "warmup_most_s": 60.0},
            "its warm-up takes is not",
        ),
        (
            {"writes": False, "measure_s": 120.0, "lost_after_s": 9.0},
            "deadline of a rebuild",
        ),
        (
            {"writes": False, "measure_s": 120.0, "script": "bulk/scan.lua"},
            "ends when its work is done",
        ),
    ],
)
def test_a_window_that_must_stay_as_long_stays_and_that_is_said(
    changes: dict[str, Any], why: str
) -> None:
    workload = replace(a_workload(), **changes)
    assert windows.many([workload], 5) == ((workload,), (), {})
    (note,) = notes.of_options([notes.MANY_WINDOWS], [], [workload])
    assert note.kind == "no effect" and why in note.text
    assert f"--windows many has no effect on {workload.name}: " in note.text
