"""What throughput follows, by what sessions were seen to wait for: values of real runs."""

from __future__ import annotations

import pytest

from orchestrator.analysis.telemetry import causes
from orchestrator.analysis.telemetry.shares import follows
from tests.campaigns import build_tier

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
    of = follows(THROTTLED)
    assert of["cpu_bound"] > 3 * of["iops_cap"]
    assert causes.judge(THROTTLED, build_tier("ultra"), "node-1").name == "cpu_bound"
    # As many I/Os as sessions that read: then these wait for the disk, and it alone is followed.
    every_io = {**THROTTLED, "disk_queue_depth": 16.0}
    assert follows(every_io)["iops_cap"] > of["cpu_bound"] / 2


def test_what_waits_for_cpu_is_no_more_than_its_queue() -> None:
    """A CPU that is used to a tenth has none: reads are then merged, or wait for one another."""
    free = {**THROTTLED, "cpu_pct": 10.0, "node_cores": 0.15, "throttled_pct": 0.0}
    assert follows(free)["cpu_bound"] < 5
    for values in (free, THROTTLED):
        assert sum(follows(values).values()) == pytest.approx(100)
