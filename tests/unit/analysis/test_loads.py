"""What a load asks of its system, and what its sessions wait for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.analysis.results import RunData
from orchestrator.analysis.telemetry.counters.sample_tables import joined
from orchestrator.analysis.telemetry.use import load_and_sessions, node_use
from orchestrator.facts import WaitFacts
from orchestrator.metrics import measured
from orchestrator.model import Phase
from tests.campaign_tables import Shape, held, sampled_in
from tests.campaigns import build_campaign


def only(shape: Shape, nodes: int) -> RunData:
    campaign = build_campaign(
        profiles=["premium"],
        workloads=["point-select"],
        repetitions=1,
        shapes={("premium", "point-select"): shape},
        nodes=nodes,
    )
    return campaign.runs[0]


def test_what_sessions_waited_for_comes_from_the_database_s_own_counters() -> None:
    run = only(
        Shape(1500.0, 500.0, 3.0, 0.002, 40.0), nodes=1
    )  # 10 s + 60 s, 60 threads
    facts = {
        "database_before": {"since_reset": {"blks_read_s": 50.0}},
        "database": {"since_reset": {"blks_read_s": 2_150.0, "wal_sync_s": 7.0}},
    }
    figures = node_use.gather(
        replace(run, record=replace(run.record, facts=facts)), 32.0
    )
    assert figures["node-1"].load.sessions_reading_pct == pytest.approx(50.0)
    assert figures["node-1"].load.log_syncing_pct == pytest.approx(10.0)


def test_a_counter_that_began_anew_has_not_grown() -> None:
    run = only(Shape(1500.0, 500.0, 3.0, 0.002, 40.0), nodes=1)
    facts = {
        "database_before": {"since_reset": {"blks_read_s": 50.0}},
        "database": {"since_reset": {"blks_read_s": 10.0}},
    }
    record = replace(run.record, facts=facts)
    assert load_and_sessions.of_load(record, {}).sessions_reading_pct == 0.0


def test_without_time_nothing_is_counted_by_time() -> None:
    run = only(Shape(1500.0, 500.0, 3.0, 0.002, 40.0), nodes=1)
    at_once: list[Phase] = []
    for phase in run.record.phases:
        at_once.append(replace(phase, start_s=100.0, end_s=100.0))
    facts = {"database": {"since_reset": {"blks_read_s": 2_150.0}}}
    record = replace(run.record, phases=tuple(at_once), facts=facts)
    assert load_and_sessions.of_load(record, {}).sessions_reading_pct is None


@pytest.mark.parametrize(
    ("waits", "covers"),
    [
        ({"covered_s": 30.0, "window_s": 60.0}, True),
        ({"covered_s": 29.9, "window_s": 60.0}, False),
        ({}, True),  # nothing says that a part is missing
    ],
)
def test_what_was_seen_in_half_of_a_window_stands_for_it(
    waits: dict[str, float], covers: bool
) -> None:
    assert load_and_sessions.covers_window(WaitFacts.read(waits)) is covers


def test_think_time_has_a_ceiling() -> None:
    campaign = build_campaign(
        profiles=["premium"], workloads=["tpcc"], repetitions=1, frames=False
    )
    record = campaign.runs[0].record
    assert load_and_sessions.ceiling_nopm(record) is None
    thinking = replace(
        record, workload=replace(record.workload, options={"think": "spec"})
    )
    assert load_and_sessions.ceiling_nopm(thinking) == pytest.approx(
        254.6
    )  # 20 × 12.86 × 0.99
    cards = replace(
        record.workload, options={"think": "spec", "weights": "10,10,1,1,1"}
    )
    assert load_and_sessions.ceiling_nopm(replace(record, workload=cards)) is None


SEEN = {
    "idle": 4,
    "running": 2,
    "reading": 12,
    "syncing": 0,
    "locked": 1,
    "otherwise": 1,
}


def with_sessions(run: RunData) -> RunData:
    """The run with what was seen of its sessions, the same in each second."""
    samples = sampled_in(run)
    second = samples[
        (samples["node"] == "node-1") & (samples["metric"] == "cpu_seconds_total")
    ]
    tables = [samples]
    tables += [
        second.assign(metric=f"sessions_{kind}", value=n) for kind, n in SEEN.items()
    ]
    return replace(run, sampled=held(joined(tables)))


def test_shares_of_sessions_are_of_those_that_have_work() -> None:
    run = with_sessions(only(Shape(1500.0, 500.0, 3.0, 0.002, 40.0), nodes=1))
    values = node_use.gather(run, 32.0)["node-1"]
    assert values.load.sessions == 20
    assert (values.load.seen_idle_pct, values.load.seen_reading_pct) == (20.0, 60.0)
    paced = replace(run.record.workload, options={"arrival_rate": 100})
    slow = replace(run, record=replace(run.record, workload=paced))
    values = node_use.gather(slow, 32.0)["node-1"]
    assert values.load.seen_idle_pct is None and values.load.seen_reading_pct == 75.0


def test_the_share_of_a_rate_that_was_served_and_of_what_was_tried_again() -> None:
    run = only(Shape(1500.0, 500.0, 3.0, 0.002, 40.0), nodes=1)
    values = load_and_sessions.of_load(run.record, {})
    assert values.rate_served_pct is None and values.retried_pct == 0.0
    more = (measured("offered_per_s", 200.0), measured("served_per_s", 199.0))
    counted = [
        m for m in run.record.measurements if m.metric not in ("retries", "failures")
    ]
    counted += [*more, measured("retries", 3_000.0), measured("failures", 10_000.0)]
    values = load_and_sessions.of_load(
        replace(run.record, measurements=tuple(counted)), {}
    )
    assert values.rate_served_pct == pytest.approx(99.5)
    assert values.retried_pct == pytest.approx(
        13.0, abs=0.1
    )  # 90,000 ended, 10,000 failed
