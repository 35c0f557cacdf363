"""Samples that stay in their file give the figures of samples in memory, to the bit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from orchestrator.analysis.telemetry.counters.sample_tables import joined
from orchestrator.analysis.verdicts import judge
from orchestrator.metrics import SAMPLE_COLUMNS
from orchestrator.report.charts import series
from orchestrator.report.report_index import ReportIndex
from orchestrator.system import store
from tests.campaign_tables import held, sampled_in
from tests.campaigns import build_campaign, in_files, stored

BURST = build_campaign(
    profiles=["premium", "ultra"], workloads=["insert"], repetitions=2
)


@pytest.mark.parametrize("at_once", [1, 1_500, 2**21])
def test_figures_do_not_depend_on_how_samples_are_read(
    tmp_path: Path, at_once: int
) -> None:
    expected = judge(BURST)
    campaign = in_files(BURST, tmp_path, rows=777)
    for run in campaign.runs:
        run.sampled.at_once = at_once
    found = judge(campaign)
    assert found.cells == expected.cells
    assert found.bottlenecks == expected.bottlenecks
    assert found.doubts == expected.doubts
    whole = series.Runs(ReportIndex(BURST, expected), "insert")
    by_parts = series.Runs(ReportIndex(campaign, found), "insert")
    for drawn in (series.Runs.of_nodes, series.Runs.of_disk):
        one, two = (drawn(runs, "disk_iops").table for runs in (whole, by_parts))
        pd.testing.assert_frame_equal(one, two, check_exact=True)


def test_each_table_has_all_of_its_nodes_and_every_row_comes_once(
    tmp_path: Path,
) -> None:
    (run, *_) = in_files(BURST, tmp_path, rows=777).runs
    run.sampled.at_once = 1_500
    tables = list(run.sampled.by_nodes())
    nodes = [set(table["node"].unique()) for table in tables]
    assert len(nodes) > 1 and sum(map(len, nodes)) == len(set().union(*nodes))
    assert (
        sum(map(len, tables)) == len(sampled_in(run)) == len(sampled_in(BURST.runs[0]))
    )


def test_other_samples_are_not_taken_for_those_that_were_read_before() -> None:
    run = BURST.runs[0]
    before = run.telemetry.growth
    table = sampled_in(run).assign(value=2 * sampled_in(run)["value"])
    after = replace(run, sampled=held(table)).telemetry.growth
    assert before is not None and after is not None
    per_s = before.per_s("node-1", "disk_reads_total")
    assert per_s and after.per_s("node-1", "disk_reads_total") == pytest.approx(
        2 * per_s
    )


@pytest.mark.parametrize("names", [["b", "a"], ["a", "b"]])
@pytest.mark.parametrize("rows_of_parts", [[4], [1, 3]])
@pytest.mark.parametrize("first_row", [0, 7])
def test_tables_are_joined_in_order_with_categories_in_order(
    names: list[str], rows_of_parts: list[int], first_row: int
) -> None:
    nodes = pd.Categorical(["a", "b", "b", "a"], categories=names)
    table = pd.DataFrame(
        {"node": nodes, "value": [4.0, 3.0, 2.0, 1.0]},
        index=range(first_row, first_row + 4),
    )
    parts: list[pd.DataFrame] = []
    begin = 0
    for rows in rows_of_parts:
        parts.append(table.iloc[begin : begin + rows])
        begin += rows
    whole = joined(parts)
    assert list(whole.columns) == ["node", "value"]
    assert list(whole.index) == [0, 1, 2, 3]
    assert list(whole["node"]) == ["a", "b", "b", "a"]
    assert list(whole["node"].cat.categories) == ["a", "b"]
    assert list(whole["value"]) == [4.0, 3.0, 2.0, 1.0]


def test_a_run_that_left_none(tmp_path: Path) -> None:
    (run, *_) = store.load(stored(BURST, tmp_path)).runs
    assert (
        sampled_in(run).empty and run.telemetry.empty and run.telemetry.growth is None
    )
    assert run.telemetry.against_caps == {} and run.telemetry.by_second.empty


def test_a_node_s_cpu_is_full_from_85_pct_of_its_limit_on() -> None:
    """In one of two seconds it uses 17 of the 20 cores that it may use."""
    run = BURST.runs[0]
    window = run.record.phase("measure")
    assert window is not None
    nodes = [replace(node, cpus=20.0) for node in run.record.nodes]
    rows = []
    for second, value in enumerate([0.0, 17.0, 33.5]):
        time_s = window.start_s + second
        rows.append((time_s, "node-1", "cpu_seconds_total", "", value, "measure"))
    table = pd.DataFrame(rows, columns=list(SAMPLE_COLUMNS))
    record = replace(run.record, nodes=tuple(nodes))
    telemetry = replace(run, record=record, sampled=held(table)).telemetry
    assert telemetry.of_seconds["node-1"].time_at_cpu_pct == 50.0


def test_a_gauge_that_is_read_as_the_window_begins_is_of_what_was_before() -> None:
    run = BURST.runs[0]
    window = run.record.phase("measure")
    assert window is not None
    rows = []
    read = {window.start_s: 9.0, window.start_s + 1: 1.0, window.end_s: 2.0}
    for time_s, value in {**read, window.end_s + 1: 9.0}.items():
        rows.append((time_s, "node-1", "sessions_running", "", value, "measure"))
    table = pd.DataFrame(rows, columns=list(SAMPLE_COLUMNS))
    telemetry = replace(run, sampled=held(table)).telemetry
    assert telemetry.sessions == {"node-1": {"running": 1.5}}


def test_a_second_has_the_sums_of_what_was_sampled_in_it() -> None:
    """Reads and writes are one figure; of what was not sampled there is none, and not 0."""
    counted = {
        ("node-1", "disk_writes_total"): [0.0, 10.0, 30.0],
        ("node-1", "disk_reads_total"): [0.0, 100.0, 250.0],
        ("node-2", "cpu_seconds_total"): [5.0, 5.5, 5.75],
        ("client", "cpu_seconds_total"): [5.0, 6.0, 7.0],
    }
    rows = []
    for (node, metric), values in counted.items():
        for second, value in enumerate(values):
            phase = "warm-up" if second == 1 else "measure"
            rows.append((1000.0 + second, node, metric, "", value, phase))
    table = pd.DataFrame(rows, columns=list(SAMPLE_COLUMNS))
    found = replace(BURST.runs[0], sampled=held(table)).telemetry.by_second
    places = list(zip(found["time_s"], found["node"], found["phase"], strict=True))
    assert places == [
        (1000.0, "node-1", "warm-up"),
        (1001.0, "node-1", "measure"),
        (1000.0, "node-2", "warm-up"),
        (1001.0, "node-2", "measure"),
    ]
    assert found["disk_iops"].tolist()[:2] == [110.0, 170.0]
    assert found["cpus"].tolist()[2:] == [0.5, 0.25]
    assert found["disk_iops"][2:].isna().all() and found["cpus"][:2].isna().all()
    assert found["flushed_bytes_per_s"].isna().all()
