"""Causes by values of real runs: what throughput follows, and what the disk says of itself."""

from __future__ import annotations

import pytest

from orchestrator.analysis.telemetry.causes import (
    bottlenecks,
    node_cause,
    outside_causes,
)
from orchestrator.analysis.telemetry.causes.throughput_shares import follows
from orchestrator.analysis.telemetry.use import node_use
from orchestrator.analysis.telemetry.use.node_values import of_figures
from tests.campaigns import build_tier
from tests.counted_disks import of_disk
from tests.seen import but

# Sixteen sessions with 0.15 cores, whose disk of 1,724 IOPS served 1,411: a quarter more CPU gave
# throughput 21 % (9 to 34 %), a quarter more IOPS 9 % (−2 to 21 %).
THROTTLED = {
    "sessions": 16.0,
    "seen_idle_pct": 4.17,
    "seen_running_pct": 0.42,
    "seen_reading_pct": 95.42,
    "sessions_reading_pct": 98.7,
    "log_syncing_pct": 0.99,
    "disk_iops": 1411.0,
    "disk_read_iops": 1410.5,
    "disk_await_s": 0.00731,
    "disk_read_await_s": 0.00731,
    "idle_disk_latency_s": 0.0005,
    "disk_queue_depth": 10.31,
    "disk_busy_pct": 66.2,
    "iops_of_cap_pct": 81.8,
    "time_at_iops_cap_pct": 0.0,
    "bandwidth_of_cap_pct": 2.6,
    "cpu_pct": 99.9,
    "time_at_cpu_pct": 100.0,
    "throttled_pct": 100.0,
    "node_cores": 0.15,
    "client_cpu_pct": 2.7,
    "client_cores": 0.053,
    "host_cpu_pct": 13.1,
    "other_cpu_pct": 0.3,
}


def test_a_read_that_has_come_back_waits_for_cpu() -> None:
    """Fifteen of them were seen reading, and the disk had ten I/Os."""
    of = follows(of_figures(THROTTLED))
    assert of["cpu_bound"] > 3 * of["iops_cap"]
    assert (
        node_cause.judge(of_figures(THROTTLED), build_tier("ultra"), "node-1").name
        == "cpu_bound"
    )
    # As many I/Os as sessions that read: then these wait for the disk, and it alone is followed.
    every_io = of_figures(dict(**{**THROTTLED, "disk_queue_depth": 16.0}))
    assert follows(every_io)["iops_cap"] > of["cpu_bound"] / 2


def test_what_waits_for_cpu_is_no_more_than_its_queue() -> None:
    """A CPU that is used to a tenth has none: reads are then merged, or wait for one another."""
    free = {**THROTTLED, "cpu_pct": 10.0, "node_cores": 0.15, "throttled_pct": 0.0}
    assert follows(of_figures(free))["cpu_bound"] < 5
    for values in (free, THROTTLED):
        assert sum(follows(of_figures(values)).values()) == pytest.approx(100)


# The first run on P30 after other work had filled this machine's memory: 184/s, the next 484/s.
SLOW_HOST = {
    "disk_iops": 1829.9,
    "disk_read_iops": 1828.3,
    "disk_await_s": 0.00826,
    "disk_read_await_s": 0.00826,
    "idle_disk_latency_s": 0.002,
    "disk_queue_depth": 15.1,
    "disk_busy_pct": 99.8,
    "iops_of_cap_pct": 22.5,
    "time_at_iops_cap_pct": 0.0,
    "bandwidth_of_cap_pct": 5.0,
    "cpu_pct": 26.0,
    "node_cores": 0.26,
    "client_cpu_pct": 4.8,
    "client_cores": 0.097,
    "host_cpu_pct": 37.8,
    "sessions": 16.0,
    "seen_idle_pct": 5.0,
    "seen_running_pct": 1.25,
    "seen_reading_pct": 93.75,
    "sessions_reading_pct": 93.5,
}


def test_of_the_time_of_ios_limits_kept_them_for_what_the_disk_counted_in_the_window() -> (
    None
):
    values = node_use.gather(of_disk(8.4, 293.0), None)
    assert [of.caps.held_back_pct for of in values.values()] == [
        pytest.approx(2.87, abs=0.01)
    ] * 3
    assert all(
        of.caps.held_back_pct is None
        for of in node_use.gather(of_disk(0, 0), None).values()
    )


def test_a_disk_that_the_machine_slows_is_at_no_cap() -> None:
    tier = build_tier("premium-v2")
    named = node_cause.judge(of_figures(SLOW_HOST), tier, "node-1")
    assert named.name == "iops_cap" and "Bursts shorter than a second" in named.text
    unknown = of_figures(SLOW_HOST)
    of_machine = but(unknown, held_back_pct=2.9)
    assert node_cause.judge(of_machine, tier, "node-1").name == "unattributed"
    is_slow = outside_causes.host_disk_bound
    assert is_slow(of_machine) and not is_slow(unknown)
    assert not is_slow(but(unknown, held_back_pct=40.0)), "limits, latency, rest"
    assert not is_slow(but(of_machine, sessions_reading_pct=20.0)), "none waits"


def test_the_machine_is_named_whose_disk_plays_the_tier() -> None:
    named, at_cap = (
        bottlenecks.bottleneck([of_disk(s, 293.0)], None) for s in (8.4, 200.0)
    )
    assert named and at_cap and at_cap.cause != "machine_bound"
    assert named.cause == "machine_bound"
    assert "Each I/O takes 8.26 ms, of which the tier's latency is 800 µs" in named.text
    assert "held it back for 3 % of that time" in named.text
