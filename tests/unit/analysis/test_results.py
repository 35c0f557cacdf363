"""Counters to rates and telemetry: literal counters in, literal rates out."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from orchestrator.analysis import metric_values, results, verdicts
from orchestrator.analysis.figures import transactions
from orchestrator.analysis.telemetry.counters import counter_names, counter_series
from orchestrator.analysis.telemetry.use import telemetry_metrics
from orchestrator.facts import DatabaseFacts
from orchestrator.model import Measurement, Node, Objective, Phase
from tests.campaign_tables import (
    empty_samples,
    growth_of,
    held,
    rates_of,
    sampled_in,
)
from tests.campaigns import build_campaign

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
    ((key, found),) = rates_of(table).items()
    assert key == ("a", "disk_reads_total")
    assert found.end_s.tolist() == [1, 3]
    assert found.step_s.tolist() == [1, 2]
    assert found.per_s.tolist() == [50, 10]


def test_a_reset_is_left_out_and_not_counted_from_zero() -> None:
    table = samples(
        series("disk_reads_total", "a", (0, 1_000), (1, 1_100), (2, 30), (3, 130))
    )
    (found,) = rates_of(table).values()
    assert found.end_s.tolist() == [1, 3]
    assert found.per_s.tolist() == [100, 100]


def test_rates_do_not_mix_nodes_or_mind_the_order() -> None:
    table = samples(
        series("disk_reads_total", "b", (1, 7), (0, 5))
        + series("disk_reads_total", "a", (0, 1))
    )
    found = {node: steps.per_s.tolist() for (node, _), steps in rates_of(table).items()}
    assert found == {"a": [], "b": [2.0]}


def test_growth_is_from_first_to_last_sample_in_the_window() -> None:
    """Not the mean of the rates, which uneven sampling would bend: (100 + 10) / 2 = 55."""
    table = samples(
        series("disk_reads_total", "a", (0, 0), (1, 100), (10, 190), (11, 9_999))
    )
    growth = growth_of(table, 0, 10)
    assert growth.per_s("a", "disk_reads_total") == pytest.approx(19.0)
    assert growth.per_s("a", "disk_reads_total", "disk_writes_total") is None
    assert growth.per_s("nobody", "disk_reads_total") is None


def test_samples_of_less_than_half_the_window_do_not_stand_for_it() -> None:
    table = samples(series("disk_reads_total", "a", (0, 0), (4, 400)))
    assert growth_of(table, 0, 10).per_s("a", "disk_reads_total") is None
    assert growth_of(table, 0, 8).per_s("a", "disk_reads_total") == pytest.approx(100.0)


NODES = (
    Node("n1", "database", cpus=2.0, device="loop1"),
    Node("n2", "database", cpus=4.0, device="loop2"),
    Node("client", "client"),
    Node("host", "host", cpus=8.0),
)


def two_nodes() -> pd.DataFrame:
    rows: Rows = []
    for node, reads, writes, wait_s, cpu in (
        ("n1", 300, 100, 0.8, 1.0),
        ("n2", 0, 100, 0.1, 1.0),
    ):
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
    found = figures(telemetry_metrics.telemetry(NODES, growth_of(two_nodes(), 0, 10)))
    expected: dict[str, dict[str, float]] = {
        "cpu_pct": {"n1": 50.0, "n2": 25.0, "all": 37.5},
        "disk_iops": {"n1": 400.0, "all": 500.0},
        "disk_read_bytes_per_s": {"all": 300 * 8_192},
        "disk_write_bytes_per_s": {"all": 200 * 4_096},
        "disk_await_s": {
            "n1": 0.002,
            "n2": 0.001,
            "all": 0.9 / 500,
        },  # of all I/Os, not of nodes
        "disk_queue_depth": {"all": 0.9},
        "client_cpu_pct": {"all": 25.0},
        "host_cpu_pct": {"all": 75.0},
    }
    for metric, scopes in expected.items():
        assert {scope: found[metric, scope] for scope in scopes} == pytest.approx(
            scopes
        ), metric


def test_nodes_on_one_disk_are_counted_once() -> None:
    """Each has the counters of the whole disk, so their sum would be n times the truth."""
    rows: Rows = []
    for name in ("n1", "n2", "n3"):
        per_s = 100 if name == "n3" else 400
        for metric, value in (
            ("disk_reads_total", per_s),
            ("disk_writes_total", 0),
            ("disk_read_seconds_total", per_s * (0.001 if name == "n3" else 0.002)),
            ("disk_write_seconds_total", 0),
        ):
            rows += series(metric, name, (0, 0), (10, 10.0 * value))
    shared = [
        Node(name, "database", device=device)
        for name, device in (("n1", "sdb"), ("n2", "sdb"), ("n3", "sdc"))
    ]
    found = figures(
        telemetry_metrics.telemetry(shared, growth_of(samples(rows), 0, 10))
    )
    assert (found["disk_iops", "n2"], found["disk_iops", "all"]) == pytest.approx(
        (400.0, 500.0)
    )
    assert found["disk_await_s", "all"] == pytest.approx(
        (400 * 0.002 + 100 * 0.001) / 500
    )


WAL_RATES = (
    ("wal_disk_reads_total", 0.0),
    ("wal_disk_writes_total", 1.0),
    ("wal_disk_read_bytes_total", 0.0),
    ("wal_disk_written_bytes_total", 8_192.0),
    ("wal_disk_read_seconds_total", 0.0),
    ("wal_disk_write_seconds_total", 0.002),
)


def wal_figures(
    devices: dict[str, tuple[str, str]],
    per_s: dict[str, float],
    not_sampled: str = "",
) -> dict[tuple[str, str], float]:
    """`devices`: node → data and WAL device; `per_s`: writes a second of each WAL device."""
    rows: Rows = []
    for name, (_, wal) in devices.items():
        if name == not_sampled:
            continue
        for metric, factor in WAL_RATES:
            rows += series(metric, name, (0, 0), (10, 10 * factor * per_s[wal]))
    nodes = [
        Node(name, "database", device=data, wal_device=wal)
        for name, (data, wal) in devices.items()
    ]
    return figures(telemetry_metrics.telemetry(nodes, growth_of(samples(rows), 0, 10)))


def test_disks_of_the_wal_stand_beside_those_of_the_data() -> None:
    found = wal_figures(
        {"n1": ("sda", "sdx"), "n2": ("sdb", "sdy")}, {"sdx": 300, "sdy": 100}
    )
    assert found["wal_disk_iops", "n1"] == pytest.approx(300)
    assert found["wal_disk_iops", "all"] == pytest.approx(400)
    assert found["wal_disk_bytes_per_s", "all"] == pytest.approx(400 * 8_192)
    assert found["wal_disk_await_s", "all"] == pytest.approx(0.002)
    assert not [metric for metric, _ in found if metric.startswith("disk_")]


def test_each_disk_of_a_wal_is_counted_once() -> None:
    """n1 and n2 share one, and that of n3 is the data disk of n1, which has its I/O already."""
    devices = {"n1": ("sda", "sdx"), "n2": ("sdb", "sdx"), "n3": ("sdc", "sda")}
    found = wal_figures(devices, {"sdx": 300, "sda": 50})
    assert found["wal_disk_iops", "n3"] == pytest.approx(50)
    assert found["wal_disk_iops", "all"] == pytest.approx(300)


def test_the_disks_of_the_wal_have_no_total_without_one_of_them() -> None:
    devices = {"n1": ("sda", "sdx"), "n2": ("sdb", "sdy"), "n3": ("sdc", "sdx")}
    per_s = {"sdx": 300.0, "sdy": 100.0}
    without = wal_figures(devices, per_s, not_sampled="n2")
    assert ("wal_disk_iops", "n1") in without
    assert ("wal_disk_iops", "all") not in without
    # n3 shares the disk of n1, which was sampled there.
    shared = wal_figures(devices, per_s, not_sampled="n3")
    assert shared["wal_disk_iops", "all"] == pytest.approx(400)


def test_what_one_node_lacks_has_no_total() -> None:
    table = two_nodes()
    without = table[
        ~((table["node"] == "n2") & (table["metric"] == "disk_reads_total"))
    ]
    found = figures(telemetry_metrics.telemetry(NODES, growth_of(without, 0, 10)))
    assert ("disk_iops", "n1") in found
    assert ("disk_iops", "n2") not in found and ("disk_iops", "all") not in found
    assert ("disk_write_iops", "all") in found


def test_cores_of_the_machine_stand_in_for_what_nodes_do_not_say() -> None:
    nodes = tuple(replace(node, cpus=None) for node in NODES)
    found = figures(
        telemetry_metrics.telemetry(nodes, growth_of(two_nodes(), 0, 10), cpus=10.0)
    )
    assert found["cpu_pct", "n1"] == pytest.approx(10.0)
    assert found["host_cpu_pct", "all"] == pytest.approx(60.0)
    unknown = figures(telemetry_metrics.telemetry(nodes, growth_of(two_nodes(), 0, 10)))
    assert not {"cpu_pct", "host_cpu_pct", "client_cpu_pct"} & {
        metric for metric, _ in unknown
    }


def test_an_idle_disk_has_no_latency() -> None:
    rows: Rows = []
    for metric in ("reads", "writes", "read_seconds", "write_seconds"):
        rows += series(f"disk_{metric}_total", "n1", (0, 5), (10, 5))
    found = figures(
        telemetry_metrics.telemetry(NODES[:1], growth_of(samples(rows), 0, 10))
    )
    assert found["disk_iops", "all"] == 0
    assert ("disk_await_s", "all") not in found


def test_no_samples_no_telemetry() -> None:
    assert telemetry_metrics.telemetry(NODES, growth_of(empty_samples(), 0, 10)) == ()
    assert telemetry_metrics.telemetry(NODES, growth_of(two_nodes(), 10, 10)) == ()
    assert rates_of(empty_samples()) == {}
    assert not counter_series.side_by_side({}, "n1", [counter_names.READS]).end_s.size


@pytest.mark.parametrize(
    ("times_of_writes", "joined_s"),
    [((1.0, 2.0, 3.0), [1.0, 2.0, 3.0]), ((1.0, 3.0), [1.0, 3.0])],
    ids=["read together", "one reading lacks"],
)
def test_counters_stand_side_by_side_where_all_are_known(
    times_of_writes: tuple[float, ...], joined_s: list[float]
) -> None:
    rates = {}
    for metric, times_s in (
        (counter_names.READS, (1.0, 2.0, 3.0)),
        (counter_names.WRITES, times_of_writes),
    ):
        end_s = np.array(times_s)
        phases = np.full(len(end_s), "measure", dtype=object)
        steps = counter_series.Steps(end_s, np.ones(len(end_s)), 10 * end_s, phases)
        rates["n1", metric] = steps
    found = counter_series.side_by_side(
        rates, "n1", [counter_names.READS, counter_names.WRITES]
    )
    assert found.end_s.tolist() == joined_s
    assert found.step_s.tolist() == [1.0] * len(joined_s)
    for metric in (counter_names.READS, counter_names.WRITES):
        assert found.per_s[metric].tolist() == [10 * time_s for time_s in joined_s]


def test_only_the_measured_window_counts() -> None:
    campaign = build_campaign(
        profiles=["premium"], workloads=["insert"], repetitions=1, nodes=1
    )
    run = campaign.runs[0]
    table, window = sampled_in(run), run.record.phase("measure")
    assert window is not None
    loud = table.assign(
        value=table["value"].where(table["time_s"] >= window.start_s, 0.0)
    )
    before = figures(telemetry_metrics.telemetry_of(run, 32.0))
    assert before == figures(
        telemetry_metrics.telemetry_of(replace(run, sampled=held(loud)), 32.0)
    )
    assert before["cpu_pct", "all"] == pytest.approx(90.0, rel=0.01)


def test_finished_runs_only_and_only_planned_ones() -> None:
    campaign = build_campaign(
        profiles=["premium"],
        workloads=["insert"],
        repetitions=4,
        failed=[2],
        frames=False,
    )
    shorter = replace(
        campaign, plan=replace(campaign.plan, runs=campaign.plan.runs[:3])
    )
    for planned, numbers in ((campaign, [1, 3, 4]), (shorter, [1, 3])):
        finished = results.finished(planned, "premium", "insert")
        assert [run.record.run.number for run in finished] == numbers


def test_facts_are_read_by_group_and_type() -> None:
    """Each group has its own version; what is absent or of another type is None, never a guess."""
    campaign = build_campaign(repetitions=1, frames=False)
    record = campaign.runs[0].record
    group = {"version": "17.2", "durable": "yes", "data_bytes": True, "a": 2}
    facts = {"generator": {"version": "1.0.20", "unstarted": 3}, "database": group}
    record = replace(record, facts=facts)
    database, generator = results.database(record), results.generator(record)
    assert (database.version, database.durable, database.data_bytes) == (
        "17.2",
        None,
        None,
    )
    assert database.more == {"a": 2} and database.counter("wal_syncs") is None
    assert (generator.version, generator.unstarted) == ("1.0.20", 3)
    assert results.database_before(record) == DatabaseFacts()
    assert DatabaseFacts(version="17.2", more={"a": 2}).recorded() == {
        "version": "17.2",
        "a": 2,
    }


def test_a_figure_that_is_not_a_number_is_none() -> None:
    record = build_campaign(repetitions=1, frames=False).runs[0].record
    bad = Measurement("throughput_per_s", "1/s", "higher", math.nan)
    assert (
        metric_values.value_of(replace(record, measurements=(bad,)), "throughput_per_s")
        is None
    )
    assert metric_values.value_of(record, "throughput_per_s", "nobody") is None
    assert (metric_values.value_of(record, "throughput_per_s") or 0) > 1_000


def test_machine_cores_come_from_the_fingerprint() -> None:
    campaign = build_campaign(repetitions=1, frames=False, host_cpus=2)
    assert results.machine_cpus(campaign) == 2.0
    assert results.machine_cpus(replace(campaign, fingerprint={})) is None
    alone = {"host": {"cpus": 1}}
    assert results.machine_cpus(replace(campaign, fingerprint=alone)) == 1.0
    unknown = {"host": {"cpus": 0}}
    assert results.machine_cpus(replace(campaign, fingerprint=unknown)) is None


@pytest.mark.parametrize(("end_s", "window"), [(100.0, None), (100.1, (100.0, 100.1))])
def test_a_window_that_ended_as_it_began_measured_nothing(
    end_s: float, window: tuple[float, float] | None
) -> None:
    record = build_campaign(repetitions=1, frames=False).runs[0].record
    cut = replace(record, phases=(Phase("measure", 100.0, end_s),))
    assert results.measured_window(cut) == window


def test_the_average_of_an_slo_is_of_the_transactions_that_percentiles_are_of() -> None:
    """Of all types of the TPC-C-derived mix without Delivery: as counted from the transactions."""
    types = pd.Categorical(["new_order"] * 6 + ["payment"] * 3 + ["delivery"])
    latency_s = [0.010] * 6 + [0.004] * 3 + [0.200]
    table = pd.DataFrame(
        {
            "start_s": np.arange(10.0),
            "latency_s": latency_s,
            "queue_s": 0.0,
            "type": types,
            "outcome": 0,
            "retries": 0,
            "sqlstate": "",
        }
    )
    measured = transactions.measurements(table, 0.0, 60.0, None)
    campaign = build_campaign(
        profiles=["ultra"],
        workloads=["tpcc"],
        repetitions=2,
        frames=False,
        change=lambda record: replace(record, measurements=measured),
    )
    runs = results.finished(campaign, "ultra", "tpcc")
    average = Objective("latency_avg_s", "all", 0.1)
    assert metric_values.objective_values(runs, average) == pytest.approx(
        [(6 * 0.010 + 3 * 0.004) / 9] * 2
    )
    assert metric_values.whole(runs, ("latency_avg_s", "all")) == pytest.approx(
        [np.mean(latency_s)] * 2
    )
    own = Objective("latency_avg_s", "delivery", 0.1)
    assert metric_values.objective_values(runs, own) == pytest.approx([0.2] * 2)


# ------------------------------------------------------------------ what is missing


def test_a_missing_cell_is_missing_and_never_zero() -> None:
    campaign = build_campaign(
        missing=[("premium", "insert")], failed=[2, 8], repetitions=2, frames=False
    )
    found = verdicts.judge(campaign)
    assert not [d for d in found.deltas if d.workload == "insert"]
    assert not [
        c for c in found.cells if (c.profile, c.workload) == ("premium", "insert")
    ]
    assert "premium × insert: no finished run" in found.missing[0]
    assert "was not carried out" in found.missing[0]
    assert {d.contender for d in found.deltas if d.workload == "point-select"} == {
        "premium-v2",
        "ultra",
    }


def test_a_cell_whose_runs_all_failed_says_why() -> None:
    campaign = build_campaign(
        profiles=["premium", "ultra"],
        workloads=["insert"],
        repetitions=2,
        failed=[2],
        interrupted=[4],
        frames=False,
    )
    assert verdicts.missing(campaign) == (
        "ultra × insert: no finished run (run 2 failed: node-1 stopped answering; "
        "run 4 was interrupted: node-1 stopped answering)",
    )
    assert verdicts.deltas(campaign) == ()
