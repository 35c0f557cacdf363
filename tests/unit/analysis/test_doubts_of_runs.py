"""Each kind of doubt about a run: raised by what it is about, and by nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from orchestrator.analysis.doubts import (
    checkpoint_checks,
    client_checks,
    database_checks,
    gate_checks,
    machine_checks,
    pace_checks,
    transaction_checks,
    window_checks,
)
from orchestrator.analysis.doubts.burst_checks import above_its_limit, credit_left
from orchestrator.analysis.figures import slowed
from orchestrator.analysis.telemetry.use.all_nodes import Totals
from orchestrator.analysis.telemetry.use.node_values import CapUse
from orchestrator.metrics import measured
from orchestrator.model import Dataset, Node, Record
from orchestrator.tier import (
    Burst,
    ClassVolumes,
    Emulated,
    NoDisk,
    OthersDisks,
    RealDisks,
    Unlimited,
)
from orchestrator.tier.disks import AnyDisk
from orchestrator.tier.slow_disk import SlowDisk
from tests.campaign_tables import GIB, Shape, held, sampled_in
from tests.campaigns import START_S, build_gate, build_tier
from tests.doubted import facts, figures, kinds, small, the
from tests.tiers import changed


def test_unsteady_throughput_names_run_and_warm_up() -> None:
    found = the("unsteady throughput", small(drift_pct=-30.0, repetitions=2))
    assert found.run == 1
    assert found.text.startswith(
        "throughput drifted by −31.2 % over the measured window"
    )
    assert found.advice == "warm up for longer than 10 s, or measure for longer"


@pytest.mark.parametrize(
    ("device", "has_wal", "is_told"),
    [(None, True, True), ("nvme2n1", True, False), (None, False, False)],
)
def test_a_volume_of_the_log_whose_device_is_not_known(
    device: str | None, has_wal: bool, is_told: bool
) -> None:
    def change(record: Record) -> Record:
        tier = replace(build_tier("premium"), disk=ClassVolumes())
        if has_wal:
            tier = replace(tier, wal=tier)
        profile = replace(record.profile, tier=tier)
        nodes: list[Node] = []
        for node in record.nodes:
            nodes.append(replace(node, wal_device=device))
        return replace(record, profile=profile, nodes=tuple(nodes))

    campaign = small(change=change)
    assert ("disks not counted" in kinds(campaign)) is is_told
    if is_told:
        found = the("disks not counted", campaign)
        assert "node-1: the device of the volume that holds the WAL" in found.text


def with_a_slow_disk(
    record: Record, before_per_s: float = 600.0, after_s: float | None = None
) -> Record:
    """`after_s`: so long before the window's end; None: it is slow in the middle."""
    begin_s = None
    if after_s is not None:
        begin_s = record.workload.measure_s - after_s - 5.0
    slow = (SlowDisk("node-1", "stall", 0.0, 5.0, begin_s),)
    before = measured("throughput_per_s", before_per_s, slowed.BEFORE)
    return replace(
        record,
        workload=replace(record.workload, slow=slow),
        measurements=(*record.measurements, before),
    )


def test_a_slow_disk_without_a_recovery_in_the_window() -> None:
    found = the("not recovered", small(change=with_a_slow_disk))
    assert (
        "throughput did not return to 90 % of its earlier level for 5 s" in found.text
    )
    assert found.effect == "limits"

    def recovered(record: Record) -> Record:
        return figures(measured("recovery_s", 3.0))(with_a_slow_disk(record))

    assert "not recovered" not in kinds(small(change=recovered))
    assert "not recovered" not in kinds(small())


def test_a_window_that_ends_soon_after_a_slow_disk_says_nothing_of_recovery() -> None:
    found = the("not recovered", small(change=partial(with_a_slow_disk, after_s=4.0)))
    assert "the window ended 4 s after the slow disk" in found.text
    assert "throughput" not in found.text


def test_without_a_transaction_before_a_slow_disk_there_is_nothing_to_recover_to() -> (
    None
):
    found = the(
        "not recovered", small(change=partial(with_a_slow_disk, before_per_s=0))
    )
    assert "no transaction ended before the disk was slow" in found.text


def test_at_a_rate_it_has_not_recovered_while_what_falls_due_is_slower() -> None:
    def at_a_rate(record: Record) -> Record:
        slow = with_a_slow_disk(record)
        paced = replace(slow.workload, options={"arrival_rate": 40})
        return replace(slow, workload=paced)

    found = the("not recovered", small(change=at_a_rate))
    assert (
        "90 % of the transactions due were never for 5 s as fast as 99 % were before"
        in found.text
    )


def test_a_window_with_a_slow_disk_has_no_steady_state() -> None:
    drifts = small(change=with_a_slow_disk, drift_pct=-30.0)
    assert "unsteady throughput" not in kinds(drifts)


def test_a_short_window() -> None:
    found = the("short window", small(measure_s=20.0))
    assert found.text.startswith("20 s were measured")
    assert "than laptop" in found.advice
    assert "short window" not in kinds(small(measure_s=30.0))


def test_few_checkpoints_matter_to_writing_runs_only() -> None:
    settings = facts(settings={"checkpoint_timeout": "5min"})
    found = the("few checkpoints", small("insert", settings))
    assert "60 s are less than 2 checkpoint intervals of 5 min" in found.text
    assert "few checkpoints" not in kinds(small("point-select", settings))
    assert "few checkpoints" not in kinds(
        small("insert", facts(settings={"checkpoint_timeout": "30s"}))
    )


@pytest.mark.parametrize(
    ("after_s", "text"),
    [
        (
            [-5.0, 5.0, 65.0, 71.0],
            "only one checkpoint was completed in the window of 60 s",
        ),
        ([-5.0, 75.0], "no checkpoint was completed"),
        ([-5.0, 5.0, 20.0, 60.0], ""),  # by volume, sooner than by time
    ],
)
def test_checkpoints_that_were_seen_tell_more_than_the_interval(
    after_s: list[float], text: str
) -> None:
    begin_s = START_S + 10.0  # of the window
    times = [begin_s + after for after in after_s]
    seen = facts(settings={"checkpoint_timeout": "5min"}, checkpoints_s=times)
    campaign = small("insert", seen, repetitions=1)
    if text:
        assert text in the("few checkpoints", campaign).text
    assert ("few checkpoints" in kinds(campaign)) is bool(text)


@pytest.mark.parametrize(
    ("completed", "writes", "raised"),
    [
        (0, 10.0, True),
        (1, 10.0, True),
        (2, 10.0, False),
        # A tenth of all I/Os are enough writes to matter.
        (1, 9.9, False),
        (1, 0.0, False),
    ],
)
def test_two_checkpoints_are_enough_for_a_window_that_writes(
    completed: int, writes: float, raised: bool
) -> None:
    times_s = [START_S + 15.0 + number for number in range(completed)]
    seen = facts(checkpoints_s=times_s)
    (run, *_) = small("insert", seen, repetitions=1, frames=False).runs
    totals = Totals(disk_iops=100.0, disk_write_iops=writes)
    found = [doubt.kind for doubt in checkpoint_checks.few_checkpoints(run, totals)]
    assert found == ["few checkpoints"] * raised
    assert not list(checkpoint_checks.few_checkpoints(run, Totals()))


@pytest.mark.parametrize(("used_pct", "raised"), [(79.9, False), (80.0, True)])
def test_a_client_is_busy_from_its_border_on(used_pct: float, raised: bool) -> None:
    (run, *_) = small(repetitions=1, frames=False).runs
    busy = client_checks.client_busy(run, Totals(client_cpu_pct=used_pct))
    assert bool(list(busy)) is raised


@pytest.mark.parametrize(
    ("used", "raised"),
    [
        ({"host_cpu_pct": 89.9}, []),
        ({"host_cpu_pct": 90.0}, ["host saturated"]),
        ({"other_cpu_pct": 24.9}, []),
        ({"other_cpu_pct": 25.0}, ["machine shared"]),
    ],
)
def test_a_machine_is_full_or_shared_from_its_border_on(
    used: dict[str, float], raised: list[str]
) -> None:
    (run, *_) = small(repetitions=1, frames=False).runs
    found = [doubt.kind for doubt in machine_checks.machine(run, Totals(**used))]
    assert found == raised


@pytest.mark.parametrize(
    ("machines", "words"), [(1, "the machine's CPU"), (2, "of one of the machines")]
)
def test_of_several_machines_one_was_full(machines: int, words: str) -> None:
    (run, *_) = small(repetitions=1, frames=False).runs
    (host,) = [node for node in run.record.nodes if node.role == "host"]
    hosts = [replace(host, name=f"host-{number}") for number in range(machines)]
    record = replace(run.record, nodes=tuple(hosts))
    found = machine_checks.machine(
        replace(run, record=record), Totals(host_cpu_pct=95.0)
    )
    assert words in next(found).text


@pytest.mark.parametrize(
    ("others", "raised"),
    [
        ({"others_blks_read": 499.0}, False),
        ({"others_blks_read": 500.0}, True),
        # What was not read, or did not grow, has no share.
        ({"others_blks_read": 0.0}, False),
        ({"others_blks_hit": 500.0}, False),
    ],
)
def test_other_databases_that_do_a_twentieth_of_the_work_are_told(
    others: dict[str, float], raised: bool
) -> None:
    change = facts(since_reset={"blks_read": 10_000.0, **others})
    (run, *_) = small(change=change, repetitions=1, frames=False).runs
    texts = [doubt.text for doubt in database_checks.others_at_work(run, Totals())]
    assert bool(texts) is raised
    assert all("500 of 10,000 blks read (5 %)" in text for text in texts)


@pytest.mark.parametrize(
    ("flushed", "text"),
    [
        ([0.0] * 60, "never flushed"),
        ([0.0] * 30 + [5.0, 5.0] + [0.0] * 28, "flushed only once"),
        # One that begins with the window is in it.
        ([0.0, 5.0] + [0.0] * 58, "flushed only once"),
        ([0.0] * 20 + [5.0] + [0.0] * 20 + [7.0] + [0.0] * 18, ""),
    ],
)
def test_flushes_of_memory_tables_in_the_window(
    flushed: list[float], text: str
) -> None:
    campaign = small("insert", repetitions=1)
    (run,) = campaign.runs
    table = sampled_in(run)
    times = table.loc[table["phase"] == "measure", "time_s"].unique()[: len(flushed)]
    rows = pd.DataFrame({"time_s": times, "value": np.cumsum(flushed)})
    rows = rows.assign(
        node="node-1", metric="flush_written_bytes_total", unit="bytes", phase="measure"
    )
    samples = pd.concat([table, rows], ignore_index=True)
    campaign = replace(campaign, runs=(replace(run, sampled=held(samples)),))
    if text:
        assert f"memory tables were {text} in" in the("few checkpoints", campaign).text
    assert ("few checkpoints" in kinds(campaign)) is bool(text)


def test_a_warm_up_that_was_given_up() -> None:
    gave_up = {"warmup_s": 150.0, "warmup_steady": False}
    campaign = small(
        change=lambda r: replace(r, facts={**r.facts, "generator": gave_up})
    )
    assert "after 2.50 min of warm-up" in the("warm-up given up", campaign).text
    steady = {**gave_up, "warmup_steady": True}
    campaign = small(
        change=lambda r: replace(r, facts={**r.facts, "generator": steady})
    )
    assert "warm-up given up" not in kinds(campaign)


@pytest.mark.parametrize(
    ("data", "cache", "raised"),
    [
        (GIB, GIB, True),
        (GIB + 1, GIB, False),
        (0, GIB, False),
        (None, GIB, False),
        (GIB, None, False),
    ],
)
def test_data_that_fits_in_the_cache(
    data: int | None, cache: int | None, raised: bool
) -> None:
    change = facts(data_bytes=data, cache_bytes=cache)
    campaign = small("point-select", change, frames=False)
    assert ("data fits in the cache" in kinds(campaign)) is raised


@pytest.mark.parametrize(
    ("client_cpu_pct", "cpu_pct", "host_cpu_pct", "expected"),
    [
        (79.0, 20.0, 89.0, set()),
        (81.0, 20.0, 89.0, {"client busy"}),
        (70.0, 60.0, 91.0, {"host saturated"}),
        (10.0, 40.0, 44.0, set()),  # 10 + 40 % of 8 of 32 cores, and 24 of others
        (10.0, 40.0, 46.0, {"machine shared"}),
    ],
)
def test_a_busy_machine(
    client_cpu_pct: float, cpu_pct: float, host_cpu_pct: float, expected: set[str]
) -> None:
    cpu = {"client_cpu_pct": client_cpu_pct, "host_cpu_pct": host_cpu_pct}
    shape = Shape(
        1574.0, read_iops=900.0, write_iops=2.0, await_s=0.01, cpu_pct=cpu_pct, **cpu
    )
    assert kinds(small(shapes={("premium", "point-select"): shape})) == expected


def test_each_client_is_named_where_several_are_the_limit() -> None:
    shape = Shape(
        1574.0,
        900.0,
        2.0,
        await_s=0.01,
        cpu_pct=20.0,
        client_cpu_pct=45.0,
        host_cpu_pct=80.0,
    )
    campaign = small(shapes={("premium", "point-select"): shape})
    first = campaign.runs[0]
    (client,) = (node for node in first.record.nodes if node.role == "client")
    others = tuple(node for node in first.record.nodes if node is not client)
    two = tuple(replace(client, name=name) for name in ("client-1", "client-2"))
    own = sampled_in(first)[sampled_in(first)["node"] == client.name]
    rest = sampled_in(first)[sampled_in(first)["node"] != client.name]
    samples = pd.concat([rest, *(own.assign(node=one.name) for one in two)])
    run = replace(
        first,
        record=replace(first.record, nodes=(*others, *two)),
        sampled=held(samples),
    )
    found = the("client busy", replace(campaign, runs=(run, *campaign.runs[1:])))
    assert found.run == 1
    assert "90 % of the machine's CPU (client-1 45 %, client-2 45 %)" in found.text
    assert "client busy" not in kinds(campaign)


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({}, ""),
        ({"clock_offset_after_s": 2.009}, ""),
        ({"clock_offset_after_s": 2.02}, "the clock of client-1 moved by 20.0 ms"),
        # 10 ms, and what the readings leave open.
        ({"clock_offset_s": 0.0, "clock_offset_after_s": 0.011}, ""),
        (
            {"clock_offset_s": 0.0, "clock_offset_after_s": 0.0111},
            "the clock of client-1 moved by 11.1 ms",
        ),
        ({"clock_uncertainty_s": 0.05}, ""),
        (
            {"clock_uncertainty_s": 0.08},
            "the clock of client-1 is only known to within 80 ms",
        ),
        ({"clock_offset_s": None}, "the clock of client-1 could not be read"),
    ],
)
def test_clients_whose_clocks_cannot_be_brought_together(
    changed: dict[str, float | None], text: str
) -> None:
    clock = {
        "clock_offset_s": 2.0,
        "clock_offset_after_s": 2.0,
        "clock_uncertainty_s": 0.001,
    }
    clients = {"client-1": {**clock, **changed}, "client-2": clock}
    facts = {"clients": clients, "start_skew_s": 0.1}
    campaign = small(change=lambda r: replace(r, facts={**r.facts, "generator": facts}))
    if text:
        assert the("clients apart", campaign).text.startswith(text)
    else:
        assert "clients apart" not in kinds(campaign)


def test_clients_that_measured_together_for_a_part_of_the_window() -> None:
    clock = {
        "clock_offset_s": 0.0,
        "clock_offset_after_s": 0.0,
        "clock_uncertainty_s": 0.001,
    }
    facts = {"clients": {"client-1": clock, "client-2": clock}, "start_skew_s": 20.0}

    def shorter(record: Record) -> Record:
        longer = replace(record.workload, measure_s=record.workload.measure_s * 1.2)
        return replace(
            record, workload=longer, facts={**record.facts, "generator": facts}
        )

    assert "they began 20" in the("clients apart", small(change=shorter)).text


@pytest.mark.parametrize(
    ("asked_s", "names", "raised"),
    [
        (60.0, ("client-1", "client-2"), False),
        (60.1, ("client-1", "client-2"), True),
        (60.1, (), False),  # one client, whose windows are not put together
    ],
)
def test_clients_may_measure_together_for_nine_tenths_of_the_window(
    asked_s: float, names: tuple[str, ...], raised: bool
) -> None:
    """They measured 54 s together."""

    def change(record: Record) -> Record:
        clock = dict.fromkeys(
            ("clock_offset_s", "clock_offset_after_s", "clock_uncertainty_s"), 0.0
        )
        generator = {"clients": dict.fromkeys(names, clock)}
        load = replace(record.workload, measure_s=asked_s)
        return replace(
            record, workload=load, facts={**record.facts, "generator": generator}
        )

    campaign = small(change=change, measure_s=54.0, frames=False)
    assert ("clients apart" in kinds(campaign)) is raised


def test_telemetry_gaps() -> None:
    campaign = small(repetitions=2)
    first = campaign.runs[0]
    table = sampled_in(first)[sampled_in(first)["metric"] != "cpu_busy_seconds_total"]
    runs = (replace(first, sampled=held(table)), *campaign.runs[1:])
    found = the("telemetry gaps", replace(campaign, runs=runs))
    assert (found.run, found.text) == (
        1,
        "not sampled over the measured window: host_cpu_pct",
    )


def test_failures_and_retries() -> None:
    some = figures(measured("transactions", 1_980), measured("failures", 20))
    assert (
        "20 failures beside 1,980 transactions"
        in the("failures", small(change=some)).text
    )
    few = figures(measured("transactions", 1_990), measured("failures", 10))
    assert "failures" not in kinds(small(change=few))
    again = figures(measured("transactions", 2_000), measured("retries", 100))
    assert "retries" in kinds(small(change=again))
    seldom = figures(measured("transactions", 2_000), measured("retries", 99))
    assert "retries" not in kinds(small(change=seldom))
    none_done = figures(measured("transactions", 0), measured("failures", 3))
    assert "failures" in kinds(small(change=none_done))


def test_a_run_without_figures_has_no_doubt_about_its_transactions() -> None:
    (run, *_) = small(repetitions=1, frames=False).runs
    bare = replace(run, record=replace(run.record, measurements=()))
    assert list(transaction_checks.transactions(bare, Totals())) == []


def test_nothing_done_and_nothing_retried_is_no_doubt_about_retries() -> None:
    none_done = figures(measured("transactions", 0), measured("retries", 0))
    assert "retries" not in kinds(small(change=none_done, frames=False))


def test_few_transactions_carry_no_p99() -> None:
    few = figures(measured("transactions", 999))
    assert "(1,000 needed)" in the("few transactions", small(change=few)).text
    enough = figures(measured("transactions", 1_000))
    assert "few transactions" not in kinds(small(change=enough))


def test_gates_missing_failed_and_old() -> None:
    tier = build_tier("premium")
    assert "no truth gate" in kinds(small(change=lambda r: replace(r, gate=None)))
    failed = build_gate(tier, measured_iops=3_000.0)
    found = the("gate not passed", small(change=lambda r: replace(r, gate=failed)))
    assert "read IOPS slow" in found.text
    old = replace(build_gate(tier), taken_s=build_gate(tier).taken_s - 2 * 86_400)
    found = the("old truth gate", small(change=lambda r: replace(r, gate=old)))
    assert "48.2 h before" in found.text
    assert found.advice == "run `tierbench calibrate --profile premium` first"


@pytest.mark.parametrize(
    ("reused", "age_s", "raised"),
    [
        (False, 86_400.0, False),
        (False, 86_401.0, True),
        (True, 86_401.0, False),
        (True, 7 * 86_400.0, False),
        (True, 7 * 86_400.0 + 1, True),
    ],
)
def test_a_gate_is_old_after_a_day_and_one_that_is_kept_after_a_week(
    reused: bool, age_s: float, raised: bool
) -> None:
    (run, *_) = small(frames=False).runs
    window = run.record.phase("measure")
    assert window is not None
    gate = build_gate(run.record.profile.tier)
    gate = replace(gate, taken_s=window.start_s - age_s, reused=reused)
    run = replace(run, record=replace(run.record, gate=gate))
    found = [doubt.kind for doubt in gate_checks.truth_gate(run, Totals())]
    assert found == ["old truth gate"] * raised


@pytest.mark.parametrize(
    ("disk", "doubted"),
    [
        (Emulated(), True),
        (RealDisks(path="/mnt"), True),
        (ClassVolumes(), True),
        (OthersDisks(), True),
        # Of these nothing is declared that could be checked.
        (Unlimited(), False),
        (NoDisk(), False),
    ],
)
def test_a_gate_without_checks_is_none_where_limits_are_declared(
    disk: AnyDisk, doubted: bool
) -> None:
    (run, *_) = small(repetitions=1, frames=False).runs
    tier = replace(run.record.profile.tier, disk=disk)
    gate = replace(build_gate(tier), checks=())
    profile = replace(run.record.profile, tier=tier)
    run = replace(run, record=replace(run.record, gate=gate, profile=profile))
    found = [doubt.kind for doubt in gate_checks.truth_gate(run, Totals())]
    assert found == ["no truth gate"] * doubted


def test_a_run_without_a_window_has_no_gate_of_long_before() -> None:
    (run, *_) = small(repetitions=1, frames=False).runs
    without = replace(run, record=replace(run.record, phases=()))
    assert list(gate_checks.truth_gate(without, Totals())) == []


@pytest.mark.parametrize(("rebuild_s", "raised"), [(29.9, True), (30.0, False)])
def test_a_node_that_is_back_at_once_tells_little_of_its_disk(
    rebuild_s: float, raised: bool
) -> None:
    (run, *_) = small(change=figures(measured("rebuild_s", rebuild_s))).runs
    texts: list[str] = []
    for doubt in window_checks.windows(run, Totals()):
        if doubt.kind == "short rebuild":
            texts.append(doubt.text)
    assert bool(texts) is raised
    assert all("was back after 29.9 s" in text for text in texts)


@pytest.mark.parametrize(
    ("enforcement", "raised"), [("mounted", True), ("none", False)]
)
def test_a_gate_that_measured_nothing_is_none_where_there_are_limits(
    enforcement: str, raised: bool
) -> None:
    def change(record: Record) -> Record:
        tier = changed(record.profile.tier, enforcement=enforcement)
        empty = replace(build_gate(build_tier("premium")), checks=())
        return replace(record, gate=empty, profile=replace(record.profile, tier=tier))

    assert ("no truth gate" in kinds(small(change=change))) is raised


@pytest.mark.parametrize(
    ("scope", "iops", "raised"),
    [
        # A tenth above the limit is what a mean may be off.
        ("node-1", 5_500.0, False),
        ("node-1", 5_501.0, True),
        ("all", 16_000.0, False),
    ],
)
def test_a_node_that_did_more_than_its_disk_may_was_bursting(
    scope: str, iops: float, raised: bool
) -> None:
    def change(record: Record) -> Record:
        tier = changed(record.profile.tier, iops=5_000)
        record = replace(record, profile=replace(record.profile, tier=tier))
        return figures(measured("disk_iops", iops, scope))(record)

    (run, *_) = small(change=change, repetitions=1, frames=False).runs
    found = [doubt.kind for doubt in above_its_limit(run, Totals())]
    assert found == ["bursting disk"] * raised


@pytest.mark.parametrize(
    ("limit_iops", "is_empty", "raised"),
    [(5_000, True, True), (5_000, False, False), (None, True, False)],
)
def test_a_mean_is_held_against_a_limit_where_no_second_was_sampled(
    limit_iops: int | None, is_empty: bool, raised: bool
) -> None:
    record = small(repetitions=1, frames=False).runs[0].record
    tier = changed(record.profile.tier, iops=limit_iops)
    record = replace(record, profile=replace(record.profile, tier=tier))
    record = figures(measured("disk_iops", 9_000.0, "node-1"))(record)
    telemetry = SimpleNamespace(empty=is_empty)
    run: Any = SimpleNamespace(record=record, telemetry=telemetry)
    assert bool(list(above_its_limit(run, Totals()))) is raised


@pytest.mark.parametrize(("start_pct", "raised"), [(100.0, True), (0.0, False)])
def test_burst_credit_left(start_pct: float, raised: bool) -> None:
    def change(record: Record) -> Record:
        burst = Burst(
            iops=3_500, bytes_per_s=None, duration_s=1_800.0, start_pct=start_pct
        )
        tier = changed(record.profile.tier, burst=burst)
        return replace(record, profile=replace(record.profile, tier=tier))

    assert ("burst credit left" in kinds(small(change=change))) is raised


@pytest.mark.parametrize(
    ("disks", "words"),
    [
        ({}, ""),
        ({"node-1": (0.0, 90.0)}, ""),
        ({"node-1": (40.0, 0.0)}, ""),
        # How much was left is not known: nothing is said of it.
        ({"node-1": (40.0, None)}, ""),
        ({"node-1": (None, 90.0)}, ""),
        ({"node-1": (0.8, 90.0)}, "in 1 % … 90 %"),
        ({"node-1": (40.0, 0.8)}, "in 40 % … 1 %"),
        ({"node-1": (20.0, 80.0), "node-2": (70.0, 5.0)}, "in 70 % … 80 %"),
        ({"node-1": (70.0, 5.0), "node-2": (20.0, 80.0)}, "in 70 % … 80 %"),
        # One that never drew on its credit has all of it, and says nothing.
        ({"node-1": (70.0, 5.0), "node-2": (0.0, 100.0)}, "in 70 % … 5 %"),
    ],
)
def test_burst_credit_left_is_told_of_the_disks_at_the_worst(
    disks: dict[str, tuple[float | None, float | None]], words: str
) -> None:
    """`disks`: node → time above the base rate and credit left, in %."""
    record = small().runs[0].record
    burst = Burst(iops=3_500, bytes_per_s=None, duration_s=1_800.0, start_pct=100.0)
    tier = changed(record.profile.tier, burst=burst)
    record = replace(record, profile=replace(record.profile, tier=tier))
    against_caps: dict[str, CapUse] = {}
    for node, (above_pct, left_pct) in disks.items():
        against_caps[node] = CapUse(
            time_above_base_pct=above_pct, burst_credit_left_pct=left_pct
        )
    telemetry = SimpleNamespace(against_caps=against_caps)
    run: Any = SimpleNamespace(record=record, telemetry=telemetry)
    texts = [doubt.text for doubt in credit_left(run, Totals())]
    if not words:
        assert texts == []
        return
    (text,) = texts
    above, left = words.split(" … ")
    assert f"{above} of the window. {left} of its credit was left" in text


def test_little_s_law() -> None:
    off = figures(
        measured("throughput_per_s", 1_000.0), measured("latency_avg_s", 0.05)
    )
    found = the("Little's law", small(change=off))
    assert found.text == (
        "throughput × latency = 50.0 transactions in flight, with 60 threads (−16.7 %)"
    )


@pytest.mark.parametrize(("measure_s", "raised"), [(7.0, False), (60.0, True)])
def test_little_s_law_allows_for_the_transactions_that_a_short_window_cuts(
    measure_s: float, raised: bool
) -> None:
    """453 transactions of 8 threads in 7 s, Stock-Levels of up to 2 s: 7.3 in flight, truly 8.0."""

    def change(record: Record) -> Record:
        workload = replace(record.workload, threads=8, measure_s=measure_s)
        values = {
            "throughput_per_s": 64.7,
            "latency_avg_s": 0.113,
            "latency_max_s": 2.0,
        }
        of_run = figures(*(measured(name, value) for name, value in values.items()))
        return of_run(replace(record, workload=workload))

    assert ("Little's law" in kinds(small(change=change))) is raised


@pytest.mark.parametrize("options", [{"think": "spec"}, {"arrival_rate": 100}])
def test_little_s_law_is_not_asked_of_threads_that_pause(
    options: Mapping[str, Any],
) -> None:
    def change(record: Record) -> Record:
        off = figures(measured("latency_avg_s", 0.001))(record)
        return replace(off, workload=replace(off.workload, options=options))

    assert "Little's law" not in kinds(small(change=change))


@pytest.mark.parametrize(("nopm", "raised"), [(12_093.0, False), (12_093.5, True)])
def test_think_time_decides_from_95_pct_of_its_ceiling_on(
    nopm: float, raised: bool
) -> None:
    """Of 1,000 warehouses: 12,730 New-Orders a minute."""

    def change(record: Record) -> Record:
        data = replace(record.workload.dataset, parameters={"warehouses": 1_000})
        load = replace(record.workload, options={"think": "spec"}, dataset=data)
        return figures(measured("nopm", nopm))(replace(record, workload=load))

    (run, *_) = small("tpcc", change, repetitions=1, frames=False).runs
    assert bool(list(pace_checks.ceiling(run, Totals()))) is raised


def test_without_new_orders_there_is_no_share_of_a_ceiling() -> None:
    (run, *_) = small("tpcc", repetitions=1, frames=False).runs
    load = replace(run.record.workload, options={"think": "spec"})
    record = replace(run.record, workload=load, measurements=())
    assert not list(pace_checks.ceiling(replace(run, record=record), Totals()))


def test_think_time_s_ceiling() -> None:
    def change(record: Record) -> Record:
        thinking = replace(record.workload, options={"think": "spec"})
        return figures(measured("nopm", 250.0))(replace(record, workload=thinking))

    found = the("think time's ceiling", small("tpcc", change))  # 20 warehouses: 254.6
    assert "98.2 % of the 255 New-Orders a minute" in found.text


@pytest.mark.parametrize(
    ("own", "failures", "raised"),
    [
        (100_000, 0, False),
        (99_000, 0, True),
        (99_950, 0, False),
        (99_600, 0, False),
        (90_000, 10_000, False),  # totals may leave out failures
    ],
)
def test_totals_that_differ(own: int, failures: int, raised: bool) -> None:
    generator = {
        "sysbench_transactions": own,
        "recorded_transactions": 100_000,
        "recorded_failures": failures,
    }
    campaign = small(
        change=lambda r: replace(r, facts={**r.facts, "generator": generator})
    )
    assert ("totals differ" in kinds(campaign)) is raised


@pytest.mark.parametrize("known", ["sysbench_transactions", "recorded_transactions"])
def test_one_total_alone_differs_from_nothing(known: str) -> None:
    generator = {known: 100_000}
    campaign = small(
        change=lambda r: replace(r, facts={**r.facts, "generator": generator}),
        frames=False,
    )
    assert "totals differ" not in kinds(campaign)


@pytest.mark.parametrize(("counted", "raised"), [(1_120, False), (1_121, True)])
def test_totals_of_a_short_run_may_differ_by_what_is_under_way(
    counted: int, raised: bool
) -> None:
    """Two transactions of each of 60 threads: one at either end."""
    generator = {"sysbench_transactions": counted, "recorded_transactions": 1_000}
    campaign = small(
        change=lambda r: replace(r, facts={**r.facts, "generator": generator})
    )
    assert ("totals differ" in kinds(campaign)) is raised


@pytest.mark.parametrize(
    ("asked", "running", "doubted"),
    [
        ("2.18.1.0-b84", "2.18.1.0-b84", False),
        ("2.18.1.0-b84", "2.18.1.0-b85", True),
        ("2.18.1.0-b84", "2.18.1.0", True),  # no page said the build
        ("2.18.1.0", "2.18.1.0-b84", False),
        (None, "16.4", False),
    ],
)
def test_another_build_than_asked(
    asked: str | None, running: str, doubted: bool
) -> None:
    changed = facts(version_asked=asked, version=running)
    assert ("another build" in kinds(small(change=changed))) is doubted


def test_facts_not_read() -> None:
    reason = "the flags of the tablet servers: KeyError: 'flags'"
    doubt = the("facts not read", small(change=facts(not_read=reason)))
    assert reason in doubt.text
    assert "facts not read" not in kinds(small())


def test_leaders_that_moved_while_it_was_measured() -> None:
    doubt = the("leaders moved", small(change=facts(leaders_moved="2 of 6 tablets")))
    assert "2 of 6 tablets" in doubt.text
    assert "leaders moved" not in kinds(small())


def test_tables_with_fewer_tablets_than_nodes() -> None:
    """As a cluster of 2025.2 has them by default, which others run."""
    tables = {"order_line": 2, "stock": 1}
    doubt = the("few tablets", small(change=facts(few_tablets=tables)))
    assert doubt.text.startswith("order_line and stock: as few as 1 tablet of a table")
    assert doubt.effect == "limits"
    assert "dataset: {tablets: 1}" in doubt.advice
    assert "ysql_num_tablets=-1" in doubt.advice
    assert "few tablets" not in kinds(small())


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ("a", "a: as few as"),
        ("cba", "a, b and c: as few as"),
        ("dcba", "a, b and 2 more tables and indexes: as few as"),
    ],
)
def test_of_many_tables_with_few_tablets_two_are_named(names: str, words: str) -> None:
    tables = dict.fromkeys(names, 1)
    campaign = small(change=facts(few_tablets=tables), frames=False)
    assert the("few tablets", campaign).text.startswith(words)


def test_one_address_for_several_nodes_is_told() -> None:
    """As of a managed cluster, or a load balancer before the pods of the chart."""
    kind = "one address for several nodes"
    behind = facts(hosts=["aeon.example:5433"], nodes_known=3)
    doubt = the(kind, small(change=behind))
    assert doubt.text.startswith("`existing.hosts` names 1 host for 3 nodes. ")
    assert doubt.effect == "told"
    assert "existing.hosts" in doubt.advice
    assert kind not in kinds(small(change=facts(hosts=list("abc"), nodes_known=3)))
    assert kind not in kinds(small(change=facts(hosts=["a"], nodes_known=1)))
    assert kind not in kinds(small(change=facts(hosts=["a"])))  # not known
    assert kind not in kinds(small(change=facts(nodes_known=3))), "none is named"


@pytest.mark.parametrize("generator", ["sysbench-stock", "benchbase"])
def test_loaders_that_cannot_ask_for_tablets_are_not_told_to(generator: str) -> None:
    """Their tables are doubted as ours are, and the servers alone decide."""

    def change(record: Record) -> Record:
        few = facts(few_tablets={"sbtest1": 1})(record)
        return replace(few, workload=replace(few.workload, generator=generator))

    doubt = the("few tablets", small(change=change))
    assert "ysql_num_tablets=-1" in doubt.advice
    assert "dataset" not in doubt.advice


BY_HASH = {"yb_use_hash_splitting_by_default": "on"}
BY_RANGE = {"yb_use_hash_splitting_by_default": "off"}


@pytest.mark.parametrize(
    ("script", "database", "execution", "options", "parameters", "doubted"),
    [
        ("oltp_read_only", "yugabytedb", {}, {}, {}, True),  # 2.18 shards by hash alone
        ("oltp_read_write", "yugabytedb", BY_HASH, {}, {}, True),
        ("select_random_ranges", "yugabytedb", BY_HASH, {}, {}, True),
        ("oltp_read_write", "yugabytedb", BY_RANGE, {}, {}, False),
        ("oltp_read_write", "yugabytedb", BY_HASH, {"range_selects": 1}, {}, True),
        (
            "oltp_read_write",
            "yugabytedb",
            BY_HASH,
            {"range_selects": 0},
            {},
            False,
        ),  # `off`
        ("oltp_read_write", "yugabytedb", BY_HASH, {"range_selects": "off"}, {}, False),
        ("oltp_read_write", "yugabytedb", {}, {}, {"range_key_partitioning": 1}, False),
        (
            "oltp_read_write",
            "yugabytedb",
            {},
            {},
            {"range_key_partitioning": "on"},
            False,
        ),
        (
            "select_random_ranges",
            "yugabytedb",
            {},
            {},
            {"range_key_partitioning": 1},
            True,
        ),
        ("select_random_points", "yugabytedb", {}, {}, {}, False),
        ("oltp_write_only", "yugabytedb", {}, {}, {}, False),
        ("oltp_read_write", "postgresql", {}, {}, {}, False),
    ],
)
def test_ranges_of_keys_that_are_hashed(
    script: str,
    database: str,
    execution: dict[str, str],
    options: dict[str, Any],
    parameters: dict[str, Any],
    doubted: bool,
) -> None:
    """The fork's option orders the primary key alone; select_random_ranges reads the index."""

    def change(record: Record) -> Record:
        record = facts(flavour=database, execution=execution)(record)
        own = replace(
            record.workload, generator="sysbench-stock", script=script, options=options
        )
        own = replace(own, dataset=Dataset("x", parameters))
        return replace(record, workload=own)

    assert ("whole tables read" in kinds(small(change=change))) is doubted


def test_commits_that_are_not_durable() -> None:
    assert "commits not durable" in kinds(small(change=facts(durable=False)))


def test_commits_as_the_database_comes_limit_the_answer_and_do_not_forbid_one() -> None:
    """YugabyteDB's default: tiers are compared as its users meet them."""
    as_released = facts(durable=False, durability_as_released=True)
    doubt = the("commits not synced", small(change=as_released))
    assert doubt.effect == "limits" and "durability: durable" in doubt.advice
    assert "commits not durable" not in kinds(small(change=as_released))


def test_commits_that_were_taken_away_compare_no_tiers() -> None:
    def change(record: Record) -> Record:
        record = facts(durable=False, durability_as_released=True)(record)
        cluster = replace(record.profile.cluster, without="commit")
        return replace(record, profile=replace(record.profile, cluster=cluster))

    found = kinds(small(change=change))
    assert "commits not durable" in found and "commits not synced" not in found


def test_what_only_reads_is_compared_whatever_a_commit_waits_for() -> None:
    """YugabyteDB's default answers commits before they are on a disk: reads wait for none."""

    def change(record: Record) -> Record:
        record = facts(durable=False)(record)
        return replace(record, workload=replace(record.workload, writes=False))

    assert "commits not durable" not in kinds(small(change=change))
