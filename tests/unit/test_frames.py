"""Counters to rates and telemetry: literal counters in, literal rates out."""

from __future__ import annotations

import math
from dataclasses import replace

import pandas as pd
import pytest

from orchestrator import frames
from orchestrator.model import Measurement, Node
from tests.unit.campaigns import build_campaign, empty_samples

Rows = list[tuple[float, str, str, float]]


def samples(rows: Rows) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=["time_s", "node", "metric", "value"])
    return table.assign(unit="", phase="measure")


def series(metric: str, node: str, *points: tuple[float, float]) -> Rows:
    return [(time_s, node, metric, value) for time_s, value in points]


def figures(found: tuple[Measurement, ...]) -> dict[tuple[str, str], float]:
    return {(m.metric, m.scope): m.value for m in found}


def test_rates_of_counters_alone() -> None:
    table = samples(
        series("disk_reads_total", "a", (0, 100), (1, 150), (3, 170))
        + series("disk_in_flight", "a", (0, 3), (1, 9))
    )
    found = frames.rates(table)
    assert found["metric"].unique().tolist() == ["disk_reads_total"]
    assert found["time_s"].tolist() == [1, 3]
    assert found["step_s"].tolist() == [1, 2]
    assert found["value"].tolist() == [50, 10]


def test_a_reset_is_left_out_and_not_counted_from_zero() -> None:
    table = samples(series("disk_reads_total", "a", (0, 1_000), (1, 1_100), (2, 30), (3, 130)))
    found = frames.rates(table)
    assert found["time_s"].tolist() == [1, 3]
    assert found["value"].tolist() == [100, 100]


def test_rates_do_not_mix_nodes_or_mind_the_order() -> None:
    table = samples(
        series("disk_reads_total", "b", (1, 7), (0, 5)) + series("disk_reads_total", "a", (0, 1))
    )
    found = frames.rates(table)
    assert found[["node", "value"]].values.tolist() == [["b", 2.0]]


def test_growth_is_from_first_to_last_sample_in_the_window() -> None:
    """Not the mean of the rates, which uneven sampling would bend: (100 + 10) / 2 = 55."""
    table = samples(series("disk_reads_total", "a", (0, 0), (1, 100), (10, 190), (11, 9_999)))
    growth = frames.Growth(table, 0, 10)
    assert growth.per_s("a", "disk_reads_total") == pytest.approx(19.0)
    assert growth.per_s("a", "disk_reads_total", "disk_writes_total") is None
    assert growth.per_s("nobody", "disk_reads_total") is None


def test_samples_of_less_than_half_the_window_do_not_stand_for_it() -> None:
    table = samples(series("disk_reads_total", "a", (0, 0), (4, 400)))
    assert frames.Growth(table, 0, 10).per_s("a", "disk_reads_total") is None
    assert frames.Growth(table, 0, 8).per_s("a", "disk_reads_total") == pytest.approx(100.0)


NODES = (
    Node("n1", "database", cpus=2.0, device="loop1"),
    Node("n2", "database", cpus=4.0, device="loop2"),
    Node("client", "client"),
    Node("host", "host", cpus=8.0),
)


def two_nodes() -> pd.DataFrame:
    rows: Rows = []
    for node, reads, writes, wait_s, cpu in (("n1", 300, 100, 0.8, 1.0), ("n2", 0, 100, 0.1, 1.0)):
        for metric, per_s in (
            ("disk_reads_total", reads),
            ("disk_writes_total", writes),
            ("disk_read_bytes_total", reads * 8_192),
            ("disk_written_bytes_total", writes * 4_096),
            ("disk_read_seconds_total", wait_s if reads else 0),
            ("disk_write_seconds_total", 0 if reads else wait_s),
            ("disk_queue_seconds_total", wait_s),
            ("cpu_seconds_total", cpu),
        ):
            rows += series(metric, node, (0, 5), (10, 5 + 10 * per_s))
    rows += series("cpu_seconds_total", "client", (0, 0), (10, 20))
    rows += series("cpu_busy_seconds_total", "host", (0, 0), (10, 60))
    return samples(rows)


def test_telemetry_of_nodes_and_of_all() -> None:
    found = figures(frames.telemetry(NODES, two_nodes(), 0, 10))
    assert found["cpu_pct", "n1"] == pytest.approx(50.0)
    assert found["cpu_pct", "n2"] == pytest.approx(25.0)
    assert found["cpu_pct", "all"] == pytest.approx(37.5)
    assert found["disk_iops", "n1"] == pytest.approx(400.0)
    assert found["disk_iops", "all"] == pytest.approx(500.0)
    assert found["disk_read_bytes_per_s", "all"] == pytest.approx(300 * 8_192)
    assert found["disk_write_bytes_per_s", "all"] == pytest.approx(200 * 4_096)
    assert found["disk_await_s", "n1"] == pytest.approx(0.002)
    assert found["disk_await_s", "n2"] == pytest.approx(0.001)
    assert found["disk_await_s", "all"] == pytest.approx(0.9 / 500)  # of all I/Os, not of nodes
    assert found["disk_queue_depth", "all"] == pytest.approx(0.9)
    assert found["client_cpu_pct", "all"] == pytest.approx(25.0)
    assert found["host_cpu_pct", "all"] == pytest.approx(75.0)


def test_what_one_node_lacks_has_no_total() -> None:
    table = two_nodes()
    without = table[~((table["node"] == "n2") & (table["metric"] == "disk_reads_total"))]
    found = figures(frames.telemetry(NODES, without, 0, 10))
    assert ("disk_iops", "n1") in found
    assert ("disk_iops", "n2") not in found and ("disk_iops", "all") not in found
    assert ("disk_write_iops", "all") in found


def test_cores_of_the_machine_stand_in_for_what_nodes_do_not_say() -> None:
    nodes = tuple(replace(node, cpus=None) for node in NODES)
    found = figures(frames.telemetry(nodes, two_nodes(), 0, 10, cpus=10.0))
    assert found["cpu_pct", "n1"] == pytest.approx(10.0)
    assert found["host_cpu_pct", "all"] == pytest.approx(60.0)
    unknown = figures(frames.telemetry(nodes, two_nodes(), 0, 10))
    assert not {"cpu_pct", "host_cpu_pct", "client_cpu_pct"} & {metric for metric, _ in unknown}


def test_an_idle_disk_has_no_latency() -> None:
    rows: Rows = []
    for metric in ("reads", "writes", "read_seconds", "write_seconds"):
        rows += series(f"disk_{metric}_total", "n1", (0, 5), (10, 5))
    found = figures(frames.telemetry(NODES[:1], samples(rows), 0, 10))
    assert found["disk_iops", "all"] == 0
    assert ("disk_await_s", "all") not in found


def test_no_samples_no_telemetry() -> None:
    assert frames.telemetry(NODES, empty_samples(), 0, 10) == ()
    assert frames.telemetry(NODES, two_nodes(), 10, 10) == ()
    assert frames.rates(empty_samples()).empty
    assert frames.wide_rates(empty_samples(), "n1").empty


def test_only_the_measured_window_counts() -> None:
    campaign = build_campaign(profiles=["premium"], workloads=["insert"], repetitions=1, nodes=1)
    run = campaign.runs[0]
    table, window = run.samples, run.record.phase("measure")
    assert window is not None
    loud = table.assign(value=table["value"].where(table["time_s"] >= window.start_s, 0.0))
    before = figures(frames.telemetry_of(run, 32.0))
    assert before == figures(frames.telemetry_of(replace(run, samples=loud), 32.0))
    assert before["cpu_pct", "all"] == pytest.approx(90.0, rel=0.01)


def test_finished_runs_only_and_only_planned_ones() -> None:
    campaign = build_campaign(
        profiles=["premium"], workloads=["insert"], repetitions=4, failed=[2], frames=False
    )
    assert [r.record.run.number for r in frames.finished(campaign, "premium", "insert")] == [
        1,
        3,
        4,
    ]
    shorter = replace(campaign, plan=replace(campaign.plan, runs=campaign.plan.runs[:3]))
    assert [r.record.run.number for r in frames.finished(shorter, "premium", "insert")] == [1, 3]


def test_facts_are_found_at_the_top_or_one_level_below() -> None:
    campaign = build_campaign(repetitions=1, frames=False)
    record = campaign.runs[0].record
    facts = {"a": 1, "generator": {"version": "1.0.20"}, "database": {"version": "17.2", "a": 2}}
    record = replace(record, facts=facts)
    assert frames.fact(record, "a") == 1
    assert frames.fact(record, "version") == "17.2"
    assert frames.fact(record, "none") is None


def test_a_figure_that_is_not_a_number_is_none() -> None:
    record = build_campaign(repetitions=1, frames=False).runs[0].record
    bad = Measurement("throughput_per_s", "1/s", "higher", math.nan)
    assert frames.value_of(replace(record, measurements=(bad,)), "throughput_per_s") is None
    assert frames.value_of(record, "throughput_per_s", "nobody") is None
    assert (frames.value_of(record, "throughput_per_s") or 0) > 1_000


def test_machine_cores_come_from_the_fingerprint() -> None:
    campaign = build_campaign(repetitions=1, frames=False, host_cpus=2)
    assert frames.machine_cpus(campaign) == 2.0
    assert frames.machine_cpus(replace(campaign, fingerprint={})) is None
